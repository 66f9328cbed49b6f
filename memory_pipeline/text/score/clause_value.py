"""Clause value: the number of words of a clause that may be asked for later, by a linear model over readable features.

Facts, names, numbers, dates, preferences, promises and changes are asked for; greetings, thanks, praise and mere
questions are not. Not here: splitting into clauses (`parse/clauses`), fitting of the model
(`research/fit_clause_value.py`), and what remains of a store under a budget (`consolidation/trimming`).
"""

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.lang.ascii_patterns import found
from memory_pipeline.text.lang.en.lexicon import FIRST_PERSON
from memory_pipeline.text.parse import facts
from memory_pipeline.text.parse.clauses import split_clauses
from memory_pipeline.text.parse.speakers import by_assistant
from memory_pipeline.text.parse.tokens import few_words, fold, occurrences

MODEL: Final = "keep"
"""Name of the model file in `models/`."""
MIN_VALUE: Final = 0.001
"""Value of a clause that the model finds worthless; of such clauses the longest is dropped first."""
_STORE_SHARE: Final = 0.5
"""Share of a word's weight from its rarity in the store; the rest is that times its rarity in the language."""
_UNITS: Final = 1000
"""Weights of words are whole thousandths, so that sums are exact in any order."""

COUNTED_FEATURES: Final = ("names", "numbers", "dates", "own")
"""Counts of facts in a clause; `own` is a plain statement about the speaker."""


def _any_of(expressions: str) -> str:
    parts = (" ".join(one.split()) for one in expressions.split(";"))
    return rf"(?-u:\b)(?:{'|'.join(parts)})(?-u:\b)"


_SELF_DESCRIPTION: Final = (
    _any_of("""
        i(?:'m| am)(?: not)? an?; i (?:don't|do not|can't|cannot|never|no longer); i've got; call me;
        i (?:have|own|like|love|hate|smoke|drive|speak|use|live|work|play|prefer|need|quit);
        my [a-z]+ (?:is|was|are|has|have|likes?|loves?|hates?|lives?|works?|died)
    """)
    + r"|^\W*i(?:'m| am)(?: not)? [\p{L}-]+(?: in [\p{L} ]+)?\W*$"
)
"""A plain statement of what the speaker is, has, does or likes."""
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
"""Cues in a folded clause: each is a feature, the weight of the clause's words where the cue matches."""
CHAT_CUES: Final = ("asks", "second_person", "feeling", "greets", "exclaims", "advises")
"""Cues of chat and of matters of the moment."""
STATEMENT_CUES: Final = (*(name for name in CUES if name not in CHAT_CUES), "answers")
"""Cues of statements."""
FEATURES: Final = ("words", *COUNTED_FEATURES, *STATEMENT_CUES, *CHAT_CUES, "assistant")
"""Features of a clause, in the order in which they are summed.

`words` is the weight of its distinct content words, 0..1 each. Names other than those of the speakers, numbers, dates
and plain statements about the speaker are counted. Every other feature equals `words` where a condition holds: a cue
matches, the memory answers a question (`answers`, see `follows_question`), an assistant speaks (`assistant`). The model
thus multiplies the weight of the words by a factor for the kind of clause, and adds a value per fact.
"""


def follows_question(memories: pl.DataFrame) -> pl.Series:
    """Return whether the previous memory of the session is a question by another speaker.

    `memories` are in order of time within each session, with `question` as in `enrichment`.
    """
    same_session = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in ("profile_id", "session_id"))
    other_speaker = pl.col("speaker") != pl.col("speaker").shift(1)
    follows = same_session & other_speaker & pl.col("question").shift(1)
    return memories.select(follows_question=follows.fill_null(value=False))["follows_question"]


def features(memories: pl.DataFrame) -> pl.DataFrame:
    """Split memories into clauses and compute the features of the model.

    `memories` has profile_id, speaker, text (as shown) and follows_question. Returns the columns of `split_clauses` and
    `FEATURES`. Rarity is counted over the given memories. Cost: about 20 µs per memory.
    """
    clauses = split_clauses(memories["text"])
    low = fold(clauses["clause"])
    speakers = memories.group_by("profile_id").agg(speakers=pl.col("speaker").drop_nulls().unique())
    with_speakers = memories.select("profile_id", "speaker").join(
        speakers, on="profile_id", how="left", maintain_order="left"
    )
    assistant = memories.select(by_assistant(pl.col("speaker"))).to_series()
    columns = _features(
        clauses["clause"],
        low,
        words=_store_weights(low, memories["profile_id"].gather(clauses["row"]), clauses["row"]),
        speakers=with_speakers["speakers"].gather(clauses["row"]),
        answers=memories["follows_question"].gather(clauses["row"]).to_numpy(),
        assistant=assistant.gather(clauses["row"]).to_numpy(),
    )
    return clauses.hstack([pl.Series(name, column) for name, column in columns.items()])


