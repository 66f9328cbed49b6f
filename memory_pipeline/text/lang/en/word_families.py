"""Families of English words that have one root: `move`, `mover`, `movement`."""

from functools import cache

from memory_pipeline.settings.model_files import thesaurus_lines
from memory_pipeline.text.lang.en.lemmas import PAST, lemma


@cache
def roots() -> dict[str, frozenset[int]]:
    """Return the word families of each lemma, by number; words of one family have one root."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(thesaurus_lines()):
        if ":" not in line and not line.startswith(("#", "/")):
            for word in line.split():
                found.setdefault(lemma(word).removesuffix(PAST), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}
