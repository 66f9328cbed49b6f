"""The commands that write single memories, and those that answer how two memories relate."""

import os
import select
import stat
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_pipeline.service import shell
from memory_pipeline.service.choices import ANSWERS, KEYS, relation_of
from memory_pipeline.service.report import command, line

if TYPE_CHECKING:
    from memory_pipeline.recall.client.memory_client import MemoryClient
    from memory_pipeline.recall.reviews import Pair, Review

app = typer.Typer()

ValidFrom = Annotated[str | None, typer.Option(metavar="T", help="Instant from which it is true.")]
ValidUntil = Annotated[str | None, typer.Option(metavar="T", help="Instant until which it is true.")]


@app.command()
def remember(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Text to remember.")],
    profile: shell.ProfileOption = None,
    memory_type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Decision, Insight, Pattern, Preference, ...")
    ] = None,
    importance: Annotated[float | None, typer.Option(metavar="0..1", help="Importance; default: set by rule.")] = None,
    session: Annotated[str | None, typer.Option(metavar="NAME", help="Session it was said in.")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent that stores it.")] = None,
    user: Annotated[str | None, typer.Option(metavar="NAME", help="Person it belongs to.")] = None,
    speaker: Annotated[str | None, typer.Option(metavar="NAME", help="Who said it.")] = None,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help="Project in which alone holds what it instructs.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="TAG", help="Tag to filter by; repeatable.")] = None,
    occurred_at: Annotated[
        str | None, typer.Option(metavar="T", help="When it was said; default: a past day at its head, else now.")
    ] = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    expires_in: Annotated[
        str | None, typer.Option(metavar="TIME", help='Hide it after "36 hours", "30 days", ...')
    ] = None,
    protect: Annotated[bool, typer.Option("--protect", help="Never archive or delete it.")] = False,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Do not look for what it may replace; quicker. So does --json.")
    ] = False,
    as_json: shell.JsonOption = False,
) -> None:
    """Store one memory. Names what it may replace, repeat or contradict; the first one creates the data folder."""
    from memory_pipeline.lake.tables import Lake
    from memory_pipeline.ledger.event import InvalidEvent
    from memory_pipeline.service import actions
    from memory_pipeline.service.profile_choice import choose_profile

    home = shell.settings_in_force(writing=True).home
    if profile is None:
        with Lake(home) as lake:
            profile = choose_profile(lake, None)
    try:
        event, own = actions.remember(
            home,
            text,
            profile_id=profile,
            session_id=session,
            agent_id=agent,
            user_id=user,
            occurred_at=shell.instant(occurred_at, "--occurred-at"),
            speaker=speaker,
            memory_type=memory_type,
            importance=importance,
            tags=tag or None,
            metadata={"project": project} if project else None,
            valid_from=shell.instant(valid_from, "--valid-from"),
            valid_until=shell.instant(valid_until, "--valid-until"),
            expires_in=expires_in,
            protected=protect or None,
        )
    except InvalidEvent as error:
        raise shell.Misused(error.reason) from error
    quoted, why = own.quoted, None if own.left_out is None else own.left_out.reason
    if as_json:
        ids = {"memory_id": quoted[0] if why and quoted else event.memory_id}
        ids |= {"event_id": None if why else event.event_id, "profile_id": profile}
        shell.show_json(ids | ({"quoted": [*quoted]} if quoted else {}) | ({"left_out": why} if why else {}))
    elif why and quoted:
        shell.say(f"not stored again; it quotes {', '.join(quoted)}")
    elif why:
        shell.say(f"not stored: {why}")
        shell.say(f"store all that was left out: {command(home, 'dead-letters', 'requeue', '--noise')}")
    else:
        said = f"remembered as {event.memory_id} in profile {profile}"
        shell.say(f"{said}; it quotes {', '.join(quoted)}" if quoted else said)
        if not no_check:
            _tell_likely(str(event.memory_id), profile)


