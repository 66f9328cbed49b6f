"""Finds the sentences of a text that an agent should know before every session, and the kind of fact each states.

Not here: the cues of a language (`lang/en/core_cues`), and which of these facts still hold and come first
(`consolidation/core_memory`).
"""

from functools import cache
from typing import Final

import polars as pl

from memory_pipeline.text.lang.ascii_patterns import Form, form_for
from memory_pipeline.text.lang.en import core_cues
from memory_pipeline.text.parse import clauses, tokens

HEALTH: Final = "health_and_safety"
INSTRUCTION: Final = "standing_instructions"
PREFERENCE: Final = "preferences"
IDENTITY: Final = "user_profile"
PROJECT: Final = "current_projects"
"""Kinds of core facts, named after the block that holds them."""

WORD: Final = r"[\p{L}\p{N}]+"
_WORD_CHARACTER: Final = r"[0-9a-z_\x{c0}-\x{1fff}\x{2c00}-\x{2dff}\x{3040}-\x{d7ff}\x{f900}-\x{ffef}]"
"""What `\\w` matches in folded text, in few ranges: a pattern with `\\w` takes up to 20 times as long to compile."""
LEAST_WORDS: Final = 4
"""Minimum number of words of a sentence that states something lasting."""
LEAST_OF_OWNER: Final = 3
"""The same of a sentence that begins with its speaker or "the user": subject, verb and object."""
LEAST_CERTAIN: Final = 2
"""Minimum number of words of a sentence whose cue leaves no doubt: a name, a diet, a lasting condition, a command."""
_COUNTS: Final = {"a": 1, "an": 1} | {word: n for n, word in enumerate(core_cues.COUNTS.split(), start=1)}
_DAYS: Final = {"day": 1, "week": 7, "month": 31}
MOST_WORDS: Final = 40
"""Longer sentences are lists or stories, about which a cue says little."""


def core_facts(texts: pl.Series) -> pl.DataFrame:
    """Return the sentences of texts that state a core fact.

    A sentence that leans on the one before it ("It gives me hives.") is joined to it. Questions, sentences about one
    day or one deed, about a place that is named elsewhere ("in there"), those about works of fiction, dreams and jokes,
    unfilled placeholders, and sentences without a cue state none.

    Args:
        texts: strings; null counts as empty.

    Returns:
        row (index of the text), place (of the sentence in it), sentence (on one line, as written), section (one of the
        kinds above), lasting (it states a lasting condition of a body, or a name), commands (it is an imperative),
        leans (nothing before it says whom its first words mean), of_user (false for projects and wishes of people other
        than the speaker). Sorted by row and place. Cost: about 30 s for a million sentences.
    """
    return _found(texts) if len(texts) else _found_in_nothing()


@cache
def _found_in_nothing() -> pl.DataFrame:
    """Return the empty table, without compiling the many patterns each time."""
    return _found(pl.Series([], dtype=pl.String))


def _found(texts: pl.Series) -> pl.DataFrame:
    """Return what `core_facts` does."""
    sentences = _sentences(texts)
    low, written = tokens.fold(sentences["sentence"]), pl.col("sentence")
    form, form_written = form_for(low), form_for(sentences["sentence"])
    introduced = written.str.contains(form_written(core_cues.INTRODUCTION)) | written.str.contains(
        form_written(core_cues.CALLED)
    )
    named = introduced & ~written.str.contains(r"\?") & ~_framed(pl.col("low"), form)
    cued = (
        sentences.with_columns(low=low, section=_sections(low, form), words=low.str.count_matches(form(WORD)))
        .with_columns(named=named)
        .with_columns(
            section=pl.when(pl.col("named") & pl.col("section").ne_missing(pl.lit(HEALTH)))
            .then(pl.lit(IDENTITY))
            .otherwise("section")
        )
        .filter(pl.col("section").is_not_null())
        .with_columns(commands=_commands(pl.col("low"), form))
    )
    lasting = _chronic(pl.col("low"), form) | pl.col("named")
    certain = lasting | _contains(pl.col("low"), core_cues.DIET, form) | pl.col("commands")
    owns = pl.col("low").str.contains(core_cues.OWNER_START)
    least = pl.when(certain).then(LEAST_CERTAIN).when(owns).then(LEAST_OF_OWNER).otherwise(LEAST_WORDS)
    stated = cued.filter(
        ~written.str.contains(core_cues.PLACEHOLDER),
        ~pl.col("low").str.contains(core_cues.THERE),
        ~(pl.col("commands") & _of_today(texts, cued)),
        pl.col("words").is_between(least, MOST_WORDS),
    )
    return stated.select(
        *sentences.columns,
        commands="commands",
        lasting=lasting,
        section="section",
        leans=written.str.contains(core_cues.LEANING_START),
        of_user=_of_user(pl.col("low"), form),
    )


