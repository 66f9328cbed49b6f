"""Spelling: finds words, numbers and symbols that two texts write differently although they would normalise alike.

Lemmatization drops punctuation, case and trailing zeros: C, C++ and C# become one letter, 2.1 and 2.10 one number. Here
they count as different, unless a convention explains it: the start of a sentence, a text all in one case, a sum of
money. Not here: lemmas (`lang/en/lemmas`), and numbers, dates and names as facts (`parse/facts`).
"""

import re
import unicodedata
from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl

from memory_pipeline.text import word_cache
from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, LISTS, SMALL_TALK, STOP_WORDS
from memory_pipeline.text.lang.en.rarity import is_common

Words = Sequence[str]

_SIDES: Final = ("left", "right")
_WORDS: Final = LISTS.section("spelling")
_UNITS: Final = _WORDS.words("units")
_CHUNK: Final = re.compile(r"\S+|\n")
_SENTENCE_END: Final = re.compile("[.!?:;\u2026]['\"\u201d\u2019)\\]*]*$")
_OPENING_MARKS: Final = re.compile("[\"'\u201c\u2018\u201e\u00ab(\\[*]")
_MONEY: Final = re.compile(r"(?:dollars?|euros?|pounds?|bucks?|quid|cents?|usd|eur|gbp|chf)\b", re.IGNORECASE)
_LITERAL: Final = re.compile(
    r"\b(?:pass(?:words?|phrase|code|wor[dt])|tokens?|secrets?|credentials?|username|login|ssid|pin)\b", re.IGNORECASE
)
"""Topics for which the exact spelling of a word matters."""
_LOWER_START: Final = re.compile("[\\W\\d_]*[a-z\u00df-\u00f6\u00f8-\u00ff]")
_DASHES: Final = re.compile("[\u2010-\u2015]")
_QUOTES: Final = re.compile("[\u2018\u2019\u02bc`]")
_LEADING: Final = re.compile(
    r"^(?:[\"'\u201c\u201d\u201e\u00ab\u00bb(\[{,;:!?\u00a1\u00bf\u2026\u3001\u3002\u300c\u300d]|\.(?!\w))+"
)
_TRAILING: Final = re.compile(r"[\"'\u201c\u201d\u00bb)\]},;:!?.\u2026\u3001\u3002\u300c\u300d]+$")
_INCHES: Final = re.compile(r"^[0-9.'-]*[0-9](?:'|\")")
_STARRED: Final = re.compile(r"^(\*+)(.*)\1$")
_ABBREVIATED: Final = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]?")
_JOINED: Final = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])|(?<=[^\W\d_])-(?=[^\W_])|(?<=[^\W_])-(?=[^\W\d_])")
_THOUSANDS: Final = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
_CURRENCY_SIGN: Final = re.compile(r"^[$€£¥₹](?=[0-9])")
_PERCENT: Final = re.compile(r"(?<=[0-9])%$")
_CENTS: Final = re.compile(r"(?P<whole>[0-9]+)\.(?P<rest>[0-9]{1,2})")
_DECIMAL: Final = re.compile(r"[0-9]+\.[0-9]+")
_LEADING_ZEROS: Final = re.compile(r"0+(?=[0-9]+[:/])")
_MEASURED: Final = re.compile(r"(?P<figures>[0-9][0-9.,:/-]*)(?P<unit>[^\W\d_]+)")
_MIXED_CASE: Final = re.compile(r"^[a-z]+[A-Z]|[A-Z]{2}[a-z]|[a-z][A-Z]{2}")
"""Capitals that neither the start of a sentence nor a name explains."""
_PLAIN_SLASHED: Final = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)*/?")
_FLAG: Final = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_MODIFIERS: Final = re.compile("[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f\u200d\u20e3©®™]")
_ONLY_MARKS: Final = re.compile(r"[-.,;:!?'\"()\[\]{}*•·&/_\\\u2026«»\u201c\u201d]*")
_CASELESS: Final = _WORDS.words("caseless")
_MEASURES: Final = _UNITS | _CASELESS | _WORDS.words("short_units")
_NAMESAKES: Final = _WORDS.words("namesakes")
"""Short words that mean something else in capitals."""
_MIN_SHOUTED_LETTERS: Final = 5
"""Minimum number of letters of a common word that capitals only emphasise."""
_MAX_OPENING_WORDS: Final = 5
"""Maximum number of words of an opening phrase that a comma ends ("Just so you know, ..."), before the sentence
begins."""
_MEANINGFUL_SIGNS: Final = frozenset("🚫❌✗✘✖⛔👎🙅≠¬✅✔☑👍⚠")
"""Symbols that assert or deny wherever they occur; others at the end of a sentence are decoration."""
_CACHED_CHUNKS: Final = 1 << 16


class _Forms(NamedTuple):
    """Spellings in one chunk between spaces, or in a whole text."""

    cased: frozenset[str]
    """Forms of its words."""
    folded: frozenset[str]
    """The same in lower case."""
    codes: frozenset[str]
    signs: frozenset[str]
    assertive: frozenset[str]
    """The symbols that assert something."""