def _tell_likely(memory_id: str, profile: str) -> None:
    """Print the earlier memories that a new one may replace, repeat or contradict, and how to say so."""
    with shell.client_of(profile) as client:
        pairs = client.likely(memory_id)
    if pairs:
        told = "\n".join(pair.text() for pair in pairs)
        _tell_pairs(told, profile, "; the next run judges what is left open")


def _tell_pairs(pairs: str, profile: str, more: str = "") -> None:
    for told in pairs.splitlines():
        shell.say(told)
    answering = command(shell.settings_in_force().home, "resolve", "PAIR", "ANSWER", "--profile", profile)
    shell.say(f"answer with: {answering}")
    shell.say(f"ANSWER is one of: {ANSWERS}{more}")


@app.command()
@shell.shown
def correct(
    memory_id: shell.MemoryArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What holds instead.")],
    profile: shell.ProfileOption = None,
) -> shell.Done:
    """Correct a memory. Stores what holds instead; the old one is closed and stays in the past."""
    owner = shell.existing_profile(profile)
    with shell.client_of(owner) as client:
        new = client.correct(memory_id, text)
    said = f"remembered as {new} in profile {owner}; {memory_id} no longer holds"
    return shell.Done({"memory_id": new, "profile_id": owner, "supersedes": memory_id}, said)


@app.command()
def review(
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of pairs.")] = 10,
    profile: shell.ProfileOption = None,
    as_json: shell.JsonOption = False,
) -> None:
    """Review uncertain pairs. Asks about each in a terminal, else lists them, or takes answers from standard input."""
    owner = shell.existing_profile(profile)
    given = [] if as_json else _piped()
    with shell.client_of(owner) as client:
        pairs = client.review(limit)
        if as_json:
            shell.show_json(pairs.to_dict())
        elif not pairs:
            shell.say("nothing needs an answer")
        elif given:
            _take(client, pairs, given)
        elif not (sys.stdin.isatty() and shell.out().is_terminal):
            _tell_pairs(pairs.text(), owner)
            shell.say("or give this command the answers on standard input, one a line, in the order of the pairs")
        else:
            _ask(client, pairs)


