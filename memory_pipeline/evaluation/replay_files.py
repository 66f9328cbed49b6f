"""Replays a conversation from Parquet files for external scorers: events and questions in, store and results out."""

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
"""Accepted names of each column; the first one present is used."""
_MEANING: Final[Mapping[str, str]] = {
    "id": "the id of each row",
    "at": "the time of each row, as a timestamp",
    "session_id": "the session of each message",
    "speaker": "the speaker of each message",
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
    """Replay one conversation, and write and return the remaining memories and the results of each question.

    Args:
        events: Parquet, one message per row: id, time, content, speaker and session (or session_id). Rows with `kind` =
            query are training questions, whose results count as accesses.
        queries: Parquet: query_id (or id), time, text.
        out: folder for `hot.parquet` (id, text, member_ids, t_start, t_end) and `results.parquet` (query_id, rank, id;
            50 results per question); created if missing.
        budget: tokens to keep; values up to 1 are a share; default: no limit.

    Raises:
        ValueError: a file cannot be read, lacks a column, or has invalid values; the message gives the remedy.
    """
    policy = replay.policy_for(preset=preset, budget=budget, embedder=embedder)
    turns, training = read_events(events)
    result = replay.run(turns, read_queries(queries), policy, training=training, ranking=ranking)
    out.mkdir(parents=True, exist_ok=True)
    result.hot.select(list(RECORDS)).write_parquet(out / "hot.parquet")
    result.results.select(list(RESULTS)).write_parquet(out / "results.parquet")
    return result


def read_events(path: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read messages (columns of `conversations.TURNS`, plus `importance` if present) and training questions.

    Errors as for `run`.
    """
    read = _parquet(path)
    kind = pl.col("kind") if "kind" in read.columns else pl.lit(_CREATE)
    others = read.filter(~kind.is_in([_CREATE, _QUERY])).height
    if others:
        raise ValueError(f"{path}: column 'kind' has {others} rows with other values; use {_CREATE} or {_QUERY}")
    messages = _columns(path, read.filter(kind == _CREATE), ("id", "at", "session_id", "speaker", "content"))
    _require_values(path, messages, ("id", "at", "content"))
    if (duplicates := messages.filter(messages["id"].is_duplicated())).height:
        raise ValueError(
            f"{path}: column 'id' has {duplicates['id'][0]!r} more than once; give each message its own id"
        )
    if not messages.height:
        raise ValueError(f"{path}: holds no message; give one row per message")
    if "importance" in read.columns:
        importance = read.filter(kind == _CREATE)["importance"].cast(pl.Float64)
        messages = messages.with_columns(importance=importance.clip(0.0, 1.0))
    asked = read.filter(kind == _QUERY)
    if not asked.height:
        return messages, pl.DataFrame(schema=replay.QUERIES)
    training = _columns(path, asked, ("id", "at", "content")).rename({"content": "text"})
    _require_values(path, training, ("id", "at", "text"))
    return messages, training


def read_queries(path: Path) -> pl.DataFrame:
    """Read questions: columns of `replay.QUERIES`. Errors as for `run`."""
    asked = _columns(path, _parquet(path), tuple(replay.QUERIES))
    _require_values(path, asked, tuple(replay.QUERIES))
    if (duplicates := asked.filter(asked["id"].is_duplicated())).height:
        raise ValueError(f"{path}: has the question {duplicates['id'][0]!r} more than once; give each its own id")
    return asked


def _parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error}); give a readable Parquet file") from error
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path}: is not Parquet ({error}); give a Parquet file") from error


def _columns(path: Path, read: pl.DataFrame, wanted: tuple[str, ...]) -> pl.DataFrame:
    """Return the wanted columns with canonical names and types."""
    columns = {}
    for name in wanted:
        source = next((candidate for candidate in _NAMES[name] if candidate in read.columns), None)
        if source is None:
            has = ", ".join(read.columns)
            raise ValueError(f"{path}: has no column {_NAMES[name][0]!r} (has {has}); give {_MEANING[name]}")
        columns[name] = _typed(path, read[source], instant=name == "at")
    return pl.DataFrame(columns)


def _typed(path: Path, column: pl.Series, *, instant: bool) -> pl.Series:
    kind: Any = column.dtype
    if not instant:
        return column.cast(pl.String())
    if not isinstance(kind, pl.Datetime):
        remedy = "give timestamps (UTC where they have no time zone)"
        raise ValueError(f"{path}: column {column.name!r} is {kind}; {remedy}")  # noqa: TRY004 - the file is wrong
    aware = column.dt.replace_time_zone("UTC") if kind.time_zone is None else column.dt.convert_time_zone("UTC")
    return aware.cast(pl.Datetime("us", "UTC"))


def _require_values(path: Path, read: pl.DataFrame, names: tuple[str, ...]) -> None:
    for name in names:
        if missing := read[name].null_count():
            raise ValueError(f"{path}: column {_NAMES[name][0]!r} is null in {missing} rows; give {_MEANING[name]}")
