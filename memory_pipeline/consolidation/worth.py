"""What the sentences of memories are worth keeping, by what the reader says of them.

Not here: the reader's labels (`text/score/sentence_kinds`), and what follows under a token budget (`keeping`,
`trimming`).
"""

from typing import Final

import numpy as np
import polars as pl

from memory_pipeline.consolidation import core_profile
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.schemas import LIVE, Frame, Memories
from memory_pipeline.text.score import core_facts, sentence_kinds

SCHEMA: Final = pl.Schema(
    {
        "profile_id": pl.String(),
        "memory_id": pl.String(),
        "said": pl.String(),
        "harm": pl.Float64(),
        "grave": pl.Float64(),
        "asked": pl.Float64(),
        "lasting": pl.Float64(),
        "safety": pl.Float64(),
        "instructs": pl.Float64(),
        "measures": pl.Float64(),
        "decides": pl.Float64(),
    }
)
LEAST: Final = 0.3
"""Worth of a sentence that is never asked for and does no harm, on a scale to 6."""
UNREAD: Final = {"harm": 0.0, "asked": 1.0, "lasting": 0.3}
"""What is assumed of a sentence that the reader has not read: about the mean of those that it has."""


def of_sentences(memories: Frame[Memories], known: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return what the reader says of the sentences of live memories that people said, in languages that it reads.

    Args:
        known: table `core_sentences`: texts that need not be read again; default: none.

    Returns:
        profile_id, memory_id, said (the sentence, on one line), harm (if it were forgotten, 0..3), asked (whether it
        will be asked for, 0..3), and probabilities: grave (forgetting it does real damage, a harm of 2 or 3), lasting
        (it holds for years), safety (it is a matter of health or safety), instructs (it is a standing instruction),
        measures (it states what was measured) and decides (it states a decision). A sentence that a memory says twice
        has one row. Cost: 10 ms per sentence that is not known, 10 µs otherwise.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE))
    texts = live.unique(["profile_id", "content_hash"], keep="first", maintain_order=True)
    numbers = core_profile.numbers(texts, known)
    parts = core_facts.parts(texts["content"].set(numbers.list.len() == 0, ""))
    of_text, read = core_facts.unpacked(numbers)
    of_part = read[np.searchsorted(of_text, parts["row"].to_numpy()) + parts["number"].to_numpy()]
    said = parts.select(
        "row",
        said="sentence",
        harm=pl.Series(sentence_kinds.expected(of_part, "harm"), dtype=pl.Float64),
        grave=pl.Series(sentence_kinds.probability(of_part, "harm", "2", "3"), dtype=pl.Float64),
        asked=pl.Series(sentence_kinds.expected(of_part, "worth"), dtype=pl.Float64),
        lasting=pl.Series(sentence_kinds.probability(of_part, "holds", "lasting"), dtype=pl.Float64),
        safety=pl.Series(sentence_kinds.probability(of_part, "kind", "health", "safety"), dtype=pl.Float64),
        instructs=pl.Series(sentence_kinds.probability(of_part, "kind", "instruction"), dtype=pl.Float64),
        measures=pl.Series(sentence_kinds.probability(of_part, "kind", "measurement"), dtype=pl.Float64),
        decides=pl.Series(sentence_kinds.probability(of_part, "kind", "decision"), dtype=pl.Float64),
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


def factor(age: pl.Expr) -> pl.Expr:
    """Return by how much what the reader says of a sentence multiplies the value of its words.

    Worth and harm together, times the chance that it still holds: what is not lasting fades with what was stored
    since, as exp(-age). Chosen on made-up stores; around these values nothing moves the outcome much.

    Args:
        age: share of the profile's memories that are newer, 0 to 1.

    Reads `harm`, `asked` and `lasting`, null where a sentence was not read.
    """
    harm, asked, lasting = (pl.col(name).fill_null(value) for name, value in UNREAD.items())
    return (LEAST + asked + harm) * (lasting + (1.0 - lasting) * (-age).exp())
