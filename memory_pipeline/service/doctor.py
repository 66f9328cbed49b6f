"""The checks of `doctor`, and how `--repair` rebuilds files of the lake and snapshots from the ledger.

Nothing here changes the ledger: a damaged one can only be replaced by a backup.
"""

import os
import platform
import shutil
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import dagster as dg
import polars as pl

from memory_pipeline.erasure.erase import pending_erasure, resume_erasure
from memory_pipeline.erasure.survivors import remove_survivors, survivors
from memory_pipeline.lake import identity, in_place, object_stores, policies, publishing, snapshot
from memory_pipeline.lake.tables import Lake, LakeError
from memory_pipeline.ledger import commits, databases
from memory_pipeline.ledger.event import CLOCK_SKEW
from memory_pipeline.recall.index import vector_graph
from memory_pipeline.runs import commit, rebuild, status
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import launch
from memory_pipeline.service.report import many
from memory_pipeline.settings import Settings
from memory_pipeline.settings.extras import pip_install
from memory_pipeline.text import credentials
from memory_pipeline.text.embed import encoder

ENOUGH_BYTES: Final = 1_000_000_000
"""Free disk space below which `doctor` warns."""
OLDEST_PYTHON: Final = (3, 11)


@dataclass(frozen=True)
class Finding:
    """The result of one check of `doctor`."""

    subject: str
    well: bool
    detail: str


def examine(settings: Settings, *, repair: bool) -> list[Finding]:
    """Check interpreter, packages, data folder and Dagster's storage, as far as a readable ledger allows.

    Args:
        repair: rebuild missing and damaged files of lake and snapshots from the ledger.
    """
    return [*_installation(), *_home(settings, repair=repair)]


def _installation() -> Iterator[Finding]:
    supported = sys.version_info >= OLDEST_PYTHON
    remedy = "" if supported else ": install 3.11 or newer"
    yield Finding("python", supported, platform.python_version() + remedy)
    missing = (
        "not installed: recall compares the vectors of profiles above "
        f"{vector_graph.FROM:,} memories one by one; to search them faster, install a C++ compiler (g++), then "
        f"{pip_install('hnsw')}"
    )
    yield Finding("hnswlib", well=True, detail="installed" if vector_graph.available() else missing)
    unread = encoder.missing()
    yield Finding("reader", well=unread is None, detail=unread or "installed")


def _home(settings: Settings, *, repair: bool) -> Iterator[Finding]:
    home = settings.home
    try:
        if not databases.exists(home):
            yield Finding("ledger", well=False, detail=_no_ledger(home))
            return
        with Lake(home, checked=False) as lake:
            store = _store(lake, repair=repair)
            if store:
                yield store
            if store and not store.well:
                return
            ledger = _ledger(lake)
            yield ledger
            if not ledger.well:
                return
            if repair:
                in_place.update(lake.ledger, lake.store)
            tables = _files(lake, repair=repair)  # first: finishing an erasure reads them
            yield from _erasure(lake, repair=repair)
            yield tables.finding
            yield from _survivors(lake, repair=repair)
            yield _snapshot(lake, tables, repair=repair)
            yield from _clock(lake)
            yield _credentials(lake)
            letters = lake.ledger.dead_letters(noise=False).height
    except LakeError as error:
        yield Finding("ledger", well=False, detail=str(error))
        return
    refused = f"{many(letters, 'refused event')}; see them with: memory-pipeline dead-letters list"
    yield Finding("dead letters", well=True, detail=refused if letters else "none")
    yield _access(home)
    free = shutil.disk_usage(home).free
    yield Finding("disk", free > ENOUGH_BYTES, f"{free / 1e9:.1f} GB free")
    yield _dagster(home)


def _erasure(lake: Lake, *, repair: bool) -> Iterator[Finding]:
    """Finish an interrupted erasure, or report it; yield nothing if there is none."""
    if not pending_erasure(lake):
        return
    if not repair:
        remedy = "an erasure was interrupted and files may still hold its texts; finish it with: doctor --repair"
        yield Finding("erasure", well=False, detail=remedy)
        return
    resume_erasure(lake)
    yield Finding("erasure", well=True, detail="an interrupted erasure was finished")


