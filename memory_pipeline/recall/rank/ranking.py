"""Ranking: which memories answer a query best.

The default is one linear model over named features (`features`), its coefficients in `models/ranking.toml`; published
formulas are there by name (`named`). What is not here: reading the store and recording what was recalled.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question, parse
from memory_pipeline.recall.rank import redundancy, selection
from memory_pipeline.recall.rank.baselines import FORMULAS, Context, by_formula
from memory_pipeline.recall.rank.features import FEATURES, Candidates, candidates
from memory_pipeline.schemas import INSTANT
from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.embed.embedding import embedder
from memory_pipeline.text.parse import tokens

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Marks = NDArray[np.bool_]

__all__ = ["DEEP_PENALTY", "RANKINGS", "SCHEMA", "Context", "rank", "weights"]

RANKINGS: Final = ("default", *FORMULAS)
DEEP_PENALTY: Final = 0.5
"""Share that a memory keeps when only a deep recall reaches it: of its score, by the model of its lead over the middle
candidate."""
_MORE: Final = 4
"""So many times `k` candidates are looked at for an answer within a token budget."""
_PART: Final = pl.Struct({"name": pl.String, "value": pl.Float64, "weight": pl.Float64})
_SHOWN: Final = ["memory_id", "content", "trimmed", "speaker", "valid_from", "valid_until", "closed_by"]
SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "memory_id": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "tokens": pl.Int64,
    "text": pl.String,
    "parts": pl.List(_PART),
    "current": pl.Boolean,
    "holds_from": INSTANT,
    "closed_by": pl.String,
    "conflicts": pl.List(pl.String),
}
"""Columns of an answer."""


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """Candidates with their scores, and the parts of each score."""

    rows: Integers
    scores: Floats
    names: tuple[str, ...]
    values: Floats
    weights: Floats
    order: Integers


@cache
def weights() -> Floats:
    """Coefficients of the default ranking, in the order of `FEATURES`."""
    known = coefficients("ranking")
    return np.array([known.get(name, 0.0) for name in FEATURES])


def rank(
    index: Index,
    query: str,
    *,
    now: datetime,
    k: int = 10,
    token_budget: int | None = None,
    min_score: float | None = None,
    deep: bool = False,
    allowed: Marks | None = None,
    ranking: str = "default",
    vector: NDArray[np.float32] | None = None,
    scored: pl.DataFrame | None = None,
    context: Context | None = None,
    conflicts: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Rank memories for a query.

    Args:
        index: the memories.
        query: what is asked, in words.
        now: the instant at which it is asked; dates such as "last week" are seen from there.
        k: how many at most.
        token_budget: tokens that the answer may cost at most, "speaker: text" of each together.
        min_score: lowest score to return; default none.
        deep: search cold, stub, archived and expired memories too, at a penalty, and give whole texts.
        allowed: memories of the index that may be returned; default all.
        ranking: one of `RANKINGS`.
        vector: the query's vector; made by the index's embedder unless given.
        scored: rows of `scored_memories`, for the formulas that need them.
        context: who asks, for `engram`.
        conflicts: pairs `memory_id`, `other_id` of memories known to contradict each other.

    Returns:
        Best first, columns as in `SCHEMA`: score 0..1; text (trimmed, else the content; when deep the content); parts
        of the score; current (false when its validity has ended or not begun, true when it ended another's, else null);
        holds_from (where its validity has not begun); closed_by; conflicts (ids). The score is that of the model:
        whatever their scores, a question for now puts the newest of several values first and what does not hold yet
        behind what holds, and a summary stands behind what it repeats. Ties go to the older memory, then by id.

    Raises:
        ValueError: the ranking is unknown, `k` or the budget is below 1, or the formula lacks `scored`.
    """
    if ranking not in RANKINGS:
        raise ValueError(f"ranking = {ranking!r} is unknown; choose one of {', '.join(RANKINGS)}")
    for name, value in (("k", k), ("token_budget", token_budget)):
        if value is not None and value < 1:
            raise ValueError(f"{name} = {value}: give 1 or more")
    within = np.ones(index.memories.height, dtype=np.bool_) if allowed is None else np.asarray(allowed, dtype=np.bool_)
    within = within & (deep | index.live)
    question = parse(query, now=now, speakers=index.speakers)
    asked = _embedded(index, query) if vector is None else vector
    pairs = _pairs(conflicts)
    depth = k if token_budget is None else _MORE * k
    if ranking == "default":
        found = _by_model(index, question, candidates(index, question, within, asked), k, depth, now, pairs)
    else:
        every, factors = by_formula(
            ranking, index, question, cosines=index.vectors.cosines(asked), now=now, scored=scored, context=context
        )
        found = _by_formula(index, within, every, factors)
    if min_score is not None:
        found = replace(found, order=found.order[found.scores[found.order] >= min_score])
    return _answer(index, found, k=k, depth=depth, budget=token_budget, deep=deep, now=now, pairs=pairs)


def _embedded(index: Index, query: str) -> NDArray[np.float32]:
    return np.asarray(embedder(index.model).embed([query])[0], dtype=np.float32)


