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

`make quality SHARED=<folder>` writes this page from data that are not part of the project: nine hand-written stores
with labelled relations and questions, four LoCoMo, eight BEAM and 21 long BEAM conversations. The embedder is the
built-in one; no model is loaded. Every figure is what a real run does in a store, never a judgement of given pairs.

**Left out** means that no model involved was fitted on the store or conversation that it is measured on. `relations` is
fitted on 18 made-up stores that come with the project, `changes` (the newest first) on 16 others, generated chats and
BEAM, `ranking` and `keep` on generated chats and BEAM: none of them on a labelled store or LoCoMo conversation. For the
figures on BEAM, `changes` is refitted without each folder of conversations and `ranking` without each conversation. The
features of `relations` and the confidence that a link needs were chosen while its figures on the labelled stores were
seen, so for links these figures are better than for unseen stores. Likewise the first score that selects candidates and
the share of a rule's condition that a question must meet were chosen while the figures of BEAM and BEAM 500k were seen,
and whether evidence is among the candidates for a quarter of LoCoMo's questions, without a look at the labelled stores.
Brackets hold the 95 % interval of a bootstrap over
questions: it says how certain a figure is for these texts, not for others. How much texts differ is in the next column:
the minimum and maximum over single stores or conversations. A difference of .03 of an MRR is noise on 250 questions.

## Left out: stores

Six English stores and three in French, Italian and Chinese: facts about one user, a coding agent, a family chat, an
office, long notes, a coach. One run of the preset `default`; at half the tokens, one run with a token budget of .5;
*asked before* means that every second question was asked and its answer marked helpful before that run.

"""
_TALKS: Final = """
## Left out: conversations

Questions are asked a day after the last turn, all of them that have evidence; adversarial ones and abstentions are left
out. Six nights are spread over each conversation.

"""
_MADE_UP: Final = """
## Made-up stores

The same figures for 16 stores of about 115 memories made up for this project, with all relations labelled, those along
a chain of changes included. No rule, feature or threshold was made for them and `relations` has not seen them, so links
and merges are left out here too. So is forgetting but for three weights (how much the odds of changes count), chosen
while its figures here and on the labelled stores were seen. `changes` was fitted on their questions, so the order of
answers (fresh-first, MRR) is in-sample.

"""
_OWN: Final = """
## What the default decides wrongly

Decisions of one run of `default`, and of one at half the tokens, that the labels call wrong, verbatim, at most twenty,
some of every kind. They come from stores made up for this project: `examples/labelled_store`, then those of the table
above; `relations` was fitted on none of them and no rule was made for them.

"""
_MISSED: Final = """
## What the default does not notice

Relations between notes of `examples/labelled_store` that one run neither decides nor links, at most twenty.

"""
_TRIED: Final = """
## What was tried

- **The newest value by a rule.** A rule that moved the newest of the best answers with the same words to the front is
  replaced by fitted features (`changes`), measured with whole stores and conversations left out.
- **More made-up stores for links.** `relations` was also fitted on the 16 made-up stores that have questions, nearly
  six times as many pairs, an eighth of all stores left out at a time. In runs on the stores left out it finds .08 of
  the updates with .71 of the links right (as shipped .06, .70), and .18 of the repetitions with .34 right (.12, .46);
  on the labelled stores as many updates at less precision. Trees over the same features do no better: what the
  features count does not tell an update from a neighbour where the words differ.
- **Which pairs are compared.** Of the updates .89 are among the pairs compared on the labelled stores and .81 on the
  made-up ones, of the repetitions .97 and .99: missing pairs are not what keeps links few.
- **Other features for links.** By compared pairs, with a fifth of all made-up stores left out at a time, boosted trees
  find .09 of the updates of the made-up stores at .75 of the links right. With words that tell a change, learned from
  the other stores, it is .07; with how many memories share the rarest words, and which lie between, .11; the mean
  precision stays between .54 and .57. On the labelled stores it stays between .58 and .61. So nothing was changed.
- **A third memory.** A link can go because a later memory repeats the newer one and is nearer to the older one. If one
  that is nearer to the newer memory than the older one is does not count as its rival, the fit finds fewer updates at
  about the same precision (at a confidence of .75, 61 right ones of 89 found instead of 89 of 127 on the made-up
  stores, 35 of 49 instead of 38 of 54 on the labelled ones). If a link stays until its confidence falls below .5, five
  nights over each store keep 5 more right and 5 more wrong ones on the labelled stores, 21 and 14 on the made-up ones.
  Neither was taken.
- **Odds too unsure for a link.** Under a token budget, worth is multiplied by 1 + 2 x the confidence that a memory
  updates another + 2 x that it repeats one, and by 1 - .6 x that it is outdated. These were chosen among a dozen on all
  stores of this page, though the weights hardly matter. In real runs, outdated memories without their
  correction fall from 148 to 101 on the made-up stores, both copies lost from 33 to 21, and hits of questions never
  asked rise from .655 to .680 of raw; larger weights lose hits. Taking every likely pair for a link, so that the
  older leaves first, spares as many corrections, but loses both copies 30 times and finds fewer answers.
  In a chat of several people they do not count: on LoCoMo they cost .02 of hit@10 at half the tokens and .10 at a
  fifth, since what is alike there is talk.
