"""The commands that read memories: `recall`, `session-start`, `get`, `list`, `explain`, `digest`."""

import inspect
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memory_pipeline.service import report, shell

if TYPE_CHECKING:
    from memory_pipeline.recall.filters import Filters


app = typer.Typer()

CurrentOption = Annotated[bool, typer.Option("--current", help="Only what holds now.")]
DeepOption = Annotated[bool, typer.Option("--deep", help="Include archived, cold and superseded memories.")]


def _filters(
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Only from this session.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Only stored by this agent.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Only memories of this person.")] = None,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Only said by this speaker.")] = None,
    memory_type: Annotated[
        list[str] | None, typer.Option("--type", metavar="TYPE", help="Only of this type; repeatable.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="Only with this tag; repeatable.")] = None,
    since: Annotated[str | None, typer.Option(metavar="T", help="Only said at or after this instant.")] = None,
    until: Annotated[str | None, typer.Option(metavar="T", help="Only said before this instant.")] = None,
    metadata: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Only with these values in the metadata; of a list, any."),
    ] = None,
) -> "Filters":
    """Build filters from the options."""
    from memory_pipeline.recall.filters import Filters

    return Filters(
        session_id=session,
        agent_id=agent,
        user_id=user,
        speaker=speaker,
        memory_types=tuple(memory_type or ()) or None,
        tags=tuple(tag or ()) or None,
        since=shell.instant(since, "--since"),
        until=shell.instant(until, "--until"),
        metadata=metadata,
    )


