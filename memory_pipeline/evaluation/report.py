"""Renders an experiment as one self-contained HTML page with inline SVG charts; no script, no external resources."""

from collections.abc import Sequence
from html import escape
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import metrics
from memory_pipeline.evaluation.experiment import EVERYTHING, Experiment

SHOWN: Final = (
    "hit@10", "recall@512t", "ndcg@10", "mrr", "gold@10", "fresh-first", "fresh@3", "both@10",
)  # fmt: skip
"""Figures on the page, in order; those that apply to no question are left out."""
LISTED: Final = 20
"""Lost questions listed per policy; the rest are counted."""
QUOTED: Final = 240
"""Characters of a text shown in the list of lost questions."""
_ACROSS: Final = 6
"""Policies side by side in one table; more go into further tables."""
_COLOURS: Final = ("#4878a8", "#e0803a", "#5a9e5a", "#c05050", "#8a6fb0", "#7a6a5a", "#c878a8", "#808080")
_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .6rem;text-align:right;vertical-align:top;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}
td,th,p,dd{overflow-wrap:anywhere}
table.text{table-layout:fixed;width:100%;font-size:14px}table.text th,table.text td{text-align:left}
table.text th:nth-child(3){width:40%}table.text th:last-child{width:14%}
small{color:#666;white-space:nowrap}svg{max-width:100%;height:auto}figure{margin:1.5rem 0}
"""
_INTERVALS: Final = (
    f"Intervals cover 95 % of {metrics.ROUNDS} bootstrap samples of the questions. Ratios compare with "
    f"“{EVERYTHING}” on the same questions."
)
_ROW: Final = 22
"""Height of a bar including its gap, in pixels."""
_LEFT: Final = 190
_WIDTH: Final = 420
_NEAR: Final = 120
_LINE: Final = 14
"""Labels of dots nearer than this, across and down, are set below each other."""
_LABEL: Final = 26
"""Characters of a policy name that fit beside a bar."""


def html(experiment: Experiment, *, title: str = "What recall finds") -> str:
    """Return an experiment as an HTML page: conversations, what each policy keeps and finds, and what it loses."""
    overall = experiment.figures.filter(pl.col("group").str.len_chars() == 0)
    present = [name for name in SHOWN if name in set(overall["figure"])]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{_INTERVALS}</p>",
        *(f"<p>{escape(note)}</p>" for note in experiment.notes),
        "<h2>Conversations</h2>",
        _table(_conversations(experiment.conversations)),
        "<h2>What is kept, and what it costs</h2>",
        _scatter(experiment.means()) + _table(_kept(experiment.means())),
        "<h2>What is found</h2>",
        *_found(overall, present),
        *(_chart(overall.filter(pl.col("figure") == name), name) for name in present),
        "<h2>By kind of question</h2>",
        *_by_kind(experiment.figures),
        "<h2>Lost questions</h2>",
        *_lost(experiment.lost, overall["policy"].unique(maintain_order=True).to_list()),
        "<h2>Definitions</h2><dl>",
        *(f"<dt><b>{escape(name)}</b><dd>{escape(metrics.FIGURES[name])}" for name in present),
        "</dl></html>\n",
    ]
    return "\n".join(parts)


def dates(first: Any, last: Any) -> str:
    """Return a date range as text; a single day only once."""
    return f"{first:%Y-%m-%d}" if first.date() == last.date() else f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"


def lost_heading(policy: str, count: int) -> str:
    """Return the heading of a policy's lost questions."""
    if policy == EVERYTHING:
        return f"{policy}: {count} not found"
    return f"{policy}: {count} lost, found by “{EVERYTHING}”"


def side_by_side(policies: pl.Series, most: int) -> list[list[str]]:
    """Return the distinct policies in groups of at most `most`, each the columns of one table."""
    names = policies.unique(maintain_order=True).to_list()
    return [names[start : start + most] for start in range(0, len(names), most)]


def quoted(text: str, most: int = QUOTED) -> str:
    """Return a text on one line, cut to `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _conversations(conversations: pl.DataFrame) -> list[list[str]]:
    rows = [["conversation", "dates", "turns", "questions"]]
    return rows + [
        [row["chat"], dates(row["first"], row["last"]), str(row["turns"]), str(row["questions"])]
        for row in conversations.iter_rows(named=True)
    ]


def _kept(means: pl.DataFrame) -> list[list[str]]:
    rows = [["policy", "tokens kept", "memories kept", "seconds per conversation"]]
    columns = ("policy", "tokens_share", "items_share", "seconds")
    return rows + [
        [str(policy), f"{tokens:.1%}", f"{items:.1%}", f"{seconds:.1f}"]
        for policy, tokens, items, seconds in means.select(columns).iter_rows()
    ]


def _found(overall: pl.DataFrame, present: Sequence[str]) -> list[str]:
    """Return tables with a row per figure and a column per policy."""
    by_key = {(row["policy"], row["figure"]): row for row in overall.iter_rows(named=True)}
    return [
        _table([["figure", *names], *([name, *(_value(by_key.get((p, name))) for p in names)] for name in present)])
        for names in side_by_side(overall["policy"], _ACROSS)
    ]


def _value(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    value = f"{row['value']:.3f}<br><small>{row['low']:.3f}-{row['high']:.3f}</small>"
    if row["ratio"] is None or row["policy"] == EVERYTHING:
        return value
    return f"{value}<br><small>&times;{row['ratio']:.2f} ({row['ratio_low']:.2f}-{row['ratio_high']:.2f})</small>"


def _by_kind(figures: pl.DataFrame) -> list[str]:
    """Return tables of hit@10 with a row per kind of question and a column per policy."""
    groups = figures.filter((pl.col("group").str.len_chars() > 0) & (pl.col("figure") == "hit@10"))
    tables = []
    for names in side_by_side(groups["policy"], _ACROSS):
        rows = [["hit@10", "questions", *names]]
        for (group,), part in groups.group_by("group", maintain_order=True):
            values = dict(part.select("policy", "value").iter_rows())
            rows.append([str(group), str(part["n"][0]), *(f"{values[name]:.3f}" for name in names)])
        tables.append(_table(rows))
    return tables


def _lost(lost: pl.DataFrame, policies: Sequence[str]) -> list[str]:
    """Return a table of lost questions per policy, at most `LISTED` in each."""
    if lost.is_empty():
        return ["<p>None: every question has some evidence among its first ten results.</p>"]
    parts = []
    for policy in policies:
        own = lost.filter(pl.col("policy") == policy)
        parts.append(f"<h3>{escape(lost_heading(policy, own.height))}</h3>")
        rows = [["asked", "expected", "came first instead", "conversation"]]
        for row in own.head(LISTED).iter_rows(named=True):
            texts = [quoted(row[name]) or "(nothing)" for name in ("asked", "expected", "instead")]
            rows.append([*texts, f"{row['chat']}, {row['kind']}"])
        if own.height:
            parts.append(_table(rows, prose=True))
        if own.height > LISTED:
            parts.append(f"<p>… and {own.height - LISTED} more.</p>")
    return parts


def _table(rows: Sequence[Sequence[str]], *, prose: bool = False) -> str:
    """Return a table, header first. The header and the first column are escaped; other cells are markup unless `prose`.

    Columns of `prose` have equal widths and break their lines.
    """
    cells = [[escape(row[0]), *(map(escape, row[1:]) if prose else row[1:])] for row in rows[1:]]
    head = "".join(f"<th>{escape(cell)}" for cell in rows[0])
    body = "".join(f"<tr><td>{'<td>'.join(row)}" for row in cells)
    return f"<table{' class=text' if prose else ''}><tr>{head}{body}</table>"


def _chart(rows: pl.DataFrame, figure: str) -> str:
    """Return a bar chart of one figure with its intervals, one bar per policy."""
    height = _ROW * rows.height + 30
    marks = [f'<text x="0" y="14" font-weight="bold">{escape(figure)}</text>']
    for index, row in enumerate(rows.to_dicts()):
        top = 24 + index * _ROW
        at = {name: _LEFT + _WIDTH * row[name] for name in ("value", "low", "high")}
        middle = top + 8
        marks += [
            f'<text x="{_LEFT - 8}" y="{top + 12}" text-anchor="end">{escape(quoted(row["policy"], _LABEL))}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{at["value"] - _LEFT:.1f}" height="16" fill="{_colour(index)}"/>',
            f'<path d="M{at["low"]:.1f} {middle}H{at["high"]:.1f}" stroke="#222" stroke-width="1.5"/>',
            f'<text x="{at["high"] + 6:.1f}" y="{top + 12}">{row["value"]:.3f}</text>',
        ]
    return _drawing(figure, _LEFT + _WIDTH + 60, height, marks)


def _scatter(means: pl.DataFrame) -> str:
    """Return a scatter plot of hit@10 over the share of tokens kept, one dot per policy."""
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
    labels: list[tuple[float, float]] = []
    for index, (name, share, hit) in enumerate(means.select("policy", "tokens_share", "hit@10").iter_rows()):
        x, y = edge + (width - edge - 120) * share / most, height - edge - (height - edge - 20) * hit
        colour, below = _colour(index), y
        while any(abs(x - left) < _NEAR and abs(below - top) < _LINE for left, top in labels):
            below += _LINE
        labels.append((x, below))
        marks += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>',
            f'<text x="{x + 8:.1f}" y="{below + 4:.1f}" fill="{colour}">{escape(str(name))}</text>',
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
