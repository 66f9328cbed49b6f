"""Energy of memories (three-tier): what every touch adds, and what each tier lets fade.

A memory has energy 1 when it is created; an access adds 1, a reinforcement half the similarity of what reinforced it;
in between energy fades exponentially, at the rate of the tier that the memory is in during each stretch of time. All of
it is reckoned from the touches and the changes of tier, never from energy that was stored before, so it does not matter
when or how often anybody asks.
What is not here: when energy raises or ends a memory (`promotion`, `forgetting`), and the energy of a run's instant
(`scoring`, from the last touch on).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.schemas import INSTANT, TABLES

ENERGY_DECAY: Final[dict[str, float]] = {"working": 0.5, "short_term": 0.05, "long_term": 0.001}
"""Energy lost per hour in each tier, from the lowest to the highest."""

CREATION: Final = 1.0
"""Energy of a new memory."""

ACCESS: Final = 1.0
"""Energy that an access adds."""

REINFORCEMENT: Final = 0.5
"""Energy that a reinforcement adds, for each unit of cosine."""

_KEY: Final = TABLES["memories"].key
_TIERS: Final = tuple(ENERGY_DECAY)
_HOURS: Final = 1.0 / 3_600_000_000.0
_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Touches:
    """Touches of memories as arrays, by memory and instant; instants are microseconds."""

    keys: pl.DataFrame
    """Key of each memory; `row` counts in it."""
    starts: tuple[NDArray[np.int64], ...]
    """When each memory enters each tier above the lowest."""
    row: NDArray[np.int64]
    rank: NDArray[np.int64]
    """Place of a touch among those of its memory, from 0."""
    at: NDArray[np.int64]
    amount: NDArray[np.float64]
    energy: NDArray[np.float64]
    """Just after the touch."""


def history(
    memories: pl.DataFrame, accesses: pl.DataFrame, edges: pl.DataFrame, tier_changes: pl.DataFrame
) -> pl.DataFrame:
    """Return the energy of every memory just after each of its touches.

    Args:
        memories: table `memories`; the key and `created_at` are read.
        accesses: table `accesses`.
        edges: any table of edges; REINFORCES edges of known cosine are read: the source reinforced the target at
            `discovered_at`.
        tier_changes: table `tier_changes`; from `at` on a memory fades at the rate of `to_tier`.

    Returns:
        `profile_id`, `memory_id`, `ordinal` (0 is the creation), `at`, `amount` (what the touch added), `energy` (just
        after it), `tier` (in force from that instant on), one row a touch, sorted by the first three. A touch before
        the creation counts as at the creation. The rows of a memory depend on nothing but its own rows.

    Cost: a sort of the touches, and one pass over them for each doubling of the most touches that a memory has; about
    a second a million.
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
    accesses: pl.DataFrame,
    edges: pl.DataFrame,
    tier_changes: pl.DataFrame,
    instants: pl.DataFrame,
) -> pl.DataFrame:
    """Return the energy of memories at given instants, touches and changes of tier at the instant itself included.

    Args:
        memories: table `memories`.
        accesses: table `accesses`.
        edges: any table of edges.
        tier_changes: table `tier_changes`.
        instants: `profile_id`, `memory_id`, `at`.

    Returns:
        `instants` with `energy` and `tier`, in the same order; both null where no such memory exists by then.

    Cost: that of `history` for the memories asked for, and a sort of the instants.
    """
    asked = instants.select(*_KEY, "at").with_row_index("place")
    own = [frame.join(asked, on=_KEY, how="semi") for frame in (memories, accesses, tier_changes)]
    touched = _touches(own[0], own[1], edges, own[2])
    last = (
        pl.DataFrame({"row": touched.row, "touched_at": touched.at, "base": touched.energy})
        .unique(["row", "touched_at"], keep="last", maintain_order=True)
        .sort("touched_at", "row")
    )
    known = asked.join(touched.keys.with_row_index("row").cast({"row": pl.Int64}), on=_KEY)
    found = (
        known.with_columns(asked_at=pl.col("at").dt.epoch("us"))
        .sort("asked_at", "place")
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
    row, then, now = (found[name].to_numpy() for name in ("row", "touched_at", "asked_at"))
    energy = found["base"].to_numpy() * np.exp(-_faded(touched, row, then, now))
    values = found.select("place", energy=pl.Series(energy), tier=_tiers(touched, row, now))
    return instants.with_row_index("place").join(values, on="place", how="left", maintain_order="left").drop("place")


def latest(
    memories: pl.DataFrame, accesses: pl.DataFrame, edges: pl.DataFrame, tier_changes: pl.DataFrame
) -> pl.DataFrame:
    """Return where the energy of every memory stands: the arguments are those of `history`.

    Returns:
        `profile_id`, `memory_id`, `tier`, `tier_since`, `energy_at` (the last touch or change of tier, whichever is
        later) and `energy_base` (the energy then), one row a memory, in their order. From `energy_at` on, energy fades
        at the rate of `tier` alone.
    """
    touched = _touches(memories, accesses, edges, tier_changes)
    final = np.append(touched.row[1:] != touched.row[:-1], [True][: len(touched.row)]).astype(bool)
    row, then, energy = touched.row[final], touched.at[final], touched.energy[final]
    created = touched.at[touched.rank == 0]
    since = created.copy()
    for start in touched.starts:
        since = np.where(start < _NEVER, np.maximum(since, start), since)
    now = np.maximum(then, since)
    return touched.keys.with_columns(
        tier=_tiers(touched, row, now),
        tier_since=pl.Series(since).cast(INSTANT),
        energy_at=pl.Series(now).cast(INSTANT),
        energy_base=pl.Series(energy * np.exp(-_faded(touched, row, then, now))),
    )


def _touches(
    memories: pl.DataFrame, accesses: pl.DataFrame, edges: pl.DataFrame, tier_changes: pl.DataFrame
) -> _Touches:
    keys = memories.select(*_KEY, created=pl.col("created_at").dt.epoch("us"))
    known = keys.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    starts = _starts(known, tier_changes)
    creations = known.select("row", at="created", amount=pl.lit(CREATION), kind=pl.lit(0))
    uses = accesses.select(*_KEY, "seq", "ordinal", used=pl.col("at").dt.epoch("us")).join(known, on=_KEY)
    said, when = pl.col("similarity").cast(pl.Float64), pl.max_horizontal("used", "created")
    reinforced = (
        edges.filter((pl.col("edge_type") == "REINFORCES") & said.is_finite())
        .select("profile_id", "source", memory_id="target", used=pl.col("discovered_at").dt.epoch("us"), amount=said)
        .join(known, on=_KEY)
    )
    touches = pl.concat(
        [
            creations,
            uses.select("row", "seq", "ordinal", at=when, amount=pl.lit(ACCESS), kind=pl.lit(1)),
            reinforced.select("row", "source", at=when, amount=REINFORCEMENT * pl.col("amount"), kind=pl.lit(2)),
        ],
        how="diagonal",
    ).sort("row", "at", "kind", "seq", "ordinal", "source")
    row, at, amount = (touches[name].to_numpy() for name in ("row", "at", "amount"))
    first = np.searchsorted(row, np.arange(len(keys)))
    rank = np.arange(len(row)) - first[row]
    before = np.where(rank > 0, np.concatenate([at[:1], at[:-1]]), at)
    waiting = _Touches(keys.select(_KEY), starts, row, rank, at, amount, amount)
    energy = _summed(np.exp(-_faded(waiting, row, before, at)), amount, rank)
    return _Touches(waiting.keys, starts, row, rank, at, amount, energy)


def _starts(known: pl.DataFrame, tier_changes: pl.DataFrame) -> tuple[NDArray[np.int64], ...]:
    """When each memory enters each tier above the lowest; one that it skips lasts no time."""
    starts: list[NDArray[np.int64]] = []
    above = np.full(len(known), _NEVER)
    for tier in reversed(_TIERS[1:]):
        changes = tier_changes.filter(pl.col("to_tier") == tier)
        since = changes.group_by(_KEY).agg(since=pl.col("at").min().dt.epoch("us"))
        joined = known.join(since, on=_KEY, how="left", maintain_order="left")
        start = pl.max_horizontal("since", "created").fill_null(_NEVER)
        entered = joined.select(pl.when(pl.col("since").is_null()).then(_NEVER).otherwise(start)).to_series().to_numpy()
        above = np.minimum(entered, above)
        starts.insert(0, above)
    return tuple(starts)


def _faded(
    touched: _Touches, row: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How often energy falls by a factor of e between two instants: each tier's rate times the hours in it."""
    folds = np.zeros(len(row))
    bounds = [begin, *(start[row] for start in touched.starts), end]
    for rate, since, until in zip(ENERGY_DECAY.values(), bounds[:-1], bounds[1:], strict=True):
        spent = np.minimum(until, end) - np.maximum(since, begin)
        folds += rate * _HOURS * np.maximum(spent, 0)
    return folds


def _tiers(touched: _Touches, row: NDArray[np.int64], now: NDArray[np.int64]) -> pl.Series:
    entered = [(start[row] <= now).astype(np.int64) for start in touched.starts]
    return pl.Series("tier", _TIERS, dtype=pl.String)[sum(entered, np.zeros(len(row), dtype=np.int64))]


def _summed(kept: NDArray[np.float64], amount: NDArray[np.float64], rank: NDArray[np.int64]) -> NDArray[np.float64]:
    """Energy after each touch: what it adds, and what is kept of the energy after the touch before.

    A scan by doubling: after each pass every touch knows the sum over twice as many. Nothing but shares between 0 and 1
    are multiplied, so nothing overflows, whatever the ages; and the order of additions depends on the place of a touch
    among those of its memory alone.
    """
    energy, kept = amount.copy(), kept.copy()
    step, open_ = 1, np.flatnonzero(rank >= 1)
    while open_.size:
        earlier = open_ - step
        energy[open_] += kept[open_] * energy[earlier]
        kept[open_] *= kept[earlier]
        step *= 2
        open_ = open_[rank[open_] >= step]
    return energy
