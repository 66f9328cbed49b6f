"""Defines stages: functions whose types `Inputs` and `Outputs` declare the tables they take and give.

Not here: the stages themselves (`stages`) and their order (`pipeline`).
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar, get_args, get_type_hints

import dataframely as dy
import polars as pl

from memory_pipeline.consolidation.context import Context
from memory_pipeline.schemas import TABLES, Action, table_of

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Stage:
    """A stage, as its module declares it."""

    function: Callable[..., Any]
    inputs: type[Any]
    """Tables that it takes, by name and schema."""
    takes: tuple[str, ...]
    """Names of the tables it takes."""
    gives: tuple[str, ...]
    """Names of the tables it gives."""
    reuse: tuple[str, ...]
    """Tables whose column `read` says from what a profile's rows were made, so that they are reused while it is the
    same (see `reuse`)."""
    serves: frozenset[Action]
    """Actions that need its tables: a run that may decide none of them keeps the tables of the last run."""

    @property
    def name(self) -> str:
        """Name of the stage: that of its function."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """What the stage does, in one line."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def recorded(self) -> tuple[str, ...]:
        """Tables that it adds to: it takes the rows recorded so far, and gives the rows to add."""
        return tuple(name for name in self._own if TABLES[name].write_mode == "appended")

    @property
    def from_last_run(self) -> tuple[str, ...]:
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

    def made(self, tables: Mapping[str, pl.DataFrame], context: Context) -> dict[str, pl.DataFrame]:
        """Return the tables that the stage gives, by name, from those that it takes, among others."""
        outputs = self.function(self.inputs(**{name: tables[name] for name in self.takes}), context)
        return dict(zip(self.gives, outputs, strict=True))


def tables_of(fields: type[NamedTuple]) -> tuple[str, ...]:
    """Return the names of the tables of an `Inputs` or `Outputs`: its fields.

    Raises TypeError: a field is named after no table, or after another one than its schema's.
    """
    hints = get_type_hints(fields)
    for name, hint in hints.items():
        where, schema = f"{fields.__module__}.{fields.__name__}.{name}", get_args(hint)[:1]
        if name not in TABLES:
            raise TypeError(f"{where} is no table; add Table({name!r}, …) to TABLES in memory_pipeline/schemas")
        if schema != (TABLES[name].schema,):
            raise TypeError(
                f"{where}: annotate it with the schema of that table: Frame[{TABLES[name].schema.__name__}]"
            )
    return tuple(hints)


DECLARED: Final[list[Stage]] = []
"""Every stage, in the order of declaration; `stage` adds to it while the modules of `stages` are imported."""


def stage(*, reuse: Sequence[type[dy.Schema]] = (), serves: frozenset[Action] = frozenset(Action)) -> Callable[[F], F]:
    """Declare a function of `Inputs` and a context, which returns `Outputs`, as a stage of every run.

    `reuse` are schemas of the tables by which it reuses what it made in the last run (see `Stage.reuse`), `serves` the
    actions that need its tables. Raises TypeError: a field of `Inputs` or `Outputs` is no table, or what is reused is
    not in both.
    """

    def declare(function: F) -> F:
        hints = get_type_hints(function)
        takes, gives = tables_of(hints["inputs"]), tables_of(hints["return"])
        reused = tuple(table_of(schema).name for schema in reuse)
        for name, schema in zip(reused, reuse, strict=True):
            if not (name in takes and name in gives and "read" in schema.columns()):
                raise TypeError(
                    f"{function.__module__}: reuse={schema.__name__}: give `Inputs` and `Outputs` the field {name}, "
                    "and its schema the column `read`"
                )
        DECLARED.append(Stage(function, hints["inputs"], takes, gives, reused, serves))
        return function

    return declare
