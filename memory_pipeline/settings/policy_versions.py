"""Reads policies as earlier versions recorded them: one step per version, each a pure function of names and values.

Every commit records its policy with `POLICY_VERSION`. A step renames and drops settings that have changed since, and
gives new ones the value that reproduces the behaviour before them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from memory_pipeline.settings.policy import Policy
from memory_pipeline.settings.values import SettingsError

Recorded = dict[str, Any]


def _settings_of_one(values: Recorded) -> Recorded:
    """Add the settings that versions without a number lacked, with values that reproduce their behaviour.

    Dropped are `working_decay`, `short_term_decay` and `long_term_decay`, the energy lost per hour in each tier: these
    rates no longer differ between policies, and are those that every shipped preset had.
    """
    kept = {
        name: value
        for name, value in values.items()
        if name not in {"working_decay", "short_term_decay", "long_term_decay"}
    }
    confidence = kept.get("fact_confidence", 0.7)
    return {
        "fact_confidence": confidence,
        "close_confidence": confidence,
        "conflict_confidence": confidence,
        "repeat_confidence": 1.0,  # repetitions were not linked
        "token_budget": None,
        "split_entries": False,
        "llm_pairs": 0,
        "summaries": "all",
        "core_facts": "superlocal",
    } | kept


def _settings_of_five(values: Recorded) -> Recorded:
    """Add the limit of core memory in tokens, that of the characters which bounded it before."""
    return {"core_memory_tokens": max(1, round(values.get("core_memory_char_limit", 2600) * 600 / 2600))} | values


def _settings_of_six(values: Recorded) -> Recorded:
    """Name the judge that is left; one of words alone is gone."""
    return {**values, "judge": "reader"} if values.get("judge") == "rules" else values


STEPS: Final[Mapping[int, Callable[[Recorded], Recorded]]] = {
    1: _settings_of_one,
    2: lambda values: {"judge": "rules"} | values,  # there was only one judge of pairs
    3: lambda values: {"merge_confidence": 1.0} | values,  # what it took for a repetition was not merged
    4: lambda values: {"similar_neighbours": 2**31 - 1} | values,  # similarity edges of a memory had no bound
    5: _settings_of_five,
    6: _settings_of_six,
}
"""Steps by the version that they produce, each from the version before it."""

POLICY_VERSION: Final = max(STEPS)
"""Version of the settings of a policy. Whoever adds, renames or removes a setting adds a step."""


def read_policy(values: Recorded, *, version: int) -> Policy:
    """Return a policy as a version of its settings recorded it, 0 if none; SettingsError, if a later program did."""
    if version > POLICY_VERSION:
        raise SettingsError(
            f"a policy was recorded in version {version} of its settings, but this program knows {POLICY_VERSION}; "
            "upgrade memory-pipeline"
        )
    for number in range(version + 1, POLICY_VERSION + 1):
        values = STEPS[number](values)
    return Policy(**values)
