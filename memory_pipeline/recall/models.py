"""Values that a client takes and returns: filters, memories and the answer of a recall."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from typing import Any, Final, Self, overload

import polars as pl

from memory_pipeline.consolidation import questions, whereabouts
from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.ledger.payloads import canonical_json, read_json
from memory_pipeline.ledger.validation_errors import nearest, shown
from memory_pipeline.recall.closed_statements import (
    ClosedStatement,
    DoubtedSentence,
    closed_statements,
    doubted,
    marked,
)
from memory_pipeline.recall.wording import STATES
from memory_pipeline.text.display import BUDGET, one_line, preview, unmarked
from memory_pipeline.text.parse.speakers import USERS
from memory_pipeline.text.parse.tokens import count_tokens

_DAY: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}): *(?=\S)")
"""A date at the start of a text."""
_BEFORE: Final = rf"(?:(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{'|'.join(sorted(USERS))}):\s+)*"
_MORE: Final = "\u2026"
_NEWER: Final = 24
"""Words and marks of a newer text that stand beside what it outdates."""
_CUT: Final = re.compile(rf"(?:(?:^|(?<=[.!?])\s+|\n+){_BEFORE})+")


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Conditions on the memories of a recall or a list; all must hold, and None admits everything.

    Instants may be ISO 8601 text; without an offset they are of the setting `timezone` of the client that is asked. A
    single memory type or tag may be a plain string. Raises ValueError for a value of the wrong kind, which it names.
    """

    session_id: str | None = None
    """Stored in this session."""
    agent_id: str | None = None
    """Stored by this agent."""
    user_id: str | None = None
    """Stored for this person."""
    memory_types: tuple[str, ...] | None = None
    """Of one of these types; case is ignored."""
    tags: tuple[str, ...] | None = None
    """With at least one of these tags."""
    since: datetime | None = None
    """Said at this instant or later; what was stored without saying when was said when it was stored."""
    until: datetime | None = None
    """Said before this instant."""
    speaker: str | None = None
    """Said by this speaker; case is ignored."""
    metadata: Mapping[str, Any] | str | None = None
    """With these values in the metadata, each equal to the stored one or in the stored list; of a list, any of it.

    A mapping or JSON text; kept as JSON text.
    """

    def __post_init__(self) -> None:
        for name in ("session_id", "agent_id", "user_id", "speaker"):
            if not isinstance(value := getattr(self, name), str | None):
                raise ValueError(f"filters.{name} is {shown(value)}; give a string, or leave it out")  # noqa: TRY004
        for name in ("memory_types", "tags"):
            object.__setattr__(self, name, _words(name, getattr(self, name)))
        object.__setattr__(self, "metadata", _object(self.metadata))
        for name in ("since", "until"):
            object.__setattr__(self, name, instant(f"filters.{name}", getattr(self, name), None))
        since, until = self.since, self.until
        comparable = since and until and (since.tzinfo is None) == (until.tzinfo is None)
        if since and until and comparable and until <= since:
            raise ValueError(
                f"filters.until is {until.isoformat()}, which is not after filters.since; give a later instant"
            )

    def in_zone(self, zone: tzinfo) -> "Filters":
        """Return the filters with instants in UTC, those without an offset read in a time zone."""
        if self.since is None and self.until is None:
            return self
        since, until = instant("filters.since", self.since, zone), instant("filters.until", self.until, zone)
        return replace(self, since=since, until=until)

    @staticmethod
    def of(filters: "Filters | Mapping[str, Any] | None") -> "Filters":
        """Return filters, converted from a mapping if need be; raises ValueError for an unknown name."""
        if isinstance(filters, Filters):
            return filters
        if not isinstance(filters, Mapping | None):
            raise ValueError(f"filters is {shown(filters)}; give Filters or a mapping")  # noqa: TRY004 - one class of error
        names = [field.name for field in fields(Filters)]
        if unknown := [name for name in filters or {} if name not in names]:
            raise ValueError(f"filters.{unknown[0]} is not a filter; {nearest(unknown[0], names)}")
        return Filters(**(filters or {}))


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
        newer = f": {_quoted(preview(self.newer_text, _NEWER))}" if self.newer_text else ""
        ended = self.ended is not None
        marks += [f"no longer current since {self.ended:%Y-%m-%d}{newer}"] if ended else []
        whole = self.outdated_from and not self.outdated_sentences
        repeated = "" if ended else newer
        marks += [f"possibly outdated since {self.outdated_from:%Y-%m-%d}{repeated}"] if whole else []
        other = f": {_quoted(preview(self.conflict_text, _NEWER))}" if self.conflict_text else ""
        marks += [f"contradicts {others}{other}"] if self.conflicts else []
        marks += [STATES[self.lifecycle]] if self.deep else []
        marks += (
            [f"profile_id {one_line(self.profile_id)}"] if len({other.profile_id for other in others_shown}) > 1 else []
        )
        marks += [f"memory_id {one_line(self.memory_id)}"] if ids and self.passage is None else []
        day, text = self._dated()
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
        return self._dated()[0]

    def _dated(self) -> tuple[str, str]:
        """Return the date to show, and the text without that date at its start."""
        day, leading = f"{self.created_at:%Y-%m-%d}", _DAY.match(self.text)
        if leading is not None and (self.kind != ORIGINAL or leading[1] == day):
            return leading[1], self.text[leading.end() :]
        return day, self.text


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
        return _listed(asked, within([memory.line(self.recalled) for memory in self.recalled], BUDGET))

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return _plain(asdict(self) | {"tokens": self.tokens})


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
        return f"{_said(self)} {STATES[self.lifecycle]} {self.memory_id}"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return _plain(asdict(self))


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two memories of which it is uncertain how the newer one relates to the older."""

    pair_id: str
    """Names the pair in `resolve`."""
    relation: str
    """The likeliest answer: update, partial, repeat or conflict."""
    confidence: float
    """How likely that is, 0..1."""
    statement: str | None
    """The sentences of the older memory that the newer one may replace; None: all of it."""
    older: Memory
    newer: Memory

    @property
    def either(self) -> bool:
        """Whether they may say the opposite as well as the same (see `questions.is_open`)."""
        return questions.is_open(self.relation, self.confidence)

    def question(self) -> str:
        """Return what is asked about the pair, and how likely the answer is yes, on one line."""
        part = f": {_quoted(self.statement)}" if self.relation == "partial" and self.statement else ""
        return f"{questions.asked(self.relation, self.confidence)}{part}"

    def text(self, letter: str = "") -> str:
        """Return the pair, named by a letter if given, as three lines for a prompt, each memory as one quoted line."""
        asked = f"{f'{letter} ' if letter else ''}[{self.pair_id}] {self.question()}"
        return "\n".join([asked, *(f"  {name}: {_told(getattr(self, name))}" for name in ("older", "newer"))])

    __str__ = __repr__ = text

    def sentences(self) -> list[tuple[str, bool]]:
        """Return the sentences of the older memory, and of each whether the newer one may end it."""
        from memory_pipeline.text.parse.sentences import split_sentences  # noqa: PLC0415 - a recall needs no segmenter

        split = split_sentences(pl.Series([self.older.content]))["sentence"].str.strip_chars().to_list()
        ended = self.statement or ""
        return [(one, one in ended) for sentence in split for one in sentence.splitlines() if one.strip()]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return _plain(asdict(self))


@dataclass(frozen=True, kw_only=True)
class Review(Sequence[Pair]):
    """The pairs that are most worth an answer, first."""

    pairs: tuple[Pair, ...]
    waiting: int
    """All pairs without an answer, these included."""

    @overload
    def __getitem__(self, position: int) -> Pair: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, position: int | slice) -> Pair | tuple[Pair, ...]:
        return self.pairs[position]

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def text(self) -> str:
        """Return the pairs as text for a prompt, with letters and ids, and how many more wait; empty if none does."""
        more = self.waiting - len(self.pairs)
        lines = [pair.text(_letter(place)) for place, pair in enumerate(self.pairs)]
        return "\n".join([*lines, *([f"{more} more wait for an answer; review again"] if more else [])])

    def frame(self) -> pl.DataFrame:
        """Return the pairs as a table (`digest.DOUBTS`)."""
        from memory_pipeline.consolidation.plans import digest  # noqa: PLC0415 - as for a plan

        rows = [
            {"pair_id": pair.pair_id, "relation": pair.relation, "confidence": pair.confidence}
            | {
                f"{name}_day": f"{one.created_at:%Y-%m-%d}"
                for name, one in (("older", pair.older), ("newer", pair.newer))
            }
            | {"older": pair.older.line(), "newer": pair.newer.line()}
            for pair in self.pairs
        ]
        return pl.DataFrame(rows, schema=digest.DOUBTS)

    def __str__(self) -> str:
        """Return the pairs after a count of all that wait."""
        return _listed(f"{self.waiting} waiting for an answer", self.text().splitlines())

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return {"waiting": self.waiting, "pairs": [pair.to_dict() for pair in self.pairs]}


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """A memory that was stored, and earlier ones that it quotes or may replace, repeat or contradict."""

    memory_id: str
    """Its id; if it only quotes, that of the first memory that it quotes."""
    likely: tuple[Pair, ...]
    """At most three, the likeliest first."""
    quoted: tuple[str, ...] = ()
    """Memories that the text quoted as they are shown to agents; what it quoted is not stored again."""
    stored: bool = True
    """False if the text only quotes, or is no memory; it is kept among the dead letters."""
    left_out: str | None = None
    """Why it was not stored; None if it was."""

    def __str__(self) -> str:
        """Return what became of the memory, and the pairs to answer."""
        what = f"stored as {self.memory_id}" if self.stored else f"not stored: {self.left_out}"
        return _listed(what, [pair.text() for pair in self.likely])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        likely = [pair.to_dict() for pair in self.likely]
        what = {"memory_id": self.memory_id, "likely": likely, "quoted": [*self.quoted], "stored": self.stored}
        return what | {"left_out": self.left_out}


def within(
    lines: Sequence[str], token_budget: int | None, *, remedy: str = "a larger token budget shows them"
) -> list[str]:
    """Return the first lines that fit a budget, at least one, and a line that counts those left out, with a remedy."""
    costs = count_tokens(pl.Series(lines, dtype=pl.String))
    if token_budget is None or costs.sum() <= token_budget:
        return [*lines]
    shown = max(1, int((costs.cum_sum() <= token_budget).sum()))
    left = len(lines) - shown
    more = f"- and {left:,} more, {int(costs[shown:].sum()):,} tokens; {remedy}"
    return [*lines[:shown], more] if left else [*lines]


def _listed(head: str, lines: Iterable[str]) -> str:
    return "\n".join([head, *(f"  {line}" for line in lines)])


def _said(memory: Memory) -> str:
    return f"[{memory.created_at:%Y-%m-%d}] {one_line(told(memory))}{_by_file(memory)}"


def _told(memory: Memory) -> str:
    return f"[{memory.created_at:%Y-%m-%d}] {_quoted(told(memory))}{_by_file(memory)}"


def _by_file(memory: Memory) -> str:
    return f" ({whereabouts.BY_FILE})" if whereabouts.is_undated(memory.metadata) else ""


def told(memory: Memory) -> str:
    """Return a memory's line; of a long one the beginning, and how to read the rest."""
    if (begun := preview(memory.text)) == memory.text:
        return memory.line()
    whole = count_tokens(pl.Series([memory.text])).item()
    begun = replace(memory, text=begun).line()
    return f"{begun} (beginning of a text of {whole:,} tokens; all of it: memory {memory.memory_id})"


