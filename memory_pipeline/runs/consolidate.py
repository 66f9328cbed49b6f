"""Runs all stages in this process, without Dagster: a preview, which writes nothing, or a run, which commits.

Not here: the stages (`consolidation/`), who takes part (`inputs`), and the same run through Dagster (`assets/`).
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import polars as pl

from memory_pipeline.consolidation import pipeline
from memory_pipeline.consolidation.context import Complete, recorded_only
from memory_pipeline.consolidation.model_prompts import KEY
from memory_pipeline.consolidation.model_requests import ModelAnswers
from memory_pipeline.lake.tables import Lake
from memory_pipeline.llm.openai import OpenAICompletionClient
from memory_pipeline.runs import commit, inputs
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, Settings


def consolidate(lake: Lake, settings: Settings, profiles: pl.DataFrame, *, run_id: str) -> dict[str, pl.DataFrame]:
    """Run every stage and commit.

    What a language model is asked is kept as soon as all is answered, also if the commit fails: it is not asked again.

    Args:
        lake: the store.
        settings: policy of each profile, and where a language model answers.
        profiles: who takes part (see `inputs.select_profiles`).
        run_id: id of the run.

    Returns:
        All tables of the run, `consolidation_plan` among them.

    Raises:
        CompletionUnavailable: a policy names a language model, and the package `openai` is not installed.
        InvariantBroken: the plan would break an invariant; nothing was changed.
        Conflict: a profile has changed since; nothing was changed.
    """
    started_at = datetime.now(UTC)
    lake.project()
    policies = inputs.policies(settings, profiles)
    tables = preview(lake, settings, profiles)
    for name in pipeline.RECORDED:
        lake.append(name, tables[name])
    commit.commit(lake, tables, policies, run_id=run_id, started_at=started_at)
    return tables


def preview(lake: Lake, settings: Settings, profiles: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Run every stage, up to the state after the plan, and write nothing.

    Arguments and errors as for `consolidate`; a preview breaks no invariant and meets no conflict, it only shows.
    """
    policies = inputs.policies(settings, profiles)
    tables = {"profiles": profiles} | {
        name: inputs.read_table(lake, name, profiles) for name in pipeline.SOURCES if name != "profiles"
    }
    return pipeline.run(
        tables, policies, last_run=last_run(lake, profiles), complete=completer(settings, policies.values())
    )


def dry_run(lake: Lake, settings: Settings, profiles: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Preview a run and check its plan; write nothing.

    Arguments as for `consolidate`.

    Returns:
        What a plan file holds: `profiles`, `consolidation_plan`, and as `completions` what a model answered and is not
        recorded yet, about pairs of memories too.

    Raises:
        CompletionUnavailable: a policy names a language model, and the package `openai` is not installed.
        InvariantBroken: the plan would break an invariant.
    """
    tables = preview(lake, settings, profiles)
    if (broken := commit.violations(tables, inputs.policies(settings, profiles))).height:
        raise commit.InvariantBroken(broken)
    owners = profiles["profile_id"].to_list()
    answers = [
        TABLES["completions"].conform(tables[name].join(lake.read(name, profiles=owners), on=KEY, how="anti"))
        for name in ("verdicts", "completions")
    ]
    plan = tables["consolidation_plan"]
    return {"profiles": profiles, "consolidation_plan": plan, "completions": pl.concat(answers)}


def completer(settings: Settings, policies: Iterable[Policy]) -> Complete:
    """Return what answers the requests of a run to a language model, within the budget of one run.

    Raises:
        CompletionUnavailable: a policy names a language model, and the package `openai` is not installed.
    """
    if not any(policy.llm_model for policy in policies):
        return recorded_only
    return ModelAnswers(OpenAICompletionClient(settings), settings)


def last_run(lake: Lake, profiles: pl.DataFrame) -> pipeline.LastRun:
    """Return what the last run published at the state that a run reads, for stages that its task does not need."""
    if profiles.is_empty() or not pipeline.idle(profiles["task"][0]):
        return pipeline.LastRun()
    seq = profiles["seq"][0]
    runs = lake.ledger.runs(profiles["profile_id"].to_list(), seq=seq).filter(pl.col("outcome") != "reverted")
    return pipeline.LastRun(frozenset(runs["profile_id"]), lambda name, own: lake.read(name, seq=seq, profiles=own))
