"""Likely changes: what two texts that somebody put side by side are to each other, where no rule is sure.

Two texts that are given as a pair are mostly about one thing; two of the thousands in a store mostly are not. What is
found here is therefore asked of given pairs alone, and its confidence lies below what closes a fact in a store. What is
not here: rules that hold anywhere (`fact_rules`, `denial_rules`).
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Final

from memory_pipeline.text.compare import slots
from memory_pipeline.text.compare.change_rules import same_people, same_subject, was_over_by_then
from memory_pipeline.text.compare.statement_pair import (
    MIN_SHARED_WEIGHT,
    RARE_WEIGHT,
    Finding,
    Roots,
    StatementPair,
    has_specific_root,
)
from memory_pipeline.text.lang.en import change_phrases, cues
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en.lemmas import FUNCTION_LEMMAS
from memory_pipeline.text.lang.en.lexicon import STOP_WORDS
from memory_pipeline.text.parse.quantities import UNITS, Amount
from memory_pipeline.text.parse.statements import Statement

_SURE: Final = 0.6
_FIRST: Final = frozenset({"i", "we"})
_PART: Final = 0.33
"""Share of what the shorter statement says that the other must touch."""
_SOME_PART: Final = 0.2
"""Likewise of the statement and those beside it."""
_MUCH: Final = 3 * RARE_WEIGHT
_TOLD: Final = 2
"""Telling words before a place that make it the place of something."""
_MOSTLY: Final = 0.6
"""Share of what the older tells that the newer must tell of, too, if it only says how it is now."""
_FEW: Final = 2
"""More numbers are a list."""
_SHORT: Final = 8
"""Words of a clause that says nothing besides."""
_LONG: Final = 3
"""Digits from which a number that counts nothing is no hour or day."""
_BESIDE: Final = 3
"""Words beside a verb among which stands what is over."""
_PLACES: Final = frozenset({"in", "on", "with", "to"})
_IDLE: Final = FUNCTION_LEMMAS | words.GENERIC
_ONE_OF: Final = re.compile(r"^(?:[a-z'-]+ ){1,2}[a-z]+s (?:an?|one of|some|several|many|two|three|[0-9]+) ")
"""Somebody has one of a kind, of which others may have one, too."""
_OWNS: Final = re.compile(r"\b(?:is|are) (?:the|our|my|in charge)\b")
_THE: Final = re.compile(r"^[a-z'-]+ [a-z]+s (?:the|our|my) ")
_MINE: Final = re.compile(r"\b(?:my|our) ((?:[a-z]+ )?[a-z]+)")
_KIND: Final = re.compile(
    r"^(?:my|our|his|her|their|the) ([a-z ]{2,30}) is (?:now )?an? ([a-z]+(?: [a-z]+)?)(?: now)?[.!]?$"
)
_WONT: Final = re.compile(
    r"\b(?:won't|will not|(?:not|[a-z]n't) (?:be )?(?:going|able) to|(?:can't|cannot) (?:make|come|join|attend|go))\b"
)
_HELD: Final = re.compile(r"\b(?:was|were) (?:in|at)\b")
_SIZE: Final = re.compile(r"\b(?:tall|long|wide|high|deep)\b")
_POSSESSED: Final = re.compile(r"\b(?:my|our|his|her|their|the)\b")
_OWN: Final = re.compile(r"\b([a-z]+) (?:my|our|his|her|their) ([a-z-]+) (?!(?:in|on|at|every|for|after|before) )(.+)$")
_BEING: Final = re.compile(r"\bwants? to (?:be|become)\b")
_HAVING: Final = re.compile(
    r"\b(?:(?:don't|do not|never) (?:own|have|had|owned)|have never (?:had|owned)|have no) (?:an? |any )?([a-z]+)[.!]?$"
)
_ANAPHORIC: Final = re.compile(
    r"^(?:and |but |so |now |well |actually,? )*(?:it|it's|they|they're|he|she|he's|she's|this|which|there|that)\b"
)
_CALLED: Final = re.compile(r"^(?:hey|hi|hello|wow|yeah|yes|yep|aw+|thanks|oh|congrats|sorry|no|ok|okay),? ([a-z]+)\b")
_COMMENT: Final = re.compile(
    r"^(?:that's|that was|it was|so|thanks|thank you|wow|got it|yeah|great|sounds|this is|look)\b"
)
_ATTEMPT: Final = re.compile(r"\b(?:trying to|make sure|help with|stuck on|worried|wondering|curious)\b")
_NOW: Final = re.compile(r"\b(?:now|these days|nowadays|already|finally|at last|any (?:more|longer)|anymore)\b")
_NEW: Final = re.compile(r"\b(?:an?|my|our|his|her|their) (?:[a-z]+ )?(?:new|different|other) ((?:[a-z]+ ?){1,3})")
_CONTRAST: Final = re.compile(
    r",? (?:and |but )?(?:not|rather than|instead of) (?:an? |the |my |in |on |at )?([^,.;!?]+)"
)
_SETTING: Final = re.compile(r"\bon ((?:week|mon|tues|wednes|thurs|fri|satur|sun)[a-z]*s)\b|\bat (weekends)\b")
_SUBJECT: Final = re.compile(r"^(?:and |but |so |now |well |actually,? |oh,? )*(?:my|our|his|her|their|the) ([a-z]+)")
_PREPOSITION: Final = re.compile(r" (?:for|of|in|at|with|about|on|to|from|into|by|because|after|since|as)\b")


def findings(pair: StatementPair) -> Iterator[Finding]:
    """Everything that seems to tell the newer statement from the older one."""
    old, new = pair.old, pair.new
    if old.hypothetical or new.hypothetical or words.names_counterparts(old.low, new.low):
        return
    yield from _kinds(pair)
    told_by = frozenset() < new.people <= words.PROVIDERS and not old.people
    if not same_people(old, new) and not told_by:
        return
    if not old.negation:
        yield from _taken_over(pair)
        yield from _further(pair)
    if not same_subject(old, new) or _of_two(pair):
        return
    yield from _contrasted(pair)
    if not old.negation and not _ATTEMPT.search(old.low):
        yield from _called_off(pair)
    if bool(old.negation) != bool(new.negation) and new.negation not in {"", "no_longer"}:
        return
    yield from _once(pair)
    if _COMMENT.match(old.low) or _ATTEMPT.search(old.low) or was_over_by_then(pair):
        return
    happened = old.past and (not old.changing or slots.similarly_worded(old, new, other=True))
    if (cues.ADDING.search(new.low) and not new.retracting) or happened or old.negation:
        return
    for rule in _RULES:
        yield from rule(pair)


def _of_two(pair: StatementPair) -> bool:
    """The statements begin with two things, or place them oppositely."""
    old, new = pair.old, pair.new
    if not slots.similarly_worded(old, new):
        return False
    figures = [
        {one.value for one in side.amounts} | side.dates | {label for _, label in side.labels} for side in (old, new)
    ]
    named = bool(old.names - new.names and new.names - old.names) and figures[0].isdisjoint(figures[1]) and all(figures)
    return named or (not new.changing and slots.have_opposites(old, new)) or _begin_apart(old, new)


def _begin_apart(old: Statement, new: Statement) -> bool:
    """Both begin with a definite thing of which the other says nothing."""
    for one, other in ((old, new), (new, old)):
        match = _SUBJECT.match(one.low)
        if not match or match[1] in other.low or words.word_root(match[1]) in other.topic | other.context_topic:
            return False
    return True


def _taken_over(pair: StatementPair) -> Iterator[Finding]:
    """Somebody else does what one does at a time."""
    old, new = pair.old, pair.new
    if not (old.lead and new.lead) or old.lead & new.lead or old.past:
        return
    if change_phrases.SUCCEEDED.search(new.low) and _akin(pair, _near(pair)):
        yield pair.finding("replaced", _near(pair), pair.excerpts, _SURE, update=True)
    slot = slots.single_slot(old, new) if not new.past else None
    if slot is None or slot.before or pair.weight(pair.shared) < MIN_SHARED_WEIGHT:
        return
    definite = all(_THE.search(one.low) for one in (old, new)) and not words.MULTI_VALUED & {*slot.after}
    alone = words.SINGLE_HOLDER_VERBS & {*slot.after[:2]} and not all(_ONE_OF.search(one.low) for one in (old, new))
    if alone or definite or all(_OWNS.search(one.low) for one in (old, new)):
        yield pair.finding("changed_value", pair.shared, slots.as_written(slot, old, new), _SURE, update=True)


def _unsaid(pair: StatementPair) -> Iterator[Finding]:
    """The same words with another value of what has one at a time, and no word of a change."""
    old, new = pair.old, pair.new
    if old.past != new.past or old.desired != new.desired or old.persons != new.persons or old.labels != new.labels:
        return
    if (old.past or new.past) and not new.declared:
        return
    slot = slots.single_slot(old, new)
    if slot is None or not (slots.comparable(slot.old, slot.new) or _at_end(slot, new)) or _spelled_alike(slot):
        return
    equal = (*slot.before, *slot.after)
    about = frozenset(equal) & pair.shared - words.GENERIC
    habit = all(_SETTING.search(one.low) for one in (old, new))
    listed = slot.is_numeric and not (slot.is_single_number or _timed(slot, (old.low, new.low)))
    if (pair.weight(about) < MIN_SHARED_WEIGHT and not habit) or listed:
        return
    if (
        slot.is_numeric
        or (new.declared and not slots.about_two_subjects(slot, old, new))
        or _placed(slot, pair)
        or _at_end(slot, new)
    ):
        fixed = slot.is_numeric and not old.persons and bool(_SIZE.search(new.low))
        yield pair.finding("changed_value", about, slots.as_written(slot, old, new), _SURE, update=not fixed)


def _spelled_alike(slot: slots.Slot) -> bool:
    """Both sides are one thing in two spellings, or one unit."""
    one, other = sorted(("".join(slot.old), "".join(slot.new)), key=len)
    units = not UNITS.isdisjoint({*slot.old, *slot.new})
    return not slot.is_numeric and (units or other.startswith(one))


def _at_end(slot: slots.Slot, new: Statement) -> bool:
    """The newer ends in another way, and says that it is so now."""
    telling = frozenset(slot.before) - _IDLE - _FIRST
    several = words.MULTI_VALUED & telling and new.persons
    ends = not slot.after and len(telling) >= _TOLD and not several
    return ends and bool(_NOW.search(new.low)) and all(map(slots.names_something, (slot.old, slot.new)))


def _placed(slot: slots.Slot, pair: StatementPair) -> bool:
    """The slot is what one lives in, uses, drives, when something is, or where."""
    said = frozenset(slot.before)
    lows = pair.old.low, pair.new.low
    owned = all(map(_POSSESSED.search, lows))
    set_for = (owned or all(map(_SETTING.search, lows))) and _timed(slot, lows)
    if words.SINGLE_OBJECT_VERBS & said or all(map(_BEING.search, lows)) or set_for:
        return True
    many = words.MULTI_VALUED & said and not owned
    placed = _PLACES & {*slot.before[1:], *slot.old[:1]}
    telling = len(said - _IDLE - _FIRST), len(frozenset(slot.after) - _IDLE - _FIRST)
    return bool(placed) and not many and (telling[0] >= _TOLD or (telling[1] > 0 and owned))


def _timed(slot: slots.Slot, lows: tuple[str, str]) -> bool:
    """The slot is a day or an hour."""
    return slots.is_date_or_time(slot) and (not slot.is_numeric or all(":" in low for low in lows))


def _often(pair: StatementPair) -> Iterator[Finding]:
    """The same is done more or less often than before."""
    one, other = change_phrases.FREQUENCY.search(pair.old.low), change_phrases.FREQUENCY.search(pair.new.low)
    if not one or not other or one[0] == other[0] or pair.new.past:
        return
    counted = words.roots(f"{one[0]} {other[0]}")
    alone = (pair.old.topic ^ pair.new.topic) - counted - words.GENERIC
    if not has_specific_root(alone) and pair.weight(pair.shared - counted) >= MIN_SHARED_WEIGHT:
        yield pair.finding("changed_value", pair.shared, (one[0], other[0]), _SURE, update=True)


def _entitled(pair: StatementPair) -> Iterator[Finding]:
    """One thing, or one person's part, is said to be somebody or something else by name."""
    for one, other in product(pair.old.claims, pair.new.claims):
        titled = one.attribute == other.attribute == "is" and one.is_definite and other.is_definite
        if (
            titled
            and one.subject == other.subject
            and _of_names(one.value, pair.old)
            and _of_names(other.value, pair.new)
            and not one.value & other.value
        ):
            yield pair.finding("changed_value", one.subject, (one.shown, other.shown), _SURE, update=True)


