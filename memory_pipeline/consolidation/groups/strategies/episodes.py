"""Episodes (Engram, ADR-0008): memories stored in one stretch, and above them sessions and agents.

Episodes are history. A memory that has left the live set still belongs to its episode, so that a summary covers
everything that happened even when parts of it are forgotten. Not here: how such a summary is worded (`extracts`).
"""

from datetime import timedelta
from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups.strategies.strategy import ClusteringInput, ClusteringResult, Strategy

AGENT_SESSIONS: Final = 100
"""Maximum number of sessions that an agent's summary draws on, so that it stays readable however long the agent
lives."""
_LEVELS: Final = 3
_SESSION: Final = ["profile_id", "session_id"]


def find(inputs: ClusteringInput) -> ClusteringResult:
    """Group memories by session and time, at the levels that `episode_levels` names.

    - episode: memories of one session without a pause longer than `episode_gap_minutes`; after `cluster_max_size`
      memories the next episode begins, so that a continuing session never changes an earlier episode.
    - session: all memories of a session that has several episodes; of any session if episodes are not enabled.
    - agent: the most important memory (of equals the oldest) of each session that an agent began; if there are more
      than `AGENT_SESSIONS` sessions, those whose memory is most important. A session belongs to the first agent named
      in it. Memories that left the live set for the agent's summary come first, since no other summary covers them.

    A group has at least two memories, and its parent is the next larger group that contains its session. Memories
    without a session are in no episode. Costs O(n·log n).
    """
    numbered = _numbered(
        inputs.points, timedelta(minutes=inputs.policy.episode_gap_minutes), inputs.policy.cluster_max_size
    )
    levels = inputs.policy.episode_levels
    several = pl.lit("episode" not in levels) | (pl.col("episode").n_unique().over("session") > 1)
    by_level = {
        level: members.filter((pl.len().over(level) > 1) & (level in levels))
        for level, members in (
            ("episode", numbered),
            ("session", numbered.filter(several)),
            ("agent", _representative(numbered)),
        )
    }
    session, agent = (
        pl.when(pl.col(level).is_in(by_level[level][level].unique().implode())).then(level)
        for level in ("session", "agent")
    )
    no_parent = pl.lit(None, pl.Int64)
    parents = {"episode": pl.coalesce(session, agent), "session": agent, "agent": no_parent}
    return ClusteringResult(
        pl.concat(
            members.select("row", group=level, level=pl.lit(level), parent=parents[level])
            for level, members in by_level.items()
        )
    )


def _numbered(points: pl.DataFrame, pause: timedelta, longest: int | None) -> pl.DataFrame:
    """Return memories with a session, in order of time, with the numbers of their episode, session and agent.

    A group is numbered by its first row; numbers of different levels are distinct.
    """
    ordered = (
        points.filter(pl.col("session_id").is_not_null())
        .select("row", *_SESSION, "agent_id", "created_at", "memory_id", "importance", "in_agent_summary")
        .sort(*_SESSION, "created_at", "memory_id")
    )
    starts = (pl.col("created_at").diff().over(_SESSION) > pause).fill_null(value=True)
    agent = pl.col("agent_id").drop_nulls().first().over(_SESSION)
    numbered = ordered.with_columns(agent_id=agent, spell=starts.cum_sum())
    part = pl.lit(0) if longest is None else (pl.col("row").cum_count().over("spell") - 1) // longest
    first = pl.col("row").min() * _LEVELS
    return numbered.with_columns(part=part).with_columns(
        episode=first.over("spell", "part"),
        session=first.over(_SESSION) + 1,
        agent=pl.when(pl.col("agent_id").is_not_null()).then(first.over("profile_id", "agent_id") + 2),
    )


def _representative(numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the most important memory of each session, and of each agent the most important of these."""
    best = (
        numbered.drop_nulls("agent")
        .sort("in_agent_summary", "importance", "created_at", "memory_id", descending=[True, True, False, False])
        .filter(pl.col("in_agent_summary") | (pl.col("row").cum_count().over("session") == 1))
    )
    return best.filter(pl.col("row").cum_count().over("agent") <= AGENT_SESSIONS)


STRATEGY: Final = Strategy(find, "episode", order=50)
