"""Replays in files that others make and read: events and questions in, the store and its answers out, as Parquet.

Here: which columns are known by which names, and what is wrong with a file. Not here: what happens in a replay
(`replay.py`).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.metrics import RECORDS, RESULTS
from memory_pipeline.evaluation.replay import Replay

_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "id": ("id", "query_id", "memory_id", "message_id"),
    "at": ("time", "at", "occurred_at", "timestamp"),
    "session_id": ("session_id", "session"),
    "speaker": ("speaker", "role"),
    "content": ("content", "text"),
    "text": ("text", "question", "content"),
}
"""Names under which a column is found, the first that is there."""
_MEANING: Final[Mapping[str, str]] = {
    "id": "the id of each row",
    "at": "when each row happened, as a timestamp",
    "session_id": "the session of each message",
    "speaker": "who said each message",
    "content": "the text of each message",
    "text": "the text of each question",
}
_CREATE: Final = "create"
_QUERY: Final = "query"


def run(
    events: Path,
    queries: Path,
    out: Path,
    *,
    budget: float | None = None,
    preset: str | None = None,
    embedder: str | None = None,
    ranking: str = "default",
) -> Replay:
    """Replay one conversation and write what is left of it and what each question gets.

    Args:
        events: Parquet, one message a row: id, time, content, and speaker and session (or session_id); in rows with
            `kind` = query the content is an earlier question, whose results count as recalled.
        queries: Parquet: query_id (or id), time, text.
        out: folder for `hot.parquet` (id, text, member_ids, t_start, t_end) and `results.parquet` (query_id, rank,
            id; 50 results a question); made if need be.
        budget: tokens to keep, up to 1 as a share; default: all.
        preset: policy to consolidate under; default: nothing is consolidated but for the budget.
        embedder: what turns texts into vectors; default: the preset's.
        ranking: how questions are answered (`recall.ranking`).

    Returns:
        What was written, and how long the nights took.

    Raises:
        ValueError: a file cannot be read or lacks a column (named, with what to do), or a value is out of range.
    """
    policy = replay.policy_for(preset=preset, budget=budget, embedder=embedder)
    turns, training = read_events(events)
    made = replay.run(turns, read_queries(queries), policy, training=training, ranking=ranking)
    out.mkdir(parents=True, exist_ok=True)
    made.hot.select(list(RECORDS)).write_parquet(out / "hot.parquet")
    made.results.select(list(RESULTS)).write_parquet(out / "results.parquet")
    return made


def read_events(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read messages (columns of `conversations.TURNS`, with `importance` if it is there) and earlier questions.

    Raises:
        ValueError: see `run`.
    """
    read = _parquet(path)
    kind = pl.col("kind") if "kind" in read.columns else pl.lit(_CREATE)
    strangers = read.filter(~kind.is_in([_CREATE, _QUERY])).height
    if strangers:
        raise ValueError(f"{path}: column 'kind' has {strangers} rows of other values; give {_CREATE} or {_QUERY}")
    said = _columns(path, read.filter(kind == _CREATE), ("id", "at", "session_id", "speaker", "content"))
    _whole(path, said, ("id", "at", "content"))
    if (twice := said.filter(said["id"].is_duplicated())).height:
        raise ValueError(f"{path}: column 'id' has {twice['id'][0]!r} more than once; give each message its own id")
    if not said.height:
        raise ValueError(f"{path}: holds no message; give one row a message")
    if "importance" in read.columns:
        given = read.filter(kind == _CREATE)["importance"].cast(pl.Float64)
        said = said.with_columns(importance=given.clip(0.0, 1.0))
    asked = read.filter(kind == _QUERY)
    if not asked.height:
        return said, pl.DataFrame(schema=replay.QUERIES)
    training = _columns(path, asked, ("id", "at", "content")).rename({"content": "text"})
    _whole(path, training, ("id", "at", "text"))
    return said, training


def read_queries(path: Path) -> pl.DataFrame:
    """Read questions: columns of `replay.QUERIES`.

    Raises:
        ValueError: see `run`.
    """
    asked = _columns(path, _parquet(path), tuple(replay.QUERIES))
    _whole(path, asked, tuple(replay.QUERIES))
    if (twice := asked.filter(asked["id"].is_duplicated())).height:
        raise ValueError(f"{path}: has the question {twice['id'][0]!r} more than once; give each its own id")
    return asked


def _parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error}); name a readable Parquet file") from error
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: is not Parquet ({error}); name a Parquet file") from error


def _columns(path: Path, read: pl.DataFrame, wanted: tuple[str, ...]) -> pl.DataFrame:
    """Return the wanted columns under our names and in our types."""
    taken = {}
    for name in wanted:
        found = next((known for known in _NAMES[name] if known in read.columns), None)
        if found is None:
            has = ", ".join(read.columns)
            raise ValueError(f"{path}: has no column {_NAMES[name][0]!r} (has {has}); give {_MEANING[name]}")
        taken[name] = _typed(path, read[found], instant=name == "at")
    return pl.DataFrame(taken)


def _typed(path: Path, column: pl.Series, *, instant: bool) -> pl.Series:
    kind: Any = column.dtype
    if not instant:
        return column.cast(pl.String())
    if not isinstance(kind, pl.Datetime):
        remedy = "give timestamps (UTC where they have no time zone)"
        raise ValueError(f"{path}: column {column.name!r} is {kind}; {remedy}")  # noqa: TRY004 - the file is wrong
    aware = column.dt.replace_time_zone("UTC") if kind.time_zone is None else column.dt.convert_time_zone("UTC")
    return aware.cast(pl.Datetime("us", "UTC"))


def _whole(path: Path, read: pl.DataFrame, names: tuple[str, ...]) -> None:
    for name in names:
        if missing := read[name].null_count():
            raise ValueError(f"{path}: column {_NAMES[name][0]!r} is null in {missing} rows; give {_MEANING[name]}")
