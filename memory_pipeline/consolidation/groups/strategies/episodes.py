"""Episodes: what was said in one go, and above them sessions and agents.

Episodes are history. A memory that has left the live set still belongs to its episode, so that a summary keeps standing
for all that happened when parts of it are forgotten. What is not here: what such a summary says (`wording`).
"""

from datetime import timedelta
from typing import Final

import polars as pl

from memory_pipeline.consolidation.groups.strategies.strategy import Found, Scene, Strategy

AGENT_SESSIONS: Final = 100
"""Most sessions that the summary of an agent draws on: it is to be read, however long the agent has lived."""
_LEVELS: Final = 3
_SESSION: Final = ["profile_id", "session_id"]


def find(scene: Scene) -> Found:
    """Group memories by session and time, at the levels that `episode_levels` names.

    - episode: memories of one session, without a pause longer than `episode_gap_minutes` between one and the next;
      after `cluster_max_size` of them the next episode begins, so that a session that goes on changes none before.
    - session: all memories of a session that has several episodes; if no episodes are asked for, of any session.
    - agent: of each session that an agent began, its most important memory (of equals the oldest); of more than
      `AGENT_SESSIONS` sessions those whose memory is most important. A session belongs to the first agent named in it.
      What has left the live set for the sake of the agent's summary goes before: no other summary tells of it.

    A group has at least two memories, and its parent is the next larger group that its session is in. Memories without
    a session are in no episode. Costs O(n·log n).
    """
    told = _told(scene.points, timedelta(minutes=scene.policy.episode_gap_minutes), scene.policy.cluster_max_size)
    levels = scene.policy.episode_levels
    several = pl.lit("episode" not in levels) | (pl.col("episode").n_unique().over("session") > 1)
    made = {
        level: found.filter((pl.len().over(level) > 1) & (level in levels))
        for level, found in (("episode", told), ("session", told.filter(several)), ("agent", _telling(told)))
    }
    session, agent = (
        pl.when(pl.col(level).is_in(made[level][level].unique().implode())).then(level)
        for level in ("session", "agent")
    )
    nobody = pl.lit(None, pl.Int64)
    parents = {"episode": pl.coalesce(session, agent), "session": agent, "agent": nobody}
    return Found(
        pl.concat(
            found.select("row", group=level, level=pl.lit(level), parent=parents[level])
            for level, found in made.items()
        )
    )


def _told(points: pl.DataFrame, pause: timedelta, longest: int | None) -> pl.DataFrame:
    """Memories with a session, in order of time, with the numbers of their episode, session and agent.

    A group is numbered by its first row, and numbers of different levels never meet.
    """
    ordered = (
        points.filter(pl.col("session_id").is_not_null())
        .select("row", *_SESSION, "agent_id", "created_at", "memory_id", "importance", "told_by_agent")
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


def _telling(told: pl.DataFrame) -> pl.DataFrame:
    """The most important memory of each session, and of each agent the most important of these."""
    best = (
        told.drop_nulls("agent")
        .sort("told_by_agent", "importance", "created_at", "memory_id", descending=[True, True, False, False])
        .filter(pl.col("told_by_agent") | (pl.col("row").cum_count().over("session") == 1))
    )
    return best.filter(pl.col("row").cum_count().over("agent") <= AGENT_SESSIONS)


STRATEGY: Final = Strategy(find, "episode", place=50)
