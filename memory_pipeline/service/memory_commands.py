"""The commands that write single memories: `remember`, `update`, `protect`, `restore`, `feedback`, `end-session`."""

from typing import Annotated, Any

import typer

from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import InvalidEvent
from memory_pipeline.ledger.payloads import read_json
from memory_pipeline.service import actions
from memory_pipeline.service.options import (
    JsonOption,
    MemoryArgument,
    Misused,
    ProfileOption,
    existing_client,
    existing_profile,
    instant,
    out,
    session_client,
    settings_in_force,
    show_json,
)
from memory_pipeline.service.profile_choice import choose_profile
from memory_pipeline.service.report import line

app = typer.Typer()

ValidFrom = Annotated[str | None, typer.Option(metavar="T", help="Instant from which it is true.")]
ValidUntil = Annotated[str | None, typer.Option(metavar="T", help="Instant until which it is true.")]


@app.command()
def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to remember.")],
    profile: ProfileOption = None,
    memory_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Decision, Insight, Pattern, Preference, ...")
    ] = None,
    importance: Annotated[float | None, typer.Option(metavar="0..1", help="Importance; default: set by rule.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Session it was said in.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent that stores it.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Person it belongs to.")] = None,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag to filter by; repeatable.")] = None,
    occurred_at: Annotated[str | None, typer.Option(metavar="T", help="When it was said; default: now.")] = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    protect: Annotated[bool, typer.Option("--protect", help="Never archive or delete it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Store one memory. The first one creates the data folder."""
    home = settings_in_force(writing=True).home
    if profile is None:
        with Lake(home) as lake:
            profile = choose_profile(lake, None)
    try:
        event = actions.remember(
            home,
            text,
            profile_id=profile,
            session_id=session,
            agent_id=agent,
            user_id=user,
            occurred_at=instant(occurred_at, "--occurred-at"),
            speaker=speaker,
            memory_type=memory_type,
            importance=importance,
            tags=tag or None,
            valid_from=instant(valid_from, "--valid-from"),
            valid_until=instant(valid_until, "--valid-until"),
            protected=protect or None,
        )
    except InvalidEvent as error:
        raise Misused(error.reason) from error
    if as_json:
        show_json({"memory_id": event.memory_id, "profile_id": profile, "event_id": event.event_id})
    else:
        line(out(), f"remembered as {event.memory_id} in profile {profile}")


@app.command()
def update(
    memory_id: MemoryArgument,
    content: Annotated[str | None, typer.Option("--content", metavar="TEXT", help="New text.")] = None,
    importance: Annotated[float | None, typer.Option(metavar="0..1", help="New importance.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Replace all tags by this one; repeatable.")
    ] = None,
    clear_tags: Annotated[bool, typer.Option("--clear-tags", help="Remove all tags.")] = False,
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="Replace the metadata by this JSON object.")
    ] = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a memory. Text, importance, tags, metadata or validity; the ledger keeps the old values."""
    if tag and clear_tags:
        raise Misused("--tag and --clear-tags cannot be combined; give one of them")
    changes: dict[str, Any] = {
        "content": content,
        "importance": importance,
        "tags": [] if clear_tags else tag or None,
        "metadata": None if metadata is None else _json_object(metadata, "--metadata"),
        "valid_from": instant(valid_from, "--valid-from"),
        "valid_until": instant(valid_until, "--valid-until"),
    }
    if all(value is None for value in changes.values()):
        raise Misused(
            "nothing to change: give --content, --importance, --tag, --clear-tags, --metadata, --valid-from or "
            "--valid-until"
        )
    owner = existing_profile(profile)
    with existing_client(owner) as client:
        client.update(memory_id, **changes)
    _show_outcome(memory_id, owner, "changed", as_json=as_json)


@app.command()
def protect(
    memory_id: MemoryArgument,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; `explain` shows it.")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the protection.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Protect a memory. No run archives, trims or deletes it."""
    owner = existing_profile(profile)
    with existing_client(owner) as client:
        client.protect(memory_id, reason, protected=not lift)
    _show_outcome(memory_id, owner, "no longer protected" if lift else "protected", as_json=as_json)


@app.command()
def restore(memory_id: MemoryArgument, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Restore a memory. Brings back what a run archived, merged or trimmed."""
    owner = existing_profile(profile)
    with existing_client(owner) as client:
        client.restore(memory_id)
    _show_outcome(memory_id, owner, "restored", as_json=as_json)


@app.command()
def feedback(
    memory_id: MemoryArgument,
    helpful: Annotated[
        bool, typer.Option("--helpful/--not-helpful", help="Whether it helped to answer.", show_default=False)
    ],
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record whether a recalled memory helped. Helpful memories are kept longer."""
    owner = existing_profile(profile)
    with existing_client(owner) as client:
        client.feedback(memory_id, helpful=helpful)
    _show_outcome(memory_id, owner, "marked as helpful" if helpful else "marked as not helpful", as_json=as_json)


@app.command("end-session")
def end_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Session that is over.")],
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Record that a session is over. The next sensor or schedule consolidates it."""
    owner = profile or existing_profile(None)
    with session_client(owner) as client:
        client.end_session(session)
    if as_json:
        show_json({"profile_id": owner, "session_id": session, "done": "ended"})
    else:
        line(out(), f"ended: session {session}")


def _json_object(text: str, option: str) -> dict[str, Any]:
    try:
        value = read_json(text)
    except ValueError as error:
        raise Misused(f'{option} is not JSON ({error}); give an object such as \'{{"source": "import"}}\'') from error
    if not isinstance(value, dict):
        raise Misused(f'{option} is {text}; give a JSON object such as \'{{"source": "import"}}\'')
    return value


def _show_outcome(memory_id: str, profile_id: str, outcome: str, *, as_json: bool) -> None:
    if as_json:
        show_json({"memory_id": memory_id, "profile_id": profile_id, "done": outcome})
    else:
        line(out(), f"{outcome}: {memory_id}")
