"""`events`, and what belongs to the same state of the ledger: who takes part, what was decided, what was undone."""

from collections.abc import Iterator

import dagster as dg
import polars as pl

from memory_pipeline.assets import checks
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import overtaken, refusing, store_of
from memory_pipeline.assets.stage_assets import asset_outs, results
from memory_pipeline.erasure.erase import resume_erasure

TABLES_READ = ("profiles", "events", "decisions", "reverted")


def events_asset(names: Namespace, *, code_version: str) -> dg.AssetsDefinition:
    """Make the step that reads one state (as_of, seq) of the ledger."""
    store_key = names.name("store")

    @dg.multi_asset(
        name=names.name("events"),
        description="Reads one state (as_of, seq) of the ledger: new events are projected into the lake first.",
        outs=asset_outs(names, TABLES_READ, code_version),
        check_specs=[checks.schema_and_grain(names.key(name)) for name in TABLES_READ],
        required_resource_keys={store_key},
    )
    def events(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[pl.DataFrame]]:
        store = store_of(context, names)
        with refusing(), overtaken(context.instance, context.run.run_id):
            resume_erasure(store.lake)
            profiles = store.participants()
            store.lake.project()
            read = {name: store.read(name, profiles) for name in TABLES_READ if name != "profiles"}
        context.log.info("[consolidation] profiles in this run: %d", profiles.height)
        yield from results({"profiles": profiles} | read, names, {})

    return events
