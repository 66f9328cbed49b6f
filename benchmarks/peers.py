"""Compares single tasks with the same task of other memory systems, on the same memories in the same run.

    .ci/peers && python benchmarks/peers.py

- The maintenance tick of cognitive-memory (the package, pinned): 2,000 fading memories with the same ages, importance
  and vectors. Ours: scores, groups, summaries and what goes cold, from tables to tables.
- Clustering as AutoMem publishes it: a plain version of that loop, written here after its description, since AutoMem
  needs two databases: the cosine of every pair, connected components by depth-first search, those of five or more.
- The lightweight task of superlocalmemory (the package, pinned): core memory blocks, and the decay of edges idle for 40
  days. It updates one edge after another, so a part of the edges is timed, and the rest taken as long.

A peer that keeps its store in a database writes there; ours returns tables, so the whole run with its commit is timed
too. Without .venv-peers the packages are left out.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

for variable in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import clustering as texts  # noqa: E402
import numpy as np  # noqa: E402
import pipeline as store  # noqa: E402
import polars as pl  # noqa: E402
from figures import figure  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from memory_pipeline.consolidation import components, core_memory, forgetting, scoring, similarity  # noqa: E402
from memory_pipeline.consolidation.edges import associations  # noqa: E402
from memory_pipeline.consolidation.groups import clustering  # noqa: E402
from memory_pipeline.consolidation.summaries import summarising  # noqa: E402
from memory_pipeline.runs import consolidate, inputs  # noqa: E402
from memory_pipeline.schemas import TABLES  # noqa: E402
from memory_pipeline.settings import Policy, load  # noqa: E402
from memory_pipeline.text import enrich  # noqa: E402
from memory_pipeline.text.embed import embedding  # noqa: E402

HERE = Path(__file__).parent
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
SIZE = 2_000
FACTS, EDGES = 10_000, 100_000
TIMED_EDGES = 2_000
IMPORTANCE, STABILITY = 0.5, 0.25
"""Importance and stability of memories that all fade alike; ours computes the second from the first."""
ROUNDS = 5


def cpu(work: Callable[[], Any], rounds: int = ROUNDS) -> tuple[Any, float]:
    """Return what some work returns, and its CPU seconds, the best of a few."""
    spent = []
    for _ in range(rounds):
        start = time.process_time()
        made = work()
        spent.append(time.process_time() - start)
    return made, min(spent)


def peer(script: str, *arguments: object) -> dict[str, Any]:
    """Run a script in the environment of the peers and return what its last line says."""
    command = [str(PEERS), str(HERE / "of_peers" / script), *map(str, arguments)]
    printed = subprocess.check_output(command, text=True, stderr=subprocess.DEVNULL)  # noqa: S603 - of this folder
    return json.loads(printed.splitlines()[-1])


def policy_of(preset: str) -> Policy:
    """Return the policy of a preset as it comes."""
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "memory_pipeline.toml").write_text(f'[policy]\npreset = "{preset}"\n', "utf-8")
        return load(Path(home), environment={}).policy


def described(count: int) -> dict[str, pl.DataFrame]:
    """Return memories of one profile, 40 to 60 days old and never used, with all that the tasks read of them."""
    told, _ = texts.made(count)
    age = timedelta(days=40) + pl.int_range(pl.len()) * timedelta(minutes=14 * 2_000 / count)
    memories = TABLES["memories"].conform(told.with_columns(created_at=pl.lit(texts.AS_OF) - age))
    read = enrich.texts(memories)
    vectors = embedding.embed_texts(read.select("profile_id", "content_hash", "speaker", content="embedded"), "hashing")
    known = TABLES["memory_importance"].schema.columns()
    values = {name: pl.lit(0, column.dtype) for name, column in known.items() if column.dtype.is_numeric()}
    values |= {"importance": pl.lit(IMPORTANCE), "importance_unraised": pl.lit(IMPORTANCE)}
    missing = {name: pl.lit(None, column.dtype) for name, column in known.items() if name not in values}
    keys = memories.select("profile_id", "memory_id")
    importance = keys.with_columns(**{name: value for name, value in (missing | values).items() if name not in keys})
    return {
        "memories": memories,
        "enrichment": enrich.enrich(read),
        "vectors": vectors,
        "importance": TABLES["memory_importance"].conform(importance),
        "edges": TABLES["association_edges"].empty(),
        "completions": TABLES["completions"].empty(),
    }


def tick(of: dict[str, pl.DataFrame], policy: Policy) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the summaries that a tick makes of fading memories, and what leaves the live set."""
    memories, enrichment = of["memories"], of["enrichment"]
    scored = scoring.score(memories, of["importance"], of["edges"], policy, as_of=texts.AS_OF, plan_id="p")
    found = clustering.cluster(
        memories, scored, enrichment, of["vectors"], of["edges"], policy, as_of=texts.AS_OF, plan_id="p"
    )
    groups, members = found.clusters, found.cluster_members
    made = summarising.summarise(groups, members, memories, scored, enrichment, of["completions"], policy, plan_id="p")
    return made, forgetting.select(scored, memories, made, policy, as_of=texts.AS_OF, plan_id="p")


