"""Changed facts: does the newer of two texts state another value of the same fact, or do the two contradict?

Texts are compared statement by statement. What is not here: how a text is cut into statements (`statements`), which
pairs are worth comparing and what follows from a change (`consolidation/validity`), and whether two texts may be merged
(`differences`).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from memory_pipeline.lake.schemas import INSTANT
from memory_pipeline.text import change_words as words
from memory_pipeline.text import statements
from memory_pipeline.text.attributes import Claim
from memory_pipeline.text.dates import span
from memory_pipeline.text.differences import disagreements, settled_dates
from memory_pipeline.text.facts import facts
from memory_pipeline.text.meanings import readings
from memory_pipeline.text.statements import Amount, Statement
from memory_pipeline.text.tokens import vocabulary

Rows = NDArray[np.int64]

_ADDED: Final = {
    "relation": pl.String,
    "rule": pl.String,
    "subject": pl.String,
    "attribute": pl.String,
    "value": pl.String,
    "other_value": pl.String,
    "confidence": pl.Float64,
}
_SIDES: Final = ("left", "right")
_GENERIC: Final = 10
_SOME: Final = 50
_DUPLICATE: Final = ("duplicate", "same_meaning", None, None, None, None, 0.9)
_UNRELATED: Final = ("unrelated", None, None, None, None, None, 0.5)
_COMMON: Final = 0.05
"""Share of a group's texts up to which a word weighs in full; from there to all of them it weighs less and less."""
_FEW: Final = 20
"""Groups of fewer texts are too small for such shares."""
_AT_ONCE: Final = 200_000
"""Pairs of clauses whose words are compared at once: bounds the scratch memory."""
_SHARING: Final = frozenset({"prefer", "role"})
"""Attributes whose values can differ in part: window seats, aisle seats."""
_ROOTS_OF_SIDES: Final = tuple(words.roots(" ".join(sorted(frozenset().union(*sides)))) for sides in words.EXCLUSIVE)
_GROUP_OF_SIDE: Final = {word: f"{at}" for at, sides in enumerate(words.EXCLUSIVE) for side in sides for word in side}
_ENUMERATED: Final = 2
"""More numbers of one kind than these are a list, whose values cannot be told apart."""
_ALIKE: Final = 0.6
_NEVER: Final = pl.lit(None, dtype=INSTANT)
_UNTOLD: Final = frozenset({"i", "we", "be", "have", "do", "will", "remember", "forget"})
_SHORT: Final = 10
"""Words of two statements together up to which any word that only one has can make another thing of it."""
_NOWADAYS: Final = re.compile(
    r"\b(?:now|instead|anymore|these days|nowadays|lately|changed|switched|renamed|swapped|moved|no longer|became|new)\b"
)
_ONESELF: Final = re.compile(r"^(?:and |but |so |now |well |actually |recently )*(?:i|i'm|i've|we|we're)\b")
_WORRIED: Final = re.compile(r"\b(?:worried|concerned|afraid|nervous|ensure|make sure|in case)\b")
_INSTEAD: Final = re.compile(r"\b(?:now|instead|anymore|these days|nowadays|lately|switched)\b")
_BEGUN: Final = re.compile(
    r"\b(?:recently|started|bought|got|adopted|learned|learnt|first|finally|just|began|found|hired|signed up|again)\b"
)
_COUNTING: Final = frozenset({"count", "percent", "money", "version"})
LEAST_SHARED: Final = 35
"""Weight of shared words from which two statements are compared, in hundredths of a rare word."""


@dataclass(frozen=True, slots=True)
class Finding:
    """How a newer statement relates to an older one."""

    relation: str
    rule: str
    attribute: str
    value: str
    other_value: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Case:
    """An older and a newer statement of one subject, and what they have in common."""

    old: Statement
    new: Statement
    weight: dict[str, int]
    times: tuple[datetime | None, datetime | None] = (None, None)

    @property
    def shared(self) -> frozenset[str]:
        return self.old.topic & self.new.topic

    def mass(self, roots: frozenset[str]) -> int:
        return sum(self.weight.get(root, 100) for root in roots)

    def likeness(self, without: frozenset[str] = frozenset()) -> float:
        """Share of the smaller topic that both have."""
        one, other = self.old.topic - without, self.new.topic - without
        smaller = min(self.mass(one), self.mass(other))
        return self.mass(one & other) / smaller if smaller else 1.0

    def context(self, without: frozenset[str] = frozenset()) -> int:
        """Weight of what both are about, with what the clauses beside them add, and with the dates they share."""
        old, new = self.old, self.new
        beside = ((old.topic | old.around) & (new.topic | new.around)) - self.shared - without
        return self.mass(self.shared - without) + self.mass(beside) // 2 + _SOME * len(old.when & new.when)

    def strong(self, roots: frozenset[str]) -> bool:
        """There is a word among them that not many statements share."""
        return bool(roots - words.GENERIC)


