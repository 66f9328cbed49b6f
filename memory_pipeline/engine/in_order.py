"""Hands parts of a run to workers, a few at a time, and takes what they make of them in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")


class EngineError(ValueError):
    """An engine could not compute a part of a run; nothing of that part was committed."""


def in_order(
    executor: Executor, function: Callable[..., T], parts: Iterable[tuple[Any, ...]], *, ahead: int
) -> Iterator[T]:
    """Yield what workers return for each part, in the order of the parts; what one raises drops parts not started.

    At most `ahead` parts beyond the one waited for are at work, so that few are in memory.
    """
    pending: deque[Future[T]] = deque()
    try:
        for part in parts:
            pending.append(executor.submit(function, *part))
            if len(pending) > ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()
