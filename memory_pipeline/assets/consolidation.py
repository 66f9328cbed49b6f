"""The graph of steps that makes all assets, as Dagster sees it: in every run all steps, and of the assets what changed.

Materialising any asset runs the whole graph: none is published unless a plan was made, checked and committed.
"""

from typing import Any, Final

import dagster as dg

from memory_pipeline.assets import catalogue, steps
from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.publication import commit_step, snapshot_step
from memory_pipeline.runs.commit import COMMITTED_FROM

ASSETS: Final = (*catalogue.TABLES, catalogue.COMMIT, catalogue.SNAPSHOT)
"""Bare names of the assets, in the order of the graph."""


def consolidation(names: Namespace) -> dg.AssetsDefinition:
    """Make the assets and the graph that makes them."""
    read, commit, publish = steps.reading_step(names), commit_step(names), snapshot_step(names)
    groups = {group: steps.stages_step(group, names) for group in catalogue.STAGES}

    @dg.graph(name=names.name("consolidation"), out={name: dg.GraphOut() for name in ASSETS})
    def graph() -> dict[str, Any]:
        handed = {steps.LEDGER: read.alias("ledger")()}
        for group, make in groups.items():
            alias = make.alias("plan" if group == steps.PLAN else group)
            handed[group] = alias(**{step: handed[step] for step in make.ins})
        committed = commit.alias("commit")(**{step: handed[step] for step in steps.givers(COMMITTED_FROM)})
        made = {name: getattr(committed, name) for name in (*catalogue.TABLES, catalogue.COMMIT)}
        return made | {catalogue.SNAPSHOT: publish.alias("snapshot")(committed.committed)}

    sources = catalogue.sources()
    return dg.AssetsDefinition.from_graph(
        graph,
        keys_by_output_name={name: names.key(name) for name in ASSETS},
        internal_asset_deps={name: {names.key(other) for other in sources[name]} for name in ASSETS},
    )
