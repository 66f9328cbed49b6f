"""Rules: what tells two statements apart, an older and a newer one, and how sure that is.

Each rule looks for one kind of evidence: the newer gives another number, date or value, or stands on the other side of
what excludes each other. What is not here: what is over or denied (`denial_rules`), how statements are read
(`statements`) and which of a text's statements decides (`changes`).
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Final

from memory_pipeline.text.compare import denial_rules, slots
from memory_pipeline.text.compare.cases import LEAST_SHARED, SOME, Case, Finding, Roots, strong
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.parse.attributes import Claim
from memory_pipeline.text.parse.content_words import alike
from memory_pipeline.text.parse.dates import WEEKDAYS, span
from memory_pipeline.text.parse.quantities import UNITS, Amount
from memory_pipeline.text.parse.statements import Statement

_THIRD: Final = frozenset({"he", "she", "they"})
_FIRST: Final = frozenset({"i", "we"})
_COUNTING: Final = frozenset({"count", "percent", "money", "version"})
_ENUMERATED: Final = 2
"""More numbers of one kind than these are a list, whose values cannot be told apart."""
_SHORT: Final = 10
"""Words of two statements together up to which any word that only one has can make another thing of it."""
_TERSE: Final = 4
"""Likewise, up to which persons and things counted are all there is to share."""
_RESCHEDULED: Final = frozenset({"changed_date", "changed_time"})
_SHARING: Final = frozenset({"prefer", "role", "school", "plan", "name"})
"""Attributes whose values can differ in part: window seats, aisle seats."""
_MOST: Final = 0.75
_HALF: Final = 0.5
_ENDED_NAMED: Final = 0.4
_DENIED: Final = 0.7
"""Share of a denial's topic that the other must state."""
_DENIED_WORDS: Final = 0.6
_VALUE_WORDS: Final = 3
_OPENING: Final = 6
"""Words with which a speaker says of himself what he is."""
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_YEAR: Final = re.compile("[0-9]{4}")
_ROOTS_OF_SIDES: Final = tuple(words.roots(" ".join(sorted(frozenset().union(*sides)))) for sides in words.EXCLUSIVE)

_GROUPS: Final = {
    word: frozenset(number for number, sides in enumerate(words.EXCLUSIVE) if any(word in side for side in sides))
    for word in frozenset().union(*(side for sides in words.EXCLUSIVE for side in sides))
}


def findings(case: Case) -> Iterator[Finding]:
    """Everything that tells the newer statement from the older one."""
    old, new = case.old, case.new
    if old.supposed or new.supposed or not same_people(old, new):
        return
    yield from denial_rules.ended(case)
    denied = bool(old.denial) != bool(new.denial)
    found = list(_denied(case) if denied else _values(case))
    if not found or words.apart(old.low, new.low):
        return
    parallel = not denied and slots.parallel(old, new)
    yield from (one for one in found if not parallel or (new.moved and one.rule in _RESCHEDULED))


def _denied(case: Case) -> Iterator[Finding]:
    """One denies what the other states."""
    if same_thing(case.old, case.new):
        yield from denial_rules.denied(case)


def _values(case: Case) -> Iterator[Finding]:
    """The newer gives another value."""
    old, new = case.old, case.new
    yield from slots.restated(case)
    if new.declared or same_kinds(old, new):
        yield from _claimed(case)
        yield from slots.settled(case)
    if same_thing(old, new):
        yield from _amounts(case)
        yield from _versions(case)
        yield from _dates(case)
        yield from _sides(case)
        yield from _ranks(case)


def same_people(old: Statement, new: Statement) -> bool:
    """The statements do not begin with different relatives, or with somebody else and the speaker."""
    if any(
        cues.BY_ONESELF.match(one.low) and cues.BY_ANOTHER.match(other.low) for one, other in ((old, new), (new, old))
    ):
        return False
    if old.people == new.people or old.people & new.people:
        return True
    if old.people and new.people:
        return False
    other = new if old.people else old
    return not other.persons & _FIRST or bool((old.people | new.people) & other.topic)


