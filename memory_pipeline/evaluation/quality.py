"""Measures the quality of the project: recall before and after forgetting, pair judgements, and costs of the presets.

Run with `python -m memory_pipeline.evaluation.quality SHARED [--out FILE]`; SHARED holds `locomo/*.json` and
`beam/*.json`. Not here: the figures (`metrics.py`), one replay (`replay.py`), generated chats and pairs
(`synthetic_chats/`, `pair_labels/synthetic_pairs.py`), and the page (`quality_page.py`).
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import bm25_baseline, experiment, metrics, replay
from memory_pipeline.evaluation.conversations import Chat, load
from memory_pipeline.evaluation.pair_labels import pairs, synthetic_pairs
from memory_pipeline.evaluation.quality_page import Row, page
from memory_pipeline.evaluation.synthetic_chats.chats import generate
from memory_pipeline.settings import Policy, preset_names

BUDGETS: Final = (0.5, 0.3, 0.2)
SEEDS: Final = (901, 902)
"""Seeds of generated chats for measuring; none is used for fitting."""
_WORKERS: Final = 2
_RAW: Final = "raw"
_BLIND: Final = "changes unknown"
"""Raw store without detection of changed facts, which disables the ranking's rule for outdated values."""


@dataclass(frozen=True)
class Job:
    """One replay: a conversation and a policy."""

    part: str
    """locomo, beam or made (generated)."""
    source: str
    """Path of the file, or kind and seed of a generated chat."""
    variant: str
    """`raw`, `changes unknown`, a budget, or the name of a preset."""

    def policy(self) -> Policy:
        """Return the policy of the variant."""
        if self.variant in preset_names():
            return replay.policy_for(preset=self.variant)
        if self.variant in (_RAW, _BLIND):
            return replay.policy_for().model_copy(update={"fact_changes": self.variant == _RAW})
        return replay.policy_for(budget=float(self.variant))

    def chat(self) -> Chat:
        """Return the conversation."""
        if self.part != "made":
            return load(Path(self.source))
        kind, seed = self.source.split()
        return generate(int(seed), kind="assistant" if kind == "assistant" else "two_person")


@dataclass(frozen=True)
class JobResult:
    """Result of a job."""

    job: Job
    scored: pl.DataFrame
    """Rows of `metrics.score` with the default ranking."""
    neutral: pl.DataFrame
    """The same with the BM25 baseline over the store."""
    tokens_share: float
    seconds: float
    largest_cluster: int


def jobs(shared: Path) -> list[Job]:
    """Return all replays.

    Raises:
        ValueError: a folder is missing or empty.
    """
    files = {part: sorted((shared / part).glob("*.json")) for part in ("locomo", "beam")}
    for part, paths in files.items():
        if not paths:
            raise ValueError(f"{shared / part}: has no *.json; give the folder with locomo/ and beam/")
    budgets = [str(budget) for budget in BUDGETS]
    generated = [
        Job("made", f"{kind} {seed}", variant)
        for kind in ("assistant", "two_person")
        for seed in SEEDS
        for variant in (_RAW, _BLIND)
    ]
    return [
        *(Job("locomo", str(path), variant) for variant in (_RAW, *budgets) for path in files["locomo"]),
        *(Job("beam", str(path), variant) for variant in (_RAW, _BLIND) for path in files["beam"]),
        *generated,
        *(Job("locomo", str(path), name) for name in preset_names() for path in files["locomo"]),
    ]


def run_job(job: Job) -> JobResult:
    """Replay one conversation and score the results of its questions, asked a day after its end."""
    chat = job.chat()
    queries = experiment.queries(chat)
    result = replay.run(chat.turns, queries, job.policy())
    questions = experiment.answerable(chat)
    plain = bm25_baseline.results(result.hot, queries)
    return JobResult(
        job,
        metrics.score(questions, result.hot, result.results),
        metrics.score(questions, result.hot, plain),
        experiment.size(chat, result.hot)["tokens_share"],
        result.seconds,
        result.largest_cluster,
    )


