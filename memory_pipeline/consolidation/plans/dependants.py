"""Which decisions build on others: what an undo takes back with them, and what a plan loses without them."""

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.schemas import Action


def of(decisions: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Return those of the decisions in force that build on some `chosen` of them, transitively; none of these.

    Every later decision about a summary builds on it; pruning an edge builds on its link, a promotion or a trim on the
    one before, and a stub on the cold decision.
    """
    key = ["profile_id", "decision_id"]
    collected = chosen
    while True:
        direct = _built_on(decisions.join(collected, on=key, how="anti"), collected)
        if direct.is_empty():
            return decisions.join(collected, on=key, how="semi").join(chosen, on=key, how="anti")
        collected = pl.concat([collected, direct.select(collected.columns)])


def _built_on(decisions: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    """Return decisions that directly build on a decision of `base`."""
    summaries = base.filter(does(Action.SUMMARISE)).select("profile_id", "memory_id", since="seq")
    building = [
        decisions.join(summaries.rename({"memory_id": end}), on=["profile_id", end]).filter(
            pl.col("seq") >= pl.col("since")
        )
        for end in ("memory_id", "target_id")
    ]
    edge = ["profile_id", "memory_id", "target_id", "edge_type"]
    typed = decision_json.read("after", {"edge_type": pl.String()})
    links = base.filter(does(Action.LINK)).with_columns(typed).select(*edge, since="seq")
    pruned = decisions.filter(does(Action.PRUNE)).with_columns(typed).join(links, on=edge)
    building.append(pruned.filter(pl.col("seq") >= pl.col("since")).drop("edge_type"))
    for first, then in ((Action.PROMOTE, Action.PROMOTE), (Action.TRIM, Action.TRIM), (Action.COLD, Action.STUB)):
        earlier = base.filter(pl.col("action") == first.value).group_by(KEY).agg(since=pl.col("seq").min())
        later = decisions.filter(pl.col("action") == then.value).join(earlier, on=KEY)
        building.append(later.filter(pl.col("seq") > pl.col("since")))
    return pl.concat(building).drop("since").unique(["profile_id", "decision_id"])
