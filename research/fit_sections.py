"""Fits in which section of core memory a sentence belongs, by all that the reader says of it.

Run with `python research/fit_sections.py [--out FOLDER]`; the output is `models/sections.toml`, the weights of labels,
and `sections.npz`, those of what the network holds. It takes about four minutes of one core, nearly all of them for
reading. Not here: the decision (`text/score/sections`), and the figures of whole stores (`measure_keeping`).

A softmax regression with a ridge, on sentences of the corpus whose labels the reader has not learned from: what it says
of those that it knows is surer than what it says of others. Labels tell least of what is said in few words, so
`CONTRASTS`, which holds such sentences beside others in the same words, counts several times. Whoever a sentence is
about may be the owner under a name, so those about others are learned from as the owner's too.
"""

import argparse
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

import corpus_files
import numpy as np
import state_model
from numpy.typing import NDArray
from scipy.optimize import minimize

from memory_pipeline.text.embed.encoder import STATE, sentence_reader
from memory_pipeline.text.score import sections, sentence_kinds, state_heads
from memory_pipeline.text.score.sections import FEATURES, HEALTH, INSTRUCTION, KINDS, NOWHERE, PROJECT, SECTIONS

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Label = Mapping[str, str]

SENTENCES: Final = ("f", "g", "h", "j", "k", "l")
"""Files of `sentences/` that teach it, beside the episodes `corpus_files.RANKED`."""
CONTRASTS: Final = ("r",)
"""Files of `sentences/` that teach it `OFTEN`: much the same words, which belong somewhere or nowhere."""
OFTEN: Final = 2
"""How often a contrast counts: there is one for each thirty other sentences."""
RIDGE: Final = 0.003
"""Of the weights of labels; around this the loss on sentences left out hardly moves."""
RIDGE_OF_STATES: Final = 0.03
"""Of the weights of what the network holds, likewise."""
LEFT: Final = ("s",)
"""Files of `sentences/` with contrasts that measure."""
HARMFUL: Final = 2
"""Harm from which a matter of health or safety is everybody's."""
_UNSAID: Final = ("asked", "ended", "idle")
_OWN: Final = ("owner", "agent")
_HOLDING: Final = ("lasting", "current")


class Examples(NamedTuple):
    """Sentences, and where they belong."""

    features: Floats
    """[sentences, `FEATURES`]"""
    states: Floats
    """[sentences, `STATE`]"""
    places: Places
    """Of the section of each in `SECTIONS`, or `NOWHERE`."""


class Weights(NamedTuple):
    """What the fit finds."""

    of_labels: dict[str, float]
    """For each section an offset and the weight of each feature, against no section at all."""
    of_states: Floats
    """[`STATE`, sections]"""


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
    """Read the labelled sentences of some files of episodes, and of `sentences/`; those about others follow as own."""
    told = corpus_files.sentences(files, names=names)
    labels = [corpus_files.words(one.labels) for one in told]
    read = sentence_reader().read([(one.before, one.text) for one in told]).astype(np.float64)
    states, numbers = read[:, :STATE], sentence_kinds.probabilities(read[:, STATE:])
    of_others = np.flatnonzero([label["whom"] == "person" for label in labels])
    own = [{**labels[row], "whom": "owner"} for row in of_others]
    return Examples(
        sections.features(np.concatenate([numbers, sections.of_owner(numbers[of_others])])),
        np.concatenate([states, states[of_others]]),
        np.array([belongs(label) for label in (*labels, *own)], dtype=np.int64),
    )


def joined(*parts: Examples) -> Examples:
    """Return all examples of several."""
    return Examples(*(np.concatenate(numbers) for numbers in zip(*parts, strict=True)))


def fit(given: Examples) -> Weights:
    """Fit the weights of all sections to examples."""
    values = np.concatenate([given.features, given.states], axis=1)
    mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-6)
    columns = np.column_stack([np.ones(len(values)), (values - mean) / spread])
    ridge = np.repeat([0.0, RIDGE, RIDGE_OF_STATES], [1, len(FEATURES), STATE])[:, np.newaxis]
    wanted = np.eye(NOWHERE + 1)[given.places]
    shape = (columns.shape[1], NOWHERE + 1)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(shape)
        scores = columns @ weights
        scores -= scores.max(axis=1, keepdims=True)
        sums = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        slope = columns.T @ (np.exp(scores - sums) - wanted) / len(columns) + ridge * weights
        return float(-(wanted * (scores - sums)).sum() / len(columns) + (ridge * weights**2).sum() / 2), slope.ravel()

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    weights = found.reshape(shape)
    scaled = weights[1:] / spread[:, np.newaxis]
    offsets = weights[0] - mean @ scaled
    against, offset = scaled - scaled[:, [NOWHERE]], offsets - offsets[NOWHERE]
    of_labels, of_states = np.split(against[:, :NOWHERE], [len(FEATURES)])
    named = {
        f"{section} {name}": float(value)
        for place, section in enumerate(SECTIONS)
        for name, value in [("offset", offset[place]), *zip(FEATURES, of_labels[:, place], strict=True)]
    }
    return Weights(named, of_states)


def figures(given: Examples, weights: Weights) -> dict[str, float]:
    """Return the mean loss of sentences, and how many are taken for one of a section, are one, and are both."""
    likely = sections.probabilities(given.features, given.states @ weights.of_states, weights.of_labels)
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
    parser.add_argument("--out", type=Path, help="output folder; default: models/ of this package")
    options = parser.parse_args(arguments)
    contrasts = examples((), CONTRASTS)
    learned = joined(examples(corpus_files.RANKED, SENTENCES), *[contrasts] * OFTEN)
    weights = fit(learned)
    text = _HEAD + "".join(f'"{name}" = {value:.4f}\n' for name, value in weights.of_labels.items())
    text += f'\n[fit]\ncommand = "python research/fit_sections.py"\nsentences = {len(learned.places)}\n'
    text += "# Of sentences that nothing has learned from; those about others once as told and once as the owner's.\n"
    for name, left in (
        ("left out", examples(corpus_files.UNREAD, [one for one in corpus_files.MEASURED if one not in LEFT])),
        ("contrasts left out", examples((), LEFT)),
    ):
        text += "".join(f'"{name}, {what}" = {round(value, 4)}\n' for what, value in figures(left, weights).items())
    folder = options.out or Path(str(resources.files("memory_pipeline"))) / "models"
    (folder / f"{sections.MODEL}.toml").write_text(text, "utf-8")
    state_model.write(state_heads.SECTIONS, weights.of_states, 0.0, folder / f"{state_heads.SECTIONS}.npz")
    print(text)


_HEAD: Final = """\
# How likely a sentence belongs in a section of core memory rather than in none: weights of what the reader says of it
# (`memory_pipeline/text/score/sections.py`). Written by the fit below.

[coefficients]
"""


if __name__ == "__main__":
    main()
