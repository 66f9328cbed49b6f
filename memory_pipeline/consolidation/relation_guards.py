"""Keeps judged relations from joining what cannot be one fact.

Memories of two users, under two headings, in two files or instructions of two projects are not related, and what only
refers back to an earlier one does not change it; of two that repeat each other, only those merge of which at most one
has figures, days or names of its own. Not here: the judge (`judging`), and the guard of merges of similar texts
(`text/compare/merge_guard`).
"""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import polars as pl

from memory_pipeline.consolidation import core_sentences, whereabouts
from memory_pipeline.text.compare import merge_guard
from memory_pipeline.text.parse import facts, tokens
from memory_pipeline.text.score import core_facts, references, sections

STATED: Final = ("changed_value", "ended")
"""Rules of updates that the newer text states outright; such an update may end one statement of several."""

DOUBT: Final = 0.15
"""Minimum confidence of an update that is reported although it makes no link."""

_SIDES: Final = ("older", "newer")
_NAME: Final = rf"[\p{{Ll}},;0-9] \p{{Lu}}\p{{L}}+|{merge_guard.LETTER}"
"""A capitalised word inside a sentence, or a lone capital."""
_CAPITAL: Final = r"\b\p{Lu}[\p{L}0-9]+"
"""A capitalised word, a code or its beginning."""
_NAMED: Final = ("numbers", "dates", "names")
_MOST_ADDED: Final = 0.63
"""Most of the weight of words that a reference to a text has beside those of the text, against theirs: one with more
refers to something else ("the gate code is that of the shed"), which may be a change."""


