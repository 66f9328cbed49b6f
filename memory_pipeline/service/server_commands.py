"""The commands that start a server, `serve` and `mcp`, and those that manage its tokens."""

import importlib.util
import socket
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_pipeline.lake.tables import Lake
from memory_pipeline.service import auth_tokens, report
from memory_pipeline.service.auth_tokens import Grant, Role
from memory_pipeline.service.options import (
    Commands,
    JsonOption,
    Misused,
    ProfileOption,
    err,
    existing_home,
    out,
    settings_in_force,
    show_json,
)
from memory_pipeline.settings import Settings

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from memory_pipeline.service.background_runs import Runs

app = typer.Typer()
tokens = typer.Typer(cls=Commands, help="Manage the bearer tokens of the HTTP service and of MCP over HTTP.")


@app.command()
def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 picks a free one.")] = 8000,
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name that clients use, such as a proxy's; repeatable."),
    ] = None,
) -> None:
    """Start the HTTP service. Its documentation opens at /docs; requests need a token (see `token create`)."""
    _require("fastapi", "uvicorn", extra="server")
    from memory_pipeline.service.background_runs import Runs  # noqa: PLC0415
    from memory_pipeline.service.host_check import Address  # noqa: PLC0415
    from memory_pipeline.service.http_server import application  # noqa: PLC0415
    from memory_pipeline.service.listening import listen  # noqa: PLC0415

    settings = settings_in_force(writing=True)
    home = settings.home
    Lake(home).close()
    listener = _listen(host, port, f"--host {host} --port {port}")
    report.line(err(), f"listening at {_url(listener)}; documentation at {_url(listener)}/docs; stop with Ctrl-C")
    _hint_at_tokens()
    runs, names = Runs(home), Address(host, port).names(host_name or ())
    listen(application(home, runs, names), listener, runs, settings, log_level="info")


@app.command()
def mcp(
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            "-p",
            metavar="NAME",
            help="The only profile agents may use; default: every call may name one.",
            show_default=False,
        ),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only tools that change nothing; record no accesses.")
    ] = False,
    tools: Annotated[
        str | None,
        typer.Option(metavar="A,B,C", help="Offer only these tools; default: all but those that erase."),
    ] = None,
    allow_erase: Annotated[
        bool,
        typer.Option("--allow-erase", help="Also offer `forget`, `erase_user` and `erase_questions`, which erase."),
    ] = False,
    http: Annotated[
        str | None,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve streamable HTTP at /mcp instead of standard input and output; host: 127.0.0.1 unless given. "
            "Requests need a token (see `token create`).",
        ),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="With --http: another host name that clients use, such as a proxy's; repeatable."
        ),
    ] = None,
) -> None:
    """Start the MCP server for an agent. Over standard input and output, or HTTP with --http."""
    _require("mcp", extra="mcp")
    from memory_pipeline.recall.client.client_pool import Clients  # noqa: PLC0415
    from memory_pipeline.service.background_runs import Runs  # noqa: PLC0415
    from memory_pipeline.service.mcp_server import Exposure, server  # noqa: PLC0415

    if host_name and http is None:
        raise Misused("--host-name goes with --http")
    try:
        exposure = Exposure(
            profile_id=profile,
            read_only=read_only,
            tools=None if tools is None else [name.strip() for name in tools.split(",")],
            allow_erase=allow_erase,
        )
    except ValueError as error:
        raise Misused(f"--tools: {error}" if tools else str(error)) from error
    settings = settings_in_force(writing=not read_only)
    home = existing_home(settings) if read_only else settings.home
    with Clients(home) as clients, Runs(home) as runs:
        mcp_server = server(home, clients, runs, exposure)
        if http is not None:
            _serve_mcp(mcp_server, runs, settings, http=http, host_names=host_name or [])
            return
        if sys.stdin.isatty():
            report.line(err(), "waiting for an MCP client on standard input; docs/service.md shows how to connect one")
        mcp_server.run("stdio")


