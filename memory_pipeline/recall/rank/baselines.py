"""Rankings chosen by name: the published formulas (`formulas`), plain cosine and plain BM25."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.index.sessions import SAID_AT
from memory_pipeline.recall.rank import formulas
from memory_pipeline.recall.rank.matching import Match, over_top
from memory_pipeline.text.arrays import Floats

SCORES: Final = ("recency", "importance", "retention", "relevance")
"""Columns of the scores of memories (see `present_scores`)."""
SCORED: Final = ("engram", "automem", "cognitive")
"""Rankings that need scores of the memories (see `present_scores`)."""
FORMULAS: Final = (*SCORED, "cosine", "lexical")
RECENT: Final = timedelta(days=7)
"""Greatest age of a user's statements that show what they are concerned with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The asking user and session, and the factor weights, for the ranking `engram`.

    Attributes:
        session_id: session of the query.
        user_id: user of the query; None leaves affinity out.
        returns: number of recalls in this session that returned each memory, by id.
        reached: ids of other users' memories that a SIMILAR_TO edge connects with one of the user's.
        entities: names that the user is concerned with (see `recent_names`).
        weights: weights of the factors (see `formulas.weighted_mean`).
    """

    session_id: str | None = None
    user_id: str | None = None
    returns: Mapping[str, int] = field(default_factory=dict)
    reached: frozenset[str] = frozenset()
    entities: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=formulas.WEIGHTS.copy)


def by_formula(
    name: str,
    index: Index,
    question: Question,
    *,
    cosines: Floats,
    now: datetime,
    scored: pl.DataFrame | None,
    context: Context | None,
) -> tuple[Floats, dict[str, Floats]]:
    """Return the score of every memory by a named ranking, NaN where unknown, and the factors it was computed from.

    Raises ValueError: the formula needs scores, and `scored` is None or lacks a memory.
    """
    if name == "lexical":
        lexical = over_top(Match.of(index, question).lexical)
        return lexical, {"lexical": lexical}
    if name == "cosine":
        return cosines, {"cosine": cosines}
    if scored is None:
        raise ValueError(f"ranking = {name!r} needs scores of the memories; pass scored, or choose default")
    scores = _scores(index, scored)
    if name == "automem":
        factors = {"cosine": cosines, "relevance": scores["relevance"]}
        return formulas.fading(cosines, scores["relevance"]), factors
    if name == "cognitive":
        factors = {"cosine": cosines, "retention": scores["retention"]}
        return formulas.retained(cosines, scores["retention"]), factors
    relevant = formulas.relevance(cosines)
    affine = None if context is None or context.user_id is None else _affinity(index, context, now)
    factors = {"recency": scores["recency"], "importance": scores["importance"], "relevance": relevant}
    if affine is not None:
        factors["affinity"] = affine
    weights = None if context is None else context.weights
    return formulas.weighted_mean(scores["recency"], scores["importance"], relevant, affine, weights=weights), factors


def _scores(index: Index, scored: pl.DataFrame) -> dict[str, Floats]:
    """Return the scores of each memory, in the order of the index."""
    ids = index.memories.select("memory_id")
    rows = ids.join(scored.select("memory_id", *SCORES), on="memory_id", how="left", maintain_order="left")
    if (lacking := rows.filter(pl.any_horizontal(pl.col(*SCORES).is_null()))).height:
        raise ValueError(f"scored has no scores of the memory {lacking['memory_id'][0]!r}; score every memory")
    return {name: rows[name].to_numpy() for name in SCORES}


def _affinity(index: Index, context: Context, now: datetime) -> Floats:
    memories = index.memories
    same_user = (memories["user_id"] == context.user_id).fill_null(value=False).to_numpy()
    session = np.zeros(memories.height, dtype=np.bool_)
    if context.session_id is not None:
        session = (memories["session_id"] == context.session_id).fill_null(value=False).to_numpy()
    ended = memories.select(SAID_AT.max().over("session_id")).to_series()
    days = (
        pl.select((pl.lit(now) - ended).dt.total_seconds() * (1.0 / 86_400)).to_series().to_numpy().astype(np.float64)
    )
    proximity = formulas.session_proximity(
        same_session=session,
        same_user=same_user,
        days=days,
        reached=memories["memory_id"].is_in(list(context.reached)).to_numpy(),
    )
    returns = memories["memory_id"].replace_strict(dict(context.returns), default=0, return_dtype=pl.Float64).to_numpy()
    return formulas.affinity(proximity, formulas.recurrence(returns), _overlap(index, context.entities))


def recent_names(index: Index, user_id: str, now: datetime) -> tuple[str, ...]:
    """Return the names in what was stored for a user within the last week: what they are concerned with (ADR-0008)."""
    own = (pl.col("user_id") == user_id) & SAID_AT.is_between(now - RECENT, now)
    rows = np.flatnonzero(index.memories.select(own.fill_null(value=False)).to_series().to_numpy())
    passages = np.flatnonzero(np.isin(index.passages.row, rows))
    return tuple(index.passages.names.gather(passages).explode().drop_nulls().unique().sort())


def _overlap(index: Index, entities: tuple[str, ...]) -> Floats:
    """Return the overlap of the user's names with those of each memory."""
    mentioned = (
        pl.DataFrame({"row": index.passages.row, "name": index.passages.names})
        .group_by("row", maintain_order=True)
        .agg(pl.col("name").list.explode(keep_nulls=False, empty_as_null=False))
    )
    asked = pl.Series([list(entities)], dtype=pl.List(pl.String)).new_from_index(0, mentioned.height)
    return formulas.entity_overlap(asked, mentioned["name"])
