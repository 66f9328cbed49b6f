"""What two memories share and where they differ, in numbers: the features by which a pair is judged.

A memory is read as one statement if it is short, otherwise sentence by sentence. Words weigh by their rarity in the
store. Nothing here knows a particular text: features count shared and unshared words, values of one type, cues of
change. Everything is a sparse matrix over statements, so that a million pairs cost seconds. Not here: the weights of
the features (`relation_model`) and the choice of pairs (`consolidation/change_detection`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.schemas import INSTANT
from memory_pipeline.text.embed.thesaurus import thesaurus
from memory_pipeline.text.lang.en.relation_cues import CUES, MONTHS, NUMBERS, WEEKDAYS
from memory_pipeline.text.parse.clauses import split_clauses
from memory_pipeline.text.parse.tokens import fold, vocabulary

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

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
"""Characters of a memory that are read; the rest of a longer one is ignored."""
_MAX_STATEMENT_CHARACTERS: Final = 600
"""Characters of a statement that are read."""
_WHOLE_WORDS: Final = 60
"""Words up to which a memory is one statement."""
_MAX_CLAUSES: Final = 8
"""Clauses of a statement that are compared."""
_CONTEXT_REACH: Final = 2
"""Neighbouring statements of the session, on each side, whose words are the context of a statement."""
_VALUE_REACH: Final = 6
"""Words around a value that say what it is the value of."""
_LEAST_WEIGHT: Final = 0.05
_LEAST_STORE: Final = 50
"""Statements that a smaller store is taken to have: in a store of three, every word is frequent."""
_SMALL_TALK_WEIGHT: Final = 0.2
_PAIRS_AT_ONCE: Final = 20_000
"""Pairs whose features are computed at once; bounds the scratch memory."""
_STATEMENT_PAIRS: Final = 8
"""Pairs of statements of two long memories that are compared, those that share most."""
MOST_SHARED: Final = 128
"""Statements up to which a word pairs all of them."""
NEAREST_BEFORE: Final = 12
"""Earlier statements that a more frequent word pairs a statement with."""
MOST_CANDIDATES: Final = 24
"""Older memories that a memory is compared with."""
_LEAST_SIMILARITY: Final = 0.03
_CONTEXT_WEIGHT: Final = 0.3
_ROWS_AT_ONCE: Final = 2048
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
        totals: for each statement, of its words the weight (`words`), that of its names and its values, and the length
            as a vector (`norm`); of its context the weight.
        clause_weights: [clauses, stems] its weighted words and names; the weight of each clause.
        clause_cues: [statements, cues] 1 where one of its clauses has it.
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
    cues: NDArray[np.bool_]
    clauses: tuple[Rows, sparse.csr_array, NDArray[np.bool_]]
    totals: Mapping[str, Floats]
    clause_weights: tuple[sparse.csr_array, sparse.csr_array, Floats]
    clause_cues: NDArray[np.bool_]


def read(memories: pl.DataFrame) -> Reading:
    """Read memories for comparison.

    Args:
        memories: `MEMORY_COLUMNS`, in the order of their validity.

    Cost: about 0.15 ms per short memory.
    """
    statements = _statements(memories)
    words = _words(statements)
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
    owner, clause_words, clause_cues = clauses = _clauses(statements, shape, stems)
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
            "words": _sums(weighted),
            "names": _sums(names),
            "values": np.asarray(weighted @ valued).ravel(),
            "norm": np.sqrt(_sums(weighted.power(2))),
            "context": _sums(context),
        },
        clause_weights=(
            clause_weighted,
            sparse.csr_array(clause_words.multiply(names[owner])),
            np.maximum(_sums(clause_weighted), _LEAST_WEIGHT),
        ),
        clause_cues=np.logical_or.reduceat(clause_cues, np.searchsorted(owner, np.arange(len(statements)))),
    )


def statement_pairs(reading: Reading, older: Rows, newer: Rows) -> tuple[Rows, Rows, Rows]:
    """Return pairs of statements of pairs of memories: index of the pair, older and newer statement.

    Of long memories, the pairs of statements that share most.
    """
    pair, left, right = _crossed(reading.start, older, newer)
    long = np.bincount(pair, minlength=len(older))[pair] > _STATEMENT_PAIRS
    if not long.any():
        return pair, left, right
    shared = np.full(len(pair), np.inf)
    shared[long] = _dot(reading.weighted, reading.words, left[long], right[long])
    order = np.lexsort((np.arange(len(pair)), -shared, pair))
    place = np.arange(len(pair)) - np.searchsorted(pair[order], pair[order])
    kept = np.sort(order[place < _STATEMENT_PAIRS])
    return pair[kept], left[kept], right[kept]


def candidates(reading: Reading) -> tuple[Rows, Rows]:
    """Return pairs of memories worth judging, (older, newer): for each memory the older ones that share most with it.

    A word in more than `MOST_SHARED` statements pairs each of them only with the `NEAREST_BEFORE` statements before it,
    so that the cost is linear: about 0.1 ms per memory.
    """
    keys = _keys(reading)
    counts = np.bincount(keys.indices, minlength=keys.shape[1])
    rare = sparse.csr_array(keys @ sparse.diags_array((counts <= MOST_SHARED).astype(np.float64)))
    rare.eliminate_zeros()
    latest = _latest(keys, counts)
    memory = reading.statements["memory"].to_numpy()
    found = [np.empty((0, 2), dtype=np.int64)]
    for low in range(0, len(memory), _ROWS_AT_ONCE):
        part = slice(low, min(low + _ROWS_AT_ONCE, len(memory)))
        block = (rare[part] @ rare[: part.stop].T + latest[part, : part.stop]).tocoo()
        near = block.data >= _LEAST_SIMILARITY
        older, newer = memory[block.col[near]], memory[block.row[near] + low]
        earlier = older < newer
        found.append(_nearest(older[earlier], newer[earlier], block.data[near][earlier]))
    return each_once(np.concatenate(found), len(reading.memories))


def each_once(pairs: Rows, count: int) -> tuple[Rows, Rows]:
    """Return pairs of rows, [n, 2], each once and in order, as two columns; there are so many rows."""
    older, newer = np.divmod(np.unique(pairs[:, 0] * count + pairs[:, 1]), max(count, 1))
    return older, newer


def _keys(reading: Reading) -> sparse.csr_array:
    """Return [statements, words and words of the context, by store]; a product of two rows is how much they share."""
    profile = reading.statements["profile_id"].to_numpy()
    parts = []
    for matrix, weight in ((reading.weighted, 1.0), (reading.context, _CONTEXT_WEIGHT)):
        total = np.maximum(np.asarray(matrix.sum(axis=1)).ravel(), _LEAST_WEIGHT)
        scaled = matrix.tocoo()
        column = np.unique(profile[scaled.row] * matrix.shape[1] + scaled.col, return_inverse=True)[1]
        data = np.sqrt(weight * scaled.data / total[scaled.row])
        width = int(column.max(initial=0)) + 1
        parts.append(sparse.csr_array((data, (scaled.row, column)), shape=(matrix.shape[0], width)))
    return sparse.csr_array(sparse.hstack(parts))


def _latest(keys: sparse.csr_array, counts: Rows) -> sparse.csr_array:
    """Return what statements share by frequent words, each with the latest statements before it."""
    often = sparse.csc_array(keys @ sparse.diags_array((counts > MOST_SHARED).astype(np.float64)))
    often.eliminate_zeros()
    column = np.repeat(np.arange(often.shape[1]), np.diff(often.indptr))
    rows, data = often.indices, often.data
    size = (keys.shape[0],) * 2
    shared = sparse.csr_array(size)
    for lag in range(1, NEAREST_BEFORE + 1):
        same = column[lag:] == column[:-lag]
        cells = data[lag:][same] * data[:-lag][same], (rows[lag:][same], rows[:-lag][same])
        shared = shared + sparse.csr_array(cells, shape=size)
    return sparse.csr_array(shared)


def _nearest(older: Rows, newer: Rows, similarity: Floats) -> Rows:
    """Return the `MOST_CANDIDATES` nearest older memories of each newer one, [n, 2]; ties go to the later one."""
    order = np.lexsort((-older, -similarity, newer))
    pairs = np.stack([older[order], newer[order]], axis=1)
    numbers = pl.Series(pairs @ np.array([1, int(newer.max(initial=0)) + 1]))
    pairs = pairs[numbers.is_first_distinct().to_numpy()]
    rank = np.arange(len(pairs)) - np.searchsorted(pairs[:, 1], pairs[:, 1])
    nearest: Rows = pairs[rank < MOST_CANDIDATES]
    return nearest


def features(reading: Reading, older: Rows, newer: Rows) -> tuple[tuple[str, ...], Floats]:
    """Compute the features of pairs of statements.

    Args:
        reading: the memories.
        older: index of the older statement of each pair.
        newer: index of the newer, as many.

    Returns:
        Names, and [pairs, names]. Ranks are among the pairs given. Cost: about 10 µs per pair.
    """
    tables = [columns(reading, older[part], newer[part]) for part in parts(len(older))]
    united = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    united |= ranks(united["similarity"], older, newer)
    return tuple(united), np.stack(list(united.values()), axis=1)


def parts(count: int) -> list[slice]:
    """Return slices of so many pairs, such that their features fit into little memory; at least one."""
    return [slice(low, low + _PAIRS_AT_ONCE) for low in range(0, max(count, 1), _PAIRS_AT_ONCE)]


def _statements(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the statements of each memory, in order, with who said them, when and in which session."""
    texts = memories["content"].fill_null("").str.head(MAX_CHARACTERS)
    clauses = split_clauses(texts)
    sentence = pl.col("ends").shift(1, fill_value=True).cast(pl.Int64).cum_sum()
    sentences = clauses.group_by("row", sentence=sentence, maintain_order=True).agg(text=pl.col("clause").str.join(""))
    length = texts.str.count_matches(r"\s+")
    whole = (length < _WHOLE_WORDS).gather(sentences["row"])
    grouped = sentences.with_columns(sentence=pl.when(whole).then(0).otherwise("sentence"))
    units = grouped.group_by("row", "sentence", maintain_order=True).agg(pl.col("text").str.join(""))
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
    known = vocabulary(listed["word"]).select("word", "stem", "rarity", "stop", "small_talk")
    listed = listed.join(known, on="word", how="left", maintain_order="left")
    capital = pl.col("spelled").str.contains(r"^\p{Lu}") & ~pl.col("stop")
    listed = listed.with_columns(seen=(capital & (pl.col("place") > 0)).any().over("profile_id", "word"))
    calendar = pl.col("word").is_in([*WEEKDAYS, *MONTHS])
    coded = pl.col("spelled").str.contains(r"^\p{L}.*[\p{N}_/.]|^\p{L}\p{L}*\p{Lu}")
    named = ((capital & pl.col("seen")) | coded) & ~calendar
    prior = pl.when("small_talk").then(_SMALL_TALK_WEIGHT).otherwise(pl.col("rarity") / 100)
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
    """Return what stands so many words before in the same text, which are adjacent rows; null where nothing does."""
    return pl.when(pl.col("row").shift(lag) == pl.col("row")).then(pl.col(column).shift(lag))


