"""Generates chats of two friends over months: events, preferences, changes, and much small talk.

Here: scenes, their turns, and the questions about them. Not here: the vocabulary (`worlds/`).
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from memory_pipeline.evaluation.conversations import Chat, chat
from synthetic_chats.chat_writer import ChatWriter
from synthetic_chats.worlds import world

_TURN: Final = timedelta(seconds=40)
_TOPICS, _SHARED = 7, 3
"""Subjects of each friend, and subjects shared by both: statements of one are distractors for the other."""
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Scene = Callable[["Talk"], None]


class Talk(ChatWriter):
    """A conversation being written: speakers, turns and their contents."""

    def __init__(self, rng: Random, names: Sequence[str], start: datetime) -> None:
        super().__init__(rng, "talk", start)
        self.names = names
        self.topic = "life"
        self.lists: dict[tuple[int, str], list[tuple[str, str]]] = {}
        self.shared: dict[str, dict[int, str]] = {}
        self._said = Counter[str]()

    def fill(self, text: str, by: int, **more: str) -> str:
        """Fill the placeholders of a text."""
        for name, value in {"you": self.names[1 - by], "topic": self.topic, **more}.items():
            text = text.replace("{" + name + "}", value)
        return text

    def say(self, by: int, core: str, *, telling: bool = True, asks: float = 0.2, photo: str = "") -> str:
        """Write a turn around a core text and return its id; the other speaker fills in first if needed."""
        if self.turns and self.turns[-1]["session_id"] == self.session and self.turns[-1]["speaker"] == self.names[by]:
            self._turn(1 - by, self._filler(1 - by))
        parts = [core[0].upper() + core[1:]]
        if telling and self.chance(0.5):
            parts.insert(0, self.fill(self.pick(self.words["reactions"]), by))
        if telling and self.chance(0.45):
            parts.append(self.pick(self.words["feelings"]))
        if telling and self.chance(0.5):
            parts.append(self.pick(self.words["details"]))
        if telling and self.chance(asks):
            parts.append(self.pick(self.words["questions"]))
        if photo:
            parts.append(f"[shares {photo}]")
        return self._turn(by, " ".join(parts))

    def answer(self, by: int, core: str, asked: str) -> str:
        """Write a turn that a later question asks about, often in the words of the question, and return its id."""
        taken_up = indirect(asked)
        if taken_up and self.chance(0.6):
            core = f"{self.pick(self.words['indirect']).replace('{it}', taken_up)} {core[0].upper()}{core[1:]}"
        return self.say(by, core)

    def _turn(self, by: int, content: str) -> str:
        self._said[self.session] += 1
        turn = f"{self.session}:{self._said[self.session]}"
        return self.add(turn, self.names[by], content[0].upper() + content[1:], lasts=_TURN)

    def _filler(self, by: int) -> str:
        """Return small talk: a reaction, and support or chatter."""
        parts = [self.fill(self.pick(self.words["reactions"]), by)] if self.chance(0.8) else []
        kinds = self.rng.choices(("support", "chat"), k=self.rng.choice((1, 2, 2, 3)))
        parts += [self.fill(self.pick(self.words[kind]), by) for kind in kinds]
        if self.chance(0.25):
            parts.append(self.pick(self.words["questions"]))
        return " ".join(parts)

    def small_talk(self, by: int) -> None:
        """Write one or two turns with nothing to remember."""
        self.say(by, self._filler(by), telling=False)
        if self.chance(0.5):
            self.say(1 - by, self._filler(1 - by), telling=False)

    def ask(self, kind: str, text: str, by: int, evidence: Sequence[str], answer: str, **more: Sequence[str]) -> None:
        """Add a question about one of the two speakers."""
        filled = text.replace("{who}", self.names[by])
        lists = {name: list(turns) for name, turns in more.items()}
        self.questions.append(
            {"text": filled, "kind": kind, "evidence": list(dict.fromkeys(evidence)), "answer": answer, **lists}
        )


def generate(seed: int, *, sessions: int) -> Chat:
    """Generate a chat of two friends; see `chats.generate`."""
    rng = Random(f"friends {seed}")  # noqa: S311 - the same seed must give the same chat
    start = datetime(2021, 1, 4, 9, tzinfo=UTC) + timedelta(days=rng.randrange(1500), minutes=rng.randrange(600))
    talk = Talk(rng, rng.sample(world("talk")["names"], 2), start)
    scenes = sorted(_scenes(talk), key=lambda placed: placed[0])
    each = len(scenes) / sessions
    for number in range(sessions):
        own = scenes[round(number * each) : round((number + 1) * each)]
        talk.session = f"S{number + 1}"
        _session(talk, [scene for _, scene in own])
        talk.at = talk.at.replace(hour=rng.randrange(8, 21), minute=rng.randrange(60)) + timedelta(
            days=rng.randrange(3, 16)
        )
    _finish(talk)
    rng.shuffle(talk.questions)
    return chat(f"friends-{seed}", talk.turns, talk.questions)


def _session(talk: Talk, scenes: Sequence[Scene]) -> None:
    first = talk.rng.randrange(2)
    talk.say(first, talk.fill(talk.pick(talk.words["greetings"]), first), telling=False)
    talk.say(1 - first, talk.fill(talk.pick(talk.words["answers"]), 1 - first), telling=False)
    for scene in scenes:
        scene(talk)
        if talk.chance(0.4):
            talk.small_talk(talk.rng.randrange(2))
    last = talk.rng.randrange(2)
    talk.say(last, talk.fill(talk.pick(talk.words["goodbyes"]), last), telling=False)
    talk.say(1 - last, talk.fill(talk.pick(talk.words["byes"]), 1 - last), telling=False)


def _scenes(talk: Talk) -> list[tuple[float, Scene]]:
    """Return the scenes of the chat with their positions in time, 0 to 1."""
    words, rng = world("friends"), talk.rng
    topics = rng.sample(list(words["topics"]), 2 * _TOPICS - _SHARED)
    own = (topics[:_TOPICS], topics[_TOPICS - _SHARED :])
    scenes: list[tuple[float, Scene]] = []
    for by in (0, 1):
        for name in own[by]:
            scenes += _topic(talk, by, name, words["topics"][name])
        for name, about in words["life"].items():
            scenes += _life(talk, by, name, about)
        for name in rng.sample(list(words["lists"]), 5):
            scenes += _list(talk, by, name, words["lists"][name])
    for place, line in enumerate(rng.sample(words["open"]["lines"], 8)):
        scenes.append((rng.random(), _opinion(place % 2, line)))
    return scenes


def _topic(talk: Talk, by: int, name: str, about: dict[str, Any]) -> list[tuple[float, Scene]]:
    """Return scenes on one subject: events, some with a detail, plans and musings."""
    rng = talk.rng
    events = rng.sample(about["events"], 4)
    details = rng.sample(about["details"], 3)
    began, length = rng.random() * 0.5, 0.3 + rng.random() * 0.2
    scenes: list[tuple[float, Scene]] = []
    for place, event in enumerate(events[:3]):
        detail = details.pop() if details and talk.chance(0.6) else None
        at = began + length * place / 3
        scenes.append((at, _event(by, name, about, event, detail)))
    scenes += [(began + length * rng.random(), _detail(by, name, about, detail)) for detail in details]
    if talk.chance(0.7):
        scenes.append((began + length * rng.random(), _plan(by, name, rng.choice(about["plans"]))))
    scenes.append((began + length * rng.random(), _musing(by, name, about)))
    return scenes


def _event(by: int, name: str, about: dict[str, Any], event: list[str], detail: list[str] | None) -> Scene:
    said, paraphrase = event

    def scene(talk: Talk) -> None:
        talk.topic = name
        rng = talk.rng
        when, date = past(rng, talk.at)
        told = f"{when} I {said}" if talk.chance(0.5) else f"I {said} {when}"
        companion = talk.pick(talk.words["companions"]) if " with " not in said and talk.chance(0.25) else ""
        told += f" with {companion}." if companion else rng.choice((".", "!", "."))
        photo = talk.pick(about["photos"]) if talk.chance(0.25) else ""
        turn = talk.say(by, told, photo=photo)
        talk.shared.setdefault(name, {}).setdefault(by, turn)
        asked = paraphrase if talk.chance(0.3) else _base(said)
        question = f"When did {{who}} {asked}?"
        if date.startswith(("1", "2", "3")) and talk.chance(0.2):
            question = f"What did {{who}} do on {date}?"
        elif talk.chance(0.1):
            question = f"What happened to {{who}} around {date}?"
        talk.ask("temporal", question, by, [turn], date if question.startswith("When") else asked)
        if companion:
            talk.ask("single-hop", f"Who did {{who}} {asked} with?", by, [turn], companion)
        _aftermath(talk, by, about, asked)
        if detail is not None:
            _detail(by, name, about, detail)(talk)

    return scene


def _aftermath(talk: Talk, by: int, about: dict[str, Any], asked: str) -> None:
    """Write the turns after an event: how it was, why, or a similar event of the other speaker."""
    other = 1 - by
    follows = talk.rng.choices(("probe", "reason", "like", "support", ""), (7, 3, 3, 4, 3))[0]
    if follows == "probe":
        talk.say(other, talk.pick(talk.words["probes"]), asks=0)
        talk.say(by, talk.pick(talk.words["replies"]))
    elif follows == "reason":
        talk.say(other, talk.pick(("What made you do that?", "How come?", "Why, if I may ask?")), asks=0)
        reason = talk.pick(talk.words["reasons"])
        turn = talk.say(by, f"{reason}, simple as that.")
        talk.ask("single-hop", f"Why did {{who}} {asked}?", by, [turn], reason)
    elif follows == "like":
        said, _ = talk.rng.choice(about["events"])
        talk.say(other, f"That takes me back, years ago I {said} too.")
    elif follows == "support":
        talk.say(other, talk.fill(talk.pick(talk.words["support"]), other))


def _detail(by: int, name: str, about: dict[str, Any], detail: list[str]) -> Scene:
    prompt, answer, asked, values = detail

    def scene(talk: Talk) -> None:
        talk.topic = name
        value = talk.pick(values.split("; "))
        if talk.turns[-1]["speaker"] == talk.names[1 - by] or talk.chance(0.5):
            prompted = f"So, still into {name}? {prompt}" if talk.chance(0.3) else prompt
            talk.say(1 - by, prompted, asks=0)
        else:
            talk.say(1 - by, f"{talk.pick(about['musings'])} {prompt}", asks=0)
        turn = talk.answer(by, talk.fill(answer, by, x=value), asked)
        talk.ask("single-hop", asked, by, [turn], value)

    return scene


def _plan(by: int, name: str, plan: list[str]) -> Scene:
    said, asked = plan

    def scene(talk: Talk) -> None:
        talk.topic = name
        when, date = future(talk.rng, talk.at)
        form = talk.pick(("I'm planning to {said} {when}.", "{when} I want to {said}!", "I'm going to {said} {when}."))
        turn = talk.say(by, form.replace("{said}", said).replace("{when}", when))
        talk.ask("temporal", f"When is {{who}} planning to {talk.pick((said, asked))}?", by, [turn], date)
        talk.say(1 - by, talk.fill(talk.pick(talk.words["support"]), 1 - by))

    return scene


def _musing(by: int, name: str, about: dict[str, Any]) -> Scene:
    def scene(talk: Talk) -> None:
        talk.topic = name
        talk.say(1 - by, talk.pick(about["musings"]), photo=talk.pick(about["photos"]) if talk.chance(0.3) else "")
        talk.say(by, talk.pick(about["musings"]))

    return scene


def _life(talk: Talk, by: int, name: str, about: dict[str, Any]) -> list[tuple[float, Scene]]:
    """Return the scene that states a circumstance, and perhaps the scene that changes it."""
    if not talk.chance(0.75):
        return []
    rng = talk.rng
    at = rng.random() * 0.6
    known: dict[str, str] = {}

    def tell(talk: Talk) -> None:
        talk.topic = name
        known["old"] = talk.pick(about["values"])
        if talk.chance(0.5):
            talk.say(1 - by, talk.pick(about["prompts"]), asks=0)
        told = talk.fill(talk.pick(about["said"]), by, x=known["old"])
        known["turn"] = talk.answer(by, told, talk.pick(about["asked"]))
        if not changes or talk.chance(0.3):
            talk.ask("single-hop", talk.pick(about["asked"]), by, [known["turn"]], known["old"])

    def change(talk: Talk) -> None:
        new = next(value for value in iter(lambda: talk.pick(about["values"]), "") if value != known["old"])
        told = talk.fill(talk.pick(about["changed"]), by, x=new, old=known["old"])
        turn = talk.answer(by, told, talk.pick(about["asked"]))
        asked = talk.pick(about["asked"])
        if talk.chance(0.4):
            asked = asked.removesuffix("?") + " " + talk.pick(("now?", "these days?", "at the moment?", "currently?"))
        old, both = known["turn"], [known["turn"], turn]
        talk.ask("knowledge_update", asked, by, both, new, original=[old], updated=[turn])

    changes = "changed" in about and talk.chance(0.6)
    return [(at, tell), *([(at + 0.2 + rng.random() * 0.2, change)] if changes else [])]


def _list(talk: Talk, by: int, name: str, about: dict[str, Any]) -> list[tuple[float, Scene]]:
    """Return scenes that mention several things of one sort, far apart."""

    def scene(talk: Talk) -> None:
        talk.topic = name
        value = talk.pick(about["values"])
        turn = talk.answer(by, talk.fill(talk.pick(about["said"]), by, x=value), talk.pick(about["asked"]))
        talk.lists.setdefault((by, name), []).append((turn, value))

    return [(talk.rng.random(), scene) for _ in range(talk.rng.randrange(2, 5))]


def _opinion(by: int, line: list[str]) -> Scene:
    said, asked, answer = line

    def scene(talk: Talk) -> None:
        talk.topic = "life"
        turn = talk.say(by, said)
        talk.ask("open-domain", asked, by, [turn], answer)

    return scene


def _finish(talk: Talk) -> None:
    """Add the questions that need several turns."""
    lists = world("friends")["lists"]
    for (by, name), told in sorted(talk.lists.items()):
        evidence, values = [turn for turn, _ in told], ", ".join(dict.fromkeys(value for _, value in told))
        talk.ask("multi-hop", talk.rng.choice(lists[name]["asked"]), by, evidence, values)
    for name, began in sorted(talk.shared.items()):
        if len(began) > 1:
            asked = f"Do {talk.names[0]} and {talk.names[1]} both have something to do with {name}?"
            talk.ask("multi-hop", asked, 0, list(began.values()), "Yes")


def indirect(asked: str) -> str:
    """Return a question as taken up by the person asked, or an empty text.

    "What does {who} fear?" gives "what I fear".
    """
    for pattern, instead in _INDIRECT:
        if found := pattern.match(asked):
            text = found.expand(instead)
            return (text[0].lower() + text[1:]).replace("{who}'s", "my").replace("{who}", "I")
    return ""


_INDIRECT: Final = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r"(.+?) (?:does|do|did) \{who\} (.+)\?$", r"\1 I \2"),
        (r"(.+?) (?:has|have) \{who\} (.+)\?$", r"\1 I've \2"),
        (r"(.+?) (?:is|was) \{who\} (.+)\?$", r"\1 I'm \2"),
        (r"(.+?) (?:is|was) (\{who\}'s .+)\?$", r"\1 \2 is"),
        (r"(.+) \{who\} (.+)\?$", r"\1 me \2"),
    )
)
"""Direct questions about a person, and how they are taken up."""


def _base(said: str) -> str:
    """Rewrite the start of a statement after "I" for use after "did NAME"."""
    verbs = dict(pair.split("=") for pair in world("talk")["verbs"])
    first, *rest = re.split(r",| with | and | until | because | for the first", said)[0].split(" ")
    spoken = {"my": "their", "me": "them", "us": "them", "our": "their"}
    breaks = [place for place, word in enumerate(rest) if word in _LINKS and 1 < place <= _LONG]
    kept = rest[: breaks[-1]] if breaks and len(rest) > _LONG else rest
    return " ".join([verbs[first], *(spoken.get(word, word) for word in kept)])


_LINKS: Final = frozenset(("in", "on", "at", "of", "for", "from", "to", "out", "before", "after", "by"))
_LONG: Final = 6
"""Objects with more words are cut before a preposition."""


def past(rng: Random, at: datetime) -> tuple[str, str]:
    """Return a spoken past time and its date."""
    day = _DAYS[(at - timedelta(days=(back := rng.randrange(2, 7)))).weekday()]
    return rng.choice(
        (
            ("yesterday", _date(at - timedelta(days=1))),
            (f"last {day}", _date(at - timedelta(days=back))),
            (f"on {day}", _date(at - timedelta(days=back))),
            ("last week", f"The week before {_date(at)}"),
            ("last weekend", f"The weekend before {_date(at)}"),
            ("two days ago", _date(at - timedelta(days=2))),
            ("a few weeks ago", f"A few weeks before {_date(at)}"),
            ("last month", f"{at.replace(day=1) - timedelta(days=1):%B %Y}"),
            ("this morning", _date(at)),
            ("the other day", f"A few days before {_date(at)}"),
        )
    )


def future(rng: Random, at: datetime) -> tuple[str, str]:
    """Return a spoken future time and its date."""
    ahead = timedelta(days=rng.randrange(2, 7))
    month = (at.replace(day=1) + timedelta(days=32)).replace(day=1)
    return rng.choice(
        (
            ("tomorrow", _date(at + timedelta(days=1))),
            (f"this {_DAYS[(at + ahead).weekday()]}", _date(at + ahead)),
            ("next week", f"The week after {_date(at)}"),
            ("next month", f"{month:%B %Y}"),
            ("in two weeks", _date(at + timedelta(days=14))),
            ("this summer", f"Summer {at.year}"),
            ("next year", f"{at.year + 1}"),
        )
    )


def _date(at: datetime) -> str:
    return f"{at.day} {at:%B %Y}"