def findings(case: Case) -> Iterator[Finding]:
    """Everything that tells the newer statement from the older one."""
    old, new = case.old, case.new
    if old.supposed or new.supposed or not _same_people(old, new):
        return
    yield from _ended(case)
    yield from _denied(case)
    if bool(old.denial) == bool(new.denial):
        yield from _claimed(case)
        if _same_thing(old, new):
            yield from _amounts(case)
            yield from _dates(case)
            yield from _sides(case)


def _same_people(old: Statement, new: Statement) -> bool:
    """The statements do not begin with different relatives, or with a relative and the speaker."""
    if old.people == new.people:
        return True
    if old.people and new.people:
        return bool(old.people & new.people)
    other = new if old.people else old
    return not other.persons & {"i", "we"} or bool((old.people | new.people) & other.topic)


def _same_thing(old: Statement, new: Statement) -> bool:
    """The statements do not begin with different names, or tell of two things of one kind (sprint 1, sprint 2)."""
    for one, other in ((old, new), (new, old)):
        if (
            one.lead
            and not any(name in other.low for name in one.lead)
            and (other.lead or other.said[:1] in (("i",), ("we",)))
        ):
            return False
    kinds = {noun: label for noun, label in old.labels if noun not in words.RANKED}
    return all(kinds.get(noun, label) == label for noun, label in new.labels)


def _ended(case: Case) -> Iterator[Finding]:
    """The newer says that what the older states is over."""
    old, new = case.old, case.new
    if old.denial or old.over or new.denial == "never":
        return
    for over in new.ended:
        if any(over & earlier for earlier in old.ended):
            continue
        both = over & (old.topic | old.figures)
        if not both - old.figures and not case.strong(case.shared - words.IDLE):
            continue
        named = any(words.roots(name) & both for name in old.names & new.names)
        covered = case.mass(both) / max(1, case.mass(over))
        if (
            case.strong(both)
            and not (old.past and not old.changing)
            and covered >= (0.4 if named else 0.66)
            and (named or len(both) > 0.5 * len(over))
        ):
            yield Finding("update", "ended", _list(both), _list(both), "ended", 0.9)
    if new.over and not old.ended:
        about = new.topic - _OVER
        both = about & old.topic
        if case.strong(both) and case.mass(both) >= 0.6 * case.mass(about):
            yield Finding("update", "ended", _list(both), _list(both), "ended", 0.85)