_NO_FORMS: Final = _Forms(*[frozenset[str]()] * 5)


def differences(pairs: pl.DataFrame) -> pl.Series:
    """Find what two texts of each pair spell differently, as "[a] / [b]"; null where nothing does.

    A word, a number or a code counts if each text writes it in a way the other does not; a symbol counts if it replaces
    another or is not mere decoration. Cost: about 5 µs per pair, 50 µs where words differ only in their spelling.
    """
    rows = pairs.select(pl.col(f"{side}_content").fill_null("") for side in _SIDES).iter_rows()
    return pl.Series("found", [_difference(*row) for row in rows], dtype=pl.String)


def _difference(left: str, right: str) -> str | None:
    """Return the spelling difference of one pair, among chunks that only one text has."""
    words = {*left.split()}, {*right.split()}
    unshared = words[0] - words[1], words[1] - words[0]
    if not all(unshared) and not any(_chunk_forms(chunk).signs for side in unshared for chunk in side):
        return None
    texts = left, right
    literal = any(_LITERAL.search(text) for text in texts)
    if not _may_differ(*([_chunk_forms(chunk, literal=literal) for chunk in side] for side in unshared)):
        return None
    one, other = (_text_forms(text, side, literal=literal) for text, side in zip(texts, unshared, strict=True))
    forms = (one.folded, other.folded) if not literal and _case_is_uninformative(*texts) else (one.cased, other.cased)
    unmatched = sorted(forms[0] - forms[1]), sorted(forms[1] - forms[0])
    same_keys = {_spelling_key(form) for form in unmatched[0]} & {_spelling_key(form) for form in unmatched[1]}
    if same_keys:
        return _bracketed(*([form for form in side if _spelling_key(form) in same_keys] for side in unmatched))
    for ours, theirs in ((one.codes, other.codes), (one.signs, other.signs)):
        if ours - theirs and theirs - ours:
            return _bracketed(sorted(ours - theirs), sorted(theirs - ours))
    assertive = sorted(one.assertive - other.signs), sorted(other.assertive - one.signs)
    return _bracketed(*assertive) if any(assertive) else None


def _may_differ(one: Sequence[_Forms], other: Sequence[_Forms]) -> bool:
    """Return whether these chunks may be one word in two spellings, wherever they occur."""
    if any(forms.signs for side in (one, other) for forms in side):
        return True
    if all(any(forms.codes for forms in side) for side in (one, other)):
        return True
    left, right = (set[str]().union(*(forms.cased for forms in side)) for side in (one, other))
    return not {_spelling_key(form) for form in left - right}.isdisjoint({_spelling_key(form) for form in right - left})


def _case_is_uninformative(left: str, right: str) -> bool:
    """Return whether a text is all in one case and the other starts with a capital as usual."""
    single_case = [text in (text.lower(), text.upper()) for text in (left, right)]
    capitalised = [
        uniform or not _LOWER_START.match(text) for uniform, text in zip(single_case, (left, right), strict=True)
    ]
    return (single_case[0] and capitalised[1]) or (single_case[1] and capitalised[0])


def _bracketed(left: Words, right: Words) -> str:
    """Return two lists as "[a] / [b]"; an empty one as "nothing"."""
    return "[{}] / [{}]".format(*(", ".join(side) or "nothing" for side in (left, right)))


def _text_forms(text: str, chunks_asked: set[str], *, literal: bool) -> _Forms:
    """Return the forms of some chunks in their context; `literal` if the exact spelling matters."""
    chunks = ["\n", *_CHUNK.findall(text), ""]
    forms = [_NO_FORMS]
    for at, chunk in enumerate(chunks):
        if chunk in chunks_asked:
            previous, following = chunks[at - 1], chunks[at + 1]
            may_be_capital = (
                _may_be_capitalised(chunk, previous, opening=at <= _MAX_OPENING_WORDS)
                if not literal
                else previous[-1] in "\n.!?"
            )
            money, before = bool(_MONEY.match(following)), following[:1].islower() or following[:1].isdigit()
            forms.append(_chunk_forms(chunk, first=may_be_capital, money=money, before=before, literal=literal))
    return _Forms(*(frozenset[str]().union(*sets) for sets in zip(*forms, strict=True)))


def _may_be_capitalised(chunk: str, previous: str, *, opening: bool) -> bool:
    """Return whether a chunk may have its capital from its position after the previous one."""
    ended = (
        _SENTENCE_END.search(previous) or (opening and previous.endswith(",")) or not any(map(str.isalnum, previous))
    )
    return bool(ended or _OPENING_MARKS.match(chunk))