def bench_tick() -> None:
    of, policy = described(SIZE), policy_of("cognitive")
    (made, leaving), ours = cpu(lambda: tick(of, policy))
    print(f"tick over {SIZE:,} fading memories: {1e3 * ours:.0f} ms, {made.height} summaries, {leaving.height} leave")
    figure(f"maintenance tick over {SIZE:,} memories", 1e3 * ours, "CPU ms")
    if not PEERS.exists():
        return
    vectors = of["vectors"].select("content_hash", "vector")
    given = (
        of["memories"]
        .join(vectors, on="content_hash")
        .select(
            "memory_id",
            "content",
            "vector",
            importance=pl.lit(IMPORTANCE),
            stability=pl.lit(STABILITY),
            as_of=pl.lit(texts.AS_OF.replace(tzinfo=None)).dt.to_string("iso:strict"),
            created_at=pl.col("created_at").dt.replace_time_zone(None).dt.to_string("iso:strict"),
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memories.jsonl"
        given.sort("created_at").write_ndjson(file)
        theirs = peer("tick_of_cognitive_memory.py", file)
    print(f"  cognitive-memory 0.5.1: {theirs['seconds']:.1f} s, {theirs['summaries']} summaries")
    figure(
        "the same, against cognitive-memory 0.5.1",
        theirs["seconds"] / ours,
        "x as fast",
        at_least=500,
        tried="one exact join gives all similar pairs at once, and groups are taken from these. What is left is some "
        "two hundred small table operations at fixed cost, and the words of the summaries: the larger the store, "
        "the larger the ratio",
    )


def published_loop(vectors: NDArray[np.float32], minimum: float, least: int) -> list[list[int]]:
    """Return clusters as AutoMem's documentation describes them, pair by pair."""
    near: dict[int, list[int]] = {row: [] for row in range(len(vectors))}
    for one in range(len(vectors)):
        for other in range(one + 1, len(vectors)):
            left, right = vectors[one], vectors[other]
            if np.dot(left, right) / (np.linalg.norm(left) * np.linalg.norm(right)) >= minimum:
                near[one].append(other)
                near[other].append(one)
    seen: set[int] = set()
    clusters = []
    for start in range(len(vectors)):
        reached, waiting = [], [start]
        while waiting:
            row = waiting.pop()
            if row not in seen:
                seen.add(row)
                reached.append(row)
                waiting += near[row]
        if len(reached) >= least:
            clusters.append(sorted(reached))
    return clusters


def joined(vectors: NDArray[np.float32], minimum: float, least: int) -> list[list[int]]:
    """Return the same clusters from the exact join."""
    pairs = similarity.threshold_join(vectors, np.zeros(len(vectors), dtype=np.int64), minimum)
    labels = components.components(len(vectors), pairs.left, pairs.right)
    large = np.flatnonzero(np.bincount(labels)[labels] >= least)
    order = large[np.argsort(labels[large], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    return [group.tolist() for group in groups if len(group)]


def bench_clusters() -> None:
    of, policy = described(SIZE), policy_of("automem")
    vectors = similarity.matrix(of["memories"].join(of["vectors"], on="content_hash", maintain_order="left")["vector"])
    minimum, least = 0.75, 5
    found, ours = cpu(lambda: joined(vectors, minimum, least))
    expected, theirs = cpu(lambda: published_loop(vectors, minimum, least), rounds=1)
    assert sorted(found) == sorted(expected), "the clusters differ"
    scored = scoring.score(of["memories"], of["importance"], of["edges"], policy, as_of=texts.AS_OF, plan_id="p")
    tables = (of["memories"], scored, of["enrichment"], of["vectors"], of["edges"], policy)
    _, stage = cpu(lambda: clustering.cluster(*tables, as_of=texts.AS_OF, plan_id="p"))
    print(
        f"clusters of {SIZE:,} memories: {1e3 * ours:.1f} ms, the published loop {theirs:.1f} s, both {len(found)}; "
        f"the whole stage with its labels, spans and checks {1e3 * stage:.0f} ms"
    )
    figure(
        f"clusters of {SIZE:,} memories, against AutoMem's published loop (our plain version of it)",
        theirs / ours,
        "x as fast",
        at_least=1_000,
        tried="the exact join multiplies only half of the blocks of a small group, and verifies what comes near the "
        "threshold. The bare matrix product of these vectors is the limit (below); the plain loop is taken at its "
        "best, with vectors that are arrays already",
    )
    _, product = cpu(lambda: vectors @ vectors.T)
    figure("the same, against the bare matrix product of the vectors", ours / product, "x as long")
    figure(
        "the whole stage of clusters, with labels, spans and checks, against AutoMem's published loop",
        theirs / stage,
        "x as fast",
    )


def fading_edges(memories: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return links between memories that were last strengthened 40 days ago."""
    names = memories["memory_id"]
    place = np.arange(count)
    ends = {
        "source": names.gather(place % len(names)),
        "target": names.gather((place % len(names) + 1 + place // len(names)) % len(names)),
    }
    idle = texts.AS_OF - timedelta(days=40)
    columns = TABLES["association_edges"].schema.columns()
    values = {
        name: pl.lit(idle, column.dtype) if isinstance(column.dtype, pl.Datetime) else pl.lit(None, column.dtype)
        for name, column in columns.items()
    }
    told = {
        "profile_id": pl.lit("p"),
        "edge_type": pl.lit("ASSOCIATED"),
        "kind": pl.lit(None, pl.String),
        "weight": pl.lit(0.8),
        "base_weight": pl.lit(0.8),
        "origin": pl.lit("discovered"),
    }
    return TABLES["association_edges"].conform(
        pl.DataFrame(ends).with_columns(**{name: value for name, value in (values | told).items() if name not in ends})
    )


def bench_lightweight() -> None:
    of, policy = described(FACTS), policy_of("superlocal")
    memories, edges = of["memories"], fading_edges(of["memories"], EDGES)
    scored = scoring.score(memories, of["importance"], of["edges"], policy, as_of=texts.AS_OF, plan_id="p")
    blocks = TABLES["core_memory_blocks"].empty()

    def lightweight() -> tuple[pl.DataFrame, pl.DataFrame]:
        compiled = core_memory.compile_blocks(
            memories, scored, of["enrichment"], blocks, of["completions"], policy,
            as_of=texts.AS_OF, plan_id="p", edges=edges,
        )  # fmt: skip
        present = associations.decay(edges, policy, as_of=texts.AS_OF)
        return compiled, associations.faded(present, policy)

    (compiled, _), ours = cpu(lightweight)
    print(f"lightweight at {FACTS:,} memories and {EDGES:,} edges: {1e3 * ours:.0f} ms, {compiled.height} blocks")
    figure(
        f"lightweight task at {FACTS:,} memories and {EDGES:,} edges, in process",
        1e3 * ours,
        "CPU ms",
        at_most=100,
        tried="sentences are read once and kept; choosing among all facts of a profile for five blocks is what is left",
    )
    with tempfile.TemporaryDirectory() as folder, store.filled(Path(folder), FACTS, 1)[0] as lake:
        settings = load(lake.home, environment={})
        consolidate.consolidate(lake, settings, inputs.select_profiles(lake, settings, as_of=store.NIGHT), run_id="a")
        later = inputs.select_profiles(lake, settings, as_of=store.NIGHT + store.DAY, task="lightweight")
        _, whole = cpu(lambda: consolidate.consolidate(lake, settings, later, run_id="b"), rounds=1)
    figure("a whole lightweight run of that many, ledger, scores and commit included", whole, "CPU s")
    if PEERS.exists():
        alone = peer("lightweight_of_superlocalmemory.py", FACTS, 0)["seconds"]
        some = peer("lightweight_of_superlocalmemory.py", FACTS, TIMED_EDGES)["seconds"]
        theirs = alone + (some - alone) * EDGES / TIMED_EDGES
        print(f"  superlocalmemory 4.1.18: {some:.1f} s with {TIMED_EDGES:,} edges, so {theirs:.0f} s with all")
        figure(
            f"lightweight task at {FACTS:,} memories and {EDGES:,} edges, against superlocalmemory 4.1.18",
            theirs / ours,
            "x as fast",
            at_least=300,
            tried="its edges are updated one by one in SQLite; ours are one column, and the blocks take the rest",
        )
        figure("a whole lightweight run, against superlocalmemory 4.1.18", theirs / whole, "x as fast")


def main() -> None:
    if not PEERS.exists():
        print("no .venv-peers (see .ci/peers): packages are left out")
    bench_tick()
    bench_clusters()
    bench_lightweight()


if __name__ == "__main__":
    main()
