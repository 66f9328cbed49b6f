"""Completion: asking a language model, behind one small protocol, and what asking may cost.

An answer says what came back or why nothing did; nobody has to catch anything. What is not here: the model itself
(`llm/openai`), what it is asked (`consolidation/summaries/prompting`), and which answers are kept
(`consolidation/summaries/model_requests`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from memory_pipeline.settings import LanguageModel

_BYTES_PER_TOKEN: Final = 3
"""Fewer than nearly any text has: an estimate is to err on the high side."""
_MESSAGE_TOKENS: Final = 16
"""What the frame of a message costs besides its text."""
_MILLION: Final = 1e-6


class Outcome(StrEnum):
    """What became of a request. All but `answered` are asked again by a later run."""

    ANSWERED = "answered"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    DISCONNECTED = "disconnected"
    REJECTED = "rejected"
    UNAUTHORISED = "unauthorised"
    QUOTA = "quota"
    CUT_OFF = "cut_off"
    INVALID_JSON = "invalid_json"
    WRONG_COUNT = "wrong_count"
    EMPTY = "empty"
    REFUSED = "refused"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is asked.

    Attributes:
        model: the model to ask.
        text: the question.
        input_tokens: length of the text, estimated (see `estimated_tokens`).
    """

    model: str
    text: str
    input_tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        content: the text; None unless the outcome is `answered`.
        outcome: answered, or why not.
        input_tokens: tokens read by the model; estimated where a try was lost that may be charged.
        output_tokens: tokens written by it; likewise.
        cost: money, by the prices in the settings.
    """

    content: str | None
    outcome: Outcome
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class Completer(Protocol):
    """What answers prompts."""

    def complete(self, prompts: Sequence[Prompt]) -> Sequence[Answer]:
        """Return one answer a prompt, in their order; a prompt without an answer has its reason as the outcome."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens, asked and answered together, and money."""

    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.money + other.money)

    def within(self, settings: LanguageModel) -> bool:
        """Whether so much may be spent in one run."""
        tokens, money = settings.llm_token_budget, settings.llm_money_budget
        return (tokens is None or self.tokens <= tokens) and (money is None or self.money <= money)


def cost(settings: LanguageModel, input_tokens: int, output_tokens: int) -> float:
    """Money for so many tokens asked and answered."""
    return (input_tokens * settings.llm_price_input + output_tokens * settings.llm_price_output) * _MILLION


def worst(settings: LanguageModel, input_tokens: int) -> Spent:
    """What a request can cost at most: every try charged, every answer as long as it may be."""
    tries = settings.llm_retries + 1
    asked, answered = tries * input_tokens, tries * settings.llm_max_output_tokens
    return Spent(asked + answered, cost(settings, asked, answered))


def spent(answers: Sequence[Answer]) -> Spent:
    """What answers have cost together."""
    return Spent(
        sum(answer.input_tokens + answer.output_tokens for answer in answers), sum(answer.cost for answer in answers)
    )


def affordable(wanted: Sequence[Spent], so_far: Spent, settings: LanguageModel) -> list[bool]:
    """Choose, in order, the requests that the budget covers even if each costs the most it can.

    What does not fit is passed over, so that one long request does not keep shorter ones from being asked.

    Args:
        wanted: what each request can cost at most.
        so_far: what the run has spent already.
        settings: the budget.
    """
    chosen = []
    for one in wanted:
        fits = (so_far + one).within(settings)
        so_far = so_far + one if fits else so_far
        chosen.append(fits)
    return chosen


def estimated_tokens(text: str) -> int:
    """Length of a text in a model's tokens, on the high side: a third of its bytes, and the frame of a message."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN) + _MESSAGE_TOKENS
