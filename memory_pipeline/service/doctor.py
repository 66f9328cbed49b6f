"""What `doctor` examines, and how `--repair` rebuilds from the ledger what can be rebuilt.

What is not here: how findings are shown (`report.py`). Nothing here changes the ledger: what is damaged there comes
back from a backup only.
"""

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from memory_pipeline.consolidation import stages
from memory_pipeline.erasure import erase
from memory_pipeline.lake import publishing, snapshot
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.runs import commit
from memory_pipeline.service import launch
from memory_pipeline.service.report import Finding
from memory_pipeline.settings import Settings

ENOUGH_BYTES: Final = 1_000_000_000
"""Free space below which `doctor` warns."""
OLDEST_PYTHON: Final = (3, 11)


def examine(settings: Settings, *, repair: bool) -> list[Finding]:
    """Examine interpreter, packages, data folder and Dagster's storage.

    Args:
        settings: the deployment.
        repair: rebuild missing and damaged files of lake and snapshots from the ledger.

    Returns:
        What was found; only readable parts are examined.
    """
    return [*_installation(), *_home(settings, repair=repair)]


def _installation() -> Iterator[Finding]:
    fresh = sys.version_info >= OLDEST_PYTHON
    remedy = "" if fresh else ": install 3.11 or newer"
    yield Finding("python", fresh, platform.python_version() + remedy)
    found = importlib.util.find_spec("hnswlib") is not None
    missing = "missing: it is built from source; install a C++ compiler (g++), then install again"
    yield Finding("hnswlib", found, "installed" if found else missing)


def _home(settings: Settings, *, repair: bool) -> Iterator[Finding]:
    home = settings.home
    if not (home / "ledger.sqlite").is_file():
        yield Finding("ledger", well=False, detail=f"none in {home}; make one with: memory-pipeline init")
        return
    try:
        with Lake(home) as lake:
            ledger = _ledger(lake)
            yield ledger
            if not ledger.well:
                return
            if repair and erase.resume(lake):
                yield Finding("erasure", well=True, detail="one that was broken off is finished")
            elif erase.pending(lake):
                told = "one was broken off and files may still hold its words; finish it with: doctor --repair"
                yield Finding("erasure", well=False, detail=told)
            yield _files(lake, settings, repair=repair)
            yield _snapshot(lake, repair=repair)
            letters = lake.ledger.dead_letters().height
    except LakeError as error:
        yield Finding("ledger", well=False, detail=str(error))
        return
    said = f"{letters} refused events; their reasons stand in table dead_letters of the snapshot"
    yield Finding("dead letters", well=True, detail=said if letters else "none")
    free = shutil.disk_usage(home).free
    yield Finding("disk", free > ENOUGH_BYTES, f"{free / 1e9:.1f} GB free")
    yield _dagster(home)


def _ledger(lake: Lake) -> Finding:
    with lake.ledger.reading() as connection:
        problems = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check(1)")]
    if problems != ["ok"]:
        remedy = "put a backup of ledger.sqlite in its place"
        return Finding("ledger", well=False, detail=f"damaged: {' '.join(problems)}; {remedy}")
    profiles = lake.ledger.profiles().height
    return Finding("ledger", well=True, detail=f"position {lake.ledger.position()}, {profiles} profiles")


def _files(lake: Lake, settings: Settings, *, repair: bool) -> Finding:
    found = lake.mend() if repair else lake.verify()
    if found.is_empty():
        return Finding("lake", well=True, detail="every file is there and unharmed")
    if repair:
        left = ", ".join(rebuild(lake, settings, found["table"].unique().to_list()))
        rest = f", but for tables of {left}: the next run makes them: memory-pipeline consolidate" if left else ""
        return Finding("lake", not left, f"{found.height} missing or damaged files were made again{rest}")
    first = found.row(0, named=True)
    more = f" and {found.height - 1} more" if found.height > 1 else ""
    remedy = "make them again with: memory-pipeline doctor --repair"
    return Finding("lake", well=False, detail=f"{first['path']} is {first['problem']}{more}; {remedy}")


