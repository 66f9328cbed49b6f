"""Measures recall as the store grows: through `rank`, through `MemoryClient`, and building the index.

Run: python benchmarks/recall.py [--full]. Extended: by three new rows, three with other counts, three with another
text. Through the client: opening with the first recall, and again at the end, when the index is kept; recalls, one
after a `remember`, `get` and `feedback` of a memory just used; last a memory that is checked against the stored ones
(`remember_checked`), without what the reader takes for texts and pairs. All with hashed vectors; what the reader takes
for a question is printed beside. Times are CPU times, which on an idle machine are those that one waits. Peer in the
same run: a plain scan in Python, one text after the other.
"""

import argparse
import os
import re
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from figures import figure
from figures import growth as grows

from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings.model_files import thesaurus_lines
from memory_pipeline.text.embed import encoder
from memory_pipeline.text.embed.embedding import embed_texts, embedder

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
QUERIES = 60
WORDS = 30_000
IN_PROCESS = {
    "at_most": 5,
    "tried": "14 ms among 1,000 memories at first, most of it small operations on tables. Words are looked up in "
    "postings, and features computed for three hundred candidates in arrays: their number bounds quality, so it "
    "stays. What grows is the first score of all memories, linear in those with a word of the question",
}
CLIENT = {
    "at_most": 8,
    "tried": "beside the ranking it embeds the question, looks for new events (a query of SQLite), and makes the "
    "answer's memories; the rest is the ranking itself",
}
OPENING = {
    "at_most": 1.0,
    "tried": "the index is kept beside the store and read whole; of the ledger only what was written since is read",
}
REMEMBERED = {
    "at_most": 15,
    "tried": "168 ms at first. A new memory's row is made without a fold, and only its words are read, by patterns "
    "that stay compiled; about half is this reading, the rest the recall and copies of the index's arrays",
}
CHECKED = {
    "at_most": 50,
    "tried": "of the six nearest memories and the new one words, cues and clauses are read together, and what runs "
    "have read of their sentences is taken over; what is left is some three hundred queries of small tables",
}
CHECKED_AT = 10_000
SCANNED = 20_000
LARGE = 100_000
ENDINGS = (
    "an", "el", "ir", "on", "us", "ata", "eno", "ipi", "ola", "unu", "ark", "est", "ind", "olf", "ump", "ax", "ey",
    "ox", "uk", "yl", "am", "en", "im", "om", "um", "ar", "er", "or", "ur", "as", "es", "is", "os", "al", "ol", "ul",
)  # fmt: skip


def vocabulary():
    """Return words that the thesaurus knows, in no order, then made ones of two syllables and an ending."""
    known = sorted({word for line in thesaurus_lines() if line[:1] != "#" for word in re.findall(r"\w+", line)})
    syllables = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprstvz"]
    made = [syllable + ending for syllable in syllables for ending in ENDINGS]
    return np.concatenate([np.random.default_rng(1).permutation(known), made])[:WORDS]


