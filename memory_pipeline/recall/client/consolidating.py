"""Runs a consolidation of a client's profile in its process."""

from typing import Final

from uuid6 import uuid7

from memory_pipeline.lake import snapshot
from memory_pipeline.lake.tables import Conflict
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.client.validation import check_bool
from memory_pipeline.recall.openings import Consolidated
from memory_pipeline.runs import consolidate, inputs

_ATTEMPTS: Final = 4
"""Attempts to plan and commit a run that collides with concurrent commits."""


def run(own: OpenProfile, *, lightweight: bool, task: str | None, scope: str, dry_run: bool) -> Consolidated:
    """Plan a run on the current state, and commit it unless it is dry (see `MemoryClient.consolidate`)."""
    check_bool("lightweight", lightweight)
    check_bool("dry_run", dry_run)
    if lightweight and task is not None:
        raise ValueError("lightweight and task cannot be combined; give one of them")
    own.flush()
    kind = "lightweight" if lightweight else "full" if task is None else task
    for _ in range(_ATTEMPTS - 1):
        try:
            return _run(own, kind, scope, dry_run=dry_run)
        except Conflict:
            continue
    return _run(own, kind, scope, dry_run=dry_run)


def _run(own: OpenProfile, task: str, scope: str, *, dry_run: bool) -> Consolidated:
    now = own.now()
    profiles = inputs.select_profiles(
        own.lake, own.settings, as_of=now, profiles=[own.profile_id], task=task, scope=scope
    )
    run_id = None if dry_run else str(uuid7())
    if run_id is None:
        tables = consolidate.preview(own.lake, own.settings, profiles)
    else:
        tables = consolidate.consolidate(own.lake, own.settings, profiles, run_id=run_id)
        if task != "lightweight":
            snapshot.publish_after(own.lake, "the run is committed")
    return Consolidated(
        run_id=run_id,
        task=task,
        as_of=now.astimezone(own.zone),
        profiles=profiles,
        plan=tables["consolidation_plan"],
        memories=tables["memories"],
    )
