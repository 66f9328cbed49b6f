"""Decides in which section of core memory a sentence belongs, if in any, by all that the reader says of it.

One linear model over the probabilities of all labels (`models/sections.toml`) weighs whom a sentence is about, of what
kind it is, how long it holds, what harm forgetting it does and whether it is so against each other, where a limit for
each would lose what several of them tell together; to its scores comes what the network holds of a sentence before it
labels it, fitted with them. Not here: the labels (`sentence_kinds`), that and whether an order stands (`state_heads`),
the fit (`research/fit_sections.py`), and what a text quotes or leaves open (`core_facts`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.score import sentence_kinds
from memory_pipeline.text.score.sentence_kinds import GROUPS

Floats = NDArray[np.float64]

HEALTH: Final = "health_and_safety"
INSTRUCTION: Final = "standing_instructions"
PREFERENCE: Final = "preferences"
IDENTITY: Final = "user_profile"
PROJECT: Final = "current_projects"
KINDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        HEALTH: ("health", "safety"),
        INSTRUCTION: ("instruction",),
        PREFERENCE: ("preference",),
        IDENTITY: ("identity", "relation", "home", "skill", "possession"),
        PROJECT: ("goal", "decision"),
    }
)
"""Sections, named after the block that holds each, and the kinds of sentences (`sentence_kinds.GROUPS`) that make it.

A sentence belongs in the section of its kind if it holds on, is so, and is about the owner; who somebody is to the
owner is. What does real damage if it is forgotten belongs in health and safety whoever it is about."""
SECTIONS: Final = tuple(KINDS)
_INSTRUCTS: Final = SECTIONS.index(INSTRUCTION)
NOWHERE: Final = len(SECTIONS)
"""Place of the class of all other sentences, after those of the sections."""
MODEL: Final = "sections"
"""Name of the model file in `models/`."""
_LABELS: Final = tuple(f"{group}.{label}" for group, labels in GROUPS.items() for label in labels)
FEATURES: Final = (*_LABELS, *(f"log {label}" for label in _LABELS))
"""Features of a sentence: the probability of each label, and its logarithm."""
LEAST: Final = 0.5
"""Minimum probability of belonging in any section from which a sentence does."""
MAY_BELONG: Final = 0.1
"""Minimum probability of belonging in a section from which it is asked what tells more: whether an order stands, and
whether what is about safety says how something is opened."""
LEAST_STANDING: Final = 0.75
"""Minimum probability of holding until further notice from which an order is a standing one: rather one too few, since
a wrong one is obeyed in every session."""
SURELY_STANDING: Final = 0.85
"""The same, from which what is rather taken for something that is wanted once is one too."""
RATHER_FIGURATIVE: Final = 0.9
"""Probability of being a figure of speech from which a doubt makes no matter of health: 6 of 414 left out have it."""
_SMALLEST: Final = 1e-3
"""Least probability whose logarithm is taken: the reader's smaller ones say no more."""
_OWNER, _PERSON = (_LABELS.index(f"whom.{label}") for label in ("owner", "person"))


def features(numbers: Floats) -> Floats:
    """Return the features of sentences, [sentences, `FEATURES`], of what the reader says of them."""
    return np.concatenate([numbers, np.log(numbers.clip(_SMALLEST))], axis=1)


def probabilities(features: Floats, toward: Floats, weights: Mapping[str, float]) -> Floats:
    """Return the probability that each sentence belongs in each section, and in none, [sentences, sections + 1].

    Args:
        toward: what the network's state adds to the score of each section (see `state_heads.toward`).
        weights: coefficients of the model: `SECTION offset`, and `SECTION FEATURE` for each feature.
    """
    by_section = np.array([[weights[f"{section} {name}"] for name in FEATURES] for section in SECTIONS])
    scores = features @ by_section.T + toward + np.array([weights[f"{section} offset"] for section in SECTIONS])
    scores = np.concatenate([scores, np.zeros((len(scores), 1))], axis=1)  # those of no section, which others exceed
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    result: Floats = (powers / powers.sum(axis=1, keepdims=True)).round(sentence_kinds.DIGITS)
    return result


