"""Fits in which section of core memory a sentence belongs, by all that the reader says of it.

Run with `python research/fit_sections.py [--out FILE]`; the output is `models/sections.toml`. It takes about five
minutes of one core, nearly all of them for reading. Not here: the decision (`text/score/sections`), and the figures of
whole stores (`measure_keeping`).

A softmax regression with a ridge, on sentences of the corpus whose labels the reader has not learned from: what it says
of those that it knows is surer than what it says of others.
"""

import argparse
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

import corpus_files
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from memory_pipeline.text.embed.encoder import STATE, pair_reader
from memory_pipeline.text.score import sections, sentence_kinds
from memory_pipeline.text.score.sections import FEATURES, HEALTH, INSTRUCTION, KINDS, NOWHERE, PROJECT, SECTIONS

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Label = Mapping[str, str]

SENTENCES: Final = ("f", "g", "h", "j", "k", "l")
"""Files of `sentences/` that teach it, beside the episodes `corpus_files.RANKED`."""
RIDGE: Final = 0.003
"""Around this the loss on sentences left out hardly moves."""
HARMFUL: Final = 2
"""Harm from which a matter of health or safety is everybody's."""
_UNSAID: Final = ("asked", "ended", "idle")
_OWN: Final = ("owner", "agent")
_HOLDING: Final = ("lasting", "current")


class Examples(NamedTuple):
    """Sentences, and where they belong."""

    features: Floats
    """[sentences, `FEATURES`]"""
    places: Places
    """Of the section of each in `SECTIONS`, or `NOWHERE`."""


def belongs(label: Label) -> int:
    """Return the place of the section in which a sentence with these labels belongs, or `NOWHERE`."""
    section = next((one for one, kinds in KINDS.items() if label["kind"] in kinds), None)
    if section is None or label["stance"] in _UNSAID or label["holds"] == "moment":
        return NOWHERE
    harmful = label["harm"].isdigit() and int(label["harm"]) >= HARMFUL
    own = label["whom"] in _OWN or (label["kind"] == "relation" and label["whom"] == "person")
    holding = label["holds"] in _HOLDING
    if section == HEALTH:
        stays = harmful or (own and holding and label["stance"] != "possible")
    else:
        doubted = label["stance"] == "possible" or (label["stance"] == "reported" and section != INSTRUCTION)
        stays = own and not doubted and (holding or section == PROJECT)
    return SECTIONS.index(section) if stays else NOWHERE


def examples(files: Sequence[str], names: Sequence[str]) -> Examples:
    """Read the labelled sentences of some files of episodes, and of `sentences/`."""
    told = corpus_files.sentences(files, names=names)
    read = pair_reader().sentences([(one.before, one.text) for one in told])
    numbers = sentence_kinds.probabilities(read[:, STATE:].astype(np.float64))
    places = [belongs(corpus_files.words(one.labels)) for one in told]
    return Examples(sections.features(numbers), np.array(places, dtype=np.int64))


def fit(given: Examples) -> dict[str, float]:
    """Return the coefficients: for each section an offset and the weight of each feature, against no section at all."""
    mean, spread = given.features.mean(axis=0), np.maximum(given.features.std(axis=0), 1e-6)
    columns = np.column_stack([np.ones(len(given.places)), (given.features - mean) / spread])
    wanted = np.eye(NOWHERE + 1)[given.places]
    shape = (columns.shape[1], NOWHERE + 1)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = columns @ weights
        scores -= scores.max(axis=1, keepdims=True)
        sums = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        apart = np.concatenate([np.zeros((1, shape[1])), weights[1:]])
        slope = columns.T @ (np.exp(scores - sums) - wanted) / len(columns) + RIDGE * apart
        return float(-(wanted * (scores - sums)).sum() / len(columns) + RIDGE / 2 * (apart**2).sum()), slope.ravel()

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    weights = found.reshape(shape)
    scaled = weights[1:] / spread[:, np.newaxis]
    offsets = weights[0] - mean @ scaled
    against = (offsets - offsets[NOWHERE], scaled - scaled[:, [NOWHERE]])
    return {
        f"{section} {name}": float(value)
        for place, section in enumerate(SECTIONS)
        for name, value in [("offset", against[0][place]), *zip(FEATURES, against[1][:, place], strict=True)]
    }


def figures(given: Examples, weights: Mapping[str, float]) -> dict[str, float]:
    """Return the mean loss of sentences, and how many are taken for one of a section, are one, and are both."""
    likely = sections.probabilities(given.features, weights)
    own = likely[np.arange(len(given.places)), given.places]
    taken, wanted = likely.argmax(axis=1), given.places
    return {
        "loss": float(-np.log(own.clip(1e-6)).mean()),
        "taken": int((taken != NOWHERE).sum()),
        "wanted": int((wanted != NOWHERE).sum()),
        "right": int(((taken == wanted) & (wanted != NOWHERE)).sum()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model, measure it on sentences left out, and write it with its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="output file; default: models/sections.toml of this package")
    options = parser.parse_args(arguments)
    learned = examples(corpus_files.RANKED, SENTENCES)
    weights = fit(learned)
    left = examples(corpus_files.UNREAD, corpus_files.MEASURED)
    text = _HEAD + "".join(f'"{name}" = {value:.4f}\n' for name, value in weights.items())
    text += f'\n[fit]\ncommand = "python research/fit_sections.py"\nsentences = {len(learned.places)}\n'
    text += "# Of sentences that nothing has learned from.\n"
    text += "".join(f'"left out, {name}" = {round(value, 4)}\n' for name, value in figures(left, weights).items())
    path = options.out or Path(str(resources.files("memory_pipeline"))) / "models" / f"{sections.MODEL}.toml"
    path.write_text(text, "utf-8")
    print(text)


_HEAD: Final = """\
# How likely a sentence belongs in a section of core memory rather than in none: weights of what the reader says of it
# (`memory_pipeline/text/score/sections.py`). Written by the fit below.

[coefficients]
"""


if __name__ == "__main__":
    main()
