"""Measures which questions of `review` are worth asking: how often a pair of a confidence is what it is taken for.

Each labelled store is consolidated once, and its pairs are compared with the labels. Not here: the order of the
questions (`consolidation/questions`), and how pairs are judged.

    python measure_review.py FOLDER      # of labelled stores, such as ../shared/fresh
"""

import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import labelled_stores
import polars as pl
from labelled_stores import LabelledStore

from memory_pipeline.consolidation import questions
from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.simulation import simulate

_AS: Final = {"update": ("update", "partial"), "repeat": ("repeat",), "conflict": ("conflict",)}
"""Labels by which a question is answered with yes."""


def pairs(store: LabelledStore) -> pl.DataFrame:
    """Return the pairs of which one run of a store is unsure, those most worth an answer first.

    Returns:
        confidence; right: the labels say what is asked; related: they say that, or another relation; asked: whether
        `review` asks about it.
    """
    events = replay.stored(store.turns)
    night = datetime.combine(store.last, labelled_stores.NIGHT)
    done = next(simulate(lambda _: events, replay.policy_for(preset="default"), [night], max_archived_share=1.0))
    known = pl.col("relation").is_in(list(questions.ANSWERS))
    possible = done.tables["fact_changes"].filter(known, ~pl.col("decided")).with_columns(likelihood="confidence")
    of_run = (done.after["memories"], done.tables["core_sentences"])
    asked = set(questions.ranked(possible, *of_run, floor=questions.PEOPLE).select("memory_id", "other_id").iter_rows())
    rows = []
    for row in questions.ranked(possible, *of_run).iter_rows(named=True):
        label = labelled_stores.label(store, row["memory_id"], row["other_id"])
        wanted = _AS[questions.ANSWERS[row["relation"]]]
        is_asked = (row["memory_id"], row["other_id"]) in asked
        rows.append((row["confidence"], label in wanted, label != "none", is_asked))
    schema = {"confidence": pl.Float64(), **dict.fromkeys(("right", "related", "asked"), pl.Boolean())}
    return pl.DataFrame(rows, schema=schema, orient="row")


def shares(found: pl.DataFrame) -> pl.DataFrame:
    """Count pairs by tenths of their confidence: pairs, right, related, asked."""
    tenth = (pl.col("confidence") * 10).floor() / 10
    return (
        found.group_by(confidence=tenth)
        .agg(pl.len().alias("pairs"), pl.col("right", "related", "asked").sum())
        .sort("confidence")
    )


def report(stores: Iterable[LabelledStore]) -> str:
    """Return the shares of all stores, and what `review` asks of them, as text."""
    all_stores = [*stores]
    found = pl.concat([pairs(store) for store in all_stores])
    asked, memories = found.filter("asked"), sum(store.turns.height for store in all_stores)
    with pl.Config(tbl_rows=-1, tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True):
        table = str(shares(found))
    return (
        f"{table}\n{asked.height} of {found.height} pairs asked about, of {memories} memories; {asked['right'].sum()} "
        f"right, {asked['related'].sum()} related; {found.filter('related', ~pl.col('asked')).height} related are not"
    )


if __name__ == "__main__":
    sys.stdout.write(f"{report(labelled_stores.load(Path(sys.argv[1])))}\n")
