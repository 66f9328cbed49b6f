"""Stores of this pipeline as conversations: what was remembered, with what was really asked of it.

Here: a data folder, what `snapshot --export` writes of it, and files of events. Not here: files of conversations
(`conversations.py`), and how recalls become questions (`recalled.py`).
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
from memory_pipeline.schemas import EventType

_TOLD: Final = (
    "profile_id", "memory_id", "kind", "lifecycle", "created_at", "seq", "session_id", "speaker", "content",
    "importance_given", "memory_type", "members",
)  # fmt: skip
"""Columns of the table `memories` that are needed of an exported store."""
_GONE: Final = ("deleted", "erased")
_EVENTS: Final = (".jsonl", ".ndjson")
"""Endings of files of events."""
_UNASKED: Final = (
    "nothing was asked of what it holds: no recall that says its query; evaluate it when it has been in use, or give "
    "conversations with questions (LoCoMo, BEAM, JSONL)"
)
_Told = tuple[pl.DataFrame, pl.DataFrame, Mapping[str, list[str]]]
"""What a store tells: memories as stored, recalls and feedback, members of summaries."""


def read(path: Path) -> list[Chat]:
    """Read what a path holds: of a store each profile of which something was asked, else the one conversation.

    Where it is known of some profiles what helped, the others are left out: the two measure different things.
    Memories are taken as they were stored, at the time they were; of an exported store with the text that they have by
    now. A file of events is read as the store that its import makes, in a folder that is gone at once; what the import
    would refuse is left out, and counted in a note. Nothing else is written.

    Args:
        path: data folder, file of `snapshot --export`, file of events, or one that `conversations.load` reads.

    Raises:
        ValueError: it cannot be read or is none of these, or nothing was ever asked of the store.
    """
    names, notes = dict[str, str](), tuple[str, ...]()
    if path.is_dir():
        told, uses, made = _folder(path)
    elif path.suffix.lower() in _EVENTS:
        (told, uses, made), notes = _imported(path)
        profiles = told["profile_id"].unique()
        names = {name: path.stem if len(profiles) == 1 else f"{path.stem}/{name}" for name in profiles}
    elif path.suffix.lower() in {".duckdb", ".db"}:
        told, uses, made = _exported(path)
    elif path.suffix.lower() == ".parquet":
        raise ValueError(f"{path}: is one table of many; name the data folder of the store")
    else:
        return [load(path)]
    if told.is_empty():
        raise ValueError(f"{path}: holds no memory; name a store in which something was remembered and consolidated")
    found = [
        _chat(names.get(profile, profile), part, uses.filter(pl.col("profile_id") == profile), made, notes)
        for (profile,), part in told.group_by("profile_id", maintain_order=True)
    ]
    if not (asked := [one for one in found if one.questions.height]):
        raise ValueError("; ".join((f"{path}: {_UNASKED}", *notes)))
    return [one for one in asked if recall_log.AGREEMENT not in one.questions["kind"]] or asked


def _imported(path: Path) -> tuple[_Told, tuple[str, ...]]:
    """Return what a file of events tells, and a note on what of it cannot be read."""
    with TemporaryDirectory(prefix="memory-pipeline-") as home:
        with Lake(Path(home)) as lake:
            import_events(lake.ledger, jsonl.events(path, recorded_at=READ))
            refused = lake.ledger.dead_letters().select("origin", "reason")
        found = _folder(Path(home))
    line = pl.col("origin").str.extract(r"(\d+)$").cast(pl.Int64)
    letters = refused.sort(line).rows()
    if found[0].is_empty():
        raise unreadable(path, letters)
    return found, (left_out(letters, "line"),) if letters else ()


def _folder(home: Path) -> _Told:
    """Return what a data folder tells."""
    if not (home / "ledger.sqlite").is_file():
        raise ValueError(f"{home}: is a folder without memories; name a data folder, or a file")
    with Lake(home) as lake:
        events, memories = lake.events(), lake.read("memories", columns=["memory_id", "members"])
    kind = pl.col("event_type")
    told = events.filter(kind == EventType.STORED.value).rename({"memory_id": "id", "occurred_at": "at"})
    return told, events.filter(kind.is_in(recall_log.USES)), _members(memories)


def _exported(path: Path) -> _Told:
    """Return the same of a file that `snapshot --export` wrote."""
    if not path.is_file():
        raise ValueError(f"{path}: cannot be read (there is no such file); name a file of `snapshot --export`")
    try:
        memories = snapshot.read_exported(path, RELATIONS["memories"], _TOLD)
        uses = snapshot.read_exported(path, RECALLS, list(RECALLS.types))
    except ValueError as error:
        raise ValueError(f"{path}: is no exported store ({error}); make one with: snapshot --export FILE") from error
    told = memories.filter(kind="original").filter(~pl.col("lifecycle").is_in(_GONE)).rename({"memory_id": "id"})
    told = told.rename({"created_at": "at", "importance_given": "importance"}).sort("at", "seq", "id")
    return told, uses, _members(memories)


def _members(memories: pl.DataFrame) -> dict[str, list[str]]:
    return dict(memories.select("memory_id", "members").iter_rows())


def _chat(
    name: str, told: pl.DataFrame, uses: pl.DataFrame, made: Mapping[str, list[str]], notes: tuple[str, ...]
) -> Chat:
    """Return the memories of a profile with its questions; what was erased is in neither."""
    asked, note = recall_log.questions(uses)
    said = told.filter(pl.col("content").is_not_null()).unique("id", keep="first", maintain_order=True)
    turns = said.select(*TURNS, "importance", "memory_type")
    known = set(turns["id"])
    rows: list[dict[str, Any]] = []
    for question in asked:
        evidence = [one for one in recall_log.originals(question["evidence"], made) if one in known]
        if evidence or question["kind"] == recall_log.AGREEMENT:
            rows.append(question | {"evidence": evidence})
    return replace(chat(name, [], rows), turns=turns, notes=(*filter(None, (note,)), *notes))
