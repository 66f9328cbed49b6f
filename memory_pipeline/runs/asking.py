"""Asks a language model for what a run in this process will word, so that the run finds the answers in the lake.

What is not here: the same for a run through Dagster (`assets/completions.py`), what is asked (`consolidation/`), and
how a model is reached (`openai_completion`).
"""

import polars as pl

from memory_pipeline.consolidation import pipeline, stages
from memory_pipeline.consolidation.summaries import model_requests
from memory_pipeline.llm.openai import OpenAICompletionClient
from memory_pipeline.runs import commit, inputs
from memory_pipeline.lake.tables import Lake
from memory_pipeline.settings import Settings

_ASKED_ABOUT = ("clusters", "cluster_members", "memories", "scored_memories", "enrichment")


def ask(lake: Lake, settings: Settings, profiles: pl.DataFrame) -> None:
    """Ask what has not been answered yet, and keep the answers; does nothing where no policy names a model.

    Args:
        lake: the store.
        settings: the model's address and limits, and the policy of each profile.
        profiles: who takes part in the run (see `participation.chosen`).

    Raises:
        CompletionUnavailable: the package `openai` is not installed.
        LakeError: the answers cannot be kept.

    Cost: a plan, and the model's time.
    """
    policies = inputs.policies(settings, profiles)
    if not any(policy.llm_model for policy in policies.values()):
        return
    lake.project()
    tables = commit.preview(lake, settings, profiles)
    requests = pipeline.each(profiles, policies, stages.ask, *(tables[name] for name in _ASKED_ABOUT))
    if requests.height:
        known = lake.read("completions", profiles=profiles["profile_id"].to_list())
        lake.append("completions", model_requests.complete(requests, known, OpenAICompletionClient(settings), settings))
