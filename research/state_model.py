"""Fits a linear model on what the reader holds of sentences (`text/score/state_heads`), and writes it.

A logistic regression with a ridge. Not here: what it learns from (`fit_references`, `fit_standing_orders`,
`fit_contrasts`, `fit_figurative`).
"""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from memory_pipeline.text.embed.encoder import STATE, sentence_reader

Floats = NDArray[np.float64]


def states(sentences: Sequence[tuple[str, str]]) -> Floats:
    """Return what the reader holds of sentences, each after the text before it, [sentences, `STATE`]."""
    return sentence_reader().read(sentences)[:, :STATE].astype(np.float64)


def fit(given: Floats, true: Floats, counts: Floats, *, ridge: float) -> tuple[Floats, float]:
    """Return the weight of each number of a state, and the offset.

    Args:
        given: states, [sentences, `STATE`].
        true: 1 for a sentence of which it is so, 0 for another.
        counts: how often each sentence counts.
        ridge: how strongly weights are drawn to 0.
    """
    mean, spread = given.mean(axis=0), given.std(axis=0) + 1e-6
    columns = np.column_stack([np.ones(len(true)), (given - mean) / spread])
    share = counts / counts.sum()

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = columns @ weights
        apart = np.concatenate([[0.0], weights[1:]])
        missed = np.logaddexp(0.0, scores) - true * scores
        slope = columns.T @ (share * (expit(scores) - true)) + ridge * apart
        return float(share @ missed + ridge / 2 * (apart**2).sum()), slope

    found = minimize(loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    weights = found[1:] / spread
    return weights, float(found[0] - mean @ weights)


def write(name: str, weights: Floats, offset: float, out: Path | None) -> None:
    """Write a model to a file; default: that of its name (`state_heads.HEADS`) in `models/` of this package."""
    path = out or Path(str(resources.files("memory_pipeline"))) / "models" / f"{name}.npz"
    np.savez_compressed(path, weights=weights.astype(np.float32), offset=np.float64(offset))
