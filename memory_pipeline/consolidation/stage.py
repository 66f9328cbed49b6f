"""Defines stages: typed functions whose signatures declare the tables they take and give.

Not here: the stages themselves (`stages`) and their order (`pipeline`).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args, get_type_hints

import polars as pl

from memory_pipeline.schemas import TABLES, Action, table_of

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Stage:
    """A stage, as its function's signature declares it."""

    function: Callable[..., Any]
    takes: tuple[str, ...]
    """Names of the tables it takes."""
    gives: tuple[str, ...]
    """Names of the tables it gives; the first one names the stage."""
    serves: frozenset[Action]
    """Actions that need its tables: a run that may decide none of them keeps the tables of the last run."""

    @property
    def name(self) -> str:
        """Name of the stage: its first table."""
        return self.gives[0]

    @property
    def description(self) -> str:
        """What the stage does, in one line."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def recorded(self) -> tuple[str, ...]:
        """Tables that it adds to: it takes the rows recorded so far, and gives the rows to add."""
        return tuple(name for name in self._own if TABLES[name].write_mode == "appended")

    @property
    def kept(self) -> tuple[str, ...]:
        """Tables that it takes as the last run left them, in order to make only the rows that would differ."""
        return tuple(name for name in self._own if TABLES[name].write_mode != "appended")

    @property
    def reused(self) -> tuple[str, ...]:
        """Tables taken from the last run where nothing needs the stage; those that no commit publishes are empty."""
        return tuple(name for name in self.gives if TABLES[name].write_mode not in {"appended", "per_run"})

    @property
    def _own(self) -> tuple[str, ...]:
        """Tables that it both takes and gives."""
        return tuple(name for name in self.gives if name in self.takes)

    def tables(self, result: Any) -> dict[str, pl.DataFrame]:
        """Return what the function returned, by table name."""
        frames = (result,) if isinstance(result, pl.DataFrame) else result
        return dict(zip(self.gives, frames, strict=True))


def tables_taken(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the tables that a function takes after its context.

    Raises:
        TypeError: a parameter is not a table, or its annotation names the schema of another table.
    """
    hints = get_type_hints(function)
    names = tuple(inspect.signature(function).parameters)[1:]
    for name in names:
        schemas = get_args(hints[name])
        if name not in TABLES or schemas != (TABLES[name].schema,):
            raise TypeError(
                f"{function.__name__}({name}: {hints[name]}): annotate it with the schema of the table of that name"
            )
    return names


def _tables_given(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the tables that a stage returns.

    Raises:
        TypeError: a field of the return type is named after another table than its schema.
    """
    returned = get_type_hints(function)["return"]
    if schemas := get_args(returned):
        return (table_of(schemas[0]).name,)
    fields = {name: table_of(get_args(hint)[0]).name for name, hint in get_type_hints(returned).items()}
    if wrong := [name for name, table in fields.items() if name != table]:
        raise TypeError(f"{returned.__name__}.{wrong[0]} holds the table {fields[wrong[0]]}; name the field after it")
    return tuple(fields)


DECLARED: Final[list[Stage]] = []
"""Every stage, in the order of declaration; `stage` adds to it while `stages` is imported."""


def stage(*, serves: frozenset[Action] = frozenset(Action)) -> Callable[[F], F]:
    """Declare a function as a stage of every run.

    Args:
        serves: actions that need its tables (see `Stage.serves`).

    Raises:
        TypeError: a parameter or the return type names no table.
    """

    def declare(function: F) -> F:
        DECLARED.append(Stage(function, tables_taken(function), _tables_given(function), serves))
        return function

    return declare
