"""What a run of scope recent decides: only what concerns sessions in which something was stored since the last one.

What is not here: since when (`lake.participation`), and what there is to decide (`stages`).
"""

import polars as pl

from memory_pipeline.consolidation.scoring import KEY


def recent(profiles: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Memories of the sessions in which something was stored since the last reflection."""
    originals = memories.filter(pl.col("kind") == "original").join(profiles, on="profile_id", suffix="_profile")
    new = originals.filter(pl.col("seq") > pl.col("since")).select(*KEY, "session_id")
    touched = originals.join(new, on=["profile_id", "session_id"], how="semi")
    return pl.concat([touched.select(KEY), new.select(KEY)]).unique()


def about(found: pl.DataFrame, summaries: pl.DataFrame, archived: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Summaries with a recent member, and what they take the place of."""
    made = touching(found, summaries.explode("members"), "members").select("profile_id", "summary_id").unique()
    about = made.rename({"summary_id": "target_id"})
    return (
        summaries.join(made, on=["profile_id", "summary_id"], how="semi"),
        archived.join(about, on=["profile_id", "target_id"], how="semi"),
    )


def touching(found: pl.DataFrame, rows: pl.DataFrame, *ends: str) -> pl.DataFrame:
    """Rows of which one end is recent."""
    numbered = rows.with_row_index("row")
    met = [
        numbered.join(found.rename({"memory_id": end}), on=["profile_id", end], how="semi").select("row")
        for end in ends
    ]
    return numbered.join(pl.concat(met).unique(), on="row", how="semi", maintain_order="left").drop("row")