def permitted(pairs: pl.DataFrame, points: pl.DataFrame, known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the pairs whose relation may hold: older and newer (rows of `points`), relation, confidence and rule.

    The points are profile_id, content_hash, speaker, content, user_id, file, heading, project and undated (see
    `whereabouts`) of the memories that are compared, `known` is table `core_sentences`. Cost: the texts of the pairs
    are read once.
    """
    if pairs.is_empty():
        return pairs
    places = ("user_id", "file", "heading", "project")
    rows = pl.concat([pairs["older"], pairs["newer"]]).unique().sort()
    texts = points[rows]
    read = texts.select(
        *places,
        kinds=core_sentences.kinds(texts, known),
        member=core_facts.members(core_sentences.numbers(texts, known)) >= core_facts.MEMBER_FROM,
        row=rows,
    )
    sides = _sides(pairs, read).filter(~_elsewhere())
    found = sides.filter(~_beside_each_other(sides, points["content"])).select(pairs.columns)
    return _asked_if_undated(found.filter(~_refer_back(found, points, known)), points["undated"])


def _asked_if_undated(pairs: pl.DataFrame, undated: pl.Series) -> pl.DataFrame:
    """Return the pairs, those that only a day that nobody gave would make an update no surer than a doubt.

    A note without a day of its own is dated by its file or import. It may be as old as any: what has a day is outdated
    by it only where its text says so; else somebody is asked.
    """
    older, newer = (undated.gather(pairs[side]) for side in _SIDES)
    guessed = (pl.col("relation") == "update") & ~pl.col("rule").is_in(STATED) & newer & ~older
    least = pl.min_horizontal("confidence", pl.lit(DOUBT))
    return pairs.with_columns(confidence=pl.when(guessed).then(least).otherwise("confidence"))


def _refer_back(pairs: pl.DataFrame, points: pl.DataFrame, known: pl.DataFrame | None) -> pl.Series:
    """Return which pairs are no repeat, and in which the newer text says nothing but that all is as the older says."""
    newer = points[pairs["newer"]]
    likely = core_facts.referring(core_sentences.numbers(newer, known)) >= references.LEAST
    places = (likely.fill_null(value=False) & (pairs["relation"] != "duplicate")).arg_true()
    older = points["content"].gather(pairs["older"].gather(places))
    said = zip(newer["content"].gather(places), older, strict=True)
    only = pl.Series([_says_nothing_else(text, other) for text, other in said], dtype=pl.Boolean)
    return pl.Series([False], dtype=pl.Boolean).new_from_index(0, len(pairs)).scatter(places, only)


def _says_nothing_else(reference: str, source: str) -> bool:
    """Return whether a text that refers back names little but what another is about."""
    [shared], whole = references.shared(reference, [source])
    return bool(whole - shared <= _MOST_ADDED * shared)


def one_fact(pairs: pl.DataFrame, points: pl.DataFrame, known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the repetitions that may be one fact: not two of which each names a figure, day or name of its own.

    Nor two of which one says of B and A what the other says of A and B: the names that they share stand in reverse
    order, or the words if they are the same (those of a passive are not). Of two about health or safety neither may
    have a word of its own: a second allergy is never taken for the first.

    Takes what `permitted` takes.
    """
    if pairs.is_empty():
        return pairs
    rows = pl.concat([pairs["older"], pairs["newer"]]).unique().sort()
    texts = points["content"].gather(rows)
    found = facts.extract(texts, tokens.fold(texts)).select("numbers", "dates")
    names = texts.str.extract_all(_NAME).list.eval(pl.element().str.extract(r"(\p{Lu}\p{L}*)"))
    kinds = core_sentences.kinds(points[rows], known)
    read = found.with_columns(
        names=names,
        stems=tokens.content_stems(texts),
        kinds=kinds,
        capitals=texts.str.extract_all(_CAPITAL),
        words=tokens.fold(texts).str.extract_all(r"[\p{L}\p{N}]+").list.sort(),
        row=rows,
    )
    vital = pl.all_horizontal(pl.col(f"{side}_kinds").list.contains(sections.HEALTH) for side in _SIDES)
    apart = pl.any_horizontal(_told_apart(name) for name in _NAMED) | (vital & _told_apart("stems"))
    sides = _sides(pairs, read).filter(~apart)
    same_words = pl.col("older_words") == pl.col("newer_words")
    orders = sides.select(
        *(pl.col(f"{side}_capitals") for side in _SIDES),
        *(pl.when(same_words).then(f"{side}_stems").otherwise([]).alias(f"{side}_said") for side in _SIDES),
    )
    converse = [_reversed(*row[:2], fewest=2) or _reversed(*row[2:], fewest=3) for row in orders.iter_rows()]
    return sides.filter(~pl.Series(converse, dtype=pl.Boolean)).select(pairs.columns)


def _reversed(older: list[str], newer: list[str], *, fewest: int) -> bool:
    """Return whether the words that two lists share, at least so many, stand in reverse order."""
    shared = [word for word in dict.fromkeys(older) if word in newer]
    return len(shared) >= fewest and shared == [word for word in dict.fromkeys(newer) if word in older][::-1]


def _sides(pairs: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Add what is read of the two texts of each pair, as older_ and newer_."""
    sides = pairs.with_row_index("pair")
    for side in _SIDES:
        named = read.rename({name: f"{side}_{name}" for name in read.columns if name != "row"})
        sides = sides.join(named, left_on=side, right_on="row", maintain_order="left")
    return sides


def _elsewhere() -> pl.Expr:
    """Return whether the two are of other users, under other headings, repeat in two files, or instruct two projects.

    What is under a heading, or under none, may change what is under headings below it and the other way round, but does
    not repeat it. What two headings beside each other name is often what their lines are about ("Acme", "Globex"),
    which the judge does not read. Whom two texts of one user are about is the judge's to tell.
    """
    user, heading, file, project = (
        pl.col(f"older_{name}").ne_missing(pl.col(f"newer_{name}"))
        for name in ("user_id", "heading", "file", "project")
    )
    instruct = pl.all_horizontal(pl.col(f"{side}_kinds").list.contains(sections.INSTRUCTION) for side in _SIDES)
    repeats = pl.col("relation") == "duplicate"
    beside = ~pl.any_horizontal(_below(one, other) for one, other in (_SIDES, _SIDES[::-1]))
    return user | (heading & (beside | repeats)) | (file & repeats) | (project & instruct)


def _beside_each_other(sides: pl.DataFrame, texts: pl.Series) -> pl.Series:
    """Return which pairs would deny each other though each of the two names one of several that hold beside each other.

    Two languages that somebody speaks are no dispute, whoever is named before them. The two end with other words: where
    one dislikes what the other likes, or gives another figure of it, they end with what they share.
    """
    named = pl.all_horizontal(pl.col(f"{side}_member").fill_null(value=False) for side in _SIDES)
    rows = sides.select((pl.col("relation") == "conflict") & named).to_series().arg_true()
    stems = (tokens.content_stems(texts.gather(sides[side].gather(rows))) for side in _SIDES)
    ends = (_end_apart(*said) for said in zip(*stems, strict=True))
    found = pl.repeat(value=False, n=len(sides), dtype=pl.Boolean, eager=True)
    return found.scatter(rows, pl.Series(list(ends), dtype=pl.Boolean))


def _end_apart(older: Sequence[str], newer: Sequence[str]) -> bool:
    """Return whether two texts share a word, and each goes on after the last one that they share; a figure is none."""
    shared = {*older} & {*newer}
    ends = ([*takewhile(lambda stem: stem not in shared, reversed(side))] for side in (older, newer))
    return bool(shared) and all(any(not stem[0].isdigit() for stem in end) for end in ends)


def _below(one: str, other: str) -> pl.Expr:
    """Return whether the headings of one side are those of the other, or below them; all are below none."""
    upper = pl.col(f"{other}_heading")
    return upper.is_null() | (pl.col(f"{one}_heading") + whereabouts.JOIN).str.starts_with(upper + whereabouts.JOIN)


def _told_apart(name: str) -> pl.Expr:
    """Return whether each of the two has a word of a list that the other lacks."""
    return pl.all_horizontal(
        pl.col(f"{one}_{name}").list.set_difference(f"{other}_{name}").list.len() > 0
        for one, other in (("older", "newer"), ("newer", "older"))
    )
