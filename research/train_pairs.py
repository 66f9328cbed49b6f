"""Trains the reader of pairs further, on the pairs of whole stores that the first trees find likeliest to be related.

Run with `python research/train_pairs.py FOLDER HALVES`, in an environment that has the package, PyTorch and
Transformers, after `train_reader.py`; FOLDER holds all-MiniLM-L6-v2 as its authors publish it. Begins with the weights
of the reader of sentences and trains two networks, each on some situations, the episodes that `train_reader.py` learns
from, and half of the stores that the trees learn from. Writes them to HALVES, so that `fit_trees.py` can let a store be
scored by the one that has not read it, and the mean of their weights (Wortsman et al., Model soups, 2022), which judges
about as well as either, to `memory_pipeline/models/reader/pairs.npz`. Cost: 40 ms of a core per pair and epoch, twice
30,000 pairs.
"""

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import fit_trees
import numpy as np
import torch
from corpus_files import HALVES, LATEST, LEARNED, OTHERS, RANKED, corrections, episodes, half, situations
from labelled_stores import LabelledStore
from made_up_stores import stores
from train_reader import OUT as SENTENCES
from train_reader import Model, Pair, begin_with, pairs, store, train

from memory_pipeline.text.compare import relation_trees
from memory_pipeline.text.compare.relation_trees import OF_PAIRS, SCORES

OUT: Final = SENTENCES.with_name("pairs.npz")
HEADS: Final = ("head",)
SITUATIONS: Final = 8_000
"""Pairs of situations that each half reads again, of those that the network has learned from already."""
LEAST: Final = 0.02
"""Probability of any relation, by the first trees, from which an unrelated pair teaches; the likeliest always does."""
OF_SCORES: Final = {OF_PAIRS.index(name.removeprefix("reader_")): place for place, name in enumerate(SCORES)}
"""Place in `SCORES` of each of `OF_PAIRS`."""
RATE: Final = 6e-5
EPOCHS: Final = 2


def of_store(labelled: LabelledStore) -> list[Pair]:
    """Return the related pairs of a store, and of each newer memory the likeliest others: older, newer, relation."""
    table = fit_trees.tabulate(labelled)
    texts = table.texts
    probability = relation_trees.first_probabilities(table.features)
    related = np.round(probability[:, :-1].sum(axis=1), 9)
    rank = relation_trees.ranked(related, table.pairs[1])
    likely = (rank == 0) | ((rank < relation_trees.MOST_READ) & (related > LEAST))
    chosen = likely | (table.relations != fit_trees.UNRELATED)
    return [
        (texts[older], texts[newer], OF_SCORES[relation])
        for older, newer, relation in zip(
            *(side[chosen].tolist() for side in table.pairs), table.relations[chosen].tolist(), strict=True
        )
    ]


def learned_by(number: int, always: Sequence[Pair], halved: Sequence[tuple[str, list[Pair]]]) -> list[Pair]:
    """Return the pairs that one of the networks learns from."""
    drawn = random.Random(number)  # noqa: S311 - a choice of examples, not of secrets
    again = drawn.sample(pairs(situations(), number), SITUATIONS)
    return [*again, *always, *(pair for name, found in halved if half(name) != number for pair in found)]


def main() -> None:
    """Train both networks; store them and their mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("halves", type=Path)
    options = parser.parse_args()
    always = [pair for one in episodes(files=LEARNED) for pair in of_store(one)]
    told = corrections(files=fit_trees.CORRECTED)
    short = corrections(files=fit_trees.SHORT, at_once=1)
    unread = [*stores.load(), *episodes(files=(*OTHERS, *RANKED, *LATEST)), *told, *told, *short]
    halved = [(one.name, of_store(one)) for one in unread]
    trained = []
    for number in range(HALVES):
        learned = learned_by(number, always, halved)
        print(f"network {number}: {len(learned)} pairs", flush=True)
        torch.manual_seed(number)
        model = Model(options.folder)
        begin_with(model, SENTENCES)
        train(model, learned, (), options.folder, epochs=EPOCHS, rate=RATE, seed=number)
        store(model, options.halves / f"{number}.npz", heads=HEADS)
        trained.append({name: value.clone() for name, value in model.state_dict().items()})
    one, other = trained
    model.load_state_dict(
        {name: (value + other[name]) / 2 if value.is_floating_point() else value for name, value in one.items()}
    )
    store(model, OUT, heads=HEADS)


if __name__ == "__main__":
    main()
