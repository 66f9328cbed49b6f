"""What each policy would keep, link, merge and forget of the same memories, night after night; nothing is written.

What is not here: how well the kept memories answer questions, and how the table is shown (`service/`).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation import pipeline, projection
from memory_pipeline.lake.schemas import LIVE, TABLES, Action, Lifecycle
from memory_pipeline.settings import Policy
from memory_pipeline.text.tokens import count_tokens

KEY: Final = ["profile_id", "memory_id"]
COLUMNS: Final[dict[str, str]] = {
    "preset": "Policy, by the name of its preset.",
    "originals": "Memories that agents stored.",
    "live": "Originals that are still live.",
    "summaries": "Live summaries.",
    "tokens_share": "Tokens of all live memories, summaries among them, as a share of the originals'.",
    "edges": "Edges at the end, derived ones among them.",
    "links": "Edges that the runs decided.",
    "pruned": "Edges that the runs pruned.",
    "merged": "Originals whose place a summary takes.",
    "closed": "Originals whose fact a newer memory changed; they stay.",
    "archived": "Archived without a summary.",
    "cold": "Cold or stub without a summary.",
    "expired": "Expired for want of energy.",
    "deleted": "Deleted.",
    "warm": "Live originals that became warm.",
    "promoted": "Rises to a higher tier of energy.",
    "core": "Originals of category core.",
    "blocks": "Characters of core memory.",
    "held": "Decisions that the quota held back in the last run.",
    "seconds": "Wall time of all runs.",
}
"""What each figure counts."""

Events = Callable[[datetime], pl.DataFrame]


def compare(
    events: Events,
    policies: Mapping[str, Policy],
    *,
    nights: Sequence[datetime],
    progress: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """Consolidate the same memories under each policy in memory, one full run a night, and count what became of them.

    Args:
        events: gives the table `events` as it stands at an instant.
        policies: the policies, by the name to show.
        nights: clocks of the runs, ascending.
        progress: called with the name of each policy before its runs.

    Returns:
        One row a policy in the order given, with the columns of `COLUMNS`.

    Raises:
        ValueError: there are no nights, or nothing had been stored by the last one.
    """
    if not nights or list(nights) != sorted(set(nights)):
        raise ValueError(f"nights = {list(nights)}: give one instant or more, ascending")
    if events(nights[-1]).filter(pl.col("memory_id").is_not_null()).is_empty():
        raise ValueError(
            f"nothing had been stored by {nights[-1].isoformat()}; import memories or choose a later night"
        )
    rows = []
    for name, policy in policies.items():
        if progress is not None:
            progress(name)
        rows.append({"preset": name} | _figures(events, policy, nights))
    return pl.DataFrame(rows).select(list(COLUMNS))


def _figures(events: Events, policy: Policy, nights: Sequence[datetime]) -> dict[str, Any]:
    """Run every night under one policy and count."""
    began = time.perf_counter()
    decisions, reverted = TABLES["decisions"].empty(), TABLES["reverted"].empty()
    read_out = {name: TABLES[name].empty() for name in ("enrichment", "vectors", "completions")}
    held = 0
    for number, night in enumerate(nights, 1):
        known = events(night)
        profiles = _everyone(known, policy, night, position=number)
        if profiles.is_empty():
            continue
        given = {"profiles": profiles, "events": known, "decisions": decisions, "reverted": reverted}
        made = pipeline.run(given | read_out, {policy.digest: policy})
        read_out = {name: made[name] for name in read_out}
        plan = made["consolidation_plan"]
        held = plan.filter(pl.col("status") == "held").height
        taken = plan.filter(pl.col("status") != "held").with_columns(
            status=pl.lit("committed"), seq=pl.lit(number, pl.Int64)
        )
        decisions = TABLES["decisions"].conform(pl.concat([decisions, taken]))
    seconds = time.perf_counter() - began
    in_force = projection.unmasked(decisions, reverted)
    state = projection.fold(known, in_force)
    edges = made["association_edges"]
    return _counts(state, in_force) | {"edges": edges.height, "held": held, "seconds": round(seconds, 2)}


def _everyone(known: pl.DataFrame, policy: Policy, night: datetime, *, position: int) -> pl.DataFrame:
    own = known.filter(pl.col("memory_id").is_not_null())["profile_id"].unique().sort().to_list()
    return pipeline.participants(
        dict.fromkeys(own, policy), ledger_digest="compared", as_of=night, seq=position, heads={}, since={}
    )


def _counts(state: projection.State, in_force: pl.DataFrame) -> dict[str, Any]:
    memories = state.memories.with_columns(tokens=count_tokens(state.memories["content"]))
    original, live = pl.col("kind") == "original", pl.col("lifecycle").is_in(LIVE)
    alone = original & (pl.col("superseded_kind").is_null() | (pl.col("superseded_kind") != "summary"))

    def gone(*lifecycles: Lifecycle) -> pl.Expr:
        return (alone & pl.col("lifecycle").is_in([lifecycle.value for lifecycle in lifecycles])).sum()

    counted = memories.select(
        originals=original.sum(),
        live=(original & live).sum(),
        summaries=(~original & live).sum(),
        tokens_share=pl.col("tokens").filter(live).sum()
        / pl.max_horizontal(pl.col("tokens").filter(original).sum(), 1),
        merged=(original & (pl.col("superseded_kind") == "summary")).sum(),
        closed=(original & (pl.col("superseded_kind") == "update")).sum(),
        archived=gone(Lifecycle.ARCHIVED),
        cold=gone(Lifecycle.COLD, Lifecycle.STUB),
        expired=gone(Lifecycle.EXPIRED),
        deleted=gone(Lifecycle.DELETED),
        warm=(original & (pl.col("lifecycle") == Lifecycle.WARM.value)).sum(),
        core=(original & (pl.col("category") == "core")).sum(),
    ).row(0, named=True)
    return counted | {
        "links": in_force.filter(pl.col("action") == Action.LINK.value).height,
        "pruned": in_force.filter(pl.col("action") == Action.PRUNE.value).height,
        "promoted": state.tier_changes.height,
        "blocks": int(state.blocks["content"].str.len_chars().sum()),
    }
