"""Passages: memories cut into units about as long as a turn of conversation, and the signs each one shows.

Short memories are one passage. A cue is a sign that a passage could answer some kind of question: it names a person, a
place, a number.
"""

from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any, Final, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.text.arrays import Floats, Integers, ranges
from memory_pipeline.text.lang.ascii_patterns import contains, found
from memory_pipeline.text.lang.en.lexicon import FIRST_PERSON, LISTS
from memory_pipeline.text.lang.identification import identify, identify_one
from memory_pipeline.text.lang.word_lists import any_of, expressions
from memory_pipeline.text.parse import dates, facts, tokens
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.score import clause_value

WHOLE: Final = 96
"""Longest memory, in tokens, that stays one passage."""
SIZE: Final = 64
"""Tokens of a passage of a longer memory, give or take a sentence."""
_WORDS: Final = LISTS.section("passages")
_LISTS: Final = {
    "{units}": _WORDS.text("units"),
    "{count}": _WORDS.text("count").strip(),
    "{ordered}": rf"(?:{'|'.join(_WORDS.listed('ordered'))})",
}
"""Lists that expressions name."""


def _filled(name: str) -> str:
    text = _WORDS.text(name)
    for mark, pattern in _LISTS.items():
        text = text.replace(mark, pattern)
    return text


def _telling(name: str) -> str:
    return any_of(_filled(name))


_PATTERNS: Final = {
    **{name: _telling(name) for name in ("duration", "reason", "place", "person", "wish")},
    "standing": "|".join((_telling("standing"), *expressions(_filled("standing_forms")))),
    "preference": _telling("preference"),
    "first_person": any_of(";".join(sorted(word for word in FIRST_PERSON if word.isalpha())) + ";i'(?:m|ve|d|ll)"),
}
"""Pattern of each cue over folded text."""
_PLACE_NAME: Final = r"(?:^|\s)(?:in|at|to|from|near|around|visit(?:ed|ing)?) (?:the )?\p{Lu}\p{L}+"
GRADED: Final = ("substance", "dense", "rarity")
CUES: Final = (*_PATTERNS, "date", "number", "name", "asks", "denies", *GRADED)
"""Cues, in the order of the columns of `Passages.cues`. Those of `GRADED` are in hundredths: value of the clauses
(over `_MUCH`), value per token (over `_DENSE`), and mean rarity of the content words."""
_MUCH: Final = 8.0
_DENSE: Final = 2.0 / 3.0
_EPOCH: Final = date(1970, 1, 1)
_FEW: Final = 4
"""Least length, in tokens, that a passage counts as."""


