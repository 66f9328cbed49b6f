"""Fading groups (cognitive-memory): similar memories of low retention that one memory can supersede.

Not here: how a memory fades (`scoring`), and greedy grouping itself (`greedy`).
"""

from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.groups import greedy
from memory_pipeline.consolidation.groups.strategies.strategy import (
    IN_CONFLICT,
    ClusteringInput,
    ClusteringResult,
    Strategy,
    grouped,
)

KIN = ("profile_id", "user_id", "agent_id", "category", "valid_until")
"""Columns that all members of a group share."""


def find(inputs: ClusteringInput) -> ClusteringResult:
    """Group live memories with retention below `fading_retention`, neither core nor superseded, greedily by age.

    Each memory in turn takes the first others of its own user, agent, category and end of validity whose cosine to it
    is at least `fading_similarity`, until the group has `fading_size` members (all of them under `fading_fill`); if
    there are too few, they stay free for later memories. Two memories joined by a conflict edge are never in one group.

    Costs the similarity join, and little per near pair; copies of one text cost no more than one.
    """
    policy = inputs.policy
    fading = pl.col("retention") < policy.fading_retention
    rows = inputs.rows(
        pl.col("mergeable")
        & pl.col("live")
        & fading
        & (pl.col("category") != "core")
        & pl.col("superseded_by").is_null()
    )
    conflicts = inputs.links(rows, IN_CONFLICT)
    apart = conflicts["left"].to_numpy(), conflicts["right"].to_numpy()
    position = np.arange(len(rows))  # a memory in a conflict is a node of its own, even among copies
    keys = inputs.points[rows].select(
        pl.Series("position", position),
        kin=pl.struct(KIN).rank("dense").cast(pl.Int64),
        text="content_hash",
        alone=pl.Series(np.where(np.isin(position, apart), position, -1)),
    )
    first = keys.select(pl.col("position").first().over("kin", "text", "alone")).to_series().to_numpy()
    heads, nodes = np.unique(first, return_inverse=True)
    kin = keys["kin"].to_numpy()[heads]
    near = similarity.threshold_join(inputs.space[rows[heads]], kin, policy.fading_similarity)
    labels = greedy.greedy_groups(
        nodes, near.left, near.right, policy.fading_size, fill=policy.fading_fill, apart=apart
    )
    return ClusteringResult(grouped(rows, labels, policy.fading_size))


STRATEGY: Final = Strategy(find, "consolidation", supersedes=True, order=20)