def _piped() -> list[str]:
    """Return the lines that wait on standard input; none of a terminal, or of a program that says nothing."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return []
    try:
        kind = os.fstat(sys.stdin.fileno()).st_mode
        waits = stat.S_ISREG(kind) or (stat.S_ISFIFO(kind) and bool(select.select([sys.stdin], [], [], 0)[0]))
    except (OSError, ValueError):  # no file, as in a program that runs the command within itself
        return []
    return [said.strip() for said in sys.stdin.read().splitlines() if said.strip()] if waits else []


def _take(client: "MemoryClient", pairs: "Review", given: Sequence[str]) -> None:
    """Note answers that were given at once, all or none: the letter or word of each pair, in order.

    "p" is about the words that are asked about, unless others follow it.
    """
    if len(given) > len(pairs):
        raise shell.Misused(
            f"{len(given)} answers for {len(pairs)} pairs; nothing was noted: give at most one for each"
        )
    letters: dict[str, str] = {key.letter: relation for relation, key in KEYS.items()}
    read: list[tuple[Pair, str, str | None]] = []
    for pair, said in zip(pairs, given, strict=False):
        word, _, words = said.partition(" ")
        try:
            relation = letters.get(word) or relation_of(word)
        except ValueError as error:
            raise shell.Misused(f"{error}; nothing was noted") from None
        ended = (words.strip() or pair.statement) if relation == "partial" else None
        if relation == "partial" and (not ended or ended not in pair.older.content):
            raise shell.Misused(
                f"answer {said!r} names no words of {pair.older.content!r}; nothing was noted: copy them exactly"
            )
        read.append((pair, relation, ended))
    labels: dict[str, str] = {relation: key.label for relation, key in KEYS.items()}
    answers = list[str | None]()
    for pair, relation, ended in read:
        both = (pair.older.memory_id, pair.newer.memory_id)
        answers.append(client.resolve(both, relation, statement=ended, answered_by="owner"))
        shell.say(f"{labels.get(relation, relation)}: {pair.older.line()} / {pair.newer.line()}")
    _tell_noted(pairs, answers)


def _tell_noted(pairs: "Review", answers: Sequence[str | None]) -> None:
    """Print how many pairs were answered, and how the last is taken back."""
    noted = [answer for answer in answers if answer]
    undo = f"; take the last back: {command(shell.settings_in_force().home, 'undo', noted[-1])}" if noted else ""
    shell.say(f"{len(noted)} answered, {pairs.waiting - len(noted)} wait{undo}")


def _ask(client: "MemoryClient", pairs: "Review") -> None:
    """Ask about pairs one after the other; an answer counts at once, and can be taken back."""
    from rich.prompt import Prompt

    from memory_pipeline.service.report_plan import compared

    console = shell.out()
    answers: list[str | None] = []
    while len(answers) < len(pairs):
        pair = pairs[len(answers)]
        letters = {key.letter: relation for relation, key in KEYS.items()}
        offered = "  ".join(f"{key.letter} {key.label.lower()}" for key in KEYS.values())
        line(console, f"{len(answers) + 1} of {len(pairs)}: {pair.question()}", style="bold")
        compared(console, {"older": pair.older, "newer": pair.newer})
        line(console, f"{offered}{'  u take the last back' if answers else ''}  q quit", style="dim")
        choices = [*letters, *("u" if answers else ""), "q"]
        key = Prompt.ask("answer", choices=choices, show_choices=False, default="l", console=console)
        if key == "q":
            break
        if key == "u":
            if last := answers.pop():
                client.undo(last)
            continue
        relation = letters[key]
        ended = _ended(pair) if relation == "partial" else None
        if relation == "partial" and ended is None:
            continue
        both = (pair.older.memory_id, pair.newer.memory_id)
        answers.append(client.resolve(both, relation, statement=ended, answered_by="owner"))
    _tell_noted(pairs, answers)


def _ended(pair: "Pair") -> str | None:
    """Ask which sentences of the older memory no longer hold, or which words of a single one; None if none do."""
    from rich.prompt import Prompt

    asked = pair.sentences()
    if len(asked) < 2:  # noqa: PLR2004 - nothing to choose from
        question, default, wrong = "words of the older that no longer hold", pair.statement or "", "copy them exactly"
    else:
        for index, (sentence, _) in enumerate(asked, start=1):
            shell.say(f"  {index} {sentence}")
        question, wrong = "numbers of those that no longer hold", f"give numbers from 1 to {len(asked)}"
        default = " ".join(str(index) for index, (_, ended) in enumerate(asked, start=1) if ended)
    numbered = {str(index): sentence for index, (sentence, _) in enumerate(asked, start=1)}
    while said := Prompt.ask(question, default=default, show_default=bool(default), console=shell.out()).strip():
        if len(asked) < 2 and said in pair.older.content:  # noqa: PLR2004 - as above
            return said
        if len(asked) > 1 and all(one in numbered for one in said.split()):
            return "\n".join(numbered[one] for one in said.split())
        shell.say(wrong)
    return None


@app.command()
@shell.shown
def resolve(
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="Id of a pair, as `review` shows it.")],
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help=f"{ANSWERS}.")],
    newer: Annotated[
        str | None, typer.Option(metavar="MEMORY", help="Memory that replaces the other, if not the later one.")
    ] = None,
    statement: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="With part: the words that are over, as the older memory has them; default: those asked about.",
        ),
    ] = None,
    profile: shell.ProfileOption = None,
) -> shell.Done:
    """Answer how two memories relate. It takes effect at once; `undo` withdraws it."""
    owner = shell.existing_profile(profile)
    with shell.client_of(owner) as client:
        noted = client.resolve(pair, relation_of(answer), newer=newer, statement=statement)
    withdraw = command(shell.settings_in_force().home, "undo", noted or "")
    said = "left for later" if noted is None else f"noted; undo with: {withdraw}"
    return shell.Done({"profile_id": owner, "answer_id": noted}, said)


@app.command()
@shell.shown
def update(
    memory_id: shell.MemoryArgument,
    content: Annotated[str | None, typer.Option(metavar="TEXT", help="New text.")] = None,
    importance: Annotated[float | None, typer.Option(metavar="0..1", help="New importance.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Replace all tags by this one; repeatable.")
    ] = None,
    clear_tags: Annotated[bool, typer.Option("--clear-tags", help="Remove all tags.")] = False,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Replace the metadata by this JSON object.")
    ] = None,
    valid_from: ValidFrom = None,
    valid_until: ValidUntil = None,
    profile: shell.ProfileOption = None,
) -> shell.Done:
    """Change a memory. Text, importance, tags, metadata or validity; the history keeps the old values."""
    if tag and clear_tags:
        raise shell.Misused("--tag and --clear-tags cannot be combined; give one of them")
    changes: dict[str, Any] = {
        "content": content,
        "importance": importance,
        "tags": [] if clear_tags else tag or None,
        "metadata": None if metadata is None else _json_object(metadata, "--metadata"),
        "valid_from": shell.instant(valid_from, "--valid-from"),
        "valid_until": shell.instant(valid_until, "--valid-until"),
    }
    if all(value is None for value in changes.values()):
        raise shell.Misused(
            "nothing to change: give --content, --importance, --tag, --clear-tags, --metadata, --valid-from or "
            "--valid-until"
        )
    return _done(memory_id, profile, "changed", lambda client: client.update(memory_id, **changes))


@app.command()
@shell.shown
def protect(
    memory_id: shell.MemoryArgument,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; `explain` shows it.")] = None,
    lift: Annotated[bool, typer.Option("--lift", help="Lift the protection.")] = False,
    profile: shell.ProfileOption = None,
) -> shell.Done:
    """Protect a memory. No run archives, trims or deletes it."""
    outcome = "no longer protected" if lift else "protected"
    return _done(memory_id, profile, outcome, lambda client: client.protect(memory_id, reason, protected=not lift))


@app.command()
@shell.shown
def restore(memory_id: shell.MemoryArgument, profile: shell.ProfileOption = None) -> shell.Done:
    """Restore a memory. Brings back what a run archived, merged or trimmed."""
    return _done(memory_id, profile, "restored", lambda client: client.restore(memory_id))


@app.command()
@shell.shown
def feedback(
    memory_id: shell.MemoryArgument,
    helpful: Annotated[
        bool, typer.Option("--helpful/--not-helpful", help="Whether it helped to answer.", show_default=False)
    ],
    profile: shell.ProfileOption = None,
) -> shell.Done:
    """Record whether a recalled memory helped. Helpful memories are kept longer."""
    outcome = f"marked as {'' if helpful else 'not '}helpful"
    return _done(memory_id, profile, outcome, lambda client: client.feedback(memory_id, helpful=helpful))


def _done(memory_id: str, profile: str | None, outcome: str, act: "Callable[[MemoryClient], object]") -> shell.Done:
    owner = shell.existing_profile(profile)
    with shell.client_of(owner) as client:
        act(client)
    return shell.Done({"memory_id": memory_id, "profile_id": owner, "done": outcome}, f"{outcome}: {memory_id}")


@app.command("end-session")
@shell.shown
def end_session(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Session that is over.")],
    profile: shell.ProfileOption = None,
) -> shell.Done:
    """Record that a session is over. The next sensor or schedule consolidates it."""
    owner = profile or shell.existing_profile(None)
    with shell.client_of(owner, session=True) as client:
        client.end_session(session)
    return shell.Done({"profile_id": owner, "session_id": session, "done": "ended"}, f"ended: session {session}")


def _json_object(text: str, option: str) -> dict[str, Any]:
    from memory_pipeline.ledger.payloads import read_json

    try:
        value = read_json(text)
    except ValueError as error:
        raise shell.Misused(
            f'{option} is not JSON ({error}); give an object such as \'{{"source": "import"}}\''
        ) from error
    if not isinstance(value, dict):
        raise shell.Misused(f'{option} is {text}; give a JSON object such as \'{{"source": "import"}}\'')
    return value