def _of_names(value: Roots, stated: Statement) -> bool:
    return bool(value) and value <= words.roots(" ".join(stated.names))


def _sorted(pair: StatementPair) -> Iterator[Finding]:
    """One thing is said to be one of another sort."""
    one, other = _KIND.match(pair.old.low), _KIND.match(pair.new.low)
    if one and other and one[1] == other[1] and words.roots(one[2]).isdisjoint(words.roots(other[2])):
        yield pair.finding("changed_value", words.roots(one[1]), (one[2], other[2]), _SURE, update=True)


def _called_off(pair: StatementPair) -> Iterator[Finding]:
    """The newer says that what the older tells of will not be."""
    old, new = pair.old, pair.new
    if new.negation != "not" or old.past or not _WONT.search(new.low) or cues.CONCERN.search(new.low):
        return
    near = _near(pair)
    if _akin(pair, near) and (
        not new.negated or new.negated in near | words.GENERAL_VERBS or new.negated in words.GENERIC
    ):
        yield pair.finding("ended", near, pair.excerpts, _SURE, update=True)


def _nowadays(pair: StatementPair) -> Iterator[Finding]:
    """What the older tells of is told anew, as it is now."""
    old, new = pair.old, pair.new
    near = _near(pair)
    told = has_specific_root(new.topic - old.topic) or new.amounts != old.amounts
    if not told or not _NOW.search(new.low) or new.past or slots.similarly_worded(old, new, other=True):
        return
    if pair.weight(near) >= max(RARE_WEIGHT, _MOSTLY * pair.weight(old.topic - words.GENERIC)):
        yield pair.finding("changed_value", near, pair.excerpts, _SURE, update=True)