@tokens.command("create")
def token_create(
    role: Annotated[Role, typer.Option(help="admin: every profile; agent: one.")],
    profile: ProfileOption = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Label for `token list`.")] = "",
    reads: Annotated[
        list[str] | None,
        typer.Option("--reads", metavar="NAME", help="Profile that an agent may recall besides; repeatable."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token and print it. Only its hash is stored, so it cannot be shown again."""
    home = settings_in_force(writing=True).home
    token, grant = auth_tokens.create(home, role, profile_id=profile, name=name, reads=reads or ())
    if as_json:
        show_json({"token": token} | _grant_row(grant))
        return
    out().print(token, soft_wrap=True, markup=False)
    report.line(err(), f"token {grant.token_id} ({grant.role.value}, {_scope(grant)}); it will not be shown again")


@tokens.command("list")
def token_list(as_json: JsonOption = False) -> None:
    """List the tokens: what each allows, never the token itself."""
    grants = auth_tokens.listing(settings_in_force().home)
    if as_json:
        show_json([_grant_row(grant) for grant in grants])
        return
    rows = [
        (grant.token_id, grant.name, grant.role.value, _scope(grant), report.when(grant.created_at)) for grant in grants
    ]
    empty = "no tokens yet; create one with: memory-pipeline token create --role admin"
    report.table(out(), ("id", "name", "role", "for", "created (UTC)"), rows, empty=empty)


@tokens.command("revoke")
def token_revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, from `token list`.")],
    as_json: JsonOption = False,
) -> None:
    """Revoke a token. It stops working at once."""
    revoked = auth_tokens.revoke(settings_in_force().home, token_id)
    if as_json:
        show_json(_grant_row(revoked))
    else:
        report.line(out(), f"revoked: {revoked.token_id}")


def _serve_mcp(server: "MCPServer[Any]", runs: "Runs", settings: Settings, *, http: str, host_names: list[str]) -> None:
    """Serve MCP over streamable HTTP until Ctrl-C."""
    from memory_pipeline.service import mcp_http  # noqa: PLC0415
    from memory_pipeline.service.host_check import Address  # noqa: PLC0415
    from memory_pipeline.service.listening import listen  # noqa: PLC0415 - uvicorn comes with mcp

    try:
        address = Address.parse(http)
    except ValueError as error:
        raise Misused(f"--http {error}") from error
    listener = _listen(address.host, address.port, f"--http {http}")
    report.line(err(), f"listening at {_url(listener)}{mcp_http.PATH}; stop with Ctrl-C")
    _hint_at_tokens()
    app = mcp_http.application(server, settings.home, address, host_names)
    listen(app, listener, runs, settings, log_level="warning")


def _listen(host: str, port: int, option: str) -> socket.socket:
    """Open a listening socket.

    Raises:
        ValueError: the address is taken or not ours; names the option that gave it.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ValueError(f"{option}: {error.strerror or error}; choose another address or port") from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _hint_at_tokens() -> None:
    if not auth_tokens.listing(settings_in_force().home):
        report.line(err(), "no tokens yet; create one with: memory-pipeline token create --role admin")


def _grant_row(grant: Grant) -> dict[str, object]:
    names = ("token_id", "name", "role", "profile_id", "reads", "created_at")
    return {name: getattr(grant, name) for name in names} | {"role": grant.role.value}


def _scope(grant: Grant) -> str:
    besides = f", reads {', '.join(grant.reads)}" if grant.reads else ""
    return "every profile" if grant.profile_id is None else f"profile {grant.profile_id}{besides}"


def _require(*modules: str, extra: str) -> None:
    """Check that the packages of an extra are installed.

    Raises:
        ValueError: one is missing; names the extra.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise ValueError(f"{missing[0]} is not installed; install it with: pip install 'memory-pipeline[{extra}]'")
