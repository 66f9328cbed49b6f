"""Fits the confidence of answers on the questions of the made-up stores, some of which have no answer.

Run with `python research/fit_confidence.py [--out FILE]`; the output is `models/confidence.toml`. Not
here: the features (`recall/rank/confidence`) and the figures on other stores (`quality`).

Logistic regression with a ridge; answered and unanswered questions have the same total weight. A question is answered
if one of the first ten memories answers it.
"""

import argparse
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
from fit_ranking import asked, index_of
from labelled_stores import DEPTH, LabelledStore
from made_up_stores import stores
from numpy.typing import NDArray
from scipy.optimize import minimize

from memory_pipeline.evaluation.conversations import chat
from memory_pipeline.recall.rank.confidence import CONFIDENCE, confidence_features
from memory_pipeline.recall.rank.ranking import weights
from memory_pipeline.text.embed.embedding import embedder

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

RIDGE: Final = 0.003


def examples(store: LabelledStore) -> tuple[Floats, Marks]:
    """Return the features [questions, `CONFIDENCE`] and whether one of the first ten memories is an answer."""
    index = index_of(chat(store.name, store.turns.to_dicts(), []))
    vectors = embedder(index.model).embed([question["question"] for question in store.questions])
    ids = index.memories["memory_id"]
    rows, answered = [], []
    for row, vector in zip(store.questions, vectors, strict=True):
        question, candidates = asked(index, row["question"], row["at"], vector)
        scores = candidates.scored(weights(index))[0]
        first = ids.gather(candidates.rows[np.argsort(-scores, kind="stable")[:DEPTH]])
        rows.append(confidence_features(index, question, candidates, scores))
        answered.append(bool(first.is_in([name for group in row["gold"] for name in group]).any()))
    return np.array(rows), np.array(answered, dtype=np.bool_)


def fit(features: Floats, answered: Marks) -> Floats:
    """Return the offset (first) and the weight of each of `CONFIDENCE`."""
    spread = np.maximum(features.std(axis=0), 1e-9)
    columns = np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / spread])
    share = np.where(answered, 0.5 / answered.sum(), 0.5 / (~answered).sum())
    sign = np.where(answered, 1.0, -1.0)

    def loss(flat: Floats) -> tuple[float, Floats]:
        margin = sign * (columns @ flat)
        apart = np.append(0.0, flat[1:])
        slope = -(columns.T @ (share * sign / (1.0 + np.exp(margin)))) + 2.0 * RIDGE * apart
        return float((share * np.logaddexp(0.0, -margin)).sum() + RIDGE * (apart @ apart)), slope

    found = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B").x
    scaled = found[1:] / spread
    return np.append(found[0] - scaled @ features.mean(axis=0), scaled)


def separation(features: Floats, answered: Marks, fitted: Floats) -> float:
    """Return the probability that an answered question has more confidence than an unanswered one (AUC)."""
    power = features @ fitted[1:]
    lead = power[answered][:, np.newaxis] - power[~answered]
    return float((lead > 0).mean() + 0.5 * (lead == 0).mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model and write it with its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/confidence.toml of this package")
    options = parser.parse_args(arguments)
    parts = [examples(store) for store in stores.load() if store.questions]
    whole = fit(*_together(parts))
    outside = [separation(*part, fit(*_together(one for one in parts if one is not part))) for part in parts]
    lines = [
        "# How likely one of the best memories answers a query: the weight of each feature of",
        "# `memory_pipeline/recall/rank/confidence.py`. Written by the fit below.",
        "",
        "[coefficients]",
        f"offset = {whole[0]:.4f}",
        *(f"{name} = {weight:.4f}  # {CONFIDENCE[name]}" for name, weight in zip(CONFIDENCE, whole[1:], strict=True)),
        "",
        "[fit]",
        'command = "python research/fit_confidence.py"',
        f"stores = {len(parts)}",
        f"questions = {sum(len(answered) for _, answered in parts)}",
        f"unanswered = {sum(int((~answered).sum()) for _, answered in parts)}",
        "# Probability that an answered question is surer than an unanswered one, in stores left out of the fit: mean,",
        "# minimum and maximum.",
        f"separation = [{np.mean(outside):.3f}, {min(outside):.3f}, {max(outside):.3f}]",
    ]
    out = options.out or Path(str(resources.files("memory_pipeline") / "models" / "confidence.toml"))
    out.write_text("\n".join(lines) + "\n", "utf-8")
    print(out.read_text("utf-8"))


def _together(parts: Iterable[tuple[Floats, Marks]]) -> tuple[Floats, Marks]:
    features, answered = zip(*parts, strict=True)
    return np.concatenate(features), np.concatenate(answered)


if __name__ == "__main__":
    main()