def _stages(pair: StatementPair) -> Iterator[Finding]:
    """The newer tells of the next stage of what the older says is under way."""
    near = _near(pair)
    for before, after, own in change_phrases.STAGES:
        if before.search(pair.old.low) and after.search(pair.new.low):
            oneself = own and pair.old.persons & pair.new.persons & _FIRST
            if pair.weight(near) >= MIN_SHARED_WEIGHT or oneself:
                yield pair.finding("ended", near, pair.excerpts, _SURE, update=True)


def _further(pair: StatementPair) -> Iterator[Finding]:
    """Somebody is at another part than before: chapter three, chapter five."""
    old, new = pair.old, pair.new
    known = dict(old.labels)
    for noun, label in new.labels:
        at = re.search(rf"\b(?:already|now|up to|reached)\b.{{0,20}}\b{re.escape(noun)}", new.low)
        if at and known.get(noun, label) != label and old.persons & new.persons & _FIRST:
            yield pair.finding("changed_value", frozenset({noun}), (known[noun], label), _SURE, update=True)


def _possessed(pair: StatementPair) -> Iterator[Finding]:
    """Somebody has something of his in another way than before: my coffee black, my notes on paper."""
    one, other = _OWN.search(pair.old.low), _OWN.search(pair.new.low)
    if one and other and one[2] == other[2] and words.word_root(one[1]) == words.word_root(other[1]):
        values = words.roots(one[3].strip(".! ")), words.roots(other[3].strip(".! "))
        same = {one.value.strip("$€£") for one in pair.old.amounts} & {
            one.value.strip("$€£") for one in pair.new.amounts
        }
        if (
            pair.new.past
            or same
            or not has_specific_root(values[0] - values[1])
            or not has_specific_root(values[1] - values[0])
        ):
            return
        yield pair.finding("changed_value", words.roots(one[2]), (one[3], other[3]), _SURE, update=True)


