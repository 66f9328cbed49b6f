"""The explanation of a memory as values, JSON and lines of text.

Not here: reading the facts (`explain`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from memory_pipeline.schemas import LIVE, Lifecycle
from memory_pipeline.text.compare.judge import ASIDE
from memory_pipeline.text.display import one_line

Row = Mapping[str, Any]

_SHOWN: Final = 10
"""Most rows of a list in the text; `to_dict` has all."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    def text(self) -> str:
        """Return the explanation as text, one fact a line; long lists are truncated."""
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

    def _lines(self) -> list[str]:
        """Return the lines as they are, in which a text may have lines of its own."""
        return [
            *self._state(),
            *self._succession(),
            *self._ranked(),
            *_section("scores", [_factor(factor) for factor in self.scores], shown=None),
            *self._protection(),
            *_section(f"edges: {len(self.edges)}, strongest first", [_edge(row) for row in self.edges]),
            *_section("clusters", [_cluster(row) for row in self.clusters]),
            *_section(
                "not merged with", [f"{row['other']}: {row['reason']}: {row['detail']}" for row in self.refusals]
            ),
            *_section("other values of its facts", [_fact(row) for row in self.facts]),
            *_section("decisions", [_decision(row) for row in self.decisions], shown=None),
            *_section(
                f"recalled: {len(self.accesses)} {'time' if len(self.accesses) == 1 else 'times'}, latest first",
                [_access(row) for row in reversed(self.accesses)],
            )[: None if self.accesses else 0],
            *_section("written by", [_event(row) for row in self.events]),
            *_section("members", [_text(row) + f" (event {row['event_id']})" for row in self.members], shown=None),
            *_section("in summaries", [_text(row) for row in self.summaries], shown=None),
        ]

    def _state(self) -> Iterator[str]:
        memory = self.memory
        yield f"memory {self.memory_id} of profile {self.profile_id}, as of {self.as_of.isoformat()}"
        yield f"  {one_line(memory['content'])}"
        if not self.consolidated:
            yield "not consolidated yet: no run has processed it; the next one scores, links and groups it"
        if memory["lifecycle"] == Lifecycle.ERASED.value:
            why = f": {self.erased['reason']}" if self.erased else ""
            yield f"erased: {memory['lifecycle_since'].isoformat()}{why}; nothing of its content is left"
            yield f"stored: {memory['created_at'].isoformat()}"
            return
        inferred = " (inferred)" if memory["memory_type_inferred"] else ""
        speaker = f", said by {memory['speaker']}" if memory["speaker"] else ""
        last = f", last {memory['last_accessed_at'].isoformat()}" if memory["last_accessed_at"] else ""
        yield f"  {memory['kind']}, {memory['memory_type']}{inferred}, {memory['category']}{speaker}"
        yield f"stored: {memory['created_at'].isoformat()}, accesses: {memory['access_count']}{last}"
        yield f"lifecycle: {memory['lifecycle']} since {memory['lifecycle_since'].isoformat()}, tier {memory['tier']}"

    def _succession(self) -> Iterator[str]:
        """Return lines on what replaced it, what a recall returns of it, and its validity."""
        memory = self.memory
        moves = [row for row in self.decisions if row["after"].get("lifecycle") == memory["lifecycle"]]
        if memory["lifecycle"] not in LIVE and moves and not moves[-1]["reverted"]:
            yield f"  by {_decision(moves[-1])}"
        elif memory["lifecycle"] not in LIVE and memory["members"]:
            yield "  because one of its members says something else now"
        if memory["superseded_by"]:
            yield f"superseded by: {memory['superseded_by']} ({memory['superseded_kind']})"
        for one in memory.get("closed_statements") or ():
            yield f"outdated since {_figure(one['valid_until'])} by {one['closed_by']}: {one_line(one['sentence'])}"
        if memory["trimmed"] is not None:
            yield f"trimmed: recall shows {one_line(memory['trimmed'])!r}; a deep recall shows all of it"
        if memory["valid_from"] or memory["valid_until"]:
            start, end = (_plain(memory[name]) or "open" for name in ("valid_from", "valid_until"))
            yield f"valid: from {start} until {end}"

    def _ranked(self) -> list[str]:
        """Return lines on its rank in the answer asked about."""
        if self.recalled is None:
            return []
        parts = self.recalled.get("parts") or ()
        lines = [f"{part['name']}: {_figure(part['value'])}, weight {_figure(part['weight'])}" for part in parts]
        title = f"rank {self.recalled['rank']} of the answer, score {_figure(self.recalled['score'])}"
        return _section(title, lines, shown=None) or [title]

    def _protection(self) -> Iterator[str]:
        if self.is_protected is not None:
            yield f"protection: {self.protection_reason or 'none'}"
        elif self.consolidated and self.memory["lifecycle"] != Lifecycle.ERASED.value:
            yield "protection: not needed, since only live memories can leave the live set"
        if self.centrality:
            degree = self.centrality["degree"]
            around = f"{degree} {'neighbour' if degree == 1 else 'neighbours'}"
            yield f"centrality: PageRank {_figure(self.centrality['pagerank'])}, {around}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _section(title: str, lines: Sequence[str], *, shown: int | None = _SHOWN) -> list[str]:
    """Return a title with its lines indented and truncated, or nothing without lines."""
    rest = len(lines) - len(lines[:shown])
    more = [f"  ... and {rest} more"] if rest else []
    return [title, *(f"  {line}" for line in lines[:shown]), *more] if lines else []


