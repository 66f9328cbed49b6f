"""Makes one of the stores in this folder by the code of an old commit.

    git worktree add --detach OLD COMMIT
    cd OLD/tests && PYTHONPATH=OLD python .../tests/old_stores/make.py .../tests/old_stores/NAME.tar.xz

Every sentence is made up. Three nights: duplicates merge, a fact changes, and what is least used is archived; what was
said between the nights only the later ones know. Snapshots are left out: they name the folder in which they were made.
"""

import sys
import tarfile
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, ".")

import homes  # of the old commit

from memory_pipeline.interop.importing import import_events

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
POLICY = "[policy]\narchive_threshold = 0.145\ngrace_period_days = 0.0\nmax_archived_share = 1.0\n"
NIGHTS = (10, 20, 30)
SAID = {
    "ada": [
        (0, "flat", "Ada Moss lives in Bergen, in a flat above the bakery."),
        (0, "nuts", "I am allergic to hazelnuts."),
        (1, "gate", "The code of the garden gate is 4711."),
        (1, "gate-again", "The code of the garden gate is 4711!"),
        (1, "lunch", "Had soup for lunch."),
        (2, "cite", "Always cite your sources when I ask about law."),
        (2, "office", "Our office is in Oslo."),
        (3, "boat", "On 2 March 2026 Ada and Nils repaired the red boat for 350 kroner."),
        (12, "office-now", "Our office is no longer in Oslo, it is in Tromso."),
        (13, "boat-again", "On 2 March 2026 Ada and Nils repaired the red boat for 350 kroner."),
        (25, "tiles", "We decided on the green kitchen tiles."),
    ],
    "bo": [
        (0, "tea", "Bo Lind drinks green tea in the morning."),
        (2, "dog", "Bo's dog is called Pixel."),
        (12, "walk", "Pixel was walked for an hour on Sunday."),
    ],
}


def said(until):
    """Return the events before a day, as mappings; those of earlier nights are recognised by their ids."""
    stored = [
        {
            "event_type": "memory.stored",
            "event_id": f"{profile_id}-{memory_id}",
            "profile_id": profile_id,
            "occurred_at": (START + timedelta(days=day, minutes=number)).isoformat(),
            "session_id": f"{profile_id}-{day}",
            "memory_id": memory_id,
            "payload": {"content": text},
        }
        for profile_id, texts in SAID.items()
        for number, (day, memory_id, text) in enumerate(texts)
        if day < until
    ]
    asked = {
        "event_type": "memory.accessed",
        "event_id": f"ada-asks-{until}",
        "profile_id": "ada",
        "occurred_at": (START + timedelta(days=until - 1)).isoformat(),
        "session_id": "ada-asks",
        "payload": {"memory_ids": ["gate", "nuts"], "query": "What is the code of the gate?", "ranks": [1, 2]},
    }
    return [*stored, asked]


def make(home):
    home.mkdir()
    (home / "memory_pipeline.toml").write_text(POLICY, "utf-8")
    with homes.Lake(home) as lake:
        for number, until in enumerate(NIGHTS, start=1):
            night = START + timedelta(days=until)
            events = [homes.parse(event, recorded_at=night, origin="made up", future=None) for event in said(until)]
            import_events(lake.ledger, events, batch=500)
            homes.night(lake, as_of=night, run_id=f"night-{number}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "data")
        with tarfile.open(sys.argv[1], "w:xz") as archive:
            archive.add(Path(folder) / "data", "data")