def rebuild(lake: Lake, settings: Settings, lost: Collection[str]) -> list[str]:
    """Make tables again, as the last run of each profile left them, and publish them.

    Args:
        lake: the store.
        settings: the deployment.
        lost: tables that lack rows.

    Returns:
        Profiles of which the lake no longer knows from which state their last run was made.

    Raises:
        Conflict: somebody committed meanwhile; nothing was changed.
    """
    own = lake.ledger.runs().filter(pl.col("outcome") != "reverted")["profile_id"].unique().sort().to_list()
    heads, position = lake.ledger.heads(own), lake.ledger.position()
    made = {profile_id: tables for profile_id in own if (tables := _remade(lake, profile_id))}
    if made:
        tables = {name: pl.concat([one[name] for one in made.values()]) for name in commit.PUBLISHED if name in lost}
        profiles = pl.DataFrame({"profile_id": list(made), "head": [heads[one] for one in made]})
        publishing.replace_rows(lake.ledger, profiles, tables, lambda _: dict.fromkeys(made, position))
    turn = stages.Turn(policy=settings.policy, as_of=datetime.now(UTC), plan_id="")
    texts, words, vectors = (lake.read(name) for name in ("memories", "enrichment", "vectors"))
    for name, rows in zip(("enrichment", "vectors"), stages.enrich(turn, texts, words, vectors), strict=True):
        lake.append(name, rows)
    return [profile_id for profile_id in own if profile_id not in made]


def _remade(lake: Lake, profile_id: str) -> dict[str, pl.DataFrame] | None:
    """Tables of a profile after its last run; None if the table that says what the run was made from is lost."""
    if lake.read("profiles", profiles=[profile_id]).is_empty():
        return None
    try:
        return commit.rebuild(lake, profile_id)
    except LakeError:
        return None


def _snapshot(lake: Lake, *, repair: bool) -> Finding:
    position = max((0, *lake.ledger.runs()["commit_seq"], *lake.ledger.reverted()["seq"]))
    path = snapshot.newest(lake.home)
    problem = _unfit(path, position)
    if problem and repair:
        if path is not None:
            path.unlink()
        return Finding("snapshot", well=True, detail=f"made again: {snapshot.publish(lake)}")
    if problem:
        return Finding("snapshot", well=False, detail=f"{problem}; build it with: memory-pipeline doctor --repair")
    return Finding("snapshot", well=True, detail=str(path) if path else "none yet; the first run makes it")


def _unfit(path: Path | None, position: int) -> str | None:
    """Say what is wrong with the newest snapshot, given the position of the last commit or undo."""
    if path is None:
        return "missing" if position else None
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            connection.execute("FROM snapshot_info").fetchall()
            connection.execute("SELECT count(*) FROM memories JOIN vectors USING (profile_id, content_hash)").fetchall()
    except duckdb.Error as error:
        return f"{path} cannot be read: {str(error).splitlines()[0]}"
    if int(path.stem.partition("-")[0]) < position:
        return f"{path} is older than the last run"
    link = path.with_name(snapshot.LINK)
    leads = link.samefile(path) if link.is_symlink() and link.exists() else link.exists()  # a copy where links fail
    return None if leads else f"{link} does not lead to {path.name}"


def _dagster(home: Path) -> Finding:
    """Dagster's storage of this home, and whether the environment names another."""
    own = home / "dagster"
    if not own.is_dir():
        return Finding("dagster", well=True, detail="no storage yet; the first run or `init` makes it")
    named = os.environ.get("DAGSTER_HOME")
    other = f"; DAGSTER_HOME names {named}, where `dagster dev` looks" if named and Path(named) != own else ""
    try:
        with launch.instance(home):
            pass
    except Exception as error:  # noqa: BLE001 - whatever Dagster says of its configuration is the finding
        said = " ".join(str(error).split())
        remedy = f"remove {own / 'dagster.yaml'}; the next run writes it anew"
        return Finding("dagster", well=False, detail=f"{own / 'dagster.yaml'}: {said}; {remedy}")
    return Finding("dagster", well=True, detail=f"{own}{other}")
