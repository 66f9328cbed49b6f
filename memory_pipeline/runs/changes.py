"""What a run changed: the version of each published table, and whether anything was new at all."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256

import polars as pl

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog, profile_events
from memory_pipeline.ledger.event import micros


@dataclass(frozen=True)
class Version:
    """The content of a published table."""

    digest: str
    """Digest of its files, 32 hex digits; equal for equal tables."""
    rows: int
    """Number of rows, of all profiles."""


def versions(lake: Lake, tables: Collection[str]) -> dict[str, Version]:
    """Return the version of published tables, by name; that of `events` without the pipeline's own. Opens no file."""
    with lake.ledger.reading() as transaction:
        found = catalog.visible_by_table(transaction, tables)
        projected = catalog.mark(transaction, catalog.Mark.PROJECTED)
    made = {
        name: Version(
            digest_of(f"{file.bucket} {file.sha256}" for file in sorted(files, key=lambda one: (one.bucket, one.key))),
            sum(file.rows for file in files),
        )
        for name, files in found.items()
    }
    if "events" in made:
        made["events"] = Version(lake.ledger.digest(projected)[:32], made["events"].rows)
    return made


def digest_of(parts: Iterable[str]) -> str:
    """Return a digest of texts in their order, 32 hex digits."""
    return sha256("\n".join(parts).encode()).hexdigest()[:32]


def idle(lake: Lake, run_id: str) -> bool:
    """Return whether a committed run found nothing new: only its clock differs from an earlier run of the same kind.

    That is so if, in each profile, nothing was said or used and no run decided anything since a run of the same task,
    scope, policy and version of the program. A run without rows in the ledger is not idle.
    """
    runs = lake.ledger.runs()
    own = runs.filter(run_id=run_id)
    if own.is_empty():
        return False
    kind = ["profile_id", "task", "scope", "policy_hash", "version"]
    standing = runs.filter(pl.col("outcome") != "reverted")
    last = (
        standing.join(own.select(*kind, own_seq="commit_seq"), on=kind)
        .filter(pl.col("commit_seq") < pl.col("own_seq"))
        .sort("commit_seq")
        .unique("profile_id", keep="last")
    )
    since = last.select("profile_id", last_seq="commit_seq")
    decided = standing.join(since, on="profile_id").filter(
        pl.col("commit_seq") > pl.col("last_seq"), pl.col("decisions") + pl.col("held") > 0
    )
    return last.height == own.height and not decided.height and len(quiet(lake, last)) == own.height


def quiet(lake: Lake, runs: pl.DataFrame) -> set[str]:
    """Return the profiles of runs, one each, in which nothing happened since the run read them."""
    read = runs.select("profile_id", "base_seq", "as_of").iter_rows()
    with lake.ledger.reading() as transaction:
        return profile_events.quiet(transaction, {profile_id: (seq, micros(as_of)) for profile_id, seq, as_of in read})
