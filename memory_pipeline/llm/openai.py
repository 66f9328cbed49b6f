"""Completion by any endpoint that speaks OpenAI's chat completions: OpenAI itself, Ollama, vLLM, llama.cpp and others.

Every try has an end, busy and broken servers are tried again after a while, and a server that will not answer is left
alone for the rest of the run. The key comes from the environment variable OPENAI_API_KEY and goes into one header; no
message of a server, which might repeat it, is kept. What is not here: what is asked and what of it is kept
(`consolidation/summaries/model_requests`).
"""

import asyncio
import os
import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from memory_pipeline.llm.protocol import Answer, Outcome, Prompt, cost
from memory_pipeline.settings import LanguageModel

if TYPE_CHECKING:
    import openai

OPENAI: Final = "https://api.openai.com/v1"
"""Where OpenAI itself answers."""
KEY_VARIABLE: Final = "OPENAI_API_KEY"
_NO_KEY: Final = "none"
"""What is sent to an endpoint that asks for no key: the SDK insists on one."""
_LONGEST_WAIT: Final = 60.0
"""Seconds; a server that asks for a longer pause is not waited for."""
_LOST: Final = frozenset({Outcome.TIMEOUT, Outcome.DISCONNECTED})
"""Outcomes of tries that the server may have worked on, and may charge."""
_PASSING: Final = frozenset({Outcome.TIMEOUT, Outcome.RATE_LIMITED, Outcome.SERVER_ERROR, Outcome.DISCONNECTED})
"""Outcomes that another try may mend."""
_HOPELESS: Final = frozenset({Outcome.UNAUTHORISED, Outcome.QUOTA})
"""Outcomes that every other request would have too."""
_MOST_TOKENS: Final = 10**9
"""What a server counts beyond this is no count."""
_PATIENCE: Final = 5
"""Requests in a row that failed with all their tries, after which the server is left alone."""
_QUOTA: Final = "insufficient_quota"
_OUTCOMES: Final[dict[int, Outcome]] = {
    HTTPStatus.UNAUTHORIZED: Outcome.UNAUTHORISED,
    HTTPStatus.FORBIDDEN: Outcome.UNAUTHORISED,
    HTTPStatus.PAYMENT_REQUIRED: Outcome.QUOTA,
    HTTPStatus.REQUEST_TIMEOUT: Outcome.TIMEOUT,
    HTTPStatus.CONFLICT: Outcome.SERVER_ERROR,
    HTTPStatus.TOO_MANY_REQUESTS: Outcome.RATE_LIMITED,
}


class CompletionUnavailable(ValueError):
    """A language model is to be asked, and what it takes is not installed."""


