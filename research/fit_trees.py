"""Grows the trees that judge pairs of memories, and measures them on stores left out.

Run with `python research/fit_trees.py HALVES [--measure FOLDER]`, in an environment that has the package and LightGBM,
after `train_pairs.py`, which writes HALVES. The stores it learns from are the made-up ones (`research/made_up_stores`)
and the English episodes of the corpus; those of FOLDER, in the format of `research/labelled_stores`, are only measured.
Writes `relation_trees.npz` and `pair_trees.npz` in `memory_pipeline/models`.

The first trees judge all candidates; those that they leave possible are judged by second trees, which read the scores
of the reader of pairs too, and what it says of rivals (`pair_context`). They learn by the scores
of the half of the network that has not read a store. The probability of a relation is the
share of right ones at a score (isotonic regression), where each store is scored by trees grown on others; `DENSITY`
corrects it for stores in which less is related.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import labelled_stores
import lightgbm
import numpy as np
import polars as pl
from corpus_files import HALVES, LATEST, LEARNED, OTHERS, RANKED, corrections, episodes, half
from labelled_stores import LabelledStore
from made_up_stores import stores
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from memory_pipeline.text.compare import alignment, closeness, relation_trees
from memory_pipeline.text.compare.judge import RELATIONS
from memory_pipeline.text.compare.relation_features import features, nearest_statements
from memory_pipeline.text.compare.relation_reading import MEMORY_COLUMNS, read
from memory_pipeline.text.compare.relation_trees import OF_PAIRS
from memory_pipeline.text.embed.embedding import attributed
from memory_pipeline.text.embed.encoder import PairReader, encoder, pair_reader
from memory_pipeline.text.score import core_facts

OUT: Final = Path(__file__).parents[1] / "memory_pipeline" / "models"
PARTIAL: Final = OF_PAIRS.index("partial")
UNRELATED: Final = OF_PAIRS.index("unrelated")
LABELS: Final = {
    "weak update": PARTIAL,
    "update": OF_PAIRS.index("update"),
    **dict.fromkeys(("weak duplicate", "duplicate"), OF_PAIRS.index("duplicate")),
    **dict.fromkeys(("weak contradiction", "contradiction"), OF_PAIRS.index("conflict")),
}
CORRECTED: Final = ("a", "c", "d", "e", "f", "h")
"""Files of corrections that are learned from; `b` and `g` only measure."""
SHORT: Final = (*"ijklnopqrstuvwxyz", "ab", "ad")
"""Files of scenarios that share older notes, so each is a store by itself alone; `m`, `aa` and `ac` only measure."""
OFTEN: Final = 2.0
"""Weight of a pair of ten of these for the second trees: a change told outright must be seen. Each scenario is a store
by itself too: as few notes are judged as well."""
FOLDS: Final = 5
SETTINGS: Final = {
    "objective": "multiclass",
    "num_class": len(OF_PAIRS),
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 30,
    "feature_fraction": 0.5,
    "lambda_l2": 1.0,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 2,
    "verbose": -1,
}


class Growth(NamedTuple):
    """How trees are grown."""

    rounds: int
    seeds: int
    settings: dict[str, Any]


FIRST: Final = Growth(150, 3, SETTINGS)
SECOND: Final = Growth(250, 2, SETTINGS | {"learning_rate": 0.03, "feature_fraction": 0.25, "lambda_l2": 5.0})
"""Of the settings tried on stores left out of those that they learn from, those of the least loss."""
KNOTS: Final = 40
DENSITY: Final = 0.5
"""Relations in stores of real use, as a share of those in the episodes, whose notes were written to relate: the odds of
each relation are multiplied by it."""


@dataclass(frozen=True, eq=False)
class Table:
    """Candidates of one store: their features and relations, and how many of each relation the store has."""

    name: str
    features: NDArray[np.float64]
    relations: NDArray[np.int64]
    """Place of the relation of each in `OF_PAIRS`."""
    exist: NDArray[np.int64]
    memories: int
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Row of the older and of the newer memory of each candidate."""
    texts: list[str]
    """Text of each memory, as the reader reads it."""
    reader: PairReader
    weight: float = 1.0
    """What each pair counts for in the growth of trees."""


def tabulate(store: LabelledStore, reader: PairReader | None = None) -> Table:
    """Return the features and relations of all candidates of a store, and what reads its pairs; default: as shipped."""
    turns = store.turns.with_columns(profile_id=pl.lit(store.name), content_hash="id", since="at")
    reading = read(turns.select(MEMORY_COLUMNS.keys()).cast(pl.Schema(MEMORY_COLUMNS)))
    texts = attributed(reading.memories)
    encoded = list(encoder().read(texts.to_list()))
    vectors = np.stack([one.vector for one in encoded])
    profile = np.zeros(len(texts), dtype=np.int64)
    older, newer = closeness.candidates(reading, vectors, profile)
    tokens = [one.tokens for one in encoded]
    near = closeness.table(vectors, profile, older, newer, alignment.aligned(tokens, older, newer))
    words = features(reading, nearest_statements(reading, older, newer), (older, newer))
    kinds = closeness.kinds(core_facts.read(turns["content"], turns["speaker"]))
    table = relation_trees.features(reading, (older, newer), words, near, kinds)
    return Table(
        *(store.name, table, *labelled(store, older, newer), len(turns), (older, newer)),
        *(texts.to_list(), reader or pair_reader()),
    )


