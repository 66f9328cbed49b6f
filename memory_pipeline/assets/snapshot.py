"""`snapshot`: the state after the commit as one DuckDB file."""

import dagster as dg

from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import refusing, store_of
from memory_pipeline.lake import snapshot as duckdb_file


def snapshot_asset(names: Namespace, *, code_version: str) -> dg.AssetsDefinition:
    """Make the step that publishes the committed state for whoever has DuckDB and nothing else."""
    store_key = names.name("store")

    @dg.asset(
        key=names.key("snapshot"),
        deps=[names.key("consolidation_commit")],
        description="Publishes the committed state as a DuckDB file, for whoever has DuckDB and nothing else.",
        code_version=code_version,
        required_resource_keys={store_key},
    )
    def snapshot(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        store = store_of(context, names)
        with refusing():
            path = duckdb_file.publish(store.lake)
        context.log.info("[consolidation] snapshot %s, %.1f MB", path.name, path.stat().st_size / 1e6)
        metadata: dict[str, dg.MetadataValue] = {
            "path": dg.MetadataValue.path(path),
            "bytes": dg.MetadataValue.int(path.stat().st_size),
        }
        if address := duckdb_file.address(store.lake):
            metadata["address"] = dg.MetadataValue.url(f"{address}{path.name}")
        return dg.MaterializeResult(metadata=metadata)

    return snapshot
