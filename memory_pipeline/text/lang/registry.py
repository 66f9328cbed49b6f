"""Maps language codes to language packs.

To add a language, write its word lists, `<code>.toml`, and name it here. Not here: which language a text is in
(`identification`).
"""

from collections.abc import Mapping
from typing import Final

from memory_pipeline.text.lang.en.pack import PACK as ENGLISH_PACK
from memory_pipeline.text.lang.pack import NEVER, LanguagePack, WordPack
from memory_pipeline.text.lang.unspaced import UnspacedPack

ENGLISH: Final = ENGLISH_PACK.code
_DATES_ONLY: Final = ("nl", "pt", "sv", "da", "no", "fi", "ro", "hu", "tr", "ru", "ca")
"""Languages known only by their Snowball stemmer and their words of dates."""
_OWN: Final[tuple[LanguagePack, ...]] = (
    ENGLISH_PACK,
    *map(WordPack.of, ("de", "es", "fr", "it")),
    *map(UnspacedPack.of, ("zh", "ja")),
    *map(WordPack.of, _DATES_ONLY),
)
PACKS: Final[Mapping[str, LanguagePack]] = {pack.code: pack for pack in _OWN}
"""Pack of each language that has one."""
SAFETY: Final = "|".join(pack.safety for pack in PACKS.values() if pack.safety != NEVER)
"""Pattern over folded text for what does harm if forgotten, in languages that the reader does not read: a false match
keeps a memory too many, and nothing else."""
JUDGED: Final = tuple(code for code, pack in PACKS.items() if pack.judges)
"""Languages whose texts rules may close, merge and trim."""
UNSPACED: Final = tuple(code for code, pack in PACKS.items() if pack.unspaced)
"""Languages written without spaces."""


def pack(code: str | None) -> LanguagePack:
    """Return the pack of a language; the English one for None and for languages without a pack."""
    return PACKS.get(code or ENGLISH, ENGLISH_PACK)
