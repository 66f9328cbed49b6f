"""Orders scored candidates into an answer.

If the query asks for what holds, a memory that closed another, or may have outdated it, precedes it, and memories that
do not hold yet follow. Contradicting memories are included, and so are standing rules if the query asks for help. An
`order` is the positions of candidates, best first; `scores` are those of all candidates.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np

from memory_pipeline.ledger.event import micros
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank.features import Candidates
from memory_pipeline.recall.rank.rules import RULES
from memory_pipeline.text.arrays import Floats, Integers, Marks

BEST: Final = 5
"""Number of best answers whose contradicting memories are included."""
_ABOUT: Final = 0.5
"""Least share of the query's words, relative to the best memory, of a rule that is about the query."""
_IN_GENERAL: Final = 2
"""Most rules to place where a query asks in general, not for help; one where it asks for what was said or done."""
_MEANT: Final = 0.4
"""Least share of the words of a rule's condition with which a query is meant by it."""
_EQUALLY: Final = 0.9
"""Least ratio to the best score of a memory that is compared with the best as a later value of the same."""
NEARLY: Final = 0.5
"""Least ratio of the scores of two memories of which the second is known to be the better answer, if it is one."""
AS_WELL: Final = 0.8
"""Least ratio of the scores of memories that answer about equally well."""


def best_first(index: Index, rows: Integers, scores: Floats) -> Integers:
    """Return the positions of candidates by descending score; ties by age, then id."""
    created = index.created[rows]
    order = np.lexsort((created, -scores))
    if not ((np.diff(scores[order]) == 0.0) & (np.diff(created[order]) == 0)).any():
        return order  # ids need not be read
    ids = np.array(index.memories["memory_id"][rows].to_list(), dtype=np.str_)
    return np.lexsort((ids, created, -scores))


def with_newest(order: Integers, scores: Floats, created: Integers, most: int) -> Integers:
    """Return the first `most` of an order, then the newest `most` of the others that answer about equally well.

    Twelve values of one attribute answer a question equally well: the newest may come anywhere among them.
    """
    best, rest = order[:most], order[most:]
    equal = rest[scores[rest] >= _EQUALLY * scores[order[:1]].max(initial=0.0)]
    newest = equal[np.argsort(-created[equal], kind="stable")[:most]]
    return np.concatenate([best, newest])


def valid_first(order: Integers, candidates: Candidates, invalid: Marks, depth: int) -> Integers:
    """Move invalid memories, among the first `depth`, behind those that hold and share a word with the query.

    And behind all that hold where they share none themselves. Invalid are the candidates that do not hold yet (see
    `not_yet_valid`) or no longer (see `ran_out`).
    """
    head = order[:depth]
    if not invalid[head].any():
        return order
    behind = 2 * (candidates.share[head] <= 0) + invalid[head]
    return np.concatenate([head[np.argsort(behind, kind="stable")], order[depth:]])


def newer_first(
    index: Index,
    rows: Integers,
    order: Integers,
    scores: Floats,
    linked: Sequence[Sequence[str]],
    followed: Sequence[Sequence[str]],
) -> Integers:
    """Move the memories that outdate another right before it, the newest first, where they would come later.

    `linked` are, for each of the first candidates, the newer memories that may have outdated it; `followed` the newer
    ones of a chain that both belong to, which count if they answer nearly as well.
    """
    place = {row: at for at, row in enumerate(rows.tolist())}
    newer = {
        place[row]: [place[by] for by in index.closings[row] if by in place] for row in place.keys() & index.closings
    }
    for at, names in zip(order.tolist(), linked, strict=False):
        newer.setdefault(at, []).extend(_placed(index, place, names))
    for at, names in zip(order.tolist(), followed, strict=False):
        later = _placed(index, place, names)
        newer.setdefault(at, []).extend(one for one in later if scores[one] >= NEARLY * scores[at])
    if not any(newer.values()):
        return order
    placed: dict[int, None] = {}
    for at in order.tolist():
        if not newer.get(at):
            placed[at] = None
            continue
        chain, open_ends = dict[int, None](), [at]
        while open_ends:
            older = open_ends.pop()
            if older not in chain and older not in placed:
                chain[older] = None
                open_ends += newer.get(older, ())
        by_age = sorted(chain, key=lambda one: (one == at, -index.created[rows[one]]))
        placed |= dict.fromkeys(by_age)
    return np.array(list(placed), dtype=np.int64)


