"""The explanation of a memory as values, JSON and sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

from memory_pipeline.consolidation.edges.edge_rows import PROPOSED
from memory_pipeline.consolidation.questions import PEOPLE
from memory_pipeline.recall import wording
from memory_pipeline.recall.models import Part, as_json
from memory_pipeline.recall.rank.reasons import reasons
from memory_pipeline.schemas import Action, EventType, Lifecycle
from memory_pipeline.text.compare.judge import ASIDE
from memory_pipeline.text.display import one_line, preview

Row = Mapping[str, Any]

_SHOWN: Final = 10
"""Most rows of a list in the text; `to_dict` has all."""
_NEAREST: Final = 3
"""Related memories, and questions, that the text names."""
_WORDS: Final = 32
"""Words and marks of a text that are quoted."""
_LINES: Final = 12
"""Most lines of the text that are printed in its place."""


@dataclass(frozen=True, kw_only=True)
class Factor:
    """One score of a memory, with its meaning or formula."""

    name: str
    value: float | int | str | datetime
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """Everything known about one memory. Rows have the columns of their table, without the profile."""

    profile_id: str
    memory_id: str
    as_of: datetime
    """Clock of the run whose tables were read; before the first run, the last write to the memory."""
    consolidated: bool
    """False for a memory that no run has seen yet: it has a text, but no scores, edges or clusters."""
    memory: Row
    """Its row of `memories`: text, lifecycle, validity, accesses, origin. For an erased memory a tombstone."""
    erased: Row | None
    """When and why it was erased."""
    recalled: Row | None
    """Its rank, score and score parts in one answer, if given."""
    scores: tuple[Factor, ...]
    """All scores and factors; empty for a memory that is not live."""
    is_protected: bool | None
    """None for a memory that is not live."""
    protection_reason: str | None
    centrality: Row | None
    """Its row of `memory_importance`."""
    edges: tuple[Row, ...]
    """Its edges, strongest first; `other` is the memory at the other end."""
    clusters: tuple[Row, ...]
    refusals: tuple[Row, ...]
    """Memories it was not merged with, and why."""
    facts: tuple[Row, ...]
    """Memories that state another value of the same fact, and which one holds, or that may repeat it."""
    decisions: tuple[Row, ...]
    """Committed decisions about it, oldest first, with `run_id` and whether each was `reverted`."""
    accesses: tuple[Row, ...]
    """Its recalls, oldest first: query, rank, session, and whether it was reached only over an association
    (`expanded`)."""
    events: tuple[Row, ...]
    """Events that wrote it, oldest first, without accesses: id, type, instant, ledger position, session, the text that
    the event gave it (`content`), and whether a run has seen the event (`consolidated`)."""
    members: tuple[Row, ...]
    """Members of a summary, with text and the event that stored each."""
    summaries: tuple[Row, ...]
    """Summaries that it is a member of."""
    texts: Mapping[str, str]
    """What the other memories say that it names, by id."""

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return as_json(asdict(self))

    def text(self) -> str:
        """Return the explanation in sentences, one a line; long lists are cut, and numbers are left to `to_dict`."""
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        """Return the first lines of its text."""
        lines = self.lines()
        more = [f"and {len(lines) - _LINES} more lines; text() has all"] if len(lines) > _LINES else []
        return "\n".join([*lines[:_LINES], *more])

    __str__ = __repr__

    def lines(self) -> list[str]:
        """Return the lines of `text`."""
        return [_enclosed(line) for line in self._lines()]

    def state(self) -> list[str]:
        """Return whether it is in use, what replaced it and whether it may fade, in sentences; erased: none."""
        return [] if self._erased else [*self._standing(), *self._kept()]

    def kind(self) -> str:
        """Return what it is, in words."""
        return wording.kind(self.memory, len(self.members))

    @property
    def _erased(self) -> bool:
        return bool(self.memory["lifecycle"] == Lifecycle.ERASED.value)

    def _lines(self) -> Iterator[str]:
        """Yield the sentences as they are, in which a text may have lines of its own."""
        yield _quoted(self.memory["content"])
        yield from self._said()
        if not self._erased:
            yield from self._standing()
            yield from self._ranked()
            successor = self.memory["superseded_by"]
            rest = (row for row in self.facts if successor is None or row["other"] != successor)
            told = (row for row in rest if row["relation"] != "doubt" or row["confidence"] >= PEOPLE.likelihood)
            yield from _most([_compared(row, self._named(row["other"])) for row in told])
            yield from _most([self._refused(row) for row in self.refusals])
            yield from self._kept()
            yield from self._related()
            yield from self._members()
        yield from self._history()
        yield f"memory {self.memory_id} of profile {self.profile_id}"

    def _said(self) -> Iterator[str]:
        memory = self.memory
        who = f" by {memory['speaker']}" if memory["speaker"] else ""
        said = f"It was said{who} on {self._day(memory.get('said_at') or memory['created_at'])}"
        uses = memory["access_count"]
        if uses:
            last = f", last on {self._day(memory['last_accessed_at'])}" if memory["last_accessed_at"] else ""
            said += f", and recalled {'once' if uses == 1 else f'{uses} times'}{last}"
        yield f"{said}."
        if not self.consolidated:
            yield "No consolidation has read it yet; the next one compares it with the others."
        if self._erased:
            why = f": {self.erased['reason']}" if self.erased and self.erased["reason"] else ""
            yield f"It was erased on {self._day(memory['lifecycle_since'])}{why}; nothing of what it said is left."

    def _standing(self) -> Iterator[str]:
        """Yield whether it holds, and what replaced it."""
        memory, lifecycle = self.memory, self.memory["lifecycle"]
        if memory["superseded_by"]:
            new = self._named(memory["superseded_by"])
            merged = memory["superseded_kind"] == "summary"
            yield f"It was merged into {new}." if merged else f"It is no longer true: {new} replaced it."
        elif lifecycle in _STATES:
            moves = [row for row in self.decisions if row["after"].get("lifecycle") == lifecycle]
            decided = moves and not moves[-1]["reverted"]
            changed = " One of those it stands for says something else now." if memory["members"] else ""
            yield f"{_STATES[lifecycle]} {moves[-1]['reason'] if decided else ''}{'' if decided else changed}".strip()
        else:
            yield "It is in use: a recall may return it."
        for one in memory.get("closed_statements") or ():
            new = self._named(one["closed_by"])
            ended = f"{_quoted(one['sentence'])} is no longer true since {self._day(one['valid_until'])}"
            yield f"Of it, {ended}; now: {new}."
        if memory["trimmed"] is not None:
            yield f"A recall shows only {_quoted(memory['trimmed'])}; a deep one shows all of it."
        if memory["valid_from"] or memory["valid_until"]:
            bounds = (("from", memory["valid_from"]), ("until", memory["valid_until"]))
            yield f"It holds {' '.join(f'{word} {self._day(at)}' for word, at in bounds if at)}."

    def _ranked(self) -> Iterator[str]:
        """Yield why it has its place in the answer asked about."""
        if self.recalled is None:
            return
        grouped = reasons([Part(**part) for part in self.recalled.get("parts") or ()])
        why = f", for {_listed([f'{one.name} ({one.share:.0%})' for one in grouped])}" if grouped else ""
        yield f"It is number {self.recalled['rank']} of the answer{why}."

    def _kept(self) -> Iterator[str]:
        if self.is_protected:
            yield f"It does not fade: {self.protection_reason}."
        elif self.is_protected is not None:
            yield "It may fade if nobody asks for it."

    def _refused(self, row: Row) -> str:
        what = "what they claim" if row["reason"] == "conflict" else row["reason"]
        sides = (row["detail"] or "").removeprefix("[").removesuffix("]").split("] / [")
        apart = f" ({' / '.join(side or 'nothing' for side in sides)})" if row["detail"] else ""
        return f"It was not merged with {self._named(row['other'])}: they differ in {what}{apart}."

    def _related(self) -> Iterator[str]:
        others = list(dict.fromkeys(row["other"] for row in self.edges if row["edge_type"] not in _SAID_OF_FACTS))
        if others:
            nearest = _listed([self._named(other) for other in others[:_NEAREST]])
            count = "one other" if len(others) == 1 else f"{len(others)} others"
            yield f"It is related to {count}{', most of all to' if len(others) > _NEAREST else ':'} {nearest}."

    def _members(self) -> Iterator[str]:
        if self.members:
            yield f"It stands for {len(self.members)} {'memory' if len(self.members) == 1 else 'memories'}:"
            days = [self._day(row["said_at"] or row["created_at"]) for row in self.members]
            said = [preview(row["content"], _WORDS) for row in self.members]
            yield from _most([f"  {day} {text}" for day, text in zip(days, said, strict=True)], indent="  ")
        yield from (f"It is summarised in {_quoted(row['content'])}." for row in self.summaries)

    def _history(self) -> Iterator[str]:
        """Yield what happened to it since it was stored, and the questions that last found it."""
        told = [(row["as_of"], self._decided(row)) for row in self.decisions]
        told += [(row["occurred_at"], self.happened(row)) for row in self.events]
        happened = [f"  {self._day(at)} {what}" for at, what in sorted(told, key=itemgetter(0)) if what]
        if happened:
            yield "What happened to it:"
            yield from _most(happened, indent="  ")
        if asked := [row for row in reversed(self.accesses) if row["query"]]:
            yield "Last found by:"
            found = dict.fromkeys(f"  {self._day(row['at'])} {_quoted(row['query'])}" for row in asked)
            yield from list(found)[:_NEAREST]

    def happened(self, row: Row) -> str:
        """Return what an event of `events` did, in words; empty for what has none."""
        if row["relation"] is None:
            return _EVENTS.get(row["event_type"], "")
        part = f", {_quoted(row['statement'])}" if row["statement"] else ""
        older, newer = self._named(row["target_id"]), self._named(row["memory_id"])
        return f"the {row['answered_by']} said: {_ANSWERED[row['relation']].format(older=older, newer=newer)}{part}"

    def _decided(self, row: Row) -> str:
        undone = " (undone)" if row["reverted"] else ""
        if row["action"] == Action.CLOSE.value and row["memory_id"] != self.memory_id:
            part = " a part of" if row["after"].get("statement") else ""
            return f"replaced{part} {self._named(row['memory_id'])}{undone}"
        done = _DONE.get(row["action"], "").format(self._named(row["target_id"]))
        why = "" if row["action"] == Action.SUPERSEDE.value else f": {row['reason']}"  # names its target by the id
        return f"{done}{why}{undone}" if done else ""

    def _named(self, memory_id: str | None) -> str:
        """Return what a memory says, or its id if that is not known."""
        if memory_id == self.memory_id:
            return "it"
        return _quoted(self.texts[memory_id]) if memory_id and memory_id in self.texts else str(memory_id)

    def _day(self, at: datetime) -> str:
        return f"{at.astimezone(self.as_of.tzinfo):%Y-%m-%d}"


_STATES: Final = {
    Lifecycle.COLD.value: "It is put away; only a deep recall finds it.",
    Lifecycle.STUB.value: "Only its beginning is kept at hand; a deep recall finds it.",
    Lifecycle.ARCHIVED.value: "It is archived; only a deep recall finds it.",
    Lifecycle.EXPIRED.value: "Its time is over; only a deep recall finds it.",
    Lifecycle.DELETED.value: "It was deleted.",
}
_SAID_OF_FACTS: Final = frozenset(PROPOSED.values())
"""Links that say what the comparison of facts says."""
_COMPARED: Final = {
    ("update", True): ("{} may have replaced it", "It may have replaced {}"),
    ("doubt", True): ("{} might have replaced it", "It might have replaced {}"),
    ("duplicate", True): ("{} may say the same", "It may say the same as {}"),
    ("conflict", True): ("{} contradicts it", "It contradicts {}"),
    ("update", False): ("{} replaced it", "It replaced {}"),
    ("duplicate", False): ("{} says the same", "It says the same as {}"),
    ("conflict", False): ("{} contradicts it", "It contradicts {}"),
    (ASIDE, True): ("{} mentions it without changing it", "It mentions {} without changing it"),
}
"""How another memory relates to it, by relation and doubt: where the other is the newer, and where it is the older."""
_ANSWERED: Final = {
    "update": "{newer} replaces {older}",
    "partial": "{newer} replaces a part of {older}",
    "repeat": "{newer} and {older} say the same",
    "conflict": "{newer} and {older} contradict each other",
    "none": "{newer} and {older} are both true",
    "open": "how {newer} relates to {older} is open again",
}
_DONE: Final = {
    **wording.ENDED,
    Action.SUPERSEDE.value: "merged into {}",
    Action.CLOSE.value: "no longer true since {}",
    Action.SUMMARISE.value: "written as a joint text",
}
"""What became of a memory, by the decision; links and scores are told elsewhere."""
_EVENTS: Final = {
    EventType.STORED.value: "stored",
    EventType.UPDATED.value: "changed",
    EventType.ERASED.value: "erased",
    EventType.FEEDBACK.value: "judged by somebody who had recalled it",
}


def _compared(row: Row, other: str) -> str:
    """Return how a memory relates to another one that was compared with it."""
    doubtful = not row["decided"]
    newer, older = _COMPARED.get((row["relation"], doubtful)) or ("{} is about the same", "It is about the same as {}")
    said = (newer if row["other"] == row["other_id"] else older).format(other)
    sure = f" ({row['confidence']:.0%} sure)" if doubtful and row["confidence"] is not None else ""
    return f"{said}{sure}."


def _most(lines: Sequence[str], *, indent: str = "") -> list[str]:
    """Return the first lines, and how many more there are."""
    rest = len(lines) - len(lines[:_SHOWN])
    return [*lines[:_SHOWN], *([f"{indent}... and {rest} more"] if rest else [])]


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))


def _quoted(text: str) -> str:
    return f"\u201c{one_line(preview(text, _WORDS))}\u201d"


def _enclosed(line: str) -> str:
    """Return a line with its indentation, and whatever it quotes on the same line."""
    return line[: len(line) - len(line.lstrip(" "))] + one_line(line)
