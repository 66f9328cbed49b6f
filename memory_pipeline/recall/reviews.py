"""Pairs of memories to answer, and what became of a memory that was stored."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, overload

import polars as pl

from memory_pipeline.consolidation import questions, whereabouts
from memory_pipeline.recall.models import Memory, as_json, listed, quoted, said
from memory_pipeline.text.display import preview


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
        part = f": {quoted(preview(self.statement))}" if self.relation == "partial" and self.statement else ""
        return f"{questions.asked(self.relation, self.confidence)}{part}"

    def text(self, letter: str = "") -> str:
        """Return the pair, named by a letter if given, as three lines for a prompt, each memory as one quoted line."""
        asked = f"{f'{letter} ' if letter else ''}[{self.pair_id}] {self.question()}"
        return "\n".join(
            [asked, *(f"  {name}: {said(getattr(self, name), in_quotes=True)}" for name in ("older", "newer"))]
        )

    __str__ = __repr__ = text

    def sentences(self) -> list[tuple[str, bool]]:
        """Return the sentences of the older memory, and of each whether the newer one may end it."""
        from memory_pipeline.text.parse.sentences import split_sentences  # noqa: PLC0415 - a recall needs no segmenter

        split = split_sentences(pl.Series([self.older.content]))["sentence"].str.strip_chars().to_list()
        ended = self.statement or ""
        return [(one, one in ended) for sentence in split for one in sentence.splitlines() if one.strip()]

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        return as_json(asdict(self))


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
            | {
                name: whereabouts.noted(one.line(), one.metadata)
                for name, one in (("older", pair.older), ("newer", pair.newer))
            }
            for pair in self.pairs
        ]
        return pl.DataFrame(rows, schema=digest.DOUBTS)

    def __str__(self) -> str:
        """Return the pairs after a count of all that wait."""
        return listed(f"{self.waiting} waiting for an answer", self.text().splitlines())

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
        return listed(what, [pair.text() for pair in self.likely])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        likely = [pair.to_dict() for pair in self.likely]
        what = {"memory_id": self.memory_id, "likely": likely, "quoted": [*self.quoted], "stored": self.stored}
        return what | {"left_out": self.left_out}


def _letter(place: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    name = ""
    while place >= 0:
        name, place = chr(ord("A") + place % 26) + name, place // 26 - 1
    return name