class Measurements:
    """All job results, by part and variant."""

    def __init__(self, results: Iterable[JobResult]) -> None:
        self.results = list(results)

    def of(self, part: str, variant: str) -> list[JobResult]:
        """Return the results of one part and variant."""
        return [result for result in self.results if (result.job.part, result.job.variant) == (part, variant)]

    def scored(self, part: str, variant: str, *, plain: bool = False) -> pl.DataFrame:
        """Return the scored questions, by the default ranking or the BM25 baseline."""
        return pl.concat([result.neutral if plain else result.scored for result in self.of(part, variant)])

    def mean(self, part: str, variant: str, figure: str, target: str, label: str) -> Row:
        """Return the row of a mean, with minimum and maximum over conversations."""
        summary = metrics.summary(self.scored(part, variant), by="chat").filter(pl.col("figure") == figure)
        total, *each = summary.to_dicts()
        return Row(
            label,
            total["value"],
            total["low"],
            total["high"],
            target,
            f"{total['n']} questions of {len(each)} conversations",
            _ends([row["value"] for row in each]),
        )

    def ratio(self, scored: pl.DataFrame, base: pl.DataFrame, figure: str, target: str, label: str) -> Row:
        """Return the row of a ratio to another variant, with minimum and maximum over conversations."""

        def share(*chats: str) -> dict[str, Any]:
            among = pl.col("chat").is_in(chats)
            ratios = metrics.against(scored.filter(among), base.filter(among))
            return ratios.filter(pl.col("figure") == figure).row(0, named=True)

        names = scored["chat"].unique(maintain_order=True).to_list()
        total, each = share(*names), [share(name) for name in names]
        note = f"{total['value']:.3f} of {total['base']:.3f}, {total['n']} questions of {len(each)} conversations"
        shares = [row["ratio"] for row in each if row["ratio"] is not None]
        return Row(label, total["ratio"], total["low"], total["high"], target, note, _ends(shares))


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def rows(measured: Measurements) -> list[Row]:
    """Return the rows of the recall table."""
    table = [
        measured.mean("locomo", _RAW, "hit@10", "≥ .88", "LoCoMo, all kept: hit@10"),
        measured.mean("locomo", _RAW, "recall@512t", "≥ .82", "LoCoMo, all kept: recall@512t"),
    ]
    reach = {0.5: (".84", ".79", "1.02"), 0.3: (".75", ".71", ".92"), 0.2: (".65", ".60", ".78")}
    plain = measured.scored("locomo", _RAW, plain=True)
    for budget, (hit, recall, share) in reach.items():
        name = str(budget)
        of_budget = measured.of("locomo", name)
        tokens_share = sum(result.tokens_share for result in of_budget) / len(of_budget)
        head = f"LoCoMo, {tokens_share:.1%} of tokens"
        table += [
            measured.mean("locomo", name, "hit@10", f"≥ {hit}", f"{head}: hit@10"),
            measured.mean("locomo", name, "recall@512t", f"≥ {recall}", f"{head}: recall@512t"),
            measured.ratio(
                measured.scored("locomo", name, plain=True),
                plain,
                "hit@10",
                f"≥ {share}",
                f"{head}: hit@10 of plain BM25, share of all kept",
            ),
        ]
    for figure, target in (("gold@10", ".85"), ("fresh-first", ".85"), ("fresh@3", ".85"), ("both@10", ".80")):
        table.append(measured.mean("beam", _RAW, figure, f"≥ {target}", f"BEAM: {figure}"))
    for kind in ("information_extraction", "temporal_reasoning"):
        scored, base = (measured.scored("beam", name).filter(pl.col("kind") == kind) for name in (_RAW, _BLIND))
        table.append(
            measured.ratio(scored, base, "gold_mrr", "≥ .97", f"BEAM: MRR of {kind}, share of it without the rule")
        )
    then = pl.col("question").is_in(_about_then())
    scored, base = (measured.scored("made", name).filter(then) for name in (_RAW, _BLIND))
    table.append(
        measured.ratio(scored, base, "gold@5", "≥ .98", "Made chats: gold@5 of questions about the past, share")
    )
    largest = max(result.largest_cluster for result in measured.results if result.job.part == "locomo")
    return [*table, Row("LoCoMo: largest cluster by likeness, any preset", float(largest), None, None, "≤ 30", "turns")]