def changed_medicines(texts: pl.Series) -> pl.Series:
    """Return the medicines of which each text states the end or another dose, in lower case, each once.

    Cost: a search for medicines in each text; the sentences of those that name one are read.
    """
    low = pl.Series("low", tokens.fold(texts))
    medicine = rf"(?-u:\b){core_cues.MEDICINE}(?-u:\b)"
    read = pl.DataFrame({"row": pl.int_range(len(low), eager=True), "low": low})
    sentence = (
        read.filter(pl.col("low").str.contains(medicine)).with_columns(pl.col("low").str.split(". ")).explode("low")
    )
    changed = sentence.filter(pl.col("low").str.contains(core_cues.DOSE_CHANGE)).select(
        "row", medicines=pl.col("low").str.extract_all(medicine)
    )
    named = changed.explode("medicines").drop_nulls().group_by("row").agg(pl.col("medicines").unique().sort())
    return read.join(named, on="row", how="left", maintain_order="left")["medicines"].fill_null([])


def ended_things(texts: pl.Series) -> pl.DataFrame:
    """Return the things that texts say in earnest somebody has given up or is done with, or have come to an end.

    Returns:
        row (index of the text), head (stem of the noun, as `marathon`), stems (all content words, as `half marathon`)
        and task (whether only a task can have ended so). Texts without one have no row.
    """
    read = pl.DataFrame({"row": pl.int_range(len(texts), eager=True), "low": tokens.fold(texts)})
    read = read.filter(in_earnest(pl.col("low")))
    patterns = {
        core_cues.GIVEN_UP: False,
        core_cues.COME_TO_AN_END: False,
        core_cues.DONE: True,
        core_cues.IS_DONE: True,
    }
    found = pl.concat(
        read.select("row", thing=pl.col("low").str.extract(pattern), task=pl.lit(task))
        for pattern, task in patterns.items()
    ).drop_nulls("thing")
    nouns = tokens.content_stems(found["thing"].str.replace(core_cues.OF_A_THING, ""))
    stems = tokens.content_stems(found["thing"])
    return found.select("row", head=nouns.list.last(), stems=stems, task="task").drop_nulls("head")


def medicines(sentences: pl.Series) -> pl.Series:
    """Return the medicines that each sentence names, in lower case."""
    return tokens.fold(sentences).str.extract_all(rf"(?-u:\b){core_cues.MEDICINE}(?-u:\b)")


def spans(sentences: pl.Series) -> pl.Series:
    """Return for how many days each sentence holds from the day on which it was said; null if it does not say."""
    low = pl.DataFrame({"low": tokens.fold(sentences)})
    ahead = ~pl.col("low").str.contains(core_cues.UP_TO_NOW) & ~pl.col("low").str.contains(core_cues.FROM_ANOTHER_DAY)
    count = pl.col("low").str.extract(core_cues.FOR_A_WHILE, 1)
    unit = pl.col("low").str.extract(core_cues.FOR_A_WHILE, 2).replace_strict(_DAYS, return_dtype=pl.Int64)
    spelled = pl.coalesce(count.replace_strict(_COUNTS, default=None), count.cast(pl.Int64, strict=False))
    return low.select(pl.when(ahead).then(spelled * unit)).to_series()


def _sentences(texts: pl.Series) -> pl.DataFrame:
    """Return the sentences of each text, those that lean on the one before joined to it."""
    pieces = clauses.split_clauses(texts).with_columns(
        part=pl.col("ends").shift(1, fill_value=False).cum_sum().over("row")
    )
    line = pl.col("clause").str.join("").str.replace_all(r"\s+", " ").str.strip_chars()
    parts = pieces.group_by("row", "part", maintain_order=True).agg(line.alias("sentence"))
    parts = parts.filter(pl.col("sentence") != "")
    several = pl.col("row").is_duplicated()
    alone = parts.filter(~several).select("row", "sentence", place=pl.lit(1, pl.UInt32))
    return pl.concat([alone, _joined(parts.filter(several))]).sort("row", "place").select("row", "place", "sentence")


