"""Keeps what was computed of words, and forgets it all when one of them may have been erased.

A word can be a name, a number or a password. Not here: what is computed (stems, spellings, checksums).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_CACHES: Final = list[Any]()


def kept(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that keeps the last results of a function of words, at most so many, until `forget`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(most)(function)
        _CACHES.append(cached)
        return cast("Callable[P, T]", cached)

    return decorate


def forget() -> None:
    """Drop all that this process keeps of words; it is computed again where it is needed."""
    for cached in _CACHES:
        cached.cache_clear()
