"""Statements: what a text states, clause by clause, ready to be compared with what another text states.

A text is cut into clauses; code, questions and requests are left out; what is wished or supposed is marked. Of each
clause are kept its topic, its persons, names, amounts with what they count, dates, how it denies, and what it says has
ended. What is not here: how two statements relate (`changes`) and the word lists (`change_words`).
"""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from memory_pipeline.text import change_words as words
from memory_pipeline.text import attributes, facts
from memory_pipeline.text.attributes import Claim
from memory_pipeline.text.lexicon import STOP_WORDS
from memory_pipeline.text.meanings import COUNTED, DATED, NOT, PAST, UNPLACED, key, readings
from memory_pipeline.text.tokens import by_row, fold

MOST_CLAUSES: Final = 32
"""Clauses of one text that are read; a longer text is cut off."""

_CODE: Final = r"(?s)```.*?(?:```|\z)"
_MARKUP: Final = r"https?://\S+|\\[(\[].*?\\[)\]]|\$[^$\n]*=[^$\n]*\$|[^\s]*=[^\s]*|[*_#>|`]+"
_OPENER: Final = (
    r"(?:and|but|so|because|since|considering|given|although|though|while|whereas|especially|however|now|then|also|plus"
    r"|can|could|would|should|will|how|what|when|where|why|is|are|do|does|did|if|i|i'm|i've|i'll|i'd|my|we|we're"
    r"|we've|our|he|she|it|they|he's|she's|it's|they're|the|this|that|these|those|there|maybe|perhaps|please|having)"
)
_PERSON: Final = r"(?:i|i'm|i've|i'd|i'll|we|we're|we've|he|she|they|my|our|it|it's|he's|she's|now|then)"
_SPLIT: Final = (
    (r"(?i)\b(never (?:[a-z]+ly )?)([a-z]+ )([^,.;:\n]{3,80}?) or ", "$1$2$3\n$1$2"),
    (r"(?i)\btwice\b", "2 times"),
    (r"(?i)\bonce (an?|per|every|each)\b", "1 times $1"),
    (r"(\d),? (\d{4})\b", "$1 $2"),  # "April 5, 2024" is one date
    (r"([.!?\u2026]+)[\"')\]]*\s+", "$1\n"),
    (r"(?m)(^|:)\s*\d{1,2}[.)]\s", "$1 "),
    (r"[;\u2014]|\s-{1,2}\s|[()]", "\n"),
    (rf"(?i),\s+({_OPENER}\b)", "\n$1"),
    (
        r"(?i)\s+((?:but|because|whereas|although|though|considering|given (?:that|the|my)|especially since)\b)",
        "\n$1",
    ),
    (rf"(?i)\s+((?:and|so|since|while|that|if|when) {_PERSON}\b)", "\n$1"),
    (r"(?i)\s+((?:so|and) (?:can|could|would|what|how|should|please|if)\b)", "\n$1"),
    (r"(?m)^[ \t]*([^\s.!?]+(?: [^\s.!?]+)?)\n", "$1 "),  # one or two words are no clause of their own
)
"""Rewritings after which every line of a text is a clause."""

