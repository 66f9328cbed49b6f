"""Turns a ranking into the rows of an answer: texts or passages that fit a budget, with what is known of each."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Final

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.recall.closed_statements import closed_statements, marked
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question
from memory_pipeline.recall.rank import shown_passages
from memory_pipeline.recall.rank.fact_links import FactLinks
from memory_pipeline.text.arrays import Floats, Integers
from memory_pipeline.text.parse import tokens

_ANSWERING: Final = 0.5
"""Least share of a query's words, by their weight, that sentences have which take the last room of a budget."""
_SHOWN: Final = [
    *("profile_id", "memory_id", "kind", "memory_type", "lifecycle", "session_id", "speaker", "created_at", "said_at"),
    *("content", "index_text", "metadata", "trimmed", "valid_from", "valid_until", "closed_by", "closed_statements"),
]
"""Columns of the table `memories` that an answer shows or needs."""


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Candidates with their scores and the parts of each score.

    Attributes:
        rows: the candidates' rows.
        scores: one for each candidate, 0..1.
        names: names of the parts of a score.
        values: [candidates, parts].
        weights: one for each part.
        order: positions of the candidates, best first.
        base: score of a memory that answers nothing.
        direct: number of candidates found directly; the others were reached over an association.
        confidence: see `confidence.confidence`; null by a formula.
        found: the best passage of each direct candidate, counted from its first; null by a formula.
    """

    rows: Integers
    scores: Floats
    names: tuple[str, ...]
    values: Floats
    weights: Floats
    order: Integers
    base: float
    direct: int
    confidence: float | None = None
    found: Integers | None = None

    def parts(self, at: int) -> list[dict[str, Any]]:
        """Return the parts of a candidate's score."""
        values, weights = self.values[at].tolist(), self.weights.tolist()
        return [
            {"name": name, "value": value, "weight": weight}
            for name, value, weight in zip(self.names, values, weights, strict=True)
        ]


def answer_rows(
    index: Index,
    question: Question,
    ranked: Ranked,
    *,
    k: int,
    depth: int,
    budget: int | None,
    deep: bool,
    now: datetime,
    zone: tzinfo,
    links: FactLinks,
) -> list[dict[str, Any]]:
    """Return the best memories as rows of `SCHEMA`, each with its own row as `memory`."""
    head = ranked.order[:depth]
    memories = index.memories[ranked.rows[head], _SHOWN].to_dicts()
    headings = [whereabouts.shown_path(json.loads(memory["metadata"] or "{}")) for memory in memories]
    texts, passages = _texts(index, question, ranked, head, memories, deep=deep)

    def mark(places: Iterable[int]) -> None:
        for place in places:
            texts[place] = marked(texts[place], closed_statements(memories[place]["closed_statements"], now, zone))

    def cost(places: Sequence[int]) -> list[int]:
        shown = [whereabouts.below(headings[place], texts[place]) for place in places]
        speakers = [memories[place]["speaker"] for place in places]
        said = zip(speakers, shown, strict=True)
        return tokens.token_counts([text if speaker is None else f"{speaker}: {text}" for speaker, text in said])

    def shorten(place: int, room: int) -> int:
        room -= costs[place] - tokens.token_counts([texts[place]])[0]
        text, passage = _passage(index, question, ranked, int(head[place]), memories[place], room)
        if place and shown_passages.share(index, question, text, question.language) < _ANSWERING:
            return costs[place]
        texts[place], passages[place] = text, passage
        mark([place])
        [costs[place]] = cost([place])
        return costs[place]

    mark(range(len(texts)))
    costs = cost(range(len(texts)))
    taken = _within(costs, k, budget, shorten)
    head, memories = head[taken], [memories[place] for place in taken]
    outdated_by = links.outdated(index, [memory["memory_id"] for memory in memories], now)
    rows = list[dict[str, Any]]()
    for at, place, memory, newer in zip(head.tolist(), taken, memories, outdated_by, strict=True):
        name, begins, ends = memory["memory_id"], memory["valid_from"], memory["valid_until"]
        over = ends is not None and ends <= now
        holds_from = begins if begins is not None and begins > now else None
        expanded = at >= ranked.direct
        rows.append(
            {
                "memory": memory,
                "memory_id": name,
                "rank": len(rows) + 1,
                "score": float(ranked.scores[at]),
                "tokens": costs[place],
                "text": texts[place],
                "heading": headings[place],
                "passage": passages.get(place),
                "parts": [] if expanded else ranked.parts(at),
                "current": False if over or holds_from else True if name in index.closers else None,
                "holds_from": holds_from,
                "closed_by": memory["closed_by"],
                "ended": ends if over else None,
                "outdated_by": [] if over else [one for one in newer if one in links.newer_shown.get(name, ())],
                "conflicts": links.conflicts_shown.get(name, []),
                "expanded": expanded,
                "confidence": ranked.confidence,
            }
        )
    return rows


def _texts(
    index: Index, question: Question, ranked: Ranked, head: Integers, memories: list[dict[str, Any]], *, deep: bool
) -> tuple[list[str], dict[int, dict[str, Any]]]:
    """Return the texts to read, and where in its memory's text each is a passage of a longer one.

    A text is trimmed unless the recall is deep; of one that is still long, the passage that answers the query is shown.
    """
    texts = [memory["content"] if deep or memory["trimmed"] is None else memory["trimmed"] for memory in memories]
    lengths = tokens.token_counts(texts)
    passages = dict[int, dict[str, Any]]()
    for place, memory in enumerate(memories):
        if shown_passages.size(lengths[place], texts[place]) > shown_passages.LONGEST:
            longest = shown_passages.LONGEST
            texts[place], passages[place] = _passage(index, question, ranked, int(head[place]), memory, longest)
    return texts, passages


def _passage(
    index: Index, question: Question, ranked: Ranked, at: int, memory: dict[str, Any], longest: int
) -> tuple[str, dict[str, Any]]:
    """Return the passage of a candidate's text that answers the query, and where it stands (see `cut`)."""
    known = ranked.found is not None and at < ranked.direct and memory["index_text"] is None
    found = int(ranked.found[at]) if known and ranked.found is not None else None
    language = index.passages.languages[int(index.passages.bounds(ranked.rows[[at]])[0][0])]
    return shown_passages.cut(index, question, memory["content"], language, found, longest)


def _within(costs: list[int], k: int, budget: int | None, shorten: Callable[[int, int], int]) -> list[int]:
    """Return the positions of the first `k` that fit the budget together, skipping those that are too long.

    The first that is too long is shortened to the room that is left: it ranks above all that would take its place.
    `shorten` takes a position and the room for it; returns what it costs then.
    """
    taken: list[int] = []
    remaining, shortened = budget, False
    for place, whole in enumerate(costs):
        if len(taken) == k:
            break
        cost = whole
        if remaining is not None and cost > remaining and not shortened:
            shortened, cost = True, shorten(place, remaining)
        if remaining is None or cost <= remaining:
            taken.append(place)
            remaining = None if remaining is None else remaining - cost
    return taken
