"""Postings: an inverted index of units of text, with the term statistics of BM25.

Immutable segments grow by merging, as in a log-structured store, so adding a few units is cheap. A word is identified
by the hash of its stem, so segments share no dictionary.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text.arrays import Floats, Integers, Keys, ranges
from memory_pipeline.text.lang import folding
from memory_pipeline.text.lang.ascii_patterns import is_ascii
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.parse import tokens

K1: Final = 1.2
B: Final = 0.75
"""Saturation and length normalisation of BM25 (Robertson and Zaragoza 2009)."""
_GROWTH: Final = 4
"""A new segment is merged with the previous one unless that is more than this many times as long."""
_SPARSE: Final = 2
"""Ratio of units ever added to present units above which the segments are rewritten."""


@dataclass(frozen=True, slots=True, eq=False)
class _Segment:
    """Consecutive units from `first` on: the units of each word, and the words of each unit."""

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
        """Build a segment from triples of unit, word and count; unit numbers are absolute."""
        by_unit = np.lexsort((keys, units))
        units, keys, counts = units[by_unit], keys[by_unit], counts[by_unit]
        by_key = np.argsort(keys, kind="stable")
        distinct, starts = np.unique(keys[by_key], return_index=True)
        own_starts = np.searchsorted(units, np.arange(first, first + height + 1))
        return cls(
            first, distinct, np.append(starts, len(keys)), units[by_key], counts[by_key], own_starts, keys, counts
        )

    @property
    def height(self) -> int:
        return len(self.own_starts) - 1

    def joined(self, later: Self) -> Self:
        """Merge this segment with the one after it."""
        units = np.repeat(np.arange(self.first, self.first + self.height), np.diff(self.own_starts))
        later_units = np.repeat(np.arange(later.first, later.first + later.height), np.diff(later.own_starts))
        return self.of(
            self.first,
            self.height + later.height,
            np.concatenate([units, later_units]),
            np.concatenate([self.own_keys, later.own_keys]),
            np.concatenate([self.own_counts, later.own_counts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Postings:
    """The words of units of text, in the order of the units.

    Segments refer to a unit by its permanent number; its position among the units may change.

    Attributes:
        segments: postings by unit number.
        lengths: content words of each unit.
        number: number of the unit at each position.
        place: position of the unit with each number, -1 if it was removed.
        removed: words of removed units that segments still hold, and the number of such units for each.
    """

    segments: tuple[_Segment, ...]
    lengths: Floats
    number: Integers
    place: Integers
    removed: tuple[Keys, Floats]

    @classmethod
    def build(cls, texts: pl.Series, languages: pl.Series | None = None) -> Self:
        """Index texts, each as one unit, read in its language. Cost: about 2 s for 100,000 short texts on one core."""
        none = np.zeros(0, dtype=np.int64)
        return cls((), np.zeros(0), none, none, _NONE).extended(texts, languages)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays by name, for `of_arrays`."""
        own: dict[str, NDArray[Any]] = {"lengths": self.lengths, "number": self.number, "place": self.place}
        own |= dict(zip(("removed", "removed_counts"), self.removed, strict=True))
        for at, segment in enumerate(self.segments):
            own |= {f"{at} {field.name}": np.asarray(getattr(segment, field.name)) for field in fields(_Segment)}
        return own

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the postings that `arrays` was called on."""
        count = sum(name.endswith(" first") for name in arrays)
        segments = tuple(
            _Segment(int(arrays[f"{at} first"]), *(arrays[f"{at} {field.name}"] for field in fields(_Segment)[1:]))
            for at in range(count)
        )
        removed = (arrays["removed"], arrays["removed_counts"])
        return cls(segments, arrays["lengths"], arrays["number"], arrays["place"], removed)

    def extended(self, texts: pl.Series, languages: pl.Series | None = None) -> Self:
        """Append units. Cost: proportional to the new ones, apart from merges of segments."""
        first, height = len(self.place), len(self.number)
        units, keys, counts = _counted(texts, languages)
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
            self.removed,
        )

    def arranged(self, order: Integers) -> Self:
        """Select units in the given order. Cost: a copy of a few arrays; of all words once half the units are gone."""
        number = self.number[order]
        place = np.full(len(self.place), -1, dtype=np.int64)
        place[number] = np.arange(len(order))
        dropped = np.setdiff1d(np.arange(len(self.number)), order)
        removed = _tallied(*self.removed, self.words_of(dropped)[1]) if len(dropped) else self.removed
        selected = type(self)(self.segments, self.lengths[order], number, place, removed)
        if len(place) <= _SPARSE * len(order):
            return selected
        numbers = np.arange(len(order))
        segment = _Segment.of(0, len(numbers), *selected.words_of(numbers))
        return type(self)((segment,) if len(numbers) else (), selected.lengths, numbers, numbers, _NONE)

    def postings(self, key: np.uint64) -> tuple[Integers, Floats]:
        """Return the units that contain a word, ascending, and its count in each."""
        _, units, counts = self.of_words(np.array([key], dtype=np.uint64))
        return units, counts

    def of_words(self, keys: Keys) -> tuple[Integers, Integers, Floats]:
        """Return the units that contain some words: position in `keys`, unit and count, by position, then by unit.

        Cost: proportional to their postings.
        """
        word, numbers, counts = self._held(keys)
        units = self.place[numbers]
        ahead = (units[1:] <= units[:-1]) & (word[1:] == word[:-1])
        if len(self.segments) > 1 or np.any(ahead) or np.any(units < 0):  # units were added, removed or reordered
            order = np.lexsort((units, word))
            order = order[units[order] >= 0]
            word, units, counts = word[order], units[order], counts[order]
        return word, units, counts

    def _held(self, keys: Keys) -> tuple[Integers, Integers, Floats]:
        """Return the postings of some words by segment: position in `keys`, number of the unit, count."""
        parts = [_NO_POSTINGS]
        for segment in self.segments:
            if len(segment.keys):
                at = np.searchsorted(segment.keys[:-1], keys)
                hits = np.flatnonzero(segment.keys[at] == keys)
                begin = segment.starts[at[hits]]
                sizes = segment.starts[at[hits] + 1] - begin
                run = ranges(begin, sizes)
                parts.append((np.repeat(hits, sizes), segment.units[run], segment.counts[run]))
        word, numbers, counts = map(np.concatenate, zip(*parts, strict=True))
        return word, numbers, counts

    def frequencies(self, keys: Keys) -> Floats:
        """Return the number of units that contain each word. Cost: one search for each word and segment."""
        counts = -_count(keys, *self.removed)
        for segment in self.segments:
            if len(segment.keys):
                at = np.searchsorted(segment.keys[:-1], keys)
                held = segment.starts[at + 1] - segment.starts[at]
                counts = counts + np.where(segment.keys[at] == keys, held, 0)
        return counts

    def rarity(self, held: Floats | Integers) -> Floats:
        """Return the inverse document frequency of words that so many units contain, as BM25 has it; 0 if all do."""
        return np.log1p((len(self.number) - held + 0.5) / (held + 0.5))

    def weighed(self, keys: Keys, weights: Floats) -> Floats:
        """Return for each unit the sum of word weight times word count. Cost: the words' postings and the units."""
        word, numbers, counts = self._held(keys)
        units, values = self.place[numbers], weights[word] * counts
        if np.any(units < 0):
            units, values = units[units >= 0], values[units >= 0]
        return np.bincount(units, values, len(self.number)).astype(np.float64, copy=False)

    @property
    def mean(self) -> float:
        """Mean length of a unit."""
        return max(1.0, float(self.lengths.sum()) / max(1, len(self.lengths)))

    def words_of(self, units: Integers) -> tuple[Integers, Keys, Floats]:
        """Return the words of some units as position in `units`, word and count, ordered by position."""
        places, keys, counts = [], [], []
        edges = np.array([segment.first for segment in self.segments])
        numbers = self.number[units]
        owners = np.searchsorted(edges, numbers, side="right") - 1
        for owner in np.unique(owners):
            segment = self.segments[owner]
            chosen = np.flatnonzero(owners == owner)
            local = numbers[chosen] - segment.first
            begin, sizes = segment.own_starts[local], segment.own_starts[local + 1] - segment.own_starts[local]
            at = ranges(begin, sizes)
            places.append(np.repeat(chosen, sizes))
            keys.append(segment.own_keys[at])
            counts.append(segment.own_counts[at])
        if not places:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64), np.zeros(0)
        if len(places) == 1:
            return places[0], keys[0], counts[0]
        place, key, count = np.concatenate(places), np.concatenate(keys), np.concatenate(counts)
        order = np.argsort(place, kind="stable")
        return place[order], key[order], count[order]