def same_thing(old: Statement, new: Statement) -> bool:
    """The statements do not begin with different names, or tell of two things of one kind."""
    for one, other in ((old, new), (new, old)):
        strange = bool(one.lead) and not any(name in other.low for name in one.lead)
        if strange and (other.lead or _FIRST.intersection(other.said[:1])):
            return False
    return same_kinds(old, new)


def same_kinds(old: Statement, new: Statement) -> bool:
    """The statements do not tell of two things of one kind (sprint 1 and 2)."""
    kinds = {noun: label for noun, label in old.labels if noun not in words.RANKED}
    return all(kinds.get(noun, label) == label for noun, label in new.labels)


def _apart(case: Case, without: Roots = frozenset()) -> bool:
    """Each statement is about something that the other does not mention."""
    counted = frozenset(one.head for side in (case.old, case.new) for one in side.amounts)
    left, right = (side.topic - case.shared - words.GENERIC - counted - without for side in (case.old, case.new))
    if not left or not right:
        return False
    short = len(case.old.topic) + len(case.new.topic) <= _SHORT
    return short or case.context() < min(case.weight(left), case.weight(right))


def _claimed(case: Case) -> Iterator[Finding]:
    """Both give a value to one attribute of one subject."""
    old, new = case.old, case.new
    happened = any(side.past and not side.changing for side in (old, new))
    for one in old.claims:
        for other in new.claims:
            if one.attribute != other.attribute or not _of_one_subject(one, other, case) or not _differ(one, other):
                continue
            values = one.shown, other.shown
            if one.attribute == "birthplace":
                yield Finding("conflict", "changed_value", one.attribute, *values, 0.85)
            elif not happened and _one_valued(one, other, case):
                sure = 0.8 if new.changing or _both_named(one, other, case) else 0.7
                fixed = bool(words.FIXED & one.subject) and not new.changing
                if one.attribute == "is":
                    yield case.found("changed_value", one.subject, values, sure, update=not fixed)
                else:
                    relation = "conflict" if words.FIXED & case.shared and not new.changing else "update"
                    yield Finding(relation, "changed_value", one.attribute, *values, sure)


def _of_one_subject(one: Claim, other: Claim, case: Case) -> bool:
    left, right = one.subject, other.subject
    if left and right:
        return (left <= right or right <= left) and _no_other(one, other, case)
    of_somebody = (case.old.persons | case.new.persons) & _THIRD and not case.old.persons & case.new.persons & _FIRST
    return one.attribute != "is" and not left | right and not of_somebody


def _no_other(one: Claim, other: Claim, case: Case) -> bool:
    """What one subject has more than the other does not make it another one.

    A name does not; the noun itself does ("API docs" are no API), and what narrows it down ("from college") may, unless
    both give a name or a change is told.
    """
    if one.attribute == "is" or one.subject == other.subject:
        return True
    longer, says = (one, case.old) if one.subject > other.subject else (other, case.new)
    names = _names(says)
    more = (one.subject ^ other.subject) - names
    known = case.new.changing or bool(one.subject & other.subject & names)
    return not more or (longer.head not in more and known)


def _differ(one: Claim, other: Claim) -> bool:
    """Each claim has a word of value that the other lacks, in a setting that can be one."""
    if one.context and other.context and not one.context & other.context:
        return False
    alone = one.value - other.value, other.value - one.value
    if any(alike(*pair) for pair in product(*alone)):
        return False
    if all(alone) and all(word[0].isdigit() for word in alone[0] | alone[1]):
        return True
    return all(alone) and (one.attribute in _SHARING or not one.value & other.value)


def _one_valued(one: Claim, other: Claim, case: Case) -> bool:
    """The attribute has one value at a time, or the newer says that it is new."""
    if one.attribute in {"work", "study"}:
        named = _both_named(one, other, case)
        return named or (one.attribute == "study" and (case.new.changing or "major" in case.shared))
    if one.attribute == "prefer":
        return bool(cues.INSTEAD.search(case.new.low) or one.value & other.value)
    return one.attribute != "is" or _is_one(one, other, case)


