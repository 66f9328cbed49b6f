"""Chooses the profile that a request acts on when it names none, and says whose memories one over MCP may touch.

Not here: which profiles a token may see over HTTP (`http_guard`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import DEFAULT_PROFILE
from memory_pipeline.service.report import command
from memory_pipeline.settings import load

if TYPE_CHECKING:
    from mcp.server.mcpserver import Context

    from memory_pipeline.service.auth_tokens import Grant

GRANT: Final = "grant"
"""Key of the token's grant in the state of a request."""
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


def grant_of(context: "Context[Any, Any]") -> "Grant | None":
    """Return the grant of the token that came with an HTTP request; None over standard input and output."""
    request = context.request_context.request
    return None if request is None else request.scope["state"][GRANT]


def chosen_profile(home: Path, profile_id: str | None) -> str:
    """Return the named profile, or the one that the store chooses; a ValueError lists them, if it holds several."""
    if profile_id is not None:
        return profile_id
    with Lake(home) as lake:
        return choose_profile(lake, None, remedy="name one as profile_id")


def allowed_profile(grant: "Grant | None", asked: str | None, only: str | None) -> str | None:
    """Return the profile of a request, from a server that may have only one; None: the store chooses.

    Raises:
        ValueError: server or token are for another profile.
    """
    if only is not None and asked not in {None, only}:
        raise ValueError(f"this server has a single profile, {only!r}")
    chosen = only or asked or (grant.profile_id if grant else None)
    if grant is not None and grant.profile_id not in {None, chosen}:
        raise ValueError(f"the token is only for profile {grant.profile_id!r}")
    return chosen
