"""Clauses: a text cut into pieces that can be left out one by one.

Nothing is lost: the clauses of a text, joined, are the text. A sentence that denies something or sets a condition is
one clause, so that leaving out a part of it can never turn round what the rest says. What is not here: what a clause is
worth (`keeping`), and the clauses that state something, rewritten to be compared (`statements`).
"""

from typing import Final

import polars as pl

from memory_pipeline.text.parse.tokens import count_tokens

_CUT: Final = "\ufdd0"
"""Marks the end of a sentence while a text is being cut: a character of no script. A text that has it stays whole."""
_HALF: Final = "\ufdd1"
"""Marks a cut within a sentence, likewise."""
_SUBJECT: Final = (
    r"(?:i|we|he|she|they|it|you|my|our|his|her|their|its|there|this|that|these|those|the|an?|it's|i'm|i've|i'd|i'll"
    r"|we're|we've|we'd|we'll|he's|he'd|she's|she'd|they're|they've|you're|you've|that's|there's|let's)"
)
_JOINING: Final = (
    r"(?:and|but|so|because|cause|cuz|since|while|whereas|although|though|plus|then|yet|which|where|who|when)"
)
_ADDING: Final = r"(?:and|but|so|cause|cuz|since|while)"
_EXPLAINING: Final = r"(?:even\s+)?(?:because|whereas|although|though)"
_ABBREVIATED: Final = r"(?:dr|mr|mrs|ms|prof|st|mt|vs|e\.g|i\.e|approx|jr|sr|\p{L})"
_CUTS: Final = (
    (r"([.!?\u2026]+[\"'\u2019\u201d)*_]*\s+)", f"${{1}}{_CUT}"),
    (rf"(?i)((?-u:\b){_ABBREVIATED}\.\s+){_CUT}", "${1}"),
    (r"([\u3002\uff01\uff1f]+\s*)", f"${{1}}{_CUT}"),
    (r"(\n\s*)", f"${{1}}{_CUT}"),
    (r"(\[[^\[\]\n]*\]\s*)", f"{_CUT}${{1}}{_CUT}"),  # a caption in brackets
    (r"([;\u2014]\s*|\s[\u2013-]{1,2}\s+)", f"${{1}}{_HALF}"),
    (rf"(?i)(,\s+)((?:{_JOINING}(?-u:\b)|{_SUBJECT}\s))", f"${{1}}{_HALF}${{2}}"),
    (rf"(?i)([^,\s]\s+)((?:{_ADDING}\s+{_SUBJECT}|{_EXPLAINING})\s)", f"${{1}}{_HALF}${{2}}"),
)
"""Rewritings that put a mark at every cut, or take one away that is none: the end of a sentence or line, brackets,
dashes, and commas or conjunctions with a clause behind them."""
_WHOLE: Final = (
    r"(?i)(?-u:\b)(?:not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly|barely|[a-z]+n['\u2019]t"
    r"|unable|fail(?:s|ed)?|if|unless|whether|would)"
    r"(?-u:\b)|^\["
)
"""A sentence with one of these stays whole: a denial, a condition, a caption."""


def clauses(texts: pl.Series) -> pl.DataFrame:
    """Cut each text into clauses.

    Args:
        texts: strings; null counts as empty.

    Returns:
        row (place of the text), place (of the clause in its text, from 0), clause (as written, with the space behind
        it), ends (its sentence ends with it), tokens (`tokens.count_tokens`). Sorted by row and place; the clauses of
        a text, joined, are the text, and an empty text has none. Cost: about 2 s for a million short texts.
    """
    given = texts.fill_null("")
    marked_already = given.str.contains(f"[{_CUT}{_HALF}]")
    marked = given.set(marked_already, "")
    for pattern, instead in _CUTS:
        marked = marked.str.replace_all(pattern, instead)
    rows = pl.int_range(len(texts), dtype=pl.UInt32, eager=True)
    sentences = _parted(pl.DataFrame({"row": rows, "clause": marked}), _CUT)
    whole = sentences["clause"].str.contains(_WHOLE)
    uncut = sentences["clause"].str.replace_all(_HALF, "", literal=True)
    halves = sentences.with_columns(
        clause=uncut.zip_with(whole, sentences["clause"]), sentence=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    odd = pl.DataFrame({"row": rows, "clause": given}).filter(marked_already).with_columns(sentence=-1)
    pieces = pl.concat([_parted(halves, _HALF), odd.cast({"sentence": pl.Int64})]).sort("row", maintain_order=True)
    return pieces.select(
        "row",
        pl.int_range(pl.len()).over("row").alias("place"),
        "clause",
        ends=(pl.col("sentence") != pl.col("sentence").shift(-1)).fill_null(value=True),
        tokens=count_tokens(pieces["clause"]),
    )


def _parted(texts: pl.DataFrame, mark: str) -> pl.DataFrame:
    """Part the column `clause` at a mark."""
    return texts.with_columns(pl.col("clause").str.split(mark)).explode("clause").filter(pl.col("clause") != "")