def _matrix(
    rows: pl.Series, columns: pl.Series, shape: tuple[int, int], data: pl.Series | None = None
) -> sparse.csr_array:
    """Return a sparse matrix; equal places once, with 1 or their largest value."""
    frame = pl.DataFrame({"row": rows, "column": columns, "data": 1.0 if data is None else data})
    cells = frame.group_by("row", "column").agg(pl.col("data").max()).sort("row", "column")
    places = cells["row"].to_numpy(), cells["column"].to_numpy()
    return sparse.csr_array((cells["data"].cast(pl.Float64).to_numpy(), places), shape=shape)


def _weighted(content: pl.DataFrame, statements: pl.DataFrame, shape: tuple[int, int]) -> sparse.csr_array:
    """Return the weight of each word of each statement: prior rarity times rarity in its store."""
    profile = statements["profile_id"]
    sizes = profile.value_counts().rename({"count": "size"})
    placed = content.join(sizes, on="profile_id", how="left", maintain_order="left")
    texts = pl.col("row").n_unique().over("profile_id", "column")
    size = pl.max_horizontal("size", pl.lit(_LEAST_STORE))
    rarity = ((size + 1) / (texts + 0.5)).log() / ((size + 1) / 1.5).log().clip(1e-3)
    weight = pl.col("prior") * rarity.clip(_LEAST_WEIGHT, 1.0)
    weights = placed.select("row", "column", weight=weight.clip(_LEAST_WEIGHT * 0.1))
    return _matrix(weights["row"], weights["column"], shape, weights["weight"])


