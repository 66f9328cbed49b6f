"""Client for OpenAI-compatible chat completion endpoints: OpenAI itself, Ollama, vLLM, llama.cpp and others.

Every attempt has a timeout, busy and failing servers are retried with backoff, and an unavailable server is given up
for the rest of the run. The key comes from the environment variable OPENAI_API_KEY and goes into one header; server
messages, which might repeat it, are never stored. Not here: prompts and validation of completions
(`consolidation/model_requests`).
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

from memory_pipeline.llm.protocol import Completion, Outcome, Prompt, cost
from memory_pipeline.settings import LanguageModel
from memory_pipeline.settings.extras import pip_install

if TYPE_CHECKING:
    import httpx
    import openai

OPENAI: Final = "https://api.openai.com/v1"
"""Base URL of OpenAI."""
KEY_VARIABLE: Final = "OPENAI_API_KEY"
_NO_KEY: Final = "none"
"""Key for endpoints that need none: the SDK requires one."""
_MAX_WAIT: Final = 60.0
"""Longest pause in seconds that a server may request; a request that must wait longer is given up."""
_MAYBE_CHARGED: Final = frozenset({Outcome.TIMEOUT, Outcome.DISCONNECTED})
"""Outcomes of attempts that the server may have processed and may charge."""
_TRANSIENT: Final = frozenset({Outcome.TIMEOUT, Outcome.RATE_LIMITED, Outcome.SERVER_ERROR, Outcome.DISCONNECTED})
"""Outcomes that a retry may resolve."""
_PERMANENT: Final = frozenset({Outcome.UNAUTHORISED, Outcome.QUOTA})
"""Outcomes that every further request would have too."""
_MAX_TOKENS: Final = 10**9
"""Token counts above this are implausible and ignored."""
_MAX_BODY: Final = 2**24
"""Bytes that are read of a response, after decompression; a longer one is cut off."""
_MAX_FAILURES: Final = 5
"""Consecutive failed requests, after all their attempts, at which the server is given up."""
_OUTCOMES: Final[dict[int, Outcome]] = {
    HTTPStatus.UNAUTHORIZED: Outcome.UNAUTHORISED,
    HTTPStatus.FORBIDDEN: Outcome.UNAUTHORISED,
    HTTPStatus.PAYMENT_REQUIRED: Outcome.QUOTA,
    HTTPStatus.REQUEST_TIMEOUT: Outcome.TIMEOUT,
    HTTPStatus.CONFLICT: Outcome.SERVER_ERROR,
    HTTPStatus.TOO_MANY_REQUESTS: Outcome.RATE_LIMITED,
}


class CompletionUnavailable(ValueError):
    """A language model is configured, but its client is not installed."""


class _TooLong(ValueError):
    """A response is longer than `_MAX_BODY`."""


class OpenAICompletionClient:
    """Requests completions from a server, several at once."""

    def __init__(
        self, settings: LanguageModel, *, environment: Mapping[str, str] | None = None, pause: float = 0.5
    ) -> None:
        """Prepare a client; nothing is sent yet.

        Args:
            environment: variables to read the key from, instead of the process environment.
            pause: seconds before the second attempt; doubles with each further one, less up to a quarter at random. A
                pause requested by the server takes precedence.
        """
        self._settings = settings
        self._key = (os.environ if environment is None else environment).get(KEY_VARIABLE, "").strip()
        self._pause = pause
        self._abandoned: Outcome | None = None
        self._failures = 0

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order; CompletionUnavailable, without the package `openai`.

        Blocks until all have arrived: at most prompts / concurrency x attempts x (timeout + pause) seconds.
        """
        try:
            import openai  # noqa: F401, PLC0415 - an extra, slow to import, and only needed where a model is asked
        except ImportError:
            raise CompletionUnavailable(
                f"policy.llm_model is set, and openai is not installed; {pip_install('llm')}, or unset llm_model"
            ) from None
        keyless = not self._key and self._settings.llm_base_url == OPENAI
        if keyless or not (self._key.isascii() and self._key.isprintable()):  # a header cannot carry any other key
            self._abandoned = Outcome.UNAUTHORISED
        with ThreadPoolExecutor(1) as executor:  # the caller's thread may run an event loop already
            return executor.submit(asyncio.run, self._complete_all(prompts)).result()

    async def _complete_all(self, prompts: Sequence[Prompt]) -> list[Completion]:
        import openai  # noqa: PLC0415 - see above

        slots = asyncio.Semaphore(self._settings.llm_concurrency)
        connections = openai.DefaultAsyncHttpxClient(event_hooks={"response": [_read_whole]})
        async with openai.AsyncOpenAI(
            http_client=connections,
            api_key=self._key or _NO_KEY,
            base_url=self._settings.llm_base_url,
            timeout=self._settings.llm_timeout_seconds,
            max_retries=0,  # the SDK would retry an exhausted quota
        ) as client:
            return list(await asyncio.gather(*(self._complete_one(client, slots, prompt) for prompt in prompts)))

    async def _complete_one(self, client: "openai.AsyncOpenAI", slots: asyncio.Semaphore, prompt: Prompt) -> Completion:
        input_tokens = output_tokens = 0
        async with slots:
            if self._abandoned:
                return Completion(None, self._abandoned)
            for attempt in range(self._settings.llm_retries + 1):
                completion, wait = await self._attempt(client, prompt)
                input_tokens += completion.input_tokens
                output_tokens += completion.output_tokens
                if wait is None or attempt == self._settings.llm_retries:
                    break
                await asyncio.sleep(wait or self._pause * 2**attempt * (1 - 0.25 * random.random()))  # noqa: S311
            self._failures = self._failures + 1 if completion.outcome in _TRANSIENT else 0
            if completion.outcome in _PERMANENT or self._failures >= _MAX_FAILURES:  # the server will not answer
                self._abandoned = completion.outcome
        return Completion(
            completion.content,
            completion.outcome,
            input_tokens,
            output_tokens,
            cost(self._settings, input_tokens, output_tokens),
        )

    async def _attempt(self, client: "openai.AsyncOpenAI", prompt: Prompt) -> tuple[Completion, float | None]:
        """Make one attempt: the completion, and seconds until a retry (0: usual backoff, None: useless)."""
        import openai  # noqa: PLC0415 - see above

        max_tokens = self._settings.llm_max_output_tokens
        # OpenAI's reasoning models reject the older name of the limit; other servers know only that one.
        limit: dict[str, Any] = {
            "max_completion_tokens" if self._settings.llm_base_url == OPENAI else "max_tokens": max_tokens
        }
        try:
            async with asyncio.timeout(self._settings.llm_timeout_seconds):
                response = await client.chat.completions.create(
                    model=prompt.model, messages=[{"role": "user", "content": prompt.text}], **limit
                )
        except openai.APIStatusError as error:
            return _read_error(error)
        except (TimeoutError, openai.APITimeoutError):
            outcome = Outcome.TIMEOUT
        except openai.APIConnectionError:
            outcome = Outcome.DISCONNECTED
        except _TooLong:
            return Completion(None, Outcome.CUT_OFF, prompt.input_tokens, max_tokens), None
        except (openai.OpenAIError, ValueError, RecursionError):  # the SDK parses the body: no JSON, or one too deep
            return Completion(None, Outcome.INVALID_JSON, prompt.input_tokens, max_tokens), None
        else:
            return _read_response(response, prompt), None
        return Completion(None, outcome, prompt.input_tokens, max_tokens if outcome in _MAYBE_CHARGED else 0), 0.0


