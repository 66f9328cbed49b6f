"""Reads memories before they are compared: statements, words, names, values, cues and clauses.

A memory is read as one statement if it is short, otherwise sentence by sentence. Words are weighted by their rarity in
the store. Everything is a sparse matrix over statements, so that a million pairs cost seconds. Nothing here depends on
particular texts. Not here: which memories are worth comparing (`relation_candidates`), and what two of them share
(`relation_features`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from scipy import sparse

from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.arrays import Floats, Marks, Rows
from memory_pipeline.text.embed.thesaurus import thesaurus
from memory_pipeline.text.lang.en.lexicon import MONTHS, NUMBERS, WEEKDAYS
from memory_pipeline.text.lang.en.relation_cues import CUES
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
_MAX_CLAUSES: Final = 8
"""Maximum number of clauses compared of a statement."""
CONTEXT_REACH: Final = 2
"""Number of neighbouring statements of the session, on each side, whose words are the context of a statement."""
_VALUE_REACH: Final = 6
"""Number of words around a value that say what it is the value of."""
LEAST_WEIGHT: Final = 0.05
_LEAST_STORE: Final = 50
"""Number of statements that a smaller store is assumed to have: in a store of three, every word is frequent."""
SMALL_TALK_WEIGHT: Final = 0.2
_LEAST_CLOSENESS: Final = 0.3
"""Minimum closeness of a word that can replace another."""
_TYPES: Final = ("number", "money", "day", "date", "time")
_WORD: Final = r"[$\u20ac\u00a3]?\p{N}+(?:[.,:]\p{N}+)*\p{L}*%?|[\p{L}\p{M}_]+(?:['./_-][\p{L}\p{M}\p{N}_]+)*\p{N}*"
_CLAUSE_BREAK: Final = (
    r"(?i)([,;:()!?\u2014\u2013]\s+|\.\s+|\s-\s|\s(?:and|but|so|because|since|while|although|though|after|before|until"
    r"|as|when|if|who|which|that)\s)"
)
_MARK: Final = "\ufdd2"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Memories read for comparison: matrices with a row for each statement.

    Attributes:
        memories: the memories that were read.
        statements: memory (its row), text, low (folded), at (microseconds), speaker and session (numbers, -1 for none),
            words (count), lead (stem of the first content word), lead_named.
        start: first statement of each memory, and the number of statements at the end.
        words: [statements, stems] 1 where it has the word; and the same weighted by rarity in the store.
        weighted: see words.
        names: the weighted words that are written as names in the store.
        valued: [stems] 1 for a value: a number, a date, a weekday.
        close: [statements, stems] closeness of words that the statement does not have to those it has.
        apart: [statements, stems] words that exclude one of the statement's.
        context: [statements, stems] its words and those of its neighbours in the session.
        values: for each type of value, [statements, values].
        around: for values and for names, [statements, stems] the words around them, and the same weighted.
        units: [statements, stems] what is counted, and [statements, counts] how many of what.
        cues: [statements, cues].
        clauses: statement of each clause; [clauses, stems] its words; [clauses, cues].
        totals: for each statement, the weight of its words (`words`), of its names, of its values and of its context,
            and the length of its words as a vector (`norm`).
        clause_weights: [clauses, stems] its weighted words and names; the weight of each clause.
    """

    memories: pl.DataFrame
    statements: pl.DataFrame
    start: Rows
    words: sparse.csr_array
    weighted: sparse.csr_array
    names: sparse.csr_array
    valued: Floats
    close: sparse.csr_array
    apart: sparse.csr_array
    context: sparse.csr_array
    values: Mapping[str, sparse.csr_array]
    around: Sequence[tuple[sparse.csr_array, sparse.csr_array]]
    units: tuple[sparse.csr_array, sparse.csr_array]
    cues: Marks
    clauses: tuple[Rows, sparse.csr_array, Marks]
    totals: Mapping[str, Floats]
    clause_weights: tuple[sparse.csr_array, sparse.csr_array, Floats]


