"""Fits what tells a text that only refers back from one with a value of its own, by what the reader holds of it.

Run with `python research/fit_references.py [--out FILE]`; the output is `models/references.npz`. It takes about two
minutes of one core, nearly all of it for reading. Not here: where a reference is shown (`recall/rank/redundancy`).

The texts of `references/` are as often references as not. In a store references are rare, so it learns from ordinary
notes too, that none of them is one. Each text of `references/` is read with a speaker in front, too.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import corpus_files
import numpy as np
import state_model
from scipy.special import expit

from memory_pipeline.text.score import state_heads

ORDINARY: Final = 3_000
"""Ordinary notes that it learns from; as many others measure, for want of more that nothing has learned from."""
SHARE: Final = 0.3
"""How often ordinary notes count together, against the others."""
RIDGE: Final = 0.03
"""Around this the share found on texts left out hardly moves."""
_SPEAKERS: Final = ("Marta", "user", "Tom", "Ines", "Paul")


def spoken(texts: Sequence[str]) -> list[str]:
    """Return texts with a speaker in front."""
    return [f"{_SPEAKERS[place % len(_SPEAKERS)]}: {text}" for place, text in enumerate(texts)]


def ordinary(files: Sequence[str]) -> list[str]:
    """Return notes of some files of episodes, evenly spread over them."""
    notes = [note for store in corpus_files.episodes(files=files) for note in store.turns["content"].to_list()]
    return notes[:: max(1, len(notes) // ORDINARY)][:ORDINARY]


def read(texts: Sequence[str]) -> state_model.Floats:
    """Return what the reader holds of texts, each by itself."""
    return state_model.states([("", text) for text in texts])


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model, write it, and print how it does on texts left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/references.npz of this package")
    options = parser.parse_args(arguments)
    texts, refers = corpus_files.references("a")
    notes = read(ordinary(corpus_files.RANKED))
    given = np.concatenate([read(texts), read(spoken(texts)), notes])
    true = np.concatenate([refers, refers, np.zeros(len(notes))])
    counts = np.concatenate([np.ones(2 * len(texts)), np.full(len(notes), SHARE * 2 * len(texts) / len(notes))])
    weights, offset = state_model.fit(given, true, counts, ridge=RIDGE)
    state_model.write(state_heads.REFERENCES, weights, offset, options.out)
    left, of_left = corpus_files.references("b")
    for name, states, labels in (
        ("left out", read(left), of_left),
        ("left out, with a speaker", read(spoken(left)), of_left),
        ("ordinary notes", read(ordinary(corpus_files.UNREAD)), np.zeros(ORDINARY)),
    ):
        found = expit(states @ weights + offset)
        for least in (0.5, 0.6, 0.7, 0.8, 0.9):
            taken = found >= least
            right, wrong = int((taken & (labels == 1)).sum()), int((taken & (labels == 0)).sum())
            of = f"{right} of {int(labels.sum())} references, {wrong} of {int((labels == 0).sum())} others"
            print(f"{name}: from {least}: {of}")


if __name__ == "__main__":
    main()