- **Doubts.** Updates more likely than not but too unsure for a link, which only core memory heeds: 37 of 102 are right
  on the labelled stores, 176 of 326 on the made-up ones. Neither a higher confidence nor how many words other than
  names the two share tells the right ones (of those that share none, 4 of 13 and 18 of 36 are right), so they stay as
  they are.
- **Who somebody is, under a budget.** If "User is ..." and "lives at ..." rank with what lasts, as "lives in ..." does,
  four more outdated memories outlast their correction on the made-up stores (98 instead of 94) and hits of questions
  never asked fall from .687 to .685 of raw: such statements change too. So they rank by their worth.
- **Which half is asked.** On the labelled stores the memories that answer a question hold 51-100 % of the tokens, so a
  budget of half of them cannot keep .88 of what was never asked before by choosing well; only shorter texts could.
- **Refits.** The worth of clauses (`keep`), fitted again on whole sentences, has the same weights within .01.
- **A sentence encoder.** Its vectors propose pairs, and its cosine weighs in the ranking, with coefficients of its own;
  the judge of relations reads words alone, with or without an encoder.
- **Long conversations.** Of the 110 questions on BEAM 500k whose evidence was not among the first ten, 20 ask for what
  a standing rule is about ("Always … when I ask about …"), 26 for a summary, 21 for an order of events, 21 for advice
  that a stated preference answers, 12 for a detail. Replies, half of the memories and five times as long as what the
  user says, filled the candidates: of 31 questions no evidence was one. Two changes came of it: what users say is
  considered first, by related words for the length of a memory (16 of those 31), and rules come along where the
  question meets their condition (rules found: .50 to .93).
- **Summaries and orders of events.** Spreading the first ten over the conversation (best of equal stretches of time, or
  a penalty for neighbours of what is chosen) finds no more: .33-.36 of the summaries of BEAM 500k instead of .36 and
  .50-.63 of BEAM's instead of .69; orders of events .52-.57 instead of .55. Neither does leaving out who spoke or the
  length from the score (.33-.38; orders of events .21-.52): the few parts that are evidence say nothing that the many
  other parts about the same thing do not.
- **Long conversations in the fit.** With the other conversations of BEAM 500k in the fit of `ranking`, a fifth left out
  at a time, the first ten by score alone hold .743 instead of .737 (MRR .525, .515), and LoCoMo's MRR falls by .003;
  with coefficients of their own for questions for help and for summaries .748. Both are a matter of two to four
  questions of 377, so the fit stays as it was.
- **More memories compared.** `changes`, fitted on and applied to the best 30 instead of 10, puts as many newer values
  first on the labelled stores (.697) and on the made-up ones left out (.57), fewer on BEAM 500k (.66, .68), and costs
  LoCoMo .02 of hit@10. In 14 of the 36 misses on the labelled stores the newer memory is not among the first ten: it
  often shares words with the older one alone ("The kit was upgraded", for the version of a library).
- **Confidence.** The weightiest word of the question that the best memory lacks tells questions that nothing answers
  from the others better than any feature in use: .78 alone; with it and that memory's share of the words .81 instead of
  .75, on labelled stores and on made-up ones left out, if the fit counts answers that are stored and not found as
  answered. At the threshold that fit marks 17 instead of 20 of the 28 unanswerable questions unsure, and .23 instead of
  .27 of the others. Under the present meaning, that one of the first ten answers, it adds nothing (.758, .751).
- **Repetitions last.** Whether the older or the newer of two that may repeat each other comes first, or neither moves,
  changes no figure of the labelled stores (fresh-first .655, hit@10 .898, MRR .688). The newer does: where the link is
  wrong and the newer one is an update, it stays in front.

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


def page(
    stores: Sequence[Row],
    talks: Sequence[Row],
    made_up: Sequence[Row],
    wrong: pl.DataFrame,
    missed: pl.DataFrame,
    costs: pl.DataFrame,
) -> str:
    """Return the page as Markdown.

    Args:
        stores: figures of labelled stores, left out.
        talks: figures of conversations, left out.
        made_up: figures of made-up stores.
        wrong: what was decided wrongly: what, older, newer.
        missed: what was not noticed, likewise.
        costs: one row per preset: preset, tokens, seconds, largest cluster, figures with low and high of their ratio.
    """
    parts = [
        (_HEAD, _table(stores)),
        (_TALKS, _table(talks)),
        (_MADE_UP, _table(made_up)),
        (_OWN, _quotes(wrong)),
        (_MISSED, _quotes(missed)),
        (_COSTS, _costs(costs)),
    ]
    return "".join(head + "\n".join(lines) + "\n" for head, lines in parts) + _TRIED.rstrip("\n") + "\n" + _CHECK


def _table(rows: Sequence[Row]) -> list[str]:
    lines = ["| figure | measured | one store or conversation | to reach | reached | of |", "|---|---|---|---|---|---|"]
    for row in rows:
        between = "" if row.between is None else "{:.3f}-{:.3f}".format(*row.between)
        reached = {True: "yes", False: "no", None: ""}[row.reached]
        lines.append(f"| {row.label} | {_measured(row)} | {between} | {row.target or ''} | {reached} | {row.note} |")
    return lines


def _quotes(wrong: pl.DataFrame) -> list[str]:
    lines = ["| what | older | newer |", "|---|---|---|"]
    return lines + [f"| {what} | {older} | {newer} |" for what, older, newer in wrong.iter_rows()]


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
