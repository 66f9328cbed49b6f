"""Tables as rows of bytes, and back: how a part of a run travels to a worker that shares no memory with us.

What comes back is Arrow data alone: nothing that a cluster answers is ever unpickled.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final

import polars as pl
import pyarrow as pa

COLUMNS: Final = "part int, name string, piece int, content binary"
"""Columns of a message, as Spark writes them: number of the part, name of the table, number of the piece, bytes."""

_PIECE_BYTES: Final = 16_000_000
"""Largest piece of a table's bytes; engines limit the size of a value and of a message."""


def packed(tables: Mapping[str, pl.DataFrame]) -> pa.Table:
    """Return tables as rows of the message (see `COLUMNS`), each table as one stream of Arrow data in pieces."""
    rows: dict[str, list[Any]] = {"part": [], "name": [], "piece": [], "content": []}
    for name, table in tables.items():
        stream = BytesIO()
        table.write_ipc_stream(stream, compression="lz4")
        content = stream.getbuffer()
        for piece, start in enumerate(range(0, len(content), _PIECE_BYTES)):
            for column, value in zip(rows, (0, name, piece, bytes(content[start : start + _PIECE_BYTES])), strict=True):
                rows[column].append(value)
    types = (pa.int32(), pa.string(), pa.int32(), pa.binary())
    return pa.table(
        {column: pa.array(values, kind) for (column, values), kind in zip(rows.items(), types, strict=True)}
    )


def unpacked(message: pa.Table) -> dict[str, pl.DataFrame]:
    """Return the tables of a message; its rows may come in any order."""
    streams: dict[str, BytesIO] = {}
    for row in message.sort_by([("name", "ascending"), ("piece", "ascending")]).to_pylist():
        streams.setdefault(row["name"], BytesIO()).write(row["content"])
    return {name: pl.read_ipc_stream(stream.getvalue()) for name, stream in streams.items()}
