"""Fits what tells how something is opened from dangers and prohibitions, by what the reader holds of sentences.

Run with `python research/fit_unlocking.py [--out FILE]`; the output is `models/unlocking.npz`. It takes some seconds of
one core. Not here: the fit of weights (`state_model`), and what follows (`text/score/sections`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import corpus_files
import numpy as np
import state_model
from fit_standing_orders import RIDGE, Examples
from scipy.special import expit

from memory_pipeline.text.score import state_heads

FILE: Final = corpus_files.FOLDER / "unlocking.txt"
PARTS: Final = 10
"""Parts of the examples, each of which is left out once."""


def examples() -> Examples:
    """Read the sentences, and whether each says how something is opened."""
    lines = [line.partition(" ") for line in FILE.read_text("utf-8").splitlines()]
    if unknown := sorted({kind for kind, _, _ in lines} - {"KEY", "NOT"}):
        raise ValueError(f"{FILE.name} has lines that begin with {unknown[0]!r}; begin each with KEY or NOT")
    states = state_model.states([("", text) for _, _, text in lines])
    return Examples(states, np.array([kind == "KEY" for kind, _, _ in lines], dtype=np.float64))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model, write it, and print how it does on sentences left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/unlocking.npz of this package")
    options = parser.parse_args(arguments)
    given = examples()
    part = np.arange(len(given.standing)) % PARTS
    found = np.zeros(len(part))
    for left in range(PARTS):
        learned = Examples(*(numbers[part != left] for numbers in given))
        weights, offset = state_model.fit(*learned, np.ones(len(learned.standing)), ridge=RIDGE)
        found[part == left] = expit(given.states[part == left] @ weights + offset)
    taken, wanted = found >= 0.5, given.standing == 1
    print(f"left out: {int((taken & wanted).sum())} of {int(taken.sum())} right, of {int(wanted.sum())}")
    weights, offset = state_model.fit(*given, np.ones(len(given.standing)), ridge=RIDGE)
    state_model.write(state_heads.UNLOCKING, weights, offset, options.out)


if __name__ == "__main__":
    main()