def _fields(pair: StatementPair) -> Iterator[Finding]:
    """Both tell of one side of somebody's life, in whatever words."""
    old, new = pair.old, pair.new
    if new.persons - old.persons - _FIRST or (new.lead and not new.lead & old.lead):
        return
    settings = [frozenset(_SETTING.findall(one.low)) for one in (old, new)]
    if all(settings) and settings[0] != settings[1]:
        return
    for name, (before, after) in change_phrases.LIFE_CIRCUMSTANCES.items():
        one, other = before.search(old.low), after.search(new.low)
        if one and other:
            values = one[one.lastgroup or 0].strip(), other[other.lastgroup or 0].strip()
            if words.roots(values[0]).isdisjoint(words.roots(values[1])):
                yield Finding("update", "changed_value", name, *values, _SURE)


def _near(pair: StatementPair) -> Roots:
    """Telling words of the newer that the older has; of one that only says "it", those beside it count, too."""
    old, new = pair.old, pair.new
    known = new.topic | new.context_topic if _ANAPHORIC.match(new.low) else new.topic
    called = words.roots(" ".join(match[1] for one in (old, new) if (match := _CALLED.match(one.low))))
    near = {words.NEAR_SYNONYMS.get(root, root) for root in known - called}
    return frozenset(root for root in old.topic if words.NEAR_SYNONYMS.get(root, root) in near) - words.GENERIC


