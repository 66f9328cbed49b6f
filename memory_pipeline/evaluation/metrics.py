"""What a recall found of what it should have found: figures a question, their means, and intervals.

Here: definitions. Not here: what is asked of what store (`replay.py`, `quality.py`) and how figures are shown
(`report.py`). A question's evidence counts as found by a record only while the record's text still holds it
(`evidence_match.py`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.evaluation.conversations import Chat
from memory_pipeline.evaluation.evidence_match import EvidenceMatcher
from memory_pipeline.text.parse.tokens import count_tokens

RECORDS: Final = {
    "id": pl.String(),
    "text": pl.String(),
    "member_ids": pl.List(pl.String()),
    "t_start": pl.Datetime("us", "UTC"),
    "t_end": pl.Datetime("us", "UTC"),
}
"""Columns of a store: what recall can return, with the turns that it stands for and when they were said."""
RESULTS: Final = {"query_id": pl.String(), "rank": pl.Int64(), "id": pl.String()}
"""Columns of results: what came back for a question, best first from rank 1."""
FIGURES: Final[dict[str, str]] = {
    "hit@10": "Share of questions with some evidence among the first ten.",
    "recall@10": "Mean share of a question's evidence among the first ten.",
    "all@10": "Share of questions with all evidence among the first ten.",
    "recall@256t": "Mean share of a question's evidence in the first 256 tokens.",
    "recall@512t": "Mean share of a question's evidence in the first 512 tokens.",
    "recall@1024t": "Mean share of a question's evidence in the first 1024 tokens.",
    "ndcg@10": "Discounted gain of new evidence among the first ten, as a share of the best order.",
    "mrr": "Mean of 1/rank of the first evidence, 0 where none came back.",
    "tokens@10": "Mean tokens of the first ten.",
    "gold@10": "Share of questions with a record of some evidence among the first ten, whatever its text still holds.",
    "gold@5": "The same among the first five.",
    "gold_mrr": "Mean of 1/rank of the first such record.",
    "fresh-first": "Changed facts: share whose newer statement ranks above the older one; a missing newer one fails.",
    "fresh@3": "Changed facts: share whose newer statement is among the first three.",
    "both@10": "Contradictions: share with both sides among the first ten.",
}
"""What each figure means."""
BUDGETS: Final = (256, 512, 1024)
DEPTH: Final = 50
"""Results a question."""
ROUNDS: Final = 2000
_NOWHERE: Final = 10**9


def score(
    chat: Chat, records: pl.DataFrame, results: pl.DataFrame, *, kinds: Sequence[str] | None = None
) -> pl.DataFrame:
    """Score what came back for each question of a chat.

    Args:
        chat: the conversation; questions without evidence are left out.
        records: the store, columns of `RECORDS`; a record without members stands for the turn of its own id.
        results: columns of `RESULTS`; a question that is missing found nothing.
        kinds: kinds of questions that count; default: all.

    Returns:
        One row a question: chat, question, kind, then `FIGURES`; a figure that does not apply to it is null.

    Raises:
        ValueError: results name a record that is not in the store.
    """
    if strangers := sorted(set(results["id"]) - set(records["id"])):
        raise ValueError(
            f"results name {len(strangers)} ids that are not in the store, such as {strangers[0]!r}; "
            "return only what the store holds"
        )
    known = {row["id"]: row for row in records.with_columns(tokens=count_tokens(records["text"])).to_dicts()}
    came = results.sort("query_id", "rank").group_by("query_id").agg("id")
    found = dict(came.iter_rows())
    matcher = EvidenceMatcher.of(chat)
    rows = []
    for question in chat.questions.to_dicts():
        if question["evidence"] and (kinds is None or question["kind"] in kinds):
            got = [known[name] for name in dict.fromkeys(found.get(question["id"], []))]
            figures = _found(question, got, matcher) | _ranked(question, got)
            rows.append({"chat": chat.chat_id, "question": question["id"], "kind": question["kind"]} | figures)
    keys = dict.fromkeys(("chat", "question", "kind"), pl.String())
    return pl.DataFrame(rows, schema=keys | dict.fromkeys(FIGURES, pl.Float64()))


def _found(question: Mapping[str, Any], got: Sequence[Mapping[str, Any]], matcher: EvidenceMatcher) -> dict[str, float]:
    """Figures of evidence that the texts still hold."""
    wanted = len(set(question["evidence"]))
    seen: set[str] = set()
    gains = np.zeros(len(got))
    for place, record in enumerate(got):
        new = matcher.matched(question, record) - seen
        gains[place] = len(new)
        seen |= new
    cost = np.cumsum([record["tokens"] for record in got])
    reached = np.cumsum(gains)
    hits = np.flatnonzero(gains)
    discount = 1.0 / np.log2(np.arange(10) + 2)
    ten = float(reached[:10][-1]) if len(got) else 0.0
    within = {f"recall@{most}t": float(gains[cost <= most].sum()) / wanted for most in BUDGETS}
    return {
        "hit@10": float(ten > 0),
        "recall@10": ten / wanted,
        "all@10": float(ten == wanted),
        "ndcg@10": min(1.0, float(gains[:10] @ discount[: len(gains[:10])]) / float(discount[: min(10, wanted)].sum())),
        "mrr": 1.0 / (1 + int(hits[0])) if len(hits) else 0.0,
        "tokens@10": float(cost[:10][-1]) if len(got) else 0.0,
    } | within


def _ranked(question: Mapping[str, Any], got: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Figures of where the records of turns stand."""
    places: dict[str, int] = {}
    for place, record in enumerate(got):
        for turn in (record["id"], *(record["member_ids"] or ())):
            places.setdefault(turn, place)

    def best(turns: Sequence[str]) -> int:
        return min((places.get(turn, _NOWHERE) for turn in turns), default=_NOWHERE)

    gold = best(question["evidence"])
    figures: dict[str, float | None] = {f"gold@{most}": float(gold < most) for most in (5, 10)}
    figures["gold_mrr"] = 1.0 / (1 + gold)
    old, new = question["original"], question["updated"]
    if old and new and old != new:
        figures |= {"fresh-first": float(best(new) < best(old)), "fresh@3": float(best(new) < 3)}  # noqa: PLR2004
    first, second = question["first"], question["second"]
    if first and second and first != second:
        figures["both@10"] = float(max(best(first), best(second)) < 10)  # noqa: PLR2004
    return figures


