"""The steps with lasting effects: the commit, which materialises the assets that it changed, and the snapshot."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import polars as pl

from memory_pipeline.assets import catalogue, facts
from memory_pipeline.assets.figures import describe, plan_table
from memory_pipeline.assets.lineage import column_lineage
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.resources import Store, overtaken, refusing, store_of
from memory_pipeline.assets.run_tags import describing
from memory_pipeline.assets.steps import Tables, givers, united
from memory_pipeline.engine.in_order import EngineError
from memory_pipeline.lake import snapshot as duckdb_file
from memory_pipeline.lake.tables import StaleInstant
from memory_pipeline.llm.openai import CompletionUnavailable
from memory_pipeline.recall.live.state import publish_indexes
from memory_pipeline.runs import changes, commit, consolidate, inputs


def commit_step(names: Namespace) -> dg.OpDefinition:
    """Make the step that commits the plan, and says what that changed.

    Every asset is an optional output: a run that finds nothing new (see `changes.idle`) materialises none but, if it
    was a full one, its own record. A partial run is noted as an observation of that record.
    """
    store_key, manager = names.name("store"), names.name("io_manager")

    @dg.op(
        name=names.name("commit_plan"),
        description="Checks the plan once more and makes it visible in one transaction, or changes nothing.",
        ins={step: dg.In() for step in givers(commit.COMMITTED_FROM)},
        out={"committed": dg.Out(dg.Nothing)}
        | {name: dg.Out(io_manager_key=manager, is_required=False) for name in catalogue.TABLES}
        | {catalogue.COMMIT: dg.Out(is_required=False)},
        required_resource_keys={store_key},
        pool=names.name("writes"),
    )
    def commit_plan(context: dg.OpExecutionContext, **handed: Tables) -> Iterator[Any]:
        store, tables = store_of(context, names), united(handed)
        before = facts.published(store.lake)
        with (
            overtaken(context.instance, context.run_id),
            refusing(commit.InvariantBroken, CompletionUnavailable, EngineError, StaleInstant),
        ):
            _, committed = _committed(
                store,
                tables,
                run_id=context.run_id,
                started_at=_started(context),
                say=context.log.info,
                warn=context.log.warning,
            )
        after = facts.published(store.lake)
        if not changes.idle(store.lake, context.run_id):
            news = facts.changed(context.instance, names, before, after)
            yield from _materialised(names, tables | commit.published(committed), news, after)
        runs = store.lake.ledger.runs().filter(run_id=context.run_id)  # with those of profiles that were left alone
        metadata = _counts(committed["consolidation_plan"], runs) | {
            "undo": dg.MetadataValue.md(f"`memory-pipeline --home {store.home} undo {context.run_id}`")
        }
        yield _record(names, runs, metadata, facts.whole(after))
        yield dg.Output(None, "committed")

    return commit_plan


def _committed(store: Store, tables: Tables, **run: Any) -> tuple[dict[str, int], Tables]:
    """Commit the plan, a reviewed one whole or not at all; return each profile's position, and the tables committed."""
    if store.run.plan_file:
        policies = inputs.policies(store.settings, tables["profiles"])
        return commit.commit(store.lake, tables, policies, whole=True, left_out=store.left_out, **run), tables
    return consolidate.commit_all(store.lake, store.settings, tables, **run)


def _materialised(
    names: Namespace, tables: Tables, news: Mapping[str, str], versions: facts.Versions
) -> Iterator[dg.MaterializeResult[pl.DataFrame]]:
    """Report each table that has changed with its figures, the lineage of its columns, and its version."""
    for name in catalogue.TABLES:
        if name in news:
            lineage = column_lineage(name, catalogue.STAGE_OF[name].takes if name in catalogue.STAGE_OF else (), names)
            yield dg.MaterializeResult(
                asset_key=names.key(name),
                value=tables[name],
                data_version=dg.DataVersion(news[name]),
                metadata=describe(name, tables[name])
                | {"dagster/row_count": versions[name].rows}
                | ({"dagster/column_lineage": lineage} if lineage else {}),
            )


def _record(
    names: Namespace, runs: pl.DataFrame, metadata: Mapping[str, Any], version: str
) -> dg.MaterializeResult[None] | dg.AssetObservation:
    """Return the record of a commit: of a full run over whole profiles a materialisation, else an observation."""
    values = {**metadata, **{name.partition("/")[2]: value for name, value in describing(runs).items()}}
    key = names.key(catalogue.COMMIT)
    if runs.height and runs.filter(task="full", scope="all").height == runs.height:
        return dg.MaterializeResult(asset_key=key, metadata=values, data_version=dg.DataVersion(version))
    return dg.AssetObservation(key, metadata=values)


def _counts(plan: pl.DataFrame, runs: pl.DataFrame) -> dict[str, Any]:
    """Return how much a commit changed, and the plan as a table."""
    held = plan.filter(pl.col("status") == "held").height
    return {
        "profiles": runs.height,
        "position": runs["commit_seq"].max() or 0,
        "decisions": plan.height - held,
        "held": held,
        "plan": plan_table(plan.with_columns(pl.col("status").replace("proposed", "committed"))),
    }


def _started(context: dg.OpExecutionContext) -> datetime | None:
    record = context.instance.get_run_record_by_id(context.run_id)
    return datetime.fromtimestamp(record.start_time, UTC) if record and record.start_time else None


def snapshot_step(names: Namespace) -> dg.OpDefinition:
    """Make the step that publishes the committed state: as a DuckDB file, and as the indexes that recall opens."""
    store_key = names.name("store")

    @dg.op(
        name=names.name("publish_snapshot"),
        description="Publishes the committed state as a DuckDB file, for whoever has DuckDB and nothing else, and the "
        "recall indexes of large profiles.",
        ins={"committed": dg.In(dg.Nothing)},
        out={catalogue.SNAPSHOT: dg.Out(is_required=False)},
        required_resource_keys={store_key},
    )
    def publish_snapshot(context: dg.OpExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        store = store_of(context, names)
        with refusing():
            path = duckdb_file.publish(store.lake)
            publish_indexes(store.lake, store.settings)
        context.log.info("[consolidation] snapshot %s, %.1f MB", path.name, path.stat().st_size / 1e6)
        key, version = names.key(catalogue.SNAPSHOT), facts.whole(facts.published(store.lake))
        if changes.idle(store.lake, context.run_id) or facts.is_reported(context.instance, key, version):
            return
        metadata: dict[str, dg.MetadataValue] = {
            "path": dg.MetadataValue.path(path),
            "bytes": dg.MetadataValue.int(path.stat().st_size),
        }
        if address := duckdb_file.address(store.lake):
            metadata["address"] = dg.MetadataValue.url(f"{address}{path.name}")
        yield dg.MaterializeResult(asset_key=key, metadata=metadata, data_version=dg.DataVersion(version))

    return publish_snapshot
