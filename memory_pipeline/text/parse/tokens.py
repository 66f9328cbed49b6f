"""Tokenization: words, content stems and token counts of a text.

Not here: stemming rules and rarity (`lang/en`), and numbers, dates and names (`facts`).
"""

from typing import Final

import polars as pl
import polars.selectors as cs

from memory_pipeline.text.lang.en.lexicon import SMALL_TALK, STOP_WORDS
from memory_pipeline.text.lang.en.rarity import rarity
from memory_pipeline.text.lang.en.stemming import base_form, stem

_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts written without spaces: each letter is a token of its own."""

_SPACED_LETTERS: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"

_WORD: Final = rf"\p{{N}}+(?:[.,]\p{{N}}+)+|[{_UNSPACED}]\p{{M}}*|{_SPACED_LETTERS}(?:'{_SPACED_LETTERS})*"

_WORD_OR_MARK: Final = r"[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"


def content_stems(texts: pl.Series) -> pl.Series:
    """Extract the content stems of each text, in order.

    Args:
        texts: strings; null counts as empty.

    Returns:
        A list of strings per text, in the order of `texts`: lower-case stems without stop words.
    """
    content_words = occurrences(fold(texts)).filter(~pl.col("stop"))
    lists = content_words.group_by("row", maintain_order=True).agg(pl.col("stem").alias("words"))
    return align_rows(lists, len(texts))["words"]


def fold(texts: pl.Series) -> pl.Series:
    """Normalise texts: lower case, NFKC, straight apostrophes; null becomes empty."""
    low = pl.first().fill_null("").str.normalize("NFKC").str.to_lowercase()
    return texts.to_frame().select(low.str.replace_all("[\u2018\u2019\u02bc`]", "'")).to_series()


def tokenize(texts: pl.Series) -> pl.Series:
    """Split each text into lower-case words, in order; letters of scripts without spaces stand alone."""
    return fold(texts).str.extract_all(_WORD)


def occurrences(low: pl.Series) -> pl.DataFrame:
    """List every word of every text, in order, with its vocabulary entry.

    Args:
        low: texts normalised by `fold`.

    Returns:
        row (index of the text), word, and the columns of `vocabulary`. Texts without words have no row. Cost: about 4 s
        for a million short texts on one core.
    """
    listed = (
        pl.DataFrame({"row": pl.int_range(len(low), dtype=pl.UInt32, eager=True), "word": low.str.extract_all(_WORD)})
        .explode("word")
        .drop_nulls("word")
    )
    return listed.join(vocabulary(listed["word"]), on="word", how="left", maintain_order="left")


def rarities(low: pl.Series) -> dict[str, int]:
    """Return the content stems of one text normalised by `fold`, in order, with their rarity in hundredths.

    The single-text form of `occurrences`. Cost: about 0.1 ms.
    """
    (tokens,) = low.str.extract_all(_WORD)
    stemmed = ((stem(word), word) for word in tokens.to_list() if word not in STOP_WORDS)
    return {root: rarity(word, root) for root, word in stemmed}


def count_tokens(texts: pl.Series) -> pl.Series:
    """Count the tokens of each text, word and punctuation marks (Int64); 0 for null."""
    count = pl.first().fill_null("").str.count_matches(_WORD_OR_MARK).cast(pl.Int64)
    return texts.to_frame().select(count).to_series()


def vocabulary(tokens: pl.Series) -> pl.DataFrame:
    """Describe each distinct word.

    Returns:
        word; stem; term (rank of the stem, from 0); form (readable base form without plural and possessive endings);
        rarity (hundredths, 0 for a stop word); stop; small_talk. Sorted by word.
    """
    distinct = tokens.unique().sort()
    listed = distinct.to_list()
    stems = [stem(word) for word in listed]
    return pl.DataFrame(
        {
            "word": distinct,
            "stem": pl.Series(stems, dtype=pl.String),
            "form": pl.Series([base_form(word) for word in listed], dtype=pl.String),
            "rarity": pl.Series([rarity(*pair) for pair in zip(listed, stems, strict=True)], dtype=pl.Int64),
            "stop": pl.Series([word in STOP_WORDS for word in listed], dtype=pl.Boolean),
            "small_talk": pl.Series([word in SMALL_TALK for word in listed], dtype=pl.Boolean),
        }
    ).with_columns(term=pl.col("stem").rank("dense") - 1)


def align_rows(lists: pl.DataFrame, height: int) -> pl.DataFrame:
    """Align a frame with rows 0 to `height`; rows without values get zeros and empty lists."""
    rows = pl.DataFrame({"row": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    filled = rows.join(lists, on="row", how="left", maintain_order="left")
    return filled.with_columns(cs.list().fill_null([]), cs.numeric().fill_null(0))