def _joined(parts: pl.DataFrame) -> pl.DataFrame:
    """Return the sentences of texts with several parts, those that lean on the one before joined to it."""
    leans = _leans(pl.col("sentence")) & (pl.int_range(pl.len()).over("row") > 0)
    placed = parts.with_columns(place=(~leans).cum_sum().over("row"), words=pl.col("sentence").str.count_matches(WORD))
    first = pl.int_range(pl.len()).over("row", "place") == 0
    return (
        placed.filter(first | (pl.col("words").cum_sum().over("row", "place") <= MOST_WORDS))
        .group_by("row", "place", maintain_order=True)
        .agg(pl.col("sentence").str.join(" "))
        .select("row", "sentence", "place")
    )


def _leans(sentence: pl.Expr) -> pl.Expr:
    """Return whether a sentence leans on the one before.

    By its first words, by a pronoun or a "there" that nothing explains, as an exemption from a rule, or by being short.
    """
    return (
        sentence.str.contains(core_cues.LEANING_START)
        | ~sentence.str.extract(core_cues.PERSON).str.contains(core_cues.PERSON_NAMED).fill_null(value=True)
        | ~sentence.str.extract(core_cues.THING).str.contains(core_cues.THING_NAMED).fill_null(value=True)
        | ~sentence.str.extract(core_cues.OBJECT).str.contains(core_cues.IN_A_CLAUSE_BEFORE).fill_null(value=True)
        | sentence.str.contains(core_cues.AT_THAT_PLACE)
        | sentence.str.contains(core_cues.EXEMPTS)
        | sentence.str.contains(core_cues.ONE)
        | sentence.str.contains(core_cues.SHORT)
    )


def _sections(low: pl.Series, form: Form) -> pl.Series:
    """Return the kind of core fact that each folded sentence states; null for none."""
    frame = pl.DataFrame(
        {
            "low": low,
            "past_free": low.str.replace_all(form(core_cues.PASSIVE), " "),
            "taste": low.str.replace_all(form(core_cues.REACTION), " "),
        }
    )
    text = pl.col("low")
    since_free = text.str.replace_all(form(core_cues.SINCE), " ").str.replace_all(form(core_cues.LEFT_SIDE), " ")
    once = _contains(since_free, core_cues.ONE_TIME, form) | pl.col("past_free").str.contains(form(core_cues.PAST))
    once &= ~text.str.contains(form(core_cues.STANDING))
    talk = (
        text.str.contains(form(core_cues.SMALL_TALK))
        | text.str.contains(form(core_cues.ADDRESSED))
        | text.str.contains("!.*!")
    )
    certain = ~text.str.contains(form(core_cues.SUPPOSED))
    known = ~text.str.contains(form(core_cues.NOBODY_KNOWN)) | text.str.contains(form(core_cues.OF_THE_SPEAKER))
    talk |= text.str.contains(form(core_cues.HYPOTHETICAL))
    stays = ~text.str.contains(form(core_cues.RETRACTED))
    vouched = ~text.str.contains(form(core_cues.REPORTED))
    dated = _contains(text, core_cues.OWN_PROJECT, form) & ~text.str.contains(form(core_cues.RELATIVE_DAY))
    under_way = ~text.str.contains(form(core_cues.SOMEDAY)) & ~text.str.contains(form(core_cues.FINISHED))
    ruled = text.str.replace_all(form(core_cues.NO_LONGER), " ")
    home = ~text.str.contains(form(core_cues.A_PLACE_OF_THINGS))
    cases = {
        HEALTH: (_chronic(text, form) & certain & known & stays & ~text.str.contains(form(core_cues.FORMER)))
        | (_contains(text, core_cues.DOSE, form) & ~talk & ~text.str.contains(form(core_cues.RELATIVE_DAY)))
        | (_contains(text, core_cues.HEALTH, form) & known & ~once & ~talk),
        INSTRUCTION: (
            ((_contains(ruled, core_cues.INSTRUCTION, form) | _contains(text, core_cues.WISH, form)) & certain & known)
            | _commands(text, form)
        )
        & ~text.str.contains(form(core_cues.PASSING))
        & ~_of_the_moment(text, form),
        PREFERENCE: (
            (_contains(pl.col("taste"), core_cues.PREFERENCE, form) & ~once) | _contains(text, core_cues.DIET, form)
        )
        & ~text.str.contains(form(core_cues.PASSING))
        & vouched
        & ~talk,
        IDENTITY: _contains(text, core_cues.IDENTITY, form) & home & vouched & ~once & ~talk,
        PROJECT: (_contains(text, core_cues.PROJECT, form) & ~once | dated) & under_way & vouched & ~talk,
    }
    stands = ~text.str.contains(r"\?") & ~_framed(text, form)
    named = (pl.when(holds & stands).then(pl.lit(name)) for name, holds in cases.items())
    return frame.select(pl.coalesce(*named).alias("section")).to_series()


