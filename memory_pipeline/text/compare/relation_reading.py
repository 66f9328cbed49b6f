"""Reads memories before they are compared: statements, and their words, which of these are names, and their context.

A memory is read as one statement if it is short, otherwise sentence by sentence. Words are weighted by their rarity in
the store. Everything is a sparse matrix over statements, so that a million pairs cost seconds. Nothing here depends on
particular texts. Not here: which memories are worth comparing (`relation_candidates`), and what two of them share
(`relation_features`).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.arrays import Floats, Rows
from memory_pipeline.text.lang.en.lexicon import MONTHS, NUMBERS, WEEKDAYS
from memory_pipeline.text.parse.clauses import sentences
from memory_pipeline.text.parse.tokens import fold, vocabulary

MEMORY_COLUMNS: Final = {
    "profile_id": pl.String(),
    "content": pl.String(),
    "content_hash": pl.String(),
    "speaker": pl.String(),
    "session_id": pl.String(),
    "since": INSTANT,
}
"""What a judge sees of each memory; `speaker` and `session_id` may be null."""

MAX_CHARACTERS: Final = 6_000
"""Maximum number of characters read of a memory; the rest is ignored."""
_MAX_STATEMENT_CHARACTERS: Final = 600
"""Maximum number of characters read of a statement."""
_WHOLE_WORDS: Final = 60
"""Maximum number of words of a memory that is read as one statement."""
_CONTEXT_REACH: Final = 2
"""Number of neighbouring statements of the session, on each side, whose words are the context of a statement."""
LEAST_WEIGHT: Final = 0.05
_LEAST_STORE: Final = 50
"""Number of statements that a smaller store is assumed to have: in a store of three, every word is frequent."""
_SMALL_TALK_WEIGHT: Final = 0.2
_VALUE_WEIGHT: Final = 0.7
"""Weight of a number, a date or a weekday, before its rarity in the store."""
_WORD: Final = r"[$\u20ac\u00a3]?\p{N}+(?:[.,:]\p{N}+)*\p{L}*%?|[\p{L}\p{M}_]+(?:['./_-][\p{L}\p{M}\p{N}_]+)*\p{N}*"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Memories read for comparison: matrices with a row for each statement.

    Attributes:
        memories: the memories that were read.
        statements: memory (its row), text, low (folded), profile_id, speaker and session_id (numbers; the last two are
            -1 for none).
        start: first statement of each memory, and the number of statements at the end.
        words: [statements, stems] 1 where it has the word; and the same weighted by rarity in the store.
        weighted: see words.
        names: the weighted words that are written as names in the store.
        context: [statements, stems] its words and those of its neighbours in the session.
    """

    memories: pl.DataFrame
    statements: pl.DataFrame
    start: Rows
    words: sparse.csr_array
    weighted: sparse.csr_array
    names: sparse.csr_array
    context: sparse.csr_array


def read(memories: pl.DataFrame) -> Reading:
    """Read `MEMORY_COLUMNS`, in the order of their validity, for comparison. Cost: about 0.1 ms per short memory."""
    statements = _statements(memories)
    content = _words(statements).filter(~pl.col("stop"))
    content = content.with_columns(column=pl.col("stem").rank("dense").cast(pl.Int64) - 1)
    shape = (len(statements), content["stem"].n_unique())
    present = _matrix(content["row"], content["column"], shape)
    weighted = _weighted(content, statements, shape)
    named = content.filter(pl.col("named").any().over("profile_id", "column"))
    return Reading(
        memories=memories,
        statements=statements,
        start=np.searchsorted(statements["memory"].to_numpy(), np.arange(len(memories) + 1)),
        words=present,
        weighted=weighted,
        names=sparse.csr_array(weighted.multiply(_matrix(named["row"], named["column"], shape))),
        context=_context(present, statements),
    )