def _akin(pair: StatementPair, near: Roots) -> bool:
    """They are a good part of what one of the statements says, and of what stands around it."""
    sides = pair.old, pair.new
    least = min(pair.weight(one.topic - words.GENERIC) for one in sides)
    whole = min(pair.weight((one.topic | one.context_topic) - words.GENERIC) for one in sides)
    return pair.weight(near) >= max(MIN_SHARED_WEIGHT, _PART * min(least, _MUCH), _SOME_PART * whole)


def _replaced(pair: StatementPair) -> Iterator[Finding]:
    """The newer says that something took the place of something."""
    old, new = pair.old, pair.new
    near = _near(pair)
    match = change_phrases.REPLACED.search(new.low)
    if not match or (not new.declared and slots.are_parallel(old, new)):
        return
    mine = words.roots(" ".join(_MINE.findall(old.low))) & words.roots(" ".join(_MINE.findall(new.low))) & near
    governed = has_specific_root(mine & _governed(new.low, match))
    if near and (governed or _akin(pair, near)):
        yield pair.finding("replaced", near, pair.excerpts, _SURE, update=True)
    elif words.SINGLE_OBJECT_VERBS & frozenset(old.roots) and old.persons & new.persons & _FIRST:
        match = change_phrases.SWITCHED.search(new.low) or change_phrases.ADOPTED.search(new.low)
        names = old.names - new.names, new.names - old.names
        named = all(names) and match and any(match["value"].startswith(name) for name in names[1])
        if match and (named or words.USING & frozenset(old.roots)):
            yield pair.finding("replaced", old.topic, pair.excerpts, _SURE, update=True)


def _renewed(pair: StatementPair) -> Iterator[Finding]:
    """The newer tells of a new or different one of what the older tells that it is one."""
    for match in _NEW.finditer(pair.new.low):
        near = words.roots(match[1]) & pair.old.topic - words.GENERIC
        owned = re.search(rf"\b(?:my|our|his|her|their|the) (?:[a-z]+ )?{re.escape(match[1].split()[0])}", pair.old.low)
        if near and owned and not _NEW.search(pair.old.low):
            yield pair.finding("replaced", near, pair.excerpts, _SURE, update=True)


def _contrasted(pair: StatementPair) -> Iterator[Finding]:
    """The newer names what the older says, and that it is something else: "Brittany, not Cornwall"."""
    for match in _CONTRAST.finditer(pair.new.low):
        gone = words.roots(match[1]) - words.GENERIC
        near = pair.shared - gone - words.GENERIC
        short = len(pair.new.low.split()) <= _SHORT
        if gone and gone <= pair.old.topic | pair.old.figures | pair.old.dates and (short or _akin(pair, near)):
            yield pair.finding("changed_value", near, pair.excerpts, _SURE, update=True)


def _over(pair: StatementPair) -> Iterator[Finding]:
    """The newer says that what the older tells of has come to its end."""
    old, new = pair.old, pair.new
    near = old.topic & new.topic - words.GENERIC
    low = change_phrases.ENDING_IDIOMS_COMPILED.sub(" ", new.low)
    dropped, done = (
        change_phrases.DROPPED.search(low),
        change_phrases.DONE.search(low) if change_phrases.ONGOING.search(old.low) else None,
    )
    if old.planned:
        done = None
    for match in (dropped, done):
        if match and _akin(pair, near) and near & _governed(low, match) - _doers(pair, low[: match.start()]):
            yield pair.finding("ended", near, pair.excerpts, _SURE, update=True)


def _doers(pair: StatementPair, before: str) -> Roots:
    """Roots of names before a verb, if it is told of something else: what Ana has sold ends nothing else about Ana."""
    named = frozenset().union(*(words.roots(name) for name in pair.new.names if name in before))
    return named if pair.new.topic - named - words.ENDING_WORDS - words.GENERIC else frozenset()


def _governed(low: str, match: re.Match[str]) -> Roots:
    """Roots of what stands right beside a verb."""
    behind = low[match.end() :].strip()
    behind = re.sub(r"^(?:out of|from|of|with|off|up|as|doing|the|my|our|a|an|being) ", "", behind)
    behind = _PREPOSITION.split(f" {behind}")[0]
    before = [word for word in re.findall(r"[a-z0-9'-]+", low[: match.start()]) if word not in STOP_WORDS]
    return words.roots(re.sub(r"[^a-z0-9 -]|'s", " ", behind)) | words.roots(" ".join(before[-_BESIDE:]))


