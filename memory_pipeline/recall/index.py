"""The index of recall: the memories of one profile, ready to be ranked.

Immutable: `extended` shares what did not change, so that readers need no lock. What is not here: what a query asks for
(`questions`) and what a memory is worth to it (`features`, `ranking`).
"""

from dataclasses import dataclass, replace
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.lake.schemas import LIVE, Lifecycle
from memory_pipeline.recall.pieces import CUES, Pieces
from memory_pipeline.recall.postings import Postings
from memory_pipeline.recall.questions import HELPERS
from memory_pipeline.recall.sessions import Sessions
from memory_pipeline.recall.vector_rows import VectorRows

Integers = NDArray[np.int64]
Marks = NDArray[np.bool_]

_GONE: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)
_ASKS: Final = CUES.index("asks")
_ORDER: Final = ["created_at", "seq", "memory_id"]


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Memories of one profile with their words, pieces, sessions and vectors.

    Attributes:
        memories: rows of the table `memories`, in the order of the index.
        model: embedder of the vectors.
        postings: words of the pieces.
        pieces: the pieces of the memories.
        sessions: who stands next to whom.
        vectors: vector of each memory.
        live: memories that ordinary recall may return.
        created: when each was stored, microseconds since 1970.
        speakers: names of those who speak, in order of their first words.
        speaker: of each memory its speaker's place in `speakers`, -1 for none.
        closers: ids of the memories that ended the validity of another.
    """

    memories: pl.DataFrame
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
        pieces, cut = Pieces.of(texts, rows["created_at"])
        speakers = tuple(rows["speaker"].drop_nulls().unique(maintain_order=True).to_list())
        return cls(
            rows,
            model,
            Postings.build(cut),
            pieces,
            Sessions.build(rows),
            VectorRows.build(rows, vectors, model),
            rows["lifecycle"].is_in(LIVE).to_numpy(),
            rows["created_at"].cast(pl.Int64).to_numpy(),
            speakers,
            _places(rows["speaker"], speakers),
            frozenset(rows["closed_by"].drop_nulls().to_list()),
        )

    def extended(self, memories: pl.DataFrame, vectors: pl.DataFrame) -> Self:
        """Add rows that are new, and put rows that changed in the place of the old ones.

        Answers are those of an index built from all rows at once. Cost: a few milliseconds for a few new rows; a
        changed text or a row that is deleted or erased builds the index anew.
        """
        changed = memories.join(self.memories.select("memory_id"), on="memory_id", how="semi")
        if changed.height:
            rows = pl.concat(
                [self.memories.join(memories, on="memory_id", how="anti"), memories.select(self.memories.columns)]
            )
            known = self.vectors.table(self.memories, self.model, vectors)
            return self.build(rows, known, model=self.model)
        rows = _checked(memories)
        texts = rows.select(pl.coalesce("index_text", "content")).to_series()
        pieces, cut = Pieces.of(texts, rows["created_at"])
        said = rows["speaker"].drop_nulls().unique(maintain_order=True).to_list()
        speakers = (*self.speakers, *(name for name in said if name not in set(self.speakers)))
        return replace(
            self,
            memories=pl.concat([self.memories, rows.select(self.memories.columns)], rechunk=False),
            postings=self.postings.extended(cut),
            pieces=self.pieces.joined(pieces, self.memories.height),
            sessions=self.sessions.extended(rows, self.memories),
            vectors=self.vectors.extended(rows, vectors, self.model),
            live=np.concatenate([self.live, rows["lifecycle"].is_in(LIVE).to_numpy()]),
            created=np.concatenate([self.created, rows["created_at"].cast(pl.Int64).to_numpy()]),
            speakers=speakers,
            speaker=np.concatenate([self.speaker, _places(rows["speaker"], speakers)]),
            closers=self.closers | frozenset(rows["closed_by"].drop_nulls().to_list()),
        )


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
