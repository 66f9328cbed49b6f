"""Fits what tells figures of speech from matters of health and safety, by what the reader holds of sentences.

Run with `python research/fit_figurative.py [--out FILE]`; the output is `models/figurative.npz`. It takes about a
minute of one core. Not here: the fit of weights (`state_model`), and what follows (`text/score/core_facts`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import corpus_files
import fit_sections
import numpy as np
import state_model
from scipy.special import expit

from memory_pipeline.text.score import core_facts, sections, state_heads

FILE: Final = corpus_files.FOLDER / "figurative.txt"
RIDGE: Final = 0.02
"""Around this what is found hardly moves."""
COUNT: Final = 5.0
"""How often a figure counts: there are a tenth as many as matters of health."""
_LEFT_OUT: Final = ("i", "m")
"""Files of `sentences/` that measure."""


def of_bodies(files: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the sentences of some files that belong in health and safety, each after the one before it."""
    told = corpus_files.sentences(files, names=names)
    place = sections.SECTIONS.index(sections.HEALTH)
    return [(one.before, one.text) for one in told if fit_sections.belongs(corpus_files.words(one.labels)) == place]


def figures(kind: str) -> list[tuple[str, str]]:
    """Return the sentences of `figurative.txt` of a kind: FIGURE and BODY to learn from, LEFT to measure."""
    lines = [line.partition(" ") for line in FILE.read_text("utf-8").splitlines()]
    if unknown := sorted({name for name, _, _ in lines} - {"FIGURE", "BODY", "LEFT"}):
        raise ValueError(f"{FILE.name} has lines that begin with {unknown[0]!r}; begin each with FIGURE, BODY or LEFT")
    return [("", text) for name, _, text in lines if name == kind]


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model, write it, and print how it does on sentences left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/figurative.npz of this package")
    options = parser.parse_args(arguments)
    bodies = of_bodies(corpus_files.RANKED, fit_sections.SENTENCES) + figures("BODY")
    said = figures("FIGURE")
    true = np.repeat([0.0, 1.0], [len(bodies), len(said)])
    counts = np.where(true == 1, COUNT, 1.0)
    weights, offset = state_model.fit(state_model.states(bodies + said), true, counts, ridge=RIDGE)
    state_model.write(state_heads.FIGURATIVE, weights, offset, options.out)
    for name, left in (("health", of_bodies(corpus_files.UNREAD, _LEFT_OUT)), ("figures", figures("LEFT"))):
        found = expit(state_model.states(left) @ weights + offset)
        taken = {least: int((found >= least).sum()) for least in (0.5, 0.7, 0.9, 0.95, core_facts.FIGURATIVE_FROM)}
        print(f"left out, {name}: {len(left)}, taken for figures from {taken}")


if __name__ == "__main__":
    main()
