"""What linear models tell of a sentence from what the reader's network holds of it before it labels it.

"Never push to main" and "never push while I rebase" get much the same labels; what the network holds tells more, also
of where in core memory a sentence belongs ("Bram can't have cashews", "Bram can't have the car"). Of each sentence all
are told in the pass that labels it; one model is asked of headings of notes instead. Not here: which sentences and
headings are asked about (`sections`, `core_facts`, `headings`), and the fits (`research/state_model.py`).
"""

from functools import cache
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.score import sentence_kinds

Floats = NDArray[np.float64]

REFERENCES: Final = "references"
"""It gives its value only by reference ("Rent: what we paid in spring."): it neither replaces nor denies what it refers
to, and is worth nothing without it."""
STANDING_ORDERS: Final = "standing_orders"
"""It orders something until further notice, if it orders anything; not for once."""
UNLOCKING: Final = "unlocking"
"""It says how a door, a device or an account is opened, or where what opens it lies. By its labels that is a matter of
safety; it needs no line beside allergies, since it is asked for when it is needed."""
FIGURATIVE: Final = "figurative"
"""It is a figure of speech, if it seems to be about health or safety ("allergic to small talk")."""
BLANK: Final = "blank"
"""It is a label whose value is left open, or that there is none ("Allergies: unknown"), if it is a label at all."""
MEMBERS: Final = "members"
"""It names one of several that hold beside each other, if it says what somebody can do, has or likes: a second language
is no denial of the first, a second home may be."""
HEADS: Final = (REFERENCES, STANDING_ORDERS, UNLOCKING, FIGURATIVE, BLANK, MEMBERS)
"""What is told, in the order of the columns; each is a file of that name in `models/`."""
HEADINGS: Final = "headings"
"""What stands below it is of the day that ends it, if it is a heading that ends with one; asked of headings alone."""
SECTIONS: Final = "sections"
"""The file in `models/` of what a state says of where a sentence belongs; `sections.toml` is that of the labels."""


def probabilities(states: NDArray[np.floating]) -> Floats:
    """Return the probability that what each model tells is so, [sentences, `HEADS`].

    `states` is what the network holds of each sentence, [sentences, `encoder.STATE`].
    """
    return _likelihoods(states, *_models())


def of_their_day(states: NDArray[np.floating]) -> Floats:
    """Return the probability that what stands below headings is of the day that ends each (`HEADINGS`), [headings]."""
    return _likelihoods(states, *_stored(HEADINGS))


def toward(states: NDArray[np.floating]) -> Floats:
    """Return what a state adds to the score of each section of core memory, [sentences, `sections.SECTIONS`]."""
    result: Floats = (states.astype(np.float64) @ _stored(SECTIONS)[0]).round(sentence_kinds.DIGITS)
    return result


def _likelihoods(states: NDArray[np.floating], weights: Floats, offsets: Floats | float) -> Floats:
    result: Floats = (1.0 / (1.0 + np.exp(-(states.astype(np.float64) @ weights + offsets)))).round(
        sentence_kinds.DIGITS
    )
    return result


@cache
def _stored(name: str) -> tuple[Floats, float]:
    """Return the weights and the offset that a file in `models/` holds."""
    file = resources.files("memory_pipeline") / "models" / f"{name}.npz"
    with resources.as_file(file) as path, np.load(path) as stored:
        return stored["weights"].astype(np.float64), float(stored["offset"])


@cache
def _models() -> tuple[Floats, Floats]:
    """Return the weight of each number of a state, [`encoder.STATE`, `HEADS`], and the offsets."""
    weights, offsets = zip(*map(_stored, HEADS), strict=True)
    return np.stack(weights, axis=1), np.array(offsets)
