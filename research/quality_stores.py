"""Measures labelled stores for the quality page: what a real run decides in a store, and what recall finds after it.

Not here: one store (`labelled_stores`), conversations (`quality`) and the page's text (`quality_page`).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import labelled_stores
import polars as pl
from labelled_stores import STATES, LabelledStore, State
from quality_page import Row

from memory_pipeline.evaluation import metrics, replay
from memory_pipeline.settings.new_stores import EMBEDDER

Judge = tuple[pl.DataFrame, Mapping[str, tuple[int, int]]]
"""Columns of `labelled_stores.questions`, and counts as `labelled_stores.relations` returns them."""
JUDGES: Final = ("the default", "answered by the labels", "asked of a language model")
_COMPARED: Final = {
    "updates found": "updates found",
    "closings right": "closings right",
    "duplicates found": "repetitions found",
    "duplicates merged": "merged",
    "merges right": "merges right",
    "contradictions found": "contradictions found",
}
"""Titles of the counts in the section on language models."""
_CODE: Final = 2
"""Length of the name of a store that is named after its language; other stores are English."""


@dataclass(frozen=True)
class StoreResult:
    """The figures of one store in every state."""

    store: LabelledStore
    questions: pl.DataFrame
    """Columns of `labelled_stores.questions`, and `state`."""
    relations: Mapping[str, tuple[int, int]]
    """Counts (right, of) after one run of the preset; see `labelled_stores.relations`."""
    answered: Mapping[str, tuple[int, int]]
    """The same after another run, before which `review` was answered."""
    losses: Mapping[State, Mapping[str, int]]
    tokens: Mapping[State, float]
    baseline: float
    """Questions of which BM25 finds a gold among ten, as a share."""

    @property
    def english(self) -> bool:
        """Whether the store is not named after another language."""
        return len(self.store.name) != _CODE


def measure(store: LabelledStore) -> StoreResult:
    """Run the default preset in every state of a store."""
    policy = replay.policy_for(preset="default", embedder=EMBEDDER)
    outcomes = {state: labelled_stores.run(store, policy, state) for state in STATES}
    scored = [labelled_stores.questions(one).with_columns(state=pl.lit(state)) for state, one in outcomes.items()]
    return StoreResult(
        store,
        pl.concat(scored),
        labelled_stores.relations(outcomes["consolidated"]),
        labelled_stores.relations(outcomes["asked"]),
        {state: labelled_stores.losses(one) for state, one in outcomes.items()},
        {state: labelled_stores.tokens_share(one) for state, one in outcomes.items()},
        float(labelled_stores.baseline_hits(store)["hit"].mean() or 0.0),  # type: ignore[arg-type]
    )


def rows(results: Sequence[StoreResult]) -> list[Row]:
    """Return the rows of the table on stores, of one result for each store."""
    english = [one for one in results if one.english]
    others = [one for one in results if not one.english]
    table = [
        _counted(english, "closings right", "≥ .95", "closings that are right"),
        _counted(english, "updates found", "≥ .45", "updates closed or linked MAY_UPDATE"),
        _counted(english, "MAY_UPDATE right", "≥ .75", "links MAY_UPDATE that are right"),
        _counted(english, "duplicates found", "≥ .65", "repetitions in other words merged or linked"),
        _counted(english, "duplicates merged", "≥ .30", "repetitions merged"),
        _counted(english, "MAY_REPEAT right", None, "links MAY_REPEAT that are right"),
        _total(english, "merges that are wrong", "≤ 0", lambda one: _wrong(one.relations["merges right"])),
        _counted(english, "contradictions found", "≥ .40", "contradictions linked"),
        _counted(english, "CONTRADICTS right", None, "links CONTRADICTS that are right"),
        _share(english, "consolidated", "untrue_mark", "≤ .03", "answers with an untrue mark among the first three"),
        _gain(english, "consolidated", None, "MRR after a run less raw"),
        _mean(english, "consolidated", "fresh_first", "≥ .78", "fresh-first after a run"),
        _mean(english, "raw", "fresh_first", None, "fresh-first before any run"),
        _mean(english, "raw", "mrr", "≥ .71", "MRR before any run"),
        _mean(english, "raw", "hit", "≥ .92", "hit@10 before any run"),
        _total(english, "answers with a closed fact unmarked", "≤ 0", _unmarked),
        _counted(english, "updates found", "≥ .80", "answered: updates closed or linked", answered=True),
        _counted(english, "closings right", "≥ .98", "answered: closings that are right", answered=True),
        _counted(english, "duplicates found", "≥ .90", "answered: repetitions merged or linked", answered=True),
        _counted(english, "duplicates merged", "≥ .80", "answered: repetitions merged", answered=True),
        _counted(english, "contradictions found", "≥ .80", "answered: contradictions linked", answered=True),
        _share(
            english, "asked", "untrue_mark", "≤ .005", "answered: answers with an untrue mark among the first three"
        ),
        _gain(english, "asked", "≥ .03", "answered: MRR less raw"),
        _mean(english, "asked", "fresh_first", "≥ .85", "answered: fresh-first"),
        _unsure(english, "unanswerable questions marked unsure", lambda one: one["mrr"].is_null(), of="asked"),
        _unsure(english, "answered questions marked unsure", lambda one: one["rank"].is_not_null(), of="asked"),
        _most(
            english, "tokens after a run, share of raw (worst store)", "≤ .99", lambda one: one.tokens["consolidated"]
        ),
        _kept(english, "half", "≥ .80", "hit@10 at half the tokens, never asked, share of raw", before=False),
        _kept(english, "half used", "≥ .98", "hit@10 at half the tokens, asked before, share of raw", before=True),
        _mean(english, "half", "fresh_first", "≥ .80", "fresh-first at half the tokens"),
        _total(english, "outdated kept while the correction is gone", "≤ 2", _lost("outdated without correction")),
        _total(english, "both copies of a fact lost", "≤ 0", _lost("both copies lost")),
        _mean(english, "half", "says", "≥ .95", "gold found at half the tokens still holds the answer"),
    ]
    if others:
        table += [
            _against_baseline(others),
            _total(others, "false closings, merges and trims in other languages", "≤ 0", _harm),
        ]
    return table


def judges(store: LabelledStore, answers: Mapping[str, str]) -> Mapping[str, Judge]:
    """Run a store with each judge of the section on language models: by its name, what it found and decided.

    Args:
        store: the store.
        answers: as `labelled_stores.read` takes them.
    """
    policy = replay.policy_for(preset="default", embedder=EMBEDDER)
    raw, *outcomes = (labelled_stores.run(store, policy, state) for state in ("raw", "consolidated", "asked"))
    outcomes.append(labelled_stores.read(store, policy, answers))
    found = {"before any run": (labelled_stores.questions(raw), dict[str, tuple[int, int]]())}
    named = zip(JUDGES, outcomes, strict=True)
    return found | {name: (labelled_stores.questions(one), labelled_stores.relations(one)) for name, one in named}


def compared(results: Sequence[Mapping[str, Judge]]) -> pl.DataFrame:
    """Return the figures of each judge over all stores: a row for each."""
    rows = []
    for name in results[0]:
        questions = pl.concat([one[name][0] for one in results])
        counts = Counter[str]()
        for one in results:
            for figure, (right, of) in one[name][1].items():
                counts.update({figure: right, f"{figure} of": of})
        mrr, fresh = (_average(questions[column].drop_nulls()) for column in ("mrr", "fresh_first"))
        decided = {
            title: f"{counts[figure]} of {counts[f'{figure} of']}" if counts else "-"
            for figure, title in _COMPARED.items()
        }
        untrue = f"{questions['untrue_mark'].sum()} of {questions.height}"
        rows.append({"": name} | decided | {"untrue marks": untrue, "MRR": f"{mrr:.3f}", "fresh-first": f"{fresh:.3f}"})
    return pl.DataFrame(rows)


def _values(results: Sequence[StoreResult], state: State, figure: str) -> list[pl.Series]:
    """Return the values of a figure of the questions, by store; stores without any are left out."""
    each = [one.questions.filter(pl.col("state") == state)[figure].drop_nulls() for one in results]
    return [values for values in each if len(values)]


def _mean(results: Sequence[StoreResult], state: State, figure: str, target: str | None, label: str) -> Row:
    each = _values(results, state, figure)
    if not each:
        return Row(label, None, None, None, None, "no question")
    together = pl.concat(each)
    low, high = metrics.interval(together.to_numpy())
    note = f"{len(together)} questions of {len(each)} stores"
    return Row(label, _average(together), low, high, target, note, _ends([_average(values) for values in each]))


def _share(results: Sequence[StoreResult], state: State, figure: str, target: str, label: str) -> Row:
    each = [one.questions.filter(pl.col("state") == state)[figure] for one in results]
    right, of = sum(int(values.sum()) for values in each), sum(map(len, each))
    ends = _ends([float(values.sum()) / len(values) for values in each])
    return Row(label, right / of, None, None, target, f"{right} of {of}", ends)


def _unsure(
    results: Sequence[StoreResult],
    label: str,
    which: Callable[[pl.DataFrame], pl.Series],
    *,
    of: Literal["asked", "unsure"],
) -> Row:
    """Return how many of some questions got an unsure answer, or how many of the unsure answers are to them."""
    counts = []
    for one in results:
        asked = one.questions.filter(pl.col("state") == "raw")
        some, unsure = which(asked), ~asked["confident"]
        counts.append((int((some & unsure).sum()), int((some if of == "asked" else unsure).sum())))
    right, among = (sum(count[place] for count in counts) for place in (0, 1))
    each = [one / total for one, total in counts if total]
    ends = _ends(each) if each else None
    return Row(label, right / among if among else None, None, None, None, f"{right} of {among}", ends)


def _average(values: pl.Series) -> float:
    return float(values.to_numpy().mean())


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _counted(
    results: Sequence[StoreResult], figure: str, target: str | None, label: str, *, answered: bool = False
) -> Row:
    counts = [(one.answered if answered else one.relations)[figure] for one in results]
    right, of = (sum(count[place] for count in counts) for place in (0, 1))
    each = [one / among for one, among in counts if among]
    return Row(label, right / of if of else None, None, None, target, f"{right} of {of}", _ends(each) if each else None)


def _wrong(count: tuple[int, int]) -> int:
    right, of = count
    return of - right


def _total(results: Sequence[StoreResult], label: str, target: str, count: Callable[[StoreResult], int]) -> Row:
    each = [float(count(one)) for one in results]
    return Row(label, sum(each), None, None, target, f"in {len(each)} stores", _ends(each))


def _most(results: Sequence[StoreResult], label: str, target: str, value: Callable[[StoreResult], float]) -> Row:
    each = [value(one) for one in results]
    return Row(label, max(each), None, None, target, f"{len(each)} stores", _ends(each))


def _unmarked(one: StoreResult) -> int:
    return one.questions.filter(pl.col("state") == "consolidated", pl.col("unmarked")).height


def _lost(figure: str) -> Callable[[StoreResult], int]:
    return lambda one: one.losses["half"][figure]


def _harm(one: StoreResult) -> int:
    return (
        _wrong(one.relations["closings right"])
        + _wrong(one.relations["merges right"])
        + sum(losses["trimmed"] for losses in one.losses.values())
    )


def _gain(results: Sequence[StoreResult], state: State, target: str | None, label: str) -> Row:
    raw, after = (_values(results, name, "mrr") for name in ("raw", state))
    each = [_average(one) - _average(base) for one, base in zip(after, raw, strict=True)]
    whole, base = (_average(pl.concat(values)) for values in (after, raw))
    return Row(label, whole - base, None, None, target, f"{whole:.3f} and {base:.3f}", _ends(each))


def _kept(results: Sequence[StoreResult], state: State, target: str, label: str, *, before: bool) -> Row:
    """Return the row of a share of raw hits, of the questions that were or were not asked before."""

    def hits(one: StoreResult, name: State) -> pl.Series:
        asked = (pl.col("state") == name) & (pl.col("asked_before") == before)
        return one.questions.filter(asked)["hit"].drop_nulls()

    each = [_average(hits(one, state)) / max(_average(hits(one, "raw")), 1e-9) for one in results]
    whole, base = (_average(pl.concat([hits(one, name) for one in results])) for name in (state, "raw"))
    return Row(label, whole / base, None, None, target, f"{whole:.3f} of {base:.3f}", _ends(each))


def _against_baseline(results: Sequence[StoreResult]) -> Row:
    each = _values(results, "raw", "hit")
    ratios = [_average(values) / max(one.baseline, 1e-9) for one, values in zip(results, each, strict=True)]
    whole = _average(pl.concat(each))
    base = sum(one.baseline * len(values) for one, values in zip(results, each, strict=True)) / sum(map(len, each))
    label = "other languages: hit@10, share of BM25's"
    return Row(label, whole / base, None, None, "≥ 1.05", f"{whole:.3f} of {base:.3f}", _ends(ratios))
