"""The completion protocol: prompts, completions, clients and budgets of a language model.

A completion carries its content or the reason why there is none; clients raise nothing per request. Not here: clients
(`openai`), prompts (`consolidation/summaries/prompting`), and which completions are stored
(`consolidation/model_requests`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from memory_pipeline.settings import LanguageModel

_BYTES_PER_TOKEN: Final = 3
"""Bytes per token, fewer than in nearly any text, so that estimates err on the high side."""
_MESSAGE_TOKENS: Final = 16
"""Overhead of a message besides its text."""
_MILLION: Final = 1e-6


class Outcome(StrEnum):
    """Outcome of a request. All but `answered` are requested again by a later run."""

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
    """A text for a model, by its name, and the estimated length of the text in tokens (see `estimated_tokens`)."""

    model: str
    text: str
    input_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The result of a request.

    Without content, the outcome says why. Tokens are those read and written by the model, estimated for lost attempts
    that may be charged; the cost is money, by the prices in the settings.
    """

    content: str | None
    outcome: Outcome
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0


class CompletionClient(Protocol):
    """Completes prompts with a language model."""

    def complete(self, prompts: Sequence[Prompt]) -> Sequence[Completion]:
        """Return one completion per prompt, in order; without content, its outcome says why."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, input and output together, and money."""

    tokens: int = 0
    money: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.tokens + other.tokens, self.money + other.money)

    def within(self, settings: LanguageModel) -> bool:
        """Return whether the budget of one run covers this usage."""
        tokens, money = settings.llm_token_budget, settings.llm_money_budget
        return (tokens is None or self.tokens <= tokens) and (money is None or self.money <= money)


def cost(settings: LanguageModel, input_tokens: int, output_tokens: int) -> float:
    """Return the price of input and output tokens, in the currency of the settings."""
    return (input_tokens * settings.llm_price_input + output_tokens * settings.llm_price_output) * _MILLION


def max_usage(settings: LanguageModel, input_tokens: int) -> Usage:
    """Return the upper bound of the usage of one request: every attempt charged, every completion of maximal length."""
    attempts = settings.llm_retries + 1
    input_total, output_total = attempts * input_tokens, attempts * settings.llm_max_output_tokens
    return Usage(input_total + output_total, cost(settings, input_total, output_total))


def total_usage(completions: Sequence[Completion]) -> Usage:
    """Return the total usage of completions."""
    return Usage(
        sum(completion.input_tokens + completion.output_tokens for completion in completions),
        sum(completion.cost for completion in completions),
    )


def within_budget(requests: Sequence[Usage], so_far: Usage, settings: LanguageModel) -> list[bool]:
    """Select, in order, the requests that the budget covers even if each has its maximal usage.

    A request that does not fit is skipped, so that one long request does not block shorter ones.
    """
    chosen = []
    for request in requests:
        fits = (so_far + request).within(settings)
        so_far = so_far + request if fits else so_far
        chosen.append(fits)
    return chosen


def estimated_tokens(text: str) -> int:
    """Estimate the tokens of a text, on the high side: a third of its bytes, plus the overhead of a message."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN) + _MESSAGE_TOKENS