def store(count, seed=7):
    """Return memories of two speakers in sessions of twenty; words as frequent as in language (Zipf)."""
    chance, words = np.random.default_rng(seed), vocabulary()
    ranks = np.minimum(chance.zipf(1.3, (count, 18)) + 20, len(words)) - 1
    texts = [f"I {' '.join(row)} on {2000 + place % 25}." for place, row in enumerate(words[ranks].tolist())]
    blank = {pl.String: "", pl.Boolean: False, pl.Datetime: AS_OF, pl.List: []}
    missing = {
        name: pl.lit(None if column.nullable else blank.get(type(column.dtype), 0), column.dtype)
        for name, column in TABLES["memories"].schema.columns().items()
    }
    row = pl.col("row")
    given = {
        "profile_id": pl.lit("p"),
        "memory_id": pl.format("m{}", row.cast(pl.String).str.zfill(7)),
        "content": pl.Series(texts),
        "content_hash": pl.format("h{}", row),
        "speaker": pl.when(row % 2 == 0).then(pl.lit("Ann")).otherwise(pl.lit("Ben")),
        "session_id": pl.format("s{}", row // 20),
        "created_at": pl.lit(AS_OF) - pl.duration(minutes=count - row),
        "seq": row + 1,
        "kind": pl.lit("original"),
        "lifecycle": pl.lit("active"),
    }
    frame = pl.select(pl.int_range(count).alias("row")).with_columns(**(missing | given))
    queries = [
        f"What did Ann say about {' '.join(row)}?"
        for row in words[np.minimum(chance.zipf(1.3, (QUERIES, 4)) + 60, len(words)) - 1].tolist()
    ]
    return TABLES["memories"].conform(frame), queries


def scan(texts, query):
    """Return BM25-like scores, one text after the other."""
    wanted = set(re.findall(r"\w+", query.lower()))
    scores = []
    for place, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        scores.append((sum(word in wanted for word in words) / (1 + len(words)), place))
    return sorted(scores, reverse=True)[:10]


def timed(call, rounds=1):
    """Return the CPU seconds that each call takes."""
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return times


def grown(index, memories, vectors):
    """Return the seconds that three new rows take, three with other counts, and three with another text."""
    size, times = memories.height, []
    for kind in range(3):
        took = []
        for lot in range(5):
            rows = memories[size - 15 + 3 * lot : size - 12 + 3 * lot] if kind == 0 else memories[size // 2 + lot :][:3]
            rows = rows.with_columns(access_count=pl.lit(kind + lot, pl.Int64))
            rows = rows.with_columns(content=pl.lit(f"I sold it on day {lot}.")) if kind == 2 else rows
            few = vectors.filter(pl.col("content_hash").is_in(rows["content_hash"].implode()))
            begin = time.process_time()
            index = index.extended(rows, few)
            took.append(time.process_time() - begin)
        times.append(np.median(took))
    return times


@contextmanager
def reader_apart():
    """Yield a list to which the CPU seconds of each text or pair that the reader reads are added."""
    run, spent = encoder._Network.run, []  # noqa: SLF001 - there is no other place where all reading passes

    def timed(network, words):
        begin = time.process_time()
        rows = run(network, words)
        spent.append(time.process_time() - begin)
        return rows

    encoder._Network.run = timed  # noqa: SLF001
    try:
        yield spent
    finally:
        encoder._Network.run = run  # noqa: SLF001


def checks(client, texts):
    """Return for each text the CPU seconds of remembering it with a check, and those of the reader in it."""
    client.remember_checked("I keep the spare key in the shed.", speaker="Ann")  # loads the models
    whole, read = [], []
    for text in texts:
        with reader_apart() as spent:
            whole += timed(lambda text=text: client.remember_checked(text, speaker="Ann"))
        read.append(sum(spent))
    return np.array(whole), np.array(read)


def through_client(memories, queries):
    """Return the seconds of two openings, recalls, a recall after a `remember`, and `get` and `feedback` of one.

    And those of `checks`.
    """
    rows = memories.select(text="content", memory_id="memory_id", speaker="speaker", session_id="session_id")
    with TemporaryDirectory() as home:
        with MemoryClient(home) as client:
            for lot in rows.iter_slices(5_000):
                client.remember_many(lot.to_dicts())
        with MemoryClient(home) as client:
            (opened,) = timed(lambda: client.recall(queries[0], record=False))
            asked = iter(queries * 2)
            recalled = timed(lambda: client.recall(next(asked), record=False), QUERIES)
            stored = []
            for query in queries[:10]:
                client.remember(f"I heard of {query}")
                stored += timed(lambda query=query: client.recall(query, record=False))
            got = []
            for query in queries[:10]:
                best = client.recall(query)[0].memory_id
                client.flush()
                got += timed(lambda best=best: client.get(best))
            told = timed(lambda: client.feedback(best, helpful=True), 5)
        with MemoryClient(home) as client:
            (again,) = timed(lambda: client.recall(queries[0], record=False))
            checked = checks(client, [memory + " It changed." for memory in memories["content"].tail(12).to_list()])
    return opened, again, recalled, np.median(stored), np.median(got), np.median(told), checked


def read_questions(queries):
    """Return the seconds that the reader takes for each question."""
    reader = embedder("reader")
    reader.embed(queries[:1])
    asked = iter(queries)
    return timed(lambda: reader.embed([next(asked)]), len(queries))


def main():
    os.environ["MEMORY_PIPELINE_EMBEDDER"] = "hashing"
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="up to 300,000 memories")
    sizes = [1_000, 10_000, LARGE, *([300_000] if parser.parse_args().full else [])]
    print(
        "milliseconds of CPU, build and opening in seconds; the query is embedded beforehand, except through the client"
    )
    print(f"the reader alone, for a question: {1e3 * np.median(read_questions(store(1_000)[1][:20])):.1f} ms")
    print(
        " memories   build |    new  counts    text |  p50 rank  p95 rank  scan / p50 |"
        " opening  p50 client  p95 client  remembered    get  feedback"
    )
    before = None
    for size in sizes:
        memories, queries = store(size)
        vectors = embed_texts(memories, "hashing")
        begin = time.process_time()
        index = Index.build(memories.head(size - 15), vectors, model="hashing")
        build = time.process_time() - begin
        extended = grown(index, memories, vectors)
        asked = iter(zip(queries, embedder("hashing").embed(queries), strict=True))

        def ask(index=index, asked=asked):
            query, vector = next(asked)
            rank(index, query, now=AS_OF + timedelta(days=1), vector=vector)

        half, most = np.percentile(timed(ask, QUERIES), [50, 95])
        part = memories["content"].head(SCANNED).to_list()
        plain = timed(lambda part=part, queries=queries: scan(part, queries[0]))[0] * size / len(part)
        opened, again, recalled, stored, got, told, checked = through_client(memories, queries)
        client, slow = np.percentile(recalled, [50, 95])
        print(
            f"{size:>9} {build:>7.2f} | {1e3 * extended[0]:>6.1f} {1e3 * extended[1]:>7.1f} {1e3 * extended[2]:>7.1f} |"
            f" {1e3 * half:>9.1f} {1e3 * most:>9.1f} {plain / half:>11.1f} | {opened:>7.2f} {1e3 * client:>11.1f}"
            f" {1e3 * slow:>11.1f} {1e3 * stored:>11.1f} {1e3 * got:>6.1f} {1e3 * told:>9.1f}",
            flush=True,
        )
        if before:
            more, own, whole = (now / then for now, then in zip((size, half, client), before, strict=True))
            print(f"    growth: memories x{more:.0f}, p50 of rank x{own:.1f}, through the client x{whole:.1f}")
        before = size, half, client
        whole, read = (1e3 * np.median(one) for one in checked)
        print(f"    a memory that is checked: {whole:.0f} ms, {read:.0f} of it the reader")
        if size == CHECKED_AT:
            figure(
                f"remember with a check at {size:,} memories, without the reader",
                1e3 * np.median(checked[0] - checked[1]),
                "CPU ms at the median",
                **CHECKED,
            )
            figure("the same, the reader alone", read, "CPU ms at the median")
        grows("building the recall index", size, build)
        if size >= LARGE:
            at, large = f"at {size:,} memories", size == LARGE
            figure(f"recall {at}, in one process", 1e3 * half, "CPU ms at the median", **IN_PROCESS if large else {})
            figure(f"recall {at}, through the client", 1e3 * client, "CPU ms at the median", **CLIENT if large else {})
            figure(f"opening the client {at}, index kept, with a recall", again, "CPU s", **OPENING if large else {})
            figure("the same for the first time", opened, "CPU s")
            after = f"recall right after a remember {at}"
            figure(after, 1e3 * stored, "CPU ms at the median", **REMEMBERED if large else {})
            figure(f"recall {at}, against a plain scan", plain / half, "x as fast")


if __name__ == "__main__":
    main()
