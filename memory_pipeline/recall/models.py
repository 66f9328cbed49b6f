"""Values that a client returns: memories, and the answer of a recall."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from itertools import accumulate, pairwise
from typing import Any, Final, Self, overload

import polars as pl

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.recall.closed_statements import (
    ClosedStatement,
    DoubtedSentence,
    closed_statements,
    doubted,
    marked,
)
from memory_pipeline.recall.wording import STATES
from memory_pipeline.text.display import BUDGET, one_line, preview, prompt_tokens
from memory_pipeline.text.parse.tokens import count_tokens

_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}): *(?=\S)")
"""A date at the start of a text."""
_MORE: Final = "\u2026"
_NEWER: Final = 24
"""Words and marks of a newer text that stand beside what it outdates."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One part of a score: the score is the sum of value times weight, scaled to 0..1."""

    name: str
    value: float
    weight: float


@dataclass(frozen=True, kw_only=True)
class Passage:
    """Where a passage stands in the whole text of its memory."""

    heading: str
    """The headings above it, outermost first, with a quotation mark between them; empty without any."""
    start: int
    """Its first character in `content`, from 0."""
    end: int
    """The character after its last."""
    whole_tokens: int
    """Length of the whole text."""

    def where(self) -> str:
        """Return how far into the text it stands, for a reader."""
        return f"passage at character {self.start:,} of a text of {self.whole_tokens:,} tokens"

    def around(self, text: str, length: int) -> str:
        """Return the passage after its headings, with an ellipsis where the text of so many characters goes on."""
        heading = [f"{self.heading}:"] if self.heading else []
        before = [_MORE] if self.start else []
        after = [_MORE] if self.end < length else []
        return " ".join([*heading, *before, text, *after])


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """A memory returned by a recall."""

    profile_id: str
    """The profile that it belongs to."""
    memory_id: str
    kind: str
    """original, or the kind of summary."""
    text: str
    """The text to read: trimmed, if the memory was trimmed and the recall was not deep, else whole; of a long text the
    passage that answers the query. Sentences that no longer hold are marked."""
    content: str
    """The whole text."""
    heading: str | None
    """The headings above it in the notes that it comes from, outermost first."""
    score: float
    """0..1; comparable within one answer. Only that of the ranking `cosine` means the same for every query."""
    parts: tuple[Part, ...]
    """The parts of the score."""
    rank: int
    """1 is best."""
    tokens: int
    """Its cost in a token budget: words and punctuation marks of "speaker: text"."""
    speaker: str | None
    memory_type: str
    session_id: str | None
    created_at: datetime
    lifecycle: str
    current: bool | None
    """False if its validity has ended or not begun; None if unknown."""
    holds_from: datetime | None
    """When its validity begins, if in the future."""
    closed_by: str | None
    """The newer memory that ended its validity."""
    ended: datetime | None
    """When its validity ended, if it has."""
    closed_statements: tuple[ClosedStatement, ...]
    """Sentences of the text that no longer hold, while the rest does; `text` marks them."""
    outdated_by: tuple[str, ...]
    """Newer memories that may have outdated it; this is uncertain."""
    outdated_from: datetime | None
    """Since when it may be outdated."""
    outdated_sentences: tuple[DoubtedSentence, ...]
    """Sentences that they may have outdated, while the rest still holds; empty if the whole text may be outdated."""
    newer_text: str | None
    """What the newest memory says that ended or may have outdated it; None without one."""
    conflicts: tuple[str, ...]
    """Memories that contradict it; neither is known to be newer."""
    conflict_text: str | None
    """What the newest of them says; None without one."""
    deep: bool
    """Only a deep recall returns it."""
    expanded: bool
    """Reached only over an association with a better one, so that its score has no parts."""
    passage: Passage | None = None
    """Where `text` stands in `content`, if it is a passage of it; None if `text` is all there is to read."""
    undated: bool = False
    """Whether it has no day of its own, so that `created_at` is that of its file."""

    def line(self, shown: Iterable["Recalled"] = (), *, ids: bool = False) -> str:
        """Return the memory as one line of a prompt, with its date and any reason to doubt it or a sentence of it.

        Beside what is outdated stands what the newer memory says, beside what is contradicted what the other side says.
        The date at the start of a summary's text replaces the date it was made, and no date is written twice. Other
        memories, of those `shown` in the prompt, are named by their dates. A passage has the headings above it, and
        says how to read the whole. With `ids` the memory is also named by its id.
        """
        others_shown = [*shown]
        against = sorted({other.day for other in others_shown if other.memory_id in self.conflicts})
        others = f"that of {' and '.join(against)}" if against else "another memory"
        marks = [whereabouts.BY_FILE] if self.undated else []
        marks += [f"holds only from {self.holds_from:%Y-%m-%d}"] if self.holds_from else []
        newer = f": {quoted(preview(self.newer_text, _NEWER))}" if self.newer_text else ""
        ended = self.ended is not None
        marks += [f"no longer current since {self.ended:%Y-%m-%d}{newer}"] if ended else []
        whole = self.outdated_from and not self.outdated_sentences
        repeated = "" if ended else newer
        marks += [f"possibly outdated since {self.outdated_from:%Y-%m-%d}{repeated}"] if whole else []
        other = f": {quoted(preview(self.conflict_text, _NEWER))}" if self.conflict_text else ""
        marks += [f"contradicts {others}{other}"] if self.conflicts else []
        marks += [STATES[self.lifecycle]] if self.deep else []
        marks += (
            [f"profile_id {one_line(self.profile_id)}"] if len({other.profile_id for other in others_shown}) > 1 else []
        )
        marks += [f"memory_id {one_line(self.memory_id)}"] if ids and self.passage is None else []
        day, text = dated(self)
        text = doubted(text, self.outdated_sentences)
        if self.passage is not None:
            marks += [f"{self.passage.where()}; all of it: memory {one_line(self.memory_id)}"]
            text = self.passage.around(text, len(self.content))
        text = whereabouts.below(self.heading, text)
        note = f" ({'; '.join(marks)})" if marks else ""
        return f"- [{day}] {one_line(f'{self.speaker}: {text}' if self.speaker else text)}{note}"

    def __str__(self) -> str:
        """Return its line with score and id."""
        return f"{self.line()} {self.score:.2f} {self.memory_id}"

    __repr__ = __str__

    @property
    def day(self) -> str:
        """The date that its paragraph shows."""
        return dated(self)[0]


