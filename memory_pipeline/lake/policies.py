"""Policies as commits recorded them, and as rows that show which settings were in force."""

import json
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.settings import Policy, SettingsError, preset, read_policy
from memory_pipeline.settings.presets import embedder_values

CONFIGURED: Final = "configured"
"""Origin of a value that is neither a default nor the preset's or embedder's own."""


def committed_policy(ledger: Ledger, commit_seq: int) -> Policy:
    """Return the policy of the commit at a position, as current settings (see `settings.policy_versions`).

    Raises SettingsError: a later version of this program committed it.
    """
    ((*_, payload),) = ledger.read(commit_seq - 1, until=commit_seq)
    recorded = json.loads(payload)
    if "policy_of" in recorded:  # only the clock had moved since that run
        return committed_policy(ledger, recorded["policy_of"])
    return read_policy(recorded["policy"], version=recorded.get("policy_version", 0))


def in_force(ledger: Ledger, runs: pl.DataFrame) -> dict[str, Policy]:
    """Return the policy of each profile's last run, of rows of `consolidation_runs`. Cost: one query per profile."""
    return _last(ledger, runs, "profile_id")


def of_runs(ledger: Ledger, runs: pl.DataFrame) -> dict[str, Policy]:
    """Return every policy that a run used, by its hash in `consolidation_runs`. Cost: one query per policy."""
    return _last(ledger, runs, "policy_hash")


def _last(ledger: Ledger, runs: pl.DataFrame, by: str) -> dict[str, Policy]:
    """Return the policy of the last run of each value of a column."""
    last = runs.sort("commit_seq").unique(by, keep="last").sort(by)
    return {value: committed_policy(ledger, seq) for value, seq in last.select(by, "commit_seq").iter_rows()}


def rows(policies: Mapping[str, Policy], *, key: str = "profile_id") -> pl.DataFrame:
    """Return one row per policy and setting: `key`, setting, value, origin; `key` is the policy's profile or hash.

    A value's origin is found by comparing it with what this version ships: the ledger keeps values only.
    """
    return pl.DataFrame(
        [
            (owner, setting, value if value is None or isinstance(value, str) else json.dumps(value), origin)
            for owner, policy in sorted(policies.items())
            for setting, value, origin in _settings(policy)
        ],
        schema={key: pl.String, "setting": pl.String, "value": pl.String, "origin": pl.String},
        orient="row",
    )


def _settings(policy: Policy) -> list[tuple[str, Any, str]]:
    """Return each setting with its value, as JSON types, and its origin."""
    shipped = _shipped(policy)
    return [
        (name, value, shipped[name][1] if value == shipped[name][0] else CONFIGURED)
        for name, value in policy.model_dump(mode="json").items()
    ]


def _shipped(policy: Policy) -> dict[str, tuple[Any, str]]:
    """Return the value that each setting has by preset, embedder and default alone, with where it comes from."""
    try:
        of_preset = preset(policy.preset)
    except SettingsError:  # the preset of another version
        of_preset = {}
    layers = {  # the later one wins
        f"embedder {policy.embedder}": embedder_values(policy.embedder),
        f"preset {policy.preset}": of_preset,
    }
    shipped = {name: (value, "default") for name, value in Policy().model_dump(mode="json").items()}
    for origin, values in layers.items():
        known = Policy(**values).model_dump(mode="json", include=set(values))
        shipped |= {name: (value, origin) for name, value in known.items()}
    return shipped
