"""Quotes wrong decisions of runs in made-up stores for the quality page.

Not here: how many decisions are right (`quality_stores`), and the page's text (`quality_page`).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import labelled_stores
import polars as pl
from labelled_stores import LabelledStore, Outcome
from made_up_stores import stores

from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.decided_pairs import Pair, in_order
from memory_pipeline.schemas import LIVE
from memory_pipeline.settings.new_stores import EMBEDDER

MOST: Final = 20
"""Most quotes of a table of the page."""
QUOTES: Final = {"what": pl.String(), "older": pl.String(), "newer": pl.String()}


def quotes(store: LabelledStore) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Run `default` in a store, as it is and at half the tokens.

    Returns:
        What was decided wrongly and what was not noticed: what, older, newer. Cost: that of two runs, seconds.
    """
    policy = replay.policy_for(preset="default", embedder=EMBEDDER)
    kept, half = (labelled_stores.run(store, policy, state) for state in ("consolidated", "half"))
    texts = dict(store.turns.select("id", "content").iter_rows())
    wrong = [(what, texts[one], texts[other]) for what, pairs in _wrong(kept, half) for one, other in sorted(pairs)]
    missed = [(what, texts[one], texts[other]) for what, pairs in _missed(kept) for one, other in sorted(pairs)]
    frames = (pl.DataFrame(rows, schema=QUOTES, orient="row") for rows in (wrong + _trimmed(half), missed))
    return next(frames), next(frames)


def chosen(found: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return at most `MOST` quotes, the first of every kind before the second of any."""
    rows = pl.concat([pl.DataFrame(schema=QUOTES), *found]).with_row_index("row")
    turn = rows.with_columns(turn=pl.int_range(pl.len()).over("what"))
    first = turn.sort("turn", "row").head(MOST)
    return first.sort(pl.col("row").min().over("what"), "row").select(list(QUOTES))


def unfitted_stores(folder: Path) -> list[LabelledStore]:
    """Return the stores to quote from, on which no link was fitted: the example, then made-up ones with questions."""
    return [*labelled_stores.load(folder), *(store for store in stores.load() if store.questions)]


def _wrong(kept: Outcome, half: Outcome) -> list[tuple[str, set[Pair]]]:
    """Return the pairs that runs decided about wrongly, by what they did; older, newer."""
    run, known = kept.decided, kept.store.relations
    updates = known["update"] | known["weak update"]
    either = {in_order(*pair) for pair in updates}
    same = known["duplicate"] | known["weak duplicate"]
    opposed = known["contradiction"] | known["weak contradiction"]
    said = set(kept.blocks["members"].explode().drop_nulls()) if kept.blocks.height else set[str]()
    live = set(half.memories.filter(pl.col("lifecycle").is_in(LIVE))["memory_id"])
    return [
        ("closed, wrongly", set(run.closed) - updates),
        ("merged, wrongly", set(run.merged - same)),
        ("forgotten at half the tokens, while what it outdates stays", _without_correction(known["update"], live)),
        ("in core memory, though outdated", {pair for pair in known["update"] if pair[0] in said}),
        ("linked as an update, wrongly", set(run.may_update) - either),
        ("linked as a repetition, wrongly", set(run.may_repeat - same)),
        ("linked as a contradiction, wrongly", set(run.contradicts - opposed)),
    ]


def _without_correction(updates: Iterable[Pair], live: set[str]) -> set[Pair]:
    return {(old, new) for old, new in updates if old in live and new not in live}


def _missed(kept: Outcome) -> list[tuple[str, set[Pair]]]:
    """Return the pairs whose relation a run did not notice, by what it is; older, newer."""
    run, known = kept.decided, kept.store.relations
    noticed = {in_order(*pair) for pair in run.closed | run.partly_closed} | run.may_update
    return [
        ("update", {pair for pair in known["update"] if in_order(*pair) not in noticed}),
        ("repetition", set(known["duplicate"] - run.merged - run.may_repeat)),
        ("contradiction", set(known["contradiction"] - run.contradicts)),
    ]


def _trimmed(half: Outcome) -> list[tuple[str, str, str]]:
    """Return the trimmed texts that have lost the answer of a question: what, the text, what is left of it."""
    lost = []
    trimmed = half.memories.filter(pl.col("trimmed").is_not_null()).select("memory_id", "content", "trimmed")
    for name, content, left in trimmed.iter_rows():
        if labelled_stores.loses_answer(half.store, name, content, left):
            lost.append(("trimmed at half the tokens, with the answer lost", content, left))
    return lost
