"""Which tables are assets, in which group, and from which other assets each is made.

Tables that only serve a run, or the next one (what was compared, what is deferred, the state after the plan), are
handed from step to step and are no assets.
"""

from collections.abc import Mapping
from typing import Final

from memory_pipeline import schemas
from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.stage import Stage

COMMIT: Final = "consolidation_commit"
SNAPSHOT: Final = "snapshot"

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "ledger": ("events",),
    "memories": (
        *("memories", "decided_edges", "tier_changes", "core_memory_blocks"),
        *("enrichment", "vectors"),
    ),
    "associations": (
        *("derived_edges", "memory_importance", "scored_memories", "pair_readings", "verdicts", "fact_changes"),
        *("proposed_edges", "association_edges"),
    ),
    "proposals": (
        *("clusters", "cluster_members", "merge_refusals", "completions", "summaries"),
        *("promotions", "archived_set", "trims", "proposed_blocks"),
    ),
    "publication": ("consolidation_plan", COMMIT, SNAPSHOT),
}
"""The five groups, in the order of the graph: every arrow stays in its group or points to a later one."""

TABLES: Final = tuple(name for members in GROUPS.values() for name in members if name not in {COMMIT, SNAPSHOT})
"""The assets that are tables."""

INTERNAL: Final = ("profiles", "deferred", "score_history", "cluster_lineage")
"""Published tables that are no assets, beside those by which a stage reuses its last result."""

_UNPLACED: Final = [
    name
    for name, table in schemas.TABLES.items()
    if table.write_mode in {"replaced", "accumulated"} and name not in {*TABLES, *INTERNAL, *pipeline.REUSED}
]
if _UNPLACED:
    raise ValueError(
        f"table {_UNPLACED[0]} is in no group of assets; add it to GROUPS in memory_pipeline/assets/catalogue.py "
        "or, if it is for the next run alone, to INTERNAL there"
    )

STAGE_OF: Final[Mapping[str, Stage]] = {name: stage for stage in pipeline.ORDER for name in stage.gives}
"""The stage that makes a table."""

LEDGER: Final = ("profiles", "events", "decisions", "reverted")
"""Tables that the first step reads from the ledger."""


def _stages() -> dict[str, tuple[Stage, ...]]:
    """Return the stages that make assets of each group, with those whose tables only they take."""
    group_of = {name: group for group, members in GROUPS.items() for name in members}
    steps: dict[str, list[Stage]] = {group: [] for group in GROUPS if group != "ledger"}
    for stage in pipeline.ORDER:
        takers = [other for other in pipeline.ORDER if other is not stage and set(stage.gives) & set(other.takes)]
        made = [name for one in (stage, *takers) for name in one.gives if name in group_of]
        if not made and stage.name != pipeline.SETTLING:
            raise ValueError(
                f"stage {stage.name}: no asset is made of its tables ({', '.join(stage.gives)}): add one to GROUPS in "
                "memory_pipeline/assets/catalogue.py, or let a stage take it"
            )
        steps[group_of[made[0]] if made else "publication"].append(stage)
    return {group: tuple(stages) for group, stages in steps.items()}


STAGES: Final = _stages()
"""The stages that the step of each group runs; the last one plans the run, and settles the state after it."""


def sources() -> dict[str, set[str]]:
    """Return from which assets each is made; assets that follow from others are left out.

    A table that is no asset stands for those that it is made from.
    """
    made_from = {name: _assets_behind(name, frozenset()) for name in TABLES}
    made_from |= {COMMIT: set(TABLES), SNAPSHOT: {COMMIT}}
    behind: dict[str, set[str]] = {}

    def ancestors(name: str) -> set[str]:
        if name not in behind:
            behind[name] = made_from[name].union(*map(ancestors, made_from[name]))
        return behind[name]

    return {
        name: {one for one in direct if not any(one in ancestors(other) for other in direct - {one})}
        for name, direct in made_from.items()
    }


def _assets_behind(name: str, seen: frozenset[str]) -> set[str]:
    """Return the assets that a table is made from, directly or through tables that are no assets."""
    stage = STAGE_OF.get(name)
    found = set[str]()
    if stage is None:
        return found
    for taken in stage.takes:
        if taken in stage.gives or taken in seen:  # rows of the last run
            continue
        found |= {taken} if taken in TABLES else _assets_behind(taken, seen | {taken})
    return found