def may_instruct(numbers: Floats, toward: Floats) -> NDArray[np.bool_]:
    """Return whether each sentence may be a standing instruction, whoever it is about."""
    return _may_belong(numbers, toward, INSTRUCTION)


def may_unlock(numbers: Floats, toward: Floats) -> NDArray[np.bool_]:
    """Return whether each sentence may say how something is opened: one about safety rather than about a body."""
    return _may_belong(numbers, toward, HEALTH) & (sentence_kinds.probability(numbers, "kind", "health") < LEAST)


def _may_belong(numbers: Floats, toward: Floats, section: str) -> NDArray[np.bool_]:
    """Return whether each sentence may belong in a section, whoever it is about."""
    read = (probabilities(features(one), toward, coefficients(MODEL)) for one in (numbers, of_owner(numbers)))
    result: NDArray[np.bool_] = np.max([one[:, SECTIONS.index(section)] for one in read], axis=0) >= MAY_BELONG
    return result


def chosen(
    numbers: Floats, toward: Floats, standing: Floats, unlocking: Floats, figurative: Floats
) -> NDArray[np.int64]:
    """Return the place in `SECTIONS` of the section in which each sentence belongs, else `NOWHERE`.

    One belongs where it most likely does if it rather belongs somewhere than nowhere. What may be a matter of health or
    safety belongs there already if leaving it out would cost more than a wrong line: the square of its harm, 0 to 9,
    against 1, unless it is rather a figure of speech. An order for once is no instruction, and what another person
    likes no preference. How something of the owner's is opened belongs to home and possessions.

    Args:
        numbers: see `features`; `toward`: see `probabilities`.
        standing: probability that each holds until further notice, if it orders something; read only of those that
            `may_instruct`.
        unlocking: probability that each says how something is opened; read only of those that `may_unlock`.
        figurative: probability that each is a figure of speech, if it is about health or safety.
    """
    likely = probabilities(features(numbers), toward, coefficients(MODEL))
    once = standing < LEAST_STANDING
    likely[once, NOWHERE] += likely[once, _INSTRUCTS]
    likely[once, _INSTRUCTS] = 0.0
    health = np.where(figurative < RATHER_FIGURATIVE, likely[:, SECTIONS.index(HEALTH)], 0.0)
    safety = health * sentence_kinds.expected(numbers, "harm", power=2) >= 1.0 - health
    instructs = (standing >= SURELY_STANDING) & (likely[:, _INSTRUCTS] >= MAY_BELONG)
    doubtful = np.select([safety, instructs & _orders(numbers)], [SECTIONS.index(HEALTH), _INSTRUCTS], NOWHERE)
    places = np.where(1.0 - likely[:, NOWHERE] >= LEAST, likely[:, :NOWHERE].argmax(axis=1), doubtful)
    of_others = sentence_kinds.probability(numbers, "whom", "person") >= LEAST
    places[of_others & (places == SECTIONS.index(PREFERENCE))] = NOWHERE
    opens = np.where(of_others, NOWHERE, SECTIONS.index(IDENTITY))
    return np.where((places == SECTIONS.index(HEALTH)) & (unlocking >= LEAST), opens, places)


def of_owner(numbers: Floats) -> Floats:
    """Return what the reader would say of sentences if whoever it takes for another person were the owner."""
    moved = numbers.copy()
    moved[:, _OWNER] += moved[:, _PERSON]
    moved[:, _PERSON] = 0.0
    return moved


def _orders(numbers: Floats) -> NDArray[np.bool_]:
    """Return whether each sentence rather orders something than not, for once or for good."""
    result: NDArray[np.bool_] = sentence_kinds.probability(numbers, "kind", "request", "instruction") >= LEAST
    return result