def _about_then() -> list[str]:
    """Return the ids of generated questions about values before a change."""
    chats = [generate(seed, kind="assistant") for seed in SEEDS]
    return [
        name for chat in chats for name, text in chat.questions.select("id", "text").iter_rows() if "at first" in text
    ]


def judged(*, seed: int = 0) -> list[Row]:
    """Return the rows on judgements of generated pairs."""
    generated = synthetic_pairs.generate(seed)
    labelled = pairs.label(generated.select("first", "second")).select(generated["sort"], "label")

    def share(condition: pl.Expr, among: pl.Expr, target: str, label: str) -> Row:
        values = labelled.filter(among).select(condition.cast(pl.Float64)).to_series().to_numpy()
        low, high = metrics.interval(values)
        return Row(label, float(values.mean()), low, high, target, f"{len(values)} pairs")

    sort, judged_as = pl.col("sort"), pl.col("label")
    same = judged_as == "duplicate"
    table = [
        share(same, sort == "duplicate", "≥ .85", "Made pairs: the same text again, found"),
        share(same, sort == "other value", "≤ .01", "Made pairs: one fact differs, called duplicates"),
        share(sort == "duplicate", same, "≥ .95", "Made pairs: precision of duplicates"),
    ]
    for way in ("", ", freely worded"):
        table += [
            share(judged_as == "update", sort == f"update{way}", "≥ .90", f"Made pairs: updates{way}, found"),
            _f1(labelled, f"contradiction{way}", f"Made pairs: contradictions{way}, F1"),
        ]
    return table


def _f1(labelled: pl.DataFrame, wanted: str, label: str) -> Row:
    """Return the row of the F1 score of one sort of contradictions.

    Pairs that differ in one value without a word of change are ambiguous and left out.
    """
    others = ("duplicate", "update", "update, freely worded", "one subject", "unrelated")
    counted = labelled.filter(pl.col("sort").is_in([wanted, *others]))
    true, judged_as = counted["sort"] == wanted, counted["label"] == "contradiction"
    value = 2 * int((true & judged_as).sum()) / max(1, int(true.sum()) + int(judged_as.sum()))
    return Row(label, value, None, None, "≥ .80", f"{int(true.sum())} among {counted.height} pairs")


def costs(measured: Measurements) -> pl.DataFrame:
    """Return what each preset keeps, costs and finds on LoCoMo, with ratios to consolidating nothing."""
    base = measured.scored("locomo", _RAW)
    table = []
    for name in (_RAW, *preset_names()):
        done = measured.of("locomo", name)
        ratios = metrics.against(measured.scored("locomo", name), base)
        row = {
            "preset": "nothing consolidated" if name == _RAW else name,
            "tokens": sum(result.tokens_share for result in done) / len(done),
            "seconds": sum(result.seconds for result in done) / len(done),
            "largest cluster": max(result.largest_cluster for result in done),
        }
        for figure in ("hit@10", "recall@512t", "ndcg@10", "mrr"):
            ratio = ratios.filter(pl.col("figure") == figure).row(0, named=True)
            row |= {figure: ratio["value"], f"{figure} low": ratio["low"], f"{figure} high": ratio["high"]}
        table.append(row)
    return pl.DataFrame(table)


def measure(shared: Path, *, workers: int = _WORKERS) -> Measurements:
    """Run all jobs in parallel and report progress on standard error.

    Raises:
        ValueError: a folder is missing or empty.
    """
    todo = jobs(shared)
    done = []
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        for result in pool.map(run_job, todo):
            done.append(result)
            sys.stderr.write(f"\r{len(done)} of {len(todo)} replays")
    sys.stderr.write("\n")
    return Measurements(done)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the page, and optionally write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder with locomo/ and beam/")
    parser.add_argument("--out", type=Path, help="also write the page to this file")
    parser.add_argument("--workers", type=int, default=_WORKERS, help="number of parallel replays")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        measured = measure(options.shared, workers=options.workers)
    except ValueError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    text = page(rows(measured) + judged(), costs(measured))
    sys.stdout.write(text)
    if options.out is not None:
        options.out.write_text(text, "utf-8")
    sys.stderr.write(f"{time.perf_counter() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
