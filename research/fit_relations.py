"""Fits the judge `rules` of relations from made-up stores whose relations are known.

Run with `python research/fit_relations.py [--out FILE]`. The training data are the made-up stores
without questions; those with questions measure it. The output is `models/relations.toml`: weights and fit report in one
file. Not here: the features (`text/compare/relation_features`) and what a run decides in a store (`labelled_stores`).

The model is multinomial logistic regression with a ridge on standardised features, minimised by L-BFGS.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from labelled_stores import LabelledStore
from made_up_stores import stores
from numpy.typing import NDArray
from scipy.optimize import minimize

from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.compare.relation_candidates import candidates
from memory_pipeline.text.compare.relation_features import features
from memory_pipeline.text.compare.relation_reading import MEMORY_COLUMNS, read

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

RIDGES: Final = (30.0, 100.0, 300.0)
"""Ridge strengths to try; the one with the best likelihood on stores left out wins."""
SHARES: Final = {"update": 1.0, "duplicate": 2.0, "conflict": 2.5, "unrelated": 1.0}
"""Weight of a pair of each relation: relations rarer in the made-up stores than elsewhere count more."""
_LABELS: Final = {"update": 0, "weak update": 0, "duplicate": 1, "contradiction": 2}
COMPARED: Final = 24
"""Number of older memories that each memory is compared with."""
_UNRELATED: Final = RELATIONS.index("unrelated")
_ACCURACY: Final = {"maxiter": 200, "ftol": 1e-8}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Candidates of one store: names of the features, [pairs, features], and the relation of each pair."""

    names: tuple[str, ...]
    features: Floats
    relations: Rows


def tabulate(store: LabelledStore) -> Table:
    """Return the features and relations of all candidates of a store of short memories."""
    turns = store.turns.with_columns(profile_id=pl.lit(store.name), content_hash="id", since="at")
    reading = read(turns.select(MEMORY_COLUMNS.keys()).cast(pl.Schema(MEMORY_COLUMNS)))
    older, newer = candidates(reading, most=COMPARED)
    start = reading.start
    names, table = features(reading, start[older], start[newer])
    rows = {memory: row for row, memory in enumerate(turns["id"])}
    labels = {
        tuple(sorted((rows[one], rows[other]))): place
        for kind, place in _LABELS.items()
        for one, other in store.relations.get(kind, ())
    }
    pairs = zip(older.tolist(), newer.tolist(), strict=True)
    return Table(names, table, np.array([labels.get(pair, _UNRELATED) for pair in pairs], dtype=np.int64))


def fit(tables: Sequence[Table], ridge: float) -> tuple[Floats, Floats]:
    """Fit weights [features, relations] and offsets [relations] for unscaled features."""
    table = np.concatenate([one.features for one in tables])
    relations = np.concatenate([one.relations for one in tables])
    mean, spread = table.mean(axis=0), table.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = (table - mean) / spread
    truth = np.eye(len(RELATIONS))[relations]
    share = np.array([SHARES[relation] for relation in RELATIONS])[relations][:, np.newaxis]
    shape = (scaled.shape[1] + 1, len(RELATIONS))

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = scaled @ weights[1:] + weights[0]
        scores -= scores.max(axis=1, keepdims=True)
        probability = np.exp(scores)
        probability /= probability.sum(axis=1, keepdims=True)
        slope = share * (probability - truth)
        penalty = ridge * weights[1:]
        likelihoods = np.log(np.maximum((probability * truth).sum(axis=1), 1e-12))
        value = -(share[:, 0] * likelihoods).sum() + 0.5 * (penalty * weights[1:]).sum()
        return float(value), np.concatenate([slope.sum(axis=0)[None], scaled.T @ slope + penalty]).ravel()

    solved = minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options=_ACCURACY).x.reshape(shape)
    weights = solved[1:] / spread[:, np.newaxis]
    return weights, solved[0] - mean @ weights


def probability(table: Table, weights: Floats, offsets: Floats) -> Floats:
    """Return the probability of each relation, [pairs, relations]."""
    scores = table.features @ weights + offsets
    exponential = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Floats = exponential / exponential.sum(axis=1, keepdims=True)
    return result


def left_out(tables: Sequence[Table], ridge: float) -> list[Floats]:
    """Return the probabilities of each table by a fit to all others."""
    return [probability(table, *fit([other for other in tables if other is not table], ridge)) for table in tables]


def likelihood(tables: Sequence[Table], predicted: Sequence[Floats]) -> float:
    """Return the mean log-likelihood of the relations."""
    terms = [
        np.log(np.maximum(found[np.arange(len(found)), table.relations], 1e-12))
        for table, found in zip(tables, predicted, strict=True)
    ]
    return float(np.concatenate(terms).mean())


def figures(relations: Rows, predicted: Floats) -> pl.DataFrame:
    """Return for each relation and threshold: pairs found, those of them that are right, and pairs that exist."""
    rows = []
    for place, relation in enumerate(RELATIONS[:_UNRELATED]):
        for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            found = (predicted[:, place] >= threshold) & (predicted[:, :_UNRELATED].argmax(axis=1) == place)
            right = int((found & (relations == place)).sum())
            rows.append((relation, threshold, int(found.sum()), right, int((relations == place).sum())))
    return pl.DataFrame(rows, schema=["relation", "threshold", "found", "right", "of"], orient="row")


def document(names: Sequence[str], weights: Floats, offsets: Floats, report: Sequence[str]) -> str:
    """Return the model file."""
    lines = [
        "# The judge of relations: weights of the features of `memory_pipeline/text/compare/relation_features.py`.",
        "# Written by the fit below.",
        "",
        "[coefficients]",
    ]
    for place, relation in enumerate(RELATIONS):
        lines.append(f'"{relation}.offset" = {offsets[place]:.4f}')
        lines += [f'"{relation}.{name}" = {weight:.4f}' for name, weight in zip(names, weights[:, place], strict=True)]
    return "\n".join([*lines, "", "[fit]", *report]) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model and write it with its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/relations.toml of this package")
    options = parser.parse_args(arguments)
    tables = [tabulate(store) for store in stores.load() if not store.questions]
    tried = {ridge: left_out(tables, ridge) for ridge in RIDGES}
    ridge = max(RIDGES, key=lambda one: likelihood(tables, tried[one]))
    found = figures(np.concatenate([table.relations for table in tables]), np.concatenate(tried[ridge]))
    report = [
        'command = "python research/fit_relations.py"',
        f"stores = {len(tables)}",
        f"pairs = {sum(len(table.relations) for table in tables)}",
        f"ridge = {ridge:g}",
        "",
        "[fit.left_out]",
        "# Pairs found in stores left out of the fit, by least probability: found, right, of.",
        *(
            f'"{relation} {threshold:g}" = [{found_}, {right}, {of}]'
            for relation, threshold, found_, right, of in found.iter_rows()
        ),
    ]
    out = options.out or Path(str(resources.files("memory_pipeline") / "models" / "relations.toml"))
    out.write_text(document(tables[0].names, *fit(tables, ridge), report), "utf-8")
    print("\n".join(report))


if __name__ == "__main__":
    main()
