"""The commands that change single memories: `remember`, `update`, `protect`, `restore`, `feedback`, `end-session`."""

import json
from typing import Annotated, Any

import typer

from memory_pipeline.ledger.event import InvalidEvent
from memory_pipeline.service import actions
from memory_pipeline.service.options import (
    JsonOption,
    MemoryArgument,
    Misused,
    OwnerOption,
    existing_client,
    instant,
    out,
    settings_in_force,
    show_json,
)
from memory_pipeline.service.report import line

app = typer.Typer()


@app.command()
def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.")],
    profile: OwnerOption = "default",
    memory_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Decision, Insight, Pattern, Preference, ...")
    ] = None,
    importance: Annotated[float | None, typer.Option(metavar="0..1", help="How important; default: by rule.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Session it belongs to.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent that stores it.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Person it belongs to.")] = None,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Word to find it by; repeat for several.")
    ] = None,
    occurred_at: Annotated[str | None, typer.Option(metavar="T", help="When it was said; default: now.")] = None,
    valid_from: Annotated[str | None, typer.Option(metavar="T", help="It holds from this instant on.")] = None,
    valid_until: Annotated[str | None, typer.Option(metavar="T", help="It holds until this instant.")] = None,
    protect: Annotated[bool, typer.Option("--protect", help="Never archive or delete it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Store one memory."""
    try:
        event = actions.remember(
            settings_in_force(writing=True).home,
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
        line(out(), f"remembered as {event.memory_id}")


@app.command()
def update(
    memory_id: MemoryArgument,
    content: Annotated[str | None, typer.Option("--content", metavar="TEXT", help="Its new text.")] = None,
    importance: Annotated[float | None, typer.Option(metavar="0..1", help="Its new importance.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Replace all its tags; repeat for several.")
    ] = None,
    clear_tags: Annotated[bool, typer.Option("--clear-tags", help="Remove all its tags.")] = False,
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="Replace its metadata by this JSON object.")
    ] = None,
    valid_from: Annotated[str | None, typer.Option(metavar="T", help="It holds from this instant on.")] = None,
    valid_until: Annotated[str | None, typer.Option(metavar="T", help="It holds until this instant.")] = None,
    profile: OwnerOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Change a memory's text, importance, tags, metadata or validity. The ledger keeps the old values."""
    if tag and clear_tags:
        raise Misused("--tag and --clear-tags exclude each other; give one of them")
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
    with existing_client(profile) as client:
        client.update(memory_id, **changes)
    _say(memory_id, profile, "changed", as_json=as_json)


@app.command()
def protect(
    memory_id: MemoryArgument,
    reason: Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why; `explain` tells it.")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Protect it no longer.")] = False,
    profile: OwnerOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Keep a memory from being archived, trimmed or deleted."""
    with existing_client(profile) as client:
        client.protect(memory_id, reason, protected=not lift)
    _say(memory_id, profile, "no longer protected" if lift else "protected", as_json=as_json)


@app.command()
def restore(memory_id: MemoryArgument, profile: OwnerOption = "default", as_json: JsonOption = False) -> None:
    """Bring a memory back that a run has archived, merged or trimmed."""
    with existing_client(profile) as client:
        client.restore(memory_id)
    _say(memory_id, profile, "restored", as_json=as_json)


@app.command()
def feedback(
    memory_id: MemoryArgument,
    helpful: Annotated[
        bool, typer.Option("--helpful/--not-helpful", help="Whether it helped to answer.", show_default=False)
    ],
    profile: OwnerOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Say whether a recalled memory helped."""
    with existing_client(profile) as client:
        client.feedback(memory_id, helpful=helpful)
    _say(memory_id, profile, "noted as helpful" if helpful else "noted as not helpful", as_json=as_json)


@app.command("end-session")
def end_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="The session that is over.")],
    profile: OwnerOption = "default",
    as_json: JsonOption = False,
) -> None:
    """Say that a session is over. The next sensor or schedule consolidates what it brought."""
    with existing_client(profile) as client:
        client.end_session(session)
    if as_json:
        show_json({"profile_id": profile, "session_id": session, "done": "ended"})
    else:
        line(out(), f"ended: session {session}")


def _json_object(text: str, option: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Misused(f'{option} is not JSON ({error}); give an object such as \'{{"source": "import"}}\'') from error
    if not isinstance(value, dict):
        raise Misused(f'{option} is {text}; give a JSON object such as \'{{"source": "import"}}\'')
    return value


def _say(memory_id: str, profile: str, done: str, *, as_json: bool) -> None:
    if as_json:
        show_json({"memory_id": memory_id, "profile_id": profile, "done": done})
    else:
        line(out(), f"{done}: {memory_id}")
