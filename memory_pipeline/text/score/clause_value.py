"""Keeping: what each clause of a text is worth, by a linear model over features that can be read.

Facts, names, numbers, dates, preferences, promises and changes are asked for later; greetings, thanks, praise and mere
questions are not. What is not here: how a text is cut (`clauses`), how the model is fitted (`fit_clause_value`)
and what a budget leaves of a store (`consolidation/trimming`).
"""

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.lang.en.lexicon import FIRST_PERSON
from memory_pipeline.text.parse import facts
from memory_pipeline.text.parse.clauses import split_clauses
from memory_pipeline.text.parse.tokens import fold, occurrences

MODEL: Final = "keep"
"""Name of the model's file in `models/`."""
LEAST: Final = 0.001
"""Worth of a clause that the model finds worthless; of such clauses the longest goes first."""
_IN_STORE: Final = 0.5
"""How much of a word's weight is its rarity in the store; the rest is that times its rarity in the language."""
_UNITS: Final = 1000
"""Words weigh whole thousandths, so that sums are exact in any order."""

COUNTED: Final = ("names", "numbers", "dates", "own")
"""Features that count what a clause states, beside the words that state it: `own` is a statement about oneself."""


def _any_of(expressions: str) -> str:
    parts = (" ".join(one.split()) for one in expressions.split(";"))
    return rf"(?-u:\b)(?:{'|'.join(parts)})(?-u:\b)"


_OWN: Final = (
    _any_of("""
        i(?:'m| am)(?: not)? an?; i (?:don't|do not|can't|cannot|never|no longer); i've got; call me;
        i (?:have|own|like|love|hate|smoke|drive|speak|use|live|work|play|prefer|need|quit);
        my [a-z]+ (?:is|was|are|has|have|likes?|loves?|hates?|lives?|works?|died)
    """)
    + r"|^\W*i(?:'m| am)(?: not)? [\p{L}-]+(?: in [\p{L} ]+)?\W*$"
)
"""A plain statement of what one is, has, does or likes."""
CUES: Final = {
    "first_person": _any_of("; ".join(sorted(FIRST_PERSON))),
    "third_person": _any_of("he; she; they; his; her; their; him; them; he's; she's; they're; they've"),
    "moment": _any_of("""
        yesterday; today; tonight; last; ago; recently; tomorrow; next; since; weeks?; months?; years?; this
        (?:morning|afternoon|evening|week|weekend|month|year|spring|summer|fall|autumn|winter);
        (?:mon|tues|wednes|thurs|fri|satur|sun)days?
    """),
    "happened": _any_of("""
        went; was; were; had; met; saw; came; got; took; bought; made; told; gave; found; won; lost; began; taught;
        left; wrote; built; ran; grew; flew; drove; sold; spent; [a-z]{3,}ed
    """),
    "promised": _any_of("""
        i'll; we'll; i will; we will; going to; gonna; plan(?:s|ning|ned)? (?:to|on); must; have to; need to; deadline;
        appointment; signed up; booked; scheduled; looking forward; want to; hope to; hoping; aim(?:ing)? to; goal
    """),
    "preferred": _any_of("""
        favou?rite; prefer(?:s|red)?; love[sd]?; like[sd]?; enjoy(?:s|ed)?; hate[sd]?; can't stand; fan of; into;
        passion(?:ate)?; dream
    """),
    "changed": _any_of("""
        now; no longer; anymore; instead; actually; changed?; moved?; switched; quit; stopped; new; used to; became;
        rescheduled; updated?; increased; improved; finally; just
    """),
    "states": _any_of("""
        my [a-z]+ (?:is|was|are|has|have); i (?:am|was|have|had|own|work|live|study|studied|speak|play|drive|smoke|use);
        i(?:'m| am) (?:not )?[a-z]+; i(?:'ve)? (?:got|never|can't|don't|do not|cannot); call me; called; named; is an?
    """),
    "quoted": '["\u201c]\\w',
    "asks": r"\?\W*$",
    "second_person": _any_of("you; your; you're; you've; you'll; you'd; yours; ya"),
    "feeling": _any_of("""
        feel(?:s|ing)?; felt; happy; glad; proud; excited; amazing; awesome; great; nice; wonderful; cool; important;
        inspiring; beautiful; sounds; looks; wow; love that
    """),
    "greets": _any_of("""
        thanks?; thank you; congrats; congratulations; welcome; sorry; cheers; bye; take care; good luck; hey; hi;
        hello; no problem; no worries; appreciate
    """),
    "exclaims": r"!\W*$",
    "advises": _any_of("""
        should; could; can; may; might; would; consider; ensure; make sure; try; let's; please; here(?:'s| is| are);
        let me know
    """),
}
"""Cues of a clause in lower case: each is a feature, the weight of the clause's words where the cue is there."""
_ASSISTANTS: Final = ("assistant", "ai", "bot", "agent", "system", "chatbot")
CHAT: Final = ("asks", "second_person", "feeling", "greets", "exclaims", "advises")
"""Cues of chat and of what concerns only the moment."""
TOLD: Final = (*(name for name in CUES if name not in CHAT), "answers")
"""Cues of what is told."""
FEATURES: Final = ("words", *COUNTED, *TOLD, *CHAT, "assistant")
"""Features of a clause, in the order in which they are summed.

`words` is the weight of its distinct telling words, 0..1 each. Names, numbers and dates are counted, and a statement
about oneself counts as one of them; names of those who speak are none. Every other feature is `words` again where
something holds: a cue is there, the memory answers a question (`answers`, see `asked`), an assistant speaks
(`assistant`). So the model is the weight of the words times what kind of clause says them, plus something a fact.
"""