def _statements(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the statements of each memory, in order, with who said them, when and in which session."""
    texts = memories["content"].fill_null("").str.head(MAX_CHARACTERS)
    parts = sentences(texts)
    whole = (texts.str.count_matches(r"\s+") < _WHOLE_WORDS).gather(parts["row"])
    unit = pl.when(whole).then(0).otherwise(pl.int_range(1, pl.len() + 1))
    units = parts.group_by("row", unit.alias("unit"), maintain_order=True).agg(text=pl.col("sentence").str.join(""))
    missing = pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True)})
    units = missing.join(units, on="row", how="left", maintain_order="left").with_columns(
        pl.col("text").fill_null("").str.strip_chars().str.head(_MAX_STATEMENT_CHARACTERS)
    )
    place = units["row"]
    numbered = [
        (memories[name].rank("dense").cast(pl.Int64) - 1).fill_null(-1).gather(place).alias(name)
        for name in ("profile_id", "speaker", "session_id")
    ]
    return units.select("text", memory=pl.col("row").cast(pl.Int64)).with_columns(*numbered, low=fold(units["text"]))


def _words(statements: pl.DataFrame) -> pl.DataFrame:
    """Return the words of each statement in order: row, profile_id, stem, prior (their weight), stop and named."""
    spelled = statements["text"].str.replace_all("[\u2018\u2019]", "'").str.extract_all(_WORD)
    rows = pl.int_range(len(statements), dtype=pl.Int64, eager=True)
    listed = statements.select("profile_id", row=rows, spelled=spelled).explode("spelled").drop_nulls("spelled")
    listed = listed.with_columns(
        first=pl.int_range(pl.len(), dtype=pl.Int64).over("row") == 0,
        spelled=pl.col("spelled").str.replace(r"'s$", ""),
    ).with_columns(word=pl.col("spelled").str.to_lowercase())
    entries = vocabulary(listed["word"]).select("word", "stem", "rarity", "stop", "small_talk")
    listed = listed.join(entries, on="word", how="left", maintain_order="left")
    capital = pl.col("spelled").str.contains(r"^\p{Lu}") & ~pl.col("stop")
    seen = (capital & ~pl.col("first")).any().over("profile_id", "word")
    coded = pl.col("spelled").str.contains(r"^\p{L}.*[\p{N}_/.]|^\p{L}\p{L}*\p{Lu}")
    is_value, value = _value()
    rarity = pl.when("small_talk").then(_SMALL_TALK_WEIGHT).otherwise(pl.col("rarity") / 100)
    return listed.select(
        "row",
        "profile_id",
        stem=pl.when(is_value).then("#" + value).otherwise("stem"),
        prior=pl.when(is_value).then(_VALUE_WEIGHT).otherwise(rarity),
        stop=pl.col("stop") & ~is_value,
        named=((capital & seen) | coded) & ~pl.col("word").is_in([*WEEKDAYS, *MONTHS]) & ~is_value,
    )


def _value() -> tuple[pl.Expr, pl.Expr]:
    """Return whether a word is a value: a number, date or weekday; and its one spelling, "3" of "three" and "3rd"."""
    word, months = pl.col("word"), list(MONTHS)
    beside = [_beside("word", lag).str.contains("^[0-9]").fill_null(value=False) for lag in (-1, 1)]
    month = word.is_in(months) & ((word != "may") | beside[0] | beside[1])
    is_value = word.str.contains(r"^\D?[0-9]|%$") | month | word.is_in([*WEEKDAYS, *NUMBERS])
    plain = word.str.replace(r"(?:st|nd|rd|th)$", "").str.replace_all(r"[$\u20ac\u00a3,%]", "")
    return is_value, plain.replace(dict(WEEKDAYS) | dict(MONTHS) | dict(NUMBERS))


def _beside(column: str, lag: int) -> pl.Expr:
    """Return the value of the word `lag` places before in the same text (adjacent rows); null where there is none."""
    return pl.when(pl.col("row").shift(lag) == pl.col("row")).then(pl.col(column).shift(lag))


def _matrix(
    rows: pl.Series, columns: pl.Series, shape: tuple[int, int], data: pl.Series | None = None
) -> sparse.csr_array:
    """Return a sparse matrix; equal places once, with 1 or their largest value."""
    keys = rows.to_numpy().astype(np.int64) * shape[1] + columns.to_numpy().astype(np.int64)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    values = np.ones(len(first))
    if data is not None and len(first):
        values = np.maximum.reduceat(data.cast(pl.Float64).to_numpy()[order], first)
    row, column = np.divmod(ordered[first], max(shape[1], 1))
    ends = np.searchsorted(row, np.arange(shape[0] + 1))
    return sparse.csr_array((values, column, ends), shape=shape)


def _weighted(content: pl.DataFrame, statements: pl.DataFrame, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the weight of each word of each statement: prior rarity times rarity in its store."""
    profile = statements["profile_id"]
    sizes = profile.value_counts().rename({"count": "size"})
    placed = content.join(sizes, on="profile_id", how="left", maintain_order="left")
    texts = pl.col("row").n_unique().over("profile_id", "column")
    size = pl.max_horizontal("size", pl.lit(_LEAST_STORE))
    rarity = ((size + 1) / (texts + 0.5)).log() / ((size + 1) / 1.5).log().clip(1e-3)
    weight = pl.col("prior") * rarity.clip(LEAST_WEIGHT, 1.0)
    weights = placed.select("row", "column", weight=weight.clip(LEAST_WEIGHT * 0.1))
    return _matrix(weights["row"], weights["column"], shape, weights["weight"])


def _context(present: sparse.csr_array, statements: pl.DataFrame) -> sparse.csr_array:
    """Return the words of each statement and of its neighbours in the session."""
    session = statements.select(
        pl.when(pl.col("session_id") >= 0).then(pl.struct("profile_id", "session_id").rle_id())
    ).to_series()
    sessions = session.fill_null(-1).to_numpy()
    around = present
    for lag in range(1, _CONTEXT_REACH + 1):
        here = np.flatnonzero((sessions[lag:] == sessions[:-lag]) & (sessions[lag:] >= 0))
        pairs = np.concatenate([here, here + lag]), np.concatenate([here + lag, here])
        around = around + sparse.csr_array((np.ones(2 * len(here)), pairs), shape=(len(sessions),) * 2) @ present
    around.data = np.minimum(around.data, 1.0)
    return sparse.csr_array(around)


def sums(matrix: sparse.csr_array) -> Floats:
    """Return the sum of each row."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
