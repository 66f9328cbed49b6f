"""Selecting: from scored candidates to an answer in order.

Of memories that state one thing with different values, the newest comes first if the question asks for now; the other
side of a known contradiction comes along, and so do standing rules where help is asked for. What is not here: the
scores (`features`, `named`), and what an answer would say twice (`redundancy`).
"""

from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank.features import RULES, Candidates
from memory_pipeline.recall.rank.redundancy import originals

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

BEST: Final = 5
"""The newest comes first among so many best, and the other side of a contradiction is brought along for them."""
_ABOUT: Final = 0.5
"""A rule is about what is asked when it has so much of what the best memory has of the question's words, by weight."""
AS_WELL: Final = 0.8
"""A memory answers about as well as another with this share of its score."""
SAME_SHARE: Final = 0.7
"""Memories state one thing when they have so much of what the best of them has of the question's words, by weight."""


def ordered(index: Index, rows: Integers, scores: Floats) -> Integers:
    """Places of candidates, best first; ties by age and id."""
    created = index.created[rows]
    order = np.lexsort((created, -scores))
    if not ((np.diff(scores[order]) == 0.0) & (np.diff(created[order]) == 0)).any():
        return order  # ids need not be read
    ids = np.array(index.memories["memory_id"].gather(rows).to_list(), dtype=np.str_)
    return np.lexsort((ids, created, -scores))


def newest_first(
    index: Index, question: Question, rows: Integers, order: Integers, found: Candidates, ended: Marks
) -> Integers:
    """Put the newest first among the best that state the same thing.

    They have about as many of the question's words as the best of them, come from one speaker and have the kind of
    answer asked for. Summaries keep their places: they say nothing newer than their members. What a newer memory has
    closed comes right behind it, wherever both are.

    Args:
        index: the index.
        question: what is asked.
        rows: candidates.
        order: their places, best first.
        found: their features.
        ended: those that do not hold now (see `apart`).
    """
    head = order[originals(index, rows[order])][:BEST]
    able = head[found.feature("kind")[head] > 0] if question.kind and question.kind != "wish" else head
    if len(able):
        able = able[index.speaker[rows[able]] == index.speaker[rows[able[0]]]]
        able = able[(found.share[able] > 0) & (found.share[able] >= SAME_SHARE * found.share[able].max())]
    changed = order.copy()
    changed[np.flatnonzero(np.isin(order, able))] = able[
        np.lexsort((np.arange(len(able)), -index.created[rows[able]], ended[able]))
    ]
    return _behind_closers(index, rows, changed)


def begun_first(order: Integers, found: Candidates, later: Marks) -> Integers:
    """Put what does not hold yet, among the best, behind all that holds and has a word of the question.

    Args:
        order: places of candidates, best first.
        found: their features.
        later: those whose validity has not begun (see `early`).
    """
    head = order[:BEST]
    if not later[head].any():
        return order
    telling = ~later[head] & (found.share[head] > 0)
    behind = ~later[head] & ~telling
    return np.concatenate([head[telling], head[later[head]], head[behind], order[BEST:]])


def _behind_closers(index: Index, rows: Integers, order: Integers) -> Integers:
    """Put the memory that closed another right before it, where it would come later."""
    named = index.memories[rows, ["memory_id", "closed_by"]]
    place = {memory: at for at, memory in enumerate(named["memory_id"])}
    closers = {at: place[by] for at, by in enumerate(named["closed_by"]) if by in place}
    if not closers:
        return order
    placed: dict[int, None] = {}
    for at in order.tolist():
        chain = [at]
        while chain[-1] in closers and closers[chain[-1]] not in chain:
            chain.append(closers[chain[-1]])
        placed |= dict.fromkeys(one for one in reversed(chain) if one not in placed)
    return np.array(list(placed), dtype=np.int64)


def with_partners(order: Integers, scores: Floats, partners: dict[int, list[int]], k: int) -> Integers:
    """Bring the partners of each of the best along.

    One that answers about as well comes right behind; another would push better answers down, and comes behind all of
    the best, but among the first `k`.
    """
    placed: dict[int, None] = {}
    far: dict[int, None] = {}
    for rank, at in enumerate(order.tolist()):
        group = partners.get(at, []) if rank < BEST else []
        near = [other for other in group if scores[other] >= AS_WELL * scores[at]]
        placed |= dict.fromkeys(one for one in (at, *near) if one not in placed)
        far |= dict.fromkeys([other for other in group if other not in near][: max(0, k - len(placed) - len(far))])
    room = min(BEST, k - len(far))
    first = list(placed)[:room]
    last = [at for at in far if at not in first]
    return np.array([*first, *last, *(at for at in list(placed)[room:] if at not in far)], dtype=np.int64)


def with_rules(order: Integers, found: Candidates, ended: Marks, *, helps: bool) -> Integers:
    """Put rules that one who helps has to keep ("Always show the steps when I ask about algebra.") in their place.

    A rule that has the question's words as others have them stands where its score puts it. Of the rest, which may
    apply all the same, the best come right behind the `BEST` answers where help is asked for; what is left answers
    nothing, and comes last.

    Args:
        order: places of candidates, best first.
        found: their features; `standing` marks rules.
        ended: those that do not hold now (see `apart`).
        helps: the question asks for help.
    """
    rules = order[(found.feature("standing")[order] > 0) & ~ended[order]]
    if not len(rules):
        return order
    told = (found.share[rules] > 0) & (found.share[rules] >= _ABOUT * found.share.max())
    chosen = rules[: RULES if helps else 0]
    others = order[~np.isin(order, rules[~told])]
    head = others[:BEST]
    parts = (head, chosen, others, rules)
    return np.array(list(dict.fromkeys(np.concatenate(parts).tolist())), dtype=np.int64)


def apart(index: Index, rows: Integers, now: datetime) -> Marks:
    """Whether each memory does not hold at `now`: its validity has ended, or has not begun."""
    over = (index.memories[rows, "valid_until"] <= now).fill_null(value=False).to_numpy()
    return np.asarray(over | early(index, rows, now), dtype=np.bool_)


def early(index: Index, rows: Integers, now: datetime) -> Marks:
    """Whether the validity of each memory has not begun at `now`."""
    return (index.memories[rows, "valid_from"] > now).fill_null(value=False).to_numpy()
