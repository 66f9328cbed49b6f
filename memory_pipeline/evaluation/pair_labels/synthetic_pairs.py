"""Pairs of statements whose relation is known, made from the words of the generated chats, to measure judgements on.

Not here: the judgement (`pairs.py`) and its figures (`quality.py`).
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation.synthetic_chats.worlds import world

SORTS: Final = {
    "duplicate": "One statement and the same again: as it was, decorated or with a slip of the pen.",
    "other value": "The same words with another value, and no word of a change: to be merged it must never be.",
    "update": "The same statement with another value, said to be a change.",
    "update, freely worded": "A changed value told in other words.",
    "contradiction": "Something done, and the same words denied.",
    "contradiction, freely worded": "Something done, and denied in other words.",
    "one subject": "Two statements about one subject that do not touch each other.",
    "unrelated": "Statements about two subjects.",
}
"""Sorts of pairs."""
_OPENERS: Final = ("", "By the way, ", "Just so you know, ", "Well, ", "Oh, ")
_CHANGES: Final = (
    "That has changed: {new}",
    "Actually, {new}",
    "Update: {new}",
    "It's no longer {old}. {new}",
    "As of this week, {new}",
    "{new} It used to be {old}.",
)
_KEPT: Final = frozenset(
    (
        "bought",
        "brought",
        "built",
        "found",
        "got",
        "had",
        "lost",
        "made",
        "met",
        "read",
        "sent",
        "shot",
        "sold",
        "spent",
        "taught",
        "won",
        "hung",
    )
)
"""Irregular verbs whose past is their participle."""
_CLOSERS: Final = ("", " That's how it is.", " Anyway.", " Believe me.")


def generate(seed: int, *, each: int = 150) -> pl.DataFrame:
    """Make pairs: first (said before), second, sort (one of `SORTS`).

    Args:
        seed: the same seed gives the same pairs.
        each: pairs of each sort, at most; fewer where words run out.
    """
    rng = Random(f"pairs {seed}")  # noqa: S311 - the same seed must give the same pairs
    makers: dict[str, Callable[[Random], tuple[str, str]]] = {
        "duplicate": _duplicate,
        "other value": _other_value,
        "update": _update,
        "update, freely worded": _update_freely,
        "contradiction": _contradiction,
        "contradiction, freely worded": _contradiction_freely,
        "one subject": _one_subject,
        "unrelated": _unrelated,
    }
    rows = [(*pair, sort) for sort, make in makers.items() for pair in _distinct(rng, make, each)]
    return pl.DataFrame(rows, schema={"first": pl.String, "second": pl.String, "sort": pl.String}, orient="row")


def _distinct(rng: Random, make: Callable[[Random], tuple[str, str]], each: int) -> Iterator[tuple[str, str]]:
    seen = set[tuple[str, str]]()
    for _ in range(each * 4):
        pair = make(rng)
        if pair not in seen and len(seen) < each:
            seen.add(pair)
            yield pair


def _duplicate(rng: Random) -> tuple[str, str]:
    """One statement, and the same again: decorated, with a slip of the pen, or as it was."""
    text = _statement(rng)
    drawn = rng.randrange(4)
    if drawn == 0:
        return text, text
    if drawn == 1:
        words = text.split(" ")
        place = max(range(len(words)), key=lambda at: len(words[at]))
        letters = words[place]
        middle = len(letters) // 2
        words[place] = letters[: middle - 1] + letters[middle] + letters[middle - 1] + letters[middle + 1 :]
        return text, " ".join(words)
    return text, f"{rng.choice(_OPENERS)}{text}{rng.choice(_CLOSERS)}"


def _other_value(rng: Random) -> tuple[str, str]:
    """One statement with two values: the same words, another fact."""
    form, values = _form(rng)
    old, new = rng.sample(values, 2)
    return form.replace("{x}", old), form.replace("{x}", new)


def _update(rng: Random) -> tuple[str, str]:
    """A value, and another in the same words, said to be new."""
    form, values = _form(rng)
    old, new = rng.sample(values, 2)
    said, way = form.replace("{x}", new), rng.choice(_CHANGES)
    if not way.startswith("{new}") and ". {new}" not in way and not said.startswith("I"):
        said = said[0].lower() + said[1:]
    return form.replace("{x}", old), way.replace("{old}", old).replace("{new}", said)


def _update_freely(rng: Random) -> tuple[str, str]:
    """A value, and how it is told in other words when it has changed."""
    if rng.randrange(2):
        about = rng.choice([life for life in world("friends")["life"].values() if "changed" in life])
        old, new = rng.sample(about["values"], 2)
        told = rng.choice(about["changed"]).replace("{old}", old)
        return rng.choice(about["said"]).replace("{x}", old), told.replace("{x}", new)
    said, changed, _, values = rng.choice(_project(rng)["metrics"])
    known = values.split("; ")
    place = rng.randrange(len(known) - 1)
    return _sentence(said.replace("{x}", known[place])), f"Things moved: {changed.replace('{x}', known[place + 1])}."


def _contradiction(rng: Random) -> tuple[str, str]:
    """Something done, and later never done in the same words; the other way round it would be news."""
    topics = world("friends")["topics"].values()
    said = rng.choice([event[0] for topic in topics for event in topic["events"] if _is_participle(event[0])])
    return f"I {said}.", f"I have never {said}."


def _is_participle(said: str) -> bool:
    verb = said.split(" ", maxsplit=1)[0]
    return verb.endswith("ed") or verb in _KEPT


def _contradiction_freely(rng: Random) -> tuple[str, str]:
    """Something done, and later denied in other words."""
    done, denied, _ = rng.choice(_project(rng)["claims"])
    return _sentence(done), _sentence(denied)


def _one_subject(rng: Random) -> tuple[str, str]:
    """Two statements about one subject that do not touch each other."""
    topic = rng.choice(list(world("friends")["topics"].values()))
    first, second = rng.sample(topic["events"], 2)
    return f"I {first[0]}.", f"I {second[0]}."


def _unrelated(rng: Random) -> tuple[str, str]:
    topics = rng.sample(list(world("friends")["topics"].values()), 2)
    first, second = (rng.choice(topic["events"])[0] for topic in topics)
    return f"I {first}.", f"I {second}."


def _statement(rng: Random) -> str:
    form, values = _form(rng)
    return form.replace("{x}", rng.choice(values))


def _form(rng: Random) -> tuple[str, list[str]]:
    """Return a sentence with room for a value, and values."""
    drawn = rng.randrange(3)
    if drawn == 0:
        about = rng.choice(list(world("friends")["life"].values()))
        return rng.choice(about["said"]), about["values"]
    if drawn == 1:
        said, _, values = rng.choice(_project(rng)["facts"])
        return _sentence(said), values.split("; ")
    said, _, _, values = rng.choice(_project(rng)["metrics"])
    return _sentence(said), values.split("; ")


def _project(rng: Random) -> dict[str, Any]:
    project: dict[str, Any] = rng.choice(list(world("work").values()))
    return project


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."
