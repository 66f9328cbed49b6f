"""The reader: a small transformer that ships with the package and reads texts, and pairs of texts.

The weights are those of all-MiniLM-L6-v2 (`models/reader/NOTICE`), for pairs and for sentences trained further on a
corpus of this project (`research/`), stored in eight bits and computed in float32 with NumPy. Each text is computed by
itself, so that a result depends on it alone. Not here: how the vectors of two texts are compared
(`text/compare/alignment`).
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_pipeline.text.arrays import libraries, product_threads
from memory_pipeline.text.lang.folding import keyed

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
T = TypeVar("T")

NAME: Final = "reader"
"""Name under which its vectors are stored."""
PAIRS: Final = "pairs 7"
"""Name and version under which what it says of two texts is recorded."""
SENTENCES: Final = "sentences 7"
"""Name and version under which what it says of the sentences of a text is recorded."""
DIMENSION: Final = 384
STATE: Final = 2 * DIMENSION
"""Numbers that the network for sentences holds of one: its first row, and the mean over all."""
MOST_TOKENS: Final = 256
"""Tokens read of a text; the rest is ignored."""
MOST_OF_PAIR: Final = 160
"""Tokens read of two texts together; the ends of the longer one are ignored."""
_LAYERS: Final = 6
_HEADS: Final = 12
_KEPT: Final = 2_000
"""Texts whose tokens a process keeps, the latest: a night reads each new text for its vector, then for its pairs."""
_FEW: Final = 8
"""Texts that are not worth starting threads for."""
_AHEAD: Final = 64
"""Texts that are read ahead of their use."""
_WINDOW: Final = 500
"""Texts that are looked up at once."""
_TINY: Final = np.float32(1e-12)


WEIGHTS: Final = ("encoder.npz", "pairs.npz", "sentences.npz", "tokenizer.json")
"""Files of the reader."""


class Tokens(NamedTuple):
    """The tokens of a text, without the two that mark its ends."""

    ids: Numbers
    vectors: Floats
    """Unit rows, [tokens, 384]."""


class Read(NamedTuple):
    """A text as read."""

    vector: Floats
    """Unit vector: the mean over all tokens; zero for a text without any."""
    tokens: Tokens


class _Layer(NamedTuple):
    """Weights of a layer, [inputs, outputs], offsets, and gains and offsets of its two normalisations."""

    projection: tuple[Floats, Floats]
    output: tuple[Floats, Floats]
    attended: tuple[Floats, Floats]
    inner: tuple[Floats, Floats]
    outer: tuple[Floats, Floats]
    closed: tuple[Floats, Floats]


class _Network(NamedTuple):
    """A transformer: what it adds to the words, its layers, and other arrays of its file."""

    positions: Floats
    normalisation: tuple[Floats, Floats]
    layers: tuple[_Layer, ...]
    other: dict[str, NDArray[np.generic]]

    @classmethod
    def load(cls, file: Traversable) -> "_Network":
        """Load a file; raises ReaderMissingError: it is not installed."""
        if (problem := missing()) and not file.is_file():
            raise ReaderMissingError(problem)
        with resources.as_file(file) as path, np.load(path) as stored:
            weights = {name: stored[name] for name in stored.files}
        layers = tuple(_layer(weights, number) for number in range(_LAYERS))
        other = {name: values for name, values in weights.items() if not name[0].isdigit()}
        return cls(weights["places"], (weights["gain"], weights["offset"]), layers, other)

    def run(self, words: Floats) -> Floats:
        """Return the rows of the last layer, of the rows of the words of one text."""
        rows = _normalised(words + self.positions[: len(words)], *self.normalisation)
        for layer in self.layers:
            rows = _through(rows, layer)
        return rows


class Encoder:
    """Encodes texts. Cost: about 10 ms of one core for a text of 30 tokens; 0.3 s to load, at the first text."""

    def __init__(self) -> None:
        self._tokenizer = _tokenizer(MOST_TOKENS)
        self._network = _Network.load(_folder() / "encoder.npz")
        self._kept: dict[str, Read] = {}
        self._lock = Lock()

    def words(self, ids: Numbers) -> Floats:
        """Return the rows of the word table, [tokens, 384]."""
        table, scale = (self._network.other[name] for name in ("words", "words.scale"))
        rows: Floats = np.multiply(table[ids], scale[ids], dtype=np.float32)
        return rows

    def read(self, texts: Sequence[str]) -> Iterator[Read]:
        """Yield what is read of each text, in order."""
        for start in range(0, len(texts), _WINDOW):
            window = texts[start : start + _WINDOW]
            known = {text: self._kept.get(text) for text in window}
            missing = [text for text, read in known.items() if read is None]
            found = dict(zip(missing, self._read(missing), strict=True))
            with self._lock:
                self._kept.update(found)
                for text in list(self._kept)[: max(len(self._kept) - _KEPT, 0)]:
                    del self._kept[text]
            yield from (found.get(text) or known[text] for text in window)  # type: ignore[misc]  # one of them is there

    def _read(self, texts: Sequence[str]) -> Iterator[Read]:
        return _side_by_side(self._encode, self._tokenizer.encode_batch([keyed(text) for text in texts]))

    def _encode(self, text: "Encoding") -> Read:
        ids = np.array(text.ids, dtype=np.int64)
        vectors = self._network.run(self.words(ids))
        inner = vectors[1:-1]
        mean = vectors.mean(axis=0) if len(inner) else np.zeros(DIMENSION, dtype=np.float32)
        return Read(_unit(mean), Tokens(ids[1:-1], _unit(inner)))


class _Together:
    """A network that reads two texts together. Cost: about 20 ms of one core for 60 tokens."""

    def __init__(self, weights: Traversable, head: str) -> None:
        self._tokenizer = _tokenizer(MOST_OF_PAIR)
        self._network = _Network.load(weights)
        other = self._network.other
        self._kinds = np.asarray(other["kinds"], dtype=np.float32)
        self._head, self._offset = (np.asarray(other[name], dtype=np.float32) for name in (head, f"{head}.offset"))

    def _rows(self, read: Callable[["Encoding"], Floats], pairs: Sequence[tuple[str, str]], width: int) -> Floats:
        encodings = self._tokenizer.encode_batch([(keyed(one), keyed(other)) for one, other in pairs])
        return np.stack([*_side_by_side(read, encodings)]) if encodings else np.zeros((0, width), dtype=np.float32)

    def _state(self, pair: "Encoding") -> Floats:
        rows = self._network.run(encoder().words(np.array(pair.ids)) + self._kinds[pair.type_ids])
        return np.concatenate([rows[0], rows.mean(axis=0)])

    def _scores(self, state: Floats) -> Floats:
        scores: Floats = state @ self._head + self._offset
        return scores


class PairReader(_Together):
    """Reads an older and a newer text together."""

    def __init__(self, weights: Traversable | None = None) -> None:
        """Load the weights of a file; by default those that ship."""
        super().__init__(weights or _folder() / "pairs.npz", "head")

    def read(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return the score of each relation of pairs of texts, older first, [pairs, `relation_trees.SCORES`]."""
        return self._rows(lambda pair: self._scores(self._state(pair)), pairs, len(self._offset))


