"""Identifies the language of a text: by its script, else by its byte sequences.

The result depends on that text alone and may be open; an open text can be read in the language of most texts of its
profile. Not here: the language packs (`registry`).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final
from unicodedata import normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from memory_pipeline.text.lang.ascii_patterns import FEW, is_ascii, suited
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
"""Languages identified by script: the most read language of each, in order of precedence."""
_LATIN: Final = (
    *("en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no"),
    *("fi", "pl", "cs", "ro", "hu", "tr", "id", "vi", "hr", "ca"),
)
"""Languages in Latin script that are distinguished."""
SURE: Final = 0.7
"""Minimum probability of a language. Of 21,134 English notes and messages of the research corpus 17 are taken for
another language (46 from .5 on) and 8 % stay open, which then count as their profile's language; of 154 in four other
languages none is taken for a wrong one and 4 stay open."""
_SCRIPT_SHARE: Final = 0.2
"""Minimum share of the letters in a script: a name in another script does not change the language."""
_ROUNDING: Final = 1e-3
"""Largest difference of probabilities that can come from the order of summation; those of the library have 32 bits."""
_SIDE_BY_SIDE: Final = 2_000
"""Texts scored at once: more take more memory, about 50 KB per text, and no less time."""
_READ: Final = 128
"""Maximum number of letters read of a text: more do not change the answer."""


def identify(texts: pl.Series) -> pl.Series:
    """Identify the language of each text, from that text alone: its ISO 639-1 code.

    Null where a text is too short or too mixed to tell. Cost: about 10 µs per text, and 0.4 s for the model, once per
    process.
    """
    if len(texts) <= FEW and is_ascii(texts):
        return pl.Series("language", [identify_one(text or "") for text in texts.to_list()], dtype=pl.String)
    heads = texts.fill_null("").str.slice(0, _READ)
    by_script = _by_script(heads)
    open_ones = heads.str.contains(suited(r"\p{L}", heads)) & by_script.is_null()
    if not open_ones.any():
        return by_script
    return by_script.scatter(open_ones.arg_true(), _identify_latin(heads.filter(open_ones))).alias("language")


def identify_one(text: str) -> str | None:
    """Identify the language of one text as `identify` does. Cost: a ninth of that."""
    head = text[:_READ]
    if not head.isascii():
        code: str | None = identify(pl.Series([text], dtype=pl.String))[0]
        return code
    return _sure([head])[0] if any(map(str.isalpha, head)) else None


def _by_script(texts: pl.Series) -> pl.Series:
    """Return the languages identified by script; null for the others."""
    languages = pl.repeat(None, len(texts), dtype=pl.String, eager=True).alias("language")
    if is_ascii(texts):
        return languages
    others = texts.str.contains(r"[^\p{Latin}\p{Common}\p{Inherited}]").arg_true()
    if others.is_empty():
        return languages
    letters = pl.first().str.count_matches(r"\p{L}")
    identified = (
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
    return languages.scatter(others, identified)


def of_profiles(languages: pl.DataFrame) -> pl.Series:
    """Fill open languages (profile_id, language: null where open) with that of most texts of their profile.

    Returns a code for each row; null in a profile where every text is open.
    """
    most = pl.col("language").drop_nulls().mode().sort().first().over("profile_id")
    return languages.select(pl.coalesce("language", most)).to_series()


def judged(languages: pl.DataFrame) -> pl.Series:
    """Return which texts may be closed, merged (beyond exact copies) and trimmed: those in a language with full rules.

    Of texts with profile_id and language (null where open). An open text is judged by the language of most texts of its
    profile; a profile where every text is open is read as English, since texts without words of any language are
    figures and names.
    """
    return of_profiles(languages).fill_null(JUDGED[0]).is_in(JUDGED).alias("judged")


def _identify_latin(texts: pl.Series) -> pl.Series:
    """Return the language of each text in Latin script; null where it is open.

    All texts pass through the identifier's automaton side by side. Where rounding might decide, the identifier is
    called.
    """
    different = texts.unique(maintain_order=True)
    pieces = (different.slice(start, _SIDE_BY_SIDE).to_list() for start in range(0, len(different), _SIDE_BY_SIDE))
    known = {"text": different, "language": [code for piece in pieces for code in _sure(piece)]}
    return texts.to_frame("text").join(
        pl.DataFrame(known, schema_overrides={"language": pl.String}), on="text", how="left", maintain_order="left"
    )["language"]


def _sure(texts: Sequence[str]) -> list[str | None]:
    """Return the likeliest language of each text; None where it is not sure."""
    codes, confidence, lead = _scored(texts)
    sure = [code if most >= SURE else None for code, most in zip(codes.tolist(), confidence.tolist(), strict=True)]
    for place in np.flatnonzero((np.abs(confidence - SURE) < _ROUNDING) | (lead < _ROUNDING)).tolist():
        code, most = identifier().classify(texts[place])
        sure[place] = code if most >= SURE else None
    return sure


def _scored(texts: Sequence[str]) -> tuple[NDArray[np.str_], NDArray[np.float64], NDArray[np.float64]]:
    """Return the likeliest language of each text, its probability, and by how much that exceeds the next one's."""
    model, (nexts, starts, output) = identifier(), _automaton()
    lowered = (text.lower() if text.isupper() else text for text in texts)
    encoded = [normalize("NFC", text).encode("utf8", errors="surrogatepass") for text in lowered]
    sizes = np.array([len(text) for text in encoded])
    longest = int(sizes.max())
    letters = np.frombuffer(b"".join(text.ljust(longest, b"\0") for text in encoded), dtype=np.uint8)
    letters = letters.reshape(len(texts), longest)
    state = np.zeros(len(texts), dtype=np.int64)
    found = np.full(letters.shape, -1, dtype=np.int64)
    for at in range(longest):
        state = nexts[(starts[state].astype(np.int64) << 8) + letters[:, at]].astype(np.int64)
        found[:, at] = output[state]
    row, place = np.nonzero((found >= 0) & (np.arange(longest) < sizes[:, np.newaxis]))
    pairs, times = np.unique(row * len(model.nb_ptc) + found[row, place], return_counts=True)
    row, feature = np.divmod(pairs, len(model.nb_ptc))
    first = np.flatnonzero(np.diff(row, prepend=-1))
    scores = np.zeros((len(texts), len(model.nb_classes)))
    if len(first):
        weighted = np.log1p(times)[:, np.newaxis] * model.nb_ptc[feature].astype(np.float64)
        scores[row[first]] = np.add.reduceat(weighted, first) + model.nb_pc
    scores /= np.sqrt(np.maximum(sizes, 1))[:, np.newaxis]
    chances = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    ordered = np.sort(chances, axis=1)
    return np.array(model.nb_classes)[chances.argmax(axis=1)], ordered[:, -1], ordered[:, -1] - ordered[:, -2]


@cache
def _automaton() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the identifier's automaton: next states by state and byte, their rows, and the features found."""
    model = identifier()
    nexts, starts, output = (np.asarray(part) for part in (model.tk_nextmove, model.tk_row, model.tk_output))
    return nexts, starts, output


@cache
def identifier() -> LanguageIdentifier:
    """Return the identifier of `_LATIN` (langid, Lui and Baldwin 2012; model shipped with the library)."""
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(_LATIN))
    return identifier