@dataclass(frozen=True, kw_only=True)
class Answer(Sequence[Recalled]):
    """The memories returned for a query, best first."""

    query: str
    as_of: datetime
    """Instant whose state was searched."""
    ranking: str
    """Name of the ranking."""
    recalled: tuple[Recalled, ...]
    confident: bool | None = None
    """False if possibly none of the memories answers the query; None if the ranking cannot tell."""
    cursor: str | None = None
    """Names all that was returned up to here: with it as `after`, the same question goes on; None without memories."""

    @property
    def tokens(self) -> int:
        """Cost of all memories in a token budget."""
        return sum(memory.tokens for memory in self.recalled)

    @property
    def rearranged(self) -> bool:
        """Whether a score, as shown, is higher than one before it: links put a memory beside or behind another."""
        shown = [round(memory.score, 2) for memory in self.recalled]
        return any(score < following for score, following in pairwise(shown))

    @overload
    def __getitem__(self, position: int) -> Recalled: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Recalled, ...]: ...
    def __getitem__(self, position: int | slice) -> Recalled | tuple[Recalled, ...]:
        return self.recalled[position]

    def __len__(self) -> int:
        return len(self.recalled)

    def __iter__(self) -> Iterator[Recalled]:
        return iter(self.recalled)

    def text(self, token_budget: int | None = BUDGET, *, ids: bool = False) -> str:
        """Return the memories as text for a prompt, one line each, best first; empty without memories.

        Memories that do not hold now, may no longer hold, or are contradicted are marked, with dates and with what the
        newer memory says. Memories of several profiles name theirs. The first line is always there; a last one says how
        many memories a budget, if there is one, has left out. With `ids` each memory is also named by its id.
        """
        return "\n".join(within([memory.line(self.recalled, ids=ids) for memory in self.recalled], token_budget))

    def __str__(self) -> str:
        """Return what was asked, and the memories as a prompt has them."""
        count = "no memory" if not self else "1 memory" if len(self) == 1 else f"{len(self)} memories"
        doubt = "; perhaps none of them answers it" if self.confident is False and self else ""
        asked = f"{count} for {one_line(self.query)!r}, as of {self.as_of:%Y-%m-%d %H:%M %Z}{doubt}"
        return listed(asked, within([memory.line(self.recalled) for memory in self.recalled], BUDGET))

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return as_json(asdict(self) | {"tokens": self.tokens})


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The state of a memory, now or at an instant."""

    memory_id: str
    kind: str
    """original, or the kind of summary."""
    text: str
    """The text that a recall returns: trimmed, if the memory was trimmed; sentences that no longer hold are marked."""
    content: str
    """The whole text."""
    heading: str | None
    """The headings above it in the notes that it comes from, outermost first."""
    speaker: str | None
    memory_type: str
    memory_type_inferred: bool
    """Whether no agent gave the type, and the reader does."""
    category: str
    importance: float | None
    """As given by the agent."""
    confidence: float
    valid_from: datetime | None
    valid_until: datetime | None
    protected: bool
    protected_reason: str | None
    tags: tuple[str, ...]
    metadata: dict[str, Any] | None
    """Other fields, as given by the agent."""
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
    closed_statements: tuple[ClosedStatement, ...]
    """Sentences of the text that no longer hold, while the rest does."""
    members: tuple[str, ...]
    """Members of a summary."""

    @classmethod
    def of(cls, row: Mapping[str, Any], zone: tzinfo = UTC) -> Self:
        """Return the memory of a row of the table `memories`, with instants in a time zone.

        A summary that replaced its members counts as stored with the newest of them.
        """
        columns = in_zone({field.name: row[field.name] for field in fields(cls) if field.name in row}, zone)
        statements = closed_statements(row.get("closed_statements"), zone=zone)
        metadata = json.loads(row["metadata"]) if row["metadata"] else None
        return cls(
            **columns
            | {
                "text": marked(row.get("trimmed") or row["content"], statements),
                "closed_statements": tuple(statements),
                "importance": row["importance_given"],
                "tags": tuple(row["tags"]),
                "metadata": metadata,
                "heading": whereabouts.shown_path(metadata),
                "members": tuple(row["members"]),
                "created_at": (row.get("said_at") or row["created_at"]).astimezone(zone),
            }
        )

    def line(self) -> str:
        """Return its text as people read it: speaker, headings above it, text."""
        text = whereabouts.below(self.heading, self.text)
        return f"{self.speaker}: {text}" if self.speaker else text

    def __str__(self) -> str:
        """Return its line with day, state and id."""
        return f"{said(self)} {STATES[self.lifecycle]} {self.memory_id}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return as_json(asdict(self))


class Memories(list[Memory]):
    """A list of memories that prints as lines."""

    def __str__(self) -> str:
        """Return how many there are, and a line for each that fits a budget of tokens."""
        count = "1 memory" if len(self) == 1 else f"{len(self)} memories"
        return listed(count, within([*map(str, self)], BUDGET, remedy="print them one by one"))

    __repr__ = __str__


def within(
    lines: Sequence[str], token_budget: int | None, *, remedy: str = "a larger token budget shows them"
) -> list[str]:
    """Return the first lines that fit a budget, at least one, and a line that counts those left out, with a remedy."""
    shown = len(lines) if token_budget is None else fitting(lines, token_budget)
    if not (left := len(lines) - shown):
        return [*lines]
    return [*lines[:shown], f"- and {left:,} more, {sum(map(prompt_tokens, lines[shown:])):,} tokens; {remedy}"]


def fitting(lines: Sequence[str], token_budget: int) -> int:
    """Return how many of the first lines fit a budget, at least one of any, with a line that says that more follow."""
    costs = [*accumulate(map(prompt_tokens, lines))]
    if not costs or costs[-1] <= token_budget:
        return len(costs)
    return max(1, bisect_right(costs, token_budget - _REST))


_REST: Final = 24
"""Tokens of a line that says that more follow."""


def said(memory: Memory, *, in_quotes: bool = False) -> str:
    """Return the day and the line of a memory, and whether the day is that of its file."""
    day, text = dated(memory)
    shown = told(replace(memory, text=text))
    return whereabouts.noted(f"[{day}] {quoted(shown) if in_quotes else one_line(shown)}", memory.metadata)


def dated(memory: Memory | Recalled) -> tuple[str, str]:
    """Return the day to show of a memory, and its text without that day at its start."""
    day, leading = f"{memory.created_at:%Y-%m-%d}", _DAY.match(memory.text)
    if leading is not None and (memory.kind != ORIGINAL or leading[1] == day):
        return leading[1], memory.text[leading.end() :]
    return day, memory.text


def told(memory: Memory) -> str:
    """Return a memory's line; of a long one the beginning, and how to read the rest."""
    if (begun := preview(memory.text)) == memory.text:
        return memory.line()
    whole = count_tokens(pl.Series([memory.text])).item()
    begun = replace(memory, text=begun).line()
    return f"{begun} (beginning of a text of {whole:,} tokens; all of it: memory {memory.memory_id})"


def listed(head: str, lines: Iterable[str]) -> str:
    """Return lines, indented, below a head."""
    return "\n".join([head, *(f"  {line}" for line in lines)])


def quoted(text: str) -> str:
    """Return a text as one quoted line that it cannot leave."""
    return json.dumps(one_line(text), ensure_ascii=False)


def in_zone(values: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return values with their instants in a time zone, whose days they show."""
    return {name: value.astimezone(zone) if isinstance(value, datetime) else value for name, value in values.items()}


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values as JSON has them, instants as ISO 8601 text in UTC."""
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Mapping():
            return as_json(value)
        case list() | tuple():
            return [_json(item) for item in value]
    return value
