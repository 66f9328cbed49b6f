"""Completing: what a run has to ask a language model, and what of its answers is kept.

An answer is kept for ever and never asked for again. A try without an answer is kept too, with its reason, but is no
answer: the next run that needs the text asks again. What is not here: prompts and which answers are taken
(`prompting`), and who answers (`llm/protocol`, `interop`).
"""

from datetime import datetime

import polars as pl

from memory_pipeline.consolidation import core_memory
from memory_pipeline.consolidation.groups import lineage
from memory_pipeline.consolidation.summaries import prompting
from memory_pipeline.consolidation.summaries.prompting import HASH_DIGITS, KEY, REQUESTS
from memory_pipeline.llm.protocol import Answer, Completer, Outcome, Prompt, Spent, affordable, spent, worst
from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.settings import LanguageModel, Policy


def requests(
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
    policy: Policy,
    *,
    as_of: datetime,
    actions: frozenset[Action] = frozenset(Action),
) -> pl.DataFrame:
    """Collect what a run needs a model's words for: new summaries and core memory blocks.

    Args:
        clusters: table `clusters`.
        cluster_members: table `cluster_members`.
        memories: table `memories`.
        scored: table `scored_memories`, of the same state.
        enrichment: table `enrichment`.
        policy: the model, whose clusters get summaries, and the limits of blocks.
        as_of: instant at which the facts of blocks must hold.
        actions: what the run may decide; only for that is anything asked.

    Returns:
        The columns of `prompting.REQUESTS`, in the order in which they are to be asked: by profile, first blocks, then
        summaries, those with the most important member first. Empty if no model is set.

    Raises:
        ValueError: a member is no original memory.
    """
    if policy.llm_model is None:
        return REQUESTS.to_frame()
    asked = []
    if policy.core_blocks and Action.COMPILE in actions:
        blocks = core_memory.candidates(memories, scored, enrichment, policy, as_of=as_of)
        asked.append(prompting.block_requests(blocks, policy).with_columns(rank=pl.lit(2.0)))
    if Action.SUMMARISE in actions:
        members = lineage.due(clusters, cluster_members, memories, scored, enrichment, policy)
        ranks = members.group_by("profile_id", subject="cluster_id").agg(rank=pl.col("importance").max())
        wanted = prompting.summary_requests(members, policy)
        asked.append(wanted.join(ranks, on=["profile_id", "subject"], how="left"))
    if not asked:
        return REQUESTS.to_frame()
    order = [pl.col("profile_id"), -pl.col("rank").fill_null(0.0), pl.col("subject")]
    return pl.concat(asked).sort(order).select(REQUESTS.names())


def complete(
    requests: pl.DataFrame, known: pl.DataFrame, completer: Completer, settings: LanguageModel
) -> pl.DataFrame:
    """Ask what nobody has answered yet, as far as the budget goes.

    Requests are asked in their order. One is asked only if the budget covers the most it can cost beside all others on
    their way; when their real cost is known, what is left over goes to those that had to wait.

    Args:
        requests: the columns of `prompting.REQUESTS`, in the order in which they are to be asked.
        known: table `completions` so far.
        completer: what answers.
        settings: the budget of the run.

    Returns:
        The rows to add to `completions`: one a request, with the answer, or with the reason why there is none.

    Raises:
        ValueError: the completer gives more or fewer answers than prompts.
    """
    table = TABLES["completions"]
    answered = known.filter(pl.col("outcome") == Outcome.ANSWERED.value)
    wanted = requests.unique(KEY, keep="first", maintain_order=True).join(
        answered, on=KEY, how="anti", maintain_order="left"
    )
    if wanted.is_empty():
        return table.empty()
    answers = _asked(
        [Prompt(*row) for row in wanted.select("model", "prompt", "input_tokens").iter_rows()], completer, settings
    )
    tries = (
        known.filter(pl.col("outcome") != Outcome.ANSWERED.value)
        .group_by("profile_id", pl.col("request_hash").str.head(HASH_DIGITS))
        .agg(tries=pl.len())
    )
    given = pl.DataFrame(
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
        wanted.drop("input_tokens")
        .hstack(given)
        .join(tries, on=KEY, how="left", maintain_order="left")
        .with_columns(request_hash=pl.when(failed).then(number).otherwise("request_hash"))
    )


def _asked(prompts: list[Prompt], completer: Completer, settings: LanguageModel) -> list[Answer]:
    """One answer a prompt; those that the budget does not cover have that as their outcome."""
    answers: dict[int, Answer] = {}
    waiting, so_far = list(range(len(prompts))), Spent()
    while waiting:
        chosen = affordable([worst(settings, prompts[place].input_tokens) for place in waiting], so_far, settings)
        now = [place for place, fits in zip(waiting, chosen, strict=True) if fits]
        if not now:
            break
        given = completer.complete([prompts[place] for place in now])
        if len(given) != len(now):
            raise ValueError(f"the completer gave {len(given)} answers to {len(now)} prompts; it must give one each")
        answers |= dict(zip(now, given, strict=True))
        so_far += spent(given)
        waiting = [place for place, fits in zip(waiting, chosen, strict=True) if not fits]
    return [answers.get(place) or Answer(None, Outcome.BUDGET) for place in range(len(prompts))]
