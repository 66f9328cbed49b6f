"""Splits texts into clauses that can be left out one by one.

Lossless: the clauses of a text, joined, are the text. A sentence with a negation or a condition is a single clause, so
that leaving a part out can never invert the rest. Not here: the value of a clause (`score/clause_value`), and clauses
rewritten for comparison (`statements`).
"""

import re
from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import are_few, in_python
from memory_pipeline.text.lang.registry import ENGLISH
from memory_pipeline.text.parse.sentences import sentences_of, split_sentences
from memory_pipeline.text.parse.tokens import count_tokens, token_counts

_SENTENCE_MARK: Final = "\ufdd0"
"""Marks a caption within a sentence during splitting: a noncharacter. A text that contains it is not split."""
_CLAUSE_MARK: Final = "\ufdd1"
"""Marks a clause boundary within a sentence, likewise."""
_SUBJECT: Final = (
    r"(?:i|we|he|she|they|it|you|my|our|his|her|their|its|there|this|that|these|those|the|an?|it's|i'm|i've|i'd|i'll"
    r"|we're|we've|we'd|we'll|he's|he'd|she's|she'd|they're|they've|you're|you've|that's|there's|let's)"
)
_CONJUNCTION: Final = (
    r"(?:and|but|so|because|cause|cuz|since|while|whereas|although|though|plus|then|yet|which|where|who|when)"
)
_COORDINATOR: Final = r"(?:and|but|so|cause|cuz|since|while)"
_SUBORDINATOR: Final = r"(?:even\s+)?(?:because|whereas|although|though)"
_BOUNDARIES: Final = (
    (r"(\[[^\[\]\n]*\]\s*)", f"{_SENTENCE_MARK}${{1}}{_SENTENCE_MARK}"),  # a caption in brackets
    (r"([;\u2014]\s*|\s[\u2013-]{1,2}\s+)", f"${{1}}{_CLAUSE_MARK}"),
    (rf"(?i)(,\s+)((?:{_CONJUNCTION}(?-u:\b)|{_SUBJECT}\s))", f"${{1}}{_CLAUSE_MARK}${{2}}"),
    (rf"(?i)([^,\s]\s+)((?:{_COORDINATOR}\s+{_SUBJECT}|{_SUBORDINATOR})\s)", f"${{1}}{_CLAUSE_MARK}${{2}}"),
)
"""Rewrites of a sentence that insert a mark at each boundary: brackets, dashes, and commas or conjunctions before a
clause."""
_INDIVISIBLE: Final = (
    r"(?i)(?-u:\b)(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly|barely|[a-z]+n['\u2019]t"
    r"|unable|fail(?:s|ed)?|if|unless|whether|would)"
    r"(?-u:\b)|^\["
)
"""A sentence with one of these is not split: a negation, a condition, a caption."""

_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    "row": pl.UInt32,
    "place": pl.Int64,
    "clause": pl.String,
    "ends": pl.Boolean,
    "tokens": pl.Int64,
}


def split_clauses(texts: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """Split each text into clauses, by default as English.

    Returns row (index of the text), place (of the clause in its text, from 0), clause (as written, with trailing
    space), ends (the clause ends its sentence), tokens (`tokens.count_tokens`). Sorted by row and place; the clauses of
    a text, joined, are the text, and an empty text has none. Cost: about 30 s for a million short texts.
    """
    contents = texts.fill_null("")
    if are_few(contents):
        return _clauses_of_few(contents.to_list(), [None] * len(texts) if languages is None else languages.to_list())
    contains_mark = contents.str.contains(f"[{_SENTENCE_MARK}{_CLAUSE_MARK}]")
    split = split_sentences(contents.set(contains_mark, ""), languages)
    marked = split["sentence"]
    for pattern, replacement in _BOUNDARIES:
        marked = marked.str.replace_all(pattern, replacement)
    rows = pl.int_range(len(texts), dtype=pl.UInt32, eager=True)
    sentences = _explode_at(pl.DataFrame({"row": split["row"], "clause": marked}), _SENTENCE_MARK)
    indivisible = sentences["clause"].str.contains(_INDIVISIBLE)
    unsplit = sentences["clause"].str.replace_all(_CLAUSE_MARK, "", literal=True)
    candidates = sentences.with_columns(
        clause=unsplit.zip_with(indivisible, sentences["clause"]), sentence=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    unsplittable = pl.DataFrame({"row": rows, "clause": contents}).filter(contains_mark).with_columns(sentence=-1)
    pieces = pl.concat([_explode_at(candidates, _CLAUSE_MARK), unsplittable.cast({"sentence": pl.Int64})]).sort(
        "row", maintain_order=True
    )
    return pieces.select(
        "row",
        pl.int_range(pl.len()).over("row").alias("place"),
        "clause",
        ends=(pl.col("sentence") != pl.col("sentence").shift(-1)).fill_null(value=True),
        tokens=count_tokens(pieces["clause"]),
    )


def sentences(texts: pl.Series) -> pl.DataFrame:
    """Return the sentences of texts as clauses make them up, captions apart: row and sentence, in order."""
    pieces = split_clauses(texts).with_columns(part=pl.col("ends").shift(1, fill_value=True).cast(pl.Int64).cum_sum())
    whole = pieces.group_by("row", "part", maintain_order=True).agg(sentence=pl.col("clause").str.join(""))
    return whole.drop("part")


def _clauses_of_few(texts: list[str], languages: list[str | None]) -> pl.DataFrame:
    """Return the clauses of a few ASCII texts, which contain no mark."""
    rows, places, found, ends = list[int](), list[int](), list[str](), list[bool]()
    for row, (text, language) in enumerate(zip(texts, languages, strict=True)):
        marked = (_marked(sentence) for sentence in sentences_of(text, language or ENGLISH))
        pieces = [_pieces(part) for sentence in marked for part in sentence.split(_SENTENCE_MARK)]
        own = [piece for part in pieces for piece in part]
        rows += [row] * len(own)
        places += range(len(own))
        found += own
        ends += [place == len(part) - 1 for part in pieces for place in range(len(part))]
    columns = {"row": rows, "place": places, "clause": found, "ends": ends, "tokens": token_counts(found)}
    return pl.DataFrame(columns, _SCHEMA)


def _marked(sentence: str) -> str:
    """Return a sentence with a mark at each boundary."""
    for pattern, replacement in _BOUNDARIES:
        sentence = in_python(pattern).sub(re.sub(r"\$\{([0-9])\}", r"\\\1", replacement), sentence)
    return sentence


def _pieces(part: str) -> list[str]:
    """Return the clauses of a part of a sentence that has marks."""
    if in_python(_INDIVISIBLE).search(part):
        part = part.replace(_CLAUSE_MARK, "")
    return [piece for piece in part.split(_CLAUSE_MARK) if piece]


def _explode_at(texts: pl.DataFrame, mark: str) -> pl.DataFrame:
    """Split the column `clause` at a mark, one row per part."""
    return texts.with_columns(pl.col("clause").str.split(mark)).explode("clause").filter(pl.col("clause") != "")
