"""Tokenization: words, content stems and token counts of a text.

A text is read with the pack of its language; without one, as English. Not here: stemming and rarity (`lang`), and
numbers, dates and names (`facts`).
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl
import polars.selectors as cs

from memory_pipeline.text import word_cache
from memory_pipeline.text.lang.ascii_patterns import FEW, in_python, is_ascii, suited
from memory_pipeline.text.lang.en.lexicon import SMALL_TALK
from memory_pipeline.text.lang.folding import fold_text, folded
from memory_pipeline.text.lang.registry import UNSPACED, pack

_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts written without spaces: each character is a token of its own."""

_SPACED_LETTERS: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"

_WORD: Final = rf"\p{{N}}+(?:[.,]\p{{N}}+)+|[{_UNSPACED}]\p{{M}}*|{_SPACED_LETTERS}(?:'{_SPACED_LETTERS})*"

_ASCII_WORD: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)+|[0-9A-Za-z]+(?:'[0-9A-Za-z]+)*")
"""The same in ASCII texts."""

_PICTURE: Final = r"\p{Regional_Indicator}{2}|\p{Extended_Pictographic}"
"""An emoji; of those joined to one each is a word, without its skin tone."""
_PICTURE_RARITY: Final = 100
"""Rarity of an emoji, in hundredths."""

_CACHED_WORDS: Final = 50_000

_WORD_OR_MARK: Final = r"[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"


def content_stems(texts: pl.Series, languages: pl.Series | None = None) -> pl.Series:
    """Extract the content stems of each text, by default as English: lower-case, in order, without stop words."""
    low = fold(texts)
    if (read := few_words(low, languages)) is not None:
        stems = [[word.stem for word in words if word.rarity] for words in read]
        return pl.Series("words", stems, dtype=pl.List(pl.String))
    content_words = occurrences(low, languages).filter(~pl.col("stop"))
    lists = content_words.group_by("row", maintain_order=True).agg(pl.col("stem").alias("words"))
    return align_rows(lists, len(texts))["words"]


def fold(texts: pl.Series) -> pl.Series:
    """Normalise texts: lower case, NFKC, straight apostrophes; null becomes empty."""
    if len(texts) <= FEW:
        return pl.Series(texts.name, [fold_text(text or "") for text in texts], dtype=pl.String)
    return texts.to_frame().select(folded(pl.first())).to_series()


def tokenize(texts: pl.Series) -> pl.Series:
    """Split each text into lower-case words, in order; characters of scripts without spaces are words of their own."""
    low = fold(texts)
    return low.str.extract_all(suited(_WORD, low))


def occurrences(low: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """List every word of every text normalised by `fold`, in order, with its vocabulary entry.

    In a language written without spaces, pairs of adjacent characters are words too; by default texts are English.
    Returns row (index of the text), word, and the columns of `vocabulary`. Texts without words have no row. Cost: about
    4 s for a million short texts on one core.
    """
    if (read := few_words(low, languages)) is not None:
        return _listed(read)
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


class Word(NamedTuple):
    """A word with its vocabulary entry (see `vocabulary`); a stop word has rarity 0."""

    word: str
    stem: str
    form: str
    rarity: int
    small_talk: bool


@word_cache.kept(_CACHED_WORDS)
def _described(word: str, code: str | None) -> Word:
    known = pack(code)
    stem = known.stem(word)
    return Word(word, stem, known.written(word), known.rarity(word, stem), word in SMALL_TALK)


def few_words(low: pl.Series, languages: pl.Series | None = None) -> list[list[Word]] | None:
    """Return the words of each of a few texts; None for many texts, and for languages written without spaces."""
    if len(low) > FEW:
        return None
    codes: Sequence[str | None] = [None] * len(low) if languages is None else languages.to_list()
    if not set(codes).isdisjoint(UNSPACED):
        return None
    texts = map(_words, low.to_list())
    return [[_described(word, code) for word in words] for words, code in zip(texts, codes, strict=True)]


def _words(low: str | None) -> list[str]:
    """Return the words of one text normalised by `fold`."""
    if low is None or low.isascii():
        return _ASCII_WORD.findall(low or "")
    words: list[str] = pl.Series([low]).str.extract_all(_WORD)[0].to_list()
    return words


def _listed(read: Sequence[Sequence[Word]]) -> pl.DataFrame:
    """Return the words of texts as `occurrences` does."""
    words = [word for words in read for word in words]
    terms = {stem: term for term, stem in enumerate(sorted({word.stem for word in words}))}
    return pl.DataFrame(
        {
            "row": [row for row, words in enumerate(read) for _ in words],
            "word": [word.word for word in words],
            "stem": [word.stem for word in words],
            "form": [word.form for word in words],
            "rarity": [word.rarity for word in words],
            "stop": [word.rarity == 0 for word in words],
            "small_talk": [word.small_talk for word in words],
            "term": [terms[word.stem] for word in words],
        },
        schema=_OCCURRENCES,
    )


_OCCURRENCES: Final[dict[str, type[pl.DataType]]] = {
    "row": pl.UInt32,
    "word": pl.String,
    "stem": pl.String,
    "form": pl.String,
    "rarity": pl.Int64,
    "stop": pl.Boolean,
    "small_talk": pl.Boolean,
    "term": pl.UInt32,
}
"""Columns of `occurrences`."""


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


def rarities(low: str, language: str | None = None) -> dict[str, int]:
    """Return the content stems and emoji of one text normalised by `fold`, with their rarity in hundredths.

    The single-text form of `occurrences` and `pictures`. Cost: about 0.05 ms.
    """
    language_pack = pack(language)
    words = _words(low)
    if low.isascii():
        emoji = list[str]()
    else:
        series = pl.Series([low])
        emoji = pictures(series)[0].to_list()
        if language_pack.unspaced:
            words += _letter_pairs(series, pl.Series([0], dtype=pl.UInt32))["word"].to_list()
    stemmed = ((language_pack.stem(word), word) for word in words)
    rarity = {root: rarity for root, word in stemmed if (rarity := language_pack.rarity(word, root))}
    return rarity | dict.fromkeys(emoji, _PICTURE_RARITY)


def one_line(text: pl.Expr) -> pl.Expr:
    """Return a text on one line, without white space around it."""
    return text.str.replace_all(r"\s+", " ").str.strip_chars()


def count_tokens(texts: pl.Series) -> pl.Series:
    """Count the tokens of each text, words and punctuation marks (Int64); 0 for null."""
    if len(texts) <= FEW and is_ascii(texts):
        return pl.Series(texts.name, token_counts([text or "" for text in texts.to_list()]), dtype=pl.Int64)
    count = pl.first().fill_null("").str.count_matches(suited(_WORD_OR_MARK, texts)).cast(pl.Int64)
    return texts.to_frame().select(count).to_series()


def token_counts(texts: Sequence[str]) -> list[int]:
    """Count the tokens of each of a few texts (see `count_tokens`)."""
    if not all(text.isascii() for text in texts):
        return count_tokens(pl.Series(texts, dtype=pl.String)).to_list()
    find = in_python(_WORD_OR_MARK).findall
    return [len(find(text)) for text in texts]


def vocabulary(tokens: pl.Series, languages: pl.Series | None = None) -> pl.DataFrame:
    """Describe each distinct lower-case word of each language; by default English.

    Returns word; language, if given; stem; term (rank of the stem, from 0); form (the word as a reader would list it);
    rarity (hundredths, 0 for a stop word); stop; small_talk. Sorted by word.
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
