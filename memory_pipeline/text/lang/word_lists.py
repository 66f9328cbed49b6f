"""The word lists of a language, from `<code>.toml` beside this module.

Words are separated by spaces, and spellings of one word by slashes. Expressions, which are regular ones over folded
text, are separated by semicolons. Not here: what the words are used for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from memory_pipeline.settings import model_files

_BOUNDARY: Final = r"(?-u:\b)"
"""The boundary of words for the regular expressions of Polars, which are faster in ASCII."""


@dataclass(frozen=True, eq=False)
class WordLists:
    """Lists by name; one that is missing raises `KeyError`."""

    lists: Mapping[str, Any]

    @classmethod
    def of(cls, language: str) -> Self:
        """Return the lists of a language by its code."""
        return cls(model_files.word_lists(language))

    def section(self, name: str) -> Self:
        """Return the lists of a section."""
        return type(self)(self.lists[name])

    def has(self, name: str) -> bool:
        """Return whether a flag is set."""
        return bool(self.lists[name])

    def text(self, name: str) -> str:
        """Return a list as it is written."""
        return str(self.lists[name])

    def listed(self, name: str) -> tuple[str, ...]:
        """Return the words of a list in order."""
        return tuple(self.text(name).split())

    def words(self, name: str) -> frozenset[str]:
        """Return the words of a list."""
        return frozenset(self.listed(name))

    def spellings(self, name: str) -> tuple[tuple[str, ...], ...]:
        """Return the words of a list in order, each with its other spellings."""
        return tuple(tuple(group.split("/")) for group in self.listed(name))

    def table(self, name: str) -> dict[str, str]:
        """Return a table of words."""
        return dict(self.lists[name])

    def members(self, name: str) -> dict[str, str]:
        """Return for each word in the lists of a table the name of its list."""
        return {word: key for key, members in self.table(name).items() for word in members.split()}

    def expressions(self, name: str) -> tuple[str, ...]:
        """Return the expressions of a list."""
        return expressions(self.text(name))

    def any_of(self, *names: str) -> str:
        """Return the pattern of the expressions of lists, as whole words."""
        return any_of(";".join(self.text(name) for name in names))


def expressions(text: str) -> tuple[str, ...]:
    """Return the expressions that a text separates by semicolons."""
    return tuple(" ".join(expression.split()) for expression in text.split(";"))


def any_of(text: str) -> str:
    """Return the pattern, for Polars, of the expressions that a text separates by semicolons, as whole words."""
    return rf"{_BOUNDARY}(?:{'|'.join(expressions(text))}){_BOUNDARY}"
