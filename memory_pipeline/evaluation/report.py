"""A trial as a page: one file of HTML with its charts drawn in it, no script and nothing from elsewhere.

Not here: what is measured (`experiment.py`) and JSON (`Experiment.to_dict`).
"""

from collections.abc import Sequence
from html import escape
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import metrics
from memory_pipeline.evaluation.experiment import EVERYTHING, Experiment

SHOWN: Final = (
    "hit@10", "recall@512t", "ndcg@10", "mrr", "gold@10", "fresh-first", "fresh@3", "both@10",
)  # fmt: skip
"""Figures of the page, in order; those that no question has are left out."""
_COLOURS: Final = ("#4878a8", "#e0803a", "#5a9e5a", "#c05050", "#8a6fb0", "#7a6a5a", "#c878a8", "#808080")
_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}
small{color:#666}svg{max-width:100%;height:auto}figure{margin:1.5rem 0}
"""
_INTERVALS: Final = (
    f"Intervals hold 95 % of {metrics.ROUNDS} resamplings of the questions; ratios are to “{EVERYTHING}”, the same "
    "questions on both sides."
)
_ROW: Final = 22
"""Height of a bar with its gap, in pixels."""
_LEFT: Final = 190
_WIDTH: Final = 420


def html(trial: Experiment, *, title: str = "What recall finds") -> str:
    """Return a trial as a page: what each policy keeps, its figures with intervals, and by kind of question.

    Args:
        trial: of `experiment.evaluate`.
        title: heading.
    """
    whole = trial.figures.filter(pl.col("group").str.len_chars() == 0)
    present = [name for name in SHOWN if name in set(whole["figure"])]
    charts = [_chart(whole.filter(pl.col("figure") == name), name) for name in present]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{_size(trial)} {_INTERVALS}</p>",
        *(f"<p>{escape(note)}</p>" for note in trial.notes),
        "<h2>What is kept, and what it costs</h2>",
        _scatter(trial.means()) + _table(_kept(trial)),
        "<h2>What is found</h2>",
        _table(_found(whole, present)),
        *charts,
        "<h2>By kind of question</h2>",
        _table(_by_kind(trial.figures)),
        "<h2>Definitions</h2><dl>",
        *(f"<dt><b>{escape(name)}</b><dd>{escape(metrics.FIGURES[name])}" for name in present),
        "</dl></html>\n",
    ]
    return "\n".join(parts)


def _size(trial: Experiment) -> str:
    chats = trial.stores["chat"].n_unique()
    questions = trial.questions.filter(pl.col("policy") == EVERYTHING).height
    counts = {"question": questions, "conversation": chats}
    said = (f"{count} {what}{'s' if count > 1 else ''}" for what, count in counts.items())
    return f"{' about '.join(said)}."


def _kept(trial: Experiment) -> list[list[str]]:
    means = trial.means()
    rows = [["policy", "tokens kept", "memories kept", "seconds a conversation"]]
    columns = ("policy", "tokens_share", "items_share", "seconds")
    return rows + [
        [str(policy), f"{tokens:.1%}", f"{items:.1%}", f"{seconds:.1f}"]
        for policy, tokens, items, seconds in means.select(columns).iter_rows()
    ]


def _found(whole: pl.DataFrame, present: Sequence[str]) -> list[list[str]]:
    rows = [["policy", *present]]
    for (policy,), part in whole.group_by("policy", maintain_order=True):
        by = {row["figure"]: row for row in part.to_dicts()}
        rows.append([str(policy), *(_value(by.get(name)) for name in present)])
    return rows


def _value(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    own = f"{row['value']:.3f} <small>{row['low']:.3f}-{row['high']:.3f}</small>"
    if row["ratio"] is None or row["policy"] == EVERYTHING:
        return own
    return f"{own}<br><small>&times;{row['ratio']:.2f} ({row['ratio_low']:.2f}-{row['ratio_high']:.2f})</small>"


def _by_kind(figures: pl.DataFrame) -> list[list[str]]:
    groups = figures.filter((pl.col("group").str.len_chars() > 0) & (pl.col("figure") == "hit@10"))
    names = groups["policy"].unique(maintain_order=True).to_list()
    rows = [["hit@10", "questions", *names]]
    for (group,), part in groups.group_by("group", maintain_order=True):
        values = dict(part.select("policy", "value").iter_rows())
        rows.append([str(group), str(part["n"][0]), *(f"{values[name]:.3f}" for name in names)])
    return rows


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the cells of the first column and row are names and escaped, the others are ours."""
    head = "".join(f"<th>{escape(cell)}" for cell in rows[0])
    body = "".join(f"<tr><td>{escape(row[0])}{''.join(f'<td>{cell}' for cell in row[1:])}" for row in rows[1:])
    return f"<table><tr>{head}{body}</table>"


def _chart(rows: pl.DataFrame, figure: str) -> str:
    """Return bars of one figure with their intervals."""
    height = _ROW * rows.height + 30
    marks = [f'<text x="0" y="14" font-weight="bold">{escape(figure)}</text>']
    for place, row in enumerate(rows.to_dicts()):
        top = 24 + place * _ROW
        at = {name: _LEFT + _WIDTH * row[name] for name in ("value", "low", "high")}
        middle = top + 8
        marks += [
            f'<text x="{_LEFT - 8}" y="{top + 12}" text-anchor="end">{escape(row["policy"])}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{at["value"] - _LEFT:.1f}" height="16" fill="{_colour(place)}"/>',
            f'<path d="M{at["low"]:.1f} {middle}H{at["high"]:.1f}" stroke="#222" stroke-width="1.5"/>',
            f'<text x="{at["high"] + 6:.1f}" y="{top + 12}">{row["value"]:.3f}</text>',
        ]
    return _drawing(figure, _LEFT + _WIDTH + 60, height, marks)


def _scatter(means: pl.DataFrame) -> str:
    """Return hit@10 over the share of tokens kept, one dot a policy."""
    if "hit@10" not in means.columns:
        return ""
    width, height, edge = 560, 260, 45
    most = max(1.0, float(means["tokens_share"].max()))  # type: ignore[arg-type]
    marks = [
        f'<path d="M{edge} {height - edge}H{width}M{edge} {height - edge}V10" stroke="#999" fill="none"/>',
        f'<text x="{width}" y="{height - 12}" text-anchor="end">tokens kept</text>',
        f'<text x="{edge + 6}" y="20">hit@10</text>',
    ]
    for share in (0.25, 0.5, 0.75, 1.0):
        x, y = edge + (width - edge - 120) * share / most, height - edge - (height - edge - 20) * share
        marks += [
            f'<text x="{x:.0f}" y="{height - edge + 18}" text-anchor="middle">{share:.0%}</text>',
            f'<text x="{edge - 6}" y="{y + 5:.0f}" text-anchor="end">{share:g}</text>',
            f'<path d="M{edge} {y:.0f}H{width - 120}" stroke="#eee"/>',
        ]
    for place, (name, share, hit) in enumerate(means.select("policy", "tokens_share", "hit@10").iter_rows()):
        x, y = edge + (width - edge - 120) * share / most, height - edge - (height - edge - 20) * hit
        colour = _colour(place)
        marks += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>',
            f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" fill="{colour}">{escape(str(name))}</text>',
        ]
    return _drawing("hit@10 by tokens kept", width + 40, height, marks)


def _colour(place: int) -> str:
    return _COLOURS[place % len(_COLOURS)]


def _drawing(name: str, width: int, height: int, marks: Sequence[str]) -> str:
    inner = "".join(marks)
    return (
        f'<figure><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="system-ui,sans-serif" font-size="13" role="img" '
        f'aria-label="{escape(name)}">{inner}</svg></figure>'
    )