def _by_model(
    index: Index, question: Question, found: Candidates, k: int, depth: int, now: datetime, pairs: dict[str, list[str]]
) -> _Scored:
    rows = found.rows
    scores, values = found.scored(weights())
    scores = _led(scores, index.live[rows])
    scores = redundancy.without_repeats(index, rows, scores, selection.ordered(index, rows, scores), 2 * depth)
    order = selection.ordered(index, rows, scores)
    if question.now or question.present:
        order = selection.newest_first(index, question, rows, order, found, selection.apart(index, rows, now))
        order = selection.begun_first(order, found, selection.early(index, rows, now))
    place = {memory: at for at, memory in enumerate(index.memories[rows, "memory_id"])} if pairs else {}
    partners = {
        place[memory]: [place[other] for other in others if other in place]
        for memory, others in pairs.items()
        if memory in place
    }
    if partners:
        order = selection.with_partners(order, scores, partners, k)
    if question.open:
        helps = question.kind == "wish"
        order = selection.with_rules(order, found, selection.apart(index, rows, now), helps=helps)
    order = redundancy.summaries_behind(index, rows, order, k)
    return _Scored(rows, scores, tuple(FEATURES), values, weights(), order)


def _led(scores: Floats, live: Marks) -> Floats:
    """Scores, of those that only a deep recall reaches without a part of their lead over the middle candidate.

    Every candidate has some score for being a statement at all: by a share of the whole score what answers would come
    behind what does not.
    """
    if live.all():
        return scores
    lead = np.maximum(scores - np.median(scores), 0.0)
    return np.where(live, scores, scores - (1.0 - DEEP_PENALTY) * lead)


def _by_formula(index: Index, within: Marks, every: Floats, factors: dict[str, Floats]) -> _Scored:
    rows = np.flatnonzero(within & np.isfinite(every))
    scores = np.clip(every[rows], 0.0, 1.0)
    scores = np.where(index.live[rows], scores, DEEP_PENALTY * scores)
    order = selection.ordered(index, rows, scores)
    values = np.column_stack([column[rows] for column in factors.values()])
    return _Scored(rows, scores, tuple(factors), values, np.ones(len(factors)), order)


def _pairs(conflicts: pl.DataFrame | None) -> dict[str, list[str]]:
    """Of each memory those it contradicts, sorted."""
    if conflicts is None or conflicts.is_empty():
        return {}
    one = conflicts.select("memory_id", "other_id")
    both = (
        pl.concat([one, one.select(memory_id="other_id", other_id="memory_id")]).unique().sort("memory_id", "other_id")
    )
    grouped = both.group_by("memory_id", maintain_order=True).agg("other_id")
    return dict(grouped.iter_rows())


def _answer(
    index: Index,
    found: _Scored,
    *,
    k: int,
    depth: int,
    budget: int | None,
    deep: bool,
    now: datetime,
    pairs: dict[str, list[str]],
) -> pl.DataFrame:
    """Rows of the best, with what is to be said of each."""
    head = found.order[:depth]
    memories = index.memories[found.rows[head], _SHOWN].to_dicts()
    texts = [one["content"] if deep or one["trimmed"] is None else one["trimmed"] for one in memories]
    costs = _costs([one["speaker"] for one in memories], texts)
    taken = _within(costs, k, budget)
    head, memories = head[taken], [memories[place] for place in taken]
    ids = [one["memory_id"] for one in memories]
    ended = [one["valid_until"] is not None and one["valid_until"] <= now for one in memories]
    later = [
        one["valid_from"] if one["valid_from"] is not None and one["valid_from"] > now else None for one in memories
    ]
    return pl.DataFrame(
        {
            "memory_id": ids,
            "rank": pl.int_range(1, len(head) + 1, eager=True),
            "score": found.scores[head],
            "tokens": [costs[place] for place in taken],
            "text": [texts[place] for place in taken],
            "parts": _parts(found, head),
            "current": [
                False if over or begins else True if one in index.closers else None
                for over, begins, one in zip(ended, later, ids, strict=True)
            ],
            "holds_from": later,
            "closed_by": [one["closed_by"] for one in memories],
            "conflicts": [pairs.get(one, []) for one in ids],
        },
        schema=SCHEMA,
    )


def _parts(found: _Scored, head: Integers) -> pl.Series:
    """Name, value and weight of every part of the scores of some candidates: a list for each."""
    names, many = list(found.names), len(head)
    flat = pl.DataFrame(
        {
            "name": pl.Series(names * many, dtype=pl.String),
            "value": np.ascontiguousarray(found.values[head], dtype=np.float64).ravel(),
            "weight": np.tile(np.asarray(found.weights, dtype=np.float64), many),
        }
    )
    listed = flat.to_struct("parts")
    return listed.reshape((many, len(names))).arr.to_list() if many else pl.Series("parts", [], SCHEMA["parts"])


def _costs(speakers: list[str | None], texts: list[str]) -> list[int]:
    """Tokens of each memory as it is shown: "speaker: text"."""
    said = [text if speaker is None else f"{speaker}: {text}" for speaker, text in zip(speakers, texts, strict=True)]
    return tokens.count_tokens(pl.Series(said, dtype=pl.String)).to_list()


def _within(costs: list[int], k: int, budget: int | None) -> list[int]:
    """Places of the first `k` that fit the budget together; what is too long is passed over."""
    taken: list[int] = []
    left = budget
    for place, cost in enumerate(costs):
        if len(taken) == k:
            break
        if left is None or cost <= left:
            taken.append(place)
            left = None if left is None else left - cost
    return taken
