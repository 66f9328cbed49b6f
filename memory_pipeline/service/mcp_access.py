"""Whose memories a request over MCP may touch."""

from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context

from memory_pipeline.lake.tables import Lake
from memory_pipeline.service.auth_tokens import Grant
from memory_pipeline.service.middleware import GRANT
from memory_pipeline.service.profile_choice import choose_profile


def grant_of(context: Context[Any, Any]) -> Grant | None:
    """Return the grant of the token that came with an HTTP request; None over standard input and output."""
    request = context.request_context.request
    return None if request is None else request.scope["state"][GRANT]


def chosen_profile(home: Path, profile_id: str | None) -> str:
    """Return the named profile, or the one that the store chooses; a ValueError lists them, if it holds several."""
    if profile_id is not None:
        return profile_id
    with Lake(home) as lake:
        return choose_profile(lake, None, remedy="name one as profile_id")


def allowed_profile(grant: Grant | None, asked: str | None, only: str | None) -> str | None:
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