def _denied(case: Case) -> Iterator[Finding]:
    """One denies what the other states."""
    old, new = case.old, case.new
    if bool(old.denial) == bool(new.denial) or not _same_thing(old, new):
        return
    denying, stating = (new, old) if new.denial else (old, new)
    if stating.wished and denying.denial != "never":
        return
    about = denying.topic - _DOING
    both = about & stating.topic
    beside = about & stating.around - both
    covered = (case.mass(both) + case.mass(beside) // 2) / max(1, case.mass(about))
    if not case.strong(both):
        return
    value, other = ("stated", "denied") if denying is new else ("denied", "stated")
    found = Finding("conflict", "negation", _list(both), value, other, 0.5 + covered / 3)
    if denying.denial == "never":
        named = bool(old.names & new.names)
        if len(both) < 0.4 * len(about) and not named:
            return
        if (covered >= (0.3 if named else 0.45) and case.mass(both) >= 90) or covered >= 0.8:
            begun = denying is old and covered >= 0.7 and bool(_BEGUN.search(new.low))
            relation = "update" if begun else "conflict"
            yield replace(found, relation=relation, rule="never", confidence=0.45 + 0.3 * covered)
    elif covered < 0.7 or len(both) < 0.6 * len(about) or case.mass(both) < 0.3 * case.mass(stating.topic):
        return
    elif any(_WORRIED.search(side.low) for side in (old, new)):
        return
    elif denying.denial == "no_longer":
        yield replace(found, relation="update", rule="no_longer", confidence=0.9)
    elif denying.denial == "undone" and denying is old:
        yield replace(found, relation="update")
    elif denying.denial in {"did_not", "undone"} or both & words.PEOPLE or (denying.past and stating.past):
        yield found
    elif denying is old:
        if old.persons & new.persons and (not new.past or new.changing or _BEGUN.search(new.low)):
            yield replace(found, relation="update")
    else:
        state = words.STATES & (denying.topic | stating.topic) or "be" in denying.said
        yield replace(found, relation="update" if state else "conflict")


def _claimed(case: Case) -> Iterator[Finding]:
    """Both give a value to one attribute of one subject."""
    old, new = case.old, case.new
    for one in old.claims:
        for other in new.claims:
            if one.attribute != other.attribute or not _of_one_subject(one, other, case):
                continue
            alone = one.value - other.value, other.value - one.value
            if one.context and other.context and not one.context & other.context:
                continue
            if not all(alone) or (one.value & other.value and one.attribute not in _SHARING):
                continue
            if one.attribute == "birthplace":
                yield Finding("conflict", "changed_value", one.attribute, one.shown, other.shown, 0.85)
            elif one.attribute != "is" or _one_valued(one, other, case):
                if (old.past and not old.changing) or (new.past and not new.changing):
                    continue
                named = _named(old, alone[0]) and _named(new, alone[1])
                if one.attribute == "prefer" and not (_INSTEAD.search(new.low) or one.value & other.value):
                    continue
                if one.attribute == "work" and not named:
                    continue
                about = one.attribute if one.attribute != "is" else _list(one.subject)
                fixed = bool(words.FIXED & one.subject) and not new.changing
                yield Finding(
                    "conflict" if fixed else "update",
                    "changed_value",
                    about,
                    one.shown,
                    other.shown,
                    0.8 if named or new.changing else 0.7,
                )


def _of_one_subject(one: Claim, other: Claim, case: Case) -> bool:
    left, right = one.subject, other.subject
    if one.attribute == "is":
        return bool(left and right) and (left <= right or right <= left)
    if not left or not right:
        return not left | right or bool({"he", "she", "they"} & (case.new.persons | case.old.persons))
    return left <= right or right <= left


def _one_valued(one: Claim, other: Claim, case: Case) -> bool:
    """The subject has one value at a time, or the newer says that it is new."""
    subject = one.subject & other.subject
    if case.old.names and one.subject <= case.old.topic and _named(case.old, one.subject):
        return False
    if subject & (words.ONE_VALUED | words.FIXED):
        return True
    return (
        bool(_NOWADAYS.search(case.new.low)) and case.strong(subject) and len(one.value) <= 3 and len(other.value) <= 3
    )


def _named(one: Statement, value: frozenset[str]) -> bool:
    """A name is part of the value."""
    return any(words.roots(name.replace("-", " ")) & value for name in one.names)


def _apart(case: Case) -> bool:
    """Each statement is about something that the other does not mention."""
    counted = frozenset(one.head for side in (case.old, case.new) for one in side.amounts)
    left, right = (side.topic - case.shared - words.GENERIC - counted for side in (case.old, case.new))
    if not left or not right:
        return False
    return len(case.old.topic) + len(case.new.topic) <= _SHORT or case.context() < min(
        case.mass(left), case.mass(right)
    )


def _amounts(case: Case) -> Iterator[Finding]:
    """The newer gives another number of the same things."""
    old, new = case.old, case.new
    if not old.amounts or not new.amounts or (old.persons ^ new.persons) & {"he", "she", "they"}:
        return
    risen = any(one.risen for one in new.amounts)
    if _apart(case) and not (risen and case.context() >= 2 * _SOME):
        return
    stated = {one.value for one in old.amounts}, {one.value for one in new.amounts if not one.before}
    for one in old.amounts:
        for other in new.amounts:
            versions = one.kind == "version" and (
                one.value.startswith(other.value) or other.value.startswith(one.value)
            )
            if one.step or other.step or versions or max(_many(one, old), _many(other, new)) > _ENUMERATED:
                continue
            apart = one.value not in stated[1] and other.value not in stated[0] and not one.before and not other.before
            if not apart or one.kind != other.kind or one.kind not in _COUNTING or one.goal != other.goal:
                continue
            confidence = _same_things(one, other, case)
            if confidence:
                counted = one.head or other.head or _list(case.shared - words.GENERIC)
                yield Finding("update", "changed_number", counted, one.value, other.value, confidence)


def _many(one: Amount, stated: Statement) -> int:
    """How many numbers of one kind a statement holds."""
    return sum(one.kind == other.kind and (not other.head or one.head == other.head) for other in stated.amounts)


def _same_things(one: Amount, other: Amount, case: Case) -> float:
    """How sure it is that two numbers count the same; 0 if they do not seem to."""
    old, new = case.old, case.new
    named = bool(one.head) and one.head == other.head
    if one.head and other.head:
        if not named or one.modifiers - new.topic - new.around or other.modifiers - old.topic - old.around:
            return 0.0
    elif one.head or other.head:
        if (one.head or other.head) not in case.shared:
            return 0.0
        named = True
    elif one.kind == "count" and not other.risen:
        return 0.0
    announced = other.risen or new.changing
    if not announced and (
        one.goal or one.head in statements.UNITS or (one.kind == "count" and not old.persons & new.persons)
    ):
        return 0.0
    if one.kind == "money" and one.value.lstrip("-")[:1] != other.value.lstrip("-")[:1]:
        return 0.0
    if one.kind == "version":
        return 0.75 if named and (other.risen or new.changing) else 0.0
    counted = frozenset({one.head, other.head})
    if not (
        case.strong(case.shared - counted)
        or one.modifiers
        or other.modifiers
        or (named and case.context(counted) >= (LEAST_SHARED if other.risen else 2 * _SOME))
    ) and not (named and old.persons & new.persons and len(old.topic | new.topic) <= 4):
        return 0.0
    if one.head in statements.UNITS or one.kind == "percent":
        near = case.shared - counted - words.GENERIC
        if len(near) < 2 and case.context(counted) < 2 * _SOME + 20:
            return 0.0
        if one.head in statements.UNITS and (case.mass(near) < 2 * _SOME or case.likeness(counted) < 0.5):
            return 0.0
    common = one.head not in words.GENERIC and case.weight.get(one.head, 100) < LEAST_SHARED
    if one.head and common and not (one.modifiers and other.modifiers):
        return 0.0
    mass, likeness = case.context(counted), case.likeness(counted)
    begun = any(amount.before and amount.value == one.value and amount.kind == one.kind for amount in new.amounts)
    if old.dates and new.dates and not announced and not old.when & new.when:
        return 0.0
    if begun and mass >= _SOME:
        return 0.95
    if announced and mass >= (LEAST_SHARED if named else 2 * _SOME):
        return 0.8
    if likeness >= 0.75 and mass >= (_SOME - 15 if named else _SOME):
        return 0.8
    if (
        named
        and likeness >= 0.99
        and len(old.topic | new.topic) <= 4
        and old.persons & new.persons
        and not (old.past and new.past)
    ):
        return 0.75
    if mass >= 3 * _SOME and likeness >= 0.5:
        return 0.7
    return 0.0


def _dates(case: Case) -> Iterator[Finding]:
    """The newer gives another day or time of the same event."""
    old, new = case.old, case.new
    days = frozenset(old.dates), frozenset(new.dates)
    hours = tuple(frozenset(one.value for one in side.amounts if one.kind == "time") for side in (old, new))
    differing = [
        (rule, ones, others)
        for rule, (ones, others) in (("changed_date", days), ("changed_time", hours))
        if ones and others and not ones & others
    ]
    if not differing or (differing[0][0] == "changed_time" and days[0] != days[1] and all(days)) or _apart(case):
        return
    rule, ones, others = differing[0]
    about = case.shared - words.GENERIC
    fixed = words.FIXED & about
    mass, likeness = case.mass(about), case.likeness(_DOING)
    once = old.past and new.past and old.topic == new.topic and all(len(date) == len("2012") for date in ones | others)
    if once or (fixed and likeness >= 0.75):
        yield Finding("conflict", rule, _list(about), _list(ones), _list(others), 0.75)
    elif not about or _over_by_then(case) or ((old.past or new.past) and not (new.moved or new.correcting)):
        return
    elif (
        (new.moved or new.correcting)
        and likeness >= 0.4
        and (mass >= 2 * _SOME or (mass >= LEAST_SHARED and likeness >= 0.6))
    ):
        yield Finding("update", rule, _list(about), _list(ones), _list(others), 0.85)
    elif likeness >= 0.75 and _definite(case):
        yield Finding("update", rule, _list(about), _list(ones), _list(others), 0.75)


def _over_by_then(case: Case) -> bool:
    """Whatever the older dates was over when the newer was said."""
    before, after = case.times
    if before is None or after is None or not case.old.dates:
        return False
    spans = [span(date, before.date()) for date in case.old.dates]
    return all(one is not None and one[1] <= after.date() for one in spans)


def _of_oneself(one: Statement) -> bool:
    """The speaker begins with what excludes something else: "I'm single"."""
    return bool(_ONESELF.match(one.low)) and any(
        word in one.low.split()[:6]
        for word in (*one.sides, *(f"{side}." for side in one.sides), *(f"{side}!" for side in one.sides))
    )


def _definite(case: Case) -> bool:
    """Both tell when one and the same thing is."""
    return all("be" in side.said[2:] for side in (case.old, case.new)) and case.context() >= _SOME


def _sides(case: Case) -> Iterator[Finding]:
    """The two stand on different sides of what excludes each other, or on different steps of a ladder."""
    old, new = case.old, case.new
    happened = old.past and new.past and not new.changing
    for number, sides in enumerate(words.EXCLUSIVE):
        ones = [at for at, side in enumerate(sides) if side & old.sides]
        others = [at for at, side in enumerate(sides) if side & new.sides]
        if len(ones) != 1 or len(others) != 1 or ones == others:
            continue
        used = _ROOTS_OF_SIDES[number]
        rest = (old.topic | new.topic) - used
        personal = number < words.PERSONAL and all(_of_oneself(side) for side in (old, new))
        if not personal and (case.likeness(used) < 0.7 or (not case.strong(case.shared - used) and case.strong(rest))):
            continue
        opposed = sides[ones[0]] & old.sides, sides[others[0]] & new.sides
        always = all(re.search(r"\balways\b", side.low) for side in (old, new))
        relation = "conflict" if happened or always or words.LASTING & opposed[0] else "update"
        yield Finding(relation, "opposite", _list(case.shared - used), _list(opposed[0]), _list(opposed[1]), 0.75)
    ranks = {noun: label for noun, label in old.labels if noun in words.RANKED}
    for noun, label in new.labels:
        if ranks.get(noun, label) != label and not happened and not _apart(case):
            yield Finding("update", "changed_value", noun, ranks[noun], label, 0.7)


@dataclass(frozen=True, slots=True)
class Reading:
    """Texts, read statement by statement.

    Attributes:
        clauses: as `statements.clauses` gives them, `row` is the place of the text.
        terms: clause (its place), root and weight: what the clause is about.
        said_at: when each text was said.
        group: of each clause the group of its text.
        weights: of each group the weight of its roots, in hundredths.
    """

    clauses: pl.DataFrame
    terms: pl.DataFrame
    group: Rows
    said_at: list[datetime | None]
    weights: list[dict[str, int]]


def relations(pairs: pl.DataFrame) -> pl.DataFrame:
    """Say of each pair of texts how the newer relates to the older.

    Args:
        pairs: left_content and right_content; optionally left_at and right_at (instants; the later one is the newer,
            without them the right one), left_speaker and right_speaker (who says "I").

    Returns:
        `pairs` with relation (update, conflict, duplicate or unrelated), rule, subject, attribute, value (of the
        older), other_value (of the newer) and confidence (0..1). Cost: about 0.1 ms a statement and 20 µs a pair of
        statements that share a topic.

    Raises:
        ValueError: a text is missing.
    """
    if missing := [f"{side}_content" for side in _SIDES if f"{side}_content" not in pairs.columns]:
        raise ValueError(f"pairs lack column {missing[0]!r}; give both texts of each pair")
    left, right = np.arange(len(pairs)), np.arange(len(pairs)) + len(pairs)
    later = _later(pairs)
    older, newer = np.where(later < 0, right, left), np.where(later < 0, left, right)
    texts = pl.concat([pairs[f"{side}_content"] for side in _SIDES])
    speakers = _both(pairs, "speaker", pl.String)
    reading = read(texts, instants=_both(pairs, "at", INSTANT))
    found = judge(reading, older, newer, speakers=speakers, ordered=later != 0)
    same = _same(reading, texts, older, newer) & (found["relation"] == "unrelated").to_numpy()
    duplicate = pl.DataFrame([_DUPLICATE], schema=_ADDED, orient="row")
    chosen = [
        pl.when(pl.lit(pl.Series(same))).then(pl.lit(duplicate[name][0])).otherwise(pl.col(name)).cast(kind).alias(name)
        for name, kind in _ADDED.items()
    ]
    return pairs.hstack(found.with_columns(chosen))


def _same(reading: Reading, texts: pl.Series, older: Rows, newer: Rows) -> NDArray[np.bool_]:
    """Pairs of texts that say the same in other words: they share most words, and differ in no fact."""
    announcing = reading.clauses.group_by("row").agg(
        (pl.col("changing") | pl.col("over") | (pl.col("ended").list.len() > 0)).any().alias("announcing")
    )
    told = np.zeros(len(texts), dtype=np.bool_)
    told[announcing["row"].to_numpy()] = announcing["announcing"].to_numpy()
    return (_near(texts, older, newer) >= _ALIKE) & (told[older] == told[newer])


def _near(texts: pl.Series, older: Rows, newer: Rows) -> NDArray[np.float64]:
    """Share of the weight of both texts' words that they share, 0 where they differ in a fact."""
    meant = readings(texts)
    places = (
        pl.DataFrame({"content": texts.fill_null("")})
        .join(
            meant.with_columns(pl.col("content").fill_null("")).select("content", "meant").with_row_index("text"),
            on="content",
            how="left",
            maintain_order="left",
        )["text"]
        .to_numpy()
    )
    known = {
        word: max(rarity, _GENERIC)
        for word, rarity in vocabulary(meant["meant"].explode().drop_nulls().str.replace(r"\+ed$", ""))
        .select("word", "rarity")
        .iter_rows()
    }
    meanings = [frozenset(words.root(word) for word in one) - _UNTOLD for one in meant["meant"].to_list()]
    weight = {words.root(word): rarity for word, rarity in known.items()}
    result = np.zeros(len(older))
    for at, (i, j) in enumerate(zip(places[older].tolist(), places[newer].tolist(), strict=True)):
        one, other = meanings[i], meanings[j]
        whole = sum(weight.get(word, 100) for word in one | other)
        result[at] = sum(weight.get(word, 100) for word in one & other) / whole if whole else float(i == j)
    low = np.flatnonzero(result >= _ALIKE)
    result[low[_differing(texts, older[low], newer[low])]] = 0.0
    return result


def _differing(texts: pl.Series, older: Rows, newer: Rows) -> NDArray[np.bool_]:
    """Pairs of texts that differ in a number, a date, a name or a denial."""
    known = facts(pl.DataFrame({"content": texts})).with_columns(valid_from=_NEVER, valid_until=_NEVER)
    sides = [
        known[places].select(pl.all().name.prefix(f"{side}_"))
        for side, places in zip(_SIDES, (older, newer), strict=True)
    ]
    reason = disagreements(pl.concat(sides, how="horizontal"))["reason"]
    return (reason.is_not_null() & (reason != "words")).fill_null(value=False).to_numpy()


def read(texts: pl.Series, *, instants: pl.Series | None = None, groups: Rows | None = None) -> Reading:
    """Read texts to be compared.

    Args:
        texts: strings; null counts as empty.
        instants: when each was said; "yesterday" is then the day before.
        groups: which texts belong together (0, 1, ...): what many texts of a group say weighs little.
    """
    clauses = statements.clauses(texts)
    row = clauses["row"].to_numpy().astype(np.int64)
    if instants is not None and len(clauses):
        said = instants.gather(clauses["row"])
        settled = settled_dates(clauses["dates"], said)
        clauses = clauses.with_columns(
            dates=pl.select(
                pl.when(pl.lit(said.is_null())).then(pl.lit(clauses["dates"])).otherwise(pl.lit(settled))
            ).to_series()
        )
    group = np.zeros(len(clauses), dtype=np.int64) if groups is None else groups[row]
    named = (
        pl.col("attributes").list.concat("sides").list.eval("@" + pl.element().replace(_GROUP_OF_SIDE)).list.unique()
    )
    about = (
        clauses.select(
            "row",
            root=pl.col("topic").list.concat(named),
            clause=pl.int_range(pl.len(), dtype=pl.Int64),
            group=pl.Series(group),
        )
        .explode("root")
        .drop_nulls("root")
    )
    weighed = _weights(about, None if groups is None else np.bincount(groups))
    terms = about.join(weighed, on=["group", "root"], how="left", maintain_order="left").select(
        "clause", "root", "weight"
    )
    weights: list[dict[str, int]] = [{} for _ in range(int(group.max(initial=0)) + 1)]
    for number, root, weight in weighed.iter_rows():
        weights[number][root] = weight
    said_at = [None] * len(texts) if instants is None else instants.to_list()
    return Reading(clauses, terms, group, said_at, weights)


def judge(
    reading: Reading, older: Rows, newer: Rows, *, speakers: pl.Series, ordered: NDArray[np.bool_]
) -> pl.DataFrame:
    """Relation of each pair of texts that were read.

    Args:
        reading: the texts.
        older: places of the older texts.
        newer: places of the newer ones, as many.
        speakers: who said each text; null is one speaker of his own.
        ordered: of each pair, whether the newer really is newer; else both are of one time.

    Returns:
        One row a pair: relation, rule, subject, attribute, value, other_value, confidence.
    """
    best = _best(reading, older, newer, speakers=speakers, ordered=ordered)
    rows = [
        (one.relation, one.rule, None, one.attribute, one.value, one.other_value, one.confidence) if one else _UNRELATED
        for one in best
    ]
    return pl.DataFrame(rows, schema=_ADDED, orient="row")


def _best(
    reading: Reading, older: Rows, newer: Rows, *, speakers: pl.Series, ordered: NDArray[np.bool_]
) -> list[Finding | None]:
    """The surest finding of each pair."""
    codes = speakers.rank("dense").fill_null(0).to_numpy().astype(np.int64)
    one_speaker = codes[older] == codes[newer]
    pair, left, right = _combined(reading, older, newer)
    used, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    values = statements.statements(reading.clauses[used])
    group = reading.group[left]
    times = [(reading.said_at[i], reading.said_at[j]) for i, j in zip(older.tolist(), newer.tolist(), strict=True)]
    best: list[Finding | None] = [None] * len(older)
    for at, i, j, number in zip(
        pair.tolist(), places[: len(left)].tolist(), places[len(left) :].tolist(), group.tolist(), strict=True
    ):
        old, new = values[i], values[j]
        if not one_speaker[at] and (old.persons | new.persons) & {"i", "we", "you"}:
            continue
        for found in findings(Case(old, new, reading.weights[number], times[at])):
            at_once = found.relation == "update" and not ordered[at] and not new.changing
            settled = replace(found, relation="conflict") if at_once else found
            present = best[at]
            if present is None or settled.confidence > present.confidence:
                best[at] = settled
    return best


def _later(pairs: pl.DataFrame) -> Rows:
    """1 where the right text is the newer, -1 where the left one is, 0 where they are of one time."""
    if "left_at" not in pairs.columns:
        return np.ones(len(pairs), dtype=np.int64)
    left, right = (pairs[f"{side}_at"].cast(INSTANT).dt.epoch("us") for side in _SIDES)
    return np.sign((right - left).fill_null(1).to_numpy()).astype(np.int64)


def _both(pairs: pl.DataFrame, name: str, kind: pl.DataType | type[pl.DataType]) -> pl.Series:
    """A column of the left texts, then of the right ones; null where it is not given."""
    none = pl.Series([None] * len(pairs), dtype=kind)
    return pl.concat(
        [pairs[f"{side}_{name}"].cast(kind) if f"{side}_{name}" in pairs.columns else none for side in _SIDES]
    )


def _weights(about: pl.DataFrame, sizes: Rows | None) -> pl.DataFrame:
    """What it says that two statements of a group share a root: hundredths, few for what many of its texts say."""
    static = vocabulary(about["root"]).select(
        root="word",
        weight=pl.when(pl.col("word").is_in(sorted(words.GENERIC)))
        .then(_GENERIC)
        .when(pl.col("word").str.starts_with("@"))
        .then(_SOME)
        .otherwise(pl.max_horizontal("rarity", _GENERIC)),
    )
    found = about.group_by("group", "root").agg(texts=pl.col("row").n_unique()).join(static, on="root", how="left")
    if sizes is not None:
        many = pl.Series(sizes[found["group"].to_numpy()]).cast(pl.Float64)
        share = (found["texts"] * (1.0 / many)).to_numpy()
        telling = np.clip(np.log(np.maximum(share, 1e-9)) / np.log(_COMMON), 0.0, 1.0)
        telling[many.to_numpy() < _FEW] = 1.0
        found = found.with_columns(
            weight=pl.Series(np.maximum(found["weight"].to_numpy() * telling, _GENERIC)).cast(pl.Int64)
        )
    return found.select("group", "root", pl.col("weight").cast(pl.Int64)).sort("group", "root")


def _combined(reading: Reading, older: Rows, newer: Rows) -> tuple[Rows, Rows, Rows]:
    """Pairs of clauses of each pair of texts that share enough: place of the pair, old clause, new clause."""
    row = reading.clauses["row"].to_numpy().astype(np.int64)
    top = int(max(older.max(initial=0), newer.max(initial=0))) + 2
    start = np.searchsorted(row, np.arange(top))
    many = np.diff(start, append=len(row))
    product = many[older] * many[newer]
    pair = np.repeat(np.arange(len(older)), product)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(product) - product, product)
    left = start[older[pair]] + within // many[newer[pair]]
    right = start[newer[pair]] + within % many[newer[pair]]
    comparable = _comparable(reading.clauses, left, right)
    pair, left, right = pair[comparable], left[comparable], right[comparable]
    enough = _shared(reading, left, right) >= LEAST_SHARED
    return pair[enough], left[enough], right[enough]


