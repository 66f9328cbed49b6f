"""The index of recall: the memories of one profile, ready to be ranked.

Immutable: `extended` shares what did not change, so that readers need no lock. What is not here: what a query asks for
(`questions`) and what a memory is worth to it (`features`, `ranking`).
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.recall.index.passages import CUES, Pieces
from memory_pipeline.recall.index.postings import Postings
from memory_pipeline.recall.index.queries import HELPERS
from memory_pipeline.recall.index.row_ids import Places
from memory_pipeline.recall.index.sessions import SAID_AT, Sessions
from memory_pipeline.recall.index.vector_rows import VectorRows
from memory_pipeline.schemas import LIVE, Lifecycle

Integers = NDArray[np.int64]
Marks = NDArray[np.bool_]

_GONE: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)
_ASKS: Final = CUES.index("asks")
_ORDER: Final = (SAID_AT, "seq", "memory_id")
_LASTING: Final = (
    *("created_at", "said_at", "seq", "memory_id", "kind", "members", "session_id", "speaker"),
    *("content", "index_text", "content_hash"),
)
"""Columns on which place and words of a memory depend."""
_CHUNKS: Final = 32
"""The table is put together anew once it has more pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Memories of one profile with their words, pieces, sessions and vectors.

    Attributes:
        memories: rows of the table `memories`, in the order of the index: by age.
        places: row of each memory by its id.
        model: embedder of the vectors.
        postings: words of the pieces.
        pieces: the pieces of the memories.
        sessions: who stands next to whom.
        vectors: vector of each memory.
        live: memories that ordinary recall may return.
        created: when each was said (see `sessions.SAID_AT`), microseconds since 1970.
        speakers: names of those who speak, in order of their first words.
        speaker: of each memory its speaker's place in `speakers`, -1 for none.
        closers: ids of the memories that ended the validity of another.
    """

    memories: pl.DataFrame
    places: Places
    model: str
    postings: Postings
    pieces: Pieces
    sessions: Sessions
    vectors: VectorRows
    live: Marks
    created: Integers
    speakers: tuple[str, ...]
    speaker: Integers
    closers: frozenset[str]

    def asks(self, rows: Integers) -> Marks:
        """Whether each memory ends in a question; no for a row of -1."""
        last = self.pieces.bounds(rows)[1] - 1
        return np.asarray((rows >= 0) & self.pieces.cues[last, _ASKS], dtype=np.bool_)

    def says(self, speakers: tuple[int, ...]) -> Marks:
        """Whether one of these speakers said each memory."""
        wanted = np.zeros(len(self.speakers) + 1, dtype=np.bool_)
        wanted[list(speakers)] = True
        return np.asarray(wanted[self.speaker], dtype=np.bool_)

    def helps(self, rows: Integers) -> Marks:
        """Whether an assistant said each memory; no for a row of -1."""
        helping = np.array([name.lower() in HELPERS for name in self.speakers] + [False])
        return np.asarray((rows >= 0) & helping[self.speaker[rows]], dtype=np.bool_)

    @classmethod
    def build(cls, memories: pl.DataFrame, vectors: pl.DataFrame, *, model: str) -> Self:
        """Index rows of `memories`, of one profile, with their rows of `vectors`.

        Args:
            memories: table `memories`; deleted and erased rows are left out.
            vectors: table `vectors`; those of other embedders are left out, and a memory may lack one.
            model: name of the embedder.

        Raises:
            ValueError: rows of more than one profile, or a memory twice.

        Cost: about 5 s for 100,000 short memories on one core.
        """
        rows = _checked(memories)
        texts = rows.select(pl.coalesce("index_text", "content")).to_series()
        pieces, cut = Pieces.of(texts, _said_at(rows))
        speakers = tuple(rows["speaker"].drop_nulls().unique(maintain_order=True).to_list())
        return cls(
            rows,
            Places.of(rows["memory_id"].to_list()),
            model,
            Postings.build(cut),
            pieces,
            Sessions.build(rows),
            VectorRows.build(rows, vectors, model),
            rows["lifecycle"].is_in(LIVE).to_numpy(),
            _said_at(rows).cast(pl.Int64).to_numpy(),
            speakers,
            _places(rows["speaker"], speakers),
            _closers(rows),
        )

    def extended(self, memories: pl.DataFrame, vectors: pl.DataFrame) -> "Index":
        """Add rows that are new, and put rows that changed in the place of the old ones.

        Answers are those of an index built from all rows at once.

        Args:
            memories: table `memories`; those that are deleted or erased leave the index.
            vectors: table `vectors`: those of texts that are new.

        Raises:
            ValueError: rows of another profile, or a memory twice.

        Cost: a few milliseconds, and copies of some arrays; words are read only where a text is new.
        """
        rows = _checked(memories)
        if rows.height and self.memories.height and rows["profile_id"][0] != self.memories["profile_id"][0]:
            raise ValueError(
                f"memories has rows of the profile {rows['profile_id'][0]!r}, the index is of "
                f"{self.memories['profile_id'][0]!r}; an index holds one profile"
            )
        given = memories.filter(pl.col("lifecycle").is_in(_GONE))["memory_id"].to_list()
        gone = self.places.rows(given)
        known = self.places.rows(rows["memory_id"].to_list())
        stay = self._stays(rows, known)
        left = np.concatenate([gone[gone >= 0], known[~stay & (known >= 0)]])
        grown = self if stay.all() and not len(left) else self._grown(rows.filter(~stay), vectors, left)
        return _told(grown, rows.filter(stay), vectors) if stay.any() else grown

    def wanting(self, memories: pl.DataFrame) -> pl.DataFrame:
        """Return those of some rows of `memories` whose vectors the index has not."""
        known = self.places.rows(memories["memory_id"].to_list())
        there = self._stays(memories, known)
        there[there] = self.vectors.at[known[there]] >= 0
        return memories.filter(~there)

    def _stays(self, rows: pl.DataFrame, known: Integers) -> Marks:
        """Whether each row stands where it stood, with the words it had."""
        found = np.flatnonzero(known >= 0)
        if not len(found):
            return np.zeros(len(known), dtype=np.bool_)
        old = self.memories.select(_LASTING)[known[found]]
        new = rows.select(_LASTING)[found]
        same = np.zeros(len(known), dtype=np.bool_)
        same[found] = pl.select(pl.all_horizontal(new[name].eq_missing(old[name]) for name in _LASTING)).to_series()
        return same

    def _grown(self, rows: pl.DataFrame, vectors: pl.DataFrame, left: Integers) -> "Index":
        """Take rows in, and leave out those at some places."""
        height = self.memories.height
        kept = np.delete(np.arange(height), left)
        order = np.insert(kept, np.searchsorted(kept, self._ranked(rows)), height + np.arange(rows.height))
        texts = rows.select(pl.coalesce("index_text", "content")).to_series()
        new, cut = Pieces.of(texts, _said_at(rows))
        said = rows["speaker"].drop_nulls().unique(maintain_order=True).to_list()
        speakers = (*self.speakers, *(name for name in said if name not in set(self.speakers)))
        grown = replace(
            self,
            memories=pl.concat([self.memories, rows.select(self.memories.columns)], rechunk=False),
            places=self.places.extended(rows["memory_id"].to_list()),
            postings=self.postings.extended(cut),
            pieces=self.pieces.joined(new, height),
            vectors=self.vectors.extended(rows, vectors, self.model),
            live=np.concatenate([self.live, rows["lifecycle"].is_in(LIVE).to_numpy()]),
            created=np.concatenate([self.created, _said_at(rows).cast(pl.Int64).to_numpy()]),
            speakers=speakers,
            speaker=np.concatenate([self.speaker, _places(rows["speaker"], speakers)]),
            closers=self.closers | frozenset(rows["closed_by"].drop_nulls().to_list()),
        )
        if len(order) < height + rows.height or np.any(order != np.arange(len(order))):
            return _arranged(grown, order)
        memories = grown.memories.rechunk() if grown.memories.n_chunks() > _CHUNKS else grown.memories
        return replace(grown, memories=memories, sessions=self.sessions.extended(rows, self.memories))

    def _ranked(self, rows: pl.DataFrame) -> Integers:
        """How many of the memories come before each of some rows."""
        keys = self.memories.select("seq", "memory_id")
        created = _said_at(rows).cast(pl.Int64).to_numpy()
        first, last = (np.searchsorted(self.created, created, side=side) for side in ("left", "right"))
        return np.array(
            [
                bisect_left(range(end), key, lo=begin, key=keys.row) if begin < end else begin
                for begin, end, key in zip(
                    first.tolist(), last.tolist(), rows.select(keys.columns).iter_rows(), strict=True
                )
            ],
            dtype=np.int64,
        )


def _told(index: Index, rows: pl.DataFrame, vectors: pl.DataFrame) -> Index:
    """Let rows say what has changed beside place and words."""
    height, known = index.memories.height, index.places.rows(rows["memory_id"].to_list())
    newest = np.arange(height)
    newest[known] = height + np.arange(rows.height)
    live = index.live.copy()
    live[known] = rows["lifecycle"].is_in(LIVE).to_numpy()
    memories = pl.concat([index.memories, rows.select(index.memories.columns)], rechunk=False)[newest]
    blank = np.flatnonzero(index.vectors.at[known] < 0)
    found = index.vectors
    if len(blank) and vectors.height:
        place = np.arange(height)
        place[known[blank]] = height + np.arange(len(blank))
        found = found.extended(rows[blank], vectors, index.model).arranged(place)
    return replace(index, memories=memories, live=live, vectors=found, closers=_closers(memories))


def _arranged(index: Index, order: Integers) -> Index:
    """Take the memories of these rows alone, in this order; sessions are found anew."""
    memories = index.memories[order]
    pieces, of_pieces = _pieces(index.pieces, order)
    there = np.bincount(index.speaker[order] + 1, minlength=len(index.speakers) + 1)[1:] > 0
    number = np.append(np.where(there, np.cumsum(there) - 1, -1), -1)
    return replace(
        index,
        memories=memories,
        places=index.places.arranged(order),
        postings=index.postings.arranged(of_pieces),
        pieces=pieces,
        sessions=Sessions.build(memories),
        vectors=index.vectors.arranged(order),
        live=index.live[order],
        created=index.created[order],
        speakers=tuple(name for name, speaks in zip(index.speakers, there, strict=True) if speaks),
        speaker=number[index.speaker[order]],
        closers=_closers(memories),
    )


def _pieces(pieces: Pieces, order: Integers) -> tuple[Pieces, Integers]:
    """The pieces of the memories of some rows, in their order, and where these pieces stood."""
    first, last = pieces.bounds(order)
    sizes = last - first
    taken = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    place = np.full(len(pieces.row), -1, dtype=np.int64)
    place[taken] = np.arange(len(taken))
    spans = pieces.spans.copy()
    spans[:, 0] = place[spans[:, 0]]
    spans = spans[spans[:, 0] >= 0]
    return replace(
        pieces,
        row=np.repeat(np.arange(len(order)), sizes),
        tokens=pieces.tokens[taken],
        cues=pieces.cues[taken],
        spans=spans[np.argsort(spans[:, 0], kind="stable")],
        names=pieces.names.gather(taken),
    ), taken


def _said_at(memories: pl.DataFrame) -> pl.Series:
    return memories.select(SAID_AT).to_series()


def _closers(memories: pl.DataFrame) -> frozenset[str]:
    """Ids of the memories that ended the validity of another."""
    return frozenset(memories["closed_by"].drop_nulls().to_list())


def _checked(memories: pl.DataFrame) -> pl.DataFrame:
    """Rows that can be recalled, in the order of their age."""
    rows = memories.filter(~pl.col("lifecycle").is_in(_GONE)).sort(_ORDER)
    if rows["profile_id"].n_unique() > 1:
        names = ", ".join(rows["profile_id"].unique().sort().to_list())
        raise ValueError(f"memories has rows of the profiles {names}; an index holds one profile: filter them")
    if rows["memory_id"].is_duplicated().any():
        twice = rows.filter(pl.col("memory_id").is_duplicated())["memory_id"].sort()[0]
        raise ValueError(f"memories has {twice!r} more than once; give each memory one row")
    return rows


def _places(names: pl.Series, known: tuple[str, ...]) -> Integers:
    """Place of each name among the known ones, -1 for none."""
    places = {name: place for place, name in enumerate(known)}
    return names.replace_strict(places, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