class SentenceReader(_Together):
    """Reads a sentence together with the text before it."""

    def __init__(self) -> None:
        super().__init__(_folder() / "sentences.npz", "labels")

    def read(self, sentences: Sequence[tuple[str, str]]) -> Floats:
        """Return what the network holds of sentences, each with the text before it, and the score of each label.

        [sentences, `STATE` + labels of `sentence_kinds.GROUPS`].
        """
        return self._rows(self._labelled, sentences, STATE + len(self._offset))

    def _labelled(self, pair: "Encoding") -> Floats:
        state = self._state(pair)
        return np.concatenate([state, self._scores(state)])


def _side_by_side(read: Callable[["Encoding"], T], texts: Sequence["Encoding"]) -> Iterator[T]:
    """Yield what is read of each text, in order: in as many threads as a product has, each with products of one.

    Each text is computed by itself, for in a product over several texts the last digits of a row depend, on some
    processors, on its neighbours. A few texts are read in the caller's thread: others cost more to start.
    """
    threads = product_threads()
    if len(texts) <= _FEW:
        with libraries().limit(limits=1, user_api="blas"):
            yield from map(read, texts)
        return
    with libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(texts), _AHEAD):  # what is read ahead of its use is bounded
            yield from pool.map(read, texts[start : start + _AHEAD])