_NO_POSTINGS: Final = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
_NONE: Final[tuple[Keys, Floats]] = (np.zeros(0, dtype=np.uint64), np.zeros(0))


def _count(keys: Keys, words: Keys, counts: Floats | Integers) -> Floats:
    """Look up the counts of words in a sorted list of words; 0 for missing ones."""
    if not len(words):
        return np.zeros(len(keys))
    at = np.searchsorted(words[:-1], keys)
    return np.where(words[at] == keys, counts[at], 0.0)


def _tallied(words: Keys, counts: Floats, more: Keys) -> tuple[Keys, Floats]:
    """Add one to the counts of words for each occurrence in `more`; return distinct words and counts."""
    distinct, at = np.unique(np.concatenate([words, more]), return_inverse=True)
    summed = np.bincount(at, np.concatenate([counts, np.ones(len(more))]), len(distinct))
    return distinct.astype(np.uint64), summed.astype(np.float64)


def saturated(counts: Floats, lengths: Floats, mean: float) -> Floats:
    """Return the BM25 term frequency factor of words that occur `counts` times in units of these lengths."""
    return np.asarray(counts * (K1 + 1.0) / (counts + K1 * (1.0 - B + B * lengths / mean)), dtype=np.float64)


def keys(stems: list[str]) -> Keys:
    """Return the hashes that identify stems, whatever accents, digits and forms of letters they are written with."""
    return _canonical(pl.Series("stem", stems, dtype=pl.String)).hash(seed=0).to_numpy().astype(np.uint64)