def summary(scored: pl.DataFrame, *, by: str | None = None) -> pl.DataFrame:
    """Return the mean of each figure with its 95 % interval over questions.

    Args:
        scored: rows of `score`, of one chat or more.
        by: also a row for each value of this column (`kind`, `chat`).

    Returns:
        group (empty for all), figure, value, low, high, n; figures that apply to no question are left out.
    """
    groups = [("", scored)]
    if by is not None:
        groups += [(str(name), part) for (name,), part in scored.sort(by).group_by(by, maintain_order=True)]
    rows = []
    for group, part in groups:
        for figure in FIGURES:
            values = part[figure].drop_nulls().to_numpy()
            if len(values):
                low, high = interval(values)
                mean = float(values.mean())
                rows.append((group, figure, mean, low, high, len(values)))
    schema = {"group": pl.String, "figure": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"n": pl.Int64}, orient="row")


def against(scored: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    """Compare the figures of the same questions under two stores or rankings.

    Returns:
        figure, value, base, ratio (value/base, null where the base is 0) and its 95 % interval low..high by a paired
        bootstrap over questions, n.

    Raises:
        ValueError: the two do not hold the same questions.
    """
    keys = ["chat", "question"]
    both = scored.join(base, on=keys, suffix=" of base")
    if both.height != scored.height or both.height != base.height:
        raise ValueError(f"{scored.height} and {base.height} questions share {both.height}; score the same questions")
    rows = []
    for figure in FIGURES:
        pair = both.select(figure, f"{figure} of base").drop_nulls()
        if pair.height:
            own, other = pair[:, 0].to_numpy(), pair[:, 1].to_numpy()
            ratio = float(own.mean() / other.mean()) if other.mean() else None
            low, high = interval(own, other) if ratio is not None else (None, None)
            rows.append((figure, float(own.mean()), float(other.mean()), ratio, low, high, pair.height))
    names = ("figure", "value", "base", "ratio", "low", "high")
    schema = {name: pl.Float64() for name in names} | {"figure": pl.String(), "n": pl.Int64()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def interval(
    values: NDArray[np.float64], base: NDArray[np.float64] | None = None, *, seed: int = 0, rounds: int = ROUNDS
) -> tuple[float, float]:
    """Return the 95 % percentile-bootstrap interval of the mean of `values`, or of mean(values)/mean(base), paired.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13. Draws whose base is all zero are
    left out. Cost: `rounds` times the number of values.

    Raises:
        ValueError: there are no values, or the two differ in length.
    """
    if not len(values) or (base is not None and len(base) != len(values)):
        raise ValueError(f"values has {len(values)} entries, base {'none' if base is None else len(base)}; pair them")
    drawn = np.random.default_rng(seed).integers(0, len(values), (rounds, len(values)))
    means = values[drawn].mean(axis=1)
    if base is not None:
        below = base[drawn].mean(axis=1)
        means = means[below > 0] / below[below > 0]
    if not len(means):
        return float("nan"), float("nan")
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