def asked(memories: pl.DataFrame) -> pl.Series:
    """Whether the memory before, by somebody else in the same session, asks.

    Args:
        memories: profile_id, session_id, speaker, question (as in `enrichment`); in order of time within each session.
    """
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in ("profile_id", "session_id"))
    other = pl.col("speaker") != pl.col("speaker").shift(1)
    asking = same & other & pl.col("question").shift(1)
    return memories.select(asked=asking.fill_null(value=False))["asked"]


def features(memories: pl.DataFrame) -> pl.DataFrame:
    """Cut memories into clauses and read what the model looks at.

    Args:
        memories: profile_id, speaker, text (what is shown), asked (see `asked`).

    Returns:
        The columns of `clauses` and `FEATURES`. Rarity is counted over the memories given. Cost: about 20 µs a memory.
    """
    cut = split_clauses(memories["text"])
    low = fold(cut["clause"])
    speakers = memories.group_by("profile_id").agg(speakers=pl.col("speaker").drop_nulls().unique())
    said_by = memories.select("profile_id", "speaker").join(
        speakers, on="profile_id", how="left", maintain_order="left"
    )
    assistant = memories["speaker"].str.to_lowercase().is_in(_ASSISTANTS).fill_null(value=False)
    return _read(
        cut,
        low,
        words=_words(low, memories["profile_id"].gather(cut["row"]), cut["row"]),
        speakers=said_by["speakers"].gather(cut["row"]),
        answers=memories["asked"].gather(cut["row"]),
        assistant=assistant.gather(cut["row"]),
    )


def alone(texts: pl.Series) -> pl.DataFrame:
    """What the clauses of each text are worth by themselves, whatever stands beside it and whoever says it.

    Args:
        texts: any texts; one that is null has no clause.

    Returns:
        The columns of `clauses` and value, as by `values`, but a word weighs its rarity in the language, so that more
        memories change nothing. Cost: about 20 µs a text.
    """
    cut = split_clauses(texts)
    low = fold(cut["clause"])
    never = pl.repeat(value=False, n=cut.height, eager=True)
    nobody = pl.Series([[]], dtype=pl.List(pl.String)).new_from_index(0, cut.height)
    read = _read(cut, low, words=_rare(low), speakers=nobody, answers=never, assistant=never)
    return worth(read, coefficients(MODEL))


