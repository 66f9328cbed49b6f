"""`events` and what belongs to the same state of the ledger: who takes part, what was decided, what was undone."""

import polars as pl

from memory_pipeline.assets.resources import Store
from memory_pipeline.assets.tables import tables
from memory_pipeline.runs import inputs


@tables(
    profiles="Who takes part in the run, from which state, under which policy.",
    events="What agents wrote, up to the instant and position of the run.",
    decisions="What earlier runs decided, up to the same state.",
    reverted="Decisions that were undone.",
)
def events(store: Store) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Read one state (as_of, seq) of the ledger."""
    profiles = store.participants()
    if not store.run.dry:
        store.lake.project()
    return (
        profiles,
        inputs.known(store.lake, "events", profiles),
        inputs.known(store.lake, "decisions", profiles),
        inputs.known(store.lake, "reverted", profiles),
    )
