"""Measures the quality of the project on what was left out of every fit, and writes the quality page.

Run with `python research/quality.py SHARED [--out FILE] [--part NAME ...]`; SHARED holds the folders `fresh` (labelled
stores), `locomo`, `beam` and `beam500k` (conversations). Sections that are not measured stay as they are in FILE. What
the reader has read is kept between runs (`tests/readings.py`). Not here: the figures (`metrics`, `quality_stores`,
`measure_keeping`, `correction_protocol`), one replay (`replay`), fitting without a source (`left_out`), and the page
(`quality_page`).
"""

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

import bm25_baseline
import corpus_files
import correction_protocol
import labelled_stores
import left_out
import measure_keeping
import polars as pl
import quality_page
import quality_quotes
import quality_stores
from left_out import Models
from quality_page import Row

from memory_pipeline.evaluation import experiment, metrics, replay
from memory_pipeline.evaluation.conversations import load
from memory_pipeline.settings import Policy, model_files, preset_names
from memory_pipeline.settings.new_stores import EMBEDDER

BUDGETS: Final = (0.5, 0.3, 0.2)
T = TypeVar("T")
R = TypeVar("R")

Sections = dict[str, list[str]]
"""Lines of sections of the page, by name (`quality_page.TITLES`)."""

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
            return replay.policy_for(preset=self.variant, embedder=EMBEDDER)
        return replay.policy_for(budget=None if self.variant == _RAW else float(self.variant), embedder=EMBEDDER)


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


def jobs(shared: Path, part: str, variants: Sequence[str], models: Mapping[str, Models]) -> list[Job]:
    """Return the replays of all conversations of a folder.

    Args:
        shared: the folder of the data.
        part: one of `TALKS`.
        variants: see `Job`.
        models: coefficients by name of the conversation (see `left_out`).

    Raises:
        ValueError: the folder is missing or empty.
    """
    paths = sorted((shared / part).glob("*.json"))
    if not paths:
        raise ValueError(f"{shared / part}: has no *.json; give the folder with {', '.join(TALKS)}")
    return [Job(part, path, name, models.get(f"{part}/{path.stem}", {})) for name in variants for path in paths]


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


def talks(measured: Measurements) -> list[Row]:
    """Return the rows of the table on LoCoMo, all kept and at each budget, and on BEAM."""
    table = [
        measured.mean("locomo", _RAW, "hit@10", "≥ .89", "LoCoMo, all kept: hit@10"),
        measured.mean("locomo", _RAW, "recall@512t", "≥ .82", "LoCoMo, all kept: recall@512t"),
    ]
    for budget, (hit, recall) in {0.5: (".85", ".81"), 0.3: (".77", ".73"), 0.2: (".66", ".62")}.items():
        of_budget = measured.of("locomo", str(budget))
        head = f"LoCoMo, {sum(result.tokens_share for result in of_budget) / len(of_budget):.1%} of tokens"
        table += [
            measured.mean("locomo", str(budget), "hit@10", f"≥ {hit}", f"{head}: hit@10"),
            measured.mean("locomo", str(budget), "recall@512t", f"≥ {recall}", f"{head}: recall@512t"),
        ]
    return table + _beam(measured, "beam")


_BEAM: Final = {"beam": ("BEAM", "≥ .80", "≥ .80", None), "beam500k": ("BEAM 500k", "≥ .80", "≥ .92", "≥ .88")}


def _beam(measured: Measurements, part: str) -> list[Row]:
    name, gold, first, third = _BEAM[part]
    return [
        measured.mean(part, _RAW, "gold@10", gold, f"{name}: gold@10"),
        measured.mean(part, _RAW, "fresh-first", first, f"{name}: fresh-first"),
        measured.mean(part, _RAW, "fresh@3", third, f"{name}: fresh@3"),
        *(
            measured.mean(part, _RAW, "gold@10", None, f"{name}: gold@10 of {kind}", kinds=[kind])
            for kind in ("summarization", "instruction_following")
        ),
    ]


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


def _mapped(pool: Executor, function: Callable[[T], R], todo: Sequence[T]) -> list[R]:
    done = []
    for result in pool.map(function, todo):
        done.append(result)
        sys.stderr.write(f"\r{len(done)} of {len(todo)}")
    sys.stderr.write("\n")
    return done