def _is_one(one: Claim, other: Claim, case: Case) -> bool:
    """What one thing is has one value at a time, or the newer says that it is new."""
    subject = one.subject & other.subject
    if subject & words.ONE_VALUED and (subject != words.FAVOURITE) and one.owned and other.owned:
        return True
    if _names(case.old) & one.subject:
        return False
    brief = max(len(one.value), len(other.value)) <= _VALUE_WORDS
    said_new = bool(cues.NOWADAYS.search(case.new.low)) and strong(subject) and brief
    return (said_new and one.owned and other.owned) or bool(subject & words.FIXED)


def _both_named(one: Claim, other: Claim, case: Case) -> bool:
    return bool(_names(case.old) & one.value - other.value and _names(case.new) & other.value - one.value)


def _names(one: Statement) -> Roots:
    return frozenset().union(*(words.roots(name.replace("-", " ")) for name in one.names))


def _amounts(case: Case) -> Iterator[Finding]:
    """The newer gives another number of the same things."""
    old, new = case.old, case.new
    if not old.amounts or not new.amounts or (old.persons ^ new.persons) & _THIRD:
        return
    counted = any(one.risen and one.head not in UNITS for one in new.amounts)
    risen = counted and case.context() >= 2 * SOME
    if _apart(case) and not risen:
        return
    began = {(one.kind, one.head) for one in new.amounts if one.before} - {
        (one.kind, one.head)
        for one in new.amounts
        if one.before and one.value in {known.value for known in old.amounts}
    }
    stated = {one.value for one in old.amounts}, {one.value for one in new.amounts if not one.before}
    ones = [one for one in old.amounts if _tells(one, old) and one.value not in stated[1]]
    others = [one for one in new.amounts if _tells(one, new) and one.value not in stated[0]]
    for one in ones:
        for other in others:
            if (other.kind, other.head) in began or one.kind != other.kind or one.goal != other.goal:
                continue  # it began elsewhere: it is another count
            if sure := _same_things(one, other, case):
                about = frozenset({one.head or other.head}) - {""} or case.shared - words.GENERIC
                yield case.found("changed_number", about, (one.value, other.value), sure, update=True)


def _versions(case: Case) -> Iterator[Finding]:
    """The newer brings what the older tells the version of to another one, and tells nothing else."""
    ones = [one.value for one in case.old.amounts if one.kind == "version"]
    others = [one.value for one in case.new.amounts if one.risen and not one.head and _VERSION.fullmatch(one.value)]
    if len(ones) == len(others) == 1 and ones != others and strong(case.shared) and case.new.topic <= case.old.topic:
        yield case.found("changed_number", case.shared, (ones[0], others[0]), 0.75, update=True)


def _tells(one: Amount, stated: Statement) -> bool:
    """A number tells how much there is, and is not one of a list."""
    alike = [other for other in stated.amounts if one.kind == other.kind and other.head in {"", one.head}]
    return one.kind in _COUNTING and not one.before and not one.step and len(alike) <= _ENUMERATED


def _same_things(one: Amount, other: Amount, case: Case) -> float:
    """How sure it is that two numbers count the same; 0 if they do not seem to."""
    old, new = case.old, case.new
    announced = other.risen or new.changing
    named = bool(one.head or other.head)
    if named and not _same_head(one, other, case):
        return 0.0
    if one.kind == "version":
        prefix = one.value.startswith(other.value) or other.value.startswith(one.value)
        return 0.75 if named and announced and not prefix else 0.0
    if not _comparable(one, other, case, announced=announced) or not _enough(one, other, case):
        return 0.0
    counted = frozenset({one.head, other.head})
    weight, likeness = case.context(counted), case.likeness(counted)
    begun = any((amount.before, amount.value, amount.kind) == (True, one.value, one.kind) for amount in new.amounts)
    persons = old.persons & new.persons and not (old.past and new.past)
    levels = (
        (0.95, begun and weight >= SOME),
        (0.8, announced and weight >= (LEAST_SHARED if named else 2 * SOME)),
        (0.8, likeness >= _MOST and weight >= (LEAST_SHARED if named else SOME)),
        (0.75, named and likeness == 1.0 and persons and len(old.topic | new.topic) <= _TERSE),
        (0.7, likeness >= _HALF and weight >= 3 * SOME),
    )
    return next((sure for sure, holds in levels if holds), 0.0)