def _filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the parameter `filters` of a command by the options of `_filters`."""
    own, options = inspect.signature(command).parameters, inspect.signature(_filters).parameters

    def run(**arguments: Any) -> None:
        chosen = {name: arguments.pop(name) for name in options}
        command(**arguments, filters=_filters(**chosen))

    parts = [options.values() if name == "filters" else [option] for name, option in own.items()]
    return shell.with_options(run, command, chain.from_iterable(parts))


@app.command()
@_filtered
def recall(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Question in plain words.")],
    profile: shell.ProfileOption = None,
    k: Annotated[int, typer.Option("-k", min=1, metavar="N", help="Maximum number of memories to return.")] = 10,
    tokens: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum total of tokens to return.")] = None,
    min_score: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="0..1", help="Only memories with at least this score."),
    ] = None,
    as_of: shell.InstantOption = None,
    deep: DeepOption = False,
    current: CurrentOption = False,
    ranking: Annotated[
        str, typer.Option(metavar="NAME", help="default, engram, automem, cognitive, cosine or lexical.")
    ] = "default",
    *,
    filters: "Filters",
    after: Annotated[
        str | None, typer.Option(metavar="CURSOR", help="Go on after the answer with this cursor.")
    ] = None,
    asked_by: Annotated[
        str | None, typer.Option(metavar="NAME", help="Person who asks; used by the ranking engram.")
    ] = None,
    asked_in: Annotated[
        str | None, typer.Option(metavar="NAME", help="Session in which it is asked; used by engram.")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Search this profile too, such as a team's; repeatable."),
    ] = None,
    no_record: Annotated[
        bool, typer.Option("--no-record", help="Do not record an access; accesses keep memories alive.")
    ] = False,
    as_json: shell.JsonOption = False,
) -> None:
    """Find the memories that answer a question. Best first; those no longer true are marked."""
    from memory_pipeline.ledger.disk import writable
    from memory_pipeline.service import report_memory

    clock, home = shell.instant(as_of), shell.settings_in_force().home
    owner = shell.existing_profile(profile)
    with shell.client_of(owner) as client:
        answer = client.recall(
            query,
            k,
            token_budget=tokens,
            min_score=min_score,
            as_of=clock,
            deep=deep,
            current=current,
            filters=filters,
            after=after,
            ranking=ranking,
            record=not no_record,
            session_id=asked_in,
            user_id=asked_by,
            profiles=[owner, *also] if also else None,
        )
        for name in (owner, *(also or ())):
            _check_spelling(name, empty=not any(hit.profile_id == name for hit in answer))
        tell = partial(report_memory.answer, hits=answer, home=home, profile=owner, budget=tokens)
        shell.Done(answer.to_dict(), tell).show(as_json=as_json)  # before a full disk has no room for its access
    if answer and not no_record and not writable(home):
        report.line(shell.err(), f"data folder {home} is read-only: this recall is not recorded")


@app.command("session-start")
@shell.shown
def session_start(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="Topic of the session.")] = None,
    profile: shell.ProfileOption = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Record the start of this session.")] = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project at work; leaves out what others instruct.")
    ] = None,
) -> shell.Done:
    """Print what an agent reads first. Core memory, then memories relevant to the query."""
    from memory_pipeline.service import report_memory

    may_be_new = profile is not None and session is not None
    owner = profile if profile is not None and may_be_new else shell.existing_profile(profile)
    with shell.client_of(owner, session=may_be_new) as client:
        opening = client.session_start(query, session_id=session, project=project)
    _check_spelling(owner, empty=not (may_be_new or opening.blocks or opening.answer))
    return shell.Done(opening.to_dict(), partial(report_memory.opening, start=opening))


@app.command("get")
@shell.shown
def get_memory(
    memory_id: shell.MemoryArgument,
    profile: shell.ProfileOption = None,
    as_of: shell.InstantOption = None,
    whole: Annotated[bool, typer.Option("--whole", help="Print all of a long text.")] = False,
) -> shell.Done:
    """Show one memory. As it is now, or was at an instant."""
    from memory_pipeline.service import report_memory

    clock = shell.instant(as_of)
    with shell.client_of(shell.existing_profile(profile)) as client:
        memory = client.get(memory_id, as_of=clock)
    return shell.Done(memory.to_dict(), partial(report_memory.memory, row=memory, whole=whole))


@app.command("list")
@_filtered
@shell.shown
def list_memories(
    profile: shell.ProfileOption = None,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, metavar="N", help="Maximum number of memories to list.")
    ] = 20,
    *,
    filters: "Filters",
    deep: DeepOption = False,
    current: CurrentOption = False,
    after: Annotated[
        str | None, typer.Option(metavar="MEMORY", help="Go on after this memory, the last of a page.")
    ] = None,
) -> shell.Done:
    """List memories, newest first. One line each."""
    from memory_pipeline.service import report_memory

    owner = shell.existing_profile(profile)
    with shell.client_of(owner) as client:
        memories = client.list(filters, limit, deep=deep, current=current, after=after)
    _check_spelling(owner, empty=not memories)
    tell = partial(report_memory.memories, listed=memories, limit=limit)
    return shell.Done([memory.to_dict() for memory in memories], tell)


@app.command()
@shell.shown
def explain(
    memory_id: shell.MemoryArgument,
    profile: Annotated[
        str | None, shell.profile_option("Profile of the memory; needed only if several profiles have its id.")
    ] = None,
    as_of: shell.InstantOption = None,
    query: Annotated[str | None, typer.Option(metavar="TEXT", help="Also explain its rank for this question.")] = None,
) -> shell.Done:
    """Explain a memory. In sentences; --json has scores, links, decisions and origin with all numbers."""
    from memory_pipeline.recall.client.explain import explain as explain_memory
    from memory_pipeline.recall.client.validation import past_instant
    from memory_pipeline.service import actions

    clock = past_instant(shell.instant(as_of), datetime.now(UTC), shell.settings_in_force().zone)
    with shell.existing_lake() as lake:
        explanation = explain_memory(
            lake, memory_id, profile_id=profile, as_of=clock, zone=shell.settings_in_force().zone
        )
    if query is not None:
        with shell.client_of(explanation.profile_id) as client:
            explanation = actions.with_rank(client, explanation, query, as_of=clock)

    def tell(console: "shell.Console") -> None:
        for text in explanation.lines():
            report.line(console, text)
        report.line(console, "scores, links and decisions with their numbers: --json", style="dim")

    return shell.Done(explanation.to_dict(), tell)


@app.command()
@shell.shown
def digest(
    profile: shell.ProfileOption = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="T",
            help='Begin at this instant, or so long ago, such as "30 days"; default: 7 days.',
            show_default=False,
        ),
    ] = None,
) -> shell.Done:
    """Write what changed as Markdown. What changed, was merged, is in doubt and left, with counts first."""
    from memory_pipeline.consolidation.plans import digest as digests
    from memory_pipeline.service import period as periods
    from memory_pipeline.service.choices import KEYS

    now, zone = datetime.now(UTC), shell.settings_in_force().zone
    start = _begin(since, now)
    if start >= now:
        raise shell.Misused(f"--since {since} is not in the past; give an earlier instant")
    owner = shell.existing_profile(profile)
    with shell.existing_lake() as lake, shell.client_of(owner) as client:
        home, pairs, period = lake.home, client.review(_DOUBTS), periods.since(lake, client, owner, start)
    document = {"profile_id": owner, "since": start, "until": now, "stored": len(period.stored)}
    document |= {"changes": period.changes.to_dicts(), "review": pairs.to_dict()}
    words = "|".join(key.word for key in KEYS.values())
    text = digests.write(
        period.changes,
        pairs.frame(),
        profile_id=owner,
        since=start.astimezone(zone),
        until=now.astimezone(zone),
        stored=[memory.created_at for memory in period.stored],
        waiting=pairs.waiting,
        review=report.command(home, "review", "--profile", owner),
        resolve=f"{report.command(home, 'resolve', '--profile', owner)} PAIR {words}",
        whole=report.command(home, "digest", "--profile", owner, *(["--since", since] if since else []), "--json"),
    )
    return shell.Done(
        document, lambda console: console.print(text.rstrip(), soft_wrap=True, markup=False, highlight=False)
    )


def _begin(since: str | None, now: datetime) -> datetime:
    """Return where a digest begins: an instant, or so long before now."""
    from memory_pipeline.consolidation.expiry import length

    try:
        ago = timedelta(days=7) if since is None else length(since)
        return (shell.instant(since, "--since") or now) if ago is None else now - ago
    except OverflowError:
        raise shell.Misused(f"--since {since!r} is before the year 1; give a later instant") from None
    except shell.Misused as error:
        raise shell.Misused(f'{error}, or a time in minutes, hours, days or weeks such as "30 days"') from None


_DOUBTS: Final = 10
"""Most pairs that a digest looks up."""


def _check_spelling(profile: str, *, empty: bool) -> None:
    """Refuse a profile without memories, where a result is empty."""
    from memory_pipeline.ledger.validation_errors import nearest
    from memory_pipeline.service.profile_choice import stored_profiles

    if not empty:
        return
    with shell.existing_lake() as lake:
        profiles = stored_profiles(lake)
    if profile not in profiles:
        raise ValueError(f"profile {profile!r} has no memory; {nearest(profile, profiles)}")
