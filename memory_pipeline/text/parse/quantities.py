"""Amounts: numbers with the thing they count, and whether they are reached, aimed at, a starting value or a difference.

Not here: normal forms of numbers (`facts`), and what two amounts say about one fact (`compare/change_rules`).
"""

import re
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lemmas import DATE_LEMMAS, FUNCTION_LEMMAS, lemma
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse import facts
from memory_pipeline.text.parse.tokens import fold

Label = tuple[str, str]

UNITS: Final = frozenset(
    {"ms", "s", "sec", "secs", "min", "mins", "h", "hr", "hrs", "km", "kg", "lb", "lbs", "mb", "gb", "tb", "kb", "cm"}
    | {"mm", "m", "mph", "kmh", "px"}
)
"""Units of measurement: they give the measure, not the thing measured."""
_NUMBER: Final = (
    r"(?:[$€£¥₹] ?)?(?-u:\b)(?:[0-9]{1,2}:[0-9]{2}|[0-9]+/[0-9]+|[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)*)"
    r"(?: ?(?:%|percent(?-u:\b)|[ap]\.?m(?-u:\b)\.?|o'clock)| ?(?:k|mn|bn)(?-u:\b)"
    r"| (?:hundred|thousand|million|billion|dozen)(?-u:\b))?"
)
_NUMBER_WORDS: Final = (
    r"(?-u:\b)(?:(?:half|quarter) (?:past|to) [a-z0-9]+|[a-z0-9]+ and a (?:half|quarter)|two|three|four|five"
    r"|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]+)?|noon|midnight)(?-u:\b)"
)
_BEFORE: Final = r"(?:[a-z'-]+[ -]){0,4}"
_AFTER: Final = r"(?:[ -]?[a-z][a-z'-]*)?(?:[ -][a-z][a-z'-]*){0,5}"
_SCAN: Final = rf"{_BEFORE}(?:{_NUMBER}|{_NUMBER_WORDS}){_AFTER}"
_MATCH_PARTS: Final = cues.compile_cue(
    rf"(?P<before>{_BEFORE})(?P<number>{_NUMBER}|{_NUMBER_WORDS})(?P<after>{_AFTER})"
)
_LIST_OF_NUMBERS: Final = re.compile(
    r"[0-9.]+(?: ?[a-z%°]{1,3})?(?:, ?| and | or |, and )[0-9.]+(?: ?[a-z%°]{1,3}\b)?"
    r"(?:(?:, ?| and | or |, and )[0-9.]+)*"
)
"""Enumerations of numbers, whose values cannot be attributed."""
_ORDINALS: Final = (
    r"(?-u:\b)(?:first|second|third|fourth|fifth|final|last|next|previous|1st|2nd|3rd|4th|5th)(?-u:\b) [a-z]+"
)
_NUMBERED_THINGS: Final = (
    "day|week|player|team|phase|round|part|step|chapter|level|room|group|act|quiz|test|option|question|season|episode"
    "|volume|section|lesson|unit|module|verse|scene"
)
"""Things that are numbered rather than counted."""
_NUMBERED_LABELS: Final = (
    r"(?-u:\b)[a-z]+ (?:#|no\. ?)?[0-9]+(?-u:\b)"
    rf"|(?-u:\b)(?:{_NUMBERED_THINGS}) (?:one|two|three|four|five|six|seven|eight|nine|ten)(?-u:\b)"
)
_PART_OF: Final = re.compile(rf"(?:^|[ -])(?:{_NUMBERED_THINGS})$")
_COMPOUND: Final = re.compile(r"-[a-z]+ed\b")
"""After a number, a compound adjective: a six-sided die."""
_RATIO: Final = re.compile(r"\b[0-9]+ ?: ?[0-9](?![0-9])")
_NEVER_LABELS: Final = (
    STOP_WORDS | DATE_LEMMAS | {"exactly", "approximately", "roughly", "nearly", "reached", "hit", "total"}
)
_TIMES: Final = frozenset({"am", "pm", "a.m", "p.m", "o'clock", "noon", "midnight"})
_ORDINAL_WORDS: Final = dict(
    zip(["1st", "2nd", "3rd", "4th", "5th"], ["first", "second", "third", "fourth", "fifth"], strict=True)
)
_CARDINALS: Final = frozenset(["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"])
_MONEY: Final = frozenset({"dollars", "euros", "bucks", "pounds", "usd", "eur"})
_MORE: Final = frozenset({"more", "other", "different"})
_SKIPPED_ADJECTIVES: Final = _MORE | {"new", "additional", "total"}
_PLURAL_FORMS: Final = UNITS | {"people", "women", "men", "children", "mice", "feet", "teeth"}
_GOAL_NOUNS: Final = frozenset({"goal", "target", "aim"})
_FORMER_ADVERBS: Final = frozenset({"initially", "originally", "previously", "formerly"})


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with the thing it counts.

    Attributes:
        value: normal form.
        kind: count, percent, money, time, share or version.
        head: root of the thing counted, or of the thing versioned; empty if it is not named.
        modifiers: roots of the words between number and thing.
        measured: roots of the content words before the number.
        is_goal: the number is aimed at, not reached.
        is_start: the number is where a change began ("from 60 % to 85 %").
        is_difference: the number is a difference ("by 5 %", "5 more").
        is_new: the number is said to be new ("increased to 7").
    """

    value: str
    kind: str
    head: str
    modifiers: frozenset[str]
    measured: frozenset[str]
    is_goal: bool
    is_start: bool
    is_difference: bool
    is_new: bool


def scan(low: pl.Series) -> pl.DataFrame:
    """Scan clauses for numbers in context (`amounts`) and for ordinals and numbers that name things (`labels`)."""
    labels = pl.concat_list(pl.lit(low.str.extract_all(_ORDINALS)), pl.lit(low.str.extract_all(_NUMBERED_LABELS)))
    return pl.DataFrame({"amounts": low.str.extract_all(_SCAN), "labels": pl.select(labels).to_series()})


def parse_amounts(surroundings: pl.Series) -> dict[str, Amount]:
    """Parse each distinct entry of a column `amounts`."""
    distinct = surroundings.explode().drop_nulls().unique().to_list()
    matches = [
        (text, match)
        for text in distinct
        if (match := _MATCH_PARTS.search(text)) and not _COMPOUND.match(match["after"])
    ]
    after = [re.split(r"[ -]+", match["after"].strip(" -")) for _, match in matches]
    written = [
        match["number"] + (f" {words_after[0]}" if words_after[0] in _TIMES | _MONEY else "")
        for (_, match), words_after in zip(matches, after, strict=True)
    ]
    numbers = pl.Series(written, dtype=pl.String)
    values = facts.extract(numbers, fold(numbers))["numbers"].to_list()
    return {
        text: _amount(match, words_after, forms)
        for (text, match), words_after, forms in zip(matches, after, values, strict=True)
    }


def clause_amounts(low: str, places: list[str], numbers: list[str], parsed: dict[str, Amount]) -> tuple[Amount, ...]:
    """Return the amounts of one clause, without enumerations, ratios, dates and numbers that only name a thing.

    Args:
        low: the clause, folded.
        places: its entries of `amounts`.
        numbers: its numbers in normal form.
        parsed: result of `parse_amounts`.
    """
    enumerations = (_LIST_OF_NUMBERS.findall(low) if "," in low or " and " in low else []) + _RATIO.findall(low)
    enumerated = set(re.findall(r"[0-9.]+", " ".join(enumerations)))
    entries = [(text, parsed[text]) for text in places if text in parsed and parsed[text].value in numbers]
    return tuple(
        replace(amount, is_goal=amount.is_goal or _is_wanted(low, text))
        for text, amount in entries
        if amount.value.strip("$%") not in enumerated
    )


def labels(places: list[str], amounts: tuple[Amount, ...]) -> frozenset[Label]:
    """Return labels that distinguish things of one kind: (sprint, 2) of "sprint 2", (draft, first) of "first draft".

    Args:
        places: the clause's entries of `labels`.
        amounts: the amounts of the clause; a number that counts something is not a label.
    """
    counts = {amount.value.strip("$€£¥₹%") for amount in amounts if amount.head}
    return frozenset(label for place in places if (label := _label(place)) and label[1] not in counts)


def _label(place: str) -> Label | None:
    """Return the thing and its label, or None."""
    first, *_, last = place.split(" ")
    if last in _CARDINALS:
        return words.word_root(first), last
    if not last[-1].isdigit():
        return None if last in STOP_WORDS else (words.word_root(last), _ORDINAL_WORDS.get(first, first))
    if words.word_root(first) in words.SINGLE_VALUED:
        return None
    is_label = (
        first not in _NEVER_LABELS
        and not first.endswith(("ed", "ing"))
        and lemma(first) not in DATE_LEMMAS | FUNCTION_LEMMAS
    )
    return (words.word_root(first), last.strip("#")) if is_label else None


def _amount(match: re.Match[str], after: list[str], values: list[str]) -> Amount:
    """Return the amount in one match of the scan."""
    number, before = match["number"].strip(), match["before"].replace("-", " ").split()
    named_thing = before if before and before[-1] not in STOP_WORDS else []
    kind = _kind(number, after[0], named_thing)
    is_part = after[0] == "of" and _PART_OF.search(match["before"].strip())  # chapter 3 of a book
    things = [] if kind in {"percent", "time", "version"} or is_part else _things(after)
    head = (named_thing if kind == "version" else things)[-1:]
    text_before = " ".join(before)
    return Amount(
        value=values[0] if values else number,
        kind=kind,
        head=words.word_root(head[0]) if head else "",
        modifiers=frozenset(words.word_root(word) for word in things[:-1]),
        measured=frozenset(words.word_root(word) for word in before if word not in STOP_WORDS) - words.CHANGE_WORDS,
        is_goal=bool(cues.GOAL.search(text_before)) or not _GOAL_NOUNS.isdisjoint(after[:4]),
        is_start=before[-1:] == ["from"] or bool(_FORMER_ADVERBS.intersection(before)),
        is_difference=before[-1:] == ["by"] or after[0] == "more",
        is_new=bool(_NEW_BEFORE.search(text_before) or _NEW_AFTER.search(match["after"])),
    )


def _kind(number: str, follower: str, named_thing: list[str]) -> str:
    """Return the kind of a number, by its form and the words around it."""
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
    return "version" if number.count(".") > 1 or ("." in number and named_thing and not follower) else "count"


def _things(after: list[str]) -> list[str]:
    """Return the words after a number up to the thing counted: the first plural, else the first word."""
    phrase: list[str] = []
    for word in after[1:] if after[0] == "of" else after:
        if word in STOP_WORDS and (phrase or word not in _MORE):
            break
        if word not in _SKIPPED_ADJECTIVES:
            phrase.append(word)
    first_plural = next((position for position, word in enumerate(phrase) if _is_plural(word)), 0)
    return phrase[: first_plural + 1]


def _is_plural(word: str) -> bool:
    return word in _PLURAL_FORMS or (word.endswith("s") and not word.endswith(("ss", "us", "is")))


def _is_wanted(low: str, place: str) -> bool:
    """Return whether the words before a number say that it is a wish or a goal."""
    start = low.find(place)
    digit = re.search("[0-9]", place)
    before = low[: start + (digit.start() if digit else 0)]
    return bool(cues.WANTED.search(before) or cues.ATTEMPTED.search(before))


_NEW_BEFORE: Final = cues.compile_cue(cues.NEW_NUMBER)
_NEW_AFTER: Final = re.compile(r"\bnow\b")
