"""Fading memories about one thing: groups of a certain size that one memory can stand for.

What is not here: how a memory fades (`scoring`), and taking rows in turn (`greedy`).
"""

from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import similarity
from memory_pipeline.consolidation.groups import greedy
from memory_pipeline.consolidation.groups.strategies.strategy import IN_CONFLICT, Found, Scene, Strategy, grouped

KIN = ("profile_id", "user_id", "agent_id", "category", "valid_until")
"""What all members of a group share."""


def find(scene: Scene) -> Found:
    """Group live memories whose retention is below `fading_retention`, neither core nor superseded, greedily by age.

    Each in turn takes the first others, of its own user, agent, category and end of validity, whose cosine to it is at
    least `fading_similarity`, until the group has `fading_size` members (all of them under `fading_fill`); one that
    does not find enough leaves them free for later ones. Two that an edge of kind conflict joins are never in one
    group.

    Costs the similarity join, and little for each near pair; copies of one text cost no more than one.
    """
    policy = scene.policy
    fading = pl.col("retention") < policy.fading_retention
    rows = scene.rows(
        pl.col("mergeable")
        & pl.col("live")
        & fading
        & (pl.col("category") != "core")
        & pl.col("superseded_by").is_null()
    )
    conflicts = scene.links(rows, IN_CONFLICT)
    apart = conflicts["left"].to_numpy(), conflicts["right"].to_numpy()
    place = np.arange(len(rows))  # one in a conflict stands alone, even among copies
    known = scene.points[rows].select(
        pl.Series("place", place),
        kin=pl.struct(KIN).rank("dense").cast(pl.Int64),
        text="content_hash",
        alone=pl.Series(np.where(np.isin(place, apart), place, -1)),
    )
    first = known.select(pl.col("place").first().over("kin", "text", "alone")).to_series().to_numpy()
    heads, nodes = np.unique(first, return_inverse=True)
    kin = known["kin"].to_numpy()[heads]
    near = similarity.threshold_join(scene.space[rows[heads]], kin, policy.fading_similarity)
    labels = greedy.greedy_groups(
        nodes, near.left, near.right, policy.fading_size, fill=policy.fading_fill, apart=apart
    )
    return Found(grouped(rows, labels, policy.fading_size))


STRATEGY: Final = Strategy(find, "consolidation", supersedes=True, place=20)