def _read(
    cut: pl.DataFrame, low: pl.Series, *, words: pl.Series, speakers: pl.Series, **said: pl.Series
) -> pl.DataFrame:
    """Add the features to clauses, given the weight of their words, who speaks with whom, and how they are said."""
    read = facts.extract(cut["clause"], low)
    names = pl.DataFrame({"names": read["entities"], "speakers": speakers})
    known = cut.with_columns(
        words=words,
        names=names.select(pl.col("names").list.set_difference("speakers").list.len().cast(pl.Float64)).to_series(),
        numbers=read["numbers"].list.len().cast(pl.Float64),
        dates=read["dates"].list.len().cast(pl.Float64),
        own=low.str.contains(_OWN).cast(pl.Float64),
    )
    holds = {name: low.str.contains(pattern) for name, pattern in CUES.items()} | said
    return known.with_columns(
        (pl.col("words") * pl.Series(name, mask).cast(pl.Float64)).alias(name) for name, mask in holds.items()
    )


def values(memories: pl.DataFrame) -> pl.DataFrame:
    """What each clause of each memory is worth, by the model `models/keep.toml`.

    Args:
        memories: profile_id, speaker, text (what is shown), asked (see `asked`).

    Returns:
        The columns of `clauses` and value (positive; about the number of words that somebody may ask for).
    """
    return worth(features(memories), coefficients(MODEL))


def worth(read: pl.DataFrame, weights: Mapping[str, float]) -> pl.DataFrame:
    """Worth of clauses by their `features`: the weighted sum, at least `LEAST`."""
    value = reduce(add, (pl.col(name) * pl.lit(float(weights[name])) for name in FEATURES))  # always in this order
    return read.select("row", "place", "clause", "ends", "tokens", value=value.clip(LEAST, None))


def _words(low: pl.Series, profiles: pl.Series, rows: pl.Series) -> pl.Series:
    """Weight of the distinct telling words of each clause.

    A word that df of the n memories of its profile say weighs 1 - log(df) / log(n + 1), the less the more ordinary it
    is in the language.
    """
    telling = occurrences(low).filter(~pl.col("stop") & ~pl.col("small_talk"))
    place = telling["row"]
    said = telling.select(
        "term", "rarity", at="row", memory=rows.gather(place), profile_id=profiles.gather(place)
    ).unique(["at", "term"])
    common = said.group_by("profile_id", "term").agg(df=pl.col("memory").n_unique())
    sizes = (
        pl.DataFrame({"profile_id": profiles, "memory": rows}).group_by("profile_id").agg(n=pl.col("memory").n_unique())
    )
    known = said.join(common, on=["profile_id", "term"]).join(sizes, on="profile_id")
    weight = 1.0 - np.log(known["df"].to_numpy()) / np.log1p(known["n"].to_numpy())
    weight *= _IN_STORE + (1.0 - _IN_STORE) * 0.01 * known["rarity"].to_numpy()
    units = pl.Series(np.rint(_UNITS * weight), dtype=pl.Int64)
    return _summed(known.select("at", units=units), len(low), 1.0 / _UNITS)


def _rare(low: pl.Series) -> pl.Series:
    """Rarity in the language of the distinct telling words of each clause, 0..1 each."""
    telling = occurrences(low).filter(~pl.col("stop") & ~pl.col("small_talk")).unique(["row", "term"])
    return _summed(telling.select(at="row", units=pl.col("rarity").cast(pl.Int64)), len(low), 0.01)


def _summed(units: pl.DataFrame, clauses: int, unit: float) -> pl.Series:
    sums = units.group_by("at").agg(pl.col("units").sum())
    total = np.zeros(clauses)
    total[sums["at"].to_numpy()] = sums["units"].to_numpy() * unit
    return pl.Series("words", total)