def _same_head(one: Amount, other: Amount, case: Case) -> bool:
    """Both count one kind of thing, as far as it is said which."""
    if not one.head or not other.head:
        terse = max(len(case.old.topic), len(case.new.topic)) <= _TERSE
        bare = other if one.head else one
        told = case.shared if bare.risen else bare.measured
        return (one.head or other.head) in told or (terse and bool(case.shared & words.ONE_VALUED))
    fits = one.modifiers <= case.new.topic | case.new.around and other.modifiers <= case.old.topic | case.old.around
    common = one.head not in words.GENERIC and case.weight(frozenset({one.head})) < LEAST_SHARED
    vague = one.head in words.GENERIC and not (other.risen or one.modifiers & other.modifiers)
    if one.head != other.head or not fits or vague:
        return False
    measured = one.head in UNITS or one.kind == "version"
    return bool(not common or (one.modifiers and other.modifiers) or (measured and strong(case.shared - {one.head})))


def _comparable(one: Amount, other: Amount, case: Case, *, announced: bool) -> bool:
    """Two numbers can be an older and a newer count of something."""
    old, new = case.old, case.new
    known = one.head or other.head or case.shared & words.ONE_VALUED
    if one.kind == "count" and not (known or other.risen):
        return False
    if one.kind == "money" and one.value.lstrip("-")[0] != other.value.lstrip("-")[0]:
        return False
    if announced or (old.past and new.past):
        return announced  # what happened twice counts nothing anew
    if one.goal or one.head in UNITS or (one.kind == "count" and not old.persons & new.persons):
        return False
    if max(len(old.topic), len(new.topic)) > _SHORT and not (old.dates and old.dates & new.when):
        return False
    return not (old.dates and new.dates) or bool(old.when & new.when)


def _enough(one: Amount, other: Amount, case: Case) -> bool:
    """The statements share enough besides what is counted."""
    counted = frozenset({one.head, other.head})
    near, context = case.shared - counted - words.GENERIC, case.context(counted)
    named = bool(one.head or other.head)
    if one.head in UNITS and (case.weight(near) < 2 * SOME or case.likeness(counted) < _HALF):
        return False
    measured = one.measured & other.measured - words.GENERIC
    if (one.head in UNITS or one.kind == "percent") and one.measured and other.measured and not measured:
        return False
    if one.head in UNITS and other.risen and near and case.likeness(counted) >= (_HALF if measured else _MOST):
        return True
    if one.head in UNITS or one.kind == "percent":
        return len(near) > 1 or context > 2 * SOME
    told = near or one.modifiers or other.modifiers
    terse = case.old.persons & case.new.persons and len(case.old.topic | case.new.topic) <= _TERSE
    return bool(told or (named and (terse or context >= (LEAST_SHARED if other.risen else 2 * SOME))))


def _dates(case: Case) -> Iterator[Finding]:
    """The newer gives another day or time of the same event."""
    old, new = case.old, case.new
    hours = tuple(frozenset(one.value for one in side.amounts if one.kind == "time") for side in (old, new))
    from_hour = any(one.before and one.kind == "time" for one in new.amounts)
    if old.dates and new.dates and not old.dates & new.dates and not from_hour:
        rule, ones, others = "changed_date", old.dates, new.dates
    elif all(hours) and not hours[0] & hours[1] and (old.dates == new.dates or not old.dates or not new.dates):
        rule, ones, others = "changed_time", hours[0], hours[1]
    else:
        return
    about = case.shared - words.GENERIC
    if not about or _apart(case, words.DAY_PARTS):
        return
    values = ", ".join(sorted(ones)), ", ".join(sorted(others))
    likeness, weight = case.likeness(words.DAY_PARTS), case.weight(about)
    happened = old.past and new.past
    years = happened and old.topic == new.topic and all(_YEAR.fullmatch(date) for date in ones | others)
    once = years and (words.ONLY_ONCE & about or (words.MEETING & about and words.PEOPLE & about))
    rescheduled = new.moved or new.correcting
    to_come = bool(words.EVENTS & about) and not happened
    if once or (words.FIXED & about and likeness >= _MOST and not rescheduled and not to_come):
        yield case.found(rule, about, values, 0.75, update=False)
    elif over_by_then(case) or ((old.past or new.past) and not rescheduled):
        return  # it happened, and the newer happened too
    elif new.correcting and not new.moved and likeness < _DENIED_WORDS:
        return  # "actually" alone moves nothing
    elif rescheduled and likeness >= (_ENDED_NAMED if weight >= 2 * SOME else _DENIED_WORDS):
        yield case.found(rule, about, values, 0.85, update=True)
    elif likeness >= _MOST and case.context() >= SOME and all(_is_dated(side) for side in (old, new)):
        yield case.found(rule, about, values, 0.75, update=True)


