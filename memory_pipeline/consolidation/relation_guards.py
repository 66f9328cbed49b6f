"""Keeps judged relations from joining what cannot be one fact: of other users or projects, and members of one set.

A person's allergies, medicines, prohibitions, instructions, preferences, skills and possessions collect: a second one
is no contradiction of the first, and is not merged with it; nor is it a newer value, except of the last three. Not
here: the judge (`judging`), and the guard of merges (`text/compare/merge_guard`).
"""

from typing import Final

import polars as pl

from memory_pipeline.consolidation import core_profile
from memory_pipeline.text.parse import facts, tokens
from memory_pipeline.text.score import core_facts

_SETS: Final = (core_facts.HEALTH, core_facts.INSTRUCTION, core_facts.PREFERENCE)
_SIDES: Final = ("older", "newer")
_NAME: Final = r"[\p{Ll},;0-9] \p{Lu}\p{L}+"
"""A capitalised word inside a sentence."""
_KEPT_APART: Final = (core_facts.HEALTH, core_facts.INSTRUCTION)
"""Kinds of facts of which even an update needs the same object; a preference may give way to another."""


def permitted(pairs: pl.DataFrame, points: pl.DataFrame, known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the pairs whose relation may hold.

    Args:
        pairs: older and newer (rows of `points`), relation.
        points: profile_id, content_hash, speaker, content, user_id, file, heading and project (see `whereabouts`) of
            the memories that are compared.
        known: table `core_sentences`: texts of which the kinds are known; default: none.

    Cost: the texts of the pairs are read once.
    """
    if pairs.is_empty():
        return pairs
    sides = _sides(pairs, points, known)
    apart = _other_people() | (_other_members() & ~_repeats()) | _other_names() | _elsewhere()
    return sides.filter(~apart).select(pairs.columns)


def one_fact(pairs: pl.DataFrame, points: pl.DataFrame, known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return the repetitions that may be one fact: not two members of a set, of which each names another thing.

    Takes what `permitted` takes.
    """
    if pairs.is_empty():
        return pairs
    return _sides(pairs, points, known).filter(~_other_members()).select(pairs.columns)


def _sides(pairs: pl.DataFrame, points: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Add what is read of the two texts of each pair, as older_ and newer_."""
    rows = pl.concat([pairs["older"], pairs["newer"]]).unique().sort()
    read = _read(points[rows], known).with_columns(row=rows)
    sides = pairs.with_row_index("pair")
    for side in _SIDES:
        named = read.rename({name: f"{side}_{name}" for name in read.columns if name != "row"})
        sides = sides.join(named, left_on=side, right_on="row", maintain_order="left")
    return sides


def _read(points: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return the user, and the kinds, words, medicines, names and negation of each text."""
    texts = points["content"]
    numbered = points.select(
        *("user_id", "file", "heading", "project"),
        kinds=core_profile.kinds(points, known),
        collects=core_facts.of_a_set(core_profile.numbers(points, known)),
    )
    negated = facts.extract(texts, tokens.fold(texts))["negated"]
    return numbered.with_columns(
        stems=tokens.content_stems(texts),
        medicines=core_facts.medicines(texts),
        names=texts.str.extract_all(_NAME).list.eval(pl.element().str.extract(r"(\p{Lu}\p{L}+)")),
        negated=negated,
    )


def _other_people() -> pl.Expr:
    """Return whether the two are stored for different people; whom they are about is the judge's to tell."""
    return pl.col("older_user_id").ne_missing(pl.col("newer_user_id"))


def _elsewhere() -> pl.Expr:
    """Return whether the two stand under other headings, repeat in two files, or instruct in two projects."""
    heading, file, project = (
        pl.col(f"older_{name}").ne_missing(pl.col(f"newer_{name}")) for name in ("heading", "file", "project")
    )
    instruct = pl.all_horizontal(pl.col(f"{side}_kinds").list.contains(core_facts.INSTRUCTION) for side in _SIDES)
    return heading | (file & _repeats()) | (project & instruct)


def _other_members() -> pl.Expr:
    """Return whether the two are members of one set: each names something that the other does not."""

    def both(*kinds: str) -> pl.Expr:
        held = pl.col("older_kinds").list.set_intersection("newer_kinds")
        return held.list.set_intersection(list(kinds)).list.len() > 0

    ends = (pl.col("older_negated") != pl.col("newer_negated")) | (_shared("medicines") > 0)
    update = pl.col("relation") == "update"
    collected = both(*_SETS) | pl.all_horizontal(f"{side}_collects" for side in _SIDES)
    return _told_apart("stems") & ((collected & ~update) | (both(*_KEPT_APART) & update & ~ends))


def _repeats() -> pl.Expr:
    return pl.col("relation") == "duplicate"


def _other_names() -> pl.Expr:
    """Return whether two texts that are said to repeat each other each name something that the other does not."""
    return _repeats() & _told_apart("names")


def _told_apart(name: str) -> pl.Expr:
    """Return whether each of the two has a word of a list that the other lacks."""
    return pl.all_horizontal(
        pl.col(f"{one}_{name}").list.set_difference(f"{other}_{name}").list.len() > 0
        for one, other in (("older", "newer"), ("newer", "older"))
    )


def _shared(name: str) -> pl.Expr:
    return pl.col(f"older_{name}").list.set_intersection(f"newer_{name}").list.len()
