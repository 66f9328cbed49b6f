"""What the sentences of memories are worth keeping: how likely somebody asks for them, and the harm if they were gone.

Not here: the reader's labels (`text/score/sentence_kinds`), fitting of the model (`research/fit_worth.py`), and what
follows under a token budget (`keeping`, `trimming`).
"""

from functools import reduce
from operator import add
from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import core_sentences
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import LIVE, Frame, Memories
from memory_pipeline.settings.model_files import coefficients
from memory_pipeline.text.score import core_facts, sentence_kinds

MODEL: Final = "worth"
"""Name of the model file in `models/`."""
READ: Final = ("likely", "surely", "possible")
"""Features that the reader tells of a sentence."""
FEATURES: Final = (*READ, "updates", "outdated", "repeats", "age")
"""Features of the model: of a sentence as in `of_sentences`, of its memory as in table `change_odds`, and the share of
the profile's memories that are newer."""
_SOME: Final = 0.5
"""Probability at which a label of a sentence counts."""
_HARM: Final = 0.2
"""Worth of what does real damage if it is forgotten, beside the probability that it is asked for; chosen on made-up
stores: more keeps no more of it."""
_SURELY: Final = 0.95
"""Probability from which a sentence is surely never asked for, such as thanks and remarks."""
_FILLER: Final = 0.1
"""Share of its worth that such a sentence keeps: so few stand in made-up stores that no fit finds it."""
_OF_WORDS: Final = 0.02
"""Worth of one word of value: a mean sentence is worth as much either way."""
_OVER: Final = 0.9
"""Share of that worth which goes with what a newer memory has surely outdated."""

SCHEMA: Final = pl.Schema(
    {
        "profile_id": pl.String(),
        "memory_id": pl.String(),
        "said": pl.String(),
        "grave": pl.Float64(),
        **dict.fromkeys(READ, pl.Float64()),
        "never": pl.Float64(),
        "safety": pl.Float64(),
        "instructs": pl.Float64(),
        "measures": pl.Float64(),
        "decides": pl.Float64(),
    }
)


def of_sentences(memories: Frame[Memories], known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return what the reader says of the sentences of live memories that people said, in languages that it reads.

    The columns are profile_id, memory_id, said (the sentence, on one line), and probabilities: grave (forgetting it
    does real damage, a harm of 2 or 3), likely and surely (it will be asked for), possible (it says what may be, not
    what is), never (it will never be asked for), safety (it is a matter of health or safety), instructs (it is a
    standing instruction), measures (it states what was measured) and decides (it states a decision). A sentence that a
    memory says twice has one row. Cost: 10 ms per sentence that is not known by table `core_sentences`, 10 µs
    otherwise.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    texts = live.unique(["profile_id", "content_hash"], keep="first", maintain_order=True)
    numbers = core_sentences.numbers(texts, known)
    parts = core_facts.parts(texts["content"].set(numbers.list.len() == 0, ""))
    of_text, read = core_facts.unpacked(numbers)
    of_part = read[np.searchsorted(of_text, parts["row"].to_numpy()) + parts["number"].to_numpy()]
    labels = {
        "grave": ("harm", "2", "3"),
        "likely": ("worth", "2"),
        "surely": ("worth", "3"),
        "possible": ("stance", "possible"),
        "never": ("worth", "0"),
        "safety": ("kind", "health", "safety"),
        "instructs": ("kind", "instruction"),
        "measures": ("kind", "measurement"),
        "decides": ("kind", "decision"),
    }
    said = parts.select(
        "row",
        said="sentence",
        **{
            name: pl.Series(sentence_kinds.probability(of_part, *label), dtype=pl.Float64)
            for name, label in labels.items()
        },
    )
    keyed = texts.select("profile_id", "content_hash").with_row_index("row")
    said = said.unique(["row", "said"], keep="first", maintain_order=True)
    return (
        live.select(*KEY, "content_hash")
        .join(keyed, on=["profile_id", "content_hash"], maintain_order="left")
        .join(said, on="row", maintain_order="left")
        .select(SCHEMA.names())
        .cast(SCHEMA)
    )


def kept_for() -> pl.Expr:
    """Return the worth of sentences: the probability that one is asked for, and the harm if it were gone.

    In a chat of several people, where small events are asked for that the reader finds idle, and of a sentence that it
    has not read, it is what the words are worth.

    Reads `FEATURES`, `never` and `grave` (null where a sentence was not read), `chat`, and `value` (`clause_value`).
    """
    weights = coefficients(MODEL)
    score = reduce(add, (pl.col(name) * weights[name] for name in FEATURES), pl.lit(weights["offset"]))
    asked = pl.when(pl.col("never") >= _SURELY).then(_FILLER).otherwise(1.0) / (1.0 + (-score).exp())
    worth = asked + _HARM * pl.col("grave") * (1.0 - _OVER * pl.col("outdated"))
    return pl.when("chat").then(None).otherwise(worth).fill_null(_OF_WORDS * pl.col("value"))


def settles() -> pl.Expr:
    """Return whether sentences state a decision, an instruction or a matter of health or safety."""
    return (pl.max_horizontal("decides", "safety", "instructs") >= _SOME).fill_null(value=False)
