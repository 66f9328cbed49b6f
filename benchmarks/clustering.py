"""Measures grouping, merge guard and summaries: speed, and how well copies are distinguished from changed facts.

    python benchmarks/clustering.py [--full]

Prints CPU seconds on one core, ratios and the growth from one size to the next, on generated statements: each is stored
once, some again in other words, some with another value in one place. Clustering is compared with the bare similarity
join that it needs, fading groups with the loop over all pairs that the design describes (one NumPy product per pair,
which flatters it), the guard with a plain difflib comparison of the same pairs, the extracts with a mere joining of the
texts. What the guard lets through is counted against what was generated. Thousands of copies of one text are timed,
since a flood of them must not stall a store.
"""

import argparse
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

for variable in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

from memory_pipeline.consolidation import similarity  # noqa: E402
from memory_pipeline.consolidation.groups import clustering  # noqa: E402
from memory_pipeline.consolidation.summaries import summarising  # noqa: E402
from memory_pipeline.schemas import TABLES  # noqa: E402
from memory_pipeline.settings import Policy  # noqa: E402
from memory_pipeline.text import content_hash, enrich  # noqa: E402
from memory_pipeline.text.compare import merge_guard  # noqa: E402
from memory_pipeline.text.embed import embedding  # noqa: E402

SIZES = (2_000, 20_000)
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
SHAPES = (
    "{who} bought a {colour} {thing} in {where} for {n} dollars",
    "We moved the {thing} from {where} to the {colour} {place} in {month}",
    "{who} needs {n} {thing}s for the {place} before {month}",
    "I learned {skill} with {who} at the {place} in {where}",
    "The {place} in {where} closes at {hour} pm because {who} repairs the {thing}",
)
VALUES = {
    "who": ["Greta", "Boris", "Farid", "Carla", "Hugo", "Elena", "Derek", "Jonas", "Mirela", "Tariq"],
    "where": ["Lisbon", "Oslo", "Kyoto", "Lima", "Dublin", "Cairo", "Quito", "Turin", "Ghent", "Riga"],
    "colour": ["red", "blue", "green", "white", "purple", "golden"],
    "thing": ["lamp", "printer", "scooter", "blanket", "kettle", "ladder", "mirror", "violin", "tractor", "camera"],
    "place": ["library", "garage", "bakery", "harbour", "theatre", "workshop", "chapel", "market", "museum", "kitchen"],
    "month": ["January", "March", "June", "August", "October", "December"],
    "skill": ["pottery", "chess", "juggling", "archery", "knitting", "sailing"],
    "hour": ["3", "5", "7", "9"],
    "n": [str(n) for n in range(12, 900, 7)],
}
WORDINGS = ("{}.", "By the way, {}", "{}, you know!", "As I said, {}.", "Honestly, {}", "{} :)")
OTHER_WORDS = {"bought": "purchased", "needs": "requires", "repairs": "fixes", "learned": "studied", "closes": "shuts"}


