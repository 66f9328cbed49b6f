"""Renders `docs/quality.md`: tables and how to verify them. Not here: the measurements (`quality.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl


@dataclass(frozen=True)
class Row:
    """One figure with its target."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    target: str
    note: str
    between: tuple[float, float] | None = None
    """Minimum and maximum over conversations."""

    @property
    def reached(self) -> bool:
        """Whether the value reaches the target."""
        if self.value is None:
            return False
        sign, bound = self.target.split()
        return self.value >= float(bound) if sign == "≥" else self.value <= float(bound)


_HEAD: Final = """# Quality

Recall before and after forgetting, measured against targets.

`make quality SHARED=<folder>` writes this page. It uses four LoCoMo and eight BEAM conversations, which are not part
of the project, and chats and pairs that the project generates. The embedder is the built-in one; no model is loaded.
The ranking is fitted on BEAM and on generated chats, so the BEAM figures are in-sample; LoCoMo is used only to
measure. Questions are asked a day after the last turn, all of them that have evidence; adversarial ones and
abstentions are left out. Six nights are spread over each conversation. Brackets hold the 95 % interval of a bootstrap
over questions: it says how certain a figure is for these conversations, not for others. How much conversations differ
is in the next column, as the minimum and maximum over single conversations that have such questions.

## What recall finds

"""
_PAIRS: Final = """
Rows of made pairs measure judgements of generated pairs of texts, not merges in a store. Duplicates there are one text
twice: unchanged, decorated, or with a typo; paraphrases are not among them.

## What was tried where figures were missed

Each figure was measured once, and not again with the table.

- **The share under plain BM25 at 50 % and 30 % of tokens.** Other weights of the model of what to keep gave .976 to
  .983 at 50 %. With the evaluation kit's own retriever, over 460 questions, the shares were 1.014 and .969. With plain
  statements about oneself kept before small talk it was .970, without .977; of 20 such statements among 160 turns, 19
  stay at 50 %, where 11 did before.
- **gold@10.** Fits that differ by chance find between 122 and 124 of 144 questions. Most of the missed ones ask for a
  summary or an order over all talks, or need a rule that shares no word with them.
- **both@10.** Three questions missed a side; in each, one side of the contradiction shares hardly any word with the
  question, such as null checks with bugs of the autocomplete. Additional links were wrong as often as right.
"""
_COSTS: Final = """
## What each preset keeps, and what it costs

LoCoMo under the default ranking, with each preset at its defaults and its quota not applied. Ratios are to nothing
consolidated, over the same questions. Nothing was recalled between the nights, which is hardest on designs that forget
unused memories. Tokens include summaries. Seconds are for all six nights of a conversation on one core.

"""
_CHECK: Final = """
## Checking from outside

Any scorer that reads Parquet can check the figures: a replay writes `hot.parquet` (id, text, member_ids, t_start,
t_end) and `results.parquet` (query_id, rank, id). With the evaluation kit that exports such events and questions:

```sh
python run_kit.py export TASK && python beam_kit.py export BEAM
memory-pipeline evaluate replay TASK/26/events.parquet TASK/26/queries.parquet OUT/26 --budget 0.5   # likewise for each
memory-pipeline evaluate replay BEAM/1/events.parquet BEAM/1/queries.parquet ANSWERS/1
python run_kit.py score OUT          # the project's own ranking
rm OUT/*/results.parquet && python run_kit.py score OUT   # the kit's retriever over the kept memories
python beam_kit.py score ANSWERS
```

The kit asks 70 % of LoCoMo's questions and uses the others as earlier queries, so its figures differ by the noise of
fewer questions.
"""


def page(rows: Sequence[Row], costs: pl.DataFrame) -> str:
    """Return the page as Markdown.

    Args:
        rows: figures with their targets.
        costs: one row per preset: preset, tokens, seconds, largest cluster, figures with low and high of their ratio.
    """
    lines = ["| figure | measured | one conversation | to reach | reached | of |", "|---|---|---|---|---|---|"]
    for row in rows:
        between = "" if row.between is None else "{:.3f}-{:.3f}".format(*row.between)
        reached = "yes" if row.reached else "no"
        lines.append(f"| {row.label} | {_measured(row)} | {between} | {row.target} | {reached} | {row.note} |")
    return _HEAD + "\n".join(lines) + "\n" + _PAIRS + _COSTS + "\n".join(_costs(costs)) + "\n" + _CHECK


def _measured(row: Row) -> str:
    if row.value is None or row.low is None or row.high is None:
        return "unknown" if row.value is None else f"{row.value:.3g}"
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def _costs(costs: pl.DataFrame) -> list[str]:
    figures = [name.removesuffix(" low") for name in costs.columns if name.endswith(" low")]
    lines = [
        f"| preset | tokens kept | seconds | largest cluster | {' | '.join(figures)} |",
        f"|{'---|' * (4 + len(figures))}",
    ]
    for row in costs.to_dicts():
        cells = [f"{row[name]:.3f} ({row[f'{name} low']:.2f}-{row[f'{name} high']:.2f})" for name in figures]
        kept = f"{row['tokens']:.1%} | {row['seconds']:.1f} | {row['largest cluster']}"
        lines.append(f"| {row['preset']} | {kept} | {' | '.join(cells)} |")
    return lines
