"""Erases what a client names for good: a memory, a person, its profile, or the words of questions."""

from datetime import datetime

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.erasure.receipt import Receipt
from memory_pipeline.recall.client.open_profile import OpenProfile
from memory_pipeline.recall.client.searches import Searches
from memory_pipeline.recall.client.validation import check_bool, check_id, check_text
from memory_pipeline.recall.filters import instant


def erase(
    own: OpenProfile,
    searches: Searches,
    memory_id: str | None,
    *,
    user: str | None,
    profile: bool,
    questions_since: datetime | str | None,
    reason: str,
) -> Receipt:
    """Erase exactly one of the four (see `MemoryClient.erase`)."""
    check_bool("profile", profile)
    since = instant("questions_since", questions_since, own.zone)
    targets = {name: value for name, value in {"memory_id": memory_id, "user": user}.items() if value is not None}
    if len(targets) + profile + (since is not None) != 1:
        raise ValueError("give exactly one of memory_id, user, profile=True and questions_since to say what to erase")
    for name, value in targets.items():
        check_id(name, value)
    if reason != "":
        check_text("reason", reason)
    own.flush()
    try:
        return erase_memories(
            own.lake,
            profile_id=own.profile_id,
            memory_ids=None if memory_id is None else [memory_id],
            user_id=user,
            whole_profile=profile,
            questions_since=since,
            now=own.now(),
            reason=reason,
        )
    finally:
        searches.clear()