def _access(home: Path) -> Finding:
    """Report who else on this machine may enter the data folder."""
    mode = stat.S_IMODE(home.stat().st_mode)
    others = f"other users of this machine may enter (mode {mode:o}); keep them out with: chmod 700 {home}"
    return Finding("access", well=True, detail=others if mode & 0o077 else "only its owner may enter the folder")


def _ledger(lake: Lake) -> Finding:
    if problem := lake.ledger.database.problem():
        remedy = f"replace {lake.ledger.database.name} with a backup"
        return Finding("ledger", well=False, detail=f"damaged: {problem}; {remedy}")
    profiles = lake.ledger.profiles().height
    return Finding("ledger", well=True, detail=f"position {lake.ledger.position()}, {many(profiles, 'profile')}")


def _no_ledger(home: Path) -> str:
    try:
        identity.check_ledger_there(home, object_stores.opened(home))
    except LakeError as error:
        return str(error)
    return f"none in {home}; create one with: memory-pipeline init"


def _store(lake: Lake, *, repair: bool) -> Finding | None:
    """Check that ledger and lake belong together; with `repair`, accept an older ledger."""
    try:
        identity.check(lake.home, lake.ledger, lake.store)
    except identity.Mismatch as error:
        if not (repair and error.repairable):
            return Finding("store", well=False, detail=str(error))
        position = identity.accept_older(lake.ledger, lake.store)
        dropped = snapshot.drop_newer(lake, position)
        detail = f"the ledger at position {position} is accepted; {many(len(dropped), 'newer snapshot')} dropped"
        return Finding("store", well=True, detail=detail)
    return None


def _survivors(lake: Lake, *, repair: bool) -> Iterator[Finding]:
    """Look for erased texts in what is published; yield nothing if there are none."""
    try:
        left = survivors(lake)
    except LakeError:
        return  # reported by the check of files
    if not left:
        return
    places = "; ".join(f"profile {profile_id}: {', '.join(found)}" for profile_id, found in left.items())
    if repair:
        remove_survivors(lake, now=datetime.now(UTC))
        yield Finding("erased texts", well=True, detail=f"their remains were removed ({places})")
    else:
        detail = f"some are still there ({places}); remove them with: memory-pipeline doctor --repair"
        yield Finding("erased texts", well=False, detail=detail)


def _credentials(lake: Lake) -> Finding:
    """Look for credentials in memories and what stands beside them."""
    try:
        events = lake.events()
    except LakeError:
        return Finding("credentials", well=False, detail="not looked for: the lake lacks events; repair it first")
    beside = ("metadata", "source", "speaker", "protected_reason", "session_id", "agent_id", "user_id", "memory_id")
    text = pl.concat_str("content", *beside, separator="\n", ignore_nulls=True)
    stored = events.filter(pl.col("memory_id").is_not_null()).select("profile_id", "memory_id", text=text)
    found = stored.filter(credentials.held(stored["text"])).select("profile_id", "memory_id").unique().sort(pl.all())
    if found.is_empty():
        return Finding("credentials", well=True, detail="none in documented formats")
    profile_id, memory_id = found.row(0)
    first = f"memory-pipeline erase {memory_id} --profile {profile_id}"
    detail = f"{many(found.height, 'memory')} with a token, key or password; revoke it, then erase with: {first}"
    return Finding("credentials", well=False, detail=detail)


@dataclass(frozen=True)
class _Tables:
    """The state of the lake."""

    finding: Finding
    whole: bool
    """Whether no published table lacks rows."""
    rebuilt: bool = False
    """Whether tables were rebuilt just now."""