def made(n: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Return memories, and the number of the statement that each makes."""
    rng = np.random.default_rng(n)
    contents, statement = [], []
    while len(contents) < n:
        shape = SHAPES[rng.integers(len(SHAPES))]
        values = {slot: known[rng.integers(len(known))] for slot, known in VALUES.items()}
        said = shape.format(**values)
        contents.append(said)
        statement.append(said)
        if rng.random() < 0.3:
            text = WORDINGS[rng.integers(len(WORDINGS))].format(said)
            for word, other in OTHER_WORDS.items():
                text = text.replace(word, other) if rng.random() < 0.3 else text
            contents.append(text)
            statement.append(said)
        if rng.random() < 0.3:
            slot = [name for name in VALUES if f"{{{name}}}" in shape][rng.integers(3)]
            others = [value for value in VALUES[slot] if value != values[slot]]
            said = shape.format(**values | {slot: others[rng.integers(len(others))]})
            contents.append(said)
            statement.append(said)
    return memories(contents[:n]), np.unique(statement[:n], return_inverse=True)[1]


def memories(contents: list[str]) -> pl.DataFrame:
    table = TABLES["memories"]
    empty = table.empty()
    defaults = {pl.String: "", pl.Boolean: False, pl.Datetime: AS_OF, pl.List: []}
    nullable = {name for name, column in table.schema.columns().items() if column.nullable}
    columns = {
        name: pl.lit(None if name in nullable else defaults.get(type(kind), 0), kind)
        for name, kind in empty.schema.items()
    }
    texts = pl.Series("content", contents)
    numbered = pl.DataFrame(texts).with_row_index("place")
    filled = numbered.select(pl.exclude(columns), **columns | {"content": pl.col("content")}).with_columns(
        profile_id=pl.lit("p"),
        memory_id=pl.format("m{}", pl.col("place")),
        kind=pl.lit("original"),
        category=pl.lit("episodic"),
        memory_type=pl.lit("Context"),
        lifecycle=pl.lit("active"),
        tier=pl.lit("working"),
        created_at=pl.lit(AS_OF) - pl.col("place") * timedelta(minutes=17) - pl.col("place") // 7 * timedelta(hours=1),
        session_id=pl.format("s{}", pl.col("place") // 28),
        content_hash=content_hash.content_hashes(pl.Series([None] * len(contents), dtype=pl.String), texts),
    )
    return table.conform(filled)


def scores(of: pl.DataFrame) -> pl.DataFrame:
    known = {"relevance": 1.0, "retention": 0.1, "importance": 0.5, "stability": 0.3}
    return of.select("profile_id", "memory_id", **{name: pl.lit(value) for name, value in known.items()})


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def grouped(n: int) -> dict[str, float]:
    """Return the CPU seconds of grouping n memories and of the join alone; print precision and recall of copies."""
    of, statement = made(n)
    texts = enrich.texts(of)
    enrichment = enrich.enrich(texts)
    given = texts.select("profile_id", "content_hash", "speaker", content="embedded")
    vectors = embedding.embed_texts(given, "hashing")
    policy = Policy(methods=("near_duplicates", "similarity_components"))

    def by(*methods: str) -> tuple[clustering.Clustering, float]:
        chosen = policy.model_copy(update={"methods": methods or policy.methods})
        tables = (of, scores(of), enrichment, vectors, TABLES["association_edges"].empty())
        return timed(lambda: clustering.cluster(*tables, chosen, as_of=AS_OF, plan_id="plan"))

    found, seconds = by()
    _, nothing = by("coactivation")
    fading, fading_seconds = by("fading_groups")
    told, told_seconds = by("episodes")
    space = similarity.matrix(vectors["vector"])
    codes = np.zeros(len(space), dtype=np.int64)
    _, floor = timed(
        lambda: [similarity.threshold_join(space, codes, least) for least in (policy.duplicate_similarity, 0.5)]
    )
    merged = found.clusters.filter(pl.col("method") == "near_duplicates").join(
        found.cluster_members, on=["profile_id", "cluster_id"]
    )
    label = dict(zip(of.sort("created_at", descending=True)["memory_id"], statement.tolist(), strict=True))
    ours = [
        (label[one], label[two])
        for members in merged.group_by("cluster_id").agg("memory_id")["memory_id"].to_list()
        for place, one in enumerate(members)
        for two in members[:place]
    ]
    right = sum(one == two for one, two in ours)
    _, sizes = np.unique(statement, return_counts=True)
    copies = int((sizes * (sizes - 1) // 2).sum())
    print(f"{n:>9,}  copies found {right / copies:.3f}, precision {right / max(1, len(ours)):.4f}, "
          f"refusals kept {len(found.merge_refusals):,}, clusters {len(found.clusters):,}, "
          f"fading groups {len(fading.clusters):,}, episodes and sessions {len(told.clusters):,}")  # fmt: skip
    if n == SIZES[0]:
        peer = looped(space, policy) * (n / len(space)) ** 2
        print(f"{'':>9}  fading groups take {(fading_seconds - nothing) / peer:.3f} of the loop over all pairs")
    return {
        "join alone": floor,
        "near duplicates, clusters": seconds,
        "only loading": nothing,
        "fading groups": fading_seconds,
        "episodes": told_seconds,
    }


def looped(space: np.ndarray, policy: Policy) -> float:
    """Return the CPU seconds of the greedy loop over all pairs."""

    def loop() -> None:
        taken: set[int] = set()
        for seed in range(len(space)):
            if seed in taken:
                continue
            group = [seed]
            for other in range(len(space)):
                if other == seed or other in taken:
                    continue
                if float(space[seed] @ space[other]) >= policy.fading_similarity:
                    group.append(other)
                if len(group) == policy.fading_size:
                    taken.update(group)
                    break

    return timed(loop)[1]


def flooded(n: int) -> dict[str, float]:
    """Return the CPU seconds of grouping n copies of one text, and of summarising them."""
    of = memories(["The build has passed on all 3 servers"] * n)
    texts = enrich.texts(of)
    enrichment = enrich.enrich(texts)
    vectors = embedding.embed_texts(
        texts.select("profile_id", "content_hash", "speaker", content="embedded"), "hashing"
    )
    tables = (of, scores(of), enrichment, vectors, TABLES["association_edges"].empty())
    spent = {}
    for method in ("near_duplicates", "fading_groups", "similarity_components"):
        policy = Policy(methods=(method,))
        found, spent[f"{method} of copies"] = timed(
            lambda policy=policy: clustering.cluster(*tables, policy, as_of=AS_OF, plan_id="plan")
        )
        if method == "near_duplicates":
            merged = (found.clusters, found.cluster_members, of, scores(of), enrichment, TABLES["completions"].empty())
            _, spent["compression of copies"] = timed(
                lambda merged=merged, policy=policy: summarising.summarise(*merged, policy, plan_id="plan")
            )
    return spent


def guarded(n: int) -> None:
    """Time the guard on pairs of neighbours, and difflib on the same pairs."""
    of, _ = made(n)
    enrichment = enrich.enrich(enrich.texts(of))
    known = of.join(enrichment, on=["profile_id", "content_hash"], maintain_order="left")
    sides = [
        part.select(pl.all().name.prefix(f"{side}_")) for side, part in (("left", known[:-1]), ("right", known[1:]))
    ]
    pairs = pl.concat(sides, how="horizontal")
    _, ours = timed(lambda: merge_guard.disagreements(pairs))
    words = [(one.split(), two.split()) for one, two in pairs.select("left_content", "right_content").iter_rows()]
    _, peer = timed(lambda: [SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in words])
    print(f"guard      {1e6 * ours / len(pairs):6.1f} µs per pair; difflib {1e6 * peer / len(pairs):.1f} µs "
          f"({ours / peer:.2f} of it)")  # fmt: skip


def summed_up(count: int) -> None:
    """Time summaries of clusters of 5 to 30 memories, and a mere joining of their texts."""
    rng = np.random.default_rng(count)
    sizes = rng.integers(5, 31, count)
    of, _ = made(int(sizes.sum()))
    enrichment = enrich.enrich(enrich.texts(of))
    names = [f"{place:032}" for place in range(count)]
    members = pl.DataFrame({"profile_id": "p", "cluster_id": np.repeat(names, sizes), "memory_id": of["memory_id"]})
    known = TABLES["completions"].empty()
    clusters = pl.DataFrame(
        {
            "profile_id": "p",
            "cluster_id": names,
            "method": np.where(np.arange(count) % 2, "near_duplicates", "similarity_components"),
            "label": "theme",
            "dominant_type": "Context",
            "cluster_size": sizes,
            "temporal_span_days": 1.0,
        }
    ).with_columns(level=pl.lit(None, pl.String))
    made_up, ours = timed(
        lambda: summarising.summarise(clusters, members, of, scores(of), enrichment, known, Policy(), plan_id="plan")
    )
    _, peer = timed(
        lambda: (
            members.join(of, on=["profile_id", "memory_id"]).group_by("cluster_id").agg(pl.col("content").str.join(" "))
        )
    )
    spoken = of["content"].str.len_chars().sum()
    print(f"summaries  {len(made_up):,} of {sizes.sum():,} memories: {ours:.2f} s ({ours / peer:.0f} joinings), "
          f"{made_up['content'].str.len_chars().sum() / spoken:.2f} of the letters")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed and quality of clustering, merge guard and summaries.")
    parser.add_argument("--full", action="store_true", help="also 100,000 memories")
    sizes = (*SIZES, 100_000) if parser.parse_args().full else SIZES
    for rows in ([grouped(size) for size in sizes], [flooded(size) for size in (5_000, 50_000)]):
        for name in rows[0]:
            growth = [f"{later[name] / earlier[name]:.1f}x" for earlier, later in pairwise(rows)]
            print(f"{name:<32} " + "  ".join(f"{row[name]:.2f} s" for row in rows) + "   growth " + " ".join(growth))
    guarded(20_000)
    summed_up(1_000)


if __name__ == "__main__":
    main()
