"""The recall index: the memories of one profile with everything ranking reads of them.

Immutable: `extended` shares unchanged parts with its predecessor, so readers need no lock.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Self

import numpy as np
import polars as pl

from memory_pipeline.consolidation import expiry, whereabouts
from memory_pipeline.recall.index.passages import CUES, Passages
from memory_pipeline.recall.index.postings import Postings
from memory_pipeline.recall.index.row_ids import RowIds
from memory_pipeline.recall.index.sessions import SAID_AT, Sessions
from memory_pipeline.recall.index.standing import Standing
from memory_pipeline.recall.index.vector_rows import VectorRows
from memory_pipeline.schemas import Lifecycle
from memory_pipeline.text.arrays import Floats, Integers, Marks
from memory_pipeline.text.embed.embedding import HashingEmbedder
from memory_pipeline.text.parse.speakers import ASSISTANTS

_REMOVED: Final = (Lifecycle.DELETED.value, Lifecycle.ERASED.value)
_ASKS: Final = CUES.index("asks")
_ORDER: Final = (SAID_AT, "seq", "memory_id")
_LASTING: Final = (
    *("created_at", "said_at", "seq", "memory_id", "kind", "members", "session_id", "speaker"),
    *("content", "index_text", "content_hash", "metadata"),
)
"""Columns that determine a memory's position in the index and its words."""
_BEFORE_ALL: Final = 2**60
"""Microseconds: more than lie between any two memories."""
_GROWTH: Final = 4
"""Rows added later are joined with the first ones unless those are more than this many times as many."""