_LEAD: Final = (
    r"^\W*(?:(?:and|but|so|because|since|that|also|well|oh|hey|hi|ok|okay|yeah|yes|no|plus|then|wow|while|though"
    r"|although|however|especially|considering|given)(?-u:\b)[\s,]*)*"
)
_ASKING: Final = (
    rf"{_LEAD}(?:(?:can|could|would|will|should|do|does|did|is|are|was|were|have|has|am|may|might)(?:n't)? "
    r"(?:i|you|he|she|it|we|they|there|this|that|these|those|the|my|your|anyone|someone)(?-u:\b)"
    r"|(?:who|what|which|where|why|when|how|whose)(?-u:\b)|please(?-u:\b)|let me know|help me|tell me|show me|give me"
    r"|let's(?-u:\b)|i (?:need|want|would like|'d like) (?:you|your|some help|help)(?-u:\b)|i wonder|not sure"
    r"|i'm (?:wondering|curious|not sure)(?-u:\b))"
)
_SUPPOSED: Final = (
    r"(?-u:\b)(?:if|unless|would|might|maybe|perhaps|could|should|thinking (?:of|about)|hypothetical(?:ly)?|imagine"
    r"|suppose|assuming|wish|hope|hoping|hopefully|dream of|(?:considering|contemplating) (?:an?|[a-z]+ing))(?-u:\b)"
)
_AHEAD: Final = 24
"""Letters before such a word up to which the whole clause is supposed."""
_REPORTED: Final = r"(?-u:\b)(?:said|told|promised|agreed|announced|decided)(?-u:\b)"
_WISHED: Final = (
    r"(?-u:\b)(?:want(?:ed|s)? to|need(?:s|ed)? to|trying to|try to|aim(?:ing|s)? (?:to|for)|goal|target|hoping to"
    r"|would like to|'d like to|like to|wish to|interested in|looking to|how to|stuck on|so i can|in order to|have to|eager to)(?-u:\b)"
)
_GOAL: Final = r"(?-u:\b)(?:goal|target(?:ing)?|aim|aiming|want|hope|hoping|need|to (?:reach|get|hit|finish|save|complete)|achieve|optimized for|at least|at most)(?-u:\b)"
_NO_LONGER: Final = r"(?-u:\b)(?:no longer|(?:not|[a-z]+n't) .{0,60}(?-u:\b)(?:anymore|any more|any longer)|(?:i|we|he|she|they|you) used to)(?-u:\b)"
_NEVER: Final = (
    r"(?-u:\b)(?:never|without ever|not once"
    r"|(?:have|has|had|with) no (?:prior |previous |real )?(?:experience|history|record))(?-u:\b)"
)
_UNDONE: Final = r"(?-u:\b)(?:(?:have|has) not|haven't|hasn't|not yet|n't .{1,60} yet)(?-u:\b)"
_DID_NOT: Final = r"(?-u:\b)(?:did not|didn't|had not|hadn't|wasn't|weren't|was not|were not)(?-u:\b)"
_NOT: Final = (
    r"(?-u:\b)(?:not|no|none|nobody|nothing|neither|nor|cannot|[a-z]+n't|isnt|dont|doesnt|cant|wont|unable to)"
    r"(?-u:\b)"
)
_NO_DENIAL: Final = (
    r"(?-u:\b)(?:not (?:only|just|sure|certain|to mention)|no (?:need|problem|worries|doubt|wonder|matter|idea)"
    r"|(?:can't|couldn't) (?:wait|believe|help|agree)|don't (?:worry|forget|know|think|understand|want to|have time|have to|need to|mind)"
    r"|why (?:not|don't)|whether or not|nothing but|never mind|never been (?:better|happier|so))(?-u:\b)"
)
_PERFECT: Final = r"(?-u:\b)(?:have|has|had|'ve|'s|i've|we've) (?:[a-z]+ )?(?:been|[a-z]+ed|[a-z]+en|done|made|got|grown|become|won)(?-u:\b)"