def read(memories: pl.DataFrame) -> Reading:
    """Read `MEMORY_COLUMNS`, in the order of their validity, for comparison. Cost: about 0.15 ms per short memory."""
    statements = _statements(memories)
    parts = _parts(statements)
    words, words_of_parts = _words_of_both(statements, parts)
    stems = words["stem"].unique().sort()
    words = words.with_columns(column=pl.col("stem").rank("dense").cast(pl.Int64) - 1)
    shape = (len(statements), len(stems))
    content = words.filter(~pl.col("stop"))
    present = _matrix(content["row"], content["column"], shape)
    weighted = _weighted(content, statements, shape)
    content = content.with_columns(named=pl.col("named").any().over("profile_id", "column"))
    named = content.filter("named")
    names = sparse.csr_array(weighted.multiply(_matrix(named["row"], named["column"], shape)))
    closeness, separation = _neighbours(stems.to_list())
    near = present @ closeness
    near.data = np.minimum(near.data, 1.0)
    values = words.drop_nulls("value")
    near_words = [_around(content, words, which, shape) for which in (pl.col("value").is_not_null(), pl.col("named"))]
    context = _context(present, statements)
    valued = stems.str.starts_with("#").to_numpy().astype(np.float64)
    owner, clause_words, _ = clauses = _clauses(parts, words_of_parts, shape, stems)
    clause_weighted = sparse.csr_array(clause_words.multiply(weighted[owner]))
    return Reading(
        memories=memories,
        statements=_described(statements, content),
        start=np.searchsorted(statements["memory"].to_numpy(), np.arange(len(memories) + 1)),
        words=present,
        weighted=weighted,
        names=names,
        valued=valued,
        close=sparse.csr_array(near - near.multiply(present)),
        apart=sparse.csr_array(present @ separation),
        context=context,
        values={kind: _values(values.filter(pl.col("kind") == kind), len(statements)) for kind in _TYPES},
        around=[(near, sparse.csr_array(near.multiply(weighted))) for near in near_words],
        units=_units(words, shape),
        cues=_cues(statements["low"]),
        clauses=clauses,
        totals={
            "words": sums(weighted),
            "names": sums(names),
            "values": np.asarray(weighted @ valued).ravel(),
            "norm": np.sqrt(sums(weighted.power(2))),
            "context": sums(context),
        },
        clause_weights=(
            clause_weighted,
            sparse.csr_array(clause_words.multiply(names[owner])),
            np.maximum(sums(clause_weighted), LEAST_WEIGHT),
        ),
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
    at = memories["since"].dt.epoch("us").gather(place).alias("at")
    return units.select("text", memory=pl.col("row").cast(pl.Int64)).with_columns(
        *numbered, at, low=fold(units["text"])
    )


def _words(statements: pl.DataFrame) -> pl.DataFrame:
    """Return the words of each statement in order: row, place, stem, weight, stop, named, kind and value of a value."""
    spelled = statements["text"].str.replace_all("[\u2018\u2019]", "'").str.extract_all(_WORD)
    rows = pl.int_range(len(statements), dtype=pl.Int64, eager=True)
    listed = statements.select("profile_id", row=rows, spelled=spelled).explode("spelled").drop_nulls("spelled")
    listed = listed.with_columns(
        place=pl.int_range(pl.len(), dtype=pl.Int64).over("row"),
        spelled=pl.col("spelled").str.replace(r"'s$", ""),
    ).with_columns(word=pl.col("spelled").str.to_lowercase())
    entries = vocabulary(listed["word"]).select("word", "stem", "rarity", "stop", "small_talk")
    listed = listed.join(entries, on="word", how="left", maintain_order="left")
    capital = pl.col("spelled").str.contains(r"^\p{Lu}") & ~pl.col("stop")
    listed = listed.with_columns(seen=(capital & (pl.col("place") > 0)).any().over("profile_id", "word"))
    calendar = pl.col("word").is_in([*WEEKDAYS, *MONTHS])
    coded = pl.col("spelled").str.contains(r"^\p{L}.*[\p{N}_/.]|^\p{L}\p{L}*\p{Lu}")
    named = ((capital & pl.col("seen")) | coded) & ~calendar
    prior = pl.when("small_talk").then(SMALL_TALK_WEIGHT).otherwise(pl.col("rarity") / 100)
    return _with_values(listed.with_columns(named=named, prior=prior))


def _with_values(words: pl.DataFrame) -> pl.DataFrame:
    """Add kind and value of the words that are values, and the stem of what is counted (`unit`)."""
    word, following, before = pl.col("word"), _beside("word", -1), _beside("word", 1)
    figure = word.str.contains(r"^\D?[0-9]")
    months = list(MONTHS)
    near_month = following.is_in(months) | before.is_in(months)
    month = word.is_in(months) & ((word != "may") | before.str.contains("^[0-9]") | following.str.contains("^[0-9]"))
    currency = following.is_in(["dollars", "euros", "pounds", "francs", "grand", "usd", "eur", "gbp", "cad", "percent"])
    kind = (
        pl.when(word.is_in(list(WEEKDAYS)))
        .then(pl.lit("day"))
        .when(month | (figure & near_month.fill_null(value=False)) | word.str.contains("^[0-9]+(?:st|nd|rd|th)$"))
        .then(pl.lit("date"))
        .when(word.str.contains("^[0-9]{1,2}:[0-9]{2}$|^[0-9]{1,2}[ap]m$") | following.is_in(["am", "pm"]) & figure)
        .then(pl.lit("time"))
        .when(word.str.contains("^[$\u20ac\u00a3]|%$") | (figure & currency.fill_null(value=False)))
        .then(pl.lit("money"))
        .when(figure | word.is_in(list(NUMBERS)))
        .then(pl.lit("number"))
    )
    plain = word.str.replace(r"(?:st|nd|rd|th)$", "").str.replace_all(r"[$\u20ac\u00a3,%]", "")
    value = plain.replace(dict(WEEKDAYS) | dict(MONTHS) | dict(NUMBERS))
    valued = words.with_columns(kind=kind).with_columns(
        value=pl.when(pl.col("kind").is_not_null()).then(value),
        unit=pl.when(pl.col("kind").is_in(["number", "money"])).then(_beside("stem", -1)),
    )
    is_value = pl.col("kind").is_not_null()
    return valued.with_columns(
        stop=pl.col("stop") & ~is_value,
        named=pl.col("named") & ~is_value,
        stem=pl.when(is_value).then("#" + pl.col("value")).otherwise("stem"),
        prior=pl.when(is_value).then(0.7).otherwise("prior"),
    )


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


def _neighbours(stems: Sequence[str]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return [stems, stems]: closeness in the thesaurus, and which exclude each other."""
    words = thesaurus()
    place = np.full(len(words.places), -1)
    listed = [(row, words.places[word]) for row, word in enumerate(stems) if word in words.places]
    rows, places = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    place[places] = rows
    size = (len(stems), len(stems))
    topics, separations = (
        sparse.csr_array(cells[:3], shape=cells.shape)[places] for cells in (words.topics[0], words.apart[0])
    )
    closeness = (topics @ topics.T).tocoo()
    exclusive = (separations @ separations.T).tocoo()
    near = (closeness.data >= _LEAST_CLOSENESS) & (closeness.row != closeness.col)
    close = sparse.csr_array(
        (np.minimum(closeness.data[near], 1.0), (rows[closeness.row[near]], rows[closeness.col[near]])), shape=size
    )
    other = exclusive.row != exclusive.col
    apart = sparse.csr_array(
        (np.ones(np.count_nonzero(other)), (rows[exclusive.row[other]], rows[exclusive.col[other]])), shape=size
    )
    apart.data = np.minimum(apart.data, 1.0)
    return sparse.csr_array(close - close.multiply(apart)), apart


def _described(statements: pl.DataFrame, content: pl.DataFrame) -> pl.DataFrame:
    """Add the number of words, and the first content word."""
    first = content.group_by("row", maintain_order=True).agg(
        words=pl.len(), lead=pl.col("column").first(), lead_named=pl.col("named").first()
    )
    rows = pl.DataFrame({"row": pl.int_range(len(statements), dtype=pl.Int64, eager=True)})
    joined = rows.join(first, on="row", how="left", maintain_order="left")
    return statements.hstack(
        joined.select(
            pl.col("words").fill_null(0), pl.col("lead").fill_null(-1), pl.col("lead_named").fill_null(value=False)
        )
    )


def _context(present: sparse.csr_array, statements: pl.DataFrame) -> sparse.csr_array:
    """Return the words of each statement and of its neighbours in the session."""
    session = statements.select(
        pl.when(pl.col("session_id") >= 0).then(pl.struct("profile_id", "session_id").rle_id())
    ).to_series()
    sessions = session.fill_null(-1).to_numpy()
    around = present
    for lag in range(1, CONTEXT_REACH + 1):
        here = np.flatnonzero((sessions[lag:] == sessions[:-lag]) & (sessions[lag:] >= 0))
        pairs = np.concatenate([here, here + lag]), np.concatenate([here + lag, here])
        around = around + sparse.csr_array((np.ones(2 * len(here)), pairs), shape=(len(sessions),) * 2) @ present
    around.data = np.minimum(around.data, 1.0)
    return sparse.csr_array(around)


def _values(values: pl.DataFrame, count: int) -> sparse.csr_array:
    """Return [statements, values] of one type."""
    column = (values["value"].rank("dense").cast(pl.Int64) - 1).cast(pl.Int64)
    return _matrix(values["row"], column, (count, _width(column)))


def _width(column: pl.Series) -> int:
    """Return the number of columns of a matrix, at least one."""
    return int(column.to_numpy().max(initial=0)) + 1


def _around(content: pl.DataFrame, words: pl.DataFrame, which: pl.Expr, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the content words near some words of the statement, nearer ones weighing more."""
    centres = words.filter(which).select("row", centre="place")
    near = centres.join(content.select("row", "place", "column"), on="row", how="inner")
    distance = (pl.col("place") - pl.col("centre")).abs()
    near = near.filter(distance.is_between(1, _VALUE_REACH)).with_columns(data=1.0 / (1.0 + distance / 4))
    return _matrix(near["row"], near["column"], shape, near["data"])


def _units(words: pl.DataFrame, shape: tuple[int, int]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return what is counted in each statement, and how many of what."""
    counted = words.filter(pl.col("kind").is_in(["number", "money"])).with_columns(
        unit=pl.when(pl.col("kind") == "money").then(pl.lit("money")).otherwise("unit")
    )
    counted = counted.filter(pl.col("unit").is_not_null() & ~pl.col("unit").str.contains("^#"))
    number = counted["unit"].rank("dense").cast(pl.Int64) - 1
    amount = counted.select(pl.struct("unit", "value").rank("dense").cast(pl.Int64) - 1).to_series()
    widths = [_width(column) for column in (number, amount)]
    units, amounts = (
        _matrix(counted["row"], column, (shape[0], width))
        for column, width in zip((number, amount), widths, strict=True)
    )
    return units, amounts


def _cues(low: pl.Series) -> Marks:
    """Return which cues each folded text has, [texts, cues]."""
    found = low.to_frame("low").select(
        pl.col("low").str.contains(pattern).alias(name) for name, pattern in CUES.items()
    )
    return found.to_numpy().astype(np.bool_).reshape(len(low), len(CUES))


def _parts(statements: pl.DataFrame) -> pl.DataFrame:
    """Return the texts of the clauses of statements: statement (its row), text."""
    cut = statements["text"].str.replace_all(_CLAUSE_BREAK, f"${{1}}{_MARK}").str.split(_MARK)
    rows = pl.int_range(len(statements), dtype=pl.Int64, eager=True)
    listed = pl.DataFrame({"statement": rows, "text": cut}).explode("text")
    place = pl.int_range(pl.len()).over("statement")
    return listed.filter(pl.col("text").str.contains(r"\w") | (place == 0)).filter(place < _MAX_CLAUSES)


def _words_of_both(statements: pl.DataFrame, parts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the words of statements, and those of clauses as if these were of another store (see `_words`)."""
    own = parts.select(pl.lit(-1, pl.Int64).alias("profile_id"), "text")
    words = _words(pl.concat([statements.select("profile_id", "text"), own]))
    of_statement = pl.col("row") < len(statements)
    return words.filter(of_statement), words.filter(~of_statement).with_columns(pl.col("row") - len(statements))


def _clauses(
    parts: pl.DataFrame, words: pl.DataFrame, shape: tuple[int, int], stems: pl.Series
) -> tuple[Rows, sparse.csr_array, Marks]:
    """Return the clauses of each statement: its row, [clauses, stems] and [clauses, cues]."""
    columns = pl.DataFrame({"stem": stems, "column": pl.int_range(len(stems), dtype=pl.Int64, eager=True)})
    words = words.filter(~pl.col("stop")).join(columns, on="stem", how="inner", maintain_order="left")
    present = _matrix(words["row"], words["column"], (len(parts), shape[1]))
    return parts["statement"].to_numpy(), present, _cues(fold(parts["text"]))


def sums(matrix: sparse.csr_array) -> Floats:
    """Return the sum of each row."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
