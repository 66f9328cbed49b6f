"""The commands that start a server, `serve` and `mcp`, and those that hand out tokens for it."""

import importlib.util
import socket
import sys
from typing import Annotated

import typer

from memory_pipeline.lake.tables import Lake
from memory_pipeline.service import auth_tokens as bearer
from memory_pipeline.service import report
from memory_pipeline.service.auth_tokens import Grant, Role
from memory_pipeline.service.options import (
    Commands,
    JsonOption,
    ProfileOption,
    err,
    out,
    settings_in_force,
    show_json,
)

app = typer.Typer()
tokens = typer.Typer(cls=Commands, help="Bearer tokens of the HTTP service.")


@app.command()
def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0: any free one.")] = 8000,
) -> None:
    """Start the HTTP service. Requests need a token: see `token create`; what it answers: /openapi.json."""
    _needs("fastapi", "uvicorn", extra="server")
    import uvicorn  # noqa: PLC0415

    from memory_pipeline.service.background_runs import Runs  # noqa: PLC0415
    from memory_pipeline.service.http_server import application  # noqa: PLC0415

    home = settings_in_force(writing=True).home
    Lake(home).close()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise ValueError(f"--host {host} --port {port}: {error.strerror or error}; choose another") from error
    if not bearer.listing(home):
        report.line(err(), "there is no token yet; make one with: memory-pipeline token create --role admin")
    report.line(err(), f"listening at http://{host}:{listening.getsockname()[1]}; Ctrl-C ends it")
    server = uvicorn.Server(uvicorn.Config(application(home, Runs(home)), log_level="info"))
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:  # how a server is ended: uvicorn has closed everything before it lets this through
        return


@app.command()
def mcp() -> None:
    """Start the MCP server. It speaks over standard input and output with the agent that started it."""
    _needs("mcp", extra="mcp")
    from memory_pipeline.service.background_runs import Runs  # noqa: PLC0415
    from memory_pipeline.service.client_pool import Clients  # noqa: PLC0415
    from memory_pipeline.service.mcp_server import server  # noqa: PLC0415

    home = settings_in_force(writing=True).home
    if sys.stdin.isatty():
        report.line(
            err(), "waiting for an agent to speak MCP on standard input; docs/service.md says how to connect one"
        )
    with Clients(home) as clients, Runs(home) as runs:
        server(home, clients, runs).run("stdio")


@tokens.command("create")
def token_create(
    role: Annotated[Role, typer.Option(help="admin: every profile; agent: one.")],
    profile: ProfileOption = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="What you call it.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Make a token and print it. It cannot be shown again, since only its hash is kept."""
    token, grant = bearer.create(settings_in_force(writing=True).home, role, profile_id=profile, name=name)
    if as_json:
        show_json({"token": token} | _shown(grant))
        return
    out().print(token, soft_wrap=True, markup=False)
    report.line(err(), f"token {grant.token_id}: {grant.role.value}, {_whose(grant)}; it is not shown again")


@tokens.command("list")
def token_list(as_json: JsonOption = False) -> None:
    """List the tokens. Not what they are, only what they allow."""
    grants = bearer.listing(settings_in_force().home)
    if as_json:
        show_json([_shown(grant) for grant in grants])
        return
    rows = [(one.token_id, one.name, one.role.value, _whose(one), report.when(one.created_at)) for one in grants]
    report.table(out(), ("id", "name", "role", "for", "made (UTC)"), rows, empty="there is no token")


@tokens.command("revoke")
def token_revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, as `token list` shows it.")],
    as_json: JsonOption = False,
) -> None:
    """Make a token worthless, from this moment on."""
    gone = bearer.revoke(settings_in_force().home, token_id)
    if as_json:
        show_json(_shown(gone))
    else:
        report.line(out(), f"revoked: {gone.token_id}")


def _shown(grant: Grant) -> dict[str, object]:
    names = ("token_id", "name", "role", "profile_id", "created_at")
    return {name: getattr(grant, name) for name in names} | {"role": grant.role.value}


def _whose(grant: Grant) -> str:
    return "every profile" if grant.profile_id is None else f"profile {grant.profile_id}"


def _needs(*modules: str, extra: str) -> None:
    """Say which extra is missing.

    Raises:
        ValueError: a module is not installed.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise ValueError(f"{missing[0]} is not installed; install it with: pip install 'memory-pipeline[{extra}]'")
