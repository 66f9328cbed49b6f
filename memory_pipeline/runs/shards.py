"""Cuts a store into shards: profiles with the same hash, which a run has in memory, and commits, together.

The files lie by the same hash (`lake/publishing.py`).
"""

from collections.abc import Collection, Iterator
from typing import Final

import polars as pl

from memory_pipeline.lake import publishing
from memory_pipeline.settings import Settings

MEMORIES: Final = 100_000
"""Memories for which a store gets another shard, where the setting `shards` leaves it to its size."""


def count(settings: Settings, memories: int) -> int:
    """Return the number of shards of a store with so many memories: the setting, else a power of two."""
    return settings.shards or 1 << max(0, (memories - 1) // MEMORIES).bit_length()


def cut(profiles: pl.DataFrame, shards: int) -> Iterator[pl.DataFrame]:
    """Yield the rows of the table `profiles` by shard, skipping empty shards; without any profile, one empty table."""
    of_profile = [publishing.shard_of(profile_id, shards) for profile_id in profiles["profile_id"]]
    for number in sorted(set(of_profile)):
        yield profiles.filter(pl.Series(of_profile) == number)
    if profiles.is_empty():
        yield profiles


def split(profile_ids: Collection[str], settings: Settings) -> dict[int, list[str]]:
    """Return profiles by number of their shard, shards without one left out; all in 0 if no `shards` are set."""
    by_shard: dict[int, list[str]] = {}
    for one in profile_ids:
        by_shard.setdefault(publishing.shard_of(one, settings.shards or 1), []).append(one)
    return dict(sorted(by_shard.items()))


def within(profile_ids: Collection[str], chosen: Collection[int], settings: Settings) -> list[str]:
    """Return the profiles of the chosen shards, numbered from 0; of all if none is chosen.

    Raises ValueError: the setting `shards` is 0, so that the shards change as the store grows, or there is no such
    shard.
    """
    if not chosen:
        return list(profile_ids)
    if not settings.shards:
        raise ValueError("shards is chosen, but their number follows the store's size; set the setting shards first")
    if wrong := sorted(number for number in chosen if not 0 <= number < settings.shards):
        raise ValueError(
            f"shards is {wrong[0]}, and the store has shards 0 to {settings.shards - 1}; choose one of them"
        )
    return [one for one in profile_ids if publishing.shard_of(one, settings.shards) in chosen]
