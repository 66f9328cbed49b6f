"""`events` and what belongs to the same state of the ledger: who takes part, what was decided, what was undone."""

import dagster as dg
import polars as pl

from memory_pipeline.assets.resources import Run, Store
from memory_pipeline.lake import participation


@dg.multi_asset(
    outs={
        "profiles": dg.AssetOut(description="Who takes part in the run, from which state, under which policy."),
        "events": dg.AssetOut(description="What agents wrote, up to the instant and position of the run."),
        "decisions": dg.AssetOut(description="What earlier runs decided, up to the same state."),
        "reverted": dg.AssetOut(description="Decisions that were undone."),
    }
)
def events(store: Store, run: Run) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Read one state (as_of, seq) of the ledger."""
    if not run.dry:
        store.lake.project()
    profiles = store.participants()
    return (
        profiles,
        participation.known(store.lake, "events", profiles),
        participation.known(store.lake, "decisions", profiles),
        participation.known(store.lake, "reverted", profiles),
    )
