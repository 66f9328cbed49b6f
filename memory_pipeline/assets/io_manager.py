"""The one IO manager: an asset receives frames and returns frames, and opens no file.

Within a run tables stay in memory and are staged beside (`runs/<run id>/`), so that a partial launch can be looked at
and a failed run can be taken up again. Inputs come from this run, else from the newest commit. Nothing here makes a
table visible to readers, but for the appended ones (`enrichment`, `vectors`, `completions`), whose rows are keyed by
content and change nothing that was there.
"""

from typing import Any

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Store, overtaken, refusing
from memory_pipeline.runs import inputs
from memory_pipeline.schemas import TABLES


class Frames(dg.IOManager):
    """The tables of one run."""

    def __init__(self, store: Store, *, run_ids: tuple[str, ...]) -> None:
        """Start with no table.

        Args:
            store: the data folder.
            run_ids: the run, then the runs that it takes up again.
        """
        self._store = store
        self._run_ids = run_ids
        self._frames: dict[str, pl.DataFrame] = {}

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Keep a table for the stages after it."""
        name, dry = context.asset_key.path[-1], self._store.run.dry
        table, frame, lake = TABLES[name], obj, self._store.lake
        with refusing(), overtaken(context.step_context.instance, self._run_ids[0]):
            if table.write_mode == "appended" and name != "events":
                if not dry:
                    lake.append(name, obj)
                frame = pl.concat([lake.read(name), obj]).unique(table.key, keep="first").sort(table.key)
            elif table.write_mode in ("replaced", "per_run") and not dry:
                lake.stage(self._run_ids[0], name, frame)
        self._frames[name] = frame

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """Return a table to an asset of another project that takes it as an argument."""
        return self.table(context.asset_key.path[-1])

    def table(self, name: str) -> pl.DataFrame:
        """Return a table of this run, else of the newest commit."""
        if name not in self._frames:
            self._frames[name] = self._elsewhere(name)
        return self._frames[name]

    def own(self, name: str) -> bool:
        """Whether this run has made the table."""
        return name in self._frames or self._staged(name) is not None

    def _elsewhere(self, name: str) -> pl.DataFrame:
        if TABLES[name].write_mode == "in_ledger" or name == "events":
            return inputs.known(self._store.lake, name, self.table("profiles"))
        staged = self._staged(name)
        return self._store.lake.read(name) if staged is None else staged

    def _staged(self, name: str) -> pl.DataFrame | None:
        found = (self._store.lake.staged(run_id, name) for run_id in self._run_ids)
        return next((frame for frame in found if frame is not None), None)


@dg.io_manager(required_resource_keys={"store"}, description="Hands tables from asset to asset.")
def frames(context: dg.InitResourceContext) -> Frames:
    """Give each run its own tables."""
    run = context.run
    chain = (run.run_id, run.parent_run_id, run.root_run_id) if run else ()
    return Frames(context.resources.store, run_ids=tuple(run_id for run_id in chain if run_id))
