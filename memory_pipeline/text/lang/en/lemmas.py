"""Lemmas of English words: one form for all inflections, contractions and synonyms of a word.

Beyond the base form, a lemma here merges synonyms, carries a mark of the past (`+ed`) and reduces pronouns to persons;
articles and fillers have none. Two wordings of one fact have the same lemmas. Not here: lemmas of whole texts
(`parse/lemmatize`), stems for keywords (`stemming`), and which differences in wording matter (`compare/merge_guard`).
"""

from typing import Final

from memory_pipeline.text import word_cache
from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, LISTS
from memory_pipeline.text.lang.en.stemming import stem

PAST: Final = "+ed"
"""Mark of past forms and participles."""

SENTENCE_END: Final = "ǂ"
"""End of a sentence; a letter, so that tokenization keeps it as a word."""

NOT: Final = "not"
"""Lemma of every negator."""


_WORDS: Final = LISTS.section("lemmas")

_RESPELLINGS: Final = dict(pair.split("=") for pair in _WORDS.listed("respellings"))

_CLITICS: Final = {clitic: (meant,) for clitic, meant in _WORDS.table("clitics").items()}

_CONTRACTED_STEMS: Final = _WORDS.table("contracted")

_BE_AFTER: Final = _WORDS.words("be_after")
"""Words after which 's stands for "is" and not for a possessor."""

_EMPTY_WORDS: Final = _WORDS.words("empty")
"""Words without a lemma: determiners, intensifiers, interjections."""

WEAK_WORDS: Final = _WORDS.words("weak")
"""Words that are mostly empty but count where they replace another word ("well" for "badly")."""

PERSONS: Final = _WORDS.members("persons")

_NEGATORS: Final = _WORDS.words("negators")

CONNECTIVES: Final = _WORDS.members("connectives")
"""Prepositions and conjunctions."""

OPPOSITES: Final = frozenset(map(frozenset, _WORDS.spellings("opposites")))
"""Connectives and auxiliaries that exclude each other in one position."""

_IRREGULAR_PAST: Final = {
    form: base
    for base, forms in (pair.split("=") for pair in _WORDS.listed("irregular_past"))
    for form in forms.split(",")
}
"""Past forms and participles that do not end in -ed."""

_FIXED_LEMMAS: Final = _WORDS.table("fixed")
"""Words whose stem is that of another word."""

_LOOKALIKES: Final = frozenset(map(frozenset, _WORDS.spellings("lookalikes")))
"""Pairs of words that differ by one letter and are not typos of each other."""

AUXILIARIES: Final = _WORDS.table("auxiliaries")

_VOWELS: Final = frozenset("aeiou")

_CACHED_WORDS: Final = 1 << 16
"""Size of the cache of lemmas."""

_MIN_TYPO_LETTERS: Final = 5
"""Shortest word in which a changed letter counts as a typo rather than as another word."""


def lemmas(word: str) -> tuple[str, ...]:
    """Return the lemmas of one lower-case word: usually one, two for a contraction, none for an article or a filler."""
    base, clitic = split_clitic(word)
    expansion = _CLITICS.get(clitic, ())
    if clitic == "'s" and base in _BE_AFTER:
        expansion = ("be",)
    if base == SENTENCE_END:
        return (SENTENCE_END,)
    if base in _NEGATORS:
        return (NOT, *expansion)
    if base in PERSONS or base in CONNECTIVES:
        return (PERSONS.get(base) or CONNECTIVES[base], *expansion)
    if base in _EMPTY_WORDS:
        return expansion
    return (base if base in WEAK_WORDS else lemma(base), *expansion)


@word_cache.kept(_CACHED_WORDS)
def lemma(word: str) -> str:
    """Return the lemma of a plain word: the stem of its first synonym, with `PAST` if it is a past form."""
    if word in _FIXED_LEMMAS:
        return _FIXED_LEMMAS[word]
    base = _IRREGULAR_PAST.get(word)
    past = PAST if base or (word.endswith("ed") and stem(word) != word) else ""
    root = _american_spelling(stem(base or word))
    return _FIRST_SYNONYM.get(root + past) or _FIRST_SYNONYM.get(root, root) + past


def may_be_typo(one: str, other: str) -> bool:
    """Return whether a word looks like a typo of another: a letter added, dropped or swapped, or another vowel."""
    short, long = sorted((one, other), key=len)
    first = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < _MIN_TYPO_LETTERS or not 0 < first < len(short) - 1 or frozenset((short, long)) in _LOOKALIKES:
        return False
    if len(long) == len(short) + 1:
        return short[first:] == long[first + 1 :]
    swapped = long[first + 1] + long[first] + long[first + 2 :]
    vowels = short[first] in _VOWELS and long[first] in _VOWELS and short[first + 1 :] == long[first + 1 :]
    return len(long) == len(short) and (short[first:] == swapped or vowels) and short.isascii()


def split_clitic(word: str) -> tuple[str, str]:
    """Split a word into its base and its clitic, spelled out (n't, 'll, 's); the clitic may be empty."""
    word = _RESPELLINGS.get(word, word)
    if word.endswith("n't"):
        base = word.removesuffix("n't")
        return _CONTRACTED_STEMS.get(base) or _RESPELLINGS.get(base, base), "n't"
    base, mark, tail = word.partition("'")
    base = _RESPELLINGS.get(base, base)
    return (base, mark + tail) if f"{mark}{tail}" in _CLITICS or tail in {"s", ""} else (word, "")


def _american_spelling(root: str) -> str:
    """Return the American spelling of a stem."""
    if len(root) <= 4:  # noqa: PLR2004
        return root
    root = root.replace("our", "or")
    root = root[:-2] + "iz" if root.endswith("is") else root[:-1] + "er" if root.endswith("tr") else root
    return root[:-1] if root.endswith("ll") else root


def _first_synonyms() -> dict[str, str]:
    """Map each synonym to the first of its group, which is the lemma of all."""
    groups = [[lemma(word) for word in group.split()] for group in _WORDS.expressions("synonyms")]
    return {word: group[0] for group in groups for word in group[1:]}


_FIRST_SYNONYM: dict[str, str] = {}  # `lemma` reads it while it is being filled

_FIRST_SYNONYM |= _first_synonyms()

word_cache.forget()  # lemmas of before the synonyms were known

OPERATORS: Final = frozenset(lemma(word) + past for word in _WORDS.listed("operators") for past in ("", PAST))
"""Lemmas that turn a fact into a wish, a doubt, hearsay, a condition or its end; if only one text has them, it states
another fact."""

NUMBER_LEMMAS: Final = frozenset(lemma(word) for word in _WORDS.listed("numbers"))
"""Lemmas that are part of numbers, amounts and times of day, besides digits."""

DATE_LEMMAS: Final = frozenset(lemma(word) for word in DATE_WORDS) - NUMBER_LEMMAS
"""Lemmas that are part of dates, besides digits."""

PHRASE_OPENERS: Final = frozenset(lemma(word) for word in _WORDS.listed("openings"))
"""Adverbs and conjunctions that open a phrase of free position in its sentence."""

FUNCTION_LEMMAS: Final = frozenset(CONNECTIVES.values()) | WEAK_WORDS | {SENTENCE_END, *AUXILIARIES.values()}
"""Lemmas whose position in a sentence carries no information of its own."""
