"""Amounts: numbers with what they count, and whether they are reached, aimed at, left behind or a difference.

What is not here: the normal forms of numbers (`facts`), and what two amounts say about one fact (`fact_rules`).
"""

import re
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse import facts
from memory_pipeline.text.parse.content_words import DATED, UNPLACED, key
from memory_pipeline.text.parse.tokens import fold

Label = tuple[str, str]

UNITS: Final = frozenset(
    {"ms", "s", "sec", "secs", "min", "mins", "h", "hr", "hrs", "km", "kg", "lb", "lbs", "mb", "gb", "tb", "kb", "cm"}
    | {"mm", "m", "mph", "kmh", "px"}
)
"""Units of measurement: they say how much, not of what."""
_NUMBER: Final = (
    r"(?:[$€£¥₹] ?)?(?-u:\b)(?:[0-9]{1,2}:[0-9]{2}|[0-9]+/[0-9]+|[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)*)"
    r"(?: ?(?:%|percent(?-u:\b)|[ap]\.?m(?-u:\b)\.?|o'clock)| ?(?:k|mn|bn)(?-u:\b)"
    r"| (?:hundred|thousand|million|billion|dozen)(?-u:\b))?"
)
_SPELT: Final = (
    r"(?-u:\b)(?:(?:half|quarter) (?:past|to) [a-z0-9]+|[a-z0-9]+ and a (?:half|quarter)|two|three|four|five"
    r"|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]+)?|noon|midnight)(?-u:\b)"
)
_BEFORE: Final = r"(?:[a-z'-]+[ -]){0,4}"
_AFTER: Final = r"(?:[ -]?[a-z][a-z'-]*)?(?:[ -][a-z][a-z'-]*){0,5}"
_SCAN: Final = rf"{_BEFORE}(?:{_NUMBER}|{_SPELT}){_AFTER}"
_PARTS: Final = cues.python(rf"(?P<before>{_BEFORE})(?P<number>{_NUMBER}|{_SPELT})(?P<after>{_AFTER})")
_LISTED: Final = re.compile(
    r"[0-9.]+(?: ?[a-z%°]{1,3})?(?:, ?| and | or |, and )[0-9.]+(?: ?[a-z%°]{1,3}\b)?"
    r"(?:(?:, ?| and | or |, and )[0-9.]+)*"
)
"""Numbers one after the other, whose values cannot be told apart."""
_ORDINALS: Final = (
    r"(?-u:\b)(?:first|second|third|fourth|fifth|final|last|next|previous|1st|2nd|3rd|4th|5th)(?-u:\b) [a-z]+"
)
_NUMBERED: Final = (
    "day|week|player|team|phase|round|part|step|chapter|level|room|group|act|quiz|test|option|question|season|episode"
    "|volume|section|lesson|unit|module|verse|scene"
)
"""What is numbered rather than counted."""
_LABELS: Final = (
    r"(?-u:\b)[a-z]+ (?:#|no\. ?)?[0-9]+(?-u:\b)"
    rf"|(?-u:\b)(?:{_NUMBERED}) (?:one|two|three|four|five|six|seven|eight|nine|ten)(?-u:\b)"
)
_PART_OF: Final = re.compile(rf"(?:^|[ -])(?:{_NUMBERED})$")
_FORMED: Final = re.compile(r"-[a-z]+ed\b")
"""Behind the number of what something has by its kind: a six-sided die."""
_RATIO: Final = re.compile(r"\b[0-9]+ ?: ?[0-9](?![0-9])")
_NO_LABEL: Final = STOP_WORDS | DATED | {"exactly", "approximately", "roughly", "nearly", "reached", "hit", "total"}
_TIMES: Final = frozenset({"am", "pm", "a.m", "p.m", "o'clock", "noon", "midnight"})
_ORDINAL: Final = dict(
    zip(["1st", "2nd", "3rd", "4th", "5th"], ["first", "second", "third", "fourth", "fifth"], strict=True)
)
_COUNTING: Final = frozenset(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
_MONEY: Final = frozenset({"dollars", "euros", "bucks", "pounds", "usd", "eur"})
_MORE: Final = frozenset({"more", "other", "different"})
_SKIPPED: Final = _MORE | {"new", "additional", "total"}
_PLURALS: Final = UNITS | {"people", "women", "men", "children", "mice", "feet", "teeth"}
_AIMED: Final = frozenset({"goal", "target", "aim"})
_STALE: Final = frozenset({"initially", "originally", "previously", "formerly"})


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with what it counts.

    Attributes:
        value: normal form.
        kind: count, percent, money, time, share or version.
        head: root of the thing counted, or of what it is the version of; empty if it is not named.
        modifiers: roots of the words between the number and the thing.
        measured: roots of the telling words before the number.
        goal: the number is aimed at, not reached.
        before: the number is where a change began ("from 60 % to 85 %").
        step: the number is a difference ("by 5 %", "5 more").
        risen: the number is said to be new ("increased to 7").
    """

    value: str
    kind: str
    head: str
    modifiers: frozenset[str]
    measured: frozenset[str]
    goal: bool
    before: bool
    step: bool
    risen: bool


def found(low: pl.Series) -> pl.DataFrame:
    """Numbers with their surroundings (`amounts`) and ordinals and numbers that name things (`labels`), as written."""
    labels = pl.concat_list(pl.lit(low.str.extract_all(_ORDINALS)), pl.lit(low.str.extract_all(_LABELS)))
    return pl.DataFrame({"amounts": low.str.extract_all(_SCAN), "labels": pl.select(labels).to_series()})


def read(surroundings: pl.Series) -> dict[str, Amount]:
    """Every number of a column `amounts`, by its surroundings."""
    distinct = surroundings.explode().drop_nulls().unique().to_list()
    matches = [(one, match) for one in distinct if (match := _PARTS.search(one)) and not _FORMED.match(match["after"])]
    after = [re.split(r"[ -]+", match["after"].strip(" -")) for _, match in matches]
    shown = [
        match["number"] + (f" {words_after[0]}" if words_after[0] in _TIMES | _MONEY else "")
        for (_, match), words_after in zip(matches, after, strict=True)
    ]
    numbers = pl.Series(shown, dtype=pl.String)
    values = facts.read(numbers, fold(numbers))["numbers"].to_list()
    return {
        one: _amount(match, words_after, known)
        for (one, match), words_after, known in zip(matches, after, values, strict=True)
    }


def counted(low: str, places: list[str], numbers: list[str], known: dict[str, Amount]) -> tuple[Amount, ...]:
    """The amounts of one clause: without lists and ratios of numbers, dates and numbers that only name a thing.

    Args:
        low: the clause.
        places: its row of `amounts`.
        numbers: its numbers in normal form.
        known: what `read` returns.
    """
    several = (_LISTED.findall(low) if "," in low or " and " in low else []) + _RATIO.findall(low)
    listed = set(re.findall(r"[0-9.]+", " ".join(several)))
    given = [(one, known[one]) for one in places if one in known and known[one].value in numbers]
    return tuple(
        replace(amount, goal=amount.goal or _wanted(low, one))
        for one, amount in given
        if amount.value.strip("$%") not in listed
    )


def labels(places: list[str], amounts: tuple[Amount, ...]) -> frozenset[Label]:
    """What tells things of one kind apart: (sprint, 2) of "sprint 2", (draft, first) of "first draft".

    Args:
        places: a row of `labels`.
        amounts: the amounts of the clause; a number that counts something names nothing.
    """
    counting = {amount.value.strip("$€£¥₹%") for amount in amounts if amount.head}
    return frozenset(label for one in places if (label := _label(one)) and label[1] not in counting)


def _label(place: str) -> Label | None:
    one, *_, other = place.split(" ")
    if other in _COUNTING:
        return words.root(key(one)), other
    if not other[-1].isdigit():
        return None if other in STOP_WORDS else (words.root(key(other)), _ORDINAL.get(one, one))
    if words.root(key(one)) in words.ONE_VALUED:
        return None
    names = one not in _NO_LABEL and not one.endswith(("ed", "ing")) and key(one) not in DATED | UNPLACED
    return (words.root(key(one)), other.strip("#")) if names else None


def _amount(match: re.Match[str], after: list[str], values: list[str]) -> Amount:
    number, before = match["number"].strip(), match["before"].replace("-", " ").split()
    named = before if before and before[-1] not in STOP_WORDS else []
    kind = _kind(number, after[0], named)
    part = after[0] == "of" and _PART_OF.search(match["before"].strip())  # chapter 3 of a book
    things = [] if kind in {"percent", "time", "version"} or part else _things(after)
    head = (named if kind == "version" else things)[-1:]
    said_before = " ".join(before)
    return Amount(
        value=values[0] if values else number,
        kind=kind,
        head=words.root(key(head[0])) if head else "",
        modifiers=frozenset(words.root(key(word)) for word in things[:-1]),
        measured=frozenset(words.root(key(word)) for word in before if word not in STOP_WORDS) - words.IDLE,
        goal=bool(cues.GOAL.search(said_before)) or not _AIMED.isdisjoint(after[:4]),
        before=before[-1:] == ["from"] or bool(_STALE.intersection(before)),
        step=before[-1:] == ["by"] or after[0] == "more",
        risen=bool(_RISEN.search(said_before) or _NOW.search(match["after"])),
    )


def _kind(number: str, follower: str, named: list[str]) -> str:
    if "%" in number or "percent" in number or follower in {"percent", "percentage"}:
        return "percent"
    if re.match("[$€£¥₹]", number) or follower in _MONEY:
        return "money"
    if (
        ":" in number
        or re.search(r"[ap]\.?m\b|o'clock|noon|midnight|(?:half|quarter) (?:past|to) ", number)
        or follower in _TIMES
    ):
        return "time"
    if "/" in number:
        return "share"
    return "version" if number.count(".") > 1 or ("." in number and named and not follower) else "count"


def _things(after: list[str]) -> list[str]:
    """The words behind a number up to the thing counted: the first plural, else the first word."""
    phrase: list[str] = []
    for word in after[1:] if after[0] == "of" else after:
        if word in STOP_WORDS and (phrase or word not in _MORE):
            break
        if word not in _SKIPPED:
            phrase.append(word)
    plural = next((at for at, word in enumerate(phrase) if _is_plural(word)), 0)
    return phrase[: plural + 1]


def _is_plural(word: str) -> bool:
    return word in _PLURALS or (word.endswith("s") and not word.endswith(("ss", "us", "is")))


def _wanted(low: str, place: str) -> bool:
    """The clause says before a number that it is wanted."""
    start = low.find(place)
    digit = re.search("[0-9]", place)
    before = low[: start + (digit.start() if digit else 0)]
    return bool(cues.WANTED.search(before) or cues.ATTEMPTED.search(before))


_RISEN: Final = cues.python(cues.RISEN)
_NOW: Final = re.compile(r"\bnow\b")
