"""Postings: which units of text hold which words, and how well each unit matches a query by BM25.

Immutable segments that grow by merging, as in a log-structured store, so that a few new units cost little. A word is
known by the hash of its stem, so segments need no common dictionary. What is not here: how texts are cut into units
(`pieces`) and what a score is used for (`features`).
"""

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text.parse import tokens

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Keys = NDArray[np.uint64]

K1: Final = 1.2
B: Final = 0.75
"""Saturation and length normalisation of BM25 (Robertson and Zaragoza 2009)."""
_GROWTH: Final = 4
"""A segment is merged into the one before it unless that is more than this many times as long."""
_SPARSE: Final = 2
"""The words are written anew once there were so many times as many units as there are."""


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """Units from `first` on: for each word its units, and for each unit its words."""

    first: int
    keys: Keys
    starts: Integers
    units: Integers
    counts: Floats
    own_starts: Integers
    own_keys: Keys
    own_counts: Floats

    @classmethod
    def of(cls, first: int, height: int, units: Integers, keys: Keys, counts: Floats) -> Self:
        """Order (unit, word, count) both ways; units are absolute."""
        own = np.lexsort((keys, units))
        units, keys, counts = units[own], keys[own], counts[own]
        turned = np.argsort(keys, kind="stable")
        distinct, starts = np.unique(keys[turned], return_index=True)
        own_starts = np.searchsorted(units, np.arange(first, first + height + 1))
        return cls(
            first, distinct, np.append(starts, len(keys)), units[turned], counts[turned], own_starts, keys, counts
        )

    @property
    def height(self) -> int:
        return len(self.own_starts) - 1

    def joined(self, later: Self) -> Self:
        """One segment of this and the one behind it."""
        own = np.repeat(np.arange(self.first, self.first + self.height), np.diff(self.own_starts))
        other = np.repeat(np.arange(later.first, later.first + later.height), np.diff(later.own_starts))
        return self.of(
            self.first,
            self.height + later.height,
            np.concatenate([own, other]),
            np.concatenate([self.own_keys, later.own_keys]),
            np.concatenate([self.own_counts, later.own_counts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The words of units of text, in the units' order.

    Segments know a unit by its number, which it keeps; where it stands among the units may change.

    Attributes:
        lengths: content words of each unit.
        number: by what number the segments know each unit.
        place: where the unit of each number stands, -1 if it is none any more.
        gone: words of units that are none any more and still stand in segments, and in how many of these each.
    """

    segments: tuple[_Segment, ...]
    lengths: Floats
    number: Integers
    place: Integers
    gone: tuple[Keys, Floats]

    @classmethod
    def build(cls, texts: pl.Series) -> Self:
        """Index texts, one a unit. Cost: about 2 s for 100,000 short texts on one core."""
        none = np.zeros(0, dtype=np.int64)
        return cls((), np.zeros(0), none, none, _NONE).extended(texts)

    def extended(self, texts: pl.Series) -> Self:
        """Add units behind the others. Cost: that of the new ones, merges of segments apart."""
        first, height = len(self.place), len(self.number)
        units, keys, counts = _counted(texts)
        new = _Segment.of(first, len(texts), units + first, keys, counts)
        segments = list(self.segments)
        while segments and segments[-1].height <= _GROWTH * new.height:
            new = segments.pop().joined(new)
        added = np.arange(len(texts))
        return type(self)(
            (*segments, new) if new.height else tuple(segments),
            np.concatenate([self.lengths, np.bincount(units, counts, len(texts))]),
            np.concatenate([self.number, first + added]),
            np.concatenate([self.place, height + added]),
            self.gone,
        )

    def arranged(self, order: Integers) -> Self:
        """Take these units alone, in this order. Cost: a copy of a few arrays; once half are gone, of all words."""
        number = self.number[order]
        place = np.full(len(self.place), -1, dtype=np.int64)
        place[number] = np.arange(len(order))
        left = np.setdiff1d(np.arange(len(self.number)), order)
        gone = _tallied(*self.gone, self.words_of(left)[1]) if len(left) else self.gone
        kept = type(self)(self.segments, self.lengths[order], number, place, gone)
        if len(place) <= _SPARSE * len(order):
            return kept
        own = np.arange(len(order))
        whole = _Segment.of(0, len(own), *kept.words_of(own))
        return type(self)((whole,) if len(own) else (), kept.lengths, own, own, _NONE)

    def postings(self, key: np.uint64) -> tuple[Integers, Floats]:
        """The units that hold a word, ascending, and how often."""
        found = []
        for segment in self.segments:
            at = int(np.searchsorted(segment.keys, key))
            if at < len(segment.keys) and segment.keys[at] == key:
                span = slice(segment.starts[at], segment.starts[at + 1])
                found.append((segment.units[span], segment.counts[span]))
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        numbers, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
        units = self.place[numbers]
        if np.any(units[1:] <= units[:-1]) or units[0] < 0:  # some are gone or stand elsewhere
            order = np.argsort(units, kind="stable")
            order = order[np.searchsorted(units[order], 0) :]
            units, counts = units[order], counts[order]
        return units, counts

    def frequencies(self, keys: Keys) -> Floats:
        """In how many units each word stands. Cost: a search a word and segment."""
        there = [_count(keys, segment.keys, np.diff(segment.starts)) for segment in self.segments]
        return sum(there, start=-_count(keys, *self.gone))

    def weighed(self, keys: Keys, weights: Floats) -> Floats:
        """Of each unit the sum of the weights of these words, each as often as it stands there.

        Cost: proportional to their postings and the number of units.
        """
        found = np.zeros(len(self.number))
        for segment in self.segments:
            if not len(segment.keys):
                continue
            at = np.searchsorted(segment.keys[:-1], keys)
            known = np.flatnonzero(segment.keys[at] == keys)
            begin = segment.starts[at[known]]
            sizes = segment.starts[at[known] + 1] - begin
            run = _runs(begin, sizes)
            units, values = self.place[segment.units[run]], np.repeat(weights[known], sizes) * segment.counts[run]
            there = units >= 0
            found += np.bincount(units[there], values[there], len(found))
        return found

    @property
    def mean(self) -> float:
        """Mean length of a unit."""
        return max(1.0, float(self.lengths.sum()) / max(1, len(self.lengths)))

    def words_of(self, units: Integers) -> tuple[Integers, Keys, Floats]:
        """The words of some units: place in `units`, word, count; by place."""
        places, keys, counts = [], [], []
        edges = np.array([segment.first for segment in self.segments])
        numbers = self.number[units]
        owners = np.searchsorted(edges, numbers, side="right") - 1
        for owner in np.unique(owners):
            segment = self.segments[owner]
            chosen = np.flatnonzero(owners == owner)
            local = numbers[chosen] - segment.first
            begin, sizes = segment.own_starts[local], segment.own_starts[local + 1] - segment.own_starts[local]
            at = _runs(begin, sizes)
            places.append(np.repeat(chosen, sizes))
            keys.append(segment.own_keys[at])
            counts.append(segment.own_counts[at])
        if not places:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros(0)
        place, key, count = np.concatenate(places), np.concatenate(keys), np.concatenate(counts)
        order = np.argsort(place, kind="stable")
        return place[order], key[order], count[order]


_NONE: Final[tuple[Keys, Floats]] = (np.zeros(0, dtype=np.uint64), np.zeros(0))


def _runs(begin: Integers, sizes: Integers) -> Integers:
    """The numbers of runs that begin somewhere and have some sizes, run by run."""
    return np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))


def _count(keys: Keys, words: Keys, counts: Floats | Integers) -> Floats:
    """The counts of some words among those that have one, in the order of their keys; 0 for others."""
    if not len(words):
        return np.zeros(len(keys))
    at = np.searchsorted(words[:-1], keys)
    return np.where(words[at] == keys, counts[at], 0.0)


def _tallied(words: Keys, counts: Floats, more: Keys) -> tuple[Keys, Floats]:
    """Distinct words and how often each was counted, once more for each of some."""
    distinct, at = np.unique(np.concatenate([words, more]), return_inverse=True)
    summed = np.bincount(at, np.concatenate([counts, np.ones(len(more))]), len(distinct))
    return distinct.astype(np.uint64), summed.astype(np.float64)


def saturated(counts: Floats, lengths: Floats, mean: float) -> Floats:
    """BM25's share of a word that stands `counts` times in units of these lengths."""
    return np.asarray(counts * (K1 + 1.0) / (counts + K1 * (1.0 - B + B * lengths / mean)), dtype=np.float64)


def keys(stems: list[str]) -> Keys:
    """Hashes by which words are known."""
    return pl.Series(stems, dtype=pl.String).hash(seed=0).to_numpy().astype(np.uint64)


def _counted(texts: pl.Series) -> tuple[Integers, Keys, Floats]:
    """Unit, word and how often, of the content words of texts."""
    found = tokens.occurrences(tokens.fold(texts)).filter(~pl.col("stop"))
    counted = found.group_by("row", pl.col("stem").hash(seed=0).alias("key")).len()
    return (
        counted["row"].to_numpy().astype(np.int64),
        counted["key"].to_numpy().astype(np.uint64),
        counted["len"].to_numpy().astype(np.float64),
    )
