"""What the command line shows of a trial: figures down, policies across.

What is not here: what is measured (`evaluation/experiment.py`), and the page with charts (`evaluation/report.py`).
"""

from typing import Any

import polars as pl
from rich.console import Console

from memory_pipeline.evaluation import metrics
from memory_pipeline.evaluation.experiment import EVERYTHING, Experiment
from memory_pipeline.evaluation.report import SHOWN
from memory_pipeline.service.report import line, many, prose, table


def trial(console: Console, made: Experiment) -> None:
    """Print what each policy keeps and what is found under it, with intervals and ratios to keeping everything."""
    whole = made.figures.filter(pl.col("group") == "")
    policies = whole["policy"].unique(maintain_order=True).to_list()
    kept = {row["policy"]: row for row in made.means().to_dicts()}
    rows = [
        ("tokens kept", *(f"{kept[name]['tokens_share']:.1%}" for name in policies)),
        ("memories kept", *(f"{kept[name]['items_share']:.1%}" for name in policies)),
        ("seconds", *(f"{kept[name]['seconds']:.1f}" for name in policies)),
    ]
    present = [figure for figure in SHOWN if figure in set(whole["figure"])]
    for figure in present:
        found = {row["policy"]: row for row in whole.filter(pl.col("figure") == figure).to_dicts()}
        rows.append((figure, *(_value(found.get(name)) for name in policies)))
        if len(policies) > 1:
            rows.append(("", *("" if name == EVERYTHING else _ratio(found.get(name)) for name in policies)))
    questions = made.questions.filter(pl.col("policy") == EVERYTHING).height
    chats = made.stores["chat"].n_unique()
    table(console, ("", *policies), rows, title=f"{many(questions, 'question')} about {many(chats, 'conversation')}")
    prose(console, f"in brackets 95 % of {metrics.ROUNDS} resamplings; x: as a share of keeping everything")
    for note in made.notes:
        prose(console, note)
    for figure in present:
        line(console, f"{figure}: {metrics.FIGURES[figure]}")


def _value(row: dict[str, Any] | None) -> str:
    return "-" if row is None else f"{row['value']:.3f} ({row['low']:.2f}-{row['high']:.2f})"


def _ratio(row: dict[str, Any] | None) -> str:
    if row is None or row["ratio"] is None:
        return ""
    return f"x {row['ratio']:.2f} ({row['ratio_low']:.2f}-{row['ratio_high']:.2f})"
