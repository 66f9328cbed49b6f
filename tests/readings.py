"""Keeps what the reader has read, for the tests of a process: many tell the same made-up events.

What is read of a text, or of a pair, depends on it alone, as `test_reader` shows, which reads anew.
"""

import numpy as np

from memory_pipeline.text.compare.relation_trees import SCORES
from memory_pipeline.text.embed.encoder import Encoder, PairReader
from memory_pipeline.text.score import sentence_kinds

READ, READ_PAIRS, LABEL = Encoder.read, PairReader.read, PairReader.label
"""The readers themselves."""
_TEXTS, _PAIRS = 5_000, 100_000
"""How many texts and pairs are kept."""


def keep():
    texts, pairs, sentences = {}, {}, {}

    def read(self, wanted):
        found = _missing(texts, wanted, lambda missing: READ(self, missing), _TEXTS)
        return (found.get(text) or texts[text] for text in wanted)

    def kept_rows(kept, read, width):
        def rows(self, wanted):
            found = _missing(kept, wanted, lambda missing: read(self, missing), _PAIRS)
            return np.array(
                [found[pair] if pair in found else kept[pair] for pair in wanted], dtype=np.float32
            ).reshape(-1, width)

        return rows

    Encoder.read = read
    PairReader.read = kept_rows(pairs, READ_PAIRS, len(SCORES))
    PairReader.label = kept_rows(sentences, LABEL, sentence_kinds.WIDTH)


def _missing(kept, wanted, read, most):
    missing = [one for one in dict.fromkeys(wanted) if one not in kept]
    found = dict(zip(missing, read(missing), strict=True))
    kept.update(list(found.items())[: max(most - len(kept), 0)])
    return found