class ReaderMissingError(ValueError):
    """Weights of the reader are not installed."""


def missing() -> str | None:
    """Return in a sentence which weights of the reader are not installed, and the remedy; None if all are."""
    folder = _folder()
    gone = [name for name in WEIGHTS if not (folder / name).is_file()]
    if not gone:
        return None
    return (
        f"the reader's weights are not installed ({', '.join(gone)} in {folder}): no new text is read for core "
        "memory, types, importance and token budgets, and no change of a fact is found; install the package anew"
    )


@cache
def _folder() -> Traversable:
    return resources.files("memory_pipeline") / "models" / "reader"


def _tokenizer(most: int) -> "Tokenizer":
    from tokenizers import Tokenizer  # noqa: PLC0415 - only a process that reads texts pays for it

    if (problem := missing()) and "tokenizer.json" in problem:
        raise ReaderMissingError(problem)
    tokenizer = Tokenizer.from_str((_folder() / "tokenizer.json").read_text("utf-8"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    return tokenizer


def _layer(weights: dict[str, NDArray[np.generic]], number: int) -> _Layer:
    def dense(name: str) -> tuple[Floats, Floats]:
        quantised, scale = weights[f"{number}.{name}"], weights[f"{number}.{name}.scale"]
        return np.multiply(quantised, scale, dtype=np.float32), weights[f"{number}.{name}.offset"].astype(np.float32)

    def normalisation(name: str) -> tuple[Floats, Floats]:
        gain, offset = (weights[f"{number}.{name}.{part}"].astype(np.float32) for part in ("gain", "offset"))
        return gain, offset

    return _Layer(
        dense("projection"),
        dense("output"),
        normalisation("attended"),
        dense("inner"),
        dense("outer"),
        normalisation("closed"),
    )


def _through(rows: Floats, layer: _Layer) -> Floats:
    """Return the rows of a text after one layer: attention, then the feed-forward part."""
    from scipy.special import erf  # noqa: PLC0415 - as in `_tokenizer`

    projected = (rows @ layer.projection[0] + layer.projection[1]).reshape(len(rows), 3, _HEADS, -1)
    rows = _normalised(rows + _attention(projected) @ layer.output[0] + layer.output[1], *layer.attended)
    inner: Floats = rows @ layer.inner[0] + layer.inner[1]
    inner *= np.float32(0.5) * (1 + erf(inner * np.float32(np.sqrt(0.5)))).astype(np.float32)
    return _normalised(rows + inner @ layer.outer[0] + layer.outer[1], *layer.closed)


def _attention(projected: Floats) -> Floats:
    """Return the attended values of one text, [tokens, 384], of its queries, keys and values."""
    query, key, value = (np.ascontiguousarray(projected[:, part].transpose(1, 0, 2)) for part in range(3))
    weights = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[2]))
    weights = np.exp(weights - weights.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    result: Floats = (weights @ value).transpose(1, 0, 2).reshape(len(projected), DIMENSION)
    return result


def _normalised(rows: Floats, gain: Floats, offset: Floats) -> Floats:
    """Return rows of mean 0 and variance 1, scaled and shifted."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1, keepdims=True)
    result: Floats = centred / np.sqrt(variance + _TINY) * gain + offset
    return result


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    result: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return result


@cache
def encoder() -> Encoder:
    """Return the encoder, loaded once."""
    return Encoder()


@cache
def pair_reader() -> PairReader:
    """Return the reader of pairs, loaded once."""
    return PairReader()


@cache
def sentence_reader() -> SentenceReader:
    """Return the reader of sentences, loaded once."""
    return SentenceReader()


class ReaderEmbedder:
    """The reader's unit vectors as an embedder."""

    name: Final = NAME
    dimension: Final = DIMENSION

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one unit row per text, [n, 384]; a zero row for a text without words."""
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, read in enumerate(encoder().read(texts)):
            result[row] = read.vector
        return result
