"""Measures trimming a store to half of its tokens as it grows.

Run: python benchmarks/trimming.py [--full]. Peer in the same run: the obvious loop, which splits and
scores one memory at a time and removes the worst sentence until the rest fits.
"""

import argparse
import re
import time
from datetime import UTC, datetime

import polars as pl

from memory_pipeline.consolidation import keeping, trimming
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROWS_ONE_BY_ONE = (1_000, 3_000, 9_000)
GROWTH = (10_000, 30_000, 100_000)
FULL = (*GROWTH, 300_000, 1_000_000)
SAID = (
    "Hey, great to hear from you! I moved to house {0} on {1} March, and my sister Ida helped me.",
    "Thanks so much! That sounds amazing. What are you up to, any plans for week {1}?",
    "I'm going to run the harbour marathon in {0} minutes because Ben signed me up. It will be fun!",
    "I never liked running; we bought {1} red bicycles for {0} euros last week. [a photo of a red bicycle]",
    "Wow! You should be proud, it's wonderful to have people around who care. Take care!",
)


def store(count):
    """Return memories of ten profiles, sessions of twenty turns by two who speak in turn."""
    row = pl.int_range(count)
    texts = [SAID[at % len(SAID)].format(at * 7919 % 1000, at * 31 % 29) for at in range(count)]
    given = pl.select(
        profile_id=pl.format("p{}", row % 10),
        memory_id=pl.format("m{}", row),
        session_id=pl.format("s{}", row // 200),
        speaker=pl.when(row // 10 % 2 == 0).then(pl.lit("Ann")).otherwise(pl.lit("Mo")),
        created_at=pl.lit(AT) + pl.duration(seconds=row),
    ).with_columns(content=pl.Series(texts), content_hash=pl.format("h{}", row))
    fixed = {
        "kind": "original",
        "lifecycle": "active",
        "category": "episodic",
        "protected": False,
        "superseded_kind": None,
        "superseded_by": None,
        "valid_until": None,
        "trimmed": None,
        "importance_given": None,
        "importance_hint": None,
    }
    schema = TABLES["memories"].empty().schema
    return given.with_columns(pl.lit(value, schema[name]).alias(name) for name, value in fixed.items())


def enriched(memories):
    return memories.select(
        "profile_id", "content_hash", language=pl.lit("en"), question=pl.col("content").str.contains(r"\?")
    )


def one_by_one(memories):
    """Trim by a naive loop: drop the sentence poorest in content words until half of the words are left."""
    pieces = []
    for text in memories["content"].to_list():
        for one in re.split(r"(?<=[.!?])\s", text):
            said = one.lower().split()
            pieces.append((sum(word not in STOP_WORDS for word in said) / len(said), one))
    left = total = sum(len(one.split()) for _, one in pieces)
    while left > total / 2:
        worst = min(pieces)
        pieces.remove(worst)
        left -= len(worst[1].split())
    return pieces


def timed(work, *arguments):
    wall, cpu = time.perf_counter(), time.process_time()
    work(*arguments)
    return time.perf_counter() - wall, time.process_time() - cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to a million memories")
    sizes = FULL if parser.parse_args().full else GROWTH
    policy = Policy(token_budget=0.5)
    print(f"{'memories':>10} {'wall s':>8} {'CPU s':>8} {'us each':>8} {'fits: CPU s':>12}")
    for count in sizes:
        memories = store(count)
        known = enriched(memories)
        scored = memories.select("profile_id", "memory_id", budget_protected=pl.lit(value=False))
        spare = memories.group_by("profile_id").agg(spare=pl.len())
        none = [TABLES[name].empty() for name in ("association_edges", "fact_changes", "accesses")]
        ranks = keeping.ranked(memories, *none, as_of=AT)
        given = (memories, scored, known, ranks, spare)
        wall, cpu = timed(lambda *rows: trimming.select(*rows, policy, plan_id="p"), *given)
        _, idle = timed(lambda *rows: trimming.select(*rows, Policy(token_budget=1.0), plan_id="p"), *given)
        print(f"{count:>10} {wall:>8.2f} {cpu:>8.2f} {1e6 * cpu / count:>8.1f} {idle:>12.2f}")
    for count in ROWS_ONE_BY_ONE:
        _, cpu = timed(one_by_one, store(count))
        print(f"one by one: {count} memories in {cpu:.2f} CPU s, {1e6 * cpu / count:.0f} us each")


if __name__ == "__main__":
    main()
