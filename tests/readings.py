"""Keeps what the reader has read: what is read of a text, or of a pair, is computed once for all workers and all runs.

It depends on the text alone, as `test_reader` shows, which reads anew. The record lies in the tests' cache folder, in a
file named for all that it depends on besides: the weights, the reader's code, NumPy and the kind of machine.
"""

import hashlib
import os
import platform
import sqlite3
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np

from memory_pipeline.text.embed import encoder
from memory_pipeline.text.embed.encoder import DIMENSION, Encoder, PairReader, Read, SentenceReader, Tokens

READ, READ_PAIRS, READ_SENTENCES = Encoder.read, PairReader.read, SentenceReader.read
"""The readers themselves."""
FOLDER = Path(__file__).parents[1] / ".pytest_cache" / "readings"
STARTED = str(Path(__file__).with_name("started"))
"""Where `sitecustomize` lies, which lets processes that tests start use the record; for their `PYTHONPATH`."""
ANEW = {"PYTHONPATH": ""}
"""Variables of a process that reads anew."""
_MODELS = Path(encoder.__file__).parents[2] / "models" / "reader"
_MOST = {"texts": 2_000, "pairs": 100_000, "sentences": 20_000}
"""How many are kept in memory, by kind."""
_MOST_RECORDED = 256 * 2**20
"""Bytes of a file to which nothing is added: a text takes 45 kB."""


def keep():
    texts, pairs, sentences = (_Kept(kind, most) for kind, most in _MOST.items())

    def read(self, wanted):
        wanted = list(wanted)
        return iter(texts.found(wanted, lambda missing: READ(self, missing), _packed, _unpacked))

    def rows(kept, read):
        def read_rows(self, wanted):
            if not len(wanted):
                return read(self, wanted)
            asked = [tuple(pair) for pair in wanted]
            return np.stack(kept.found(asked, lambda missing: read(self, missing), np.ndarray.tobytes, _row))

        return read_rows

    _load_late(Encoder)
    _load_late(PairReader)
    _load_late(SentenceReader)
    Encoder.read = read
    PairReader.read = rows(pairs, READ_PAIRS)
    SentenceReader.read = rows(sentences, READ_SENTENCES)


def _load_late(reader):
    """Load the weights of a reader when one of them is asked for: where all is on record, none is."""
    load = reader.__init__

    def missing(self, name):
        load(self)
        return object.__getattribute__(self, name)

    reader.__init__, reader.__getattr__ = (lambda _: None), missing


class _Kept:
    """Readings of one kind: in memory, and in the file of all processes."""

    def __init__(self, kind, most):
        self._kind, self._most, self._memory = kind, most, {}

    def found(self, wanted, read, packed, unpacked):
        """Return what is read of each, in order."""
        known = {one: self._memory[one] for one in wanted if one in self._memory}
        names = {one: _name(one) for one in dict.fromkeys(wanted) if one not in known}
        stored = _file().get(self._kind, names.values()) if names else {}
        found = {one: unpacked(stored[name]) for one, name in names.items() if name in stored}
        missing = [one for one in names if one not in found]
        if missing:
            new = dict(zip(missing, read(missing), strict=True))
            _file().put(self._kind, {names[one]: packed(value) for one, value in new.items()})
            found |= new
        self._memory.update(list(found.items())[: max(self._most - len(self._memory), 0)])
        known |= found
        return [known[one] for one in wanted]


class _File:
    """The record: values by kind and name."""

    def __init__(self, path):
        self._lock, self._path = Lock(), path
        self._connection = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=OFF")
        for kind in _MOST:
            self._connection.execute(f"CREATE TABLE IF NOT EXISTS {kind} (name BLOB PRIMARY KEY, value BLOB)")

    def get(self, kind, names):
        query = f"SELECT value FROM {kind} WHERE name = ?"  # noqa: S608 - one of ours
        with self._lock:
            rows = {name: self._connection.execute(query, (name,)).fetchone() for name in names}
        return {name: row[0] for name, row in rows.items() if row}

    def put(self, kind, values):
        if self._path.stat().st_size > _MOST_RECORDED:
            return
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(f"INSERT OR IGNORE INTO {kind} VALUES (?, ?)", list(values.items()))  # noqa: S608 - as above
            self._connection.execute("COMMIT")


def _file():
    return _opened(os.getpid())  # a connection is that of the process that opened it


@cache
def _opened(_process):
    return _File(_path())


@cache
def _path():
    """Return where the record lies, and remove those of other weights and other code."""
    told = hashlib.sha256(f"{np.__version__} {platform.machine()} {platform.processor()} {_cpu()}".encode())
    for path in (Path(encoder.__file__), *sorted(_MODELS.glob("*.*"))):
        told.update(path.read_bytes())
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{told.hexdigest()[:16]}.sqlite"
    for other in FOLDER.glob("*"):
        if not other.name.startswith(path.name):
            other.unlink(missing_ok=True)
    return path


def _cpu():
    """Return the name of the processor: products of matrices are added up as it can do best."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith("model name")), "")


def _name(one):
    parts = (one,) if isinstance(one, str) else one
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()[:16]


def _packed(read):
    return b"".join((read.vector.tobytes(), read.tokens.ids.tobytes(), read.tokens.vectors.tobytes()))


def _unpacked(value):
    """Return a text as read: 384 numbers, then 8 bytes for each token, then 384 numbers for each."""
    tokens = (len(value) - 4 * DIMENSION) // (8 + 4 * DIMENSION)
    vector = np.frombuffer(value, np.float32, DIMENSION)
    ids = np.frombuffer(value, np.int64, tokens, 4 * DIMENSION)
    vectors = np.frombuffer(value, np.float32, offset=4 * DIMENSION + 8 * tokens).reshape(-1, DIMENSION)
    return Read(vector, Tokens(ids, vectors))


def _row(value):
    return np.frombuffer(value, np.float32)
