"""Collects what a run asks a language model, and the answers to record.

An answer is recorded for good and never requested again. A failed attempt is recorded with its reason but is not an
answer: the next run that needs the text asks again. Not here: prompts and the acceptance of answers (`prompting`), and
clients of models (`llm/protocol`, `llm/openai`).
"""

from datetime import datetime
from typing import Final, NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import atomic_facts, core_memory, model_judge, ownership, scope
from memory_pipeline.consolidation.columns import KEY as MEMORY
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.model_prompts import HASH_DIGITS, KEY, REQUESTS
from memory_pipeline.consolidation.summaries import prompting
from memory_pipeline.llm.protocol import (
    Completion,
    CompletionClient,
    Outcome,
    Prompt,
    Usage,
    max_usage,
    total_usage,
    within_budget,
)
from memory_pipeline.schemas import TABLES, Action, Frame, Memories
from memory_pipeline.settings import LanguageModel, Policy

_REFUSED: Final = ("profile_id", "pair", "refused")
PAIRS_SHARE: Final = 0.5
"""Share of a run's budget for pairs of memories; the rest is for texts, or all of it where no pairs are asked about."""


def texts_share(policy: Policy) -> float:
    """Return the share of a run's budget for texts and facts."""
    return 1.0 - PAIRS_SHARE if policy.llm_pairs and policy.fact_changes else 1.0


def requests(
    clusters: Frame[schemas.Clusters],
    cluster_members: Frame[schemas.ClusterMembers],
    memories: Frame[schemas.Memories],
    scored: Frame[schemas.ScoredMemories],
    enrichment: Frame[schemas.Enrichment],
    policy: Policy,
    *,
    as_of: datetime,
    actions: frozenset[Action] = frozenset(Action),
    edges: Frame[schemas.AssociationEdges] | None = None,
    outdated: pl.DataFrame | None = None,
    changes: Frame[schemas.FactChanges] | None = None,
) -> pl.DataFrame:
    """Collect the texts that a run needs from a model (`REQUESTS`): new summaries, core memory blocks, and facts.

    They are in the order of asking: by profile, blocks first, then summaries, those with the most important member
    first, then entries to split, the most important first; none if no model is set. Only texts for the given actions
    are requested. `outdated` are memories (KEY) that no longer speak for the present; without edges and changes, blocks
    are compiled as if there were none. Raises ValueError: a member is not an original memory.
    """
    if policy.llm_model is None:
        return REQUESTS.to_frame()
    parts = []
    if policy.core_blocks and Action.COMPILE in actions:
        blocks = core_memory.candidates(memories, scored, enrichment, policy, as_of=as_of, edges=edges, changes=changes)
        own = blocks.filter(~pl.col("profile_id").is_in(ownership.shared(memories).implode()))
        parts.append(prompting.block_requests(own, policy).with_columns(rank=pl.lit(2.0)))
    if Action.SUMMARISE in actions:
        members = lineage.due(clusters, cluster_members, memories, scored, enrichment, policy, outdated=outdated)
        ranks = members.group_by("profile_id", subject="cluster_id").agg(rank=pl.col("importance").max())
        summary_requests = prompting.summary_requests(members, policy)
        parts.append(summary_requests.join(ranks, on=["profile_id", "subject"], how="left"))
        parts.append(_entry_requests(memories, scored, policy))
    if not parts:
        return REQUESTS.to_frame()
    order = [pl.col("profile_id"), -pl.col("rank").fill_null(0.0), pl.col("subject")]
    return pl.concat(parts).sort(order).select(REQUESTS.names())


class Judged(NamedTuple):
    """What a model's verdicts make of the pairs that it was asked about."""

    fact_changes: pl.DataFrame
    """Table `fact_changes`."""
    verdicts: pl.DataFrame
    """Rows to add to table `verdicts`."""
    same: pl.DataFrame
    """Pairs that surely say the same (see `model_judge.same`)."""


def judged(
    changes: pl.DataFrame,
    pairs: pl.DataFrame,
    verdicts: Frame[schemas.Verdicts],
    context: Context,
    *,
    within: pl.DataFrame | None = None,
) -> Judged:
    """Ask a model about pairs of memories (`model_judge.pairs`), and combine its verdicts with what the rules found.

    Half of the run's budget is for this, the other half for texts. Nothing is asked about memories other than those
    (KEY) that the run may decide about (`within`; default: all).
    """
    table = TABLES["verdicts"]
    wanted = pairs if within is None else scope.touching(within, pairs, "memory_id", "other_id")
    asked = model_judge.requests(wanted, verdicts, context.policy)
    if asked.is_empty():
        new = table.empty()
    else:
        subjects = asked.select(*KEY, "subject")
        answers = context.complete(asked, verdicts, PAIRS_SHARE).with_columns(
            asked=pl.col("request_hash").str.head(HASH_DIGITS)
        )
        named = answers.join(subjects, left_on=["profile_id", "asked"], right_on=KEY, maintain_order="left")
        found = model_judge.verdicts(pairs, named, context.policy).drop_nulls("refused")
        reasons = {(profile_id, pair): reason for profile_id, pair, reason in found.select(_REFUSED).iter_rows()}
        refused = [
            [reasons[profile_id, pair] for pair in subject.split(" ") if (profile_id, pair) in reasons]
            for profile_id, subject in named.select("profile_id", "subject").iter_rows()
        ]
        new = table.conform(named.with_columns(pl.Series("refused", refused, dtype=pl.List(pl.String))))
    heard = model_judge.heard(pairs, pl.concat([verdicts, new]), context.policy)
    combined = model_judge.overlaid(changes, heard, context.policy, plan_id=context.plan_id)
    return Judged(combined, new, model_judge.same(heard))


