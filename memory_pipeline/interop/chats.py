"""Exports of chats: who said what becomes a memory, between the start and end of its session.

Imports what the person said, and on request what the assistant said; never tool or system messages. Not here: the
layouts of the exports, and benchmark conversations (`conversations.py`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from memory_pipeline.interop.items import Item, Skipped, skipped
from memory_pipeline.interop.records import Record, Source
from memory_pipeline.interop.values import identifier, labels, listed, mapping, text
from memory_pipeline.schemas import EventType

OF_THE_ASSISTANT: Final = "messages of the assistant (taken with --assistant)"
OF_TOOLS: Final = "messages of tools and the system"
BRANCHES: Final = "messages of abandoned branches"
EMPTY: Final = "messages without text"
ATTACHED: Final = "pictures and files in messages"

_PERSONS: Final = ("user", "human")
_ASSISTANTS: Final = ("assistant", "ai", "model")
ROLES: Final = frozenset({*_PERSONS, *_ASSISTANTS, "system", "developer", "tool", "function"})
"""Names of roles, as opposed to those of speakers."""
_TEXTS: Final = ("text", "input_text", "output_text")


@dataclass(frozen=True, kw_only=True)
class ChatTurn:
    """One turn of a conversation, as an export has it."""

    turn_id: object
    role: object
    content: str | None
    """What was said; None without text."""
    at: datetime | None
    """When it was said; None: with the turn before it."""
    origin: str
    raw: object
    attached: int = 0
    """Pictures and files in it."""
    unfit: str | None = None
    """Why it is left out although its speaker is not, such as `OF_TOOLS`."""
    tags: tuple[str, ...] = ()


def left_out(role: object, *, assistant: bool) -> Skipped | None:
    """Return why a message is left out because of who said it; None if it is taken."""
    if role in _PERSONS or (role in _ASSISTANTS and assistant):
        return None
    return Skipped(OF_THE_ASSISTANT if role in _ASSISTANTS else OF_TOOLS)


def speaker(role: object) -> str:
    """Return the speaker of a role: `user` or `assistant`."""
    return "user" if role in _PERSONS else "assistant"


def spoken(content: object) -> tuple[str | None, int]:
    """Return the text of a message, which is a text or a list of blocks, and how many pictures and files it has."""
    if isinstance(content, str):
        return text(content), 0
    blocks: Sequence[Any] = [content] if isinstance(content, Mapping) else listed(content)
    texts, others = list[str](), 0
    for block in blocks:
        found = block if isinstance(block, str) else mapping(block).get("text")
        if isinstance(found, str) and (isinstance(block, str) or mapping(block).get("type", "text") in _TEXTS):
            texts.append(found)
        else:
            others += 1
    return text("\n\n".join(texts)), others


def conversation(
    source: Source,
    turns: Iterable[ChatTurn | Item],
    *,
    session: object,
    assistant: bool,
    begins: datetime | None = None,
    user: object = None,
    agent: object = None,
    project: str | None = None,
    about: Mapping[str, Any] | None = None,
) -> Iterator[Item]:
    """Yield a memory per turn that is taken, between the start and end of their session.

    If a conversation continues after an import, the next import ends it again.

    Args:
        turns: the turns in order, and what is skipped or broken among them.
        begins: instant of turns before the first dated one.
        project: the project that they talk about, in which alone hold the instructions of the turns.
        about: metadata of the start of the session.
    """
    given = {"session_id": session, "user_id": user, "agent_id": agent}
    who: dict[str, Any] = {name: identifier(value) for name, value in given.items()}  # once, however long they are
    last: Record | None = None
    last_turn = ""
    at = begins
    for turn in turns:
        if not isinstance(turn, ChatTurn):
            yield turn
            continue
        if because := left_out(turn.role, assistant=assistant):
            yield because
            continue
        yield from skipped(ATTACHED, turn.attached)
        if turn.content is None or turn.unfit:
            yield Skipped(turn.unfit or EMPTY)
            continue
        at = turn.at or at
        record = source.record(turn.raw, turn.origin, at=at, **who)
        if last is None:
            yield from record.session(EventType.SESSION_STARTED, "", about or {})
        payload = {"speaker": speaker(turn.role), "tags": labels(turn.tags), "metadata": {"project": project}}
        yield from record.stored(turn.turn_id, turn.content, payload)
        last, last_turn = record, str(turn.turn_id)
    if last is not None:
        yield from last.session(EventType.SESSION_ENDED, last_turn, {})