def _numbers(pair: StatementPair) -> Iterator[Finding]:
    """The newer gives another number, and says that it is new."""
    old, new = pair.old, pair.new
    if not old.amounts or not new.amounts or max(len(old.amounts), len(new.amounts)) > _FEW:
        return
    if slots.are_parallel(old, new) or slots.similarly_worded(old, new, other=True) or _begin_apart(old, new):
        return
    about = _akin(pair, _near(pair))
    for one, other in product(old.amounts, new.amounts):
        grown = bool(one.head) and one.head == other.head and one.head not in UNITS and other.is_new
        said_new = (
            other.is_new or new.changing or new.announced or new.declared or change_phrases.REVISED.search(new.low)
        )
        if said_new and (about or grown) and one.value != other.value and _one_kind(one, other):
            yield pair.finding("changed_number", _near(pair), (one.value, other.value), _SURE, update=True)


def _one_kind(one: Amount, other: Amount) -> bool:
    """Both can count the same."""
    if one.kind != other.kind or one.is_start or other.is_start or one.is_goal != other.is_goal or other.is_difference:
        return False
    heads = {one.head, other.head} - {""}
    return len(heads) <= 1 and (one.kind != "count" or bool(heads) or min(map(len, (one.value, other.value))) >= _LONG)


def _dates(pair: StatementPair) -> Iterator[Finding]:
    """The newer gives another day or time, and says that it is new."""
    old, new = pair.old, pair.new
    revised = new.rescheduled or new.correcting or change_phrases.RESCHEDULED.search(new.low)
    if (
        not revised
        or not _akin(pair, _near(pair))
        or slots.similarly_worded(old, new, other=True)
        or _begin_apart(old, new)
    ):
        return
    hours = tuple(frozenset(one.value for one in side.amounts if one.kind == "time") for side in (old, new))
    values = ("changed_date", old.dates, new.dates), ("changed_time", hours[0], hours[1])
    for rule, ones, others in values:
        if ones and others and not ones & others:
            told = ", ".join(sorted(ones)), ", ".join(sorted(others))
            yield pair.finding(rule, _near(pair), told, _SURE, update=True)


def _once(pair: StatementPair) -> Iterator[Finding]:
    """What happens once, or comes first, is told to be another."""
    old, new = pair.old, pair.new
    said = frozenset(old.roots) & frozenset(new.roots)
    first = all("first" in one.low.split() and one.past for one in (old, new))
    at_once = bool(old.dates & new.dates) and all(_HELD.search(one.low) for one in (old, new))
    once = first or at_once or bool(words.ONE_TIME_VERBS & said)
    if not once or old.persons != new.persons or old.negation or new.negation:
        return
    slot = slots.single_slot(old, new) if old.past and new.past and not new.changing else None
    if slot and slot.before and (at_once or pair.weight(pair.shared) >= MIN_SHARED_WEIGHT):
        yield pair.finding("changed_value", pair.shared, slots.as_written(slot, old, new), _SURE, update=False)


def _kinds(pair: StatementPair) -> Iterator[Finding]:
    """One denies a kind of thing of which the other has one."""
    old, new = pair.old, pair.new
    if bool(old.negation) == bool(new.negation):
        return
    denying, stating = (new, old) if new.negation else (old, new)
    if denying.negation not in {"never", "not"} or not denying.persons & stating.persons & _FIRST:
        return
    if having := _HAVING.search(denying.low):
        own = words.word_root(having[1])
        if own in denying.topic and re.search(
            rf"\b(?:my|our) (?:[a-z]+ )?{re.escape(having[1].rstrip('s'))}", stating.low
        ):
            yield pair.finding("negation", frozenset({own}), pair.excerpts, _SURE, update=False)
    for kind, members in words.HYPONYMS.items():
        if kind in denying.topic and members & stating.topic and _only(denying, stating, kind):
            begun = denying is old and cues.BEGINNING.search(stating.low)
            yield pair.finding("negation", denying.topic, pair.excerpts, _SURE, update=bool(begun))


def _only(denying: Statement, stating: Statement, kind: str) -> bool:
    """Nothing else is denied, but what the other tells as well."""
    rest = (
        denying.topic
        - {kind, words.word_root("family")}
        - stating.topic
        - words.GENERIC
        - words.GENERAL_VERBS
        - words.POSSESSION_VERBS
    )
    return not has_specific_root(rest)


_RULES: Final = (
    _unsaid,
    _possessed,
    _often,
    _entitled,
    _sorted,
    _fields,
    _replaced,
    _renewed,
    _nowadays,
    _stages,
    _over,
    _numbers,
    _dates,
)
