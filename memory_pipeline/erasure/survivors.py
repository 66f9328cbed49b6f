"""Finds what erasures should have removed from published files, and removes it.

The ledger is the truth: it says which events are redacted and which memories are erased.
"""

from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.state import projection
from memory_pipeline.erasure import erase, redact_files
from memory_pipeline.erasure.receipt import Receipt
from memory_pipeline.lake import kept_indexes, snapshot
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger import catalog, redaction
from memory_pipeline.ledger.catalog import Mark
from memory_pipeline.schemas import EventType, Lifecycle
from memory_pipeline.text.content_hash import content_hashes

_REASON: Final = "texts of an earlier erasure were still there"
_HASH: Final = r'_hash":"([0-9a-f]{32})"'


def survivors(lake: Lake) -> dict[str, list[str]]:
    """Return for each profile where erased texts or their keywords remain; empty if nothing remains.

    Cost: reads all events and decisions of the profiles in which anything was ever erased.
    """
    with lake.ledger.reading() as transaction:
        profiles = redaction.erased_since(transaction, 0)
        last = catalog.mark(transaction, Mark.ERASED)
    names = snapshot.listing(lake.home).filter(pl.col("ledger_position") < last)["name"] if profiles else ()
    old = [f"snapshot {name}" for name in names]  # of whichever profile: each snapshot holds all
    old += [f"index {name}" for name in (kept_indexes.outdated(lake.home, erased=last) if profiles else ())]
    places = {profile_id: [*_places(lake, profile_id), *old] for profile_id in sorted(profiles)}
    return {profile_id: found for profile_id, found in places.items() if found}


def remove_survivors(lake: Lake, *, now: datetime) -> list[Receipt]:
    """Repeat the steps of an erasure after the ledger, for profiles with survivors, and return the receipts.

    Raises LakeError: the store cannot be written, or is still in use.
    """
    return [
        erase.finish_again(lake, profile_id, seqs=_redacted(lake, profile_id), now=now, reason=_REASON)
        for profile_id in survivors(lake)
    ]


def _redacted(lake: Lake, profile_id: str) -> list[int]:
    """Return the positions of a profile's redacted events."""
    with lake.ledger.reading() as transaction:
        return redaction.redacted_positions(transaction, profile_id)


def _places(lake: Lake, profile_id: str) -> list[str]:
    """Return the tables and archives that hold anything erased in a profile."""
    seqs = _redacted(lake, profile_id)
    redacted = pl.col("seq").is_in(seqs)
    events, memories = (lake.read(name, profiles=[profile_id]) for name in ("events", "memories"))
    erased = events.filter(pl.col("event_type") == EventType.ERASED.value)["memory_id"].unique()
    quotes = pl.col("members").list.set_intersection(erased.implode()).list.len() > 0
    kept = pl.col("memory_id").is_in(erased.implode()) & (pl.col("lifecycle") != Lifecycle.ERASED.value)
    known = _known_hashes(lake, profile_id, memories).implode()
    unknown = ~pl.col("content_hash").is_in(known)
    either_unknown = ~(pl.col("older_hash").is_in(known) & pl.col("newer_hash").is_in(known))
    held = {
        "events": events.filter(redacted, pl.col("erased_at").is_null()),
        "payloads": lake.read("payloads", profiles=[profile_id]).filter(redacted),
        "memories": memories.filter(kept | quotes.fill_null(value=False)),
        "enrichment": lake.read("enrichment", profiles=[profile_id]).filter(unknown),
        "vectors": lake.read("vectors", profiles=[profile_id]).filter(unknown),
        "pair_readings": lake.read("pair_readings", profiles=[profile_id]).filter(either_unknown),
    }
    return [*(f"table {name}" for name, rows in held.items() if rows.height), *redact_files.archived(lake.store, seqs)]


def _known_hashes(lake: Lake, profile_id: str, memories: pl.DataFrame) -> pl.Series:
    """Return the hash of every text that the profile's memories have or had and that is not erased."""
    events = lake.events(profiles=[profile_id])
    texts = events.filter(pl.col("content").is_not_null()).select("memory_id", "speaker", "content")
    speakers = texts.select("memory_id", "speaker").unique()
    versions = texts.drop("speaker").join(speakers, on="memory_id")
    decisions = lake.ledger.decisions(profiles=[profile_id])
    decided = [decisions[name].str.extract_all(_HASH).explode().str.extract(_HASH) for name in ("before", "after")]
    return pl.concat(
        [
            content_hashes(versions["speaker"], versions["content"]).rename("content_hash"),
            memories["content_hash"],
            projection.project(events).memories["content_hash"],
            *(hashes.rename("content_hash") for hashes in decided),
        ]
    ).unique()
