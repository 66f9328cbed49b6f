"""The default IO manager: hands tables from step to step, in memory and staged beside the lake.

Staged files (`runs/<run id>/`) let any executor run the steps, a person inspect a partial launch, and a failed run
resume. An input comes from this run, else from the newest commit. Nothing here makes a table visible to
readers. Any other IO manager of Polars frames can take this one's place.
"""

from typing import Any

import dagster as dg
import polars as pl

from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, refusing
from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.stages import STAGES, STATE
from memory_pipeline.schemas import TABLES

_STAGED = ("replaced", "per_run")
"""Write modes of tables that a step stages; the others are read again as of the state of the run."""
_MADE_AGAIN = dict.fromkeys(STATE, STAGES["memories"]) | {
    "neighbours": STAGES["neighbours"],
    "change_odds": STAGES["fact_changes"],
}
"""Stages of tables that no commit stores but that follow from stored ones; they are made again if a run lacks them."""


class StagedTables(dg.IOManager):
    """The tables of one run."""

    def __init__(self, store: Store, *, run_ids: tuple[str, ...], job: str) -> None:
        """Start with no table.

        Args:
            store: the data folder.
            run_ids: the run, then the runs that it resumes.
            job: name of the job that makes every table, for messages.
        """
        self._store = store
        self._run_ids = run_ids
        self._job = job
        self._frames: dict[str, pl.DataFrame] = {}

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Keep a table for the steps after it."""
        name = context.asset_key.path[-1]
        if TABLES[name].write_mode in _STAGED:
            with refusing():
                profiles = obj if name == "profiles" else self._table("profiles")
                self._store.lake.stage(self._run_ids[0], name, obj, since=max(profiles["seq"], default=None))
        self._frames[name] = obj

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """Return a table of this run, else of the newest commit."""
        return self._table(context.asset_key.path[-1])

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
        if name in _MADE_AGAIN and TABLES[name].write_mode == "per_run":
            return self._made_again(name)
        if TABLES[name].write_mode == "per_run":
            raise dg.Failure(
                f"this run has not made {name}, which exists only during a run; launch the job {self._job}, or "
                "select everything upstream too",
                allow_retries=False,
            )
        return self._store.lake.read(name)

    def _made_again(self, name: str) -> pl.DataFrame:
        """Make a table that no commit stores from the tables that its stage takes."""
        profiles, stage = self._table("profiles"), _MADE_AGAIN[name]
        tables = {table: self._table(table) for table in stage.takes}
        return pipeline.run_stage(stage, {"profiles": profiles, **tables}, self._store.policies(profiles))[name]


def io_manager(names: Namespace) -> dg.IOManagerDefinition:
    """Make the resource that gives each run its own tables."""
    store, job = names.name("store"), names.name("full")

    @dg.io_manager(required_resource_keys={store}, description="Hands tables from step to step.")
    def staged_tables(context: dg.InitResourceContext) -> StagedTables:
        run = context.run
        chain = (run.run_id, run.parent_run_id, run.root_run_id) if run else ()
        return StagedTables(
            getattr(context.resources, store), run_ids=tuple(run_id for run_id in chain if run_id), job=job
        )

    return staged_tables
