"""Ranks memories for a query.

The default ranking is a linear model over named features (`features`), with coefficients for conversations and for
notes (`models/ranking.toml`, `models/notes_local.toml`); the published formulas are available by name (`baselines`).
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from memory_pipeline.ledger.event import micros
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question, parse
from memory_pipeline.recall.rank import associated, paging, redundancy, selection, series
from memory_pipeline.recall.rank.answer_rows import Ranked, answer_rows
from memory_pipeline.recall.rank.associated import Reached
from memory_pipeline.recall.rank.baselines import FORMULAS, Context, by_formula
from memory_pipeline.recall.rank.changes import CHANGES, COMPARED, change_features
from memory_pipeline.recall.rank.confidence import confidence
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.recall.rank.features import FEATURES, Candidates, select_candidates
from memory_pipeline.schemas import INSTANT
from memory_pipeline.settings.model_files import coefficients, ranking_names
from memory_pipeline.text.arrays import Floats, Integers, Marks, Matrix
from memory_pipeline.text.embed.embedding import of_query

Compare = Callable[[Index, Sequence[int]], pl.DataFrame]
"""Takes some rows of the memories; returns links between them and others (see `fact_links.as_links`)."""
Whom = Callable[[str, Index, Sequence[int]], Floats]
"""Takes a query and some rows of the memories; returns of each the value of `OTHERS`, and how surely it tells of
another person than the owner, [rows, 2], 0..1; zeros where the query may ask about anybody."""

__all__ = ["DEEP_PENALTY", "RANKINGS", "SCHEMA", "Context", "rank", "weights"]

RANKINGS: Final = ("default", *FORMULAS)
DEEP_PENALTY: Final = 0.5
"""Factor for memories that only a deep recall reaches: applied to the score of a formula, or to the lead over the
median candidate in the default model."""
_MORE: Final = 4
"""Multiple of `k` candidates considered for an answer within a token budget."""
_MOST_NEW: Final = 3
"""Most memories that are compared with earlier ones before they are answered with: each takes the reader a while."""
OTHERS: Final = {"others": "it tells of another person where the query asks about the owner, or the reverse"}
"""The part of a score by whom a memory is about, and what it measures."""
_OTHERS: Final = -0.1
"""Its weight, in units of the score: as much as half of the lead of a good answer over the others."""
_LEAST: Final = 1e-9
"""Least lead of the best candidates over the rest after values are compared."""
_PASSAGE: Final = pl.Struct({"heading": pl.String, "start": pl.Int64, "end": pl.Int64, "whole_tokens": pl.Int64})
_PART: Final = pl.Struct({"name": pl.String, "value": pl.Float64, "weight": pl.Float64})
SCHEMA: Final[dict[str, pl.DataType | type[pl.DataType]]] = {
    "memory_id": pl.String,
    "rank": pl.Int64,
    "score": pl.Float64,
    "tokens": pl.Int64,
    "text": pl.String,
    "heading": pl.String,
    "passage": _PASSAGE,
    "parts": pl.List(_PART),
    "current": pl.Boolean,
    "holds_from": INSTANT,
    "closed_by": pl.String,
    "ended": INSTANT,
    "outdated_by": pl.List(pl.String),
    "conflicts": pl.List(pl.String),
    "expanded": pl.Boolean,
    "confidence": pl.Float64,
}
"""Columns of an answer, as `models.Recalled` explains them. `passage` is null of a whole text, `current` False if its
validity has ended or not begun, True if it ended another's, else null. `confidence` is that one of them answers the
query, the same in every row, and null by a formula."""


def weights(index: Index) -> Floats:
    """Return the coefficients of the default ranking for an index, in the order of `FEATURES`.

    Those of conversations and those of notes for its embedder, by its share of talk (`Index.talk`): in a conversation
    the neighbours of a memory tell what it is about, in notes its own words and meaning do. Raises ValueError for a
    model that lacks a feature, which it names.
    """
    talks, notes = map(_coefficients, ranking_names(index.model))
    return index.talk * talks + (1.0 - index.talk) * notes


def _coefficients(model: str) -> Floats:
    by_name = coefficients(model)
    if lacking := [name for name in FEATURES if name not in by_name]:
        raise ValueError(
            f"memory_pipeline/models/{model}.toml has no coefficient of the feature {lacking[0]!r}; add it: 0 until "
            "it is fitted"
        )
    return np.array([by_name[name] for name in FEATURES])


def change_weights() -> Floats:
    """Return the coefficients of `CHANGES`, in its order, in units of the score."""
    by_name = coefficients("changes")
    return np.array([by_name[name] for name in CHANGES])


def rank(index: Index, query: str, **given: Any) -> pl.DataFrame:
    """Return the same as `hits`, with the same arguments, as a table of `SCHEMA`."""
    return pl.DataFrame(hits(index, query, **given), schema=SCHEMA)


def hits(
    index: Index,
    query: str,
    *,
    now: datetime,
    zone: tzinfo = UTC,
    k: int = 10,
    token_budget: int | None = None,
    min_score: float | None = None,
    deep: bool = False,
    current: bool = False,
    allowed: Marks | None = None,
    seen: Collection[bytes] = (),
    ranking: str = "default",
    vector: Matrix | None = None,
    scored: pl.DataFrame | None = None,
    context: Context | None = None,
    links: FactLinks | None = None,
    compare: Compare | None = None,
    whom: Whom | None = None,
    associations: pl.DataFrame | None = None,
) -> list[dict[str, Any]]:
    """Rank memories for a query: a row for each, best first, with the columns of `SCHEMA` and its own as `memory`.

    The order differs from that of the scores in some cases: for a query about what holds, a memory that closed another,
    or may have outdated it, precedes it and memories that do not hold yet follow those that do; a summary comes after
    what it repeats. Ties go to the older memory, then by id.

    Args:
        now: instant of the query, to which dates such as "last week" are relative.
        zone: time zone of the days that are asked for and marked in texts.
        k: most memories to return.
        token_budget: most tokens of the answer, counting "speaker: text" of each memory. What does not fit is left out,
            but of the first such memory the sentences around the best one are given if these fit and, unless it ranks
            first, have half of the query's words by their weight.
        min_score: lowest score to return; default: no limit.
        deep: also search cold, stub, archived and expired memories, at a penalty, and return untrimmed texts.
        current: only memories that hold at `now`.
        allowed: rows that may be returned; default: all.
        seen: keys of memories that earlier pages returned (see `paging`); they are left out.
        ranking: one of `RANKINGS`.
        vector: vector of the query; default: made by the index's embedder.
        scored: scores of the memories at `now` (see `present_scores`), for the formulas that need them.
        context: the asking user and session, for `engram`.
        links: links between memories about the same fact.
        compare: finds the links of memories that were stored since, of the best of which it is asked; default: none.
        whom: reads whom the best memories are about, where the query may ask about the owner; default: nobody reads.
        associations: `source`, `target`, `weight` of associations that a deep recall follows from its best memories.

    Raises:
        ValueError: the ranking is unknown, `k` or the budget is below 1, or the formula needs `scored`.
    """
    if ranking not in RANKINGS:
        raise ValueError(f"ranking = {ranking!r} is unknown; choose one of {', '.join(RANKINGS)}")
    for name, value in (("k", k), ("token_budget", token_budget)):
        if value is not None and value < 1:
            raise ValueError(f"{name} = {value}: give 1 or more")
    within = index.shown(micros(now), deep=deep, current=current)
    if allowed is not None:
        within &= np.asarray(allowed, dtype=np.bool_)
    question = parse(
        query, now=now.astimezone(zone), speakers=index.speakers, language=index.passages.language_of(query)
    )
    query_vector = of_query(query, index.model) if vector is None else vector
    links = links or FactLinks()
    depth = k if token_budget is None else _MORE * k
    if ranking == "default":
        candidates = select_candidates(index, question, within, query_vector)
        before = len(seen)
        told = None if whom is None or not question.of_self else partial(whom, query, index)
        ranked, links = _by_model(
            index,
            question,
            candidates,
            k=before + k,
            depth=before + depth,
            now=now,
            links=links,
            compare=compare,
            others=told,
        )
    else:
        cosines = index.vectors.cosines(query_vector)
        scores, factors = by_formula(ranking, index, question, cosines=cosines, now=now, scored=scored, context=context)
        ranked = _by_formula(index, within, scores, factors)
    if deep and associations is not None:
        ranked = _walked(index, ranked, within, associations, len(seen) + k)
    if min_score is not None:
        ranked = replace(ranked, order=ranked.order[ranked.scores[ranked.order] >= min_score])
    if seen:
        ranked = replace(ranked, order=_unseen(index, ranked, seen, depth))
    return answer_rows(
        index, question, ranked, k=k, depth=depth, budget=token_budget, deep=deep, now=now, zone=zone, links=links
    )


def _unseen(index: Index, ranked: Ranked, seen: Collection[bytes], depth: int) -> Integers:
    """Return the first `depth` of the ranked memories that earlier pages lack."""
    head = ranked.order[: len(seen) + depth]
    new = [paging.key(name) not in seen for name in index.memories["memory_id"][ranked.rows[head]]]
    return head[np.array(new, dtype=np.bool_)]


def _by_model(
    index: Index,
    question: Question,
    candidates: Candidates,
    *,
    k: int,
    depth: int,
    now: datetime,
    links: FactLinks,
    compare: Compare | None,
    others: Callable[[Sequence[int]], Floats] | None,
) -> tuple[Ranked, FactLinks]:
    """Order candidates by the default model, then by the rules of `selection` and `redundancy`.

    Returns them, and the links with those of the best that no run has compared.
    """
    rows = candidates.rows
    own = weights(index)
    scores, values, found = candidates.scored(own)
    sure = confidence(index, question, candidates, scores)
    base = float(np.median(scores)) if len(scores) else 0.0
    scores = _penalised(scores, index.live[rows], base)
    scores = redundancy.without_repeats(index, rows, scores, selection.best_first(index, rows, scores), 2 * depth)
    order = selection.best_first(index, rows, scores)
    told = np.zeros((len(rows), 2))
    if others is not None:
        head = order[:COMPARED]
        told[head] = others(rows[head].tolist())
        scores = np.clip(scores + _OTHERS * told[:, 0], 0.0, 1.0)
        order = selection.best_first(index, rows, scores)
    if compare is not None:
        links = _with_first_links(index, rows[order[: selection.BEST]], links, compare)
    invalid = selection.not_valid(index, rows, now)
    changes = np.zeros((len(rows), len(CHANGES)))
    if question.holds:
        able = order[index.stands_alone[rows[order]] & index.live[rows[order]]]
        head = selection.with_newest(able, scores, index.dated(rows), COMPARED)
        behind = order[~np.isin(order, head)]
        behind = behind[scores[behind] <= scores[head[:COMPARED]].min(initial=1.0)]
        changes[head], lifted = _compared(
            index, question, candidates, head, scores[head], invalid[head], links, now, of_another=told[head, 1]
        )
        least = np.minimum(scores[head], min(1.0, scores[behind].max(initial=0.0) + _LEAST))
        least[:COMPARED] = min(1.0, scores[behind].max(initial=0.0) + _LEAST)
        scores[head] = np.clip(lifted, least, 1.0)
        order = selection.best_first(index, rows, scores)
    if question.holds or question.bare or not question.past:
        names = index.memories["memory_id"][rows[order[:k]]].to_list()
        linked, followed = links.outdated(index, names, now), links.followed(index, names)
        order = selection.newer_first(index, rows, order, scores, linked, followed)
    if question.holds:
        order = selection.valid_first(order, candidates, selection.not_yet_valid(index, rows, now), selection.BEST)
    if series.asks_for_latest(question, micros(now)):
        numbers = series.members(index, question, rows, order[:depth])
        order = series.newest_first(index, rows, order, numbers, invalid | ~index.live[rows])
    if question.holds or question.bare:
        order = selection.valid_first(order, candidates, selection.ran_out(index, rows, now), k)
    if links.conflicts:
        order = selection.with_partners(index, rows, order, scores, links.conflicts, k)
    if question.ruled:
        order = selection.with_rules(order, candidates, invalid, question)
    order = redundancy.references_beside(index, rows, order, k)
    order = redundancy.retold_behind(index, rows, order, k)
    order = redundancy.summaries_behind(index, rows, order, k)
    ranked = Ranked(
        rows,
        scores,
        (*FEATURES, *CHANGES, *OTHERS),
        np.column_stack([values, changes, told[:, 0]]),
        np.concatenate([own, np.append(change_weights(), _OTHERS) * float(np.maximum(own, 0.0).sum())]),
        order,
        base,
        len(rows),
        sure,
        found,
    )
    return ranked, links


def _with_first_links(index: Index, best: Integers, links: FactLinks, compare: Compare) -> FactLinks:
    """Return the links with those of the first few of the best memories that were said since memories were compared."""
    memories = index.memories[best, ["memory_id", "seq"]]
    new = (memories["seq"] > links.compared_until).to_numpy() & index.stands_alone[best] & index.live[best]
    first = np.flatnonzero(new & ~index.by_assistant(best))[:_MOST_NEW]
    if not len(first):
        return links
    return links.joined(compare(index, best[first].tolist()), memories["memory_id"][first])


def _compared(
    index: Index,
    question: Question,
    candidates: Candidates,
    head: Integers,
    scores: Floats,
    invalid: Marks,
    links: FactLinks,
    now: datetime,
    *,
    of_another: Floats,
) -> tuple[Floats, Floats]:
    """Return the features of `CHANGES` of the best candidates, and their scores with these.

    A link says what may have changed, and may be wrong: it lowers a memory to right behind the newer one at most. What
    is about another person is no later state of what is about the owner.
    """
    rows, about = candidates.rows[head], candidates.about[head]
    names = index.memories["memory_id"][rows].to_list()
    newer = links.outdated(index, names, now, doubts=True)
    plausible = links.plausible(index, rows, newer)
    same = 1.0 - np.abs(of_another[:, np.newaxis] - of_another)
    plausible = same if plausible is None else plausible * same
    own = change_features(index, question, rows, scores, about, invalid, plausible)
    plain = scores + own @ change_weights()
    if not any(newer):
        return own, plain
    linked = invalid | np.array([bool(found) for found in newer], dtype=np.bool_)
    values = change_features(index, question, rows, scores, about, linked, plausible)
    lifted = scores + values @ change_weights()
    place = {name: at for at, name in enumerate(names)}
    bound = [max((lifted[place[name]] for name in found if name in place), default=np.inf) for found in newer]
    return values, np.maximum(lifted, np.minimum(plain, np.array(bound) - _LEAST))


def _penalised(scores: Floats, live: Marks, base: float) -> Floats:
    """Reduce the lead over the median candidate of memories that only a deep recall reaches.

    Every candidate scores something for being a statement at all: a penalty on the whole score would put answers behind
    memories that answer nothing.
    """
    lead = np.maximum(scores - base, 0.0)
    return np.where(live, scores, scores - (1.0 - DEEP_PENALTY) * lead)


def _by_formula(index: Index, within: Marks, all_scores: Floats, factors: dict[str, Floats]) -> Ranked:
    """Order all memories within reach by the score of a formula."""
    rows = np.flatnonzero(within & np.isfinite(all_scores))
    scores = np.clip(all_scores[rows], 0.0, 1.0)
    scores = np.where(index.live[rows], scores, DEEP_PENALTY * scores)
    order = selection.best_first(index, rows, scores)
    values = np.column_stack([column[rows] for column in factors.values()])
    return Ranked(rows, scores, tuple(factors), values, np.ones(len(factors)), order, 0.0, len(rows))


def _walked(index: Index, ranked: Ranked, within: Marks, links: pl.DataFrame, k: int) -> Ranked:
    """Add memories that the associations of the best ones reach and the first `k` lack.

    A memory that only a deep recall reaches takes over `DEEP_PENALTY` of the lead.
    """
    found = ranked.order
    reached = associated.reach(index, ranked.rows[found], ranked.scores[found], links, base=ranked.base)
    new = within[reached.rows] & ~np.isin(reached.rows, ranked.rows[found[:k]])
    rows, places = reached.rows[new], reached.places[new]
    lead = (reached.scores[new] - ranked.base) * np.where(index.live[rows], 1.0, DEEP_PENALTY)
    found = found[~np.isin(ranked.rows[found], rows)]
    scores = ranked.base + lead
    joined = associated.merged(ranked.scores[found], Reached(rows, scores, places))
    return replace(
        ranked,
        rows=np.concatenate([ranked.rows, rows]),
        scores=np.concatenate([ranked.scores, scores]),
        values=np.concatenate([ranked.values, np.zeros((len(rows), ranked.values.shape[1]))]),
        order=np.concatenate([found, len(ranked.rows) + np.arange(len(rows))])[joined],
    )
