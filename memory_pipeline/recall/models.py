"""What a client takes and gives back: filters, memories, and the answer of a recall, as frozen values.

What is not here: how an answer comes about (`ranking`), and who asks (`client`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Final, Self, overload

import polars as pl

from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.consolidation.plans import plan_document
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.ledger.validation_errors import nearest, shown
from memory_pipeline.recall.index.queries import USERS

_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}): *(?=\S)")
"""A date at the start of a text."""
_BEFORE: Final = rf"(?:(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{'|'.join(sorted(USERS))}):\s+)*"
_CUT: Final = re.compile(rf"(?:(?:^|(?<=[.!?])\s+|\n+){_BEFORE})+")


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which memories a recall or a list may name; what is None admits all. Several conditions must all hold.

    Instants may be given as ISO 8601 text and are read as UTC where they have no offset; a single memory type or tag
    may stand for itself.

    Raises:
        ValueError: a value is of the wrong kind; names it.
    """

    session_id: str | None = None
    """Stored in this session."""
    agent_id: str | None = None
    """Stored by this agent."""
    user_id: str | None = None
    """Stored for this person."""
    memory_types: tuple[str, ...] | None = None
    """Of one of these types, in any case."""
    tags: tuple[str, ...] | None = None
    """With one of these tags at least."""
    since: datetime | None = None
    """Stored at this instant or later."""
    until: datetime | None = None
    """Stored before this instant."""
    speaker: str | None = None
    """Said by this speaker, in any case."""

    def __post_init__(self) -> None:
        for name in ("session_id", "agent_id", "user_id", "speaker"):
            if not isinstance(value := getattr(self, name), str | None):
                raise ValueError(f"filters.{name} is {shown(value)}; give a string, or leave it out")  # noqa: TRY004
        for name in ("memory_types", "tags"):
            object.__setattr__(self, name, _words(name, getattr(self, name)))
        for name in ("since", "until"):
            object.__setattr__(self, name, instant(f"filters.{name}", getattr(self, name)))
        if self.since and self.until and self.until <= self.since:
            raise ValueError(
                f"filters.until is {self.until.isoformat()}, which is not after filters.since; give a later instant"
            )

    @staticmethod
    def of(given: "Filters | Mapping[str, Any] | None") -> "Filters":
        """Return filters as they are, or made from a mapping with their names.

        Raises:
            ValueError: a name is unknown, or a value of the wrong kind; names it.
        """
        if isinstance(given, Filters):
            return given
        if not isinstance(given, Mapping | None):
            raise ValueError(f"filters is {shown(given)}; give Filters or a mapping")  # noqa: TRY004 - one class of error
        known = [field.name for field in fields(Filters)]
        if unknown := [name for name in given or {} if name not in known]:
            raise ValueError(f"filters.{unknown[0]} is no filter; {nearest(unknown[0], known)}")
        return Filters(**(given or {}))


