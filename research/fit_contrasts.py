"""Fits what tells two kinds of sentences in much the same words apart, by what the reader holds of them.

Run with `python research/fit_contrasts.py [--out FOLDER]`; the output is a file in `models/` for each of `KINDS`. It
takes some seconds of one core. Not here: the fit of weights (`state_model`), and what follows (`text/score/sections`,
`text/score/core_facts`).
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

KINDS: Final = {state_heads.UNLOCKING: ("KEY", "NOT"), state_heads.BLANK: ("BLANK", "VALUE")}
"""How the lines of each file of the corpus begin: first those of which it is so, then the others."""
PARTS: Final = 10
"""Parts of the examples, each of which is left out once."""


def examples(name: str) -> Examples:
    """Read the sentences of a file, and whether each is of its first kind."""
    of_kind, other = KINDS[name]
    lines = [line.partition(" ") for line in (corpus_files.FOLDER / f"{name}.txt").read_text("utf-8").splitlines()]
    if unknown := sorted({kind for kind, _, _ in lines} - {of_kind, other}):
        raise ValueError(f"{name}.txt has lines that begin with {unknown[0]!r}; begin each with {of_kind} or {other}")
    states = state_model.states([("", text) for _, _, text in lines])
    return Examples(states, np.array([kind == of_kind for kind, _, _ in lines], dtype=np.float64))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the models, write them, and print how each does on sentences left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output folder; default: models/ of this package")
    options = parser.parse_args(arguments)
    for name in KINDS:
        given = examples(name)
        part = np.arange(len(given.standing)) % PARTS
        found = np.zeros(len(part))
        for left in range(PARTS):
            learned = Examples(*(numbers[part != left] for numbers in given))
            weights, offset = state_model.fit(*learned, np.ones(len(learned.standing)), ridge=RIDGE)
            found[part == left] = expit(given.states[part == left] @ weights + offset)
        taken, wanted = found >= 0.5, given.standing == 1
        print(f"{name}, left out: {int((taken & wanted).sum())} of {int(taken.sum())} right, of {int(wanted.sum())}")
        weights, offset = state_model.fit(*given, np.ones(len(given.standing)), ridge=RIDGE)
        state_model.write(name, weights, offset, options.out and options.out / f"{name}.npz")


if __name__ == "__main__":
    main()