_NUMBER: Final = (
    r"(?:[$€£¥₹] ?)?(?-u:\b)(?:[0-9]{1,2}:[0-9]{2}|[0-9]+/[0-9]+|[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)*)"
    r"(?: ?(?:%|percent(?-u:\b)|[ap]\.?m(?-u:\b)\.?|o'clock)| ?(?:k|mn|bn)(?-u:\b)"
    r"| (?:hundred|thousand|million|billion|dozen)(?-u:\b))?"
)
_SPELT: Final = (
    r"(?-u:\b)(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    r"|eighteen|nineteen|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]+)?|noon|midnight)(?-u:\b)"
)
_BEFORE: Final = r"(?:[a-z'-]+[ -]){0,4}"
_AFTER: Final = r"(?:[ -]?[a-z][a-z'-]*){0,1}(?:[ -][a-z][a-z'-]*){0,5}"
_SCAN: Final = rf"{_BEFORE}(?:{_NUMBER}|{_SPELT}){_AFTER}"
_PARTS: Final = re.compile(
    rf"(?P<before>{_BEFORE})(?P<number>{_NUMBER}|{_SPELT})(?P<after>{_AFTER})".replace(r"(?-u:\b)", r"\b")
)
UNITS: Final = frozenset("ms s sec secs min mins h hr hrs km kg lb lbs mb gb tb kb cm mm m mph kmh px".split())
_TIMES: Final = frozenset("am pm a.m p.m o'clock noon midnight".split())
_ORDINALS: Final = (
    r"(?-u:\b)(?:first|second|third|fourth|fifth|final|last|next|previous|1st|2nd|3rd|4th|5th)(?-u:\b) [a-z]+"
)
_LABELS: Final = r"(?-u:\b)[a-z]+ (?:#|no\. ?)?[0-9]+(?-u:\b)"
_NO_LABEL: Final = STOP_WORDS | DATED | {"exactly", "approximately", "roughly", "nearly", "reached", "hit", "total"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with what it counts.

    Attributes:
        value: normal form.
        kind: count, percent, money, time, share or version.
        head: root of the thing counted; empty if it is not named.
        modifiers: roots of the words between the number and the thing.
        goal: the number is aimed at, not reached.
        before: the number is where a change began ("from 60 % to 85 %").
        step: the number is a difference ("by 5 %", "5 more").
        risen: the number is said to be new ("increased to 7").
    """

    value: str
    kind: str
    head: str
    modifiers: frozenset[str]
    goal: bool
    before: bool
    step: bool
    risen: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """What one clause states; words stand as roots.

    Attributes:
        low: the clause in lower case.
        topic: what it is about, without numbers, dates and persons.
        around: what the clauses beside it are about.
        said: all of its words in order, with persons, links and denials.
        figures: words with digits, as written.
        persons: i, we, you, he, she, they.
        people: relatives, pets and other people by what they are to somebody, if it begins with them.
        lead: words of the names that it begins with.
        names: names, lower-case.
        amounts: numbers with what they count.
        dates: dates in normal form.
        when: these and those of the clauses beside it.
        labels: what tells one thing from others of its kind, such as (sprint, 2) or (draft, first).
        sides: words of which each excludes others.
        claims: values that it gives to attributes.
        ended: what it says is over.
        over: it says that its own subject is over.
        denial: "", never, undone, did_not, not or no_longer.
        past: it tells what happened.
        perfect: it tells what has come to be.
        supposed: it only supposes.
        wished: it tells what is wanted.
        moved: it gives an event another time.
        changing: it announces a change.
        correcting: it takes something back.
    """

    low: str
    topic: frozenset[str]
    around: frozenset[str]
    said: tuple[str, ...]
    figures: frozenset[str]
    persons: frozenset[str]
    people: frozenset[str]
    lead: frozenset[str]
    names: frozenset[str]
    amounts: tuple[Amount, ...]
    dates: tuple[str, ...]
    when: frozenset[str]
    labels: frozenset[tuple[str, str]]
    sides: frozenset[str]
    claims: tuple[Claim, ...]
    ended: tuple[frozenset[str], ...]
    over: bool
    denial: str
    past: bool
    perfect: bool
    supposed: bool
    wished: bool
    moved: bool
    changing: bool
    correcting: bool


def clauses(texts: pl.Series) -> pl.DataFrame:
    """Clauses of each text that state something.

    Args:
        texts: strings; null counts as empty.

    Returns:
        row (place of the text), clause (as written), low, topic (roots), said (meanings in order), persons, people,
        names, dates, and what patterns tell: denial, supposed, wished, changing, correcting, over, perfect, and the raw
        matches found, labels and ended. Sorted by row and place in the text. Cost: about 50 µs a clause.
    """
    cut = (
        pl.DataFrame({"row": pl.int_range(len(texts), dtype=pl.UInt32, eager=True), "clause": _lines(texts)})
        .explode("clause")
        .filter(pl.col("clause").str.contains(r"\p{L}.*\p{L}"))
        .with_columns(pl.col("clause").str.strip_chars(" \t,-\u2022"))
    )
    cut = cut.filter(pl.int_range(pl.len()).over("row") < MOST_CLAUSES)
    low = fold(cut["clause"])
    asking = low.str.contains(_ASKING) & ~low.str.contains(r"(?:fact|now) that|my new")
    read = readings(cut["clause"]).select(clause="content", said="said")
    known = _topics(cut.with_columns(low=low).join(read, on="clause", how="left", maintain_order="left"))
    none = pl.lit([], dtype=pl.List(pl.String))
    beside = [pl.col("topic").shift(step).over("row").fill_null(none) for step in (-2, -1, 1, 2)]
    stated = known.with_columns(around=pl.concat_list(beside).list.unique())
    stated = stated.hstack(_told(stated))
    when = [pl.col("dates").shift(step).over("row").fill_null(none) for step in (1, -1)]
    return stated.with_columns(when=pl.col("dates").list.set_union(when[0]).list.set_union(when[1])).filter(~asking)


def statements(rows: pl.DataFrame) -> list[Statement]:
    """Rows of `clauses` as values, in their order. Cost: about 20 µs a clause."""
    amounts = _amounts(rows["found"])
    return [_statement(row, amounts) for row in rows.iter_rows(named=True)]


def _statement(row: dict[str, Any], amounts: dict[str, Amount]) -> Statement:
    said = row["said"]
    listed = set(re.findall(r"[0-9.]+", " ".join(_LISTED.findall(row["low"]))))
    labels = _labels(row["labels"], amounts, row["found"])
    named = {label for _, label in labels}
    told = tuple(
        replace(amount, goal=amount.goal or _is_aimed(row["low"], found))
        for found in row["found"]
        if (amount := amounts[found]).value in row["numbers"]
        and amount.value.strip("$%") not in listed
        and (amount.head or amount.value not in named)
    )
    return Statement(
        low=row["low"],
        topic=frozenset(row["topic"]),
        around=frozenset(row["around"]),
        said=tuple(words.root(word) for word in said),
        figures=frozenset(_FIGURE.findall(row["low"])),
        persons=_PERSONS.intersection(said),
        people=_people(row["low"]),
        lead=_lead(row),
        names=frozenset(name.lower() for name in row["names"]),
        amounts=told,
        dates=tuple(row["dates"]),
        when=frozenset(row["when"]),
        labels=labels,
        sides=frozenset(row["sides"]),
        claims=attributes.claims(row["low"]),
        ended=(*(ended for found in row["ended"] if (ended := _ended(found))), *_left(row)),
        over=row["over"],
        denial=row["denial"],
        past=not row["perfect"] and any(word.endswith(PAST) for word in said) and not _PRESENT.search(row["low"]),
        perfect=row["perfect"],
        supposed=row["supposed"],
        wished=row["wished"],
        moved=row["moved"],
        changing=row["changing"],
        correcting=row["correcting"],
    )


def _left(row: dict[str, Any]) -> list[frozenset[str]]:
    """Names of what somebody left."""
    left = _LEFT.search(row["low"])
    return [words.roots(name.lower()) for name in row["names"] if left and left[1].startswith(name.lower())]


def _people(low: str) -> frozenset[str]:
    """What somebody is to somebody, where a clause begins with it: the sister of "my older sister lives here"."""
    match = _BEGINNING.match(low)
    return words.PEOPLE & words.roots(match[1]) if match else frozenset()


def _lead(row: dict[str, Any]) -> frozenset[str]:
    """The name that a clause begins with."""
    low = _SKIPPED.sub("", row["low"])
    return frozenset(name.lower() for name in row["names"] if low.startswith(name.lower()))


def _topics(cut: pl.DataFrame) -> pl.DataFrame:
    """Add the roots of what each clause is about: no numbers, dates, persons and links."""
    said = cut.select("said").with_row_index("at").explode("said").drop_nulls()
    distinct = said["said"].unique()
    topic = [None if word in _NO_TOPIC or word[0].isdigit() else words.root(word) for word in distinct]
    known = pl.DataFrame({"said": distinct, "topic": pl.Series(topic, dtype=pl.String)}).drop_nulls()
    known = known.filter(~pl.col("topic").is_in(sorted(words.IDLE)))
    topics = said.join(known, on="said").group_by("at").agg(pl.col("topic").unique().sort())
    return cut.with_columns(by_row(topics.with_columns(row=pl.col("at").cast(pl.UInt32)).drop("at"), len(cut))["topic"])


def _lines(texts: pl.Series) -> pl.Series:
    plain = texts.fill_null("").str.replace_all(_CODE, "\n").str.replace_all(_MARKUP, " ")
    plain = plain.str.replace_all("[\u2018\u2019]", "'")
    for pattern, instead in _SPLIT:
        plain = plain.str.replace_all(pattern, instead)
    return plain.str.split("\n")


def _told(cut: pl.DataFrame) -> pl.DataFrame:
    """What patterns tell of each clause."""
    low = cut["low"]
    denying = low.str.replace_all(_NO_DENIAL, " ")
    read = facts.read(cut["clause"], low)
    return pl.DataFrame(
        {
            "numbers": read["numbers"],
            "dates": read["dates"],
            "names": read["entities"],
            "found": low.str.extract_all(_SCAN),
            "labels": pl.select(
                pl.concat_list(pl.lit(low.str.extract_all(_ORDINALS)), pl.lit(low.str.extract_all(_LABELS)))
            ).to_series(),
            "ended": low.str.extract_all(words.ENDED),
            "sides": low.str.extract_all(_SIDED),
            "over": low.str.contains(words.PASSIVE_END),
            "attributes": attributes.attributes(low),
            "gives": attributes.gives(low),
            "perfect": low.str.contains(_PERFECT),
            "supposed": low.str.contains(rf"^.{{0,{_AHEAD}}}{_SUPPOSED}") & ~low.str.contains(_REPORTED),
            "wished": low.str.contains(_WISHED),
            "moved": low.str.contains(words.MOVED),
            "changing": low.str.contains(words.CHANGING),
            "correcting": low.str.contains(words.CORRECTING),
        }
    ).with_columns(
        denial=pl.when(denying.str.contains(_NO_LONGER))
        .then(pl.lit("no_longer"))
        .when(denying.str.contains(_NEVER))
        .then(pl.lit("never"))
        .when(denying.str.contains(_UNDONE))
        .then(pl.lit("undone"))
        .when(denying.str.contains(_DID_NOT))
        .then(pl.lit("did_not"))
        .when(denying.str.contains(_NOT))
        .then(pl.lit("not"))
        .otherwise(pl.lit(""))
    )


def _amounts(found: pl.Series) -> dict[str, Amount]:
    """Every number that was found, with what its surroundings say of it."""
    distinct = found.explode().drop_nulls().unique().to_list()
    parts = [_PARTS.search(one) for one in distinct]
    after = [re.split(r"[ -]+", part["after"].strip(" -")) if part else [""] for part in parts]
    shown = [
        (part["number"] + (f" {follower[0]}" if follower[0] in _TIMES else "")) if part else ""
        for part, follower in zip(parts, after, strict=True)
    ]
    series = pl.Series(shown, dtype=pl.String)
    numbers = facts.read(series, fold(series))["numbers"].to_list()
    return {
        one: _amount(part, follower, values)
        for one, part, follower, values in zip(distinct, parts, after, numbers, strict=True)
        if part
    }


def _amount(parts: re.Match[str], after: list[str], values: list[str]) -> Amount:
    number, before = parts["number"].strip(), parts["before"].replace("-", " ").split()
    kind = _kind(number, after[0])
    named = bool(before) and before[-1] not in STOP_WORDS
    if kind == "version" and not named and number.count(".") == 1:
        kind = "count"
    counted = [] if kind in {"percent", "time", "version"} else _counted(after)
    return Amount(
        value=values[0] if values else number,
        kind=kind,
        head=_head(kind, before if named else [], counted),
        modifiers=frozenset(words.root(key(word)) for word in counted[:-1]),
        goal=bool(_AIMED.search(" ".join(before))),
        step=before[-1:] == ["by"] or after[:1] == ["more"],
        before=before[-1:] == ["from"] or bool(_STALE.intersection(before)),
        risen=bool(_RISEN.search(" ".join(before)) or re.search(r"\bnow\b", parts["after"])),
    )


def _head(kind: str, before: list[str], counted: list[str]) -> str:
    """Root of what a number counts, or of what it is the version of."""
    named = before if kind == "version" else counted
    return words.root(key(named[-1])) if named else ""


def _kind(number: str, follower: str) -> str:
    if "%" in number or "percent" in number or follower in {"percent", "percentage"}:
        return "percent"
    if re.match("[$€£¥₹]", number) or follower in {"dollars", "euros", "bucks", "pounds", "usd", "eur"}:
        return "money"
    if ":" in number or re.search(r"[ap]\.?m\b|o'clock|noon|midnight", number) or follower in _TIMES:
        return "time"
    if "/" in number:
        return "share"
    return "version" if number.count(".") > 1 or ("." in number and not follower) else "count"


def _counted(after: list[str]) -> list[str]:
    """The words behind a number up to the thing counted: the first plural, else the first word."""
    if after[:1] == ["of"]:
        after = after[1:]
    phrase: list[str] = []
    for word in after:
        if word in STOP_WORDS and not (word in {"more", "other", "different"} and not phrase):
            break
        if word not in {"more", "other", "different", "new", "additional", "total"}:
            phrase.append(word)
    plural = next((at for at, word in enumerate(phrase) if _is_plural(word)), 0)
    return phrase[: plural + 1]


def _is_plural(word: str) -> bool:
    return word in {"people", "women", "men", "children", "mice", "feet", "teeth"} | UNITS or (
        word.endswith("s") and not word.endswith(("ss", "us", "is"))
    )


def _is_aimed(low: str, found: str) -> bool:
    """Somewhere before a number the clause says that it is wanted."""
    number = re.search(r"[0-9]", low[low.find(found) :])
    return bool(_WANTED.search(low[: low.find(found) + (number.start() if number else 0)]))


def _labels(found: list[str], amounts: dict[str, Amount], numbers: list[str]) -> frozenset[tuple[str, str]]:
    """What tells a thing from others of its kind; a number that counts something is none."""
    counted = {amounts[one].value for one in numbers if amounts[one].head}
    return frozenset(label for one in found if (label := _label(one)) and label[1] not in counted)


def _label(found: str) -> tuple[str, str] | None:
    """(sprint, 2) of "sprint 2", (draft, first) of "first draft"; nothing of "completed 15"."""
    one, other = found.split(" ")[0], found.split(" ")[-1]
    if not other[-1].isdigit():
        return words.root(key(other)), one
    counting = one in _NO_LABEL or one.endswith(("ed", "ing")) or key(one) in DATED | UNPLACED
    return None if counting else (words.root(key(one)), other.strip("#"))


def _ended(found: str) -> frozenset[str]:
    """Roots of what is over, of a match of the pattern."""
    match = _OVER.search(found)
    if match is None:
        return frozenset()
    over = _STOP.sub("", match[1])
    if _REPLACING.search(found[: match.start(1)]):
        over = _INSTEAD.sub("", over)
    plain = " ".join(word for word in re.findall(r"[^\W_]+(?:\.[^\W_]+)*", over) if word not in STOP_WORDS)
    return words.roots(plain) - _NO_TOPIC - words.GENERIC


def _python(pattern: str) -> re.Pattern[str]:
    """A pattern of Polars, whose word boundaries are marked as ASCII, for Python."""
    return re.compile(pattern.replace(r"(?-u:\b)", r"\b"))


_LISTED: Final = re.compile(
    r"[0-9.]+(?: ?[a-z%°]{1,3})?(?:, ?| and | or |, and )[0-9.]+(?: ?[a-z%°]{1,3}\b)?(?:(?:, ?| and | or |, and )[0-9.]+)*"
)
"""Numbers one after the other, whose values cannot be told apart."""
_WANTED: Final = re.compile(
    r"\b(?:(?:trying|try|need|have|planning|going) to [a-z]+ (?:[a-z]+ )?$|aim|aiming|want|wants|hoping|goal|target|targeting|would like)(?:\b|$)"
)
_FIGURE: Final = re.compile(r"\b[a-z]*[0-9][a-z0-9]*(?:\.[a-z0-9]+)+\b")
_STALE: Final = frozenset({"initially", "originally", "previously", "formerly"})
_SIDED: Final = rf"(?-u:\b)(?:{'|'.join(sorted(frozenset().union(*(side for sides in words.EXCLUSIVE for side in sides))))})(?-u:\b)(?:-[a-z]+)?"
_AIMED: Final = _python(_GOAL)
_RISEN: Final = _python(words.RISEN)
_OVER: Final = _python(words.ENDED)
_INSTEAD: Final = _python(words.GIVEN_UP_FOR)
_REPLACING: Final = re.compile(r"\b(?:from|replac\w+|traded in)\b")
_STOP: Final = _python(words.ENDED_STOP)
_LEFT: Final = re.compile(r"\b(?:left|leaving|moved out of|moved away from) ([^,.;]+)")
_PRESENT: Final = re.compile(
    r"\b(?:will|is|are|am|to be|can|should|must)\b(?!.*\b(?:was|were|did)\b)|'(?:m|re|s|ll)\b(?!.*\b(?:was|were|did)\b)"
)
_SKIPPED: Final = re.compile(
    r"^(?:.{0,40}?\b(?:says|said|told me|thinks|mentioned|announced|confirmed)\b(?: that)? )?"
    r"\W*(?:(?:and|but|so|now|actually|well|also|the|recently|because|since|that|then|yes|no)\b\W*)*"
)
_BEGINNING: Final = re.compile(_SKIPPED.pattern + r"(?:my|our|his|her|their|[a-z]+'s) ((?:[a-z-]+\W?){1,2})")
_PERSONS: Final = frozenset({"i", "we", "you", "he", "she", "they"})
_NO_TOPIC: Final = (
    frozenset(key(word) for word in "first second third fourth fifth final".split())
    | UNPLACED
    | (DATED - {"wed", "sun", "mar", "sat"})
    | COUNTED
    | _PERSONS
    | {key(word) for word in STOP_WORDS}
    | {NOT, "be", "be+ed", "have", "have+ed", "do", "do+ed", "will", "would", "can", "last", "next"}
)
