"""Fits what tells a standing instruction from an order for once, by what the reader holds of sentences.

Run with `python research/fit_standing_orders.py [--out FILE]`; the output is `models/standing_orders.npz`. It takes
about a minute of one core, nearly all of it for reading. Not here: which orders are taken (`text/score/sections`).

It learns from orders of the corpus whose labels the reader has not learned from: instructions
that hold on against requests and what holds for a while. In the corpus orders for once that read like rules are rarer
than at work, so `ORDERS`, which holds such pairs, counts twice.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import corpus_files
import numpy as np
import state_model
from numpy.typing import NDArray
from scipy.special import expit

from memory_pipeline.text.score import state_heads

Floats = NDArray[np.float64]

SENTENCES: Final = ("f", "g", "h", "j", "k", "l", "t")
"""Files of `sentences/` that teach it, beside the episodes `corpus_files.RANKED`."""
ORDERS: Final = ("n", "p", "r")
"""Files of `sentences/` that hold orders alone, and teach it twice."""
MEASURED: Final = ("o", "q", "s", "u", "w")
"""Files of `sentences/` that hold orders alone, and measure."""
RIDGE: Final = 0.02
"""Around this the share of pairs in the right order hardly moves on sentences left out."""
_UNSAID: Final = ("asked", "ended", "idle")


class Examples(NamedTuple):
    """Orders, and whether they stand."""

    states: Floats
    """[sentences, `encoder.STATE`]"""
    standing: Floats
    """1 for a standing one, 0 for one for once."""


def stands(label: dict[str, str]) -> bool | None:
    """Return whether an order with these labels is a standing one; None for what is no order."""
    if label["kind"] == "instruction":
        return label["holds"] in {"lasting", "current"} and label["stance"] not in _UNSAID
    return False if label["kind"] == "request" else None


def examples(files: Sequence[str], names: Sequence[str]) -> Examples:
    """Read the labelled orders of some files of episodes, and of `sentences/`."""
    told = [(one, stands(corpus_files.words(one.labels))) for one in corpus_files.sentences(files, names=names)]
    orders = [(one, stand) for one, stand in told if stand is not None]
    states = state_model.states([(one.before, one.text) for one, _ in orders])
    return Examples(states, np.array([stand for _, stand in orders], dtype=np.float64))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model, write it, and print how it does on orders left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/standing_orders.npz of this package")
    options = parser.parse_args(arguments)
    of_corpus, of_orders = examples(corpus_files.RANKED, SENTENCES), examples((), ORDERS)
    both = Examples(*(np.concatenate(parts) for parts in zip(of_corpus, of_orders, strict=True)))
    counts = np.repeat([1.0, 2.0], [len(of_corpus.standing), len(of_orders.standing)])
    weights, offset = state_model.fit(both.states, both.standing, counts, ridge=RIDGE)
    state_model.write(state_heads.STANDING_ORDERS, weights, offset, options.out)
    for name, left in {
        "corpus": examples(corpus_files.UNREAD, [name for name in corpus_files.MEASURED if name not in MEASURED]),
        **{f"orders {name}": examples((), (name,)) for name in MEASURED},
    }.items():
        standing = expit(left.states @ weights + offset)
        for least in (0.5, 0.6, 0.7, 0.8, 0.9):
            taken = standing >= least
            right = int((taken & (left.standing == 1)).sum())
            print(f"{name}: from {least}: {right} of {int(taken.sum())} right, of {int(left.standing.sum())}")


if __name__ == "__main__":
    main()
