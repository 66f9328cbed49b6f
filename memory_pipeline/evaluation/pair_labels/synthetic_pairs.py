"""Generates pairs of statements with known relations, from the vocabulary of the generated chats.

Not here: the judgement of pairs (`pairs.py`) and its figures (`quality.py`).
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import polars as pl

from memory_pipeline.evaluation.synthetic_chats.worlds import world

SORTS: Final = {
    "duplicate": "A statement and its repetition: unchanged, decorated or with a typo.",
    "other value": "The same words with another value and no mention of a change: must never be merged.",
    "update": "The same statement with another value, stated as a change.",
    "update, freely worded": "A changed value in other words.",
    "contradiction": "A statement and its denial in the same words.",
    "contradiction, freely worded": "A statement and its denial in other words.",
    "one subject": "Two independent statements about one subject.",
    "unrelated": "Statements about different subjects.",
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
_PARTICIPLES: Final = frozenset(
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
"""Irregular verbs whose past tense equals the participle."""
_CLOSERS: Final = ("", " That's how it is.", " Anyway.", " Believe me.")


def generate(seed: int, *, each: int = 150) -> pl.DataFrame:
    """Generate pairs: first (the earlier statement), second, sort (one of `SORTS`).

    Args:
        seed: equal seeds give equal pairs.
        each: maximum number of pairs per sort; fewer if the vocabulary is exhausted.
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
    """Return a statement and its repetition: decorated, with a typo, or unchanged."""
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
    """Return a statement with two values: the same words, another fact."""
    form, values = _form(rng)
    old, new = rng.sample(values, 2)
    return form.replace("{x}", old), form.replace("{x}", new)


def _update(rng: Random) -> tuple[str, str]:
    """Return a value and a new value in the same words, stated as a change."""
    form, values = _form(rng)
    old, new = rng.sample(values, 2)
    statement, pattern = form.replace("{x}", new), rng.choice(_CHANGES)
    if not pattern.startswith("{new}") and ". {new}" not in pattern and not statement.startswith("I"):
        statement = statement[0].lower() + statement[1:]
    return form.replace("{x}", old), pattern.replace("{old}", old).replace("{new}", statement)


def _update_freely(rng: Random) -> tuple[str, str]:
    """Return a value and its change in other words."""
    if rng.randrange(2):
        about = rng.choice([life for life in world("friends")["life"].values() if "changed" in life])
        old, new = rng.sample(about["values"], 2)
        change = rng.choice(about["changed"]).replace("{old}", old)
        return rng.choice(about["said"]).replace("{x}", old), change.replace("{x}", new)
    stated, changed, _, joined = rng.choice(_project(rng)["metrics"])
    values = joined.split("; ")
    place = rng.randrange(len(values) - 1)
    return _sentence(
        stated.replace("{x}", values[place])
    ), f"Things moved: {changed.replace('{x}', values[place + 1])}."


def _contradiction(rng: Random) -> tuple[str, str]:
    """Return something done and its later denial in the same words; in reverse order it would be an update."""
    topics = world("friends")["topics"].values()
    deed = rng.choice([event[0] for topic in topics for event in topic["events"] if _is_participle(event[0])])
    return f"I {deed}.", f"I have never {deed}."


def _is_participle(clause: str) -> bool:
    verb = clause.split(" ", maxsplit=1)[0]
    return verb.endswith("ed") or verb in _PARTICIPLES


def _contradiction_freely(rng: Random) -> tuple[str, str]:
    """Return something done and its later denial in other words."""
    done, denied, _ = rng.choice(_project(rng)["claims"])
    return _sentence(done), _sentence(denied)


def _one_subject(rng: Random) -> tuple[str, str]:
    """Return two independent statements about one subject."""
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
    """Return a sentence with a placeholder for a value, and values."""
    drawn = rng.randrange(3)
    if drawn == 0:
        about = rng.choice(list(world("friends")["life"].values()))
        return rng.choice(about["said"]), about["values"]
    if drawn == 1:
        stated, _, values = rng.choice(_project(rng)["facts"])
        return _sentence(stated), values.split("; ")
    stated, _, _, values = rng.choice(_project(rng)["metrics"])
    return _sentence(stated), values.split("; ")


def _project(rng: Random) -> dict[str, Any]:
    project: dict[str, Any] = rng.choice(list(world("work").values()))
    return project


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."
