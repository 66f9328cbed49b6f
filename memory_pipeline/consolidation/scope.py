"""Limits a run of scope `recent` to the sessions that received new memories since the last reflection.

Not here: since when (`runs.inputs`), and what the run would decide without the limit (`stages`).
"""

import polars as pl

from memory_pipeline.consolidation.columns import KEY


def recent(profiles: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Select the memories of all sessions in which something was stored since the last reflection.

    Returns:
        profile_id and memory_id, each memory once.
    """
    originals = memories.filter(pl.col("kind") == "original").join(profiles, on="profile_id", suffix="_profile")
    new = originals.filter(pl.col("seq") > pl.col("since")).select(*KEY, "session_id")
    touched = originals.join(new, on=["profile_id", "session_id"], how="semi")
    return pl.concat([touched.select(KEY), new.select(KEY)]).unique()


def about(
    recent_memories: pl.DataFrame, summaries: pl.DataFrame, archived: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keep the summaries that have a recent member, and the supersessions by those summaries."""
    concerned = (
        touching(recent_memories, summaries.explode("members"), "members").select("profile_id", "summary_id").unique()
    )
    targets = concerned.rename({"summary_id": "target_id"})
    return (
        summaries.join(concerned, on=["profile_id", "summary_id"], how="semi"),
        archived.join(targets, on=["profile_id", "target_id"], how="semi"),
    )


def touching(recent_memories: pl.DataFrame, rows: pl.DataFrame, *ends: str) -> pl.DataFrame:
    """Keep the rows in which at least one of the columns `ends` names a recent memory."""
    numbered = rows.with_row_index("row")
    matches = [
        numbered.join(recent_memories.rename({"memory_id": end}), on=["profile_id", end], how="semi").select("row")
        for end in ends
    ]
    return numbered.join(pl.concat(matches).unique(), on="row", how="semi", maintain_order="left").drop("row")
