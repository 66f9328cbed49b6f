"""Fits what tells two kinds of sentences in much the same words apart, by what the reader holds of them.

Run with `python research/fit_contrasts.py [--out FOLDER]`; the output is a file in `models/` for each of `KINDS`. It
takes about two minutes of one core. The reader holds something else of a sentence behind the name of its speaker, so
those of `SPOKEN` are learned from without one and behind two of `SPEAKERS`, and measured without one and behind
`OTHERS`. Not here: the fit of weights (`state_model`), and what follows (`text/score/sections`,
`text/score/core_facts`, `text/score/headings`).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import corpus_files
import numpy as np
import state_model
from fit_standing_orders import RIDGE, Examples
from numpy.typing import NDArray
from scipy.special import expit

from memory_pipeline.text.score import core_facts, state_heads

Floats = NDArray[np.float64]

KINDS: Final = {
    state_heads.UNLOCKING: ("KEY", "NOT"),
    state_heads.BLANK: ("BLANK", "VALUE"),
    state_heads.MEMBERS: ("MEMBER", "ONE"),
    state_heads.HEADINGS: ("DAY", "OTHER"),
}
"""How the lines of each file of the corpus begin: first those of which it is so, then the others."""
LEFT: Final = "LEFT "
"""What stands before the kind of a line that only measures."""
SPOKEN: Final = (state_heads.BLANK, state_heads.MEMBERS)
"""Files whose sentences are read behind speakers too."""
SPEAKERS: Final = ("user", "Ines", "Mr Pham", "Kwabena", "Frau Holm", "Bo", "Anna-Lena", "Dad", "carer")
"""Names behind which sentences are learned from, two of them each, in turn."""
OTHERS: Final = ("user", "Odile", "Dr Brandt", "Mum", "Tomoko")
"""Names behind which sentences are measured, all of them each."""
PARTS: Final = 10
"""Parts of the examples, each of which is left out once."""


def lines(name: str, *, left: bool) -> list[tuple[str, bool]]:
    """Read the sentences of a file that teach, or those that only measure, and whether each is of its first kind."""
    of_kind, other = KINDS[name]
    read = (corpus_files.FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    parted = [line.removeprefix(LEFT).partition(" ") for line in read if line.startswith(LEFT) == left]
    if unknown := sorted({kind for kind, _, _ in parted} - {of_kind, other}):
        raise ValueError(f"{name}.txt has lines that begin with {unknown[0]!r}; begin each with {of_kind} or {other}")
    return [(text, kind == of_kind) for kind, _, text in parted]


def examples(told: Sequence[tuple[str, bool]], speakers: Sequence[Sequence[str]]) -> Examples:
    """Read sentences, each without a speaker and then behind each of its own."""
    prefixes = [["", *(f"{name}: " for name in by)] for by in speakers]
    said = [("", before + text) for (text, _), own in zip(told, prefixes, strict=True) for before in own]
    of_kind = [so for (_, so), own in zip(told, prefixes, strict=True) for _ in own]
    return Examples(state_model.states(said), np.array(of_kind, dtype=np.float64))


def learned_behind(name: str, count: int) -> list[tuple[str, ...]]:
    """Return the speakers of each of so many sentences of a file that teach."""
    if name not in SPOKEN:
        return [()] * count
    return [tuple(SPEAKERS[(2 * place + one) % len(SPEAKERS)] for one in range(2)) for place in range(count)]


def figures(found: Floats, wanted: Floats) -> str:
    """Return how many sentences are taken, are right, and are wanted, from each of two probabilities."""
    told = []
    for least in (0.5, core_facts.BLANK_FROM):
        taken = found >= least
        told.append(f"from {least} {int((taken & (wanted == 1)).sum())} of {int(taken.sum())} right")
    return f"{', '.join(told)}, of {int(wanted.sum())}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the models, write them, and print how each does on sentences left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output folder; default: models/ of this package")
    options = parser.parse_args(arguments)
    for name in KINDS:
        told = lines(name, left=False)
        speakers = learned_behind(name, len(told))
        given = examples(told, speakers)
        part = np.repeat(np.arange(len(told)) % PARTS, [1 + len(by) for by in speakers])
        found = np.zeros(len(part))
        for left in range(PARTS):
            learned = Examples(*(numbers[part != left] for numbers in given))
            weights, offset = state_model.fit(*learned, np.ones(len(learned.standing)), ridge=RIDGE)
            found[part == left] = expit(given.states[part == left] @ weights + offset)
        print(f"{name}, left out in turn: {figures(found, given.standing)}")
        weights, offset = state_model.fit(*given, np.ones(len(given.standing)), ridge=RIDGE)
        state_model.write(name, weights, offset, options.out and options.out / f"{name}.npz")
        kept = lines(name, left=True)
        for others in ((), OTHERS) if name in SPOKEN else ((),) if kept else ():
            measured = examples(kept, [others] * len(kept))
            likely = expit(measured.states @ weights + offset)
            print(f"{name}, behind {len(others)} speakers: {figures(likely, measured.standing)}")


if __name__ == "__main__":
    main()