def _neighbours(stems: Sequence[str]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return [stems, stems]: closeness in the thesaurus, and which exclude each other."""
    known = thesaurus()
    place = np.full(len(known.places), -1)
    listed = [(row, known.places[word]) for row, word in enumerate(stems) if word in known.places]
    rows, places = np.array(listed, dtype=np.int64).reshape(-1, 2).T
    place[places] = rows
    size = (len(stems), len(stems))
    topics, separations = known.topics[0][places], known.apart[0][places]
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


_LEAST_CLOSENESS: Final = 0.3
"""Closeness from which a word stands for another."""


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
    known = session.fill_null(-1).to_numpy()
    around = present
    for lag in range(1, _CONTEXT_REACH + 1):
        here = np.flatnonzero((known[lag:] == known[:-lag]) & (known[lag:] >= 0))
        pairs = np.concatenate([here, here + lag]), np.concatenate([here + lag, here])
        around = around + sparse.csr_array((np.ones(2 * len(here)), pairs), shape=(len(known),) * 2) @ present
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


def _cues(low: pl.Series) -> NDArray[np.bool_]:
    """Return which cues each folded text has, [texts, cues]."""
    found = low.to_frame("low").select(
        pl.col("low").str.contains(pattern).alias(name) for name, pattern in CUES.items()
    )
    return found.to_numpy().astype(np.bool_).reshape(len(low), len(CUES))


def _clauses(
    statements: pl.DataFrame, shape: tuple[int, int], stems: pl.Series
) -> tuple[Rows, sparse.csr_array, NDArray[np.bool_]]:
    """Return the clauses of each statement: its row, [clauses, stems] and [clauses, cues]."""
    cut = statements["text"].str.replace_all(_CLAUSE_BREAK, f"${{1}}{_MARK}").str.split(_MARK)
    rows = pl.int_range(len(statements), dtype=pl.Int64, eager=True)
    listed = pl.DataFrame({"statement": rows, "text": cut}).explode("text")
    place = pl.int_range(pl.len()).over("statement")
    listed = listed.filter(pl.col("text").str.contains(r"\w") | (place == 0)).filter(place < _MAX_CLAUSES)
    low = fold(listed["text"])
    words = _words(listed.with_columns(profile_id=statements["profile_id"].gather(listed["statement"])))
    columns = pl.DataFrame({"stem": stems, "column": pl.int_range(len(stems), dtype=pl.Int64, eager=True)})
    words = words.filter(~pl.col("stop")).join(columns, on="stem", how="inner", maintain_order="left")
    present = _matrix(words["row"], words["column"], (len(listed), shape[1]))
    return listed["statement"].to_numpy(), present, _cues(low)


def _sums(matrix: sparse.csr_array) -> Floats:
    """Return the sum of each row."""
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()


def _dot(one: sparse.csr_array, other: sparse.csr_array, left: Rows, right: Rows) -> Floats:
    """Return the product of row `left` of one matrix and row `right` of the other, for each pair."""
    result = np.zeros(len(left))
    filled = np.flatnonzero((np.diff(one.indptr)[left] > 0) & (np.diff(other.indptr)[right] > 0))
    for part in parts(len(filled)):
        at = filled[part]
        result[at] = _sums(one[left[at]].multiply(other[right[at]]))
    return result


def columns(reading: Reading, older: Rows, newer: Rows, *, at_most: bool = False) -> dict[str, Floats]:
    """Return all features of pairs of statements but the ranks.

    Args:
        reading: the memories.
        older: index of the older statement of each pair.
        newer: index of the newer.
        at_most: leave the clauses unread, which is most of the cost: `OF_CLAUSES` are then the largest values they can
            have; their least is 0.
    """
    found = {
        **_shared(reading, older, newer),
        **_values_compared(reading, older, newer),
        **_cue_columns(reading, older, newer),
        **(_clauses_at_most if at_most else _clause_columns)(reading, older, newer),
        **_circumstances(reading, older, newer),
    }
    return found | _together(found)


def _together(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return products of features that mean more together than alone."""
    alike, plain = columns["covered_least"], np.minimum(columns["clause_plain"], 1.5)
    moved = np.maximum.reduce([columns[f"new_{cue}"] for cue in ("change", "end", "onset", "return")])
    other = np.maximum(columns["value_differs"], columns["amount_differs"])
    denied, named = columns["negation_differs"], columns["names_differ"]
    meant = np.minimum(columns["plain_meant"], 1.5)
    return {
        "alike_no_change": alike * (1 - moved) * (1 - other) * (1 - denied),
        "alike_values_equal": alike * columns["value_equal"] * (1 - other),
        "alike_values_differ": alike * other * (1 - moved),
        "alike_denied": alike * denied * (1 - moved),
        "alike_apart": alike * np.minimum(columns["apart"], 1.0) * (1 - moved),
        "alike_names_differ": alike * named * (1 - moved) * (1 - other),
        "alike_left": alike * columns["left_plain_both"],
        "alike_values_differ_alone": alike * other * (1 - moved) * np.exp(-2 * columns["left_plain_both"]),
        "alike_leads_absent": alike * columns["leads_absent"],
        "repeated": alike * (1 - other) * (1 - denied) * np.exp(-2 * columns["left_plain_both"]),
        "alike_both_sides": alike**2,
        "changed_value": plain * moved * other,
        "changed_attribute": plain * moved,
        "meant_changed": meant * moved,
        "meant_still": meant * (1 - moved),
        "lead_other": columns["lead_differs"] * (1 - columns["lead_same"]) * alike,
    }


def _share(part: Floats, whole: Floats) -> Floats:
    return part / np.maximum(whole, _LEAST_WEIGHT)


def _shared(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return how much the two share: words, names, words close in meaning, context."""
    weighted, words = reading.weighted, reading.words
    total, named_total, value_total, norms, context_total = reading.totals.values()
    plain_total = total - named_total
    both = words[older].multiply(weighted[newer]).tocsr()
    shared = _sums(both)
    names = _dot(words, reading.names, older, newer)
    plain = shared - names
    rarest = np.asarray(both.max(axis=1).todense()).ravel() if both.nnz else np.zeros(len(older))
    close_old = np.minimum(_dot(weighted, reading.close, older, newer), total[older])
    close_new = np.minimum(_dot(weighted, reading.close, newer, older), total[newer])
    covered_old = np.minimum(_share(shared + close_old, total[older]), 1.0)
    covered_new = np.minimum(_share(shared + close_new, total[newer]), 1.0)
    cosine = _dot(weighted, weighted, older, newer) / np.maximum(norms[older] * norms[newer], 1e-9)
    context = _dot(reading.context, reading.context, older, newer)
    context = context / np.maximum(np.sqrt(context_total[older] * context_total[newer]), 1.0)
    lead = reading.statements["lead"].to_numpy()
    lead_named = reading.statements["lead_named"].to_numpy()
    lead_differs = lead_named[older] & lead_named[newer] & (lead[older] != lead[newer])
    old_only, new_only = named_total[older] - names, named_total[newer] - names
    plain_both = plain - np.asarray(both @ reading.valued).ravel()
    left = [
        np.maximum(plain_total[side] - value_total[side] - plain_both - close, 0.0)
        for side, close in ((older, close_old), (newer, close_new))
    ]
    known = np.flatnonzero(lead >= 0)
    leads = sparse.csr_array((np.ones(len(known)), (known, lead[known])), shape=words.shape)
    absent = [
        (lead[one] >= 0) & (_dot(leads, words, one, other) < 1) for one, other in ((older, newer), (newer, older))
    ]
    return {
        "shared": np.log1p(shared),
        "shared_old": _share(shared, total[older]),
        "shared_new": _share(shared, total[newer]),
        "rarest": rarest,
        "close_old": _share(close_old, total[older]),
        "close_new": _share(close_new, total[newer]),
        "covered_least": np.minimum(covered_old, covered_new),
        "covered_most": np.maximum(covered_old, covered_new),
        "covered": covered_old * covered_new,
        "cosine": cosine,
        "context": context,
        "similarity": _share(shared, np.sqrt(total[older] * total[newer]))
        + 0.25 * (covered_old + covered_new)
        + 0.3 * context,
        "names": names,
        "plain": plain,
        "plain_old": _share(plain, plain_total[older]),
        "plain_new": _share(plain, plain_total[newer]),
        "plain_meant": np.minimum(plain + 0.5 * (close_old + close_new), 3.0),
        "names_old": _share(names, named_total[older]),
        "names_new": _share(names, named_total[newer]),
        "names_differ": ((old_only > _SMALL_TALK_WEIGHT) & (new_only > _SMALL_TALK_WEIGHT)).astype(np.float64),
        "left_old": np.log1p(total[older] - shared),
        "left_new": np.log1p(total[newer] - shared),
        "apart": np.minimum(_dot(reading.apart, words, older, newer), 2.0),
        "left_plain_old": np.log1p(left[0]),
        "left_plain_new": np.log1p(left[1]),
        "left_plain_both": np.log1p(np.minimum(left[0], left[1])),
        "lead_absent_old": absent[0].astype(np.float64),
        "lead_absent_new": absent[1].astype(np.float64),
        "leads_absent": (absent[0] & absent[1]).astype(np.float64),
        "lead_same": ((lead[older] == lead[newer]) & (lead[older] >= 0)).astype(np.float64),
        "lead_differs": lead_differs.astype(np.float64),
    }


def _values_compared(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return how values of one type compare: in both, equal, different, around the same words."""
    columns: dict[str, NDArray[Any]] = {}
    differ, equal = np.zeros(len(older)), np.zeros(len(older))
    stated = np.zeros(len(reading.statements))
    for kind, matrix in reading.values.items():
        count = np.asarray(matrix.sum(axis=1)).ravel()
        stated += count
        old, new, same = count[older], count[newer], _dot(matrix, matrix, older, newer)
        columns |= {
            f"{kind}_both": np.minimum(old, new) > 0,
            f"{kind}_equal": (same > 0) & (same == old) & (same == new),
            f"{kind}_differs": (old > same) & (new > same),
            f"{kind}_new_only": (new > 0) & (old == 0),
            f"{kind}_old_only": (old > 0) & (new == 0),
        }
        differ = np.maximum(differ, (old > same) & (new > same))
        equal = np.maximum(equal, same > 0)
    units, amounts = reading.units
    same_units, same_amounts = _dot(units, units, older, newer), _dot(amounts, amounts, older, newer)
    near_values, near_names = (np.minimum(_dot(weighted, near, older, newer), 3.0) for near, weighted in reading.around)
    columns |= {
        "old_values": np.minimum(stated[older], 3.0),
        "amount_differs": same_units > same_amounts,
        "amount_equal": same_amounts > 0,
        "value_differs": differ,
        "value_equal": equal,
        "value_place_differs": near_values * differ,
        "value_place_equal": near_values * equal,
        "name_place": near_names,
    }
    return {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}


def _cue_columns(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return the cues of each side."""
    columns: dict[str, Floats] = {}
    old, new = reading.cues[older].T.astype(np.float64), reading.cues[newer].T.astype(np.float64)
    for place, name in enumerate(CUES):
        columns |= {f"old_{name}": old[place], f"new_{name}": new[place]}
    columns["negation_differs"] = np.abs(columns["old_negation"] - columns["new_negation"])
    return columns


_OLD_CLAUSE_CUES: Final = ("present", "plan", "negation", "past", "quote", "habit")
_NEW_CLAUSE_CUES: Final = ("change", "end", "negation", "onset", "return", "plan", "past", "same", "add")
_CHANGING: Final = ("change", "end", "onset", "return")
_DENYING: Final = ("negation", "end")
_MOST_PLAIN: Final = 3.0
"""Most that the plain words of two clauses count."""
OF_CLAUSES: Final = frozenset(
    {
        *("clause_match", "clause_plain", "clause_old", "clause_new", "change_plain", "change_match", "end_plain"),
        *(f"clause_old_{name}" for name in _OLD_CLAUSE_CUES),
        *(f"clause_new_{name}" for name in _NEW_CLAUSE_CUES),
        *("changed_value", "changed_attribute"),
    }
)
"""Features that take a look at clauses; none is below 0."""


def _clause_columns(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return what the two clauses that share most share, and their cues."""
    owner, present, cues = reading.clauses
    weighted, named, total = reading.clause_weights
    pair, left, right = _crossed(np.searchsorted(owner, np.arange(len(reading.statements) + 1)), older, newer)
    both = present[left].multiply(weighted[right]).tocsr()
    shared = _sums(both)
    plain = np.minimum(shared - _dot(present, named, left, right), _MOST_PLAIN)
    old, new = np.minimum(shared / total[left], 1.0), np.minimum(shared / total[right], 1.0)
    match = np.sqrt(old * new) * np.minimum(shared, 1.0)
    best = np.empty(len(older), dtype=np.int64)
    order = np.lexsort((-np.arange(len(pair)), match + 0.5 * np.minimum(plain, 2.0), pair))
    best[pair[order]] = order  # the last of a pair, its best, stays
    changing, denying = _any_cue(cues, _CHANGING)[right], _any_cue(cues, _DENYING)[right]
    return {
        "old_clauses": np.bincount(owner, minlength=len(reading.statements))[older].astype(np.float64),
        "clause_match": match[best],
        "clause_plain": plain[best],
        "clause_old": old[best],
        "clause_new": new[best],
        "change_plain": _most(plain * changing, pair, len(older)),
        "change_match": _most(match * changing, pair, len(older)),
        "end_plain": _most(plain * denying, pair, len(older)),
        **{f"clause_old_{name}": _any_cue(cues, (name,))[left[best]] for name in _OLD_CLAUSE_CUES},
        **{f"clause_new_{name}": _any_cue(cues, (name,))[right[best]] for name in _NEW_CLAUSE_CUES},
    }


def _clauses_at_most(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return the largest values that `_clause_columns` can have."""
    old, new, one = reading.clause_cues[older], reading.clause_cues[newer], np.ones(len(older))
    changing, denying = _any_cue(new, _CHANGING), _any_cue(new, _DENYING)
    clauses = np.bincount(reading.clauses[0], minlength=len(reading.statements))
    return {
        "old_clauses": clauses[older].astype(np.float64),
        "clause_match": one,
        "clause_plain": one * _MOST_PLAIN,
        "clause_old": one,
        "clause_new": one,
        "change_plain": changing * _MOST_PLAIN,
        "change_match": changing,
        "end_plain": denying * _MOST_PLAIN,
        **{f"clause_old_{name}": _any_cue(old, (name,)) for name in _OLD_CLAUSE_CUES},
        **{f"clause_new_{name}": _any_cue(new, (name,)) for name in _NEW_CLAUSE_CUES},
    }


def _any_cue(cues: NDArray[np.bool_], names: Sequence[str]) -> Floats:
    """Return 1 where a row has one of some cues."""
    kinds = list(CUES)
    return np.asarray(cues[:, [kinds.index(name) for name in names]].any(axis=1), dtype=np.float64)


def _crossed(start: Rows, older: Rows, newer: Rows) -> tuple[Rows, Rows, Rows]:
    """Return all pairs of the parts of each pair: its index, part of the older, part of the newer.

    Args:
        start: first part of each whole, and the number of parts at the end; a whole has at least one.
        older: a whole of each pair.
        newer: the other.
    """
    counts = np.diff(start)
    product = counts[older] * counts[newer]
    pair = np.repeat(np.arange(len(older)), product)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(product) - product, product)
    return pair, start[older[pair]] + within // counts[newer[pair]], start[newer[pair]] + within % counts[newer[pair]]


def _most(values: Floats, pair: Rows, count: int) -> Floats:
    """Return the largest value of each pair, at least 0."""
    result = np.zeros(count)
    np.maximum.at(result, pair, values)
    return result


def _circumstances(reading: Reading, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return who said the two, when, where, and how long they are."""
    speaker, session, at, words, memory = (
        reading.statements[name].to_numpy() for name in ("speaker", "session_id", "at", "words", "memory")
    )
    day = 86_400e6
    one_session = (session[older] == session[newer]) & (session[older] >= 0)
    length_old, length_new = np.log1p(words[older]), np.log1p(words[newer])
    return {
        "speaker_same": ((speaker[older] == speaker[newer]) & (speaker[older] >= 0)).astype(np.float64),
        "speaker_differs": (speaker[older] != speaker[newer]).astype(np.float64),
        "gap": np.log1p(np.maximum(at[newer] - at[older], 0) / day),
        "one_session": one_session.astype(np.float64),
        "adjacent": (one_session & (memory[newer] - memory[older] <= _CONTEXT_REACH + 1)).astype(np.float64),
        "length_old": length_old,
        "length_new": length_new,
        "longer": length_new - length_old,
    }


def ranks(similarity: Floats, older: Rows, newer: Rows) -> dict[str, Floats]:
    """Return how near the two are compared with the other pairs of each."""
    ends = np.concatenate([older, newer])
    both = np.concatenate([similarity, similarity])
    order = np.lexsort((np.concatenate([newer, older]), -both, ends))
    first = np.searchsorted(ends[order], ends[order])
    rank = np.empty(len(ends))
    rank[order] = np.arange(len(ends)) - first
    best = np.empty(len(ends))
    best[order] = both[order][first] if len(ends) else 0.0
    inverse, relative = 1.0 / (1.0 + rank), both / np.maximum(best, 1e-9)
    n = len(older)
    return {
        "rank_old": inverse[:n],
        "rank_new": inverse[n:],
        "rank_least": np.minimum(inverse[:n], inverse[n:]),
        "mutual": ((rank[:n] == 0) & (rank[n:] == 0)).astype(np.float64),
        "relative_old": relative[:n],
        "relative_new": relative[n:],
    }
