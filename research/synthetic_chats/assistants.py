"""Generates chats of a user with an assistant over weeks: long messages, changing values, contradicting claims.

Here: the content and the questions about it. Not here: the vocabulary (`worlds/work.toml`, `worlds/assistant.toml`).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, Final

from memory_pipeline.evaluation.conversations import Chat, chat
from synthetic_chats.chat_writer import ChatWriter
from synthetic_chats.worlds import world

_FOLLOWED: Final = 0.6
"""Probability of each follow-up exchange on the last message."""
_PROJECTS: Final = 3
_MESSAGE: Final = timedelta(minutes=1)


class _Work(ChatWriter):
    """A conversation being written."""

    def fill(self, text: str, project: dict[str, Any], fact: str = "") -> str:
        """Fill the placeholders of a text with parts of the project and the fact, and capitalise it."""
        while "{part}" in text:
            text = text.replace("{part}", self.pick(project["parts"]), 1)
        while "{task}" in text:
            text = text.replace("{task}", self.pick(project["tasks"]), 1)
        text = text.replace("{goal}", project["goal"][0]).replace("{fact}", fact)
        return text[0].upper() + text[1:]

    def write(self, speaker: str, content: str) -> str:
        """Write a message and return its id."""
        return self.add(str(len(self.turns)), speaker, content, lasts=_MESSAGE)

    def answer(self, project: dict[str, Any], fact: str, reply: str = "") -> str:
        """Write the assistant's message and return its id: steps, advice, often a restatement of the fact."""
        rng, words = self.rng, self.words
        blocks = [self.fill(self.pick(words["starts"]), project)]
        if fact and self.chance(0.5):
            blocks.append(self.fill(self.pick(words["restated"]), project, fact))
        for _ in range(rng.randrange(2, 5)):
            steps = [self.fill(self.pick(words["steps"]), project) for _ in range(rng.randrange(2, 5))]
            blocks.append("\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1)))
            blocks.append(f"{self.pick(words['connectors'])} {self.pick(project['advice'])}")
            if self.chance(0.6):
                blocks.append("\n".join(f"- {self.pick(project['advice'])}" for _ in range(rng.randrange(2, 4))))
        if reply:
            blocks.insert(rng.randrange(1, len(blocks) + 1), reply)
        blocks.append(self.fill(self.pick(words["endings"]), project))
        return self.write("assistant", "\n\n".join(blocks))

    def ask(self, kind: str, text: str, evidence: Sequence[str], answer: str, **more: str) -> None:
        """Add a question of the user."""
        lists = {name: [turn] for name, turn in more.items()}
        self.questions.append(
            {"kind": kind, "text": text, "evidence": sorted(set(evidence), key=int), "answer": answer} | lists
        )


@dataclass
class _Fact:
    """A fact that the user mentions, and the message that contains it."""

    place: float
    """Position in the chat, 0 to 1."""
    project: dict[str, Any]
    clause: str
    form: str = "openings"
    """Wording of the message around it."""
    reply: str = ""
    """Text that the assistant's reply must contain."""
    turn: str = ""
    answered: str = ""
    """Id of the assistant's reply."""


def generate(seed: int, *, sessions: int) -> Chat:
    """Generate a chat of a user with an assistant; see `chats.generate`."""
    rng = Random(f"assistant {seed}")  # noqa: S311 - the same seed must give the same chat
    start = datetime(2022, 1, 3, tzinfo=UTC) + timedelta(days=rng.randrange(1200), hours=8)
    work = _Work(rng, "assistant", start)
    asking: list[Callable[[], None]] = []
    facts: list[_Fact] = []
    days = [start + timedelta(days=round(place * 4.5 + rng.random() * 3)) for place in range(sessions)]
    for name in rng.sample(list(world("work")), _PROJECTS):
        for sort in (_metrics, _milestones, _claims, _facts, _preferences, _plans):
            facts += sort(work, world("work")[name], asking, start)
    facts.sort(key=lambda fact: fact.place)
    for number, day in enumerate(days):
        work.session, work.at = f"S{number + 1}", day + timedelta(hours=rng.randrange(10))
        for fact in facts[number * len(facts) // sessions : (number + 1) * len(facts) // sessions]:
            _exchange(work, fact)
    for ask in asking:
        ask()
    rng.shuffle(work.questions)
    return chat(f"assistant-{seed}", work.turns, work.questions)


def _exchange(work: _Work, fact: _Fact) -> None:
    """Write the user's message with a fact, the reply, and follow-up exchanges."""
    project = fact.project
    text = work.fill(work.pick(work.words[fact.form]), project, fact.clause)
    for _ in range(work.rng.randrange(3)):
        text += f" {work.fill(work.pick(work.words['worries']), project)}"
    if work.chance(0.5):
        notes = "\n".join(f"- {work.pick(project['parts'])}: {work.pick(project['tasks'])}" for _ in range(4))
        text += f" {work.pick(work.words['pasted'])}\n{notes}"
    if work.chance(0.3):
        text += f" {work.fill(work.pick(work.words['follow_ups']), project)}"
    fact.turn = work.write("user", text)
    fact.answered = work.answer(project, _spoken_to(fact.clause) if fact.form == "openings" else "", fact.reply)
    while work.chance(_FOLLOWED):
        work.write("user", work.fill(work.pick(work.words["follow_ups"]), project))
        work.answer(project, "")


def _metrics(work: _Work, project: dict[str, Any], asking: list[Callable[[], None]], _: datetime) -> list[_Fact]:
    """Return values and their later changes, with questions."""
    facts = []
    for said, changed, asked, values in work.rng.sample(project["metrics"], 4):
        known = values.split("; ")
        place = work.rng.randrange(len(known) - 1)
        old, new = known[place : place + 2]
        at = work.rng.random() * 0.5
        first = _Fact(at, project, said.replace("{x}", old))
        later = _Fact(at + 0.2 + work.rng.random() * 0.3, project, changed.replace("{x}", new), "updates")
        facts += [first, later]

        def ask(first: _Fact = first, later: _Fact = later, asked: str = asked, old: str = old, new: str = new) -> None:
            both = [first.turn, later.turn]
            work.ask("knowledge_update", asked, both, new, original=first.turn, updated=later.turn)
            before = _before(asked)
            if before:
                work.ask("information_extraction", before, [first.turn], old)

        asking.append(ask)
    return facts


def _milestones(work: _Work, project: dict[str, Any], asking: list[Callable[[], None]], start: datetime) -> list[_Fact]:
    """Return dates, one of which moves, with questions on intervals and order."""
    rng, facts, dated = work.rng, [], []
    for place, (said, asked) in enumerate(rng.sample(project["milestones"], 5)):
        date = start + timedelta(days=rng.randrange(20, 160))
        form = work.pick(("the deadline for {m} is {d}", "{m} is scheduled for {d}", "I've set {d} for {m}"))
        fact = _Fact(rng.random() * 0.6, project, form.replace("{m}", said).replace("{d}", _day(date)))
        facts.append(fact)
        dated.append((fact, asked, date))
        if place == 0:
            moved = date + timedelta(days=rng.randrange(3, 25))
            clause = f"{said}, which had to be moved to {_day(moved)}"
            later = _Fact(fact.place + 0.2 + 0.2 * rng.random(), project, clause, "updates")
            facts.append(later)
            asking.append(partial(_ask_moved, work, fact, later, asked, _day(moved)))
    for (one, first, begins), (two, second, ends) in pairwise(dated[1:]):
        text = work.pick(("How many days are there between {a} and {b}?", "How long after {a} is {b} due?"))
        asked = text.replace("{a}", first).replace("{b}", second)
        asking.append(partial(_ask_between, work, one, two, asked, f"{abs((ends - begins).days)} days"))
    told = sorted((fact for fact, _, _ in dated), key=lambda fact: fact.place)
    asking.append(partial(_ask_order, work, told, project))
    return facts


def _ask_moved(work: _Work, old: _Fact, new: _Fact, asked: str, answer: str) -> None:
    text = work.pick(("When is {a}?", "What is the date of {a}?", "By when do I have to reckon with {a}?"))
    both = [old.turn, new.turn]
    work.ask("knowledge_update", text.replace("{a}", asked), both, answer, original=old.turn, updated=new.turn)


def _ask_between(work: _Work, one: _Fact, two: _Fact, asked: str, answer: str) -> None:
    work.ask("temporal_reasoning", asked, [one.turn, two.turn], answer)


def _ask_order(work: _Work, facts: list[_Fact], project: dict[str, Any]) -> None:
    turns, goal = [fact.turn for fact in facts], project["goal"][0]
    work.ask("event_ordering", f"In which order did I bring up the dates for {goal}?", turns, "")
    work.ask("multi_session_reasoning", f"How many deadlines have I set for {goal}?", turns, str(len(turns)))


def _claims(work: _Work, project: dict[str, Any], asking: list[Callable[[], None]], _: datetime) -> list[_Fact]:
    """Return contradicting claims, with questions."""
    facts = []
    for sides in work.rng.sample(project["claims"], 3):
        one, two = (0, 1) if work.chance(0.5) else (1, 0)
        at = work.rng.random() * 0.6
        first = _Fact(at, project, sides[one])
        second = _Fact(at + 0.1 + 0.3 * work.rng.random(), project, sides[two])
        facts += [first, second]

        def ask(first: _Fact = first, second: _Fact = second, asked: str = sides[2]) -> None:
            turns, answer = [first.turn, second.turn], "You said both; which is right?"
            work.ask("contradiction_resolution", asked, turns, answer, first=first.turn, second=second.turn)

        asking.append(ask)
    return facts


def _facts(work: _Work, project: dict[str, Any], asking: list[Callable[[], None]], _: datetime) -> list[_Fact]:
    """Return facts that do not change, with questions."""
    facts = []
    for said, asked, values in work.rng.sample(project["facts"], 5):
        value = work.rng.choice(values.split("; "))
        clause = said.replace("{x}", value)
        if work.chance(0.6):
            clause += f", in case you need to know {_indirect(asked)}"
        fact = _Fact(work.rng.random(), project, clause)
        facts.append(fact)
        asking.append(partial(_ask_fact, work, "information_extraction", fact, asked, value))
    return facts


def _ask_fact(work: _Work, kind: str, fact: _Fact, asked: str, answer: str) -> None:
    work.ask(kind, asked, [fact.turn], answer)


def _preferences(work: _Work, project: dict[str, Any], asking: list[Callable[[], None]], _: datetime) -> list[_Fact]:
    """Return preferences and standing instructions, with requests that they apply to."""
    facts = []
    for said, asked in work.rng.sample(project["likes"], 2):
        clause = f"I {said}"
        if work.chance(0.5):
            clause += f", so think of that when I ask something like: {asked}"
        facts.append(_Fact(work.rng.random(), project, clause))
        asking.append(partial(_ask_fact, work, "preference_following", facts[-1], asked, said))
    for said, asked in work.rng.sample(project["orders"], 1):
        facts.append(_Fact(work.rng.random(), project, f"one more thing for all your answers: {said}", "openings"))
        asking.append(partial(_ask_fact, work, "instruction_following", facts[-1], asked, said))
    return facts


def _plans(work: _Work, project: dict[str, Any], asking: list[Callable[[], None]], _: datetime) -> list[_Fact]:
    """Return a schedule written by the assistant, with questions answered by its message."""
    weeks = work.rng.sample(project["parts"], 4)
    tasks = work.rng.sample(project["tasks"], 4)
    reply = "\n".join(
        f"- **Week {number}**: {part}; {task}." for number, (part, task) in enumerate(zip(weeks, tasks, strict=True), 1)
    )
    fact = _Fact(work.rng.random(), project, "I need a schedule for the next four weeks", reply=reply)
    number, goal = work.rng.randrange(4), project["goal"][0]
    first = work.pick(
        ("What did you schedule for week {n} of {g}?", "What was planned for week {n} in your plan for {g}?")
    )

    def ask() -> None:
        text = first.replace("{n}", str(number + 1)).replace("{g}", goal)
        work.ask("information_extraction", text, [fact.turn, fact.answered], f"{weeks[number]}; {tasks[number]}")
        text = f"In which week of your plan for {goal} should I {tasks[number]}?"
        work.ask("information_extraction", text, [fact.answered], str(number + 1))

    asking.append(ask)
    return [fact]


def _before(asked: str) -> str:
    """Rewrite a question about the present to one about the past; empty if the wording does not allow it."""
    for now, then in ((" is ", " was "), (" are ", " were "), (" does ", " did "), (" do ", " did ")):
        if now in asked:
            return asked.replace(now, then, 1).removesuffix("?") + " at first?"
    return ""


def _indirect(asked: str) -> str:
    """Rewrite a question as an indirect question: "Who does the wiring?", "who does the wiring"."""
    text = re.sub(r"^(.+?) (?:do|did|does) (I|we|my) ", r"\1 \2 ", asked.removesuffix("?"))
    return text[0].lower() + text[1:]


def _spoken_to(clause: str) -> str:
    """Rewrite a clause of the user in the second person."""
    you = {"i": "you", "i'm": "you're", "i've": "you've", "my": "your", "me": "you", "we": "you", "our": "your"}
    return " ".join(you.get(word.lower(), word) for word in clause.split(" "))


def _day(at: datetime) -> str:
    return f"{at:%B} {at.day}, {at.year}"