@dataclass(frozen=True, eq=False)
class Passages:
    """Passages of memories, those of one memory in their order in the text.

    Attributes:
        row: memory of each passage.
        tokens: length of each.
        cues: [passages, cues], as in `CUES`: 0 or 1, the graded ones 0 to 100.
        spans: [mentions, 3]: passage, first day and day after the last (days since 1970) of each date mentioned.
        names: names of people, places and things in each, sorted.
        languages: language of the whole text that each is cut from, null where unknown.
    """

    row: Integers
    tokens: Integers
    cues: NDArray[np.uint8]
    spans: Integers
    names: pl.Series
    languages: pl.Series

    @classmethod
    def of(cls, texts: pl.Series, instants: pl.Series) -> tuple[Self, pl.Series]:
        """Cut texts, said at the given instants, into passages; return the passages and their texts."""
        whole_languages = identify(texts)
        cut = _cut(texts, whole_languages)
        content, row = cut["text"], cut["row"].to_numpy().astype(np.int64)
        low = tokens.fold(content)
        languages = whole_languages.gather(row)
        parsed = facts.extract(content, low, languages)
        spans = _days(parsed["dates"], instants.gather(row))
        return cls(
            row,
            cut["tokens"].to_numpy().astype(np.int64),
            _cues(cut, low, parsed, languages),
            spans,
            parsed["entities"],
            languages,
        ), content

    @cached_property
    def spoken(self) -> tuple[str, ...]:
        """The languages of passages, that of most first."""
        counted = self.languages.drop_nulls().value_counts().sort(["count", "language"], descending=[True, False])
        return tuple(counted["language"])

    def language_of(self, query: str) -> str | None:
        """Return the language to read a query in: its own if passages are in it, else that of most passages.

        So a name asked for in another language is still found. None if that of all passages is unknown.
        """
        asked = identify_one(query) if len(self.spoken) > 1 else None
        return asked if asked in self.spoken else next(iter(self.spoken), None)

    def bounds(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the first passage of each memory, and the passage after its last."""
        return np.searchsorted(self.row, rows), np.searchsorted(self.row, rows, side="right")

    def of_rows(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the passages of some memories, one memory after the other, and how many each has."""
        first, last = self.bounds(rows)
        return ranges(first, last - first), last - first

    def joined(self, later: Self, first_row: int) -> Self:
        """Append the passages of later memories, whose rows count from `first_row`."""
        shifted = later.spans + np.array([len(self.row), 0, 0])
        return type(self)(
            np.concatenate([self.row, later.row + first_row]),
            np.concatenate([self.tokens, later.tokens]),
            np.concatenate([self.cues, later.cues]),
            np.concatenate([self.spans, shifted]),
            pl.concat([self.names, later.names]),
            pl.concat([self.languages, later.languages]),
        )


def _cut(texts: pl.Series, languages: pl.Series) -> pl.DataFrame:
    """Return passages as row, text, tokens, place; every text has at least one."""
    whole = pl.DataFrame(
        {"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True), "text": texts.fill_null("")}
    ).with_columns(tokens=tokens.count_tokens(texts), place=pl.lit(0, pl.Int64))
    long = whole.filter(pl.col("tokens") > WHOLE)
    if long.is_empty():
        return whole
    split = split_sentences(long["text"], languages.gather(long["row"]))
    sentences = split.select(long["row"].gather(split["row"]), text="sentence")
    counted = sentences.with_columns(tokens=tokens.count_tokens(sentences["text"]))
    before = pl.col("tokens").cum_sum().over("row") - pl.col("tokens")
    passages = (
        counted.with_columns(place=before // SIZE)
        .group_by("row", "place", maintain_order=True)
        .agg(pl.col("text").str.join(""), pl.col("tokens").sum())
    )
    return pl.concat([whole.filter(pl.col("tokens") <= WHOLE), passages.select(whole.columns)]).sort("row", "place")


def _cues(cut: pl.DataFrame, low: pl.Series, parsed: pl.DataFrame, languages: pl.Series) -> NDArray[np.uint8]:
    cues: dict[str, NDArray[Any]] = {**found(low, _PATTERNS)}
    cues["place"] = cues["place"] | contains(cut["text"], _PLACE_NAME)
    listed = parsed.select(pl.col("dates", "numbers", "entities").list.len() > 0, "question", "negated")
    named = {"date": "dates", "number": "numbers", "name": "entities", "asks": "question", "denies": "negated"}
    cues |= {cue: listed[name].to_numpy() for cue, name in named.items()}
    total, count = _rarity(low, languages)
    clauses = clause_value.standalone_values(cut["text"])
    worth = np.bincount(clauses["row"].to_numpy(), clauses["value"].to_numpy(), len(low))
    length = np.maximum(cut["tokens"].to_numpy(), _FEW)
    cues |= {
        "substance": _hundredths(worth * (100.0 / _MUCH)),
        "dense": _hundredths(worth / length * (100.0 / _DENSE)),
        "rarity": _hundredths(total / np.maximum(count, 1.0)),
    }
    return np.column_stack([cues[name].astype(np.uint8) for name in CUES])


def _rarity(low: pl.Series, languages: pl.Series) -> tuple[Floats, Floats]:
    """Return the sum of the rarities of the distinct content words of each passage, and their number."""
    if (read := tokens.few_words(low, languages)) is not None:
        rarities = [{word.stem: word.rarity for word in reversed(words) if word.rarity} for words in read]
        sums = np.array([sum(own.values()) for own in rarities], dtype=np.float64)
        return sums, np.array([len(own) for own in rarities], dtype=np.float64)
    stems = tokens.occurrences(low, languages).filter(~pl.col("stop")).unique(["row", "stem"])
    rarity = stems.group_by("row").agg(pl.col("rarity").sum().alias("sum"), pl.len().alias("count"))
    total, count = (
        tokens.align_rows(rarity, len(low))[name].to_numpy().astype(np.float64) for name in ("sum", "count")
    )
    return total, count


def _hundredths(share: NDArray[np.floating]) -> NDArray[np.uint8]:
    return np.asarray(np.minimum(100.0, share), dtype=np.uint8)


def _days(mentioned: pl.Series, instants: pl.Series) -> Integers:
    """Return the days that the dates of passages mean, in order: passage, first day, day after the last."""
    span = cache(dates.span)
    days = list[tuple[int, date, date]]()
    for passage, (forms, day) in enumerate(zip(mentioned.to_list(), instants.dt.date().to_list(), strict=True)):
        meant = {known for form in forms if (known := span(form, day))} if forms else ()
        days += [(passage, *known) for known in sorted(meant)]
    return np.array(
        [(passage, (first - _EPOCH).days, (last - _EPOCH).days) for passage, first, last in days], dtype=np.int64
    ).reshape(-1, 3)