@dataclass(frozen=True, kw_only=True)
class Part:
    """One feature of a score: the score is the sum of value times weight, brought to 0..1."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """A memory that answers a query."""

    memory_id: str
    kind: str
    """original, or the kind of summary."""
    text: str
    """What to read: the trimmed text where it was trimmed and the recall was not deep, else the whole."""
    content: str
    """The whole text."""
    score: float
    """0..1; comparable within one answer only."""
    parts: tuple[Part, ...]
    """What the score consists of."""
    rank: int
    """1: best."""
    tokens: int
    """What it costs of a token budget: words and punctuation marks of "speaker: text"."""
    speaker: str | None
    memory_type: str
    session_id: str | None
    created_at: datetime
    lifecycle: str
    current: bool | None
    """False when its validity has ended or has not begun; None when nothing is known of that."""
    holds_from: datetime | None
    """When its validity begins, if that is still to come."""
    closed_by: str | None
    """The newer memory that has ended its validity."""
    conflicts: tuple[str, ...]
    """Memories that contradict it; neither is known to be newer."""
    deep: bool
    """An ordinary recall would not have found it."""

    def line(self) -> str:
        """Return the memory as one paragraph of a prompt, with its date and any reason to doubt it.

        The date at the start of a summary's text replaces that of its making, and no date is written twice.
        """
        over = self.current is False and self.holds_from is None
        marks = [f"holds only from {self.holds_from:%Y-%m-%d}"] if self.holds_from else []
        marks += [f"no longer current, see {self.closed_by}"] if over and self.closed_by else []
        marks += ["no longer current"] if over and not self.closed_by else []
        marks += [f"contradicted by {', '.join(self.conflicts)}"] if self.conflicts else []
        marks += [self.lifecycle] if self.deep else []
        day, text = self._dated()
        note = f" ({'; '.join(marks)})" if marks else ""
        return f"- [{day}] {f'{self.speaker}: {text}' if self.speaker else text}{note}"

    def _dated(self) -> tuple[str, str]:
        """The date to show, and the text without that date at its start."""
        day, leading = f"{self.created_at:%Y-%m-%d}", _DAY.match(self.text)
        if leading is not None and (self.kind != ORIGINAL or leading[1] == day):
            return leading[1], self.text[leading.end() :]
        return day, self.text


@dataclass(frozen=True, kw_only=True)
class Answer(Sequence[Recalled]):
    """The memories that answer a query, best first."""

    query: str
    as_of: datetime
    """Instant whose state was searched."""
    ranking: str
    recalled: tuple[Recalled, ...]

    @property
    def tokens(self) -> int:
        """What all of them cost of a token budget."""
        return sum(one.tokens for one in self.recalled)

    @overload
    def __getitem__(self, place: int) -> Recalled: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Recalled, ...]: ...
    def __getitem__(self, place: int | slice) -> Recalled | tuple[Recalled, ...]:
        return self.recalled[place]

    def __len__(self) -> int:
        return len(self.recalled)

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.recalled)

    def text(self) -> str:
        """Return all of them ready for a prompt, one paragraph each, best first; empty if nothing was found.

        A memory that does not hold, or that another contradicts, says so; other ids are left out of the text.
        """
        return "\n".join(one.line() for one in self.recalled)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it: instants as ISO 8601 text."""
        return _plain(asdict(self) | {"tokens": self.tokens})


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A memory as it stands now, or stood at an instant."""

    memory_id: str
    kind: str
    """original, or the kind of summary."""
    text: str
    """What a recall shows of it: trimmed, if it was trimmed."""
    content: str
    """The whole text."""
    speaker: str | None
    memory_type: str
    category: str
    importance: float | None
    """As the agent gave it."""
    confidence: float
    valid_from: datetime | None
    valid_until: datetime | None
    protected: bool
    protected_reason: str | None
    tags: tuple[str, ...]
    metadata: str | None
    """JSON text."""
    source: str | None
    session_id: str | None
    agent_id: str | None
    user_id: str | None
    created_at: datetime
    updated_at: datetime | None
    access_count: int
    last_accessed_at: datetime | None
    tier: str
    lifecycle: str
    superseded_by: str | None
    superseded_kind: str | None
    closed_by: str | None
    members: tuple[str, ...]
    """For a summary."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the memory of a row of the table `memories`.

        One that took the place of others counts as stored when the newest of them was.
        """
        named = {field.name: row[field.name] for field in fields(cls) if field.name in row}
        return cls(
            **named
            | {
                "text": row.get("trimmed") or row["content"],
                "importance": row["importance_given"],
                "tags": tuple(row["tags"]),
                "members": tuple(row["members"]),
                "created_at": row.get("said_at") or row["created_at"],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it: instants as ISO 8601 text."""
        return _plain(asdict(self))


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of core memory."""

    name: str
    content: str
    version: int
    compiled_at: datetime

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the block of a row of the table `core_memory_blocks`."""
        named = {name: row[name] for name in ("content", "version", "compiled_at")}
        return cls(name=row["block"], **named)


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What an agent reads when a session starts."""

    session_id: str | None
    blocks: tuple[Block, ...]
    """Core memory, as the last run compiled it."""
    answer: Answer | None
    """What is relevant to the query; None without a query."""

    def text(self) -> str:
        """Return all of it ready for a prompt: the blocks under their names, then what is relevant.

        What the user said stands in it once: what a block tells is left out of those below and of what is relevant,
        unless there is more to know of it than its text.
        """
        parts, told = [], set[str]()
        for block in self.blocks:
            facts = [(fact, _sentences(fact)) for fact in block.content.split(SEPARATOR)]
            new = [fact for fact, said in facts if not said <= told]
            told.update(*(said for _, said in facts))
            parts += [f"## {block.name.replace('_', ' ')}\n{SEPARATOR.join(new)}"] if new else []
        lines = [one.line() for one in self.answer or () if not (_bare(one) and _sentences(one.text) <= told)]
        parts += ["\n".join(["## relevant memories", *lines])] if lines else []
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON takes it: instants as ISO 8601 text."""
        answer = self.answer.to_dict() if self.answer is not None else None
        blocks = [_plain(asdict(block)) for block in self.blocks]
        return {"session_id": self.session_id, "blocks": blocks, "answer": answer}


