"""Keeps runs and copies from publishing texts of an erasure that is not finished: files may still hold them."""

from collections.abc import Collection

from memory_pipeline.ledger import redaction
from memory_pipeline.ledger.commits import Conflict
from memory_pipeline.ledger.ledger import Ledger


def unfinished(ledger: Ledger, profiles: Collection[str]) -> str | None:
    """Return the profile, of those given, with an interrupted erasure; waits for an erasure in progress.

    A caller that reads heads, then calls this, and then reads files publishes nothing that was erased: an erasure that
    begins later moves the head.
    """
    if _unfinished(ledger) in profiles:
        with ledger.database.erasing():
            pass
    profile_id = _unfinished(ledger)
    return profile_id if profile_id in profiles else None


def refuse(ledger: Ledger, profiles: Collection[str] | None = None) -> None:
    """Raise Conflict if a profile has an interrupted erasure (see `unfinished`).

    Without profiles any erasure counts; the caller then keeps others out (see `Database.erasing`).
    """
    profile_id = _unfinished(ledger) if profiles is None else unfinished(ledger, profiles)
    if profile_id is not None:
        raise Conflict(
            f"profile {profile_id!r}: an erasure was interrupted; finish it with: memory-pipeline doctor --repair"
        )


def _unfinished(ledger: Ledger) -> str | None:
    with ledger.reading() as transaction:
        return redaction.profile_with_unfinished_erasure(transaction)
