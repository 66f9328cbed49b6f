"""How a function of tables becomes assets: what it takes, what it gives, and the blocking check of every table.

What is not here: what a stage computes (`consolidation/`), and who owns an asset (`definitions.py`).
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

import dagster as dg
import polars as pl

from memory_pipeline.assets import checks
from memory_pipeline.assets.figures import describe
from memory_pipeline.assets.io_manager import Frames
from memory_pipeline.assets.resources import Store, refusing
from memory_pipeline.consolidation.pipeline import R
from memory_pipeline.schemas import TABLES


class Each(Protocol):
    """Applies a stage once under each policy in play (see `pipeline.each`)."""

    def __call__(self, stage: Callable[..., R], *frames: pl.DataFrame) -> R:
        """Return the tables of all profiles together."""


def table(compute: Callable[..., pl.DataFrame]) -> dg.AssetsDefinition:
    """Make an asset of a function that returns the table it is named after.

    The function is given what it names: tables, `each` to apply a stage, `store` for the data folder.
    """
    return _assets(compute, {compute.__name__: inspect.getdoc(compute) or ""})


def tables(**described: str) -> Callable[[Callable[..., tuple[pl.DataFrame, ...]]], dg.AssetsDefinition]:
    """Make assets of a function that returns several tables: their names in order, and what each of them is."""
    return lambda compute: _assets(compute, described)


def _assets(
    compute: Callable[..., pl.DataFrame | tuple[pl.DataFrame, ...]], described: Mapping[str, str]
) -> dg.AssetsDefinition:
    """Make one step that computes and checks the tables.

    The tables that it takes are dependencies, fetched without Dagster's inputs, and the checks are part of the step:
    both together halve the events of a run, each of which is a transaction of its own. Who takes part is no dependency
    of every stage: it is made in one step with the events, which lie before them all.
    """
    named = inspect.signature(compute).parameters
    takes = [name for name in named if name in TABLES]

    @dg.multi_asset(
        name=compute.__name__,
        description=inspect.getdoc(compute),
        outs={name: dg.AssetOut(description=text, io_manager_key="frames") for name, text in described.items()},
        deps=takes,
        check_specs=[checks.schema_and_grain(name) for name in described],
    )
    def step(
        store: dg.ResourceParam[Store], frames: dg.ResourceParam[Frames]
    ) -> Iterator[dg.MaterializeResult[pl.DataFrame]]:
        def each(stage: Callable[..., R], *given: pl.DataFrame) -> R:
            return store.each(frames.table("profiles"), stage, *given)

        with refusing():
            given = {"each": each, "store": store} | {name: frames.table(name) for name in takes}
            made = compute(**{name: given[name] for name in named})
        for name, rows in zip(described, (made,) if isinstance(made, pl.DataFrame) else made, strict=True):
            frame = TABLES[name].conform(rows)
            yield dg.MaterializeResult(
                asset_key=name,
                value=frame,
                metadata=describe(name, frame),
                check_results=[checks.schema_and_grain_of(name, frame)],
            )

    return step
