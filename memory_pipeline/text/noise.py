"""Tells texts that are no memory whoever says them: prompts, output of programs, encoded bytes, empty acknowledgements.

By form and closed classes alone, so that hardly any other text is taken for one. Not here: what a text quotes of stored
memories (`quoting`), and texts that no core memory is made from (`score/commands`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from memory_pipeline.text.parse.speakers import ASSISTANTS

_PLATFORM: Final = frozenset({"system", "developer", "tool", "function"})
"""Roles of a conversation in which no person and no model speaks, lower-case."""
_TAG: Final = (
    r"(?:system|tool|function|environment|command|local-command|bash)[-_][a-z_-]{1,40}|function_calls|task-notification"
)
_OPENED: Final = re.compile(rf"\s*<({_TAG})(?: [^<>\n]{{0,200}})?>")
_FENCE: Final = re.compile(r"```[\w+-]{0,20}\n")
_PROMPT: Final = re.compile(
    r"\W{0,20}You are (?:now )?(?:an? |the )?[^.!?\n]{0,80}?\b(?:assistant|agent|chatbot|language model|AI)\b"
)
_PROMPT_CHARACTERS: Final = 200
"""Shortest text that is a prompt rather than a sentence about somebody."""
_LOG: Final = re.compile(
    r"\W?\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\s{1,3}\W?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b",
    re.ASCII,
)
_LOG_LINES: Final = 3
_TRACE: Final = "Traceback (most recent call last):"
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{60,}={0,2}", re.ASCII)
_ENCODED_CHARACTERS: Final = 120
_BETWEEN_SLASHES: Final = 16
"""Characters for one slash, in a path at most; encoded bytes have 64."""
_MOSTLY: Final = 0.8
"""Share of a text that encoded bytes, or lines of a log, make up if it is nothing else."""
_NOTHING: Final = re.compile(
    r"(?:(?:ok|okay|okey|k|kk|thanks|thank you|many thanks|thx|ty|got it|understood|noted|sure|alright|all right|great"
    r"|perfect|no problem|you'?re welcome|will do|hm+|u+h+|u+m+|oh|\U0001F44D|\U0001F44C|\U0001F64F)"
    r"(?: (?:so|very) much| a lot| again)?(?:\s+|$))+"
)
_MARKS: Final = re.compile(r"[.,!?:;()*~\u2026\ufe0f\U0001F3FB-\U0001F3FF-]+")
_LONGEST_EMPTY: Final = 60


def reason(text: str, speaker: str | None = None) -> str | None:
    """Return why a text of a speaker is no memory, for people; None if it may be one. Cost: linear in its length."""
    body, role = _unfenced(text.strip()), (speaker or "").strip().lower()
    return next((why for why, is_so in _KINDS.items() if is_so(body, role)), None)


def _unfenced(body: str) -> str:
    """Return what a fence of Markdown holds, if the text is nothing else."""
    fence = _FENCE.match(body)
    return body[fence.end() : -3].strip() if fence and body.find("```", fence.end()) == len(body) - 3 else body


def _is_wrapped(body: str) -> bool:
    opened = _OPENED.match(body)
    return opened is not None and body.endswith(f"</{opened[1]}>")


def _is_document(body: str) -> bool:
    return body[:1] in ("{", "[") and body[-1:] in ("}", "]") and body[1:2] in ('"', "{", "[", "\n")


def _is_output(body: str) -> bool:
    lines = body.splitlines()
    return (len(lines) > 1 and body.startswith((_TRACE, "diff --git "))) or _is_log(lines)


def _is_log(lines: Iterable[str]) -> bool:
    full = [line for line in lines if line.strip()]
    return len(full) >= _LOG_LINES and sum(bool(_LOG.match(line)) for line in full) >= _MOSTLY * len(full)


def _is_bytes(body: str) -> bool:
    encoded = sum(len(run) for run in _ENCODED.findall(body) if _is_encoded(run))
    return encoded >= max(_ENCODED_CHARACTERS, _MOSTLY * len(body))


def _is_encoded(run: str) -> bool:
    is_path = run.count("/") * _BETWEEN_SLASHES > len(run)
    return not is_path and any(map(str.isdigit, run)) and any(map(str.isupper, run)) and any(map(str.islower, run))


def _says_nothing(body: str) -> bool:
    if len(body) > _LONGEST_EMPTY:
        return False
    words = " ".join(_MARKS.sub(" ", body.replace("\u2019", "'")).lower().split())
    return not words or _NOTHING.fullmatch(words) is not None


_KINDS: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "its speaker is a platform or a program": lambda _, role: role in _PLATFORM,
    "it is all within a tag of prompts": lambda body, _: _is_wrapped(body),
    "it is a prompt that tells a model who it is": lambda body, _: (
        len(body) >= _PROMPT_CHARACTERS and _PROMPT.match(body) is not None
    ),
    "it is a document of a program": lambda body, role: role in ASSISTANTS and _is_document(body),
    "it is the output of a program": lambda body, _: _is_output(body),
    "it is encoded bytes": lambda body, _: _is_bytes(body),
    "it only acknowledges": lambda body, _: _says_nothing(body),
}
"""Whether a text without the space around it, and the role of its speaker in lower case, is of each kind."""
