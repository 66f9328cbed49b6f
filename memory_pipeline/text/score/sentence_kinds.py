"""What a sentence says, by the reader: whom it is about, of what kind it is, how long it holds, what it is worth.

Not here: the network (`text/embed/encoder`), and which sentences make core memory (`core_facts`).
"""

from itertools import pairwise
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GROUPS: Final = MappingProxyType(
    {
        "whom": ("owner", "person", "agent", "thing", "nobody"),
        "kind": (
            *("identity", "relation", "home", "health", "safety", "instruction", "preference", "skill", "possession"),
            *("goal", "decision", "appointment", "event", "measurement", "fact", "opinion", "chatter", "question"),
            "request",
        ),
        "holds": ("lasting", "current", "while", "moment"),
        "harm": ("0", "1", "2", "3"),
        "worth": ("0", "1", "2", "3"),
        "stance": ("stated", "happened", "ended", "planned", "possible", "reported", "asked", "idle"),
    }
)
"""What is told of a sentence, and the labels of each, one of which applies.

- whom: whom it is about; the owner is the person whose memory it is, in a shared store the team.
- kind: `home` is where somebody lives, works or studies; `safety` a danger, a prohibition or a secret; `instruction` a
  standing one to the agent; `request` what is wanted once; `fact` how a thing is; what is quoted or imagined is an
  `opinion`.
- holds: for years, until changed, for days to weeks, or for a moment.
- harm: if it were forgotten: none, annoyance, real damage, danger to health, life, liberty or a secret.
- worth: whether it will be asked for: never, hardly, likely, surely.
- stance: whether what it says is so: stated as so; happened at some moment; said to have ended; planned; possible only
  (a guess, a wish, a condition that has not come about); reported of somebody else's words; asked; idle talk.
"""
WIDTH: Final = sum(map(len, GROUPS.values()))
"""Number of labels."""
_LIKELY: Final = 0.5
DIGITS: Final = 6
"""Decimals of a sum: how many sentences are read together changes its order, and nothing else."""
_BOUNDS: Final = np.cumsum([0, *map(len, GROUPS.values())])
_PLACES: Final = {
    (group, label): int(start) + place
    for (group, labels), start in zip(GROUPS.items(), _BOUNDS, strict=False)
    for place, label in enumerate(labels)
}


def probabilities(scores: Floats) -> Floats:
    """Return the probability of each label of each sentence, [sentences, `WIDTH`]; those of a group add up to 1."""
    parts = [scores[:, start:end] for start, end in pairwise(_BOUNDS)]
    powers = [np.exp(part - part.max(axis=1, keepdims=True, initial=-np.inf)) for part in parts]
    return np.concatenate([power / power.sum(axis=1, keepdims=True) for power in powers], axis=1)


def probability(read: Floats, group: str, *labels: str) -> Floats:
    """Return the probability that one of some labels of a group applies to each sentence."""
    result: Floats = read[:, [_PLACES[group, label] for label in labels]].sum(axis=1).round(DIGITS)
    return result


def likely(read: Floats, group: str, *labels: str) -> NDArray[np.bool_]:
    """Return to which sentences one of some labels of a group applies rather than not."""
    result: NDArray[np.bool_] = probability(read, group, *labels) >= _LIKELY
    return result


def importance(read: Floats) -> Floats:
    """Return the importance of each sentence, 0..1: the harm if it were forgotten and its worth, each half."""
    return (expected(read, "harm") + expected(read, "worth")) / 6.0


def expected(read: Floats, group: str, *, power: int = 1) -> Floats:
    """Return the mean of a group of numbers (`harm` or `worth`), or of a power of them, for each sentence."""
    shares = read[:, [_PLACES[group, label] for label in GROUPS[group]]]
    result: Floats = (shares @ np.arange(shares.shape[1]) ** power).round(DIGITS)
    return result
