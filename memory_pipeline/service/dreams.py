"""Consolidates a folder of Markdown: imports it, plans or runs, and says or writes which of its lines change.

Not here: the command (`dream_commands`), and how lines change (`interop/dreaming`).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
from uuid6 import uuid7

from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.interop import dreaming, formats, importing
from memory_pipeline.interop import markdown as folders
from memory_pipeline.interop.exports import current, folder
from memory_pipeline.interop.exports.dream_record import DreamRecord
from memory_pipeline.interop.importing import ImportReport
from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import consolidate, inputs
from memory_pipeline.schemas import Action
from memory_pipeline.settings import Settings


def dream(lake: Lake, settings: Settings, directory: Path, owner: str, *, apply: bool) -> dict[str, Any]:
    """Import a folder, plan or run, and return the changes; with `apply`, write the folder.

    Returns:
        `profile_id`, `run_id` (None of a plan), counts of what was `imported`, `known`, `refused` and `held` back, the
        `files` that change, their `diff`, the `reasons`, and the `commit` in git, if there is one.

    Raises:
        LakeError, ValueError: the store, the settings or the folder cannot be used.
    """
    texts = folders.texts(directory)
    taken = _imported(lake, settings, directory, owner)
    standing = folders.places(directory, profile=owner, ledger=lake.ledger)
    places = [place for place in standing if place.file in texts]
    now = datetime.now(UTC)
    profiles = inputs.select_profiles(lake, settings, as_of=now, profiles=[owner], trigger="cli")
    run_id = str(uuid7()) if apply else None
    if run_id is None:
        tables = consolidate.preview(lake, settings, profiles)
    else:
        # Before anything is read: an erasure from now on names the folder.
        lake.ledger.note_export(directory, at=now, profile_id=owner)
        tables = consolidate.consolidate(lake, settings, profiles, run_id=run_id)
        snapshot.publish_after(lake, "the run is committed")
    plan = tables["consolidation_plan"]
    held = plan.filter(pl.col("status") == "held").height
    leaving, changed = _changes(texts, places, tables["settled_memories"], now)
    written = {place.memory_id for place in places if place.file in changed}
    commit = None
    if run_id is not None and changed:
        decided_by = run_id if held < plan.height else None
        record = DreamRecord.of(owner, decided_by, texts, changed, position=lake.ledger.position())
        commit = folder.change(directory, texts, changed, f"Dream of {owner}", profile_id=owner, first=record.write)
    return {
        "profile_id": owner,
        "run_id": run_id,
        "imported": taken.accepted,
        "known": taken.duplicates,
        "refused": taken.dead_letters,
        "files": list(changed),
        "diff": list(dreaming.diff(texts, changed)),
        "reasons": _reasons(plan, leaving & written),
        "held": held,
        "commit": commit,
    }


def _imported(lake: Lake, settings: Settings, directory: Path, owner: str) -> ImportReport:
    now, form = datetime.now(UTC), formats.FORMATS[folders.FORMAT]
    events = formats.events(form, directory, recorded_at=now, ledger=lake.ledger, profile=owner)
    with folder.being_imported(directory, owner):
        return importing.import_events(lake.ledger, events, settings=settings)


def _changes(
    texts: Mapping[str, str], places: list[dreaming.Place], memories: pl.DataFrame, now: datetime
) -> tuple[set[str], dict[str, str | None]]:
    """Return the memories of the folder that no longer hold after the plan, and the files that change."""
    judged = current.judged(memories, now)
    here = {place.memory_id for place in places}
    leaving = here & set(judged.drop_nulls("why")["memory_id"])
    written = judged.filter(
        pl.col("why").is_null(), pl.col("members").list.set_intersection(sorted(leaving)).list.len() > 0
    )
    summaries = [dreaming.Summary(*row) for row in written.select("memory_id", "content", "members").iter_rows()]
    return leaving, dreaming.changes(texts, places, leaving=leaving, summaries=summaries)


def _reasons(plan: pl.DataFrame, leaving: set[str]) -> list[str]:
    """Return why memories leave the folder, in the order of the plan, each reason once.

    A memory that a summary replaces leaves for the summary's reason.
    """
    names = sorted(leaving)
    made = plan.filter(pl.col("target_id").is_not_null(), pl.col("memory_id").is_in(names))["target_id"]
    about = plan.filter(
        (pl.col("memory_id").is_in(names) & pl.col("action").is_in(decision_json.LEAVES.keys()))
        | (pl.col("memory_id").is_in(made.to_list()) & (pl.col("action") == Action.SUMMARISE.value))
        | (pl.col("memory_id").is_in(names) & (pl.col("action") == Action.CLOSE.value)),
        pl.col("status") != "held",
    )
    return about["reason"].unique(maintain_order=True).to_list()
