"""Writes sample events: people who work, cook, travel and chat, with duplicates, changes and contradictions.

Equal arguments give equal bytes. The true relations of the memories (which state the same, which fact replaces which)
go to a second file that the pipeline never reads, so that its findings can be measured. Not here: the vocabulary
(`sample_words.py`) and the sentences (`sample_patterns.py`).
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Any, Final

import sample_patterns as patterns
import sample_words as words

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""Default start of the events."""

CHAPTER: Final = 1000
"""Memories of one profile that are generated together; related memories lie within one chapter."""

_NAMES_A_CHAPTER: Final = 300
_SCATTER: Final = 7919
"""Step from one name to the next: a prime, so that every name is used before any is repeated."""
_AGENTS: Final = ("planner", "researcher", "companion")
_TURN: Final = timedelta(seconds=40)
"""Time between two events of a session; shorter if the days are too full."""
_EVENTS_A_TURN: Final = 7
"""Upper bound of the events that one turn and the ends of its session cause."""
_FEW: Final = 5
"""Minimum number of memories before the first recall."""
_SINGLES: Final = {
    "Chat": 30, "Context": 30, "Preference": 10, "Decision": 8, "Insight": 7, "Habit": 7, "Pattern": 5, "Style": 3,
}  # fmt: skip
"""Share of each type among the unrelated memories."""
_CATEGORIES: Final = {
    "Chat": "episodic", "Context": "semantic", "Preference": "opinion", "Decision": "episodic", "Insight": "semantic",
    "Habit": "procedural", "Pattern": "semantic", "Style": "procedural",
}  # fmt: skip

_TALKATIVE: Final = 0.75
"""Probability that small talk has two sentences; single sentences repeat often."""
_REWORDED: Final = 0.5
"""Probability of each further change of wording when a statement is repeated."""
_DATED: Final = 0.3
"""Probability that a changing fact states since when it holds."""
_CLOSED: Final = 0.4
"""Probability that the end of the older fact is recorded with the newer one."""
_STAYS: Final = 0.9
"""Probability that the session's main agent writes an event."""
_RECALLED: Final = 0.12
"""Probability of a recall after a stored memory."""
_NEWEST: Final = 0.5
"""Probability that a recall returns recent memories rather than frequently recalled ones."""
_FED_BACK: Final = 0.15
"""Probability of feedback after a recall."""
_HELPFUL: Final = 0.85
"""Probability that feedback is positive."""
_LINKED: Final = 0.12
"""Probability that a recall leads to a link."""


@dataclass(slots=True)
class _Draft:
    """A memory to store."""

    at: float
    """Position within the chapter, 0..1."""
    text: str
    memory_type: str
    speaker: str | None
    since: bool = False
    """Whether it states since when it holds."""
    cause: "_Draft | None" = None
    replaces: "_Draft | None" = None
    event_id: str = ""
    memory_id: str = ""


@dataclass(frozen=True, slots=True)
class _Truth:
    """The true relation of a group of memories: its kind, and the memories in time order."""

    kind: str
    drafts: list[_Draft]


