"""Chooses the profile that a request acts on when it names none.

Not here: which profiles a token may see (`http_guard`).
"""

from typing import Final

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import DEFAULT_PROFILE

_LISTED: Final = 20
"""Profiles that an error names; a store may hold thousands."""


def choose_profile(lake: Lake, profile_id: str | None, *, remedy: str = "choose one with --profile NAME") -> str:
    """Return the named profile, or the store's only one; `default` while the store is empty.

    Args:
        lake: the store.
        profile_id: the profile that the caller names, if any. It need not exist.
        remedy: how this caller names a profile, for the error.

    Raises:
        ValueError: no profile is named and the store holds several.
    """
    if profile_id is not None:
        return profile_id
    profiles = stored_profiles(lake)
    if len(profiles) > 1:
        more = f" and {len(profiles) - _LISTED} more" if len(profiles) > _LISTED else ""
        raise ValueError(f"the store holds several profiles ({', '.join(profiles[:_LISTED])}{more}); {remedy}")
    return profiles[0] if profiles else DEFAULT_PROFILE


def stored_profiles(lake: Lake) -> list[str]:
    """Return the profiles that have stored a memory, sorted."""
    profiles = lake.ledger.profiles()
    return profiles.filter(profiles["memories"] > 0)["profile_id"].sort().to_list()