def _canonical(stems: pl.Series) -> pl.Series:
    """Return stems without accents, stemmed again since an accent may have hidden an ending."""
    if is_ascii(stems):
        return stems
    distinct = stems.unique().drop_nulls()
    other = distinct.filter(distinct.str.len_bytes() != distinct.str.len_chars())
    roots = pl.DataFrame({"stem": other, "root": [stem(folding.plain(word)) for word in other]})
    joined = stems.to_frame("stem").join(roots, on="stem", how="left", maintain_order="left")
    return joined.select(pl.coalesce("root", "stem")).to_series()


def _counted(texts: pl.Series, languages: pl.Series | None) -> tuple[Integers, Keys, Floats]:
    """Count the content words and the emoji of texts: unit, word, count."""
    low = tokens.fold(texts)
    if (read := tokens.few_words(low, languages)) is not None:
        stems = [[word.stem for word in words if word.rarity] for words in read]
        return _counted_of_few([own + _emoji(text) for own, text in zip(stems, low.to_list(), strict=True)])
    words = tokens.occurrences(low, languages).filter(~pl.col("stop")).select("row", "stem")
    rows = pl.int_range(len(low), dtype=pl.UInt32, eager=True)
    pictures = pl.DataFrame({"row": rows, "stem": tokens.pictures(low)}).explode("stem").drop_nulls("stem")
    found = pl.concat([words.cast(pictures.schema), pictures]) if pictures.height else words
    counted = found.with_columns(_canonical(found["stem"]).hash(seed=0).alias("key")).group_by("row", "key").len()
    return (
        counted["row"].to_numpy().astype(np.int64),
        counted["key"].to_numpy().astype(np.uint64),
        counted["len"].to_numpy().astype(np.float64),
    )


def _counted_of_few(stems: list[list[str]]) -> tuple[Integers, Keys, Floats]:
    """Count the stems of a few texts: unit, word, count."""
    distinct = list(dict.fromkeys(stem for own in stems for stem in own))
    key = dict(zip(distinct, keys(distinct).tolist(), strict=True))
    counted = Counter((unit, key[stem]) for unit, own in enumerate(stems) for stem in own)
    return (
        np.array([unit for unit, _ in counted], dtype=np.int64),
        np.array([word for _, word in counted], dtype=np.uint64),
        np.array([*counted.values()], dtype=np.float64),
    )


def _emoji(low: str) -> list[str]:
    return [] if low.isascii() else tokens.pictures(pl.Series([low]))[0].to_list()
