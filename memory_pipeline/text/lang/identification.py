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
_READ: Final = 128
"""Letters read of a text: more do not change the answer."""


def identify(texts: pl.Series) -> pl.Series:
    """Identify the language of each text, from that text alone.

    Returns:
        ISO 639-1 codes; null where a text is too short or too mixed to tell. Cost: about 20 µs a short text, 50 µs a
        long one, and 0.4 s for the model, once a process.
    """
    heads = texts.fill_null("").str.slice(0, _READ)
    by_script = _by_script(heads)
    open_ones = heads.str.contains(r"\p{L}") & by_script.is_null()
    identified = [_identify_latin(text) for text in heads.filter(open_ones).to_list()]
    return by_script.scatter(open_ones.arg_true(), identified).alias("language") if identified else by_script


def _by_script(texts: pl.Series) -> pl.Series:
    """Return the languages that are told by their script; null for the others."""
    languages = pl.repeat(None, len(texts), dtype=pl.String, eager=True).alias("language")
    others = texts.str.contains(r"[^\p{Latin}\p{Common}\p{Inherited}]").arg_true()
    letters = pl.first().str.count_matches(r"\p{L}")
    told = (
        texts.gather(others)
        .to_frame()
        .select(
            pl.coalesce(
                pl.when((letters > 0) & (pl.first().str.count_matches(script) >= _SCRIPT_SHARE * letters)).then(
                    pl.lit(code)
                )
                for code, script in _SCRIPTS.items()
            )
        )
        .to_series()
    )
    return languages.scatter(others, told) if len(others) else languages


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
