"""The commands that ask the memory: `recall`, `session-start`, `get`, `list`, `explain`."""

import functools
import inspect
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any

import typer

from memory_pipeline.ledger.validation_errors import nearest
from memory_pipeline.recall.models import Filters
from memory_pipeline.service import report_memory
from memory_pipeline.service.options import (
    InstantOption,
    JsonOption,
    MemoryArgument,
    OwnerOption,
    ProfileOption,
    existing_client,
    existing_lake,
    instant,
    out,
    settings_in_force,
    show_json,
)
from memory_pipeline.service.report import line

app = typer.Typer()


def _filters(
    session: Annotated[str | None, typer.Option("--session", metavar="NAME", help="Only of this session.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="Only what this agent stored.")] = None,
    user: Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only what belongs to this user.")] = None,
    speaker: Annotated[
        str | None, typer.Option("--speaker", metavar="NAME", help="Only what this speaker said.")
    ] = None,
    memory_type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only of this type; repeat for several.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Only with this tag; repeat for several.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="T", help="Only stored at this instant or later.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="T", help="Only stored before this instant.")] = None,
) -> Filters:
    """Read which memories may be named."""
    return Filters(
        session_id=session,
        agent_id=agent,
        user_id=user,
        speaker=speaker,
        memory_types=tuple(memory_type or ()) or None,
        tags=tuple(tag or ()) or None,
        since=instant(since, "--since"),
        until=instant(until, "--until"),
    )


def _filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes `filters` the options of `_filters` in its place."""
    signature, options = inspect.signature(command), inspect.signature(_filters).parameters

    @functools.wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in options}
        command(**given, filters=_filters(**chosen))

    own = [options.values() if one.name == "filters" else [one] for one in signature.parameters.values()]
    keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in chain.from_iterable(own)]
    run.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    return run


@app.command()
@_filtered
def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What is to be known, in plain words.")],
    profile: OwnerOption = "default",
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="At most so many memories.")] = 10,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=1, metavar="N", help="At most so many tokens in all.")
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option("--min-score", min=0, max=1, metavar="0..1", help="Only memories with at least this score."),
    ] = None,
    as_of: InstantOption = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also what is archived, cold or superseded, with half its lead.")
    ] = False,
    ranking: Annotated[
        str, typer.Option(metavar="NAME", help="default, engram, automem, cognitive, cosine or lexical.")
    ] = "default",
    *,
    filters: Filters,
    no_record: Annotated[
        bool, typer.Option("--no-record", help="Do not note that these memories were used; notes keep them fresh.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find what answers a question. Best first, with what no longer holds marked as such."""
    clock = instant(as_of)
    with existing_client(profile) as client:
        answer = client.recall(
            query,
            k,
            token_budget=tokens,
            min_score=min_score,
            as_of=clock,
            deep=deep,
            filters=filters,
            ranking=ranking,
            record=not no_record,
        )
    _not_misspelt(profile, nothing=not answer)
    if as_json:
        show_json(answer.to_dict())
    else:
        report_memory.answer(out(), answer, home=settings_in_force().home, profile=profile)


@app.command("session-start")
def session_start(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="What the session will be about.")] = None,
    profile: OwnerOption = "default",
    session: Annotated[str | None, typer.Option("--session", metavar="NAME", help="The session that starts.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print what an agent reads first. Core memory, then what is relevant to the query."""
    with existing_client(profile) as client:
        opening = client.session_start(query, session_id=session)
    _not_misspelt(profile, nothing=not opening.blocks and not opening.answer)
    if as_json:
        show_json(opening.to_dict())
    else:
        report_memory.opening(out(), opening)


@app.command("get")
def get_memory(
    memory_id: MemoryArgument,
    profile: OwnerOption = "default",
    as_of: InstantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one memory as it stands now, or stood at an instant."""
    clock = instant(as_of)
    with existing_client(profile) as client:
        memory = client.get(memory_id, as_of=clock)
    if as_json:
        show_json(memory.to_dict())
    else:
        report_memory.memory(out(), memory)


@app.command("list")
@_filtered
def list_memories(
    profile: OwnerOption = "default",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most so many.")] = 20,
    *,
    filters: Filters,
    deep: Annotated[bool, typer.Option("--deep", help="Also what is archived, cold or superseded.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List memories, newest first. One line each, with the whole id."""
    with existing_client(profile) as client:
        found = client.list(filters, limit, deep=deep)
    _not_misspelt(profile, nothing=not found)
    if as_json:
        show_json([memory.to_dict() for memory in found])
    else:
        report_memory.memories(out(), found)


@app.command()
def explain(
    memory_id: MemoryArgument,
    profile: ProfileOption = None,
    as_of: InstantOption = None,
    query: Annotated[
        str | None, typer.Option("--query", metavar="TEXT", help="Also why it ranks where it does for this question.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say everything about a memory. Scores factor by factor, edges, cluster, decisions and why, lineage."""
    from memory_pipeline.recall.client.explain import explain as explain_memory  # noqa: PLC0415
    from memory_pipeline.recall.client.validation import past_instant  # noqa: PLC0415
    from memory_pipeline.service import rank_explanation  # noqa: PLC0415

    clock = past_instant(instant(as_of), datetime.now(UTC))
    with existing_lake(settings_in_force()) as lake:
        explanation = explain_memory(lake, memory_id, profile_id=profile, as_of=clock)
    if query is not None:
        with existing_client(explanation.profile_id) as client:
            explanation = rank_explanation.placed(client, explanation, query, as_of=clock)
    if as_json:
        show_json(explanation.to_dict())
        return
    for said in explanation.lines():
        line(out(), said)


def _not_misspelt(profile: str, *, nothing: bool) -> None:
    """Where nothing was found, look whether the profile has a memory at all.

    Raises:
        ValueError: it has none; names the nearest that does.
    """
    if nothing:
        with existing_lake(settings_in_force()) as lake:
            profiles = lake.ledger.profiles()
        known = profiles.filter(profiles["memories"] > 0)["profile_id"].to_list()
        if profile not in known:
            raise ValueError(f"profile {profile!r} has no memory; {nearest(profile, known)}; choose one with --profile")