@dataclass(frozen=True, eq=False)
class Index:
    """Memories of one profile with their words, passages, sessions and vectors.

    Attributes:
        memories: rows of the table `memories`, oldest first; a row number is a memory's position here.
        row_ids: row of each memory by its id.
        model: embedder of the vectors.
        postings: words of the passages.
        passages: the passages of the memories.
        sessions: the order of memories within their sessions.
        vectors: vector of each memory.
        standing: which memories are live, and when each holds.
        created: when each was said (see `sessions.SAID_AT`), microseconds since 1970.
        speakers: names of the speakers, in order of their first memory.
        speaker: position in `speakers` of each memory's speaker, -1 for none.
        closers: ids of the memories that ended the validity of another.
    """

    memories: pl.DataFrame
    row_ids: RowIds
    model: str
    postings: Postings
    passages: Passages
    sessions: Sessions
    vectors: VectorRows
    standing: Standing
    created: Integers
    speakers: tuple[str, ...]
    speaker: Integers
    closers: frozenset[str]

    def asks(self, rows: Integers) -> Marks:
        """Return which memories end in a question; False for row -1."""
        last = self.passages.bounds(rows)[1] - 1
        return np.asarray((rows >= 0) & self.passages.cues[last, _ASKS], dtype=np.bool_)

    def dated(self, rows: Integers) -> Integers:
        """Return when each of some memories was said, microseconds since 1970, to compare their ages by.

        What has no day of its own (`whereabouts.undated`) counts as older than all that has one.
        """
        undated = self.memories[rows, ["metadata"]].select(whereabouts.undated()).to_series().fill_null(value=False)
        result: Integers = self.created[rows] - undated.to_numpy() * _BEFORE_ALL
        return result

    def spoken_by(self, speakers: tuple[int, ...]) -> Marks:
        """Return which memories one of these speakers said."""
        selected = np.zeros(len(self.speakers) + 1, dtype=np.bool_)
        selected[list(speakers)] = True
        return np.asarray(selected[self.speaker], dtype=np.bool_)

    @property
    def live(self) -> Marks:
        """Memories that ordinary recall may return."""
        return self.standing.live

    @property
    def stands_alone(self) -> Marks:
        """Which memories are originals or replaced their members, as opposed to summaries beside their members."""
        return self.standing.alone

    @property
    def validity(self) -> tuple[Integers, Integers]:
        """When each memory begins and ceases to hold, microseconds since 1970; the ends of time where unlimited."""
        return self.standing.begins, self.standing.ends

    @cached_property
    def said_by_people(self) -> Marks:
        """Which memories no assistant said."""
        return ~self._assistants[self.speaker]

    @cached_property
    def closings(self) -> Mapping[int, Sequence[int]]:
        """Rows of the memories that ended each memory or a sentence of it, of those of which something ended."""
        of_sentences = pl.col("closed_statements").list.eval(pl.element().struct.field("closed_by")).fill_null([])
        ended = self.memories.with_row_index("row").filter(
            pl.col("closed_by").is_not_null() | (pl.col("closed_statements").list.len() > 0)
        )
        by = ended.select(
            "row", by=pl.concat_list(pl.concat_list("closed_by").list.drop_nulls(), of_sentences)
        ).explode("by")
        rows = self.row_ids.rows(by["by"].to_list())
        found: dict[int, list[int]] = {}
        for row, closer in zip(by["row"].to_list(), rows.tolist(), strict=True):
            if closer >= 0:
                found.setdefault(row, []).append(closer)
        return found

    @cached_property
    def talk(self) -> float:
        """Share of the memories right before or after which another speaker spoke in their session, 0..1.

        About 1 in a conversation, about 0 in notes.
        """
        order = self.sessions.order
        if not len(order):
            return 0.0
        speaker, session = self.speaker[order], self.sessions.number[order]
        answered = (session[1:] == session[:-1]) & (speaker[1:] != speaker[:-1])
        answered &= np.minimum(speaker[1:], speaker[:-1]) >= 0
        in_talk = np.zeros(len(order) + 1, dtype=np.bool_)
        in_talk[1:-1] = answered
        return float((in_talk[1:] | in_talk[:-1]).sum()) / len(self.speaker)

    @cached_property
    def root_lengths(self) -> Floats:
        """Square roots of the lengths of all memories, in content words."""
        lengths = self.postings.lengths
        whole = len(lengths) == self.memories.height
        return np.sqrt(lengths if whole else np.bincount(self.passages.row, lengths, self.memories.height))

    @cached_property
    def _expiring(self) -> Integers:
        """The memories that were stored for a time, and summaries of one that was."""
        if not self.standing.timed.any():
            return np.zeros(0, dtype=np.int64)
        return np.flatnonzero(expiry.expiring(self.memories).to_numpy())

    @cached_property
    def _assistants(self) -> Marks:
        """Which speakers are assistants, and False for none."""
        return np.array([*(name.lower() in ASSISTANTS for name in self.speakers), False])

    def shown(self, at: int, *, deep: bool = False, current: bool = False) -> Marks:
        """Return which memories a reader is shown at an instant, microseconds since 1970: the live ones.

        Those that were stored for a time which is over (see `expiry`) are not. `deep` shows all; `current` only what
        holds then.
        """
        begins, ends = self.validity
        shown = np.ones(self.memories.height, dtype=np.bool_) if deep else self.live.copy()
        if not deep:
            shown[self._expiring[ends[self._expiring] <= at]] = False
        return np.asarray(shown & (begins <= at) & (at < ends), dtype=np.bool_) if current else shown

    def by_assistant(self, rows: Integers) -> Marks:
        """Return which memories an assistant said; False for row -1."""
        return np.asarray((rows >= 0) & self._assistants[self.speaker[rows]], dtype=np.bool_)

    @classmethod
    def build(cls, memories: pl.DataFrame, vectors: pl.DataFrame, *, model: str) -> Self:
        """Build the index of one profile. Cost: about 5 s for 100,000 short memories on one core.

        Deleted and erased memories are ignored, and vectors of other embedders; a memory may lack one. Raises
        ValueError: the rows belong to more than one profile, or a memory occurs more than once.
        """
        rows = _recallable(memories)
        texts = rows.select(whereabouts.searched()).to_series()
        passages, passage_texts = Passages.of(texts, _said_at(rows))
        postings = Postings.build(passage_texts, passages.languages)
        return cls.of(rows, model, postings, passages, VectorRows.build(rows, vectors, model))

    @classmethod
    def of(cls, rows: pl.DataFrame, model: str, postings: Postings, passages: Passages, vectors: VectorRows) -> Self:
        """Return the index of memories, oldest first, whose words, passages and vectors are known."""
        speakers = tuple(_present(rows["speaker"]))
        return cls(
            rows.rechunk(),
            RowIds.of(rows["memory_id"].to_list()),
            model,
            postings,
            passages,
            Sessions.build(rows),
            vectors,
            Standing.of(rows),
            _said_at(rows).cast(pl.Int64).to_numpy(),
            speakers,
            _positions(rows["speaker"], speakers),
            _closers(rows),
        )

    def extended(self, memories: pl.DataFrame, vectors: pl.DataFrame) -> "Index":
        """Return the index with new rows added and changed rows replaced; it answers like one built of all at once.

        Deleted and erased memories leave it. Cost: a few milliseconds and copies of some arrays; only new texts are
        tokenised. Raises ValueError: the rows belong to another profile, or a memory occurs more than once.
        """
        rows = _recallable(memories)
        if rows.height and self.memories.height and rows["profile_id"][0] != self.memories["profile_id"][0]:
            raise ValueError(
                f"memories has rows of the profile {rows['profile_id'][0]!r}, the index is of "
                f"{self.memories['profile_id'][0]!r}; an index holds one profile"
            )
        removed_ids = memories.filter(pl.col("lifecycle").is_in(_REMOVED))["memory_id"].to_list()
        removed = self.row_ids.rows(removed_ids)
        current = self.row_ids.rows(rows["memory_id"].to_list())
        in_place = self._unchanged(rows, current)
        outdated = np.concatenate([removed[removed >= 0], current[~in_place & (current >= 0)]])
        if in_place.all() and not len(outdated):
            index = self
        else:
            index = self._with_rows(rows.filter(~in_place), vectors, outdated)
        return _with_values(index, rows.filter(in_place), vectors) if in_place.any() else index

    def with_graph(self) -> "Index":
        """Return the same index with a graph of its vectors, where they are enough (see `VectorRows.with_graph`).

        Vectors that only repeat the words select no candidates, so they get none.
        """
        vectors = self.vectors if self.model == HashingEmbedder.name else self.vectors.with_graph()
        return self if vectors is self.vectors else replace(self, vectors=vectors)

    def without_vector(self, memories: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of `memories` whose vectors the index lacks."""
        current = self.row_ids.rows(memories["memory_id"].to_list())
        present = self._unchanged(memories, current)
        present[present] = self.vectors.at[current[present]] >= 0
        return memories.filter(~present)

    def _unchanged(self, rows: pl.DataFrame, current: Integers) -> Marks:
        """Return which rows keep the position and the words that they have in the index."""
        present = np.flatnonzero(current >= 0)
        if not len(present):
            return np.zeros(len(current), dtype=np.bool_)
        old = self.memories.select(_LASTING)[current[present]]
        new = rows.select(_LASTING)[present]
        same = np.zeros(len(current), dtype=np.bool_)
        same[present] = pl.select(pl.all_horizontal(new[name].eq_missing(old[name]) for name in _LASTING)).to_series()
        return same

    def _with_rows(self, rows: pl.DataFrame, vectors: pl.DataFrame, outdated: Integers) -> "Index":
        """Insert rows at their positions by age, and drop the outdated ones."""
        height = self.memories.height
        remaining = np.delete(np.arange(height), outdated)
        positions = np.searchsorted(remaining, self._older(rows))
        order = np.insert(remaining, positions, height + np.arange(rows.height))
        texts = rows.select(whereabouts.searched()).to_series()
        new, passage_texts = Passages.of(texts, _said_at(rows))
        speakers = tuple(dict.fromkeys((*self.speakers, *_present(rows["speaker"]))))
        index = replace(
            self,
            memories=_appended(self.memories, rows.select(self.memories.columns)),
            row_ids=self.row_ids.extended(rows["memory_id"].to_list()),
            postings=self.postings.extended(passage_texts, new.languages),
            passages=self.passages.joined(new, height),
            vectors=self.vectors.extended(rows, vectors, self.model),
            standing=self.standing.joined(Standing.of(rows)),
            created=np.concatenate([self.created, _said_at(rows).cast(pl.Int64).to_numpy()]),
            speakers=speakers,
            speaker=np.concatenate([self.speaker, _positions(rows["speaker"], speakers)]),
            closers=self.closers.union(_present(rows["closed_by"])),
        )
        if len(order) < height + rows.height or np.any(order != np.arange(len(order))):
            return _arranged(index, order)
        return replace(index, sessions=self.sessions.extended(rows, self.memories))

    def _older(self, rows: pl.DataFrame) -> Integers:
        """Count the memories that precede each row in the order of the index."""
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


def _with_values(index: Index, rows: pl.DataFrame, vectors: pl.DataFrame) -> Index:
    """Replace the rows of memories whose position and words stay the same."""
    height, current = index.memories.height, index.row_ids.rows(rows["memory_id"].to_list())
    newest = np.arange(height)
    newest[current] = height + np.arange(rows.height)
    standing = index.standing.replaced(current, Standing.of(rows))
    memories = pl.concat([index.memories, rows.select(index.memories.columns)], rechunk=False)[newest]
    without = np.flatnonzero(index.vectors.at[current] < 0)
    vector_rows = index.vectors
    if len(without) and vectors.height:
        order = np.arange(height)
        order[current[without]] = height + np.arange(len(without))
        vector_rows = vector_rows.extended(rows[without], vectors, index.model).arranged(order)
    return replace(index, memories=memories, standing=standing, vectors=vector_rows, closers=_closers(memories))


def _arranged(index: Index, order: Integers) -> Index:
    """Select rows in the given order and rebuild the sessions."""
    memories = index.memories[order]
    passages, passage_order = _passages(index.passages, order)
    speaks = np.bincount(index.speaker[order] + 1, minlength=len(index.speakers) + 1)[1:] > 0
    renumbered = np.append(np.where(speaks, np.cumsum(speaks) - 1, -1), -1)
    return replace(
        index,
        memories=memories,
        row_ids=index.row_ids.arranged(order),
        postings=index.postings.arranged(passage_order),
        passages=passages,
        sessions=Sessions.build(memories),
        vectors=index.vectors.arranged(order),
        standing=index.standing.arranged(order),
        created=index.created[order],
        speakers=tuple(name for name, present in zip(index.speakers, speaks, strict=True) if present),
        speaker=renumbered[index.speaker[order]],
        closers=_closers(memories),
    )


def _passages(passages: Passages, order: Integers) -> tuple[Passages, Integers]:
    """Select the passages of some rows in the order of the rows, and return their former positions too."""
    taken, sizes = passages.of_rows(order)
    position = np.full(len(passages.row), -1, dtype=np.int64)
    position[taken] = np.arange(len(taken))
    spans = passages.spans.copy()
    spans[:, 0] = position[spans[:, 0]]
    spans = spans[spans[:, 0] >= 0]
    return replace(
        passages,
        row=np.repeat(np.arange(len(order)), sizes),
        tokens=passages.tokens[taken],
        cues=passages.cues[taken],
        spans=spans[np.argsort(spans[:, 0], kind="stable")],
        names=passages.names.gather(taken),
        languages=passages.languages.gather(taken),
    ), taken


def _said_at(memories: pl.DataFrame) -> pl.Series:
    return memories.select(SAID_AT).to_series()


def _closers(memories: pl.DataFrame) -> frozenset[str]:
    return frozenset(memories["closed_by"].drop_nulls().to_list())


def _recallable(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that can be recalled, oldest first; refuse rows of several profiles, and a memory twice."""
    rows = memories.filter(~pl.col("lifecycle").is_in(_REMOVED)).sort(_ORDER)
    if len(profiles := set(rows["profile_id"].to_list())) > 1:
        names = ", ".join(sorted(profiles))
        raise ValueError(f"memories has rows of the profiles {names}; an index holds one profile: filter them")
    if len(set(rows["memory_id"].to_list())) < rows.height:
        repeated = rows.filter(pl.col("memory_id").is_duplicated())["memory_id"].sort()[0]
        raise ValueError(f"memories has {repeated!r} more than once; give each memory one row")
    return rows


def _positions(names: pl.Series, vocabulary: tuple[str, ...]) -> Integers:
    """Return the position of each name in the vocabulary, -1 for none."""
    positions = {name: position for position, name in enumerate(vocabulary)}
    return np.array([positions.get(name, -1) for name in names.to_list()], dtype=np.int64)


def _present(values: pl.Series) -> dict[str, None]:
    """Return the distinct values that are not null, in order."""
    return {value: None for value in values.to_list() if value is not None}


def _appended(memories: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Append rows, in few chunks: looking rows up takes longer the more there are."""
    first = memories["memory_id"].chunk_lengths()[0] if memories.height else 0
    later = pl.concat([memories[first:], rows], rechunk=True)
    return pl.concat([memories[:first], later], rechunk=first <= _GROWTH * later.height)