class _World:
    """People and subjects of one chapter. Names returned by `fresh_*` are used for nothing else."""

    def __init__(self, rng: Random, *, chapter: int, offset: int, speakers: Sequence[str | None]) -> None:
        self.rng = rng
        self._offset = offset
        self._next = chapter * _NAMES_A_CHAPTER
        self._speakers = speakers
        self._people = [self.fresh("who") for _ in range(40)]
        self._places = [self.fresh("place") for _ in range(30)]
        self._projects = [self.fresh("project") for _ in range(10)]
        self.draws: dict[str, Callable[[], str]] = {
            "who": lambda: rng.choice(self._people),
            "place": lambda: rng.choice(self._places),
            "project": lambda: rng.choice(self._projects),
            "first": lambda: rng.choice(words.FIRST_NAMES),
            "city": lambda: rng.choice(words.CITIES),
            "job": lambda: rng.choice(words.JOBS),
            "weekday": lambda: rng.choice(words.WEEKDAYS),
            "language": lambda: rng.choice(words.LANGUAGES),
            "drink": lambda: rng.choice(words.DRINKS),
            "vehicle": lambda: rng.choice(words.VEHICLES),
            "mood": lambda: rng.choice(words.MOODS),
            "time": lambda: rng.choice(words.TIMES),
            "date": lambda: f"{rng.randrange(1, 29)} {rng.choice(words.MONTHS)}",
            "hour": lambda: f"{rng.randrange(7, 22)}:{rng.choice(('00', '15', '30', '45'))}",
            "num": lambda: str(rng.randrange(12, 480)),
            "few": lambda: str(rng.randrange(3, 40)),
            "rent": lambda: str(rng.randrange(50, 240) * 10),
            "extension": lambda: str(rng.randrange(1000, 9999)),
            "version": lambda: f"{rng.randrange(1, 9)}.{rng.randrange(20)}",
        }

    def fresh(self, slot: str) -> str:
        """Return a person, place or project that is new to the profile."""
        self._next += 1
        pattern, parts = words.NAMES[slot]
        number = self._next * _SCATTER + self._offset
        chosen = []
        for part in parts:
            number, place = divmod(number, len(part))
            chosen.append(part[place])
        return pattern.format(*chosen)

    def slots(self, *, fresh: bool = False) -> "_Slots":
        """Return the words of one story; its people, places and projects occur nowhere else if `fresh`."""
        return _Slots(self, self.rng.choice(words.DOMAINS), fresh=fresh)

    def speaker(self) -> str | None:
        """Return the speaker."""
        return self.rng.choice(self._speakers)


class _Slots(dict[str, str]):
    """Words for the slots of a pattern; each is drawn once, on first use."""

    def __init__(self, world: _World, domain: words.Domain, *, fresh: bool) -> None:
        super().__init__()
        self._world = world
        self._domain = domain
        self._fresh = fresh

    def __missing__(self, slot: str) -> str:
        base = slot.rstrip("2")
        twin = self.get(base if slot != base else f"{base}2")
        value = self._world.fresh(base) if self._fresh and slot in words.NAMES else self._draw(base)
        while value == twin:
            value = self._draw(base)
        self[slot] = value
        return value

    def _draw(self, base: str) -> str:
        draw = self._world.draws.get(base)
        return draw() if draw else str(self._world.rng.choice(getattr(self._domain, base)))

    def change(self, slot: str, used: set[str]) -> None:
        """Draw a word for a slot that is not in `used`, and add it to `used`."""
        while self[slot] in used:
            self[slot] = self._draw(slot.rstrip("2"))
        used.add(self[slot])

    def say(self, pattern: str) -> str:
        """Return the pattern with its slots filled."""
        text = pattern.format_map(self)
        return text[0].upper() + text[1:]


def _places(rng: Random, count: int, span: float) -> list[float]:
    start = rng.random() * (1 - span)
    return sorted(start + span * rng.random() for _ in range(count))


def _reword(rng: Random, text: str) -> str:
    """Return the statement in slightly different words."""
    fitting = [(old, new) for old, new in patterns.REWORDINGS if old in text]
    if fitting and rng.random() < _REWORDED:
        old, new = rng.choice(fitting)
        text = text.replace(old, new, 1)
        if rng.random() < _REWORDED:
            return text
    if rng.random() < _REWORDED:
        return f"{text[:-1]}{rng.choice(patterns.TAILS)}."
    first = text.split(" ", 1)[0]
    lower = first in patterns.ORDINARY_STARTS
    return rng.choice(patterns.OPENERS) + (text[0].lower() + text[1:] if lower else text)


