"""The commands that start a server, `serve`, `ui` and `mcp`, and those that manage its tokens."""

import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_pipeline.service import mcp_install as install
from memory_pipeline.service import report, shell
from memory_pipeline.service.choices import Role

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from memory_pipeline.service.auth_tokens import Grant
    from memory_pipeline.service.background_runs import Runs
    from memory_pipeline.settings import Settings

app = typer.Typer()
mcp_app = typer.Typer()
HostOption = Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")]
PortOption = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 picks a free one.")]
HostNameOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Another host name that clients use, such as a proxy's; repeatable."),
]
OnlyProfile = Annotated[
    str | None, shell.profile_option("The only profile that agents may use; default: each call may name one.")
]
tokens = typer.Typer(cls=shell.Commands, help="Manage bearer tokens. For the HTTP service and MCP over HTTP.")


@app.command()
def serve(
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    host_name: HostNameOption = None,
) -> None:
    """Start the HTTP service. Its documentation opens at /docs; requests need a token (see `token create`)."""
    _serve_http(host, port, host_name or (), pages=False)


@app.command("ui")
def pages(
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    host_name: HostNameOption = None,
) -> None:
    """Start the HTTP service with pages for people. Search, review, plans and runs; the link it prints signs you in."""
    _serve_http(host, port, host_name or (), pages=True)


def _serve_http(host: str, port: int, host_names: Sequence[str], *, pages: bool) -> None:
    from memory_pipeline.lake.tables import Lake

    _require("fastapi", "uvicorn", extra="server")
    from memory_pipeline.service.background_runs import Runs
    from memory_pipeline.service.http_server import application
    from memory_pipeline.service.listening import listen
    from memory_pipeline.service.middleware import Address

    settings = shell.settings_in_force(writing=True)
    home = settings.home
    Lake(home).close()
    listener = _listen(host, port, f"--host {host} --port {port}")
    runs, names = Runs(home), Address(host, port).names(host_names)
    app = application(home, runs, names, pages=pages)
    own = "" if pages else f"; documentation at {_url(listener)}/docs"
    report.line(shell.err(), f"listening at {_url(listener)}{own}; stop with Ctrl-C")
    if pages:
        link = f"{_url(listener)}/ui/enter?key={app.state.invitation}"
        report.line(shell.err(), "this link signs one browser in, once:")
        report.line(shell.err(), link)
    else:
        _hint_at_tokens()
    listen(app, listener, runs, settings, log_level="info")


@mcp_app.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    profile: OnlyProfile = None,
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
    if context.invoked_subcommand is not None:
        if profile or read_only or tools or allow_erase or http or host_name:
            raise shell.Misused(f"options of `mcp` go after `{context.invoked_subcommand}`, or do not apply to it")
        return
    _require("mcp", extra="mcp")
    from memory_pipeline.recall.client.client_pool import Clients
    from memory_pipeline.service.background_runs import Runs
    from memory_pipeline.service.mcp_server import Exposure, server

    if host_name and http is None:
        raise shell.Misused("--host-name needs --http")
    try:
        exposure = Exposure(
            profile_id=profile,
            read_only=read_only,
            tools=None if tools is None else [name.strip() for name in tools.split(",")],
            allow_erase=allow_erase,
        )
    except ValueError as error:
        raise shell.Misused(f"--tools: {error}" if tools else str(error)) from error
    settings = shell.settings_in_force(writing=not read_only)
    home = shell.existing_home(settings) if read_only else settings.home
    with Clients(home) as clients, Runs(home) as runs:
        mcp_server = server(home, clients, runs, exposure)
        if http is not None:
            _serve_mcp(mcp_server, runs, settings, http=http, host_names=host_name or [])
            return
        if sys.stdin.isatty():
            report.line(
                shell.err(), "waiting for an MCP client on standard input; docs/mcp.md shows how to connect one"
            )
        mcp_server.run("stdio")


@mcp_app.command("install")
def mcp_install(
    client: Annotated[str, typer.Argument(metavar="CLIENT", help=f"{', '.join(install.PLACES)}.")],
    profile: OnlyProfile = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer only tools that change nothing.")] = False,
    project: Annotated[
        bool, typer.Option("--project", help="Only for the project in this folder; default: for all your projects.")
    ] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the server in the client.")] = install.DEFAULT_NAME,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Add this store to an MCP client. Shows the entry before it writes the client's configuration."""
    from memory_pipeline.service.config_file import replace_file

    _require("mcp", extra="mcp")
    options = [*(["--profile", profile] if profile else []), *(["--read-only"] if read_only else [])]
    command = [_program(), "--home", str(shell.settings_in_force().home.resolve()), "mcp", *options]
    folder = Path.cwd() if project else None
    file = install.place(client, project=folder, home=Path.home(), environment=os.environ).resolve()
    change = install.entry(client, file, command, name=name)
    if change.replaced is not None:
        shell.out().print(f"{file} now has:\n{change.replaced}\n", soft_wrap=True, markup=False, highlight=False)
    shell.out().print(f"{file} will have:\n{change.shown}\n", soft_wrap=True, markup=False, highlight=False)
    if not yes and not (sys.stdin.isatty() and sys.stdout.isatty()):
        again = ["mcp", "install", client, *options, *(["--project"] if project else []), "--yes"]
        again += [] if name == install.DEFAULT_NAME else ["--name", name]
        home = shell.settings_in_force().home
        raise shell.Misused(
            f"nothing was written: no terminal to ask in; write it with: {report.command(home, *again)}"
        )
    if not yes and not typer.confirm("Write it?"):
        shell.say("nothing was written")
        raise typer.Exit(1)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, change.text)
    shell.say(f"written: {file}; restart {client} to use it")


