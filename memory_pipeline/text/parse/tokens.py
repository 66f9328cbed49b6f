"""Words: how a text is cut, stemmed and weighed.

Rarity is a static prior from word lists, in whole hundredths, so that sums of it are exact in any order. What is not
here: the lists themselves (`lexicon`), and numbers, dates and names (`facts`).
"""

import re
from typing import Final

import polars as pl
import polars.selectors as cs

from memory_pipeline.text.lang.en.lexicon import COMMON_WORDS, SMALL_TALK, STOP_WORDS

_UNSPACED: Final = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
"""Scripts written without spaces: every letter is a word, and neighbours make the phrase."""
_LETTERS: Final = rf"[[\p{{L}}\p{{M}}\p{{N}}]--[{_UNSPACED}]]+"
_WORD: Final = rf"\p{{N}}+(?:[.,]\p{{N}}+)+|[{_UNSPACED}]\p{{M}}*|{_LETTERS}(?:'{_LETTERS})*"
_WORD_OR_MARK: Final = r"[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]"
_NUMBER_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMERALS: Final = {word: str(value) for value, word in enumerate((*_NUMBER_WORDS, "eleven", "twelve"))}
_CLITICS: Final = ("'s", "'ll", "'re", "'ve", "'d", "'m", "'")
_ENDINGS: Final = ("ing", "edly", "ed", "ly")
_BEFORE_E: Final = ("ing", "edly", "ed")
_SHORT: Final = re.compile(r"[^aeiouy]+[aeiouy][^aeiouywx]")
"""Of one short syllable, as "car" and "hop": an e behind it makes another word (Porter 1980)."""
_LEAST: Final = 3
"""Shorter words have no ending, and no root is shorter."""
_LONGER: Final = re.compile(r"[aeiouy][^aeiouy]+[aeiouy]")
"""Of more than one syllable."""
_ALIKE: Final = {
    form: base
    for base, *forms in map(
        str.split,
        """
        bus buses; gas gases; quiz quizzes; go goes; agree agreed; free freed; guarantee guaranteed; ice iced
        die dies died dying; lie lies lied lying; tie ties tied tying; dye dyed dyeing; owe owes owed owing
        age ages aged aging ageing; use uses used using
        """.replace("\n", ";")
        .strip("; ")
        .split(";"),
    )
    for form in forms
}
"""Forms that the rules below would not lead back to their word."""
_WHOLE: Final = frozenset(
    """
    family reply apply supply imply comply multiply rely ally rally bully belly jelly gully jolly folly holly lolly lily
    butterfly dragonfly firefly assembly anomaly monopoly melancholy homily july italy early ugly holy silly curly daily
    only emily molly sally kelly billy polly carly beverly kimberly
    tired wicked naked sacred hundred earring evening news lens series species
    """.split()  # noqa: SIM905 - a list of so many words is read better so
)
"""Words that only look as if they had an ending."""
_VOWELS: Final = frozenset("aeiouy")

RARITY_NUMBER: Final = 70
RARITY_UNSPACED: Final = 50
RARITY_SMALL_TALK: Final = 20
RARITY_BANDS: Final = (40, 55, 65)
RARITY_UNLISTED: Final = 100
"""Hundredths: the logarithm of a word's frequency rank over that of a rare word, rounded to a few steps."""


def words(texts: pl.Series) -> pl.Series:
    """Content stems of each text, in order: lower-case, stop words removed; an empty list where there are none.

    Args:
        texts: strings; null counts as empty.

    Returns:
        A list of strings a text, in the order of `texts`.
    """
    telling = occurrences(fold(texts)).filter(~pl.col("stop"))
    lists = telling.group_by("row", maintain_order=True).agg(pl.col("stem").alias("words"))
    return by_row(lists, len(texts))["words"]


def fold(texts: pl.Series) -> pl.Series:
    """Texts in lower case, compatibility-normalised (NFKC), with straight apostrophes; null becomes empty."""
    low = pl.first().fill_null("").str.normalize("NFKC").str.to_lowercase()
    return texts.to_frame().select(low.str.replace_all("[\u2018\u2019\u02bc`]", "'")).to_series()


def split(texts: pl.Series) -> pl.Series:
    """Words of each text, lower-case and in order; letters of scripts without spaces stand alone."""
    return fold(texts).str.extract_all(_WORD)


def occurrences(low: pl.Series) -> pl.DataFrame:
    """Every word of every text (as `fold` leaves it), in order, with what is known of it.

    Returns:
        row (place of the text), word, and the columns of `vocabulary`. Texts without words have no row.
        Cost: about 4 s for a million short texts on one core.
    """
    found = (
        pl.DataFrame({"row": pl.int_range(len(low), dtype=pl.UInt32, eager=True), "word": low.str.extract_all(_WORD)})
        .explode("word")
        .drop_nulls("word")
    )
    return found.join(vocabulary(found["word"]), on="word", how="left", maintain_order="left")


