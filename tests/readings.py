"""Keeps what the reader has read, for the tests of a process: many tell the same made-up events.

What is read of a text, or of a pair, depends on it alone, as `test_reader` shows, which reads anew.
"""

import numpy as np

from memory_pipeline.text.embed.encoder import Encoder, PairReader

READ, READ_PAIRS = Encoder.read, PairReader.read
"""The readers themselves."""
_TEXTS, _PAIRS = 5_000, 100_000
"""How many texts and pairs are kept."""


def keep():
    texts, pairs = {}, {}

    def read(self, wanted):
        found = _missing(texts, wanted, lambda missing: READ(self, missing), _TEXTS)
        return (found.get(text) or texts[text] for text in wanted)

    def read_pairs(self, wanted):
        found = _missing(pairs, wanted, lambda missing: READ_PAIRS(self, missing), _PAIRS)
        rows = [found[pair] if pair in found else pairs[pair] for pair in wanted]
        return np.array(rows, dtype=np.float32).reshape(-1, 4)

    Encoder.read, PairReader.read = read, read_pairs


def _missing(kept, wanted, read, most):
    missing = [one for one in dict.fromkeys(wanted) if one not in kept]
    found = dict(zip(missing, read(missing), strict=True))
    kept.update(list(found.items())[: max(most - len(kept), 0)])
    return found
