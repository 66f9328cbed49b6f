"""Prints an experiment on the terminal: figures down, policies across."""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl
from rich.console import Console

from memory_pipeline.evaluation import metrics
from memory_pipeline.evaluation.experiment import EVERYTHING, Experiment
from memory_pipeline.evaluation.report import SHOWN, dates, lost_heading, quoted, side_by_side
from memory_pipeline.service.report import line, many, prose, table

_LISTED: Final = 3
"""Lost questions listed per policy; the rest are counted."""
_QUOTED: Final = 150
"""Characters shown of each text of a lost question."""
_FIRST_COLUMN: Final = 16
_COLUMN: Final = 20
"""Width of a policy's figures with their interval."""


def experiment(console: Console, result: Experiment) -> None:
    """Print conversations, what each policy keeps and finds with intervals and ratios, and the lost questions."""
    overall = result.figures.filter(pl.col("group") == "")
    policies = overall["policy"].unique(maintain_order=True).to_list()
    present = [figure for figure in SHOWN if figure in set(overall["figure"])]
    conversations = [
        (row["chat"], dates(row["first"], row["last"]), row["turns"], row["questions"])
        for row in result.conversations.iter_rows(named=True)
    ]
    table(console, ("conversation", "dates", "turns", "questions"), conversations)
    across = max(1, (console.width - _FIRST_COLUMN) // max(_COLUMN, *(len(name) + 3 for name in policies)))
    total = many(int(result.conversations["questions"].sum()), "question")
    title: str | None = f"{total} about {many(result.conversations.height, 'conversation')}"
    for names in side_by_side(overall["policy"], across):
        table(console, ("", *names), _figures(result.means(), overall, present, names), title=title)
        title = None
    prose(
        console,
        f"In brackets: 95 % interval over {metrics.ROUNDS} bootstrap samples of the questions; x: ratio to "
        f"“{EVERYTHING}”.",
    )
    for note in result.notes:
        prose(console, note)
    for figure in present:
        prose(console, f"{figure}: {metrics.FIGURES[figure]}")
    _lost(console, result.lost, policies)


def _figures(
    means: pl.DataFrame, overall: pl.DataFrame, present: Sequence[str], policies: Sequence[str]
) -> list[tuple[str, ...]]:
    kept = {row["policy"]: row for row in means.to_dicts()}
    rows = [
        ("tokens kept", *(f"{kept[name]['tokens_share']:.1%}" for name in policies)),
        ("memories kept", *(f"{kept[name]['items_share']:.1%}" for name in policies)),
        ("seconds", *(f"{kept[name]['seconds']:.1f}" for name in policies)),
    ]
    for figure in present:
        by_policy = {row["policy"]: row for row in overall.filter(pl.col("figure") == figure).to_dicts()}
        rows.append((figure, *(_value(by_policy.get(name)) for name in policies)))
        ratios = ["" if name == EVERYTHING else _ratio(by_policy.get(name)) for name in policies]
        if any(ratios):
            rows.append(("", *ratios))
    return rows


def _lost(console: Console, lost: pl.DataFrame, policies: Sequence[str]) -> None:
    for policy in policies:
        own = lost.filter(pl.col("policy") == policy)
        if own.is_empty():
            continue
        line(console)
        prose(console, lost_heading(policy, own.height), style="bold")
        for row in own.head(_LISTED).iter_rows(named=True):
            prose(console, f"- {quoted(row['asked'], _QUOTED)} ({row['chat']}, {row['kind']})")
            prose(console, f"  expected: {quoted(row['expected'], _QUOTED)}")
            prose(console, f"  came first: {quoted(row['instead'], _QUOTED) or '(nothing)'}")
        if own.height > _LISTED:
            prose(console, f"… and {own.height - _LISTED} more; --html lists more, --json all.")


def _value(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['value']:.3f} ({row['low']:.2f}-{row['high']:.2f})"


def _ratio(row: dict[str, Any] | None) -> str:
    if row is None or row["ratio"] is None:
        return ""
    return f"x {row['ratio']:.2f} ({row['ratio_low']:.2f}-{row['ratio_high']:.2f})"