def _duplicates(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    kind = rng.choice(("Context", "Preference", "Decision", "Insight"))
    texts = [slots.say(rng.choice(patterns.PATTERNS[kind]))]
    for _ in range(rng.randrange(1, 3)):
        text = texts[0]
        while text in texts:
            text = _reword(rng, texts[0])
        texts.append(text)
    return _Truth(
        "duplicate",
        [_Draft(at, text, kind, speaker) for at, text in zip(_places(rng, len(texts), 0.3), texts, strict=True)],
    )


def _distinct(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    pattern, slot = rng.choice(patterns.DISTINCT)
    drafts, used = [], set[str]()
    for at in _places(rng, rng.randrange(2, 4), 0.3):
        slots.change(slot, used)
        drafts.append(_Draft(at, slots.say(pattern), "Context", speaker))
    return _Truth("distinct", drafts)


def _changing(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    first, later, slot = rng.choice(patterns.CHANGING)
    drafts, used, since = list[_Draft](), set[str](), rng.random() < _DATED
    for at in _places(rng, rng.randrange(2, 4), 0.8):
        slots.change(slot, used)
        before = drafts[-1] if drafts else None
        drafts.append(_Draft(at, slots.say(later if before else first), "Context", speaker, since, replaces=before))
    return _Truth("superseded", drafts)


def _contradicting(world: _World) -> _Truth:
    rng, slots = world.rng, world.slots(fresh=True)
    texts = [slots.say(pattern) for pattern in rng.choice(patterns.CONTRADICTING)]
    rng.shuffle(texts)
    placed = zip(_places(rng, len(texts), 0.5), texts, strict=True)
    return _Truth("contradiction", [_Draft(at, text, "Context", world.speaker()) for at, text in placed])


def _chain(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    drafts = list[_Draft]()
    for at, (kind, pattern) in zip(_places(rng, len(patterns.CHAIN), 0.05), patterns.CHAIN, strict=True):
        drafts.append(_Draft(at, slots.say(pattern), kind, speaker, cause=drafts[-1] if drafts else None))
    return _Truth("chain", drafts)


def _series(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    pattern, drafts = rng.choice(patterns.SERIES), []
    used = {slot: set[str]() for slot in ("num", "mood")}
    for at in _places(rng, rng.randrange(5, 9), 0.7):
        for slot, before in used.items():
            slots.change(slot, before)
        drafts.append(_Draft(at, slots.say(pattern), "Habit", speaker))
    return _Truth("topic", drafts)


_STORIES: Final[tuple[tuple[int, Callable[[_World], _Truth]], ...]] = (
    (30, _duplicates), (15, _distinct), (20, _changing), (10, _contradicting), (15, _chain), (12, _series),
)  # fmt: skip
"""Stories of several memories: number per chapter, and the function that generates one."""


def _chapter(world: _World, size: int) -> tuple[list[_Draft], list[_Truth]]:
    """Return the memories of a chapter in time order, and their true relations."""
    rng = world.rng
    stories = [
        story(world) for share, story in _STORIES for _ in range(round(share * size / CHAPTER + rng.random() - 0.5))
    ]
    rng.shuffle(stories)
    drafts, truths = list[_Draft](), list[_Truth]()
    for truth in stories:
        if len(drafts) + len(truth.drafts) <= size:
            truths.append(truth)
            drafts += truth.drafts
    texts = {draft.text for draft in drafts}
    kinds, weights = list(_SINGLES), list(_SINGLES.values())
    while len(drafts) < size:
        kind = rng.choices(kinds, weights)[0]
        slots, longer = world.slots(), kind == "Chat" and rng.random() < _TALKATIVE
        text = " ".join(map(slots.say, rng.sample(patterns.PATTERNS[kind], 1 + longer)))
        if text not in texts:
            texts.add(text)
            drafts.append(_Draft(rng.random(), text, kind, world.speaker()))
    drafts.sort(key=lambda draft: draft.at)
    return drafts, truths


@dataclass(frozen=True)
class _Session:
    """A session being generated; every event takes the next instant."""

    rng: Random
    profile: str
    name: str
    user: str
    agent: str
    times: Iterator[datetime]

    def event(self, event_type: str, payload: dict[str, Any], *, event_id: str = "", **more: str) -> dict[str, Any]:
        """Return the next event of the session."""
        agent = self.agent if self.rng.random() < _STAYS else self.rng.choice(_AGENTS)
        return {
            "event_id": event_id or _new_id(self.rng),
            "profile_id": self.profile,
            "event_type": event_type,
            "occurred_at": next(self.times).isoformat(timespec="milliseconds"),
            "session_id": self.name,
            "agent_id": agent,
            "user_id": self.user.lower(),
            "instance_id": f"{agent}-1",
            **more,
            "payload": payload,
        }

    def stored(self, draft: _Draft) -> Iterator[dict[str, Any]]:
        """Yield the event that stores a memory, and sometimes the end of the fact that it replaces."""
        payload: dict[str, Any] = {"content": draft.text}
        if draft.speaker is not None:
            payload["speaker"] = draft.speaker
        payload |= _given(self.rng, draft)
        cause = {"parent_event_id": draft.cause.event_id} if draft.cause else {}
        event = self.event("memory.stored", payload, event_id=draft.event_id, memory_id=draft.memory_id, **cause)
        if draft.since:
            payload["valid_from"] = event["occurred_at"]
        yield event
        if draft.replaces is not None and self.rng.random() < _CLOSED:
            closed = {"valid_until": event["occurred_at"]}
            yield self.event("memory.updated", closed, memory_id=draft.replaces.memory_id)

    def recall(self, known: Sequence[_Draft]) -> Iterator[dict[str, Any]]:
        """Yield an access to some earlier memories, and sometimes feedback or a link."""
        rng = self.rng
        places = sorted({_place(rng, len(known)) for _ in range(rng.randrange(2, 6))})
        rng.shuffle(places)
        ids = [known[place].memory_id for place in places]
        text = known[places[0]].text.rstrip(".?!").split()
        begin = rng.randrange(max(1, len(text) - 3))
        query = f"{rng.choice(patterns.ASKING)} {' '.join(text[begin : begin + 4])}?"
        ranks = list(range(1, len(ids) + 1))
        yield self.event("memory.accessed", {"memory_ids": ids, "query": query, "ranks": ranks})
        if rng.random() < _FED_BACK:
            yield self.event("feedback.given", {"helpful": rng.random() < _HELPFUL}, memory_id=ids[0])
        if len(ids) > 1 and rng.random() < _LINKED:
            link = {"target_id": ids[1], "edge_type": rng.choice(words.LINKS), "weight": round(rng.uniform(0.3, 1), 2)}
            yield self.event("link.asserted", link, memory_id=ids[0])


def _given(rng: Random, draft: _Draft) -> dict[str, Any]:
    """Return optional fields that an agent sets on a memory; usually none."""
    chances: tuple[tuple[float, str, Callable[[], Any]], ...] = (
        (0.2, "memory_type", lambda: draft.memory_type if draft.memory_type != "Chat" else "Memory"),
        (0.08, "category", lambda: _CATEGORIES[draft.memory_type]),
        (0.15, "importance", lambda: round(rng.uniform(0.05, 0.95), 2)),
        (0.06, "importance_hint", lambda: round(rng.random(), 2)),
        (0.1, "confidence", lambda: round(rng.uniform(0.3, 1), 2)),
        (0.15, "tags", lambda: rng.sample(words.TAGS, rng.randrange(1, 4))),
        (0.1, "source", lambda: rng.choice(words.SOURCES)),
        (0.03, "metadata", lambda: {"channel": rng.choice(("text", "voice")), "turn": rng.randrange(100)}),
        (0.01, "protected", lambda: True),
    )
    return {name: value() for chance, name, value in chances if rng.random() < chance}


def _place(rng: Random, size: int) -> int:
    near = int(size * rng.random() ** 3)
    return size - 1 - near if rng.random() < _NEWEST else near


def _new_id(rng: Random) -> str:
    return f"{rng.getrandbits(128):032x}"


class _Profile:
    """The events of one profile, generated in time order."""

    def __init__(self, number: int, *, memories: int, days: float, seed: int, start: datetime) -> None:
        self._name = f"sample-{number}"
        self._memories = memories
        self._days = days
        self._start = start
        self._key = f"{seed}/{memories}/{days}/{start.isoformat()}/{number}"
        digest = hashlib.sha256(self._key.encode()).hexdigest()
        self._salt = digest[:6]
        self._offset = int(digest[6:16], 16)
        self._user = words.FIRST_NAMES[self._offset % len(words.FIRST_NAMES)]
        self._known: list[_Draft] = []

    def tell(self) -> Iterator[tuple[bool, dict[str, Any]]]:
        """Yield each event as (True, event), each true relation as (False, relation); holds two chapters in memory."""
        speakers = (self._user, self._user, self._user, _AGENTS[0], None)
        for chapter, first in enumerate(range(0, self._memories, CHAPTER)):
            rng = Random(f"{self._key}/{chapter}")  # noqa: S311 - stories, not secrets
            world = _World(rng, chapter=chapter, offset=self._offset, speakers=speakers)
            drafts, truths = _chapter(world, min(CHAPTER, self._memories - first))
            for index, draft in enumerate(drafts, first):
                draft.event_id, draft.memory_id = _new_id(rng), f"m-{self._salt}-{index:07d}"
            for event in self._sessions(rng, drafts, first):
                yield True, event
            for truth in truths:
                ids = [draft.memory_id for draft in truth.drafts]
                yield False, {"profile_id": self._name, "kind": truth.kind, "memory_ids": ids}
            self._known = self._known[-CHAPTER:]

    def _sessions(self, rng: Random, drafts: list[_Draft], place: int) -> Iterator[dict[str, Any]]:
        turns = iter(drafts)
        while said := list(islice(turns, rng.randrange(4, 15))):
            begin, until = self._clock(place), self._clock(place + len(said))
            step = min(_TURN, (until - begin) / (_EVENTS_A_TURN * len(said)))
            times = map(begin.__add__, map(step.__mul__, count()))
            name = f"s-{self._salt}-{place:07d}"
            session = _Session(rng, self._name, name, self._user, rng.choice(_AGENTS), times)
            yield session.event("session.started", {})
            for draft in said:
                yield from session.stored(draft)
                self._known.append(draft)
                if len(self._known) > _FEW and rng.random() < _RECALLED:
                    yield from session.recall(self._known)
            yield session.event("session.ended", {})
            place += len(said)

    def _clock(self, place: int) -> datetime:
        """Return the instant of memory number `place`: evenly over the days, between 07:00 and 23:00."""
        whole, part = divmod(self._days * place / self._memories, 1)
        return self._start + timedelta(days=whole, hours=7 + 16 * part)


def _generate(
    *, profiles: int, memories: int, days: float, seed: int, start: datetime
) -> Iterator[tuple[bool, dict[str, Any]]]:
    for name, value in (("profiles", profiles), ("memories", memories), ("days", days)):
        if not value > 0:
            raise ValueError(f"{name} is {value}; give a number above 0")
    return (
        line
        for number in range(1, profiles + 1)
        for line in _Profile(number, memories=memories, days=days, seed=seed, start=start).tell()
    )


def generate(
    *, profiles: int, memories: int, days: float, seed: int, start: datetime = START
) -> Iterator[dict[str, Any]]:
    """Return sample events as JSON objects, profile by profile (`sample-1`, `sample-2`, ...), each in time order.

    Args:
        profiles: number of profiles.
        memories: number of memories per profile; sessions, recalls, links and feedback are added.
        days: number of days over which they are spread.
        seed: seed of the generator; equal arguments give equal events.
        start: midnight of the first day, timezone-aware.

    Raises:
        ValueError: an argument is not above 0.

    Cost: about 20 µs per event; holds two chapters (2,000 memories) at a time.
    """
    lines = _generate(profiles=profiles, memories=memories, days=days, seed=seed, start=start)
    return (line for is_event, line in lines if is_event)


def write(path: Path, *, profiles: int, memories: int, days: float, seed: int, start: datetime = START) -> int:
    """Write sample events as JSON Lines and their true relations to `<name>.truth.jsonl`; return the number of events.

    A line of that file has `profile_id`, `kind` and `memory_ids` in time order. Kinds: `duplicate` (all state the
    same), `distinct` (similar, but each states something else), `superseded` (one fact, of which the last value
    holds), `contradiction` (both cannot be true), `chain` (each caused the next), `topic` (one subject). Small talk
    may repeat between chapters and is not listed.

    Raises:
        ValueError: an argument is not above 0.
        OSError: a file cannot be written.
    """
    events, encode = 0, json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    lines = _generate(profiles=profiles, memories=memories, days=days, seed=seed, start=start)
    with (
        path.open("w", encoding="utf-8", newline="\n") as events_file,
        path.with_name(f"{path.stem}.truth.jsonl").open("w", encoding="utf-8", newline="\n") as truth_file,
    ):
        for is_event, line in lines:
            (events_file if is_event else truth_file).write(encode(line) + "\n")
            events += is_event
    return events


def main() -> None:
    """Write a file of events and one of their true relations."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, metavar="OUT.jsonl")
    parser.add_argument("--profiles", type=int, default=2)
    parser.add_argument("--memories", type=int, default=1000, help="memories of each profile")
    parser.add_argument("--days", type=int, default=120, help="days that they span")
    parser.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args())
    print(f"{write(**given)} events in {given['path']}; import them with: memory-pipeline import jsonl {given['path']}")


if __name__ == "__main__":
    main()