def _placed(index: Index, place: Mapping[int, int], names: Sequence[str]) -> list[int]:
    """Return the positions of some memories, by their ids, that are among the candidates."""
    return [place[row] for row in index.row_ids.rows(names).tolist() if row in place] if names else []


def with_partners(
    index: Index, rows: Integers, order: Integers, scores: Floats, conflicts: Mapping[str, Sequence[str]], k: int
) -> Integers:
    """Include the memories that contradict each of the best candidates, by its id, in an answer of `k`.

    One that answers about equally well comes right after; any other would push better answers down, so it comes after
    all of the best, but within the first `k`.
    """
    best = index.memories["memory_id"][rows[order[:BEST]]]
    disputed = [(at, conflicts[name]) for at, name in zip(order.tolist(), best, strict=False) if name in conflicts]
    if not disputed:
        return order
    place = {row: at for at, row in enumerate(rows.tolist())}
    partners = {at: _placed(index, place, names) for at, names in disputed}
    placed: dict[int, None] = {}
    far: dict[int, None] = {}
    for at in order.tolist():
        group = partners.get(at, [])
        near = [other for other in group if scores[other] >= AS_WELL * scores[at]]
        placed |= dict.fromkeys(position for position in (at, *near) if position not in placed)
        far |= dict.fromkeys([other for other in group if other not in near][: max(0, k - len(placed) - len(far))])
    room = min(BEST, k - len(far))
    first = list(placed)[:room]
    last = [at for at in far if at not in first]
    return np.array([*first, *last, *(at for at in list(placed)[room:] if at not in far)], dtype=np.int64)


def with_rules(order: Integers, candidates: Candidates, invalid: Marks, question: Question) -> Integers:
    """Place standing rules for an assistant ("Always show the steps when I ask about algebra.").

    The rules whose conditions the query meets best come right after the `BEST` answers at the latest: `RULES` at most,
    fewer the less the query asks for help. Of the others, one that shares the query's words like other memories keeps
    the position of its score. Of the rest, which may apply all the same, the best come there too if the query asks for
    help; all others answer nothing and come last. Rules that do not hold now (`invalid`, see `not_valid`) are not
    placed.
    """
    valid = order[~invalid[order]]
    by_condition = valid[np.argsort(-candidates.meets[valid], kind="stable")]
    meant = by_condition[candidates.meets[by_condition] >= _MEANT]
    rules = valid[candidates.feature("standing")[valid] > 0]
    if not len(rules) and not len(meant):
        return order
    share = candidates.share[rules]
    on_topic = (share > 0) & (share >= _ABOUT * candidates.share.max(initial=0.0))
    if question.open and question.kind == "wish":
        promoted = np.concatenate([meant, by_condition[np.isin(by_condition, rules)]])
        promoted = promoted[np.sort(np.unique(promoted, return_index=True)[1])][:RULES]
    else:
        promoted = meant[: _IN_GENERAL if question.open else 1]
    others = order[~np.isin(order, np.setdiff1d(rules[~on_topic], promoted))]
    parts = (others[:BEST], promoted, others, rules)
    return np.array(list(dict.fromkeys(np.concatenate(parts).tolist())), dtype=np.int64)


def not_valid(index: Index, rows: Integers, now: datetime) -> Marks:
    """Return which memories do not hold at `now`: their validity has ended or has not begun."""
    return (index.validity[1][rows] <= micros(now)) | not_yet_valid(index, rows, now)


def ran_out(index: Index, rows: Integers, now: datetime) -> Marks:
    """Return which memories' time has run out by `now` without another memory that took their place."""
    ended = index.validity[1][rows] <= micros(now)
    return np.asarray(ended & ~index.standing.closed[rows], dtype=np.bool_)


def not_yet_valid(index: Index, rows: Integers, now: datetime) -> Marks:
    """Return which memories' validity has not begun at `now`."""
    return np.asarray(index.validity[0][rows] > micros(now), dtype=np.bool_)
