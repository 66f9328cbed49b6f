"""Energy of memories (three-tier): what each touch adds, and how it decays in each tier.

A memory has energy 1 at creation; an access adds 1, a reinforcement half the cosine of the memory that reinforced it;
in between energy decays exponentially at the rate of the tier that the memory is in. Energy is always computed from the
touches and tier changes and never from a stored value, so it does not depend on when or how often it is computed. Not
here: when energy raises or expires a memory (`promotion`, `forgetting`), and the energy at a run's instant (`scoring`,
from the last touch on).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.schemas import INSTANT, TABLES, Accesses, Frame, TierChanges

ENERGY_DECAY: Final[dict[str, float]] = {"working": 0.5, "short_term": 0.05, "long_term": 0.001}
"""Decay rate per hour in each tier, from the lowest to the highest tier."""

CREATION: Final = 1.0
"""Energy of a new memory."""

ACCESS: Final = 1.0
"""Energy that an access adds."""

REINFORCEMENT: Final = 0.5
"""Energy that a reinforcement adds per unit of cosine."""

_KEY: Final = TABLES["memories"].key
_TIERS: Final = tuple(ENERGY_DECAY)
_HOURS: Final = 1.0 / 3_600_000_000.0
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Touches:
    """Touches of memories as arrays, by memory and instant; instants are microseconds."""

    keys: pl.DataFrame
    """Key of each memory; `row` is its position here."""
    starts: tuple[NDArray[np.int64], ...]
    """When each memory enters each tier above the lowest."""
    row: NDArray[np.int64]
    rank: NDArray[np.int64]
    """Position of a touch among those of its memory, from 0."""
    at: NDArray[np.int64]
    amount: NDArray[np.float64]
    energy: NDArray[np.float64]
    """Energy just after the touch."""


def history(
    memories: pl.DataFrame, accesses: Frame[Accesses], edges: pl.DataFrame, tier_changes: Frame[TierChanges]
) -> pl.DataFrame:
    """Return the energy of every memory just after each of its touches.

    REINFORCES edges of known cosine are touches: the source reinforced the target at `discovered_at`. From `at` of a
    tier change on, a memory decays at the rate of `to_tier`.

    Returns:
        `profile_id`, `memory_id`, `ordinal` (0 is the creation), `at`, `amount` (energy added), `energy` (just after
        the touch), `tier` (in force from then on), one row per touch, sorted by the first three. A touch before the
        creation counts as at the creation. The rows of a memory depend on its own rows alone.

    Cost: a sort of the touches, and one pass over them per doubling of the largest number of touches of a memory; about
    a second per million.
    """
    touched = _touches(memories, accesses, edges, tier_changes)
    return (
        touched.keys[touched.row]
        .with_columns(
            ordinal=pl.Series(touched.rank),
            at=pl.Series(touched.at).cast(INSTANT),
            amount=pl.Series(touched.amount),
            energy=pl.Series(touched.energy),
            tier=_tiers(touched, touched.row, touched.at),
        )
        .sort(*_KEY, "ordinal")
    )


def at(
    memories: pl.DataFrame,
    accesses: Frame[Accesses],
    edges: pl.DataFrame,
    tier_changes: Frame[TierChanges],
    instants: pl.DataFrame,
) -> pl.DataFrame:
    """Return the energy of memories at given instants, including touches and tier changes at the instant itself.

    Returns:
        `instants` (profile_id, memory_id, at) with `energy` and `tier`, in the same order; both null if the memory does
        not exist at that instant.

    Cost: that of `history` for the given memories, and a sort of the instants.
    """
    queries = instants.select(*_KEY, "at").with_row_index("query")
    relevant = [frame.join(queries, on=_KEY, how="semi") for frame in (memories, accesses, tier_changes)]
    touched = _touches(relevant[0], relevant[1], edges, relevant[2])
    last = (
        pl.DataFrame({"row": touched.row, "touched_at": touched.at, "base": touched.energy})
        .unique(["row", "touched_at"], keep="last", maintain_order=True)
        .sort("touched_at", "row")
    )
    numbered = queries.join(touched.keys.with_row_index("row").cast({"row": pl.Int64}), on=_KEY)
    matched = (
        numbered.with_columns(asked_at=pl.col("at").dt.epoch("us"))
        .sort("asked_at", "query")
        .join_asof(
            last,
            left_on="asked_at",
            right_on="touched_at",
            by="row",
            strategy="backward",
            check_sortedness=False,
        )
        .drop_nulls("touched_at")
    )
    row, last_touch, now = (matched[name].to_numpy() for name in ("row", "touched_at", "asked_at"))
    energy = matched["base"].to_numpy() * np.exp(-_decay_exponent(touched, row, last_touch, now))
    values = matched.select("query", energy=pl.Series(energy), tier=_tiers(touched, row, now))
    return instants.with_row_index("query").join(values, on="query", how="left", maintain_order="left").drop("query")


def latest(
    memories: pl.DataFrame, accesses: pl.DataFrame, edges: pl.DataFrame, tier_changes: pl.DataFrame
) -> pl.DataFrame:
    """Return the energy base of every memory, one row per memory, in their order; the arguments are those of `history`.

    Returns:
        `profile_id`, `memory_id`, `tier`, `tier_since`, `energy_at` (the last touch or tier change, whichever is later)
        and `energy_base` (the energy then). From `energy_at` on, energy decays at the rate of `tier` alone.
    """
    touched = _touches(memories, accesses, edges, tier_changes)
    final = np.append(touched.row[1:] != touched.row[:-1], [True][: len(touched.row)]).astype(bool)
    row, last_touch, energy = touched.row[final], touched.at[final], touched.energy[final]
    created = touched.at[touched.rank == 0]
    since = created.copy()
    for start in touched.starts:
        since = np.where(start < _NEVER, np.maximum(since, start), since)
    now = np.maximum(last_touch, since)
    return touched.keys.with_columns(
        tier=_tiers(touched, row, now),
        tier_since=pl.Series(since).cast(INSTANT),
        energy_at=pl.Series(now).cast(INSTANT),
        energy_base=pl.Series(energy * np.exp(-_decay_exponent(touched, row, last_touch, now))),
    )


def _touches(
    memories: pl.DataFrame, accesses: pl.DataFrame, edges: pl.DataFrame, tier_changes: pl.DataFrame
) -> _Touches:
    """Return all touches of the memories, with the energy after each."""
    keys = memories.select(*_KEY, created=pl.col("created_at").dt.epoch("us"))
    numbered = keys.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    starts = _starts(numbered, tier_changes)
    creations = numbered.select("row", at="created", amount=pl.lit(CREATION), kind=pl.lit(0))
    access_touches = accesses.select(*_KEY, "seq", "ordinal", used=pl.col("at").dt.epoch("us")).join(numbered, on=_KEY)
    cosine, when = pl.col("similarity").cast(pl.Float64), pl.max_horizontal("used", "created")
    reinforced = (
        edges.filter((pl.col("edge_type") == "REINFORCES") & cosine.is_finite())
        .select("profile_id", "source", memory_id="target", used=pl.col("discovered_at").dt.epoch("us"), amount=cosine)
        .join(numbered, on=_KEY)
    )
    touches = pl.concat(
        [
            creations,
            access_touches.select("row", "seq", "ordinal", at=when, amount=pl.lit(ACCESS), kind=pl.lit(1)),
            reinforced.select("row", "source", at=when, amount=REINFORCEMENT * pl.col("amount"), kind=pl.lit(2)),
        ],
        how="diagonal",
    ).sort("row", "at", "kind", "seq", "ordinal", "source")
    row, at, amount = (touches[name].to_numpy() for name in ("row", "at", "amount"))
    first = np.searchsorted(row, np.arange(len(keys)))
    rank = np.arange(len(row)) - first[row]
    before = np.where(rank > 0, np.concatenate([at[:1], at[:-1]]), at)
    without_energy = _Touches(keys.select(_KEY), starts, row, rank, at, amount, amount)
    energy = _energies(np.exp(-_decay_exponent(without_energy, row, before, at)), amount, rank)
    return _Touches(without_energy.keys, starts, row, rank, at, amount, energy)


def _starts(numbered: pl.DataFrame, tier_changes: pl.DataFrame) -> tuple[NDArray[np.int64], ...]:
    """Return when each memory enters each tier above the lowest; a tier that it skips lasts no time."""
    above = np.full(len(numbered), _NEVER)
    if tier_changes.is_empty():
        return (above,) * len(_TIERS[1:])
    starts: list[NDArray[np.int64]] = []
    for tier in reversed(_TIERS[1:]):
        changes = tier_changes.filter(pl.col("to_tier") == tier)
        since = changes.group_by(_KEY).agg(since=pl.col("at").min().dt.epoch("us"))
        joined = numbered.join(since, on=_KEY, how="left", maintain_order="left")
        start = pl.max_horizontal("since", "created").fill_null(_NEVER)
        entered = joined.select(pl.when(pl.col("since").is_null()).then(_NEVER).otherwise(start)).to_series().to_numpy()
        above = np.minimum(entered, above)
        starts.insert(0, above)
    return tuple(starts)


def _decay_exponent(
    touched: _Touches, row: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the decay exponent between two instants: each tier's rate times the hours spent in it."""
    folds = np.zeros(len(row))
    bounds = [begin, *(start[row] for start in touched.starts), end]
    for rate, since, until in zip(ENERGY_DECAY.values(), bounds[:-1], bounds[1:], strict=True):
        spent = np.minimum(until, end) - np.maximum(since, begin)
        folds += rate * _HOURS * np.maximum(spent, 0)
    return folds


def _tiers(touched: _Touches, row: NDArray[np.int64], now: NDArray[np.int64]) -> pl.Series:
    entered = [(start[row] <= now).astype(np.int64) for start in touched.starts]
    return pl.Series("tier", _TIERS, dtype=pl.String)[sum(entered, np.zeros(len(row), dtype=np.int64))]


def _energies(share: NDArray[np.float64], amount: NDArray[np.float64], rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the energy after each touch: what it adds, plus the share of the previous energy that is left.

    A scan by doubling: after each pass every touch has the sum over twice as many. Only shares between 0 and 1 are
    multiplied, so nothing overflows at any age; and the order of additions depends only on a touch's position among
    those of its memory.
    """
    energy, share = amount.copy(), share.copy()
    step, open_ = 1, np.flatnonzero(rank >= 1)
    while open_.size:
        earlier = open_ - step
        energy[open_] += share[open_] * energy[earlier]
        share[open_] *= share[earlier]
        step *= 2
        open_ = open_[rank[open_] >= step]
    return energy