@dataclass(frozen=True, kw_only=True, eq=False)
class Consolidated:
    """What a consolidation in this process did, or would do."""

    run_id: str | None
    """None: it was a dry run, and nothing was written."""
    task: str
    as_of: datetime
    """Clock of the run."""
    profiles: pl.DataFrame
    """Table `profiles`: who took part, from which state."""
    plan: pl.DataFrame
    """Table `consolidation_plan`: every decision, with rule and reason."""

    @property
    def actions(self) -> dict[str, int]:
        """How many decisions there are of each action, those that the quota holds back left out."""
        decided = self.plan.filter(pl.col("status") != "held")
        return dict(decided.group_by("action").len().sort("action").iter_rows())

    @property
    def held(self) -> int:
        """How many decisions the quota holds back."""
        return self.plan.filter(pl.col("status") == "held").height

    def to_dict(self) -> dict[str, Any]:
        """Return what was done in short, as JSON takes it: run_id, task, as_of, actions, held."""
        return _plain({name: getattr(self, name) for name in ("run_id", "task", "as_of", "actions", "held")})

    def document(self) -> dict[str, Any]:
        """Return the plan in its portable form (see `plan_document.write`), which `apply` takes."""
        return plan_document.write(self.plan, self.profiles)


def instant(name: str, value: Any) -> datetime | None:
    """Return an instant in UTC, read from text if it is one; None stays None.

    Args:
        name: what it is called in the message.
        value: a datetime, or ISO 8601 text; without an offset it is read as UTC.

    Raises:
        ValueError: it is neither.
    """
    try:
        read = datetime.fromisoformat(value) if isinstance(value, str) else value
        if read is None:
            return None
        if isinstance(read, datetime):
            return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {shown(value)}; give an instant such as 2026-01-31T12:00:00Z")


def _bare(one: Recalled) -> bool:
    """Whether the user, or nobody in particular, said it, and there is no more to know of it than its text."""
    users = one.speaker is None or one.speaker.lower() in USERS
    return users and one.current is not False and not one.conflicts and not one.deep


def _sentences(text: str) -> set[str]:
    """The sentences of a text, without the days and users that a summary names before them."""
    return {one.rstrip(".").casefold() for one in _CUT.split(text) if one}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Mapping():
            return _plain(value)
        case list() | tuple():
            return [_json(one) for one in value]
    return value


def _words(name: str, value: Any) -> tuple[str, ...] | None:
    """Read one word or several; none at all admits nothing, so it is refused."""
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else value
    if words is None or (isinstance(words, tuple) and words and all(isinstance(word, str) for word in words)):
        return words
    raise ValueError(f"filters.{name} is {shown(value)}; give a list of strings, or leave it out")