def rarities(low: pl.Series) -> dict[str, int]:
    """Content stems of one text (as `fold` leaves it), in order, and their rarity (hundredths).

    As `occurrences` says for many texts. Cost: about 0.1 ms.
    """
    (found,) = low.str.extract_all(_WORD)
    known = ((stem(word), word) for word in found.to_list() if word not in STOP_WORDS)
    return {root: _rarity(word, root) for root, word in known}


def count_tokens(texts: pl.Series) -> pl.Series:
    """Length of each text in tokens: words and punctuation marks (Int64); 0 for null."""
    count = pl.first().fill_null("").str.count_matches(_WORD_OR_MARK).cast(pl.Int64)
    return texts.to_frame().select(count).to_series()


def vocabulary(found: pl.Series) -> pl.DataFrame:
    """What is known of each distinct word.

    Returns:
        word; stem; term (rank of the stem, from 0); form (the word without plural and possessive endings, fit to be
        read); rarity (hundredths, 0 for a stop word); stop; small_talk. Sorted by word.
    """
    distinct = found.unique().sort()
    known = distinct.to_list()
    stems = [stem(word) for word in known]
    return pl.DataFrame(
        {
            "word": distinct,
            "stem": pl.Series(stems, dtype=pl.String),
            "form": pl.Series([_form(word) for word in known], dtype=pl.String),
            "rarity": pl.Series([_rarity(*pair) for pair in zip(known, stems, strict=True)], dtype=pl.Int64),
            "stop": pl.Series([word in STOP_WORDS for word in known], dtype=pl.Boolean),
            "small_talk": pl.Series([word in SMALL_TALK for word in known], dtype=pl.Boolean),
        }
    ).with_columns(term=pl.col("stem").rank("dense") - 1)


def stem(word: str) -> str:
    """Cut a lower-case word to its stem.

    Clitics, plural, -ed, -ing, -ly and a last e go, unless what is left is another word (hop of hope); "don't" becomes
    "not" and "two" becomes "2". What holds a digit is a name or a number and stays as it is.
    """
    if word.endswith("n't"):
        return "not"
    word = _bare(word)
    if len(word) <= _LEAST or not word.isascii() or any(map(str.isdigit, word)):
        return _NUMERALS.get(word, word)
    if word in _NUMERALS:
        return _NUMERALS[word]
    word = _ALIKE.get(word, word)
    return _softened(*_cut(_singular(word)))


def _singular(word: str) -> str:
    """A word without its plural ending."""
    if word in _WHOLE:
        return word
    if word.endswith(("ies", "ied")) and len(word) > 4:  # noqa: PLR2004
        return word[:-3] + "y"
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "siu" else word


def _cut(word: str) -> tuple[str, bool]:
    """A word without its last ending, and whether an e may have stood behind what is left."""
    if word not in _WHOLE and not word.endswith("eed"):
        for ending in _ENDINGS:
            root = word.removesuffix(ending)
            if root != word and len(root) >= _LEAST and _VOWELS & set(root):
                return root, ending in _BEFORE_E or root[-1] == "e"
    return word, word[-1] == "e"


def _softened(root: str, mute: bool) -> str:
    """A root without its double letter and its e, unless it would be another word without it, and with i for y."""
    if len(root) > _LEAST:
        if root[-1] == root[-2] and (root[-1] not in "lsz" or (root[-1] == "l" and _LONGER.search(root))):
            root, mute = root[:-1], False
        if root[-1] == "y":
            return root[:-1] + "i"
    bare = root.removesuffix("e") if len(root) > _LEAST else root
    return bare + "e" if mute and _SHORT.fullmatch(bare) else bare


def by_row(lists: pl.DataFrame, height: int) -> pl.DataFrame:
    """Give every row from 0 to `height` its values; rows without any get zeros and empty lists."""
    rows = pl.DataFrame({"row": pl.int_range(height, dtype=pl.UInt32, eager=True)})
    filled = rows.join(lists, on="row", how="left", maintain_order="left")
    return filled.with_columns(cs.list().fill_null([]), cs.numeric().fill_null(0))


def is_common(word: str) -> bool:
    """Whether a word, in any case, is an ordinary one rather than a name."""
    low = word.lower().replace("\u2019", "'")
    return low in STOP_WORDS or low in SMALL_TALK or stem(low) in _BAND


def _bare(word: str) -> str:
    for clitic in _CLITICS:
        if word.endswith(clitic):
            return word.removesuffix(clitic)
    return word.replace(",", "") if word[:1].isdigit() else word


def _form(word: str) -> str:
    """Readable base form: without possessive and plural ending."""
    word = _bare(word)
    if len(word) <= 3 or not word.isascii():  # noqa: PLR2004
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word[-1] == "s" and word[-2] not in "siu" else word


_BAND: Final = {
    stem(word): rarity
    for band, rarity in reversed(list(zip(COMMON_WORDS, RARITY_BANDS, strict=True)))
    for word in sorted(band)
}


def _rarity(word: str, root: str) -> int:
    if word in STOP_WORDS:
        return 0
    if word in SMALL_TALK:
        return RARITY_SMALL_TALK
    if word[0].isdigit():
        return RARITY_NUMBER
    if len(word) == 1:
        return RARITY_UNSPACED
    return _BAND.get(root, RARITY_UNLISTED)