def _keep_readings() -> None:
    """Let a process keep what the reader has read, for this and later runs."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    import readings  # noqa: PLC0415 - of the tests

    readings.keep()


def _stores(shared: Path, pool: Executor) -> Sections:
    measured = _mapped(pool, quality_stores.measure, labelled_stores.load(shared / "fresh"))
    return {"stores": quality_page.table(quality_stores.rows(measured))}


def _own(_: Path, pool: Executor) -> Sections:
    stores = corpus_files.episodes(files=corpus_files.UNREAD)
    measured = _mapped(pool, quality_stores.measure, stores)
    quoted = _mapped(pool, quality_quotes.quotes, stores)
    return {
        "own": quality_page.table(quality_stores.rows(measured)),
        "wrong": quality_page.quotes(quality_quotes.chosen(wrong for wrong, _ in quoted)),
        "missed": quality_page.quotes(quality_quotes.chosen(missed for _, missed in quoted)),
    }


def _read(_: Path, pool: Executor) -> Sections:
    answers = corpus_files.answers()
    stores = [one for one in corpus_files.episodes(files=corpus_files.UNREAD) if one.name in answers]
    measured = list(pool.map(quality_stores.judges, stores, [answers[store.name] for store in stores]))
    return {"read": quality_page.counts(quality_stores.compared(measured))}


def _talks(shared: Path, pool: Executor) -> Sections:
    models = left_out.models(shared, pool)
    todo = jobs(shared, "locomo", [_RAW, *map(str, BUDGETS)], models) + jobs(shared, "beam", [_RAW], models)
    return {"talks": quality_page.table(talks(Measurements(_mapped(pool, run_job, todo))))}


def _long(shared: Path, pool: Executor) -> Sections:
    todo = jobs(shared, "beam500k", [_RAW], left_out.models(shared, pool))
    return {"long": quality_page.table(_beam(Measurements(_mapped(pool, run_job, todo)), "beam500k"))}


def _presets(shared: Path, pool: Executor) -> Sections:
    todo = jobs(shared, "locomo", [_RAW, *preset_names()], {})
    return {"presets": quality_page.costs(costs(Measurements(_mapped(pool, run_job, todo))))}


def _keeping(_: Path, pool: Executor) -> Sections:
    given = corpus_files.labels()
    stores = [one for one in corpus_files.episodes(files=measure_keeping.FILES) if one.name in given]
    counts = Counter[str]()
    for one in pool.map(measure_keeping.measure, stores, [given[store.name] for store in stores]):
        counts.update(one)
    return {"keeping": quality_page.counts(pl.DataFrame({"figure": list(counts), "count": list(counts.values())}))}


def _corrections(_: Path, __: Executor) -> Sections:
    files = [corpus_files.FOLDER / "corrections" / f"{name}.txt" for name in ("b", "g", "m")]
    told = [scenario for file in files for scenario in corpus_files.scenarios(file)]
    with tempfile.TemporaryDirectory() as home:
        counts = correction_protocol.figures(correction_protocol.measure(told, Path(home)))
    return {"corrections": quality_page.counts(counts)}


PARTS: Final[Mapping[str, Callable[[Path, Executor], Sections]]] = {
    "stores": _stores,
    "own": _own,
    "read": _read,
    "keeping": _keeping,
    "corrections": _corrections,
    "talks": _talks,
    "presets": _presets,
    "long": _long,
}
"""What can be measured alone, by name; each gives one section or more of the page."""


def written(
    shared: Path, before: str, *, parts: Sequence[str] = tuple(PARTS), when: str, workers: int = _WORKERS
) -> str:
    """Measure some parts and return the quality page.

    Args:
        shared: folder with `fresh` and the folders of `TALKS`.
        before: the page as it was.
        parts: names of `PARTS`.
        when: date and commit of the measurement.
        workers: processes.

    Raises:
        ValueError: a folder is missing or empty.
    """
    start = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=start, initializer=_keep_readings) as pool:
        sections = [PARTS[name](shared, pool) for name in parts]
    return quality_page.page({name: lines for one in sections for name, lines in one.items()}, before, when=when)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the page, and optionally write it to a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="folder with fresh/, locomo/, beam/ and beam500k/")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS), help="what to measure; default: all")
    parser.add_argument("--out", type=Path, help="also write the page to this file")
    parser.add_argument("--workers", type=int, default=_WORKERS, help="number of parallel replays")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout  # noqa: S607 - the developer's git
    when = f"{datetime.now(UTC):%d %B %Y} at {commit.strip()}".lstrip("0")
    try:
        before = options.out.read_text("utf-8") if options.out is not None and options.out.exists() else ""
        text = written(options.shared, before, parts=options.part, when=when, workers=options.workers)
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