def _quoted(text: str) -> str:
    """Return a text as one quoted line that it cannot leave."""
    return json.dumps(one_line(text), ensure_ascii=False)


def _letter(place: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    name = ""
    while place >= 0:
        name, place = chr(ord("A") + place % 26) + name, place // 26 - 1
    return name


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of core memory."""

    name: str
    content: str
    version: int
    compiled_at: datetime
    members: tuple[str, ...] = ()
    """The memory that each fact comes from; of a block that a model worded those that it was made of."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the block of a row of the table `core_memory_blocks`."""
        columns = {name: row[name] for name in ("content", "version", "compiled_at")}
        return cls(name=row["block"], members=tuple(row["members"]), **columns)

    def __str__(self) -> str:
        """Return its facts under its name."""
        facts = map(unmarked, self.content.split(SEPARATOR))
        return _listed(f"{self.name.replace('_', ' ')}, version {self.version}", facts)

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What an agent should read when a session starts."""

    session_id: str | None
    blocks: tuple[Block, ...]
    """Core memory as compiled by the last run."""
    answer: Answer | None
    """Memories relevant to the query; None without a query."""
    notices: tuple[str, ...] = ()
    """What a person should look at, such as a run that was held back."""

    def text(self, token_budget: int | None = BUDGET) -> str:
        """Return the blocks under their names, then the relevant memories, as text for a prompt.

        Statements of the user appear once: what a block contains is omitted from later blocks and from the relevant
        memories, unless there is more to know about it than its text. The budget is that of the relevant memories (see
        `Answer.text`); blocks have their own limit.
        """
        parts, written, told_of = [], set[str](), dict[str, str]()
        for block in self.blocks:
            facts = [(fact, _sentences(fact)) for fact in block.content.split(SEPARATOR)]
            told_of |= dict(zip(block.members, block.content.split(SEPARATOR), strict=False))
            new = [fact for fact, sentences in facts if not sentences <= written]
            written.update(*(sentences for _, sentences in facts))
            parts += [f"## {block.name.replace('_', ' ')}\n{SEPARATOR.join(map(unmarked, new))}"] if new else []
        relevant = [
            memory
            for memory in self.answer or ()
            if not (_is_all_there_is(memory) and _is_told(memory, told_of, written))
        ]
        lines = within([memory.line(relevant) for memory in relevant], token_budget)
        parts += ["\n".join(["## relevant memories", *lines])] if lines else []
        parts += ["\n".join(["## notices", *map(unmarked, self.notices)])] if self.notices else []
        return "\n\n".join(parts)

    def __str__(self) -> str:
        """Return its text."""
        return self.text() or "nothing is remembered yet"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        answer = self.answer.to_dict() if self.answer is not None else None
        blocks = [_plain(asdict(block)) for block in self.blocks]
        return {"session_id": self.session_id, "blocks": blocks, "answer": answer, "notices": [*self.notices]}


@dataclass(frozen=True, kw_only=True, eq=False)
class Consolidated:
    """The outcome of a consolidation in this process, or of its dry run."""

    run_id: str | None
    """None for a dry run, which wrote nothing."""
    task: str
    as_of: datetime
    """Clock of the run, in the time zone of the reader."""
    profiles: pl.DataFrame
    """Table `profiles`: the profiles of the run and the state it started from."""
    plan: pl.DataFrame
    """Table `consolidation_plan`: every decision, with rule and reason."""
    memories: pl.DataFrame
    """Table `memories` that the plan was made from."""

    @cached_property
    def changes(self) -> pl.DataFrame:
        """The plan by what it does to memories: one row per change, with both texts (`telling.TOLD`)."""
        from memory_pipeline.consolidation.plans import telling  # noqa: PLC0415 - no recall reads plans

        return telling.tell(self.plan, self.memories, self.as_of.tzinfo or UTC)

    @property
    def actions(self) -> dict[str, int]:
        """Number of decisions by action, without those held back by the quota."""
        released = self.plan.filter(pl.col("status") != "held")
        return dict(released.group_by("action").len().sort("action").iter_rows())

    @property
    def held(self) -> int:
        """Number of decisions held back by the quota."""
        return self.plan.filter(pl.col("status") == "held").height

    def to_dict(self) -> dict[str, Any]:
        """Return run_id, task, as_of, actions and held as JSON values."""
        return _plain({name: getattr(self, name) for name in ("run_id", "task", "as_of", "actions", "held")})

    def document(self) -> dict[str, Any]:
        """Return the plan in its portable form (see `plan_document.write`), the input of `apply`."""
        from memory_pipeline.consolidation.plans import plan_document  # noqa: PLC0415 - no recall reads plans

        return plan_document.write(self.plan, self.profiles, changes=self.changes)

    def told(self) -> list[str]:
        """Return how much of each kind changes, a sentence each, such as "2 repeats -> 1"."""
        from memory_pipeline.consolidation.plans import telling  # noqa: PLC0415 - no recall reads plans

        return telling.summary(self.changes)

    def __str__(self) -> str:
        """Return what the run changed, or would change, as a few lines."""
        head = f"plan of {self.task}, nothing written" if self.run_id is None else f"run {self.run_id} of {self.task}"
        held = [f"{self.held} decisions held back by the quota"] if self.held else []
        return _listed(f"{head}, as of {self.as_of:%Y-%m-%d %H:%M %Z}", [*self.told(), *held] or ["nothing to change"])

    __repr__ = __str__


def in_zone(values: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return values with their instants in a time zone, whose days they show."""
    return {name: value.astimezone(zone) if isinstance(value, datetime) else value for name, value in values.items()}


def instant(name: str, value: Any, zone: tzinfo | None = UTC) -> datetime | None:
    """Return an instant in UTC, parsed if it is ISO 8601 text, such as a day; None stays None.

    One without an offset is of the zone; without a zone it stays without.

    Raises:
        ValueError: the value is neither an instant nor text of one; names it.
    """
    try:
        parsed = datetime.fromisoformat(value) if isinstance(value, str) else value
        if parsed is None:
            return None
        if isinstance(parsed, datetime):
            known = parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)
            return known.astimezone(UTC) if known.tzinfo else known
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{name} is {shown(value)}; give an instant such as 2026-01-31T12:00:00Z")


