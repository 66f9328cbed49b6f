"""Type and category of a memory: names that agents gave in canonical form, or what the reader's labels mean.

All functions work on a column, so that a fold of a million rows stays vectorised. Not here: the labels
(`score/sentence_kinds`), and that given names take precedence (`consolidation/memory_types`).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from memory_pipeline.text.score import core_facts, sentence_kinds
from memory_pipeline.text.score.sentence_kinds import likely

MEMORY_TYPES: Final = ("Decision", "Insight", "Pattern", "Preference", "Style", "Habit", "Context", "Memory")
CATEGORIES: Final = ("episodic", "semantic", "procedural", "opinion", "core")
FALLBACK_TYPE: Final = "Memory"
FALLBACK_CATEGORY: Final = "episodic"


class Meaning(NamedTuple):
    """Type and category of a text."""

    memory_type: str = FALLBACK_TYPE
    category: str = FALLBACK_CATEGORY


_FACT: Final = Meaning("Context", "semantic")
HOLDING: Final[Mapping[str, Meaning]] = MappingProxyType(
    {
        **dict.fromkeys(("identity", "relation", "home", "health", "safety", "skill", "possession", "fact"), _FACT),
        "goal": Meaning("Context"),
        "decision": Meaning("Decision"),
        "preference": Meaning("Preference", "opinion"),
        "opinion": Meaning("Insight", "opinion"),
        "instruction": Meaning("Style", "procedural"),
        "measurement": Meaning("Pattern", "semantic"),
        "event": Meaning("Habit"),
        "appointment": Meaning("Habit"),
    }
)
"""What each kind of sentence means if it holds for years or until changed; the other kinds mean nothing more."""
PASSING: Final[Mapping[str, Meaning]] = MappingProxyType(
    {name: HOLDING[name] for name in ("goal", "decision", "preference")} | {"opinion": Meaning(category="opinion")}
)
"""Likewise if it holds for a while or a moment."""
_GENERAL: Final = "fact"
"""The kind that names the others of its type."""
CORE_KINDS: Final = ("identity", "health", "safety")
"""Kinds of sentences about the owner of which the lasting and harmful ones make a memory core."""
CORE_HARM: Final = 2.0
"""Least harm, 0..3, if a core memory were forgotten: core memories are never forgotten, so few are."""


def inferred(readings: pl.Series) -> pl.DataFrame:
    """Return type, category and importance of texts by what the reader says of them, and how likely they refer back.

    The most important sentence speaks for a text. What is asked, merely possible or idle talk is a `Memory` and
    `episodic`, and so is a text that was not read. Takes what `core_facts.read` returns; gives memory_type, category,
    importance (0..1) and refers_back (see `core_facts.referring`), the last two null for a text that was not read.
    """
    texts, numbers = core_facts.unpacked(readings)
    order = np.lexsort((np.arange(len(texts)), -sentence_kinds.importance(numbers), texts))
    read, first = np.unique(texts[order], return_index=True)
    best = numbers[order][first]
    names = sentence_kinds.GROUPS["kind"]
    kind = np.stack([sentence_kinds.probability(best, "kind", name) for name in names], axis=1).argmax(axis=1)
    holds = likely(best, "holds", "lasting", "current")
    idle = likely(best, "stance", "possible", "asked", "idle")
    of_owner = likely(best, "kind", *CORE_KINDS) & likely(best, "whom", "owner") & likely(best, "holds", "lasting")
    core = of_owner & (sentence_kinds.expected(best, "harm") >= CORE_HARM) & ~idle
    known = {"memory_type": np.full(len(readings), FALLBACK_TYPE, object)}
    known["category"] = np.full(len(readings), FALLBACK_CATEGORY, object)
    for place, column in enumerate(known.values()):
        held, passed = (
            np.array([meanings.get(name, Meaning())[place] for name in names], object)
            for meanings in (HOLDING, PASSING)
        )
        column[read] = np.where(idle, Meaning()[place], np.where(holds, held[kind], passed[kind]))
    known["category"][read[core]] = "core"
    importance = np.full(len(readings), np.nan)
    importance[read] = sentence_kinds.importance(best)
    return pl.DataFrame(known, schema=dict.fromkeys(known, pl.String)).with_columns(
        importance=pl.Series(importance).fill_nan(None), refers_back=core_facts.referring(readings)
    )


def in_words(memory_type: str) -> str:
    """Return what a type that the reader gave means, by the kinds of sentences that have it.

    Examples:
        >>> in_words("Habit"), in_words("Context"), in_words("Memory")
        ('event or appointment', 'fact', 'something said')
    """
    kinds = [name for name, meaning in HOLDING.items() if meaning.memory_type == memory_type]
    return _GENERAL if _GENERAL in kinds else " or ".join(kinds) or "something said"


def canonical_type(given: pl.Expr) -> pl.Expr:
    """Return the canonical spelling of a given type; null for an unknown one, so that it is inferred."""
    return _canonical(given, MEMORY_TYPES)


def canonical_category(given: pl.Expr) -> pl.Expr:
    """Return the canonical spelling of a given category; null for an unknown one, so that it is inferred."""
    return _canonical(given, CATEGORIES)


def _canonical(names: pl.Expr, canonical_names: Iterable[str]) -> pl.Expr:
    spelling = {name.lower(): name for name in canonical_names}
    return names.str.strip_chars().str.to_lowercase().replace_strict(spelling, default=None, return_dtype=pl.String)