def _entry_requests(memories: Frame[Memories], scored: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return requests to split the entries that have no facts yet; after all others, important entries first."""
    entries = atomic_facts.entries(memories, policy)
    unsplit = entries.join(atomic_facts.settled(entries, memories), on=MEMORY, how="anti", maintain_order="left")
    ranks = (
        unsplit.join(scored.select(*MEMORY, "importance"), on=MEMORY, how="left")
        .group_by("profile_id", subject="content_hash")
        .agg(rank=pl.col("importance").max() - 1.0)
    )
    return atomic_facts.requests(unsplit, policy).join(ranks, on=["profile_id", "subject"], how="left")


def answers_from(
    answers: pl.DataFrame, requests: pl.DataFrame, recorded: Frame[schemas.Completions], _share: float = 1.0
) -> pl.DataFrame:
    """Answer requests (`REQUESTS`) from rows of `completions` that a plan carries: return those not recorded yet."""
    asked = pl.col("request_hash").str.head(HASH_DIGITS)
    return (
        answers.with_columns(asked=asked)
        .join(requests.select("profile_id", asked="request_hash"), on=["profile_id", "asked"], how="semi")
        .drop("asked")
        .join(recorded, on=TABLES["completions"].key, how="anti")
    )


class ModelAnswers:
    """Asks a language model for the texts that have no recorded answer, within the budget of one run.

    Requests are sent in order. One is sent only if the budget covers its maximum cost on top of all others in flight;
    when their real cost is known, the remainder goes to the requests that had to wait. Calls with requests of one
    purpose, pairs of memories or anything else, share one budget.
    """

    def __init__(self, client: CompletionClient, settings: LanguageModel) -> None:
        """Start with the whole budget of the settings."""
        self._client = client
        self._settings = settings
        self._usage = {True: Usage(), False: Usage()}

    def __call__(self, requests: pl.DataFrame, recorded: pl.DataFrame, share: float = 1.0) -> pl.DataFrame:
        """Answer requests, in the order of asking, that have no recorded answer, within a share of the budget.

        Returns the rows to add to `completions`: one per request, with the answer or with the reason why there is none.
        Raises ValueError: the client returns more or fewer answers than prompts.
        """
        table = TABLES["completions"]
        answered = recorded.filter(pl.col("outcome") == Outcome.ANSWERED.value)
        open_requests = requests.unique(KEY, keep="first", maintain_order=True).join(
            answered, on=KEY, how="anti", maintain_order="left"
        )
        if open_requests.is_empty():
            return table.empty()
        prompts = [Prompt(*row) for row in open_requests.select("model", "prompt", "input_tokens").iter_rows()]
        answers = self._ask(prompts, open_requests["purpose"][0] == model_judge.PURPOSE, self._settings.shared(share))
        tries = (
            recorded.filter(pl.col("outcome") != Outcome.ANSWERED.value)
            .group_by("profile_id", pl.col("request_hash").str.head(HASH_DIGITS))
            .agg(tries=pl.len())
        )
        outcomes = pl.DataFrame(
            {
                "content": pl.Series([answer.content for answer in answers], dtype=pl.String),
                "outcome": [answer.outcome.value for answer in answers],
                "input_tokens": [answer.input_tokens for answer in answers],
                "output_tokens": [answer.output_tokens for answer in answers],
                "cost": [answer.cost for answer in answers],
            }
        )
        failed = pl.col("outcome") != Outcome.ANSWERED.value
        number = pl.format("{}.{}", "request_hash", pl.col("tries").fill_null(0) + 1)
        return table.conform(
            open_requests.drop("input_tokens")
            .hstack(outcomes)
            .join(tries, on=KEY, how="left", maintain_order="left")
            .with_columns(request_hash=pl.when(failed).then(number).otherwise("request_hash"))
        )

    def _ask(self, prompts: list[Prompt], purse: bool, settings: LanguageModel) -> list[Completion]:
        """Return one answer per prompt; prompts that the budget does not cover have that as their outcome."""
        answers: dict[int, Completion] = {}
        waiting = list(range(len(prompts)))
        while waiting:
            costs = [max_usage(settings, prompts[index].input_tokens) for index in waiting]
            affordable = within_budget(costs, self._usage[purse], settings)
            now = [index for index, fits in zip(waiting, affordable, strict=True) if fits]
            if not now:
                break
            batch = self._client.complete([prompts[index] for index in now])
            if len(batch) != len(now):
                raise ValueError(
                    f"the client returned {len(batch)} answers to {len(now)} prompts; it must return one each"
                )
            answers |= dict(zip(now, batch, strict=True))
            self._usage[purse] += total_usage(batch)
            waiting = [index for index, fits in zip(waiting, affordable, strict=True) if not fits]
        return [answers.get(index) or Completion(None, Outcome.BUDGET) for index in range(len(prompts))]