def _is_all_there_is(memory: Recalled) -> bool:
    """Return whether there is no more to know about a memory than its text."""
    open_to_doubt = memory.conflicts or memory.outdated_by or memory.closed_statements
    return memory.current is not False and not open_to_doubt and not memory.deep


def _is_told(memory: Recalled, told_of: Mapping[str, str], written: set[str]) -> bool:
    """Return whether core memory has the text of a memory: as its fact (`told_of`), or in a statement of the user's."""
    if one_line(memory.text) in told_of.get(memory.memory_id, ""):
        return True
    by_user = memory.speaker is None or memory.speaker.lower() in USERS
    return by_user and _sentences(whereabouts.below(memory.heading, memory.text)) <= written


def _sentences(text: str) -> set[str]:
    """Return the sentences of a text without the dates and users that a summary puts before them."""
    return {sentence.rstrip(".").casefold() for sentence in _CUT.split(text) if sentence}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case Mapping():
            return _plain(value)
        case list() | tuple():
            return [_json(item) for item in value]
    return value


def _object(value: Any) -> str | None:
    """Return an object of JSON values as canonical text; an empty object or list would admit nothing."""
    if value is None:
        return None
    try:
        read = read_json(value) if isinstance(value, str) else value
        if isinstance(read, Mapping) and read and [] not in read.values():
            return canonical_json(dict(read))
    except ValueError:
        pass
    raise ValueError(f'filters.metadata is {shown(value)}; give an object such as {{"project": "shop"}}')


def _words(name: str, value: Any) -> tuple[str, ...] | None:
    """Return one string or several as a tuple; an empty collection would admit nothing and is refused."""
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else value
    if words is None or (isinstance(words, tuple) and words and all(isinstance(word, str) for word in words)):
        return words
    raise ValueError(f"filters.{name} is {shown(value)}; give a list of strings, or leave it out")
