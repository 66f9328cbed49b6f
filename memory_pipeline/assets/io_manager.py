"""The one IO manager: an asset receives frames and returns frames, and opens no file.

Within a run tables stay in memory and are staged beside (`runs/<run id>/`), so that a partial launch can be looked at.
Inputs come from this run, else from the newest commit. Nothing here makes a table visible to readers, but for the
appended ones (`enrichment`, `vectors`), whose rows are keyed by content and change nothing that was there.
"""

from typing import Any

import dagster as dg
import polars as pl
from pydantic import PrivateAttr

from memory_pipeline.assets.figures import describe
from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.lake import participation
from memory_pipeline.lake.schemas import TABLES


class LakeIOManager(dg.ConfigurableIOManager):
    """Moves tables between assets, staging folder and lake."""

    store: dg.ResourceDependency[Store]
    run: dg.ResourceDependency[Run]
    _frames: dict[tuple[str, str], pl.DataFrame] = PrivateAttr(default_factory=dict)

    def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
        """Keep a table for the stages after it."""
        name = context.asset_key.path[-1]
        table = TABLES[name]
        frame = table.conform(obj)
        context.add_output_metadata(describe(name, frame))
        if table.kept == "appended" and name != "events":
            if not self.run.dry:
                self.store.lake.append(name, frame)
            frame = self._visible(name, frame)
        elif table.kept == "replaced" and not self.run.dry:
            self.store.lake.stage(context.run_id, name, frame)
        self._frames[context.run_id, name] = frame

    def load_input(self, context: dg.InputContext) -> pl.DataFrame:
        """Return a table of this run, else of the newest commit."""
        upstream = context.asset_key.path[-1]
        run_id = context.step_context.run_id
        frame = self._frames.get((run_id, upstream))
        if frame is None:
            frame = self._frames[run_id, upstream] = self._elsewhere(run_id, upstream)
        return frame

    def _elsewhere(self, run_id: str, name: str) -> pl.DataFrame:
        table, lake = TABLES[name], self.store.lake
        if table.kept == "ledger" or name == "events":
            return participation.known(self.store.lake, name, self._staged(run_id, "profiles"))
        if table.kept == "appended":
            return lake.read(name)
        return self._staged(run_id, name)

    def _staged(self, run_id: str, name: str) -> pl.DataFrame:
        frame = self._frames.get((run_id, name))
        if frame is None:
            frame = self.store.lake.staged(run_id, name)
        return self.store.lake.read(name) if frame is None else frame

    def _visible(self, name: str, new: pl.DataFrame) -> pl.DataFrame:
        table = TABLES[name]
        return pl.concat([self.store.lake.read(name), new]).unique(table.key, keep="first").sort(table.key)
