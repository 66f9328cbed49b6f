"""Scores recall results against the evidence of questions: figures per question, their means and intervals.

A record counts as finding evidence only while its text still contains it (`evidence_match.py`).
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
"""Columns of a store: the records that recall can return, the turns that each covers, and their time span."""
RESULTS: Final = {"query_id": pl.String(), "rank": pl.Int64(), "id": pl.String()}
"""Columns of results: the records returned for a query, best first, ranks from 1."""
FIGURES: Final[dict[str, str]] = {
    "hit@10": "Share of questions with some evidence among the first ten.",
    "recall@10": "Mean share of a question's evidence among the first ten.",
    "all@10": "Share of questions with all evidence among the first ten.",
    "recall@256t": "Mean share of a question's evidence in the first 256 tokens.",
    "recall@512t": "Mean share of a question's evidence in the first 512 tokens.",
    "recall@1024t": "Mean share of a question's evidence in the first 1024 tokens.",
    "ndcg@10": "Discounted gain of new evidence among the first ten, as a share of the best order.",
    "mrr": "Mean of 1/rank of the first evidence; 0 if there is none.",
    "tokens@10": "Mean number of tokens in the first ten.",
    "gold@10": "Share of questions with a record that covers evidence among the first ten, whatever its text contains.",
    "gold@5": "Like gold@10, among the first five.",
    "gold_mrr": "Mean of 1/rank of the first record that covers evidence.",
    "fresh-first": "Changed facts: share whose newer statement ranks above the older one.",
    "fresh@3": "Changed facts: share whose newer statement is among the first three.",
    "both@10": "Contradictions: share with both sides among the first ten.",
}
"""Definition of each figure."""
BUDGETS: Final = (256, 512, 1024)
DEPTH: Final = 50
"""Results per question."""
ROUNDS: Final = 2000
_NOWHERE: Final = 10**9


def score(
    chat: Chat, records: pl.DataFrame, results: pl.DataFrame, *, kinds: Sequence[str] | None = None
) -> pl.DataFrame:
    """Score the results of each question of a chat; questions without evidence are left out.

    Args:
        records: the store, columns of `RECORDS`; a record without members stands for the turn of its own id.
        results: columns of `RESULTS`; a missing question has no results.

    Returns:
        One row per question: chat, question, kind, then `FIGURES`; inapplicable figures are null.

    Raises:
        ValueError: the results contain a record that is not in the store.
    """
    if unknown := sorted(set(results["id"]) - set(records["id"])):
        raise ValueError(
            f"the results contain {len(unknown)} ids that are not in the store, such as {unknown[0]!r}; "
            "return only records of the store"
        )
    by_id = {row["id"]: row for row in records.with_columns(tokens=count_tokens(records["text"])).to_dicts()}
    ids = results.sort("query_id", "rank").group_by("query_id").agg("id")
    ids_by_query = dict(ids.iter_rows())
    matcher = EvidenceMatcher.of(chat)
    rows = []
    for question in chat.questions.to_dicts():
        if question["evidence"] and (kinds is None or question["kind"] in kinds):
            returned = [by_id[name] for name in dict.fromkeys(ids_by_query.get(question["id"], []))]
            figures = _evidence_figures(question, returned, matcher) | _rank_figures(question, returned)
            rows.append({"chat": chat.chat_id, "question": question["id"], "kind": question["kind"]} | figures)
    keys = dict.fromkeys(("chat", "question", "kind"), pl.String())
    return pl.DataFrame(rows, schema=keys | dict.fromkeys(FIGURES, pl.Float64()))


def _evidence_figures(
    question: Mapping[str, Any], returned: Sequence[Mapping[str, Any]], matcher: EvidenceMatcher
) -> dict[str, float]:
    """Return the figures that count evidence contained in the texts."""
    wanted = len(set(question["evidence"]))
    seen: set[str] = set()
    gains = np.zeros(len(returned))
    for place, record in enumerate(returned):
        new = matcher.matched(question, record) - seen
        gains[place] = len(new)
        seen |= new
    cost = np.cumsum([record["tokens"] for record in returned])
    reached = np.cumsum(gains)
    hits = np.flatnonzero(gains)
    discount = 1.0 / np.log2(np.arange(10) + 2)
    ten = float(reached[:10][-1]) if len(returned) else 0.0
    within = {f"recall@{most}t": float(gains[cost <= most].sum()) / wanted for most in BUDGETS}
    return {
        "hit@10": float(ten > 0),
        "recall@10": ten / wanted,
        "all@10": float(ten == wanted),
        "ndcg@10": min(1.0, float(gains[:10] @ discount[: len(gains[:10])]) / float(discount[: min(10, wanted)].sum())),
        "mrr": 1.0 / (1 + int(hits[0])) if len(hits) else 0.0,
        "tokens@10": float(cost[:10][-1]) if len(returned) else 0.0,
    } | within


def _rank_figures(question: Mapping[str, Any], returned: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return the figures that depend only on the ranks of the records covering turns."""
    places: dict[str, int] = {}
    for index, record in enumerate(returned):
        for turn in (record["id"], *(record["member_ids"] or ())):
            places.setdefault(turn, index)

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
    """Return the mean of each figure with its 95 % interval over questions, overall and `by` kind or chat.

    Columns: group (empty for all), figure, value, low, high, n; figures without applicable questions are left out.
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

    Returns figure, value, base, ratio (value/base, null where the base is 0) and its 95 % interval low..high by a
    paired bootstrap over questions, n. Raises ValueError: the two have different questions.
    """
    keys = ["chat", "question"]
    both = scored.join(base, on=keys, suffix=" of base")
    if both.height != scored.height or both.height != base.height:
        raise ValueError(
            f"{scored.height} and {base.height} questions have {both.height} in common; score the same questions"
        )
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


def interval(values: NDArray[np.float64], base: NDArray[np.float64] | None = None) -> tuple[float, float]:
    """Return the 95 % percentile-bootstrap interval of mean(values), or of mean(values)/mean(base) with paired draws.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13. Samples whose base is all zero are
    left out. Cost: `ROUNDS` times the number of values. Raises ValueError: there are no values, or the lengths differ.
    """
    if not len(values) or (base is not None and len(base) != len(values)):
        raise ValueError(f"values has {len(values)} entries, base {'none' if base is None else len(base)}; pair them")
    drawn = np.random.default_rng(0).integers(0, len(values), (ROUNDS, len(values)))
    means = values[drawn].mean(axis=1)
    if base is not None:
        base_means = base[drawn].mean(axis=1)
        means = means[base_means > 0] / base_means[base_means > 0]
    if not len(means):
        return float("nan"), float("nan")
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)
