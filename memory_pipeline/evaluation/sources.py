"""Reads conversations with questions from stores, snapshot exports, event files and conversation files.

The questions of a store are the recalls that were really made.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation import recall_log
from memory_pipeline.evaluation.conversations import READ, TURNS, Chat, chat, left_out, load, unreadable
from memory_pipeline.interop import jsonl
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.snapshot_schemas import RECALLS, RELATIONS
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import databases
from memory_pipeline.schemas import EventType
from memory_pipeline.settings import SQLITE

_MEMORY_COLUMNS: Final = (
    "profile_id", "memory_id", "kind", "lifecycle", "created_at", "seq", "session_id", "speaker", "content",
    "importance_given", "memory_type", "members",
)  # fmt: skip
"""Columns of the table `memories` that are read from an exported store."""
_GONE: Final = ("deleted", "erased")
_EVENTS: Final = (".jsonl", ".ndjson")
"""Suffixes of event files."""
_UNASKED: Final = (
    "has no questions: no recall was logged with its query; evaluate it after it has been in use, or give "
    "conversations with questions (LoCoMo, BEAM, JSONL)"
)
_StoreData = tuple[pl.DataFrame, pl.DataFrame, Mapping[str, list[str]]]
"""Contents of a store: memories as stored, recalls and feedback, members of summaries."""


def read(path: Path) -> list[Chat]:
    """Read the conversations of a path: one per profile with questions for a store, else the one conversation.

    The path is a data folder, an export of `snapshot --export`, an event file, or a file for `conversations.load`. If
    some profiles have feedback, profiles without it are left out: the two measure different things. Memories are taken
    as they were stored; from an exported store, with their current texts. An event file is imported into a temporary
    store; refused lines are counted in a note. Raises ValueError: the path cannot be read or is none of these, or the
    store has no questions.
    """
    names, notes = dict[str, str](), tuple[str, ...]()
    if path.is_dir():
        stored_memories, uses, members = _folder(path)
    elif path.suffix.lower() in _EVENTS:
        (stored_memories, uses, members), notes = _imported(path)
        profiles = stored_memories["profile_id"].unique()
        names = {name: path.stem if len(profiles) == 1 else f"{path.stem}/{name}" for name in profiles}
    elif path.suffix.lower() in {".duckdb", ".db"}:
        stored_memories, uses, members = _exported(path)
    elif path.suffix.lower() == ".parquet":
        raise ValueError(f"{path}: is a single table; give the data folder of the store")
    else:
        return [load(path)]
    if stored_memories.is_empty():
        raise ValueError(f"{path}: holds no memory; give a store with consolidated memories")
    chats = [
        _chat(names.get(profile, profile), part, uses.filter(pl.col("profile_id") == profile), members, notes)
        for (profile,), part in stored_memories.group_by("profile_id", maintain_order=True)
    ]
    if not (asked := [chat for chat in chats if chat.questions.height]):
        raise ValueError("; ".join((f"{path}: {_UNASKED}", *notes)))
    return [chat for chat in asked if recall_log.AGREEMENT not in chat.questions["kind"]] or asked


def _imported(path: Path) -> tuple[_StoreData, tuple[str, ...]]:
    """Read an event file through a temporary store; also return a note on unreadable lines."""
    with TemporaryDirectory(prefix="memory-pipeline-") as home, Lake(Path(home), ledger=SQLITE) as lake:
        import_events(lake.ledger, jsonl.events(path, recorded_at=READ))
        refused = lake.ledger.dead_letters(noise=False).select("origin", "reason")
        found = _read_store(lake)
    line = pl.col("origin").str.extract(r"(\d+)$").cast(pl.Int64)
    letters = refused.sort(line).rows()
    if found[0].is_empty():
        raise unreadable(path, letters)
    return found, (left_out(letters, "line"),) if letters else ()


def _folder(home: Path) -> _StoreData:
    """Read a data folder."""
    if not databases.exists(home):
        raise ValueError(f"{home}: is a folder without memories; give a data folder or a file")
    with Lake(home) as lake:
        return _read_store(lake)


def _read_store(lake: Lake) -> _StoreData:
    """Read an open store."""
    events, memories = lake.events(), lake.read("memories", columns=["memory_id", "members"])
    kind = pl.col("event_type")
    stored_memories = events.filter(kind == EventType.STORED.value).rename({"memory_id": "id", "occurred_at": "at"})
    return stored_memories, events.filter(kind.is_in(recall_log.USES)), _members(memories)


def _exported(path: Path) -> _StoreData:
    """Read an export of `snapshot --export`."""
    if not path.is_file():
        raise ValueError(f"{path}: cannot be read (no such file); give an export of `snapshot --export`")
    try:
        memories = snapshot.read_exported(path, RELATIONS["memories"], _MEMORY_COLUMNS)
        uses = snapshot.read_exported(path, RECALLS, list(RECALLS.types))
    except ValueError as error:
        raise ValueError(
            f"{path}: is not an exported store ({error}); create one with: snapshot --export FILE"
        ) from error
    originals = memories.filter(kind="original").filter(~pl.col("lifecycle").is_in(_GONE))
    columns = {"memory_id": "id", "created_at": "at", "importance_given": "importance"}
    return originals.rename(columns).sort("at", "seq", "id"), uses, _members(memories)


def _members(memories: pl.DataFrame) -> dict[str, list[str]]:
    return dict(memories.select("memory_id", "members").iter_rows())


def _chat(
    name: str,
    stored_memories: pl.DataFrame,
    uses: pl.DataFrame,
    members: Mapping[str, list[str]],
    notes: tuple[str, ...],
) -> Chat:
    """Return the memories of a profile with its questions; both leave out erased memories."""
    questions, note = recall_log.questions(uses)
    stored = stored_memories.filter(pl.col("content").is_not_null()).unique("id", keep="first", maintain_order=True)
    turns = stored.select(*TURNS, "importance", "memory_type")
    known = set(turns["id"])
    rows: list[dict[str, Any]] = []
    for question in questions:
        evidence = [turn for turn in recall_log.originals(question["evidence"], members) if turn in known]
        if evidence or question["kind"] == recall_log.AGREEMENT:
            rows.append(question | {"evidence": evidence})
    return replace(chat(name, [], rows), turns=turns, notes=(*filter(None, (note,)), *notes))
