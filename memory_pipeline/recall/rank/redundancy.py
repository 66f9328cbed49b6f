"""Moves repetition to the end of an answer: memories of the same words, and summaries that repeat their members."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.passages import CUES
from memory_pipeline.text.arrays import Floats, Integers, Marks
from memory_pipeline.text.embed import encoder
from memory_pipeline.text.lang.folding import fold_text
from memory_pipeline.text.parse import tokens
from memory_pipeline.text.score import core_facts, references

REPEATED: Final = 0.5
"""Share of the score that a memory keeps if a better one has the same words."""
COVERED: Final = 0.8
"""Share of its members already in the answer from which a summary adds nothing."""
_DENIES: Final = CUES.index("denies")
_DENIED: Final = np.uint64(0x9E3779B97F4A7C15)
"""Added to the fingerprint of a negated text, since "not" is not a content word."""
_ABOUT_IT: Final = 0.4
"""Least share of the weight of its words that a reference shares with what it refers to."""
_HELD: Final = 0.6
"""Least share of the weight of the words of a memory that another has which retells it."""
_RETOLD: Final = 0.75
"""Least share of the weight of its words that those which it retells have."""
_MOST_READ: Final = 3
"""Most memories of an answer that no run has read and that are read for it."""
_LONGEST: Final = 120
"""Characters of the longest of them: a longer one hardly refers back alone."""
_KEPT: Final = 2_000
"""Texts of which a process keeps what it read."""
_READ: Final = dict[int, float | None]()
"""How likely each of them only refers back; of its words, which may be erased, nothing is kept but a salted hash."""
_UNREAD: Final = -1.0
"""Stands for the probability of a text that was not read yet."""
_DAY: Final = re.compile(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}:", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Coverage:
    """The content of a memory in terms of its sources and words.

    Attributes:
        memory_id: the memory.
        summary: it is a summary beside its members.
        sources: ids of the originals it was made from.
        before: ids of the memories that must precede it in an answer.
        words: its words and the name of its speaker.
    """

    memory_id: str
    summary: bool
    sources: frozenset[str]
    before: frozenset[str]
    words: frozenset[str]


def without_repeats(index: Index, rows: Integers, scores: Floats, order: Integers, depth: int) -> Floats:
    """Lower the scores of candidates, among the first `depth`, that repeat the words and polarity of a better one."""
    head = order[:depth]
    passages, sizes = index.passages.of_rows(rows[head])
    owner = np.repeat(np.arange(len(head)), sizes)
    at, keys, counts = index.postings.words_of(passages)
    fingerprints = np.zeros(len(head), dtype=np.uint64)
    np.add.at(fingerprints, owner[at], keys * (2 * counts.astype(np.uint64) + 1))
    denied = np.unique(owner[index.passages.cues[passages, _DENIES] > 0])
    fingerprints[denied] += np.where(fingerprints[denied] > 0, _DENIED, np.uint64(0))
    _, group, many = np.unique(fingerprints, return_inverse=True, return_counts=True)
    alike = np.flatnonzero((many[group] > 1) & (fingerprints > 0))
    lowered = scores.copy()
    if len(alike):  # texts are read only where fingerprints collide
        words = tokens.content_stems(index.memories[rows[head[alike]], "content"]).to_list()
        texts = pl.DataFrame({"print": fingerprints[alike], "words": [" ".join(text) for text in words]})
        first_of_each = texts.select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
        lowered[head[alike[~first_of_each]]] *= REPEATED
    return lowered


def references_beside(index: Index, rows: Integers, order: Integers, k: int) -> Integers:
    """Place what only refers back ("Rent: what we paid in spring.") right behind the memory that it refers to.

    That is the earlier candidate that has most of its words, the best of several. What refers to nothing known keeps
    its place. Cost: about 50 µs per candidate if one of the first `k` refers back; 10 ms for each of the best few that
    no run has read, once.
    """
    referring = _referring(index, rows[order], k)
    if not referring[:k].any():
        return order
    texts, created = index.memories["content"][rows[order]], index.created[rows[order]]
    places, placed = list(range(len(order))), list[int]()
    behind: dict[int, list[int]] = {}
    for place in np.flatnonzero(referring[:k]).tolist():
        earlier = np.flatnonzero(~referring & (created <= created[place]))
        shared, whole = references.shared(texts[place], texts.gather(earlier).to_list())
        if (able := shared >= max(1.0, _ABOUT_IT * whole)).any():
            behind.setdefault(int(earlier[np.where(able, shared, 0.0).argmax()]), []).append(place)
    referred = {place for found in behind.values() for place in found}
    leading = {min([at, *found]): (at, *found) for at, found in behind.items()}
    for place in places:
        if place in leading:
            placed += leading[place]
        elif place not in referred and place not in behind:
            placed.append(place)
    return np.asarray(order[placed], dtype=np.int64)


def retold_behind(index: Index, rows: Integers, order: Integers, k: int) -> Integers:
    """Place what an assistant says in the words of earlier memories behind these, which follow the best of them.

    An agent hands back in its own words what it was told ("You are allergic to nuts and take iron"). The memories of
    people that it has most of are its sources if they have nearly all of its words. Cost: about 50 µs per candidate
    among the first `2 * k` if an assistant said one of the first `k`.
    """
    head = order[: 2 * k]
    said = index.by_assistant(rows[head])
    if not said[:k].any():
        return order
    words = [tokens.rarities(fold_text(text)) for text in index.memories["content"][rows[head]].to_list()]
    created = index.created[rows[head]]
    retold: dict[int, list[int]] = {}
    for place in np.flatnonzero(said[:k]).tolist():
        earlier = np.flatnonzero(~said & (created < created[place])).tolist()
        sources = [one for one in earlier if _share(words[one], words[place]) >= _HELD]
        known = set[str]().union(*(words[one] for one in sources))
        if sources and sources[-1] > place and _share(words[place], known) >= _RETOLD:
            retold[place] = sources
    placed: dict[int, None] = {}
    for place in range(len(head)):
        if place not in retold:
            placed.setdefault(place)
            for at, sources in retold.items():
                placed |= dict.fromkeys([*sources, at] if place == sources[0] else [])
    return np.concatenate([head[list(placed)], order[2 * k :]])


def _share(words: Mapping[str, int], others: Collection[str]) -> float:
    """Return the share of the weight of words that others have."""
    return sum(weight for word, weight in words.items() if word in others) / max(1, sum(words.values()))


def _referring(index: Index, rows: Integers, k: int) -> Marks:
    """Return which memories only refer back, as runs have read them; of the first `k`, the best few are read here."""
    known = index.memories["refers_back"][rows]
    if index.model == encoder.NAME:
        new = known[:k].is_null() & ~pl.Series(index.by_assistant(rows[:k]))
        said = index.memories[rows[new.arg_true()[:_MOST_READ]], ["speaker", "content"]].rows()
        known = known.scatter(new.arg_true()[:_MOST_READ], [_refers_back(*one) for one in said])
    return (known >= references.LEAST).fill_null(value=False).to_numpy()


def _refers_back(speaker: str | None, text: str) -> float | None:
    """Return the probability that a text only refers back, by a reader that reads it now."""
    if len(text) > _LONGEST:
        return None
    name = hash((speaker, text))
    if (known := _READ.get(name, _UNREAD)) != _UNREAD:
        return known
    said = (pl.Series([one], dtype=pl.String) for one in (text, speaker))
    probability: float | None = core_facts.referring(core_facts.read(*said))[0]
    if len(_READ) >= _KEPT:
        _READ.clear()
    _READ[name] = probability
    return probability


def summaries_behind(index: Index, rows: Integers, order: Integers, k: int) -> Integers:
    """Move summaries behind what they repeat of the first `k`, and to the end if they then add nothing.

    A summary repeats its live members, and it repeats outdated statements of members that another memory has closed, so
    that memory comes first too. It adds nothing if most of its members, or all of its words, precede it. Cost: texts
    and members are read only if a summary is among the first `k`.
    """
    remaining, redundant = order.tolist(), list[int]()
    coverage: dict[int, _Coverage] = {}
    while not index.stands_alone[rows[remaining[:k]]].all():
        coverage |= _coverage(index, rows, [at for at in remaining[:k] if at not in coverage])
        head = _after_sources([coverage[at] for at in remaining[:k]])
        remaining[:k] = [remaining[place] for place in head]
        empty = _adding_nothing([coverage[at] for at in remaining[:k]])
        if not empty:
            break
        redundant += [remaining[place] for place in empty]
        remaining = [at for place, at in enumerate(remaining) if place not in set(empty)]
    return np.array(remaining + redundant, dtype=np.int64)


def _after_sources(answer: Sequence[_Coverage]) -> list[int]:
    """Return the positions in an order in which each summary follows what must precede it."""
    place = {memory.memory_id: at for at, memory in enumerate(answer)}
    after = [max([at, *(place[name] for name in memory.before & place.keys())]) for at, memory in enumerate(answer)]
    return sorted(range(len(answer)), key=lambda at: (after[at], after[at] != at, at))


def _adding_nothing(answer: Sequence[_Coverage]) -> list[int]:
    """Return the positions of the summaries that say nothing beyond the memories before them."""
    empty: list[int] = []
    sources, words = set[str](), set[str]()
    for place, memory in enumerate(answer):
        shared = len(memory.sources & sources)
        covered = shared >= COVERED * max(1, len(memory.sources)) or (shared and memory.words <= words)
        if memory.summary and covered:
            empty.append(place)
        else:
            sources |= memory.sources
            words |= memory.words
    return empty


def _coverage(index: Index, rows: Integers, places: Sequence[int]) -> dict[int, _Coverage]:
    """Read the coverage of the candidates at the given positions."""
    memories = index.memories[rows[places], ["memory_id", "kind", "members", "content", "speaker"]].rows()
    coverage = {}
    for place, alone, memory in zip(places, index.stands_alone[rows[places]].tolist(), memories, strict=True):
        memory_id, kind, members, content, speaker = memory
        text = content if kind == ORIGINAL else _DAY.sub("", content)
        words = frozenset(_WORD.findall(f"{speaker or ''} {text}".casefold()))
        sources, before = frozenset([memory_id]), frozenset[str]()
        if kind != ORIGINAL:
            sources = _sources(index, members)
            before = frozenset() if alone else _repeated(index, sources)
        coverage[place] = _Coverage(memory_id, not alone, sources, before, words)
    return coverage


def _sources(index: Index, members: Sequence[str]) -> frozenset[str]:
    """Return the originals among members, and those of the summaries among them."""
    sources, seen, pending = set[str](), set[str](), set(members)
    while pending:
        seen |= pending
        positions = index.row_ids.rows(sorted(pending))
        rows = index.memories[positions[positions >= 0], ["memory_id", "kind", "members"]]
        summaries = rows.filter(pl.col("kind") != ORIGINAL)
        sources |= pending - set(summaries["memory_id"])
        pending = set(summaries["members"].explode().drop_nulls()) - seen
    return frozenset(sources)


def _repeated(index: Index, sources: frozenset[str]) -> frozenset[str]:
    """Return the live sources of a summary, and the memories that closed or replaced any source."""
    positions = index.row_ids.rows(sorted(sources))
    rows = positions[positions >= 0]
    memories = index.memories[rows, ["memory_id", "closed_by", "superseded_by"]]
    successors = pl.concat([memories["closed_by"].alias("superseded_by"), memories["superseded_by"]]).drop_nulls()
    return frozenset(memories["memory_id"].filter(pl.Series(index.live[rows]))) | frozenset(successors)
