"""Measures folding events and decisions into the state of every memory as the ledger grows.

Run: python benchmarks/projection.py [--full]. Peers in the same run: one event after the other in Python (four columns
of the state only, without types, hashes, updates, links); and, as a limit, sorting the events by profile, memory and
instant, which any fold must do.
"""

import argparse
import math
import time
from datetime import UTC, datetime, timedelta

import polars as pl

from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.state import projection
from memory_pipeline.schemas import TABLES

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 86_400
EVENTS_ONE_BY_ONE = 100_000
NOT_PROPOSED = ("summaries", "proposed_edges", "fact_changes", "promotions", "trims", "proposed_blocks", "deferred")
NOT_PROPOSED += ("decisions", "reverted")
WORDS = ("budget", "tiles", "we decided", "flight", "Ana", "usually", "prefers", "March", "deploy", "the", "is", "on")


def ledger(count):
    """Return events of ten profiles in order of arrival: a fifth stores, most others recall, some change or link."""
    row = pl.int_range(count)
    stores, turn = row % 5 == 0, row // 5 % 20
    about = pl.when(stores).then(row).otherwise((row * 7919) // 5 * 5 % count)
    kinds = pl.when(turn == 0).then(pl.lit("link.asserted")).when(turn == 1).then(pl.lit("memory.updated"))
    kinds = kinds.when(turn == 2).then(pl.lit("feedback.given")).otherwise(pl.lit("memory.accessed"))
    words = pl.lit(pl.Series(WORDS))
    phrase = [words.gather((row // 5 * (place + 3) + place) % len(WORDS)) for place in range(16)]
    frame = pl.select(
        seq=row + 1,
        ordinal=pl.lit(0),
        event_id=pl.format("0190-{}", row.cast(pl.String).str.zfill(31)),
        profile_id=pl.format("p{}", about // 5 % 10),
        memory_id=pl.format("m{}", about.cast(pl.String).str.zfill(9)),
        event_type=pl.when(stores).then(pl.lit("memory.stored")).otherwise(kinds),
        occurred_at=START + pl.duration(seconds=(row * 104_729) % (180 * DAY)),
        recorded_at=START + timedelta(days=365),
        session_id=pl.format("s{}", row // 50),
        content=pl.when(stores).then(pl.concat_str(*phrase, row.cast(pl.String), separator=" ")),
        target_id=pl.format("m{}", ((row * 31) // 50 * 50 % count + about % 50).cast(pl.String).str.zfill(9)),
        edge_type=pl.lit("RELATES_TO"),
        helpful=row % 3 > 0,
        protected=row % 2 == 0,
    )
    missing = [pl.lit(None).alias(name) for name in TABLES["events"].schema.columns() if name not in frame.columns]
    return TABLES["events"].conform(frame.with_columns(missing))


def one_by_one(events):
    """Fold events in a Python loop, for a part of the columns."""
    memories = {}
    for event in events.sort("occurred_at", "seq").iter_rows(named=True):
        profile_id, memory_id = event["profile_id"], event["memory_id"]
        event_type, at = event["event_type"], event["occurred_at"]
        if event_type == "memory.stored":
            memories[profile_id, memory_id] = [at, 0, 0.0, 1.0]
        elif event_type == "memory.accessed" and (memory := memories.get((profile_id, memory_id))):
            idle = (at - memory[0]).total_seconds()
            memory[:] = (
                at,
                memory[1] + 1,
                memory[2] + 0.1 * min(2.0, idle / DAY / 7),
                1 + memory[3] * math.exp(-idle / 7200),
            )
    return memories


def archive_half(state, seq):
    """Return a plan that archives every other memory."""
    as_of = START + timedelta(days=365)
    chosen = state.memories.with_row_index().filter(pl.col("index") % 2 == 0)
    rows = chosen.select(
        "profile_id",
        "memory_id",
        action=pl.lit("archive"),
        rule=pl.lit("archive_threshold"),
        reason=pl.lit("Its relevance is below the threshold."),
        target_id=pl.lit(None),
        strength=pl.lit(0.1),
        threshold=pl.lit(0.2),
        plan_id=pl.lit("plan"),
    )
    profiles = state.memories.select(
        pl.col("profile_id").unique(maintain_order=True),
        preset=pl.lit("default"),
        policy_hash=pl.lit("policy"),
        as_of=pl.lit(as_of),
        seq=pl.lit(seq),
        head=pl.lit(0),
        plan_id=pl.lit(planning.plan_id("ledger", "policy", as_of, seq)),
        trigger=pl.lit("manual"),
        task=pl.lit("full"),
        scope=pl.lit("all"),
        since=pl.lit(0),
        row_limit=pl.lit(0),
        max_archived_share=pl.lit(1.0),
        retry_reverted=pl.lit(value=False),
        caught_up=pl.lit(0),
    )
    return planning.propose(
        TABLES["profiles"].conform(profiles),
        state,
        archived_set=TABLES["archived_set"].conform(rows),
        pruned_edges=TABLES["decided_edges"].empty(),
        retired_links=TABLES["decided_edges"].empty(),
        committed=TABLES["decisions"].empty(),
        **{name: TABLES[name].empty() for name in NOT_PROPOSED},
    )


def cpu(work, *arguments):
    started = time.process_time()
    result = work(*arguments)
    return time.process_time() - started, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="up to a million events")
    sizes = (10_000, 100_000, 1_000_000) if parser.parse_args().full else (10_000, 100_000)
    nothing = TABLES["decisions"].empty()
    projection.fold(ledger(100), nothing)
    loop, _ = cpu(one_by_one, ledger(EVENTS_ONE_BY_ONE))
    print(f"CPU seconds; the loop takes {loop * 1e6 / EVENTS_ONE_BY_ONE:.2f} a million events")
    print("    events  memories    sort    fold  a million  fold/sort    plan   apply  decisions")
    for size in sizes:
        events = ledger(size)
        sort, _ = cpu(lambda rows: rows.sort("profile_id", "memory_id", "occurred_at", "seq"), events)
        fold, state = cpu(projection.fold, events, nothing)
        plan, decisions = cpu(archive_half, state, size)
        applied, _ = cpu(planning.post_state, state, decisions, nothing)
        print(
            f"{size:>10}{state.memories.height:>10}{sort:>8.2f}{fold:>8.2f}{fold * 1e6 / size:>11.2f}"
            f"{fold / sort:>11.1f}{plan:>8.2f}{applied:>8.2f}{decisions.height:>11}"
        )


if __name__ == "__main__":
    main()
