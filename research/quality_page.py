"""Renders `docs/quality.md`: tables and how to verify them. Not here: the measurements (`quality.py`)."""

from collections.abc import Mapping, Sequence
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
    target: str | None
    note: str
    between: tuple[float, float] | None = None
    """Minimum and maximum over conversations."""

    @property
    def reached(self) -> bool | None:
        """Whether the value reaches the target; None without a target."""
        if self.target is None:
            return None
        if self.value is None:
            return False
        sign, bound = self.target.split()
        return self.value >= float(bound) if sign == "≥" else self.value <= float(bound)


_HEAD: Final = """# Quality

What a run decides, what recall finds, and what forgetting costs, on text that was left out of every fit.

`make quality SHARED=<folder>` writes this page; `PART="stores own"` measures some sections and leaves the others as
they are. Each says when it was measured. Every figure is what a real run of the shipped program does with its default
settings, never a judgement of given pairs. Texts and labels are synthetic: language models wrote them, for this
project or for the folder of data, and no human labelled them (`research/corpus/README.md`); LoCoMo and BEAM are
public.

**Left out** means that nothing was fitted on the store or conversation that a figure is about: neither the reader, nor
the trees that judge pairs, nor the ranking. Thresholds of links were chosen by other stores; earlier ones with an eye
on the stores of other authors, so for links those are a little better than for unseen stores. From which confidence
answers mark a link was chosen on the stores of both sections; of 154 further ones .92 of such marks are true. For BEAM,
`ranking` and `changes` are fitted anew without each conversation. Brackets hold the 95 % interval of a bootstrap over
questions: it says how certain a figure is for these texts, not for others. How much texts differ is in the next column:
the minimum and maximum over single stores or conversations. A difference of .03 of an MRR is noise on 250 questions.
"""
TITLES: Final = {
    "stores": "Stores of other authors",
    "own": "Stores written for the project, and left out",
    "read": "The same with a language model",
    "wrong": "What the default decides wrongly",
    "missed": "What the default does not notice",
    "keeping": "Core memory, and half the tokens",
    "corrections": "Corrections",
    "talks": "Conversations",
    "long": "Long conversations",
    "presets": "What each preset keeps, and what it costs",
}
"""Sections in the order of the page, by name."""
_TEXTS: Final = {
    "stores": """
Six English stores and three in French, Italian and Chinese: facts about one user, a coding agent, a family chat, an
office, long notes, a coach. One run of the preset `default`; at half the tokens, one run with a token budget of .5;
*asked before* means that every second question was asked and its answer marked helpful before that run; *answered*
means that the pairs about which a language model would be asked (`llm_pairs`: one for each memory, those most worth an
answer) were answered by the labels, and that another run followed. The labels lack many updates that a reader sees (an
errand done, a plan carried out). So two language models read 200 pairs without labels on 29 November 2026: the 155
that a run had linked, closed or merged in the English stores (`merge_confidence` .75, `close_confidence` .85), 30
look-alikes and 15 updates that it had not linked (Cohen's kappa .92). Both call right 87 of 105 links of updates (.83;
the labels 70), 15 of 22 links of repetitions, 9 of 12 contradictions, 12 of 12 merges and 3 of 4 closings (one reader
all 4).
""",
    "own": """
The same figures for the 43 stores of seven files of `research/corpus/episodes` which nothing has learned from: 4,000
notes by six writers, `k` long and sparse, `n` full of repetitions in other words, contradictions, quotes, plans and
suppositions that change nothing, `ad` to `dd` full of chains of updates and of notes that only look alike, `ed` by
eight voices.
""",
    "read": """
Twelve of these stores (`ad`, `cd`): a large language model read the prompts that a run with `llm_model` sends, one pair
for each memory, 1,205 in all, without labels, on 30 November 2026. A run then found its answers as recorded
(`research/corpus/answers.jsonl`) and decided by the rules for a model's verdicts. Beside it the default, and the same
pairs answered by the labels before another run. Of the closings that the labels call wrong most tell how something
open, planned or feared turned out, which the labels lack.
""",
    "wrong": """
Decisions of one run of `default`, and of one at half the tokens, that the labels of these stores call wrong, verbatim,
at most thirty, some of every kind.
""",
    "missed": """
Relations between notes of these stores that one run neither decides nor links, at most thirty.
""",
    "keeping": """
Episodes whose notes have labels of whom a sentence is about, its kind and the harm if it were forgotten, and which
nothing that reads sentences has learned from. Core memory after one run; then a run at half the tokens.
""",
    "corrections": """
420 scenarios by three writers, each in a profile of its own: an older note, a night, a correction, change, quote,
supposition or exception in wordings that nothing has learned from (`corrections/b`, `g` and `m`), another night, the
first transcript imported once more, a third night. Counted is whether the note that holds comes first in an answer. The
kinds `whole`, `part`, `other`, `beside` and `repeat` are short notes that look alike (`research/corpus/README.md`).
""",
    "talks": """
Four LoCoMo and eight BEAM conversations. Questions are asked a day after the last turn, all of them that have evidence;
adversarial ones and abstentions are left out. Six nights are spread over each conversation.
""",
    "long": """
The 21 conversations of BEAM with 500,000 tokens each, all kept, as above.
""",
    "presets": """
LoCoMo under the default ranking, with each preset at its defaults and its quota not applied. Ratios are to nothing
consolidated, over the same questions. Nothing was recalled between the nights, which is hardest on designs that forget
unused memories. Tokens include summaries. Seconds are for all six nights of a conversation on one core.
""",
}
_TRIED: Final = """
## What was tried

How the reader was made, measured and what did not help:
[research](https://github.com/memory-pipeline/memory-pipeline/blob/main/research/README.md). Of recall:

- **A budget.** One fitted worth (`worth.toml`: how likely somebody asks for a memory, by the reader, its age and the
  odds that it updates, repeats or is outdated, also where these are too unsure for a link) stands in place of ranks of
  harm, instructions, repetitions and present values. In a chat of several people it does not count: on LoCoMo such odds
  cost .02 of hit@10 at half the tokens and .10 at a fifth, since what is alike there is talk, and small events, which
  the reader finds idle, are asked for.
- **Long conversations.** Of the questions on BEAM 500k whose evidence was not among the first ten, most ask for what a
  standing rule is about, for a summary or for an order of events. What users say is considered first, by related words
  for the length of a memory, and rules come along where the question meets their condition (rules found: .50 to .93).
- **Summaries and orders of events.** Spreading the first ten over the conversation, by stretches of time or by a
  penalty for neighbours of what is chosen, finds no more; nor does leaving out who spoke or the length from the
  score.
- **More memories compared.** The newest-first step, fitted on and applied to the best 30 instead of 10, puts as many
  newer values first on labelled stores, fewer on BEAM 500k, and costs LoCoMo .02 of hit@10.
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


def page(measured: Mapping[str, Sequence[str]], before: str, *, when: str) -> str:
    """Return the page as Markdown.

    Args:
        measured: lines of the sections that were measured, by name (`TITLES`).
        before: the page as it was: sections that were not measured are taken from it.
        when: date and commit of the measurement.
    """
    kept = {part.partition("\n")[0]: part for part in before.split("\n## ")[1:]}
    sections = []
    for name, title in TITLES.items():
        if name in measured:
            lines = "\n".join(measured[name])
            sections.append(f"\n## {title}\n{_TEXTS[name]}\n{lines}\n\nMeasured {when}.\n")
        elif title in kept:
            sections.append(f"\n## {kept[title].rstrip()}\n")
    return "".join([_HEAD, *sections, _TRIED, _CHECK])


def table(rows: Sequence[Row]) -> list[str]:
    """Return figures as a table."""
    lines = ["| figure | measured | one store or conversation | to reach | reached | of |", "|---|---|---|---|---|---|"]
    for row in rows:
        between = "" if row.between is None else "{:.3f}-{:.3f}".format(*row.between)
        reached = {True: "yes", False: "no", None: ""}[row.reached]
        lines.append(f"| {row.label} | {_measured(row)} | {between} | {row.target or ''} | {reached} | {row.note} |")
    return lines


def quotes(wrong: pl.DataFrame) -> list[str]:
    """Return quoted pairs as a table, of what, older and newer."""
    lines = ["| what | older | newer |", "|---|---|---|"]
    return lines + [f"| {what} | {older} | {newer} |" for what, older, newer in wrong.iter_rows()]


def _measured(row: Row) -> str:
    if row.value is None or row.low is None or row.high is None:
        return "unknown" if row.value is None else f"{row.value:.3g}"
    return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def costs(costs: pl.DataFrame) -> list[str]:
    """Return what presets cost as a table: preset, tokens, seconds, largest cluster, figures with low and high."""
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


def counts(figures: pl.DataFrame) -> list[str]:
    """Return counts as a table; the first column is text."""
    lines = [f"| {' | '.join(figures.columns)} |", f"|{'---|' * figures.width}"]
    return lines + [f"| {' | '.join(map(str, row))} |" for row in figures.iter_rows()]
