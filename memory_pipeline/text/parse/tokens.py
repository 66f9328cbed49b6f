"""Tokenization: words, content stems and token counts of a text.

A text is read with the pack of its language; without one, as English. Not here: stemming and rarity (`lang`), and
numbers, dates and names (`facts`).
"""

from typing import Final

import polars as pl
import polars.selectors as cs

from memory_pipeline.text.lang.ascii_patterns import suited
from memory_pipeline.text.lang.en.lexicon import SMALL_TALK
from memory_pipeline.text.lang.folding import folded
from memory_pipeline.text.lang.registry import UNSPACED, pack

_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts written without spaces: each character is a token of its own."""

_SPACED_LETTERS: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"

_WORD: Final = rf"\p{{N}}+(?:[.,]\p{{N}}+)+|[{_UNSPACED}]\p{{M}}*|{_SPACED_LETTERS}(?:'{_SPACED_LETTERS})*"

_PICTURE: Final = r"\p{Regional_Indicator}{2}|\p{Extended_Pictographic}"
"""An emoji; of those joined to one each is a word, without its skin tone."""
PICTURE_RARITY: Final = 100
"""Rarity of an emoji, in hundredths."""

_WORD_OR_MARK: Final = r"[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"


def content_stems(texts: pl.Series, languages: pl.Series | None = None) -> pl.Series:
    """Extract the content stems of each text, in order.

    Args:
        texts: strings; null counts as empty.
        languages: code of each text's language; default: English.

    Returns:
        A list of strings per text, in the order of `texts`: lower-case stems without stop words.
    """
    content_words = occurrences(fold(texts), languages).filter(~pl.col("stop"))
    lists = content_words.group_by("row", maintain_order=True).agg(pl.col("stem").alias("words"))
    return align_rows(lists, len(texts))["words"]


def fold(texts: pl.Series) -> pl.Series:
    """Normalise texts: lower case, NFKC, straight apostrophes; null becomes empty."""
    return texts.to_frame().select(folded(pl.first())).to_series()


def tokenize(texts: pl.Series) -> pl.Series:
    """Split each text into lower-case words, in order; characters of scripts without spaces are words of their own."""
    low = fold(texts)
    return low.str.extract_all(suited(_WORD, low))


def occurrences(low: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """List every word of every text, in order, with its vocabulary entry.

    Args:
        low: texts normalised by `fold`.
        languages: code of each text's language, null where unknown; default: English. In a language written without
            spaces, pairs of adjacent characters are words too.

    Returns:
        row (index of the text), word, and the columns of `vocabulary`. Texts without words have no row. Cost: about 4 s
        for a million short texts on one core.
    """
    rows = pl.int_range(len(low), dtype=pl.UInt32, eager=True)
    listed = (
        pl.DataFrame({"row": rows, "word": low.str.extract_all(suited(_WORD, low))}).explode("word").drop_nulls("word")
    )
    if languages is None:
        return listed.join(vocabulary(listed["word"]), on="word", how="left", maintain_order="left")
    by_row = pl.DataFrame({"row": rows, "language": languages})
    unspaced = by_row.filter(pl.col("language").is_in(UNSPACED))["row"]
    if len(unspaced):
        listed = pl.concat([listed, _letter_pairs(low, unspaced)]).sort("row", maintain_order=True)
    identified = listed.join(by_row, on="row", how="left", maintain_order="left")
    return identified.join(
        vocabulary(identified["word"], identified["language"]),
        on=["word", "language"],
        how="left",
        maintain_order="left",
        nulls_equal=True,
    ).drop("language")


def _letter_pairs(low: pl.Series, rows: pl.Series) -> pl.DataFrame:
    """Return the pairs of adjacent characters of some texts in scripts without spaces: row, word."""
    runs = (
        pl.DataFrame({"row": rows, "run": low.gather(rows).str.extract_all(rf"[{_UNSPACED}]{{2,}}")})
        .explode("run")
        .drop_nulls("run")
        .with_row_index("number")
    )
    letters = runs.select("row", "number", letter=pl.col("run").str.extract_all(".")).explode("letter")
    pairs = letters.select("row", word=pl.col("letter") + pl.col("letter").shift(-1).over("number"))
    return pairs.drop_nulls("word")


def pictures(low: pl.Series) -> pl.Series:
    """Return the emoji of each text, in order."""
    return low.str.extract_all(_PICTURE)


def rarities(low: pl.Series, language: str | None = None) -> dict[str, int]:
    """Return the content stems of one text normalised by `fold`, in order, with their rarity in hundredths.

    The single-text form of `occurrences`. Cost: about 0.1 ms.
    """
    language_pack = pack(language)
    tokens = low.str.extract_all(suited(_WORD, low))[0].to_list()
    if language_pack.unspaced:
        tokens += _letter_pairs(low, pl.Series([0], dtype=pl.UInt32))["word"].to_list()
    stemmed = ((language_pack.stem(word), word) for word in tokens)
    return {root: rarity for root, word in stemmed if (rarity := language_pack.rarity(word, root))}


def count_tokens(texts: pl.Series) -> pl.Series:
    """Count the tokens of each text, words and punctuation marks (Int64); 0 for null."""
    count = pl.first().fill_null("").str.count_matches(suited(_WORD_OR_MARK, texts)).cast(pl.Int64)
    return texts.to_frame().select(count).to_series()


def vocabulary(tokens: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """Describe each distinct word of each language.

    Args:
        tokens: lower-case words.
        languages: code of the language of each; default: English.

    Returns:
        word; language, if given; stem; term (rank of the stem, from 0); form (the word as
        a reader would list it); rarity (hundredths, 0 for a stop word); stop; small_talk. Sorted by word.
    """
    spoken = {"language": languages} if languages is not None else {}
    distinct = pl.DataFrame({"word": tokens, **spoken}).unique().sort(pl.all())
    listed = distinct["word"].to_list()
    codes = distinct["language"].to_list() if languages is not None else [None] * len(listed)
    packs = [pack(code) for code in codes]
    stems = [known.stem(word) for word, known in zip(listed, packs, strict=True)]
    rarities = [known.rarity(word, stem) for word, stem, known in zip(listed, stems, packs, strict=True)]
    return distinct.with_columns(
        stem=pl.Series(stems, dtype=pl.String),
        form=pl.Series([known.written(word) for word, known in zip(listed, packs, strict=True)], dtype=pl.String),
        rarity=pl.Series(rarities, dtype=pl.Int64),
        stop=pl.Series(rarities, dtype=pl.Int64) == 0,
        small_talk=pl.Series([word in SMALL_TALK for word in listed], dtype=pl.Boolean),
    ).with_columns(term=pl.col("stem").rank("dense") - 1)


def align_rows(lists: pl.DataFrame, height: int) -> pl.DataFrame:
    """Align a frame with rows 0 to `height`; rows without values get zeros and empty lists."""
    rows = pl.DataFrame({"row": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    filled = rows.join(lists, on="row", how="left", maintain_order="left")
    return filled.with_columns(cs.list().fill_null([]), cs.numeric().fill_null(0))