def _figure(value: float | str | datetime) -> str:
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def _factor(factor: Factor) -> str:
    return f"{factor.name:<20} {_figure(factor.value):>10}  {factor.meaning}"


def _edge(row: Row) -> str:
    kind = f"/{row['kind']}" if row["kind"] else ""
    arrow = "from" if row["other"] == row["source"] else "to"
    return f"{row['edge_type']}{kind} {arrow} {row['other']}, weight {_figure(row['weight'])}, {row['origin']}"


def _cluster(row: Row) -> str:
    cohesion = "" if row["cohesion"] is None else f", cohesion {_figure(row['cohesion'])}"
    return f"{row['label']}: {row['method']}, size {row['cluster_size']}{cohesion} ({row['cluster_id']})"


def _fact(row: Row) -> str:
    place = "newer" if row["other"] == row["other_id"] else "older"
    sure = "" if row["decided"] or row["relation"] == "conflict" else "possible "
    relation = {"doubt": "update, too unsure for a link", ASIDE: "mention"}.get(row["relation"], row["relation"])
    return f"{sure}{relation}: {place} {row['other']} by {row['rule']}: {row['reason']}"


def _decision(row: Row) -> str:
    undone = ", undone" if row["reverted"] else ""
    what = f"{row['action']} {row['target_id']}" if row["target_id"] else row["action"]
    return f"{row['as_of'].isoformat()} {what} by {row['rule']}: {row['reason']} (plan {row['plan_id']}{undone})"


def _access(row: Row) -> str:
    asked = f" by {one_line(row['query'])!r}" if row["query"] else ""
    rank = f", rank {row['rank']}" if row["rank"] is not None else ""
    session = f", session {row['session_id']}" if row["session_id"] else ""
    return f"{row['at'].isoformat()}{asked}{rank}{session}{', over an association' if row['expanded'] else ''}"


def _event(row: Row) -> str:
    new = "" if row["consolidated"] else ", not consolidated yet"
    if row["relation"] is not None:
        part = f" of {one_line(row['statement'])!r}" if row["statement"] else ""
        new = (
            f": the {row['answered_by']} says {row['relation']}{part}, {row['memory_id']} after {row['target_id']}{new}"
        )
    return (
        f"{row['event_type']} {row['event_id']} at {row['occurred_at'].isoformat()}, ledger position {row['seq']}{new}"
    )


def _text(row: Row) -> str:
    return f"{row['memory_id']}: {one_line(row['content'])}"


def _enclosed(line: str) -> str:
    """Return a line with its indentation, and whatever it quotes on the same line."""
    return line[: len(line) - len(line.lstrip(" "))] + one_line(line)
