"""Cues of how one memory relates to another: words of change, ending, addition, permanence, intention, offers, habit.

Closed classes and broad word classes of English (`en.toml`), as patterns over folded text for the regular expressions
of Polars. Not here: what follows from a cue (`compare/relation_features`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory_pipeline.text.lang.en.lexicon import LISTS

_CUES: Final = LISTS.section("relations")
_QUESTION: Final = "question"
CUES: Final[Mapping[str, str]] = MappingProxyType(
    {name: _CUES.text(name) if name == _QUESTION else _CUES.any_of(name) for name in _CUES.lists}
)
"""Name of each cue and its pattern; the fitted trees know them in this order."""
