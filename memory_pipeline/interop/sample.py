"""Sample events: people who work, cook, travel and chat, with the duplicates, changes and contradictions of real life.

Here: how stories are drawn and put in time. Not here: the words (`sample_words.py`). The same arguments always give
the same bytes. What is true about the stories (which memories say the same, which fact took the place of which) goes
to a second file that the pipeline never reads, so that what it finds can be measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from memory_pipeline.interop import sample_words as words

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
"""When the stories begin unless told otherwise."""

CHAPTER: Final = 1000
"""Memories of one profile that are drawn together: what belongs together lies within a chapter."""

_NAMES_A_CHAPTER: Final = 300
_AGENTS: Final = ("planner", "researcher", "companion")
_TURN: Final = timedelta(seconds=40)
"""Time between two events of a session, unless the days are too full for it."""
_SINGLES: Final = {
    "Chat": 30, "Context": 30, "Preference": 10, "Decision": 8, "Insight": 7, "Habit": 7, "Pattern": 5, "Style": 3,
}  # fmt: skip
"""Share of each type among the memories that stand alone."""


@dataclass(slots=True)
class _Draft:
    """A memory to be stored."""

    at: float
    """Place within the chapter, 0..1."""
    text: str
    memory_type: str
    speaker: str | None
    since: bool = False
    """It says since when it holds."""
    cause: "_Draft | None" = None
    replaces: "_Draft | None" = None
    event_id: str = ""
    memory_id: str = ""


@dataclass(frozen=True, slots=True)
class _Truth:
    """What is known about a group of memories: their kind, and the memories in the order in which they are told."""

    kind: str
    drafts: list[_Draft]


class _World:
    """Who and what one chapter is about. Names that `fresh_*` gives out are used for nothing else."""

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
        """Return a person, place or project that the profile has not seen yet."""
        self._next += 1
        pattern, parts = words.NAMES[slot]
        number = self._next * _SCATTER + self._offset
        chosen = []
        for part in parts:
            number, place = divmod(number, len(part))
            chosen.append(part[place])
        return pattern.format(*chosen)

    def slots(self, *, fresh: bool = False) -> "_Slots":
        """Return the words of one story; its people, places and projects are its own if `fresh`."""
        return _Slots(self, self.rng.choice(words.DOMAINS), fresh=fresh)

    def speaker(self) -> str | None:
        """Return who says it."""
        return self.rng.choice(self._speakers)


class _Slots(dict[str, str]):
    """Words for the slots of a pattern, drawn when first asked for and then kept."""

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
        """Give a slot a word that is not in `used`, and note it there."""
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
    """Return the same statement in slightly other words."""
    fitting = [(old, new) for old, new in words.REWORDINGS if old in text]
    if fitting and rng.random() < _REWORDED:
        old, new = rng.choice(fitting)
        text = text.replace(old, new, 1)
        if rng.random() < _REWORDED:
            return text
    if rng.random() < _REWORDED:
        return f"{text[:-1]}{rng.choice(words.TAILS)}."
    first = text.split(" ", 1)[0]
    lower = first in words.ORDINARY_STARTS
    return rng.choice(words.OPENERS) + (text[0].lower() + text[1:] if lower else text)


def _duplicates(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    kind = rng.choice(("Context", "Preference", "Decision", "Insight"))
    texts = [slots.say(rng.choice(words.PATTERNS[kind]))]
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
    pattern, slot = rng.choice(words.DISTINCT)
    drafts, used = [], set[str]()
    for at in _places(rng, rng.randrange(2, 4), 0.3):
        slots.change(slot, used)
        drafts.append(_Draft(at, slots.say(pattern), "Context", speaker))
    return _Truth("distinct", drafts)


def _changing(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    first, later, slot = rng.choice(words.CHANGING)
    drafts, used, since = list[_Draft](), set[str](), rng.random() < _DATED
    for at in _places(rng, rng.randrange(2, 4), 0.8):
        slots.change(slot, used)
        before = drafts[-1] if drafts else None
        drafts.append(_Draft(at, slots.say(later if before else first), "Context", speaker, since, replaces=before))
    return _Truth("superseded", drafts)


def _contradicting(world: _World) -> _Truth:
    rng, slots = world.rng, world.slots(fresh=True)
    texts = [slots.say(pattern) for pattern in rng.choice(words.CONTRADICTING)]
    rng.shuffle(texts)
    return _Truth(
        "contradiction",
        [_Draft(at, text, "Context", world.speaker()) for at, text in zip(_places(rng, 2, 0.5), texts, strict=True)],
    )


def _chain(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    drafts = list[_Draft]()
    for at, (kind, pattern) in zip(_places(rng, len(words.CHAIN), 0.05), words.CHAIN, strict=True):
        drafts.append(_Draft(at, slots.say(pattern), kind, speaker, cause=drafts[-1] if drafts else None))
    return _Truth("chain", drafts)


def _series(world: _World) -> _Truth:
    rng, slots, speaker = world.rng, world.slots(fresh=True), world.speaker()
    pattern, drafts = rng.choice(words.SERIES), []
    used = {slot: set[str]() for slot in ("num", "mood")}
    for at in _places(rng, rng.randrange(5, 9), 0.7):
        for slot, before in used.items():
            slots.change(slot, before)
        drafts.append(_Draft(at, slots.say(pattern), "Habit", speaker))
    return _Truth("topic", drafts)


_STORIES: Final[tuple[tuple[int, Callable[[_World], _Truth]], ...]] = (
    (30, _duplicates), (15, _distinct), (20, _changing), (10, _contradicting), (15, _chain), (12, _series),
)  # fmt: skip
"""Stories of several memories: how many a chapter holds, and what draws one."""


def _chapter(world: _World, size: int) -> tuple[list[_Draft], list[_Truth]]:
    """Return the memories of a chapter in time order, and what is true about them."""
    rng = world.rng
    told = [
        story(world) for share, story in _STORIES for _ in range(round(share * size / CHAPTER + rng.random() - 0.5))
    ]
    rng.shuffle(told)
    drafts, truths = list[_Draft](), list[_Truth]()
    for truth in told:
        if len(drafts) + len(truth.drafts) <= size:
            truths.append(truth)
            drafts += truth.drafts
    said = {draft.text for draft in drafts}
    kinds, weights = list(_SINGLES), list(_SINGLES.values())
    while len(drafts) < size:
        kind = rng.choices(kinds, weights)[0]
        text = world.slots().say(rng.choice(words.PATTERNS[kind]))
        if text not in said:
            said.add(text)
            drafts.append(_Draft(rng.random(), text, kind, world.speaker()))
    drafts.sort(key=lambda draft: draft.at)
    return drafts, truths
