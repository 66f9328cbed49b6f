"""Fits what a sentence is worth under a token budget: how likely somebody asks for a memory.

Run with `python research/fit_worth.py`. Writes `models/worth.toml`, coefficients and fit report in one file. The
training data are the stores of `corpus_files.RANKED`, as one run of `default` under a token budget sees them. The
shipped coefficients were fitted with trees that had not learned from these stores. Not here: the features
(`consolidation/worth`).
"""

import sys
from collections.abc import Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Final

import corpus_files
import labelled_stores
import numpy as np
import polars as pl
from labelled_stores import LabelledStore
from numpy.typing import NDArray

from memory_pipeline.consolidation import keeping, worth
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.trimming import share_since
from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.simulation import simulate

PENALTIES: Final = (0.3, 3.0, 30.0, 300.0)
"""Strengths of the ridge to try."""
FOLDS: Final = 6
_STEPS: Final = 30
"""Steps of Newton's method; it has converged long before."""

Floats = NDArray[np.float64]


def examples(stores: Sequence[LabelledStore]) -> pl.DataFrame:
    """Return a row for each memory of the stores: store, gold (whether a question asks for it) and the features.

    Of several sentences of a memory the highest number of each kind stands; what was not read is left out.
    """
    return pl.concat([_examples(store) for store in stores])


def _examples(store: LabelledStore) -> pl.DataFrame:
    events, night = replay.stored(store.turns), datetime.combine(store.last, labelled_stores.NIGHT)
    policy = replay.policy_for(preset="default").model_copy(update={"token_budget": 0.5})
    tables = next(simulate(lambda _: events, policy, [night], max_archived_share=1.0)).tables
    memories = tables["memories"]
    said = worth.of_sentences(memories, tables["core_sentences"])  # type: ignore[arg-type]
    ranks = keeping.ranked(
        memories,  # type: ignore[arg-type]
        tables["association_edges"],
        tables["fact_changes"],  # type: ignore[arg-type]
        tables["accesses"],  # type: ignore[arg-type]
        tables["change_odds"],  # type: ignore[arg-type]
        said,
        as_of=night,
    )
    gold = sorted({memory for one in store.questions for group in one["gold"] for memory in group})
    read = said.group_by(KEY).agg(pl.col(*worth.READ).max())
    return (
        memories.select(*KEY, age=share_since())
        .join(ranks.select(*KEY, *keeping.ODDS), on=KEY, how="left", maintain_order="left")
        .join(read, on=KEY, how="left", maintain_order="left")
        .drop_nulls(worth.READ)
        .select(*worth.FEATURES, store=pl.lit(store.name), gold=pl.col("memory_id").is_in(gold))
    )


def fit(rows: pl.DataFrame, penalty: float) -> Floats:
    """Fit a logistic regression by Newton's method: the offset, then the coefficient of each feature.

    The ridge is on coefficients of features of unit variance.
    """
    values, gold = rows.select(worth.FEATURES).to_numpy(), rows["gold"].to_numpy().astype(np.float64)
    mean, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    features = np.column_stack([np.ones(len(values)), (values - mean) * (1.0 / spread)])
    ridge = np.diag([1e-6, *np.full(values.shape[1], penalty)])
    weights = np.zeros(features.shape[1])
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-features @ weights))
        slope = features.T @ (chance - gold) + ridge @ weights
        weights -= np.linalg.solve((features.T * (chance * (1.0 - chance))) @ features + ridge, slope)
    slopes = weights[1:] * (1.0 / spread)
    return np.array([weights[0] - slopes @ mean, *slopes])


def loss(rows: pl.DataFrame, weights: Floats) -> float:
    """Return the mean logarithmic loss of the probability that each memory is asked for."""
    scores, gold = weights[0] + rows.select(worth.FEATURES).to_numpy() @ weights[1:], rows["gold"].to_numpy()
    return float(np.logaddexp(0.0, np.where(gold, -scores, scores)).mean())


def choose(rows: pl.DataFrame) -> tuple[float, dict[float, float]]:
    """Choose the penalty by leaving stores out; return it and the mean loss of each."""
    names = rows["store"].unique().sort().to_list()
    scores: dict[float, float] = {}
    for penalty in PENALTIES:
        parts = [pl.col("store").is_in(names[fold::FOLDS]) for fold in range(FOLDS)]
        found = [loss(rows.filter(part), fit(rows.filter(~part), penalty)) for part in parts]
        scores[penalty] = float(np.mean(found))
    return min(PENALTIES, key=scores.__getitem__), scores


def document(rows: pl.DataFrame) -> str:
    """Return the model file."""
    penalty, scores = choose(rows)
    weights = fit(rows, penalty)
    lines = [
        "# How likely a memory is asked for: the weight of each feature (`memory_pipeline/consolidation/worth.py`).",
        "# Written by the fit below; a file of your own can replace it.",
        "",
        "[coefficients]",
        f"offset = {weights[0]:.3f}",
        *(f"{name} = {weight:.3f}" for name, weight in zip(worth.FEATURES, weights[1:], strict=True)),
        "",
        "[fit]",
        'command = "python research/fit_worth.py"',
        'what = "logistic regression on whether a question asks for a memory"',
        f"stores = {rows['store'].n_unique()}",
        f"memories = {rows.height}",
        f"penalty = {penalty:g}",
        "",
        "[fit.loss]",
        "# Mean logarithmic loss by penalty, in stores left out.",
        *(f'"{tried:g}" = {score:.4f}' for tried, score in scores.items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit the model and write it with its report."""
    rows = examples([*corpus_files.episodes(files=corpus_files.RANKED)])
    path = Path(str(resources.files("memory_pipeline") / "models" / f"{worth.MODEL}.toml"))
    path.write_text(document(rows), "utf-8")
    sys.stdout.write(path.read_text("utf-8"))


if __name__ == "__main__":
    main()
