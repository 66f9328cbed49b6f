"""Word lists of English (`en.toml`): static knowledge in place of corpus statistics.

Because rarity comes from these lists and not from other texts in the store, everything extracted from a text depends on
that text alone. Not here: stems (`stemming`), rarity (`rarity`) and lemmas (`lemmas`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory_pipeline.text.lang.word_lists import WordLists

LISTS: Final = WordLists.of("en")
"""All of them."""

STOP_WORDS: Final = LISTS.words("stop_words")
"""Function words; they carry no topic."""

SMALL_TALK: Final = LISTS.words("small_talk")
"""Greetings, thanks, interjections and praise."""

COMMON_WORDS: Final = tuple(
    frozenset(LISTS.section("common_words").listed(band)) for band in ("everyday", "common", "less_common")
)
"""Common words in three bands, from everyday to less common."""

FIRST_PERSON: Final = LISTS.words("first_person")
"""First-person pronouns."""

DATE_WORDS: Final = LISTS.words("date_words")
"""Words of dates; capitalised in English without being names."""

NAME_BEGINNINGS: Final = LISTS.words("name_beginnings")
"""Common words that begin names, as in New York."""

WEEKDAYS: Final[Mapping[str, str]] = MappingProxyType(
    {form: forms[0][:3] for forms in LISTS.spellings("weekdays") for form in forms}
    | dict.fromkeys(("weekend", "weekends"), "weekend")
)
"""Weekday of each of its spellings."""
MONTHS: Final[Mapping[str, str]] = MappingProxyType(
    {form: forms[0][:3] for forms in LISTS.spellings("months") for form in forms}
)
"""Month of each of its spellings."""
NUMBERS: Final[Mapping[str, str]] = MappingProxyType(
    {word: str(number) for number, word in enumerate(LISTS.listed("numbers")) if number > 1}
    | {word: str(number) for number, word in enumerate(LISTS.listed("tens"), 3) for number in (10 * number,)}
)
"""Digits of number words; "one" is an article too often."""