def _is_dated(one: Statement) -> bool:
    """Something, not a person, is at some time, or begins or ends then."""
    if not one.persons.intersection(one.said[:1]) and words.SCHEDULED.intersection(one.said):
        return True
    at = next((at for at, word in enumerate(one.said) if word in {"be", "is"}), 0)
    return at > 1 or (at == 1 and not one.persons.intersection(one.said[:1]))


def over_by_then(case: Case) -> bool:
    """Whatever the older dates was over when the newer was said; a bare day of the week may come again."""
    before, after = case.times
    if before is None or after is None or before >= after or not case.old.dates or case.old.dates & frozenset(WEEKDAYS):
        return False
    spans = [span(date.rpartition("/")[2], before.date()) for date in sorted(case.old.dates)]
    return all(one is not None and one[1] <= after.date() for one in spans)


def _sides(case: Case) -> Iterator[Finding]:
    """The two stand on different sides of what excludes each other."""
    old, new = case.old, case.new
    if not old.sides or not new.sides:
        return
    happened = old.past and new.past and not new.changing
    if old.names - new.names and new.names - old.names:
        return
    for number in sorted(_groups(old.sides) & _groups(new.sides)):
        sides = words.EXCLUSIVE[number]
        ones = [side & old.sides for side in sides if side & old.sides]
        others = [side & new.sides for side in sides if side & new.sides]
        if len(ones) != 1 or len(others) != 1 or any(side & old.sides and side & new.sides for side in sides):
            continue
        used = _ROOTS_OF_SIDES[number]
        personal = number < words.PERSONAL and all(_of_oneself(side) for side in (old, new))
        rest = (old.topic | new.topic) - used
        told = case.shared - used
        alike = case.likeness(used) >= _DENIED and (strong(told) or not rest)
        if bool(old.persons & _FIRST) != bool(new.persons & _FIRST):
            alike = told == rest  # what the speaker did, and what is so: of exactly one thing
        if personal or alike:
            always = all(cues.ALWAYS.search(side.low) for side in (old, new))
            update = not (happened or always or words.LASTING & ones[0])
            values = ", ".join(sorted(ones[0])), ", ".join(sorted(others[0]))
            yield case.found("opposite", case.shared - used, values, 0.75, update=update)


def _groups(said: frozenset[str]) -> frozenset[int]:
    """Which groups words belong to that exclude each other."""
    return frozenset().union(*(_GROUPS[word] for word in said if word in _GROUPS))


def _of_oneself(one: Statement) -> bool:
    """The speaker begins with what excludes something else: "I'm single"."""
    opening = (word.strip(".,!") for word in one.low.split()[:_OPENING])
    return bool(cues.BY_ONESELF.match(one.low)) and not one.sides.isdisjoint(opening)


def _ranks(case: Case) -> Iterator[Finding]:
    """The two are on different steps of a ladder: third grade, fourth grade."""
    old, new = case.old, case.new
    ranks = {noun: label for noun, label in old.labels if noun in words.RANKED}
    happened = old.past and new.past and not new.changing
    for noun, label in new.labels:
        if ranks.get(noun, label) != label and not happened and not _apart(case):
            yield case.found("changed_value", frozenset({noun}), (ranks[noun], label), 0.7, update=True)