class OpenAICompleter:
    """Asks a server, several requests at once."""

    def __init__(
        self, settings: LanguageModel, *, environment: Mapping[str, str] | None = None, pause: float = 0.5
    ) -> None:
        """Prepare to ask; nothing is sent yet.

        Args:
            settings: address, patience and prices.
            environment: variables to read the key from, instead of the process's own.
            pause: seconds before the second try; twice as long before each further one, less up to a quarter by
                chance. A server that names a pause itself is given that one.
        """
        self._settings = settings
        self._key = (os.environ if environment is None else environment).get(KEY_VARIABLE, "").strip()
        self._pause = pause
        self._given_up: Outcome | None = None
        self._failures = 0

    def complete(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Return one answer a prompt, in their order.

        Blocks until all are there: at most, in seconds, prompts / concurrency, times tries, times timeout and pauses.

        Raises:
            CompletionUnavailable: the package `openai` is not installed.
        """
        try:
            import openai  # noqa: F401, PLC0415 - an extra, slow to import, and only needed where a model is asked
        except ImportError:
            raise CompletionUnavailable(
                "policy.llm_model is set, and the package openai is not installed; run "
                "`pip install 'memory-pipeline[llm]'` or unset llm_model"
            ) from None
        keyless = not self._key and self._settings.llm_base_url == OPENAI
        if keyless or not (self._key.isascii() and self._key.isprintable()):  # no header can carry another
            self._given_up = Outcome.UNAUTHORISED
        with ThreadPoolExecutor(1) as own:  # the caller's thread may have an event loop of its own
            return own.submit(asyncio.run, self._all(prompts)).result()

    async def _all(self, prompts: Sequence[Prompt]) -> list[Answer]:
        import openai  # noqa: PLC0415 - see above

        places = asyncio.Semaphore(self._settings.llm_concurrency)
        async with openai.AsyncOpenAI(
            api_key=self._key or _NO_KEY,
            base_url=self._settings.llm_base_url,
            timeout=self._settings.llm_timeout_seconds,
            max_retries=0,  # the SDK would try again when the quota is used up
        ) as client:
            return list(await asyncio.gather(*(self._one(client, places, prompt) for prompt in prompts)))

    async def _one(self, client: "openai.AsyncOpenAI", places: asyncio.Semaphore, prompt: Prompt) -> Answer:
        """Ask until there is an answer or no hope of one."""
        asked = answered = 0
        async with places:
            if self._given_up:
                return Answer(None, self._given_up)
            for attempt in range(self._settings.llm_retries + 1):
                found, wait = await self._try(client, prompt)
                asked, answered = asked + found.input_tokens, answered + found.output_tokens
                if wait is None or attempt == self._settings.llm_retries:
                    break
                await asyncio.sleep(wait or self._pause * 2**attempt * (1 - 0.25 * random.random()))  # noqa: S311
            self._learn(found.outcome)
        return Answer(found.content, found.outcome, asked, answered, cost(self._settings, asked, answered))

    def _learn(self, outcome: Outcome) -> None:
        """Leave a server alone that will not answer."""
        self._failures = self._failures + 1 if outcome in _PASSING else 0
        if outcome in _HOPELESS or self._failures >= _PATIENCE:
            self._given_up = outcome

    async def _try(self, client: "openai.AsyncOpenAI", prompt: Prompt) -> tuple[Answer, float | None]:
        """Ask once: the answer, and seconds to wait before asking again (0: as usual), None if that is no use."""
        import openai  # noqa: PLC0415 - see above

        most = self._settings.llm_max_output_tokens
        # Models of OpenAI that reason refuse the older name of the limit; other servers know only that one.
        limit: dict[str, Any] = {
            "max_completion_tokens" if self._settings.llm_base_url == OPENAI else "max_tokens": most
        }
        try:
            async with asyncio.timeout(self._settings.llm_timeout_seconds):
                found = await client.chat.completions.create(
                    model=prompt.model, messages=[{"role": "user", "content": prompt.text}], **limit
                )
        except openai.APIStatusError as error:
            return _failed(error)
        except (TimeoutError, openai.APITimeoutError):
            outcome = Outcome.TIMEOUT
        except openai.APIConnectionError:
            outcome = Outcome.DISCONNECTED
        except (openai.OpenAIError, ValueError):  # the SDK parses the body: what is no JSON is a ValueError
            return Answer(None, Outcome.INVALID_JSON, prompt.input_tokens, most), None
        else:
            return _read(found, prompt), None
        return Answer(None, outcome, prompt.input_tokens, most if outcome in _LOST else 0), 0.0


def _failed(error: "openai.APIStatusError") -> tuple[Answer, float | None]:
    """Read an error of the server: the outcome, and seconds to wait before asking again."""
    broken = error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    outcome = _OUTCOMES.get(error.status_code, Outcome.SERVER_ERROR if broken else Outcome.REJECTED)
    if _QUOTA in {error.code, error.type}:
        outcome = Outcome.QUOTA
    wait = _wait(error.response.headers)
    again = outcome in _PASSING and wait <= _LONGEST_WAIT and error.response.headers.get("x-should-retry") != "false"
    return Answer(None, outcome), wait if again else None


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to be left alone; 0 if it asks nothing that can be read."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        said = headers.get("retry-after", "")
        if said.replace(".", "", 1).isdigit():
            return float(said)
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds()) if said else 0.0
    except (ValueError, TypeError):  # no number, no date, or a date without a zone
        return 0.0


def _read(found: Any, prompt: Prompt) -> Answer:
    """Read an answer as servers give them, which is not always as they should."""
    usage, choices = getattr(found, "usage", None), getattr(found, "choices", None)
    asked = _tokens(getattr(usage, "prompt_tokens", None), prompt.input_tokens)
    if not isinstance(choices, list):
        return Answer(None, Outcome.INVALID_JSON, asked, _tokens(getattr(usage, "completion_tokens", None), 0))
    message = getattr(choices[0], "message", None) if choices else None
    content = getattr(message, "content", None)
    content = content if isinstance(content, str) else ""
    outcome = _outcome(choices, message, content)
    answered = _tokens(getattr(usage, "completion_tokens", None), len(content.encode("utf-8", "surrogatepass")) // 3)
    return Answer(content if outcome is Outcome.ANSWERED else None, outcome, asked, answered)


def _outcome(choices: list[Any], message: Any, content: str) -> Outcome:
    if len(choices) > 1:
        return Outcome.WRONG_COUNT
    reason = getattr(choices[0], "finish_reason", None) if choices else None
    if getattr(message, "refusal", None) or reason == "content_filter":
        return Outcome.REFUSED
    if reason == "length":
        return Outcome.CUT_OFF
    if "\0" in content or content.encode(errors="replace").decode() != content:
        return Outcome.INVALID_JSON  # half of a surrogate pair is no text that can be stored
    return Outcome.ANSWERED if content.strip() else Outcome.EMPTY


def _tokens(counted: Any, otherwise: int) -> int:
    """Tokens as the server counts them, if it does and can have meant it."""
    return counted if isinstance(counted, int) and 0 <= counted <= _MOST_TOKENS else otherwise