def _program() -> str:
    """Return the full path of this command, since clients may run with another PATH."""
    beside = shutil.which("memory-pipeline", path=str(Path(sys.executable).parent))
    return beside or shutil.which("memory-pipeline") or str(Path(sys.argv[0]).resolve())


@tokens.command("create")
@shell.shown
def token_create(
    role: Annotated[Role, typer.Option(help="admin: every profile; agent: one.")],
    profile: Annotated[str | None, shell.profile_option("Profile of an agent's token.")] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="Label for `token list`.")] = "",
    reads: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another profile that the agent may recall; repeatable."),
    ] = None,
) -> shell.Done:
    """Create a token and print it. Only its hash is stored, so it cannot be shown again."""
    from memory_pipeline.service import auth_tokens

    home = shell.settings_in_force(writing=True).home
    token, grant = auth_tokens.create(home, role, profile_id=profile, name=name, reads=reads or ())

    def tell(console: "shell.Console") -> None:
        console.print(token, soft_wrap=True, markup=False)
        about = f"token {grant.token_id} ({grant.role.value}, {_scope(grant)})"
        report.line(shell.err(), f"{about}; it will not be shown again")

    return shell.Done({"token": token} | _grant_row(grant), tell)


@tokens.command("list")
@shell.shown
def token_list() -> shell.Done:
    """List the tokens. What each allows, never the token itself."""
    from memory_pipeline.service import auth_tokens

    settings = shell.settings_in_force()
    grants = auth_tokens.listing(settings.home)
    rows = [
        (
            *(grant.token_id, grant.name, grant.role.value, _scope(grant)),
            report.when(grant.created_at, zone=settings.zone),
        )
        for grant in grants
    ]
    empty = "no tokens yet; create one with: memory-pipeline token create --role admin"
    headers = ("id", "name", "role", "for", f"created ({settings.zone})")
    tell = partial(report.table, headers=headers, rows=rows, empty=empty)
    return shell.Done([_grant_row(grant) for grant in grants], tell)


@tokens.command("revoke")
@shell.shown
def token_revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the token, from `token list`.")],
) -> shell.Done:
    """Revoke a token. It stops working at once."""
    from memory_pipeline.service import auth_tokens

    revoked = auth_tokens.revoke(shell.settings_in_force().home, token_id)
    return shell.Done(_grant_row(revoked), f"revoked: {revoked.token_id}")


def _serve_mcp(
    server: "MCPServer[Any]", runs: "Runs", settings: "Settings", *, http: str, host_names: list[str]
) -> None:
    from memory_pipeline.service import mcp_http
    from memory_pipeline.service.listening import listen
    from memory_pipeline.service.middleware import Address

    try:
        address = Address.parse(http)
    except ValueError as error:
        raise shell.Misused(f"--http {error}") from error
    listener = _listen(address.host, address.port, f"--http {http}")
    report.line(shell.err(), f"listening at {_url(listener)}{mcp_http.PATH}; stop with Ctrl-C")
    _hint_at_tokens()
    app = mcp_http.application(server, settings.home, address, host_names)
    listen(app, listener, runs, settings, log_level="warning")


def _listen(host: str, port: int, option: str) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ValueError(f"{option}: {error.strerror or error}; choose another address or port") from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - every address, of which a link names one
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _hint_at_tokens() -> None:
    from memory_pipeline.service import auth_tokens

    if not auth_tokens.listing(shell.settings_in_force().home):
        report.line(shell.err(), "no tokens yet; create one with: memory-pipeline token create --role admin")


def _grant_row(grant: "Grant") -> dict[str, object]:
    names = ("token_id", "name", "role", "profile_id", "reads", "created_at")
    return {name: getattr(grant, name) for name in names} | {"role": grant.role.value}


def _scope(grant: "Grant") -> str:
    also_reads = f", reads {', '.join(grant.reads)}" if grant.reads else ""
    return "every profile" if grant.profile_id is None else f"profile {grant.profile_id}{also_reads}"


def _require(*modules: str, extra: str) -> None:
    """Check that the packages of an extra are installed."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        from memory_pipeline.settings.extras import pip_install

        raise ValueError(f"{missing[0]} is not installed; install it with: {pip_install(extra)}")