def _files(lake: Lake, *, repair: bool) -> _Tables:
    with lake.ledger.database.erasing() if repair else nullcontext():
        cut_off = lake.lost()
        try:
            problems = lake.mend() if repair else lake.verify()
        except LakeError as error:
            return _Tables(Finding("lake", well=False, detail=str(error)), whole=False)
        only = [name for name, table in TABLES.items() if table.write_mode == "moved"]
        payloads, problems = (problems.filter(pl.col("table").is_in(only) == moved) for moved in (True, False))
        lost = {*problems["table"], *cut_off}
        behind = [] if lost.intersection(commit.PUBLISHED) else rebuild.behind(lake)
        lost.update(commit.PUBLISHED if behind else ())
        left = rebuild_lost(lake, lost) if repair and lost else {}
        if repair and lost and not left:
            lake.mended()
    findings = list[str]()
    if repair and lost:
        rebuilt = (
            f"tables of {many(len(behind), 'profile')} rebuilt" if behind else "a repair that was cut off is finished"
        )
        files = f"{many(problems.height, 'missing or damaged file')} rebuilt" if problems.height else rebuilt
        findings.append(files + "".join(f", except profile {profile_id}: {why}" for profile_id, why in left.items()))
    elif lost:
        if problems.height:
            fault = _first(problems)
        elif cut_off:
            fault = f"a repair was cut off and left tables without rows ({', '.join(cut_off)})"
        else:
            more = f" and {len(behind) - 1} more" if len(behind) > 1 else ""
            fault = f"the tables of profile {behind[0]}{more} are not those of the last run"
        findings.append(f"{fault}; rebuild with: memory-pipeline doctor --repair{_beforehand(problems['table'])}")
    if payloads.height:
        findings.append(f"{_first(payloads)}; its payloads are nowhere else: restore lake/payloads from a backup")
    if gone := lake.gone():
        counted = ", ".join(f"{many(rows, 'row')} of {name}" for name, rows in gone.items())
        findings.append(f"lost for good, unless a backup has them: {counted}")
    whole = not left and (repair or not lost)
    detail = "; ".join(findings) or "every file is present and intact"
    return _Tables(Finding("lake", whole and payloads.is_empty(), detail), whole=whole, rebuilt=repair and bool(lost))


def _beforehand(damaged: Collection[str]) -> str:
    """Return what to restore from a backup before a repair, which goes on without it."""
    names = [name for name in sorted({*damaged}) if not TABLES[name].rebuilt]
    if not names:
        return ""
    folders = ", ".join(f"lake/{name}" for name in names)
    return f"; first restore {folders} from a backup, if there is one: nothing else has the rows"


def _first(problems: pl.DataFrame) -> str:
    first = problems.row(0, named=True)
    more = f" and {problems.height - 1} more" if problems.height > 1 else ""
    return f"{first['path']} is {first['problem']}{more}"


def rebuild_lost(lake: Lake, lost: Collection[str]) -> dict[str, str]:
    """Publish lost tables as the last run or undo of each profile left them; return why a profile's could not be.

    Raises:
        Conflict: another process committed meanwhile; nothing was changed.
    """
    shown = rebuild.shown_runs(lake)
    heads, position = lake.ledger.heads(shown["profile_id"].to_list()), snapshot.standing_position(lake)
    rebuilt, left = dict[str, dict[str, pl.DataFrame]](), dict[str, str]()
    for profile_id in shown["profile_id"]:
        try:
            rebuilt[profile_id] = rebuild.rebuild(lake, profile_id)
        except LakeError as error:
            left[profile_id] = str(error)
    if rebuilt:
        tables = {
            name: pl.concat([frames[name] for frames in rebuilt.values()]) for name in commit.PUBLISHED if name in lost
        }
        profiles = pl.DataFrame({"profile_id": list(rebuilt), "head": [heads[name] for name in rebuilt]})
        publishing.replace_rows(
            lake.ledger,
            lake.store,
            standing=lambda transaction: commits.verify(transaction, profiles),
            tables=tables,
            record=lambda _, names: dict.fromkeys(names, position),
        )
    in_force = policies.in_force(lake.ledger, shown)
    for policy in {policy.digest: policy for policy in in_force.values()}.values():
        owners = [profile_id for profile_id in rebuilt if in_force[profile_id].digest == policy.digest]
        rebuild.enrich_missing(lake, policy, profiles=owners)
    return left


def _clock(lake: Lake) -> Iterator[Finding]:
    """Report runs and memories in the future, and dating back that was interrupted; yield nothing without any."""
    now, remedy = datetime.now(UTC), "correct the clock if it is wrong, then: memory-pipeline undo --ahead"
    for profile_id, count in lake.ahead(now).items():
        detail = f"profile {profile_id} has memories stored in the future: {count:,}; {remedy}"
        yield Finding("clock", well=False, detail=detail)
    for profile_id in lake.unshown():
        detail = f"memories of profile {profile_id} were dated back, and its tables not published: an `undo --ahead` "
        yield Finding(
            "clock", well=False, detail=f"{detail}was interrupted; finish it with: memory-pipeline undo --ahead"
        )
    ahead = status.progress(lake).filter(pl.col("last_as_of") > now + CLOCK_SKEW)
    for profile_id, last in ahead.select("profile_id", "last_as_of").iter_rows():
        yield Finding("clock", well=False, detail=f"profile {profile_id} has a run dated {last.isoformat()}; {remedy}")