async def _read_whole(response: "httpx.Response") -> None:
    """Read the body of a response, before anything else does, and stop where it is too long."""
    of_its_library = type(response)  # httpx or its successor, as the SDK has it
    received = of_its_library(response.status_code, headers=response.headers, stream=response.stream)
    body = bytearray()
    try:
        async for part in received.aiter_bytes():
            body += part
            if len(body) > _MAX_BODY:
                raise _TooLong(f"more than {_MAX_BODY} bytes")
    finally:
        await received.aclose()
    response.headers.pop("content-encoding", None)  # it is decompressed by now
    response.stream = of_its_library(response.status_code, content=bytes(body)).stream


def _read_error(error: "openai.APIStatusError") -> tuple[Completion, float | None]:
    """Return the outcome of a server error, and seconds until a retry; None if a retry is useless."""
    is_server_error = error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
    outcome = _OUTCOMES.get(error.status_code, Outcome.SERVER_ERROR if is_server_error else Outcome.REJECTED)
    if "insufficient_quota" in {error.code, error.type}:
        outcome = Outcome.QUOTA
    wait = _retry_after(error.response.headers)
    retry = outcome in _TRANSIENT and wait <= _MAX_WAIT and error.response.headers.get("x-should-retry") != "false"
    return Completion(None, outcome), wait if retry else None


def _retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds that a server asks to wait; 0 if it says nothing readable."""
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        header = headers.get("retry-after", "")
        if header.replace(".", "", 1).isdigit():
            return float(header)
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()) if header else 0.0
    except (ValueError, TypeError):  # neither a number nor a date with a time zone
        return 0.0


def _read_response(response: Any, prompt: Prompt) -> Completion:
    """Return the completion from a response, tolerating deviations from the API."""
    usage, choices = getattr(response, "usage", None), getattr(response, "choices", None)
    input_tokens = _tokens(getattr(usage, "prompt_tokens", None), prompt.input_tokens)
    if not isinstance(choices, list):
        return Completion(
            None, Outcome.INVALID_JSON, input_tokens, _tokens(getattr(usage, "completion_tokens", None), 0)
        )
    message = getattr(choices[0], "message", None) if choices else None
    content = getattr(message, "content", None)
    content = content if isinstance(content, str) else ""
    outcome = _outcome(choices, message, content)
    output_tokens = _tokens(
        getattr(usage, "completion_tokens", None), len(content.encode("utf-8", "surrogatepass")) // 3
    )
    return Completion(content if outcome is Outcome.ANSWERED else None, outcome, input_tokens, output_tokens)


def _outcome(choices: list[Any], message: Any, content: str) -> Outcome:
    if len(choices) > 1:
        return Outcome.WRONG_COUNT
    reason = getattr(choices[0], "finish_reason", None) if choices else None
    if getattr(message, "refusal", None) or reason == "content_filter":
        return Outcome.REFUSED
    if reason == "length":
        return Outcome.CUT_OFF
    if "\0" in content or content.encode(errors="replace").decode() != content:
        return Outcome.INVALID_JSON  # a lone surrogate cannot be stored
    return Outcome.ANSWERED if content.strip() else Outcome.EMPTY


def _tokens(count: Any, fallback: int) -> int:
    """Return the token count from the server if it is plausible, else a fallback."""
    return count if isinstance(count, int) and 0 <= count <= _MAX_TOKENS else fallback
