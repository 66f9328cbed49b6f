"""Finds the configuration files of MCP clients and adds our server to them.

Not here: asking the user and writing the file (`server_commands`).
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a client lists its servers."""

    user: str
    """File below the user's home."""
    project: str | None
    """File below a project; None where the client has no such file."""
    table: str
    """Name of the table of servers."""
    application: bool = False
    """Whether the user's file lies below the folder in which applications keep their settings."""
    moved: str | None = None
    """Variable that names another folder for the user's file, without those above it."""
    kind: str | None = None
    """What an entry says of how the server is reached; None where clients infer it."""


PLACES: Final = {
    "claude-code": _Place(user=".claude.json", project=".mcp.json", table="mcpServers", moved="CLAUDE_CONFIG_DIR"),
    "claude-desktop": _Place(
        user="Claude/claude_desktop_config.json", project=None, table="mcpServers", application=True
    ),
    "codex": _Place(user=".codex/config.toml", project=None, table="mcp_servers", moved="CODEX_HOME"),
    "cursor": _Place(user=".cursor/mcp.json", project=".cursor/mcp.json", table="mcpServers"),
    "gemini-cli": _Place(user=".gemini/settings.json", project=".gemini/settings.json", table="mcpServers"),
    "vscode": _Place(
        user="Code/User/mcp.json", project=".vscode/mcp.json", table="servers", application=True, kind="stdio"
    ),
    "zed": _Place(user=".config/zed/settings.json", project=".zed/settings.json", table="context_servers"),
}
"""Clients by name."""
_COMMENT: Final = re.compile(r"^\s*//|/\*|,\s*[\]}]", re.MULTILINE)
"""Comments and trailing commas, which some clients allow in their JSON."""
DEFAULT_NAME: Final = "memory"
"""Name of the server, unless another is given."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A change of a client's file."""

    file: Path
    text: str
    """The whole file with the entry."""
    shown: str
    """The entry alone, as it will be in the file."""
    replaced: str | None
    """The entry of that name that is there now; None if there is none."""


def place(client: str, *, project: Path | None, home: Path, environment: Mapping[str, str]) -> Path:
    """Return the file in which a client lists its servers.

    Args:
        project: folder of a project, for its own servers; None for those of the user.
        environment: variables that say where applications keep their data.

    Raises:
        ValueError: the client is unknown, or has no servers per project.
    """
    from memory_pipeline.ledger.validation_errors import nearest

    if (found := PLACES.get(client)) is None:
        raise ValueError(f"client {client!r} is unknown; {nearest(client, PLACES)}")
    if project is not None:
        if found.project is None:
            raise ValueError(f"{client} has no servers per project; leave out --project")
        return project / found.project
    if client == "zed" and sys.platform != "darwin":
        return _applications(home, environment) / ("Zed" if os.name == "nt" else "zed") / "settings.json"
    if found.moved and (folder := environment.get(found.moved)):
        return Path(folder) / Path(found.user).name
    return (_applications(home, environment) if found.application else home) / found.user


def entry(client: str, file: Path, command: Sequence[str], *, name: str = DEFAULT_NAME) -> Entry:
    """Return a client's file, which need not exist, with our server in it; everything else in it stays as it is.

    Raises:
        ValueError: the file is not what the client reads; names what is wrong and the remedy.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    text = file.read_text("utf-8") if file.exists() else ""
    toml, table, kind = file.suffix == ".toml", PLACES[client].table, PLACES[client].kind
    try:
        document: Any = tomlkit.parse(text) if toml else json.loads(text or "{}")
    except (TOMLKitError, ValueError) as error:
        remedy = "fix it, or move it away"
        if _COMMENT.search(text) and not toml:
            wanted = _shown(table, name, _entry(command, kind), toml=False)
            remedy = f"comments would be lost, so add this to it yourself: {wanted}"
        raise ValueError(f"{file} cannot be read ({error}); {remedy}") from error
    servers = document.setdefault(table, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise ValueError(f"{file}: {table!r} is not a table of servers; fix it, or move it away")  # noqa: TRY004
    old = servers.get(name)
    own = _entry(command, kind)
    servers[name] = {**old, **own} if isinstance(old, dict) else own
    written = tomlkit.dumps(document) if toml else f"{json.dumps(document, indent=2, ensure_ascii=False)}\n"
    replaced = _shown(table, name, old, toml=toml) if isinstance(old, dict) else None
    return Entry(file=file, text=written, shown=_shown(table, name, own, toml=toml), replaced=replaced)


def _entry(command: Sequence[str], kind: str | None) -> dict[str, Any]:
    return ({"type": kind} if kind else {}) | {"command": command[0], "args": [*command[1:]]}


def _shown(table: str, name: str, own: Mapping[str, Any], *, toml: bool) -> str:
    """Return one server as it is in a file: only the fields that start it, since others may hold secrets."""
    import tomlkit

    started = {key: own[key] for key in ("type", "command", "args") if key in own}
    return tomlkit.dumps({table: {name: started}}).strip() if toml else json.dumps({table: {name: started}}, indent=2)


def _applications(home: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder in which applications keep their settings."""
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if os.name == "nt":
        return Path(environment.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
