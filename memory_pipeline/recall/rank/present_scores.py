"""Scores memories of every lifecycle at the instant of a query, for the published ranking formulas."""

from datetime import datetime

import polars as pl

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.edges import associations, centrality
from memory_pipeline.recall.rank.baselines import SCORES
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich
from memory_pipeline.text.score import importance


def present_scores(
    memories: pl.DataFrame, enrichment: pl.DataFrame, edges: pl.DataFrame, policy: Policy, *, now: datetime
) -> pl.DataFrame:
    """Score memories at an instant, as a run then would score the live ones: `memory_id` and the columns of `SCORES`.

    The memories are of one profile, with all uses counted; texts without a row of `enrichment` are enriched here; the
    edges may be of any age. Cost: O(memories + edges): about a second for 100,000 memories.
    """
    known = enrichment.select("profile_id", "content_hash", "rule_importance").unique(["profile_id", "content_hash"])
    if "importance" in policy.enrichments:
        new = enrich.texts(memories).join(known, on=["profile_id", "content_hash"], how="anti")
        known = pl.concat([known, enrich.enrich(new).select(known.columns)]) if new.height else known
    else:
        known = known.clear()
    present = associations.decay(edges, policy, as_of=now)
    measured = centrality.relations(memories, importance.effective(memories, known), present, policy, as_of=now)
    rows = memories.join(measured, on=["profile_id", "memory_id"], how="left", maintain_order="left")
    return scoring.factors(rows, policy, as_of=now).select("memory_id", *SCORES)