def _snapshot(lake: Lake, tables: _Tables, *, repair: bool) -> Finding:
    """Check the newest snapshot; with `repair`, build it again from whole tables."""
    position = snapshot.shown_position(lake.ledger.runs(), lake.ledger.last_undo())
    path = snapshot.newest(lake.home)
    unfit = _unfit(path, position) or (tables.whole and path is not None and snapshot.lacks_rows(lake, path)) or None
    if position and repair and tables.rebuilt:
        unfit = unfit or "of the tables before they were rebuilt"
    problem, done = (unfit, "rebuilt") if unfit else (snapshot.unpublished(lake), "published")
    if problem and repair and tables.whole:
        if unfit and path is not None:
            path.unlink()
        return Finding("snapshot", well=True, detail=f"{done}: {snapshot.publish(lake)}")
    if problem:
        remedy = f"{'rebuild it' if unfit else 'publish again'} with: memory-pipeline doctor --repair"
        after = "once the lake is whole, " if repair else ""
        return Finding("snapshot", well=False, detail=f"{problem}; {after}{remedy}")
    return Finding("snapshot", well=True, detail=str(path) if path else "none yet; the first run writes it")


def _unfit(path: Path | None, position: int) -> str | None:
    """Return what is wrong with the newest snapshot, given the position of the last commit or undo."""
    if path is None:
        return "missing" if position else None
    if problem := snapshot.problem(path):
        return f"{path} cannot be read: {problem}"
    if int(path.stem.partition("-")[0]) < position:
        return f"{path} is older than the last run"
    link = path.with_name(snapshot.LINK)
    current = link.samefile(path) if link.is_symlink() and link.exists() else link.exists()  # a copy where links fail
    return None if current else f"{link} does not link to {path.name}"


def _dagster(home: Path) -> Finding:
    """Check Dagster's storage of this home, and whether the environment names another."""
    storage = home / "dagster"
    if not storage.is_dir():
        return Finding("dagster", well=True, detail="no storage yet; `init` or the first run creates it")
    named = os.environ.get("DAGSTER_HOME")
    other = Path(named) if named and Path(named) != storage else None
    folder = other or storage
    where = f"{storage}; DAGSTER_HOME names {other}, where `dg dev` looks" if other else str(storage)
    if not folder.is_dir():
        detail = f"{where}: there is no such folder; create it, or unset DAGSTER_HOME"
        return Finding("dagster", well=False, detail=detail)
    try:
        with launch.instance(home) as opened:
            opened.get_runs_count()
        with launch.opened(folder) as used:
            missing = _unconfigured(used)
    except LakeError as error:
        return Finding("dagster", well=False, detail=str(error))
    except Exception as error:  # noqa: BLE001 - any error in Dagster's configuration is the finding
        problem = " ".join(str(error).split())
        remedy = "correct it" if other else f"remove {storage / 'dagster.yaml'}; the next run writes it again"
        return Finding("dagster", well=False, detail=f"{folder / 'dagster.yaml'}: {problem}; {remedy}")
    if missing:
        remedy = f"add to {folder / 'dagster.yaml'}: {'; '.join(missing)}"
        return Finding("dagster", well=False, detail=f"{where}: it lacks what the pipeline needs; {remedy}")
    return Finding("dagster", well=True, detail=where)


def _unconfigured(instance: dg.DagsterInstance) -> list[str]:
    """Return what the pipeline needs and an instance's `dagster.yaml` lacks, each as it is to be written there."""
    limits = instance.get_concurrency_config().run_queue_config
    limited = {limit.get("key") for limit in (limits.tag_concurrency_limits if limits else ())}
    wanted = {
        "concurrency: {runs: {tag_concurrency_limits: [{key: memory_pipeline/writes, limit: 1}]}}": (
            "memory_pipeline/writes" in limited
        ),
        "run_retries: {enabled: true}": instance.run_retries_enabled,
        "run_monitoring: {enabled: true, free_slots_after_run_end_seconds: 60}": instance.run_monitoring_enabled,
    }
    return [line for line, there in wanted.items() if not there]
