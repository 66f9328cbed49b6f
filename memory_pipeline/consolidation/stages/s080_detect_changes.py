"""Detects what has changed between memories.

Not here: what is compared (`change_detection`), how it is judged (`judging`), and what a language model is asked
(`model_judge`).
"""

from typing import NamedTuple

import polars as pl

from memory_pipeline import schemas
from memory_pipeline.consolidation import (
    change_detection,
    deferral,
    enrichments,
    judging,
    model_judge,
    model_requests,
    scope,
)
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.consolidation.state import answers
from memory_pipeline.schemas import Action, Frame, conform


class Inputs(NamedTuple):
    memories: Frame[schemas.Memories]
    deferred: Frame[schemas.Deferred]
    enrichment: Frame[schemas.Enrichment]
    vectors: Frame[schemas.Vectors]
    judgements: Frame[schemas.Judgements]
    pair_readings: Frame[schemas.PairReadings]
    verdicts: Frame[schemas.Verdicts]
    events: Frame[schemas.Events]
    core_sentences: Frame[schemas.CoreSentences]


class Outputs(NamedTuple):
    """Facts that newer memories change, what was judged to find them, and what a model was asked about them."""

    fact_changes: Frame[schemas.FactChanges]
    judgements: Frame[schemas.Judgements]
    verdicts: Frame[schemas.Verdicts]
    change_odds: Frame[schemas.ChangeOdds]
    pair_readings: Frame[schemas.PairReadings]


@stage(reuse=[schemas.Judgements], serves=frozenset({Action.LINK, Action.CLOSE}))
def detect_changes(inputs: Inputs, context: Context) -> Outputs:
    """Detect facts that a newer memory updates, contradicts or repeats; a model, if set, answers what is worth asking.

    Profiles whose memories have not changed since the last run are not judged again. What somebody has answered about
    a pair stands instead of any judgement.
    """
    compared, enabled = (
        deferral.without(inputs.memories, inputs.deferred),
        enrichments.enabled(inputs.enrichment, context.policy),
    )
    changes, judged, odds, readings, possible = change_detection.compare(
        memories=compared,
        enrichment=enabled,
        vectors=inputs.vectors,
        kept=inputs.judgements,
        recorded=inputs.pair_readings,
        sentences=inputs.core_sentences,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    answered = answers.standing(inputs.events, inputs.memories)
    pairs = model_judge.pairs(change_detection.unanswered(possible, answered), compared, inputs.core_sentences)
    combined, asked, same = model_requests.judged(
        changes=changes,
        pairs=pairs,
        verdicts=inputs.verdicts,
        context=context,
        within=scope.inside(context.scope, inputs.memories),
    )
    repeats = judging.answered_repeats(
        pairs=same,
        memories=compared,
        recorded=pl.concat([inputs.pair_readings, readings]),
        sentences=inputs.core_sentences,
        sure=context.policy.llm_precision,
    )
    return Outputs(
        conform(
            schemas.FactChanges,
            change_detection.with_answers(
                changes=combined, answered=answered, memories=compared, same=same, plan_id=context.plan_id
            ),
        ),
        conform(schemas.Judgements, judged),
        conform(schemas.Verdicts, asked),
        conform(schemas.ChangeOdds, odds),
        conform(schemas.PairReadings, pl.concat([readings, repeats])),
    )