def labelled(
    store: LabelledStore, older: NDArray[np.int64], newer: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the place in `OF_PAIRS` of the relation of each candidate, and how many of each relation the store has."""
    rows = {memory: row for row, memory in enumerate(store.turns["id"])}
    labels = {
        tuple(sorted((rows[one], rows[other]))): place
        for kind, place in LABELS.items()
        for one, other in store.relations.get(kind, ())
    }
    found = [labels.get(pair, UNRELATED) for pair in zip(older.tolist(), newer.tolist(), strict=True)]
    return np.array(found, dtype=np.int64), np.bincount(list(labels.values()), minlength=len(OF_PAIRS))


def second(table: Table, first: NDArray[np.float64]) -> Table:
    """Return the candidates that are read, with the features of the second trees.

    Args:
        table: the candidates.
        first: probability of each of `OF_PAIRS` by the first trees, [candidates, relations].
    """
    older, newer = table.pairs
    read = relation_trees.worth_reading(first, newer)
    ends = older[read], newer[read]
    by_first = relation_trees.merged(first[read])
    texts = [(table.texts[one], table.texts[other]) for one, other in zip(*ends, strict=True)]
    scores = table.reader.read(texts).astype(np.float64).round(closeness.DIGITS)
    found = relation_trees.second_features(table.features[read], by_first, scores, ends)
    return replace(table, features=found, relations=table.relations[read], pairs=ends)


def grow(tables: Sequence[Table], growth: Growth) -> dict[str, NDArray[Any]]:
    """Return trees grown on tables, as the arrays of the file, without what calibrates them."""
    known = np.concatenate([one.features for one in tables])
    relations = np.concatenate([one.relations for one in tables])
    weights = np.repeat([one.weight for one in tables], [len(one.relations) for one in tables])
    grown = []
    for seed in range(growth.seeds):
        data = lightgbm.Dataset(known, relations, weight=weights)
        grown.append(lightgbm.train(growth.settings | {"seed": seed}, data, growth.rounds).dump_model())
    arrays: dict[str, list[Any]] = {name: [] for name in ("roots", "feature", "threshold", "left", "right", "value")}

    def add(node: dict[str, Any]) -> int:
        place = len(arrays["feature"])
        for name, empty in (("feature", -1), ("threshold", 0.0), ("left", -1), ("right", -1), ("value", 0.0)):
            arrays[name].append(empty)
        if "split_feature" in node:
            arrays["feature"][place] = node["split_feature"]
            arrays["threshold"][place] = node["threshold"]
            arrays["left"][place] = add(node["left_child"])
            arrays["right"][place] = add(node["right_child"])
        else:
            arrays["value"][place] = node["leaf_value"] / growth.seeds
        return place

    for model in grown:
        for tree in model["tree_info"]:
            arrays["roots"].append(add(tree["tree_structure"]))
    return {name: np.array(values) for name, values in arrays.items()} | {
        "names": np.array(" ".join(relation_trees.NAMES[: known.shape[1]])),
        "known": np.tile(np.array([0.0, 1.0]), (UNRELATED, 1)),
        "share": np.tile(np.array([0.0, 1.0]), (UNRELATED, 1)),
    }


def scored(table: Table, grown: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    """Return the uncalibrated scores of a table."""
    return relation_trees.scores(np.ascontiguousarray(table.features.T), relation_trees.loaded(grown))


def left_out(tables: Sequence[Table], growth: Growth) -> list[NDArray[np.float64]]:
    """Return the scores of each table by trees grown on stores of other folds."""
    result: list[NDArray[np.float64]] = [np.empty(0)] * len(tables)
    for fold in range(FOLDS):
        others = [table for place, table in enumerate(tables) if place % FOLDS != fold]
        grown = grow(others, growth._replace(seeds=1))
        for place in range(fold, len(tables), FOLDS):
            result[place] = scored(tables[place], grown)
    return result


def calibration(relations: NDArray[np.int64], raw: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return [relations, knots]: scores, and the share of right pairs at each."""
    known, share = [], []
    for relation in range(UNRELATED):
        order = np.argsort(raw[:, relation], kind="stable")
        score, right = raw[order, relation], (relations[order] == relation).astype(np.float64)
        fitted = isotonic_regression(right).x
        quantiles = np.unique(np.r_[np.linspace(0, 1, KNOTS // 2), 1 - np.geomspace(1, 1 / len(score), KNOTS // 2)])
        places = np.clip((quantiles * (len(score) - 1)).astype(int), 0, len(score) - 1)
        knots = np.interp(np.linspace(0, 1, KNOTS), np.linspace(0, 1, len(places)), score[places])
        known.append(np.maximum.accumulate(knots))
        smooth = np.array([fitted[np.abs(score - knot).argsort()[:15]].mean() for knot in knots])
        capped = np.minimum(np.maximum.accumulate(smooth), 0.99)
        share.append(DENSITY * capped / (DENSITY * capped + 1 - capped))
    return {"known": np.array(known), "share": np.array(share)}


def figures(tables: Sequence[Table], predicted: Sequence[NDArray[np.float64]]) -> list[str]:
    """Return, of each relation: average precision, and the share found at some precisions.

    An update of a part counts as an update; those of a whole memory are counted once more by themselves.
    """
    table = np.concatenate(predicted)
    merged = relation_trees.merged(table)
    relations = np.concatenate([one.relations for one in tables])
    exist = sum(one.exist for one in tables)
    counted = {name: ([place], merged[:, place]) for place, name in enumerate(RELATIONS[:-1])}
    counted["update"][0].append(PARTIAL)
    counted["update of all"] = ([0], table[:, 0])
    lines = []
    for name, (labels, found) in counted.items():
        is_right, number = np.isin(relations, labels), exist[labels].sum()
        order = np.argsort(-found, kind="stable")
        right = np.cumsum(is_right[order])
        precision = right / np.arange(1, len(order) + 1)
        average = float((precision * is_right[order]).sum() / number)
        at = {
            least: right[np.flatnonzero(precision >= least)[-1]] / number if (precision >= least).any() else 0
            for least in (0.95, 0.9, 0.75, 0.65)
        }
        shares = " ".join(f"@{least:g} {share:.2f}" for least, share in at.items())
        lines.append(f"{name}: AP {average:.3f} {shares} of {number}")
        for least in (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
            chosen = found >= least
            if chosen.any():
                lines.append(f"   confidence {least:g}: {int(is_right[chosen].sum())} of {int(chosen.sum())} right")
    return lines


def fitted(
    tables: Sequence[Table], name: str, growth: Growth
) -> tuple[dict[str, NDArray[Any]], list[NDArray[np.float64]]]:
    """Grow, calibrate and write trees; return them, and the probabilities of each table by trees grown on others."""
    raw = left_out(tables, growth)
    grown = grow(tables, growth) | calibration(np.concatenate([one.relations for one in tables]), np.concatenate(raw))
    np.savez_compressed(OUT / f"{name}.npz", **grown)
    ready = relation_trees.loaded(grown)
    return grown, [relation_trees.calibrated(one, ready) for one in raw]


def main() -> None:
    """Grow, calibrate, measure and write the trees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("halves", type=Path, help="folder of the networks that `train_pairs.py` trained")
    parser.add_argument("--measure", type=Path, help="folder of labelled stores that are only measured")
    options = parser.parse_args()
    halves = [PairReader(options.halves / f"{number}.npz") for number in range(HALVES)]
    told = corrections(files=CORRECTED)
    few = (*CORRECTED, *SHORT)
    alone = [one for others in (True, False) for one in corrections(files=few, at_once=1, others=others)]
    learned = (*stores.load(), *episodes(files=(*OTHERS, *RANKED, *LATEST)), *told, *alone)
    unread = [tabulate(one, halves[half(one.name)]) for one in learned]
    tables = [*unread, *(tabulate(store) for store in episodes(files=LEARNED))]
    first, by_first = fitted(tables, relation_trees.FIRST, FIRST)
    print("first trees, left out:", *figures(tables, by_first), sep="\n")
    read = [second(table, one) for table, one in zip(unread, by_first, strict=False)]
    often = {one.name for one in told}
    read = [replace(one, weight=OFTEN) if one.name in often else one for one in read]
    share = sum(len(one.relations) for one in read) / sum(one.memories for one in unread)
    print(f"pairs read: {share:.2f} a memory", flush=True)
    last, by_second = fitted(read, relation_trees.SECOND, SECOND)
    print("second trees, left out:", *figures(read, by_second), sep="\n")
    if options.measure:
        others = [tabulate(store) for store in labelled_stores.load(options.measure)]
        ready = [relation_trees.loaded(one) for one in (first, last)]
        by = [relation_trees.probabilities(one.features, ready[0]) for one in others]
        print("measured, first trees:", *figures(others, by), sep="\n")
        rest = [second(table, one) for table, one in zip(others, by, strict=True)]
        by = [relation_trees.probabilities(one.features, ready[1]) for one in rest]
        print("measured, second trees:", *figures(rest, by), sep="\n")


if __name__ == "__main__":
    main()
