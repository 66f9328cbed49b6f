"""What the pipeline reports to Dagster: a materialisation of each asset that changed, with a digest of its content."""

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg
from dagster._core.definitions.data_version import DATA_VERSION_TAG

from memory_pipeline.assets import catalogue
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import changes
from memory_pipeline.schemas import TABLES

_RECORDED: Final = frozenset(name for name in catalogue.TABLES if TABLES[name].write_mode == "appended")
"""Tables to which steps add before the commit."""

Versions = Mapping[str, changes.Version]


def published(lake: Lake) -> dict[str, changes.Version]:
    """Return the present version of every asset that is a table."""
    return changes.versions(lake, catalogue.TABLES)


def changed(instance: dg.DagsterInstance, names: Namespace, before: Versions, after: Versions) -> dict[str, str]:
    """Return the data version of each table that a commit or undo changed.

    A table to which a run adds before its commit has changed if it differs from what was last reported to Dagster.
    """
    reported = _reported(instance, [names.key(name) for name in after if name in _RECORDED])
    was = {name: reported.get(names.key(name)) if name in _RECORDED else before[name].digest for name in after}
    return {
        name: version.digest
        for name, version in after.items()
        if was[name] != version.digest and (was[name] or version.rows)
    }


def whole(versions: Versions) -> str:
    """Return the data version of all tables together."""
    return changes.digest_of(f"{name} {versions[name].digest}" for name in catalogue.TABLES)


def is_reported(instance: dg.DagsterInstance, key: dg.AssetKey, version: str) -> bool:
    """Return whether the last materialisation of an asset had this data version."""
    return _reported(instance, [key]).get(key) == version


def _reported(instance: dg.DagsterInstance, keys: list[dg.AssetKey]) -> dict[dg.AssetKey, str | None]:
    """Return the data version of the last materialisation of assets. Cost: one query of Dagster's index."""
    found = {}
    for record in instance.get_asset_records(keys):
        event = record.asset_entry.last_materialization
        materialised = event.asset_materialization if event else None
        found[record.asset_entry.asset_key] = (materialised.tags or {}).get(DATA_VERSION_TAG) if materialised else None
    return found


def report(context: dg.OpExecutionContext, lake: Lake, names: Namespace, before: Versions, metadata: Any) -> None:
    """Report what a job changed that is no run of the assets, such as an undo, since these versions of the tables."""
    after = published(lake)
    news = changed(context.instance, names, before, after)
    for name, version in (news | {catalogue.SNAPSHOT: whole(after)} if news else {}).items():
        context.log_event(dg.AssetMaterialization(names.key(name), metadata=metadata, tags={DATA_VERSION_TAG: version}))