@word_cache.kept(_CACHED_CHUNKS)
def _chunk_forms(
    chunk: str, *, first: bool = False, money: bool = False, before: bool = False, literal: bool = False
) -> _Forms:
    """Return the forms of one chunk, a word with adjacent punctuation.

    It may begin a sentence (`first`), stand before a currency or before a word of the same sentence, and its exact
    spelling may matter (`literal`).
    """
    form, symbols = _split_signs(chunk)
    signs = frozenset(symbols)
    assertive = frozenset(
        sign for sign in signs if sign[0] in _MEANINGFUL_SIGNS or before or not _is_pictograph(sign[0])
    )
    if not form:
        return _Forms(frozenset(), frozenset(), frozenset(), signs, assertive)
    form = _normalised(form, money=money)
    cased = form if literal and form != "I" else _common_case(form)
    folded = cased if _MIXED_CASE.search(cased) else cased.lower()
    sentence_case = first and cased[1:] == cased[1:].lower() and (not literal or is_common(cased))
    forms = {cased, cased.lower()} if sentence_case else {cased}
    code = _is_code(form) and not (first and len(form) == 1)
    return _Forms(frozenset(forms), frozenset({folded}), frozenset({form.lower()} if code else ()), signs, assertive)


def _split_signs(chunk: str) -> tuple[str, tuple[str, ...]]:
    """Return the word without surrounding punctuation, and the symbols that stand for words."""
    if chunk.isascii() and chunk.isalnum():
        return chunk, ()
    if chunk.isascii():
        chunk = chunk.replace("`", "'")
        form = _strip_punctuation(_STARRED.sub(r"\2", _strip_punctuation(chunk)))
        if any(map(str.isalnum, form)):
            return form.removesuffix("/"), ()
    chunk = _MODIFIERS.sub("", _DASHES.sub("-", _QUOTES.sub("'", chunk)))
    if not any(unicodedata.category(letter) == "No" for letter in chunk):
        chunk = unicodedata.normalize("NFKC", chunk)
    flags = _FLAG.findall(chunk)
    chunk = _FLAG.sub("", chunk)
    pictographs = ["".join(run) for letter, run in groupby(chunk) if _is_pictograph(letter)]
    text = "".join(letter for letter in chunk if not _is_pictograph(letter))
    if not any(map(str.isalnum, text)):
        symbols = [] if _ONLY_MARKS.fullmatch(text) and text != "&&" else [text]
        return "", (*flags, *pictographs, *symbols)
    text = _strip_punctuation(_STARRED.sub(r"\2", _strip_punctuation(text)))
    return text.removesuffix("/"), (*flags, *pictographs)


def _strip_punctuation(word: str) -> str:
    """Return a word without surrounding punctuation; feet and inches keep their mark."""
    word = _LEADING.sub("", word)
    inches = _INCHES.match(word)
    end = inches.end() if inches else 0
    return word[:end] + _TRAILING.sub("", word[end:])


def _is_pictograph(letter: str) -> bool:
    """Return whether a character is an emoji or another pictograph."""
    return (unicodedata.category(letter) == "So" and letter != "°") or letter in "→←↔⇒⇐"


def _normalised(form: str, *, money: bool) -> str:
    """Return a word without differences in writing that mean nothing."""
    if _ABBREVIATED.fullmatch(form):
        form = form.replace(".", "")
    form = _JOINED.sub("", form)
    if not any(map(str.isdigit, form)):
        return form.rstrip("-") if len(form) > 3 else form  # noqa: PLR2004
    form = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), form)
    form, sums = _CURRENCY_SIGN.subn("", form)
    form = _LEADING_ZEROS.sub("", _PERCENT.sub("", form))
    cents = _CENTS.fullmatch(form) if money or sums else None
    if cents:
        return f"{cents['whole']}.{cents['rest']}".rstrip("0").rstrip(".")
    measured = _MEASURED.fullmatch(form)
    return form.lower() if measured and measured["unit"].lower() in _CASELESS else form


def _common_case(form: str) -> str:
    """Return a word in lower case if its capitals are not its own."""
    low = form.lower()
    if form == low:
        return form
    if low in _CASELESS or form == "I":
        return low
    if low in _NAMESAKES:
        return form
    if form[1:] == low[1:]:
        return low if low in STOP_WORDS or low in DATE_WORDS else form
    if form == form.upper():
        is_shouted = low in STOP_WORDS or low in SMALL_TALK or (len(form) >= _MIN_SHOUTED_LETTERS and is_common(low))
        return low if is_shouted else form
    return form


def _is_code(form: str) -> bool:
    """Return whether a word is a file name, an address, an identifier or a single capital letter."""
    if form.isalpha():
        return len(form) == 1 and form.isupper() and form != "I" and form.isascii()
    if not any(map(str.isalpha, form)) or _PLAIN_SLASHED.fullmatch(form) or "'" in form:
        return False
    measured = _MEASURED.fullmatch(form)
    return not (measured and measured["unit"].lower() in _MEASURES)


@word_cache.kept(_CACHED_CHUNKS)
def _spelling_key(form: str) -> str:
    """Return a key that is equal for all spellings of a word or number."""
    low = unicodedata.normalize("NFKC", form).lower()
    if any(map(str.isalpha, low)):
        return "".join(letter for letter in low if letter.isalnum()) or low
    low = re.sub(r"^\W+|\W+$", "", low) or low
    if _DECIMAL.fullmatch(low):
        return low.rstrip("0").rstrip(".")
    return low.lstrip("0") or low
