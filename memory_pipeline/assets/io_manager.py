"""The default IO manager: hands the tables of a step to the steps after it, in memory and staged beside the lake.

Staged files (`runs/<run id>/`) let any executor run the steps, and a failed run resume. Of an asset there is nothing to
store, for the commit has published it; an asset of another project that takes one gets what is published. Any other IO
manager of Python objects can take this one's place.
"""

from collections.abc import Mapping
from typing import Final

import dagster as dg
import polars as pl

from memory_pipeline.assets import catalogue
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, refusing
from memory_pipeline.assets.steps import HANDED_ON
from memory_pipeline.schemas import TABLES

_STAGED: Final = ("replaced", "per_run")
"""Write modes of tables that are staged; the others are read again as of the state of the run."""


class StagedTables(dg.IOManager):
    """The tables of one run."""

    def __init__(self, store: Store, *, run_ids: tuple[str, ...]) -> None:
        """Start with no table; the run comes first, then the runs that it resumes."""
        self._store = store
        self._run_ids = run_ids
        self._frames: dict[str, pl.DataFrame] = {}

    def handle_output(self, context: dg.OutputContext, obj: Mapping[str, pl.DataFrame] | pl.DataFrame) -> None:
        """Keep the tables of a step for the steps after it."""
        if context.has_asset_key or isinstance(obj, pl.DataFrame):
            return
        with refusing():
            self._frames |= obj
            since = max(self._table("profiles")["seq"], default=None)
            for name, table in obj.items():
                if TABLES[name].write_mode in _STAGED:
                    self._store.lake.stage(self._run_ids[0], name, table, since=since)

    def load_input(self, context: dg.InputContext) -> dict[str, pl.DataFrame] | pl.DataFrame:
        """Return the tables that a step of this run handed on, or the published rows of an asset."""
        if not context.has_asset_key:
            given = context.upstream_output
            return {name: self._table(name) for name in HANDED_ON[given.name if given else context.name]}
        name = context.asset_key.path[-1]
        if name not in catalogue.TABLES:
            raise dg.Failure(f"{name} is no table; take it as a dependency: deps=[...]", allow_retries=False)
        with refusing():
            return self._store.lake.read(name)

    def _table(self, name: str) -> pl.DataFrame:
        if name not in self._frames:
            with refusing():
                self._frames[name] = self._read(name)
        return self._frames[name]

    def _read(self, name: str) -> pl.DataFrame:
        if TABLES[name].write_mode not in _STAGED:
            return self._store.read(name, self._table("profiles"))
        for run_id in self._run_ids:
            if (frame := self._store.lake.staged(run_id, name)) is not None:
                return frame
        raise dg.Failure(f"this run has not made {name}; launch it again from its first step", allow_retries=False)


def io_manager(names: Namespace) -> dg.IOManagerDefinition:
    """Make the resource that gives each run its own tables."""
    store = names.name("store")

    @dg.io_manager(required_resource_keys={store}, description="Hands tables from step to step.")
    def staged_tables(context: dg.InitResourceContext) -> StagedTables:
        run = context.run
        chain = (run.run_id, run.parent_run_id, run.root_run_id) if run else ()
        return StagedTables(getattr(context.resources, store), run_ids=tuple(run_id for run_id in chain if run_id))

    return staged_tables
