"""Passes over profiles in which nothing happened and the clock decides nothing: what a night costs follows the day.

A run that decides nothing about a profile notes with its commit up to when the clock alone would not either (table
`rests`). Until then a run over a profile that was left alone is recorded without being computed, and its tables stay as
published. Not here: how that instant is found (`consolidation/stages/s170_plan.py`).
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl

from memory_pipeline.lake.tables import Commit, Conflict, Lake
from memory_pipeline.ledger import profile_events
from memory_pipeline.ledger.commits import VERSION
from memory_pipeline.runs import changes
from memory_pipeline.schemas import INSTANT, TABLES
from memory_pipeline.settings import program

_WRITTEN: Final = ("replaced", "accumulated")
"""How the tables of a commit are written."""


def leave(lake: Lake, profiles: pl.DataFrame, *, run_id: str) -> pl.DataFrame:
    """Record a run of the profiles at rest, and return the rows of the others, which it is to compute.

    Cost: a few look-ups for each profile of which the last run decided nothing.
    """
    resting = at_rest(lake, profiles)
    if resting.is_empty():
        return profiles
    now = datetime.now(UTC)
    commit = Commit(
        profiles=profiles.join(resting, on="profile_id", how="semi"),
        decisions=TABLES["consolidation_plan"].empty(),
        tables={name: table.empty() for name, table in TABLES.items() if table.write_mode in _WRITTEN},
        policies={},
        live=dict(resting.select("profile_id", "memories").iter_rows()),
        run_id=run_id,
        started_at=now,
        committed_at=now,
        unchanged=dict(resting.select("profile_id", "published_seq").iter_rows()),
        rests=dict(resting.select("profile_id", "until").iter_rows()),
    )
    try:
        left = lake.commit(commit)
    except Conflict:  # somebody wrote to each of them meanwhile
        return profiles
    return profiles.filter(~pl.col("profile_id").is_in(list(left)))


def at_rest(lake: Lake, profiles: pl.DataFrame) -> pl.DataFrame:
    """Return the profiles of a run in which nothing happened since a run after which the clock decides nothing yet.

    Columns: `profile_id`, `until`, `memories` (live ones), and `published_seq`, the position of the commit that
    published its tables.
    """
    runs = lake.ledger.runs(profiles["profile_id"].to_list())
    last = runs.sort("commit_seq").unique("profile_id", keep="last").filter(decisions=0, held=0, version=VERSION)
    last = last.filter(pl.col("outcome").is_in(["committed", "unchanged"]))
    whole = profiles.filter(row_limit=0, retry_reverted=False)
    alike = last.join(whole, on=["profile_id", "task", "scope", "policy_hash"], how="semi")
    noted = pl.DataFrame(
        list(_noted(lake, alike["commit_seq"].to_list())),
        schema={"commit_seq": pl.Int64, "published_seq": pl.Int64, "until": INSTANT},
        orient="row",
    )
    clocks = profiles.select("profile_id", now="as_of")
    shown = runs.select("profile_id", "plan_id", "base_seq", "as_of", published_seq="commit_seq")
    resting = (
        alike.select("profile_id", "commit_seq", "memories")
        .join(noted, on="commit_seq")
        .join(clocks, on="profile_id")
        .filter(pl.col("now") < pl.col("until"))
        .join(shown, on=["profile_id", "published_seq"])
    )
    if resting.is_empty():
        return resting.select("profile_id", "until", "memories", "published_seq")
    owners = resting["profile_id"].to_list()
    resting = resting.join(lake.read("profiles", profiles=owners), on=["profile_id", "plan_id"], how="semi")
    left_alone = resting.filter(pl.col("profile_id").is_in(list(changes.quiet(lake, resting)))).sort("profile_id")
    return left_alone.select("profile_id", "until", "memories", "published_seq")


def _noted(lake: Lake, positions: list[int]) -> Iterator[tuple[int, int, datetime]]:
    """Yield what commits of this program noted: their position, that of the commit that published, and until when."""
    with lake.ledger.reading() as transaction:
        events = profile_events.at(transaction, positions)
    for row in lake.ledger.with_payloads(events):
        payload: dict[str, Any] = json.loads(row[-1])
        noted = payload.get("rest")
        if noted and noted["program"] == program.digest():
            yield row[0], payload.get("policy_of", row[0]), datetime.fromisoformat(noted["until"])
