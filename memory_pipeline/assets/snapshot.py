"""`snapshot`: the state after the commit as one DuckDB file."""

import dagster as dg

from memory_pipeline.assets.resources import Store, refusing
from memory_pipeline.lake import snapshot as duckdb_file


@dg.asset(deps=["consolidation_commit"])
def snapshot(store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Publish the committed state for whoever has DuckDB and nothing else."""
    with refusing():
        path = duckdb_file.publish(store.lake)
    return dg.MaterializeResult(metadata={"path": dg.MetadataValue.path(path), "bytes": path.stat().st_size})
