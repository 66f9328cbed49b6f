"""Measures the quality of the project on what was left out of every fit, and writes the quality page.

Run with `python research/quality.py SHARED [--out FILE]`; SHARED holds the folders `fresh` (labelled
stores), `locomo`, `beam` and `beam500k` (conversations). Not here: the figures (`metrics`, `quality_stores`), one
replay (`replay`), fitting without a source (`left_out`), and the page (`quality_page`).
"""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

import bm25_baseline
import compare_cost
import labelled_stores
import left_out
import polars as pl
import quality_quotes
import quality_stores
from left_out import Models
from made_up_stores import stores
from quality_page import Row, page

from memory_pipeline.evaluation import experiment, metrics, replay
from memory_pipeline.evaluation.conversations import load
from memory_pipeline.settings import Policy, model_files, preset_names

BUDGETS: Final = (0.5, 0.3, 0.2)
T = TypeVar("T")
R = TypeVar("R")

TALKS: Final = ("locomo", "beam", "beam500k")
"""Folders of conversations."""
_WORKERS: Final = 2
_RAW: Final = "raw"


@dataclass(frozen=True)
class Job:
    """One replay: a conversation, a policy and the models."""

    part: str
    """One of `TALKS`."""
    path: Path
    variant: str
    """`raw`, a budget, or the name of a preset."""
    models: Models = field(default_factory=dict, hash=False)
    """Coefficients that stand in for the shipped ones."""

    def policy(self) -> Policy:
        """Return the policy of the variant."""
        if self.variant in preset_names():
            return replay.policy_for(preset=self.variant)
        return replay.policy_for(budget=None if self.variant == _RAW else float(self.variant))


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


def jobs(shared: Path, models: Mapping[str, Models]) -> list[Job]:
    """Return all replays of conversations, the decisive ones first.

    Args:
        shared: the folder of the data.
        models: coefficients by name of the conversation (see `left_out`).

    Raises:
        ValueError: a folder is missing or empty.
    """
    files = {part: sorted((shared / part).glob("*.json")) for part in TALKS}
    for part, paths in files.items():
        if not paths:
            raise ValueError(f"{shared / part}: has no *.json; give the folder with {', '.join(TALKS)}")
    variants = [("beam500k", _RAW), ("beam", _RAW), ("locomo", _RAW), *(("locomo", str(one)) for one in BUDGETS)]
    variants += [("locomo", name) for name in preset_names()]
    return [
        Job(part, path, variant, models.get(f"{part}/{path.stem}", {}))
        for part, variant in variants
        for path in files[part]
    ]


def run_job(job: Job) -> JobResult:
    """Replay one conversation and score the results of its questions, asked a day after its end."""
    chat = load(job.path)
    queries = experiment.queries(chat)
    with model_files.fitted(job.models):
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

    def scored(self, part: str, variant: str) -> pl.DataFrame:
        """Return the scored questions."""
        return pl.concat([result.scored for result in self.of(part, variant)])

    def mean(
        self, part: str, variant: str, figure: str, target: str | None, label: str, *, kinds: Sequence[str] = ()
    ) -> Row:
        """Return the row of a mean, with minimum and maximum over conversations."""
        scored = self.scored(part, variant)
        scored = scored.filter(pl.col("kind").is_in(kinds)) if kinds else scored
        summary = metrics.summary(scored, by="chat").filter(pl.col("figure") == figure)
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


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def rows(measured: Measurements) -> list[Row]:
    """Return the rows of the table on conversations."""
    table = [
        measured.mean("locomo", _RAW, "hit@10", "≥ .89", "LoCoMo, all kept: hit@10"),
        measured.mean("locomo", _RAW, "recall@512t", "≥ .82", "LoCoMo, all kept: recall@512t"),
    ]
    for budget, (hit, recall) in {0.5: (".86", ".81"), 0.3: (".78", ".73"), 0.2: (".68", ".62")}.items():
        of_budget = measured.of("locomo", str(budget))
        head = f"LoCoMo, {sum(result.tokens_share for result in of_budget) / len(of_budget):.1%} of tokens"
        table += [
            measured.mean("locomo", str(budget), "hit@10", f"≥ {hit}", f"{head}: hit@10"),
            measured.mean("locomo", str(budget), "recall@512t", f"≥ {recall}", f"{head}: recall@512t"),
        ]
    targets = {"beam": (".80", ".80", None), "beam500k": (".80", ".92", ".88")}
    for part, (gold, first, third) in targets.items():
        name = {"beam": "BEAM", "beam500k": "BEAM 500k"}[part]
        table += [
            measured.mean(part, _RAW, "gold@10", f"≥ {gold}", f"{name}: gold@10"),
            measured.mean(part, _RAW, "fresh-first", f"≥ {first}", f"{name}: fresh-first"),
            measured.mean(part, _RAW, "fresh@3", third and f"≥ {third}", f"{name}: fresh@3"),
        ]
        table += [
            measured.mean(part, _RAW, "gold@10", None, f"{name}: gold@10 of {kind}", kinds=[kind])
            for kind in ("summarization", "instruction_following")
        ]
    largest = max(result.largest_cluster for result in measured.results if result.job.part == "locomo")
    return [*table, Row("LoCoMo: largest cluster by likeness, any preset", float(largest), None, None, "≤ 30", "turns")]


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


def measure(shared: Path, pool: Executor, models: Mapping[str, Models]) -> Measurements:
    """Replay all conversations, and report progress on standard error."""
    return Measurements(_mapped(pool, run_job, jobs(shared, models)))


def _mapped(pool: Executor, function: Callable[[T], R], todo: Sequence[T]) -> list[R]:
    done = []
    for result in pool.map(function, todo):
        done.append(result)
        sys.stderr.write(f"\r{len(done)} of {len(todo)}")
    sys.stderr.write("\n")
    return done


def written(shared: Path, own: Path, *, workers: int = _WORKERS) -> str:
    """Measure everything and return the quality page.

    Args:
        shared: folder with `fresh` and the folders of `TALKS`.
        own: a labelled store that no model was fitted on; wrong decisions are quoted from it and the made-up stores.
        workers: processes.

    Raises:
        ValueError: a folder is missing or empty.
    """
    jobs(shared, {})
    cost = compare_cost.row()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        models = left_out.models(shared, pool)
        outside = _mapped(pool, quality_stores.measure, labelled_stores.load(shared / "fresh"))
        made_up = _mapped(pool, quality_stores.measure, [store for store in stores.load() if store.questions])
        quoted = _mapped(pool, quality_quotes.quotes, quality_quotes.unfitted_stores(own))
        measured = measure(shared, pool, models)
    return page(
        quality_stores.rows(outside),
        [*rows(measured), cost],
        quality_stores.rows(made_up),
        quality_quotes.chosen(wrong for wrong, _ in quoted),
        quality_quotes.chosen(missed for _, missed in quoted[:1]),
        costs(measured),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the page, and optionally write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder with fresh/, locomo/, beam/ and beam500k/")
    parser.add_argument(
        "--own", type=Path, default=Path("examples/labelled_store"), help="labelled store to quote from"
    )
    parser.add_argument("--out", type=Path, help="also write the page to this file")
    parser.add_argument("--workers", type=int, default=_WORKERS, help="number of parallel replays")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        text = written(options.shared, options.own, workers=options.workers)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(text)
    if options.out is not None:
        options.out.write_text(text, "utf-8")
    sys.stderr.write(f"{time.perf_counter() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