def _comparable(clauses: pl.DataFrame, left: Rows, right: Rows) -> NDArray[np.bool_]:
    """Pairs of clauses on which some rule could fire."""
    valued = sorted(words.ONE_VALUED | words.FIXED)
    told = clauses.select(
        denied=pl.col("denial") != "",
        ending=(pl.col("ended").list.len() > 0) | pl.col("over"),
        supposed="supposed",
        counted=pl.col("numbers").list.len() > 0,
        ranked=pl.col("labels").list.len() > 0,
        dated=pl.col("dates").list.len() > 0,
        valued=pl.col("topic").list.eval(pl.element().is_in(valued)).list.any(),
        framed="attributes",
        gives="gives",
        sided=pl.col("sides").list.len() > 0,
    )
    has = {name: told[name].to_numpy() for name in told.columns if name != "framed"}
    for name in sorted(set(told["framed"].explode().drop_nulls())):
        has[f"@{name}"] = told["framed"].list.contains(name).to_numpy()
    giving = has.pop("gives")
    any_rule = (giving[left] & giving[right]) | (has["denied"][left] != has["denied"][right]) | has["ending"][right]
    for name in ("counted", "dated", "valued", "sided", "ranked", *(name for name in has if name.startswith("@"))):
        any_rule |= has[name][left] & has[name][right]
    return any_rule & ~has["supposed"][left] & ~has["supposed"][right]


def _shared(reading: Reading, left: Rows, right: Rows) -> NDArray[np.float64]:
    """Weight of the terms that each pair of clauses shares."""
    terms = reading.terms
    columns = (terms["root"].rank("dense") - 1).to_numpy().astype(np.int64)
    rows = terms["clause"].to_numpy()
    shape = (len(reading.clauses), int(columns.max(initial=0)) + 1)
    has = sparse.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=shape)
    weighed = sparse.csr_matrix((terms["weight"].to_numpy().astype(np.float64), (rows, columns)), shape=shape)
    result = np.zeros(len(left))
    for low in range(0, len(left), _AT_ONCE):
        part = slice(low, low + _AT_ONCE)
        result[part] = np.asarray(has[left[part]].multiply(weighed[right[part]]).sum(axis=1)).ravel()
    return result


def _list(found: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(found))


_OVER: Final = words.roots(
    "break split pass away died fell through happen end cancel cancelled called off closed sold discontinued scrapped shut abandoned removed deprecated postponed"
)
_DOING: Final = words.roots("actually really ever before")