def standalone_values(texts: pl.Series) -> pl.DataFrame:
    """Return the values of the clauses of each text alone, without its context, its speaker or its store.

    Returns the columns of `split_clauses` and value, as by `values`, but words are weighted by their rarity in the
    language, so that other memories do not matter. Cost: about 20 µs per text.
    """
    clauses = split_clauses(texts)
    low = fold(clauses["clause"])
    false = np.zeros(clauses.height, dtype=np.bool_)
    columns = _features(clauses["clause"], low, words=_language_weights(low), answers=false, assistant=false)
    return _valued(clauses, columns, coefficients(MODEL))


def _features(
    clauses: pl.Series,
    low: pl.Series,
    *,
    words: NDArray[np.float64],
    speakers: pl.Series | None = None,
    **conditions: NDArray[np.bool_],
) -> dict[str, NDArray[np.float64]]:
    """Return the features of clauses, from the weights of their words, the speakers and further conditions."""
    told = facts.extract(clauses, low).select(names="entities", numbers="numbers", dates="dates")
    if speakers is not None:
        told = told.with_columns(speakers=speakers).with_columns(pl.col("names").list.set_difference("speakers"))
    counts = told.select(pl.col("names", "numbers", "dates").list.len().cast(pl.Float64))
    holding = found(low, CUES | {"own": _SELF_DESCRIPTION}) | conditions
    own = holding.pop("own").astype(np.float64)
    counted = {"words": words, **{name: counts[name].to_numpy() for name in counts.columns}, "own": own}
    return counted | {name: words * holds.astype(np.float64) for name, holds in holding.items()}


def values(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the values of the clauses of each memory (as for `features`), by the model `models/keep.toml`.

    Returns the columns of `split_clauses` and value (positive; about the number of words that may be asked for).
    """
    return score(features(memories), coefficients(MODEL))


def score(clauses: pl.DataFrame, weights: Mapping[str, float]) -> pl.DataFrame:
    """Return values of clauses by their `features`: the weighted sum, at least `MIN_VALUE`."""
    return _valued(clauses, {name: clauses[name].to_numpy() for name in FEATURES}, weights)


def _valued(
    clauses: pl.DataFrame, columns: Mapping[str, NDArray[np.float64]], weights: Mapping[str, float]
) -> pl.DataFrame:
    """Return clauses with the weighted sums of their features, in a fixed order: sums of floats depend on it."""
    value = reduce(add, (columns[name] * float(weights[name]) for name in FEATURES))
    scored = pl.Series("value", np.maximum(value, MIN_VALUE))
    return clauses.select("row", "place", "clause", "ends", "tokens").hstack([scored])


def _store_weights(low: pl.Series, profiles: pl.Series, rows: pl.Series) -> NDArray[np.float64]:
    """Return the weight of the distinct content words of each clause.

    A word in df of the n memories of its profile weighs 1 - log(df) / log(n + 1), reduced for words common in the
    language.
    """
    content = occurrences(low).filter(~pl.col("stop") & ~pl.col("small_talk"))
    clause = content["row"]
    terms = content.select(
        "term", "rarity", at="row", memory=rows.gather(clause), profile_id=profiles.gather(clause)
    ).unique(["at", "term"])
    frequencies = terms.group_by("profile_id", "term").agg(df=pl.col("memory").n_unique())
    sizes = (
        pl.DataFrame({"profile_id": profiles, "memory": rows}).group_by("profile_id").agg(n=pl.col("memory").n_unique())
    )
    joined = terms.join(frequencies, on=["profile_id", "term"]).join(sizes, on="profile_id")
    weight = 1.0 - np.log(joined["df"].to_numpy()) / np.log1p(joined["n"].to_numpy())
    weight *= _STORE_SHARE + (1.0 - _STORE_SHARE) * 0.01 * joined["rarity"].to_numpy()
    units = pl.Series(np.rint(_UNITS * weight), dtype=pl.Int64)
    return _sum_by_clause(joined.select("at", units=units), len(low), 1.0 / _UNITS)


def _language_weights(low: pl.Series) -> NDArray[np.float64]:
    """Return the rarity in the language of the distinct content words of each clause, 0..1 each."""
    if (read := few_words(low)) is not None:
        content = [[word for word in words if word.rarity and not word.small_talk] for words in read]
        sums = [sum({word.stem: word.rarity for word in reversed(words)}.values()) for words in content]
        return np.array(sums, dtype=np.float64) * 0.01
    content_words = occurrences(low).filter(~pl.col("stop") & ~pl.col("small_talk")).unique(["row", "term"])
    return _sum_by_clause(content_words.select(at="row", units=pl.col("rarity").cast(pl.Int64)), len(low), 0.01)


def _sum_by_clause(units: pl.DataFrame, clauses: int, unit: float) -> NDArray[np.float64]:
    """Sum integer units per clause and scale them."""
    sums = units.group_by("at").agg(pl.col("units").sum())
    total = np.zeros(clauses)
    total[sums["at"].to_numpy()] = sums["units"].to_numpy() * unit
    return total