def in_earnest(low: pl.Expr) -> pl.Expr:
    """Return whether a folded text is in earnest: no fiction, joke, hearsay, hypothetical case or question."""
    supposed = low.str.contains(core_cues.HYPOTHETICAL) | low.str.contains(core_cues.SUPPOSED)
    return ~(_framed(low, str) | low.str.contains(core_cues.REPORTED) | supposed | low.str.contains(r"\?"))


def _chronic(text: pl.Expr, form: Form) -> pl.Expr:
    """Return whether a folded sentence states a lasting condition of a body."""
    return _contains(text.str.replace_all(form(core_cues.ABOUT_A_CONDITION), " "), core_cues.CHRONIC, form)


def _of_today(texts: pl.Series, sentences: pl.DataFrame) -> pl.Series:
    """Return whether each sentence is in a text about one day ("The bridge is shut today. Use the ferry.").

    Args:
        texts: the texts.
        sentences: row (of the text) and low (the folded sentence).
    """
    told = tokens.fold(texts.gather(sentences["row"]))
    return told.str.contains(core_cues.RELATIVE_DAY) & ~sentences["low"].str.contains(core_cues.FOR_GOOD)


def _framed(text: pl.Expr, form: Form) -> pl.Expr:
    """Return whether a folded sentence is about a work of fiction, a dream or a joke."""
    return text.str.contains(form(core_cues.FICTION)) | text.str.contains(form(core_cues.JOKE))


def _of_user(text: pl.Expr, form: Form) -> pl.Expr:
    """Return whether a project or wish in a folded sentence is the speaker's own; true for any other sentence."""
    section = pl.col("section")
    wish = _contains(text, core_cues.WISH, form) & ~_contains(text, core_cues.INSTRUCTION, form) & ~pl.col("commands")
    own_wish = text.str.contains(form(core_cues.OWN_WISH))
    return (
        pl.when(section == PROJECT)
        .then(_contains(text, core_cues.OWN_PROJECT, form))
        .when((section == INSTRUCTION) & wish)
        .then(own_wish)
        .when(section == PREFERENCE)
        .then(~text.str.contains(form(core_cues.OF_ANOTHER)) | text.str.contains(form(core_cues.OF_HOUSEHOLD)))
        .otherwise(pl.lit(value=True))
    )


def _commands(text: pl.Expr, form: Form) -> pl.Expr:
    """Return whether a folded sentence commands something."""
    idle = text.str.contains(form(core_cues.NO_COMMAND)) | text.str.contains(form(core_cues.QUOTED))
    return text.str.contains(form(core_cues.IMPERATIVE)) & ~idle


def _of_the_moment(text: pl.Expr, form: Form) -> pl.Expr:
    """Return whether a folded sentence is about the task at hand: today, "this run", a deed to do once."""
    at_hand = text.str.contains(form(core_cues.AT_HAND)) | text.str.contains(form(core_cues.RELATIVE_DAY))
    return at_hand & ~text.str.contains(form(core_cues.FROM_NOW_ON))


def _contains(text: pl.Expr, cues: str, form: Form) -> pl.Expr:
    """Return whether a folded text contains a cue as whole words."""
    parts = "|".join(line.strip() for line in cues.strip().splitlines()).replace(r"\w", _WORD_CHARACTER)
    return text.str.contains(form(rf"(?:^|[^\p{{L}}\p{{N}}])(?:{parts})(?:$|[^\p{{L}}\p{{N}}])"))
