"""Which language a text is in: by its script, else by its byte sequences.

Identification of each text depends on that text alone and may leave it open; what is open can be read in the language
of most texts of its profile. Not here: what is known of a language (`registry`).
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

import polars as pl
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from memory_pipeline.text.lang.registry import JUDGED

_SCRIPTS: Final[Mapping[str, str]] = {
    "ja": r"[\p{Hiragana}\p{Katakana}]",
    "ko": r"\p{Hangul}",
    "zh": r"\p{Han}",
    "th": r"\p{Thai}",
    "ar": r"\p{Arabic}",
    "he": r"\p{Hebrew}",
    "el": r"\p{Greek}",
    "hi": r"\p{Devanagari}",
    "ru": r"\p{Cyrillic}",
}
"""Languages told by their script, the most read language of each, in the order in which they count."""
_LATIN: Final = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no"),
    *("fi", "pl", "cs", "ro", "hu", "tr", "id", "vi", "hr", "ca"),
)
"""Languages in Latin script that are told apart."""
_SURE: Final = 0.5
"""Least probability of a language. Of 1,061 English notes and messages, most of them shorter than ten words, none was
taken for another language and 5 % stayed open; of 170 texts in ten other languages 1 was wrong and 8 stayed open."""
_SCRIPT_SHARE: Final = 0.2
"""Least share of the letters in a script: a name in another script does not change the language."""
_READ: Final = 240
"""Letters read of a text: more do not change the answer."""


def identify(texts: pl.Series) -> pl.Series:
    """Identify the language of each text, from that text alone.

    Returns:
        ISO 639-1 codes; null where a text is too short or too mixed to tell. Cost: about 15 µs a short text, 60 µs a
        long one, and 0.4 s for the model, once a process.
    """
    heads = texts.fill_null("").str.slice(0, _READ).alias("text").to_frame()
    letters = pl.col("text").str.count_matches(r"\p{L}")
    shares = {
        code: pl.col("text").str.count_matches(script) >= _SCRIPT_SHARE * letters for code, script in _SCRIPTS.items()
    }
    has_letters = letters > 0
    by_script = pl.coalesce(pl.when(has_letters & share).then(pl.lit(code)) for code, share in shares.items())
    open_ones = heads.select(code=by_script, text="text", readable=has_letters)
    latin = open_ones.select(pl.when(pl.col("code").is_null() & pl.col("readable")).then("text")).to_series()
    identified = latin.map_elements(_identify_latin, return_dtype=pl.String, skip_nulls=True)
    return open_ones.select(pl.coalesce("code", identified)).to_series().alias("language")


def of_profiles(languages: pl.DataFrame) -> pl.Series:
    """Fill open languages with the language of most texts of their profile.

    Args:
        languages: profile_id, language (null where open), one row a text.

    Returns:
        A code for each row; null in a profile where every text is open.
    """
    most = pl.col("language").drop_nulls().mode().sort().first().over("profile_id")
    return languages.select(pl.coalesce("language", most)).to_series()


def judged(languages: pl.DataFrame) -> pl.Series:
    """Tell which texts may be closed, merged (exact copies apart) and trimmed: those in a language with full rules.

    Args:
        languages: profile_id, language (null where open), one row a text.

    Returns:
        A Boolean for each row. An open text is judged by the language of most texts of its profile; a profile where
        every text is open is read as English, since texts without words of any language are figures and names.
    """
    return of_profiles(languages).fill_null(JUDGED[0]).is_in(JUDGED).alias("judged")


def _identify_latin(text: str) -> str | None:
    """Return the language of a text in Latin script; None where it is open."""
    code, confidence = _identifier().classify(text)
    return str(code) if confidence >= _SURE else None


@cache
def _identifier() -> LanguageIdentifier:
    """Return the identifier of `_LATIN` (langid, Lui and Baldwin 2012; model shipped with the library)."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_LATIN))
    return identifier
