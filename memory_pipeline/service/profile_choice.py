"""Chooses the profile that a request acts on when it names none.

Not here: which profiles a token may see (`http_guard`).
"""

from typing import Final

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import DEFAULT_PROFILE
from memory_pipeline.service.report import command
from memory_pipeline.settings import load

_LISTED: Final = 20
"""Profiles that an error names; a store may hold thousands."""


def choose_profile(lake: Lake, profile_id: str | None, *, remedy: str | None = None) -> str:
    """Return the named profile, the home's default profile, or the store's only one; `default` while it is empty.

    Args:
        profile_id: the profile that the caller names, if any. It need not exist.
        remedy: how this caller names a profile, for the error; default: as on the command line.

    Raises:
        ValueError: no profile is named, none is the default, and the store holds several; lists them, largest first.
    """
    if profile_id is not None:
        return profile_id
    if (chosen := load(lake.home).default_profile) is not None:
        return chosen
    counted = _counted(lake)
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    if len(ranked) > 1:
        profiles = [f"{name} ({counted[name]:,})" for name in ranked]
        more = f" and {len(ranked) - _LISTED} more" if len(ranked) > _LISTED else ""
        setting = command(lake.home, "config", "set", "default_profile", ranked[0])
        raise ValueError(
            f"the store holds several profiles, by number of memories: {', '.join(profiles[:_LISTED])}{more}; "
            + (remedy or f"name one with --profile, or choose one for all commands: {setting}")
        )
    return ranked[0] if ranked else DEFAULT_PROFILE


def stored_profiles(lake: Lake) -> list[str]:
    """Return the profiles that have stored a memory, sorted."""
    return sorted(_counted(lake))


def _counted(lake: Lake) -> dict[str, int]:
    """Return the number of memories of each profile that has stored one."""
    return {name: count for name, count in lake.ledger.profiles().select("profile_id", "memories").iter_rows() if count}
