"""Reads what each sentence of a memory states, once for each text: table `core_sentences`.

Not here: the reader (`text.score.core_facts`), and what of it is shown (`core_profile`).
"""

from collections.abc import Collection
from typing import Final

import polars as pl

from memory_pipeline.consolidation import reuse
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import program
from memory_pipeline.text.embed import encoder
from memory_pipeline.text.parse.speakers import by_assistant
from memory_pipeline.text.score import core_facts

_TEXT: Final = ["profile_id", "content_hash"]
_SENTENCE: Final = (
    *("place", "sentence", "section", "commands", "lasting", "leans", "of_user", "owner", "introduces"),
    *("passing", "harm"),
)


def sentences(memories: pl.DataFrame, kept: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return table `core_sentences`: what the texts of people state, whether it still holds or not.

    `kept` is that table as any earlier run left it; default: none. Cost: about 10 ms of one core per sentence of texts
    that are not in `kept`.
    """
    by = {"read": program.digest(), "model": encoder.SENTENCES}
    texts = memories.filter(~by_assistant(pl.col("speaker"))).select(*_TEXT, "speaker", "content")
    texts = texts.unique(_TEXT, keep="first", maintain_order=True)
    before = (TABLES["core_sentences"].empty() if kept is None else kept).filter(model=by["model"])
    made_by = _texts(before, "read")
    same = reuse.unchanged(made_by, texts.select(*_TEXT, read=pl.lit(by["read"]))).drop("read")
    new = texts.join(same, on=_TEXT, how="anti", maintain_order="left").with_row_index("row")
    everything = (
        same if new.is_empty() else pl.concat([same, _chosen(new, before).select(same.columns).cast(same.schema)])
    )
    return TABLES["core_sentences"].conform(
        everything.sort(_TEXT)
        .group_by("profile_id", maintain_order=True)
        .agg(
            **{name: pl.lit(value) for name, value in by.items()},
            texts=pl.struct("content_hash", "numbers", "sentences"),
        )
    )


def _chosen(new: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Return numbered texts with what the reader says of them, and which of their sentences may be core memory."""
    read = new.with_columns(numbers=numbers(new, before))
    if encoder.missing():  # what could not be read is read when it can be
        read = read.filter(pl.col("numbers").list.len() > 0).drop("row").with_row_index("row")
    found = core_facts.core_facts(read["content"], read["speaker"], readings=read["numbers"])
    chosen = found.group_by("row").agg(sentences=pl.struct(_SENTENCE))
    return read.join(chosen, on="row", how="left").with_columns(pl.col("sentences").fill_null([]))


def of_texts(known: pl.DataFrame, hashes: Collection[str]) -> pl.DataFrame:
    """Return table `core_sentences` with some of its texts only; no row for a profile without any of them."""
    named = pl.element().struct.field("content_hash").is_in(list(hashes))
    few = known.with_columns(pl.col("texts").list.eval(pl.element().filter(named)))
    return few.filter(pl.col("texts").list.len() > 0)


def hashes_of(known: pl.DataFrame) -> frozenset[str]:
    """Return the hashes of the texts of table `core_sentences`."""
    return frozenset(_texts(known)["content_hash"])


def numbers(texts: pl.DataFrame, known: pl.DataFrame | None) -> pl.Series:
    """Return what the reader says of each text: the numbers of all its sentences in a row (see `core_facts.read`).

    `texts` has profile_id, content_hash, speaker and content; those in `known`, table `core_sentences`, need not be
    read again. What assistants say is not read.
    """
    if texts.is_empty():
        return pl.Series("added", [], dtype=pl.List(pl.Float64))
    table = TABLES["core_sentences"].empty() if known is None else known.filter(model=encoder.SENTENCES)
    own = _texts(table, "read").select(*_TEXT, "numbers", fits=pl.col("read") == program.digest())
    silent = by_assistant(pl.col("speaker")).fill_null(value=False)
    found = (
        texts.select(*_TEXT, "speaker")
        .join(own, on=_TEXT, how="left", maintain_order="left")
        .select(
            numbers=pl.when(silent).then(pl.lit([], own.schema["numbers"])).otherwise("numbers"),
            fits=silent | pl.col("fits").fill_null(value=False),
        )
    )
    read, fits = found["numbers"], found["fits"]
    if not fits.all():  # a program that splits texts otherwise may have read them
        other = (~fits).arg_true()
        fits = fits.scatter(
            other, core_facts.fit(texts["content"].gather(other), read.gather(other)).fill_null(value=False)
        )
    rows = pl.DataFrame({"numbers": read, "fits": fits}).with_row_index("row")
    unread = texts.filter(~fits)
    added = rows.filter(~pl.col("fits")).select("row", added=core_facts.read(unread["content"], unread["speaker"]))
    together = rows.join(added, on="row", how="left", maintain_order="left")
    return together.select(pl.coalesce("added", "numbers")).to_series()


def kinds(texts: pl.DataFrame, known: pl.DataFrame | None) -> pl.Series:
    """Return the kinds of core facts that each text states, a list each; arguments as for `numbers`."""
    numbered = texts.select(*_TEXT, "speaker", "content").with_row_index("row")
    found = read(numbered, known).group_by("row").agg(kinds=pl.col("section").unique())
    return numbered.join(found, on="row", how="left", maintain_order="left")["kinds"].fill_null([])


def read(rows: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return what `core_facts.core_facts` returns for numbered memories, reading only texts that are not known."""
    texts = _texts(TABLES["core_sentences"].empty() if known is None else known)
    new = rows.join(texts, on=_TEXT, how="anti", maintain_order="left")
    read = core_facts.core_facts(new["content"], new["speaker"])
    read = read.with_columns(new["row"].gather(read["row"]).alias("row"))
    found = rows.select("row", *_TEXT).join(texts, on=_TEXT).explode("sentences").drop_nulls("sentences")
    taken = found.select("row", "sentences").unnest("sentences")
    return pl.concat([read, taken.select(read.columns).cast(read.schema)]).sort("row", "place")


def _texts(known: pl.DataFrame, *by: str) -> pl.DataFrame:
    """Return the texts of table `core_sentences`, a row each: profile_id, `by`, content_hash, numbers, sentences."""
    return known.select("profile_id", *by, "texts").explode("texts").drop_nulls("texts").unnest("texts")
