"""Change rules: find that a newer statement updates or contradicts an older one, with a confidence.

Each rule looks for one kind of evidence: another number, date or value, or an exclusive word of another side. Not here:
endings and negations (`denial_rules`), extraction of statements (`parse/statements`), and the choice among the findings
of two texts (`changes`).
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Final

from memory_pipeline.text.compare import denial_rules, slots
from memory_pipeline.text.compare.statement_pair import (
    HALF_WEIGHT,
    MIN_SHARED_WEIGHT,
    Finding,
    Roots,
    StatementPair,
    has_specific_root,
)
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.lang.en.lemmas import may_be_typo
from memory_pipeline.text.parse.attributes import Claim
from memory_pipeline.text.parse.dates import WEEKDAYS, span
from memory_pipeline.text.parse.quantities import UNITS, Amount
from memory_pipeline.text.parse.statements import Statement

_THIRD_PERSONS: Final = frozenset({"he", "she", "they"})
_SPEAKER: Final = frozenset({"i", "we"})
_QUANTITY_KINDS: Final = frozenset({"count", "percent", "money", "version"})
_MAX_OF_KIND: Final = 2
"""More numbers of one kind are a list, whose values cannot be attributed."""
_SHORT_TOPICS: Final = 10
"""Topic roots of two statements together up to which any unshared root may denote another thing."""
_TERSE_TOPICS: Final = 4
"""Likewise, up to which persons and counted things are all that can be shared."""
_RESCHEDULING_RULES: Final = frozenset({"changed_date", "changed_time"})
_PARTIAL_ATTRIBUTES: Final = frozenset({"prefer", "role", "school", "plan", "name"})
"""Attributes whose values may differ in part: window seats, aisle seats."""
_HIGH_OVERLAP: Final = 0.75
_MEDIUM_OVERLAP: Final = 0.5
_RESCHEDULED_OVERLAP: Final = 0.4
_OPPOSITE_OVERLAP: Final = 0.7
"""Overlap of the topics from which exclusive words are about one thing."""
_RESCHEDULED_LOW_WEIGHT_OVERLAP: Final = 0.6
_MAX_VALUE_WORDS: Final = 3
_OPENING_WORDS: Final = 6
"""Words at the start of a clause within which speakers describe themselves."""
_VERSION: Final = re.compile(r"[0-9]+(?:\.[0-9]+)+")
_YEAR: Final = re.compile("[0-9]{4}")
_GROUP_ROOTS: Final = tuple(words.roots(" ".join(sorted(frozenset().union(*sides)))) for sides in words.EXCLUSIVE)

_GROUPS_OF_WORD: Final = {
    word: frozenset(number for number, sides in enumerate(words.EXCLUSIVE) if any(word in side for side in sides))
    for word in frozenset().union(*(side for sides in words.EXCLUSIVE for side in sides))
}


def findings(pair: StatementPair) -> Iterator[Finding]:
    """Return all findings of the safe rules about a pair of statements."""
    old, new = pair.old, pair.new
    if old.hypothetical or new.hypothetical or not same_people(old, new):
        return
    yield from denial_rules.endings(pair)
    is_negated = bool(old.negation) != bool(new.negation)
    candidates = list(_negation_findings(pair) if is_negated else _value_findings(pair))
    if not candidates or words.names_counterparts(old.low, new.low):
        return
    are_parallel = not is_negated and slots.are_parallel(old, new)
    yield from (
        finding
        for finding in candidates
        if not are_parallel or (new.rescheduled and finding.rule in _RESCHEDULING_RULES)
    )


def _negation_findings(pair: StatementPair) -> Iterator[Finding]:
    """Return findings where one statement negates the other."""
    if same_subject(pair.old, pair.new):
        yield from denial_rules.contradictions(pair)


def _value_findings(pair: StatementPair) -> Iterator[Finding]:
    """Return findings where the newer statement gives another value."""
    old, new = pair.old, pair.new
    yield from slots.restatements(pair)
    if new.declared or same_labels(old, new):
        yield from _claim_changes(pair)
        yield from slots.creations(pair)
    if same_subject(old, new):
        yield from _amount_changes(pair)
        yield from _version_changes(pair)
        yield from _date_changes(pair)
        yield from _opposites(pair)
        yield from _rank_changes(pair)


def same_people(old: Statement, new: Statement) -> bool:
    """Return whether the statements may be about the same people, not two relatives or the speaker and another."""
    if any(
        cues.STARTS_WITH_SPEAKER.match(one.low) and cues.STARTS_WITH_THIRD_PERSON.match(other.low)
        for one, other in ((old, new), (new, old))
    ):
        return False
    if old.people == new.people or old.people & new.people:
        return True
    if old.people and new.people:
        return False
    other = new if old.people else old
    return not other.persons & _SPEAKER or bool((old.people | new.people) & other.topic)


def same_subject(old: Statement, new: Statement) -> bool:
    """Return whether the statements may be about one thing: no different names at the start, no different labels."""
    for one, other in ((old, new), (new, old)):
        unmentioned = bool(one.lead) and not any(name in other.low for name in one.lead)
        if unmentioned and (other.lead or _SPEAKER.intersection(other.roots[:1])):
            return False
    return same_labels(old, new)


def same_labels(old: Statement, new: Statement) -> bool:
    """Return whether the statements give no different labels to things of one kind (sprint 1 and 2)."""
    label_of = {noun: label for noun, label in old.labels if noun not in words.RANKED}
    return all(label_of.get(noun, label) == label for noun, label in new.labels)


def _about_different_things(pair: StatementPair, without: Roots = frozenset()) -> bool:
    """Return whether each statement is about something that the other does not mention."""
    counted_things = frozenset(one.head for side in (pair.old, pair.new) for one in side.amounts)
    left, right = (side.topic - pair.shared - words.GENERIC - counted_things - without for side in (pair.old, pair.new))
    if not left or not right:
        return False
    is_short = len(pair.old.topic) + len(pair.new.topic) <= _SHORT_TOPICS
    return is_short or pair.context_weight() < min(pair.weight(left), pair.weight(right))


def _claim_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that both assign a value to one attribute of one subject."""
    old, new = pair.old, pair.new
    is_past_event = any(side.past and not side.changing for side in (old, new))
    for old_claim in old.claims:
        for new_claim in new.claims:
            if (
                old_claim.attribute != new_claim.attribute
                or not _same_claim_subject(old_claim, new_claim, pair)
                or not _values_differ(old_claim, new_claim)
            ):
                continue
            values = old_claim.shown, new_claim.shown
            if old_claim.attribute == "birthplace":
                yield Finding("conflict", "changed_value", old_claim.attribute, *values, 0.85)
            elif not is_past_event and _is_single_valued(old_claim, new_claim, pair):
                confidence = 0.8 if new.changing or _both_values_named(old_claim, new_claim, pair) else 0.7
                is_immutable = bool(words.IMMUTABLE & old_claim.subject) and not new.changing
                if old_claim.attribute == "is":
                    yield pair.finding("changed_value", old_claim.subject, values, confidence, update=not is_immutable)
                else:
                    relation = "conflict" if words.IMMUTABLE & pair.shared and not new.changing else "update"
                    yield Finding(relation, "changed_value", old_claim.attribute, *values, confidence)


def _same_claim_subject(old_claim: Claim, new_claim: Claim, pair: StatementPair) -> bool:
    """Return whether two claims are about one subject."""
    left, right = old_claim.subject, new_claim.subject
    if left and right:
        return (left <= right or right <= left) and _no_other_subject(old_claim, new_claim, pair)
    about_third_person = (
        pair.old.persons | pair.new.persons
    ) & _THIRD_PERSONS and not pair.old.persons & pair.new.persons & _SPEAKER
    return old_claim.attribute != "is" and not left | right and not about_third_person


def _no_other_subject(old_claim: Claim, new_claim: Claim, pair: StatementPair) -> bool:
    """Return whether the extra words of one subject do not make it another subject.

    A name does not; the head noun does ("API docs" are not the API), and a modifier ("from college") may, unless both
    statements share a name or the newer announces a change.
    """
    if old_claim.attribute == "is" or old_claim.subject == new_claim.subject:
        return True
    longer, statement = (old_claim, pair.old) if old_claim.subject > new_claim.subject else (new_claim, pair.new)
    names = _names(statement)
    extra = (old_claim.subject ^ new_claim.subject) - names
    is_confirmed = pair.new.changing or bool(old_claim.subject & new_claim.subject & names)
    return not extra or (longer.head not in extra and is_confirmed)


def _values_differ(old_claim: Claim, new_claim: Claim) -> bool:
    """Return whether each claim has a value word that the other lacks, in compatible contexts."""
    if old_claim.context and new_claim.context and not old_claim.context & new_claim.context:
        return False
    unshared = old_claim.value - new_claim.value, new_claim.value - old_claim.value
    if any(may_be_typo(*candidates) for candidates in product(*unshared)):
        return False
    if all(unshared) and all(word[0].isdigit() for word in unshared[0] | unshared[1]):
        return True
    return all(unshared) and (old_claim.attribute in _PARTIAL_ATTRIBUTES or not old_claim.value & new_claim.value)


def _is_single_valued(old_claim: Claim, new_claim: Claim, pair: StatementPair) -> bool:
    """Return whether the attribute has one value at a time, or the newer statement says that its value is new."""
    if old_claim.attribute in {"work", "study"}:
        values_named = _both_values_named(old_claim, new_claim, pair)
        return values_named or (old_claim.attribute == "study" and (pair.new.changing or "major" in pair.shared))
    if old_claim.attribute == "prefer":
        return bool(cues.INSTEAD.search(pair.new.low) or old_claim.value & new_claim.value)
    return old_claim.attribute != "is" or _is_single_identity(old_claim, new_claim, pair)


def _is_single_identity(old_claim: Claim, new_claim: Claim, pair: StatementPair) -> bool:
    """Detect another value of what a subject is said to be."""
    subject = old_claim.subject & new_claim.subject
    if (
        subject & words.SINGLE_VALUED
        and (subject != words.FAVOURITE)
        and old_claim.is_definite
        and new_claim.is_definite
    ):
        return True
    if _names(pair.old) & old_claim.subject:
        return False
    is_brief = max(len(old_claim.value), len(new_claim.value)) <= _MAX_VALUE_WORDS
    is_new = bool(cues.NOWADAYS.search(pair.new.low)) and has_specific_root(subject) and is_brief
    return (is_new and old_claim.is_definite and new_claim.is_definite) or bool(subject & words.IMMUTABLE)


def _both_values_named(old_claim: Claim, new_claim: Claim, pair: StatementPair) -> bool:
    """Return whether the differing values are names in both statements."""
    return bool(
        _names(pair.old) & old_claim.value - new_claim.value and _names(pair.new) & new_claim.value - old_claim.value
    )


def _names(statement: Statement) -> Roots:
    """Return the roots of the names in a statement."""
    return frozenset().union(*(words.roots(name.replace("-", " ")) for name in statement.names))


def _amount_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer gives another number of the same things."""
    old, new = pair.old, pair.new
    if not old.amounts or not new.amounts or (old.persons ^ new.persons) & _THIRD_PERSONS:
        return
    has_new_count = any(amount.is_new and amount.head not in UNITS for amount in new.amounts)
    is_new_count = has_new_count and pair.context_weight() >= 2 * HALF_WEIGHT
    if _about_different_things(pair) and not is_new_count:
        return
    started = {(amount.kind, amount.head) for amount in new.amounts if amount.is_start} - {
        (amount.kind, amount.head)
        for amount in new.amounts
        if amount.is_start and amount.value in {stated.value for stated in old.amounts}
    }
    stated_values = (
        {amount.value for amount in old.amounts},
        {amount.value for amount in new.amounts if not amount.is_start},
    )
    old_amounts = [
        amount for amount in old.amounts if _is_attributable(amount, old) and amount.value not in stated_values[1]
    ]
    new_amounts = [
        amount for amount in new.amounts if _is_attributable(amount, new) and amount.value not in stated_values[0]
    ]
    for amount in old_amounts:
        for new_amount in new_amounts:
            if (
                (new_amount.kind, new_amount.head) in started
                or amount.kind != new_amount.kind
                or amount.is_goal != new_amount.is_goal
            ):
                continue  # the newer began at another value: another count
            if confidence := _count_confidence(amount, new_amount, pair):
                about = frozenset({amount.head or new_amount.head}) - {""} or pair.shared - words.GENERIC
                yield pair.finding("changed_number", about, (amount.value, new_amount.value), confidence, update=True)


def _version_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer gives another version of the thing versioned in the older, and nothing else."""
    old_versions = [amount.value for amount in pair.old.amounts if amount.kind == "version"]
    new_versions = [
        amount.value
        for amount in pair.new.amounts
        if amount.is_new and not amount.head and _VERSION.fullmatch(amount.value)
    ]
    if (
        len(old_versions) == len(new_versions) == 1
        and old_versions != new_versions
        and has_specific_root(pair.shared)
        and pair.new.topic <= pair.old.topic
    ):
        yield pair.finding("changed_number", pair.shared, (old_versions[0], new_versions[0]), 0.75, update=True)


def _is_attributable(amount: Amount, statement: Statement) -> bool:
    """Return whether a number is a quantity and not one of a list."""
    same_kind = [other for other in statement.amounts if amount.kind == other.kind and other.head in {"", amount.head}]
    return (
        amount.kind in _QUANTITY_KINDS
        and not amount.is_start
        and not amount.is_difference
        and len(same_kind) <= _MAX_OF_KIND
    )


def _count_confidence(old_amount: Amount, new_amount: Amount, pair: StatementPair) -> float:
    """Return the confidence that two numbers count the same things; 0 if they do not seem to."""
    old, new = pair.old, pair.new
    is_announced = new_amount.is_new or new.changing
    is_named = bool(old_amount.head or new_amount.head)
    if is_named and not _same_counted_thing(old_amount, new_amount, pair):
        return 0.0
    if old_amount.kind == "version":
        is_prefix = old_amount.value.startswith(new_amount.value) or new_amount.value.startswith(old_amount.value)
        return 0.75 if is_named and is_announced and not is_prefix else 0.0
    if not _comparable(old_amount, new_amount, pair, is_announced=is_announced) or not _shares_enough(
        old_amount, new_amount, pair
    ):
        return 0.0
    counted_things = frozenset({old_amount.head, new_amount.head})
    weight, overlap = pair.context_weight(counted_things), pair.overlap(counted_things)
    is_start_value = any(
        (amount.is_start, amount.value, amount.kind) == (True, old_amount.value, old_amount.kind)
        for amount in new.amounts
    )
    persons = old.persons & new.persons and not (old.past and new.past)
    levels = (
        (0.95, is_start_value and weight >= HALF_WEIGHT),
        (0.8, is_announced and weight >= (MIN_SHARED_WEIGHT if is_named else 2 * HALF_WEIGHT)),
        (0.8, overlap >= _HIGH_OVERLAP and weight >= (MIN_SHARED_WEIGHT if is_named else HALF_WEIGHT)),
        (0.75, is_named and overlap == 1.0 and persons and len(old.topic | new.topic) <= _TERSE_TOPICS),
        (0.7, overlap >= _MEDIUM_OVERLAP and weight >= 3 * HALF_WEIGHT),
    )
    return next((confidence for confidence, applies in levels if applies), 0.0)


def _same_counted_thing(old_amount: Amount, new_amount: Amount, pair: StatementPair) -> bool:
    """Return whether both numbers count the same kind of thing, as far as named."""
    if not old_amount.head or not new_amount.head:
        is_terse = max(len(pair.old.topic), len(pair.new.topic)) <= _TERSE_TOPICS
        unnamed = new_amount if old_amount.head else old_amount
        described = pair.shared if unnamed.is_new else unnamed.measured
        return (old_amount.head or new_amount.head) in described or (
            is_terse and bool(pair.shared & words.SINGLE_VALUED)
        )
    modifiers_fit = (
        old_amount.modifiers <= pair.new.topic | pair.new.context_topic
        and new_amount.modifiers <= pair.old.topic | pair.old.context_topic
    )
    is_common = old_amount.head not in words.GENERIC and pair.weight(frozenset({old_amount.head})) < MIN_SHARED_WEIGHT
    is_vague = old_amount.head in words.GENERIC and not (
        new_amount.is_new or old_amount.modifiers & new_amount.modifiers
    )
    if old_amount.head != new_amount.head or not modifiers_fit or is_vague:
        return False
    is_measured = old_amount.head in UNITS or old_amount.kind == "version"
    return bool(
        not is_common
        or (old_amount.modifiers and new_amount.modifiers)
        or (is_measured and has_specific_root(pair.shared - {old_amount.head}))
    )


def _comparable(old_amount: Amount, new_amount: Amount, pair: StatementPair, *, is_announced: bool) -> bool:
    """Return whether two numbers can be an older and a newer count of something."""
    old, new = pair.old, pair.new
    is_known = old_amount.head or new_amount.head or pair.shared & words.SINGLE_VALUED
    if old_amount.kind == "count" and not (is_known or new_amount.is_new):
        return False
    if old_amount.kind == "money" and old_amount.value.lstrip("-")[0] != new_amount.value.lstrip("-")[0]:
        return False
    if is_announced or (old.past and new.past):
        return is_announced  # two past events are two counts
    if old_amount.is_goal or old_amount.head in UNITS or (old_amount.kind == "count" and not old.persons & new.persons):
        return False
    if max(len(old.topic), len(new.topic)) > _SHORT_TOPICS and not (old.dates and old.dates & new.context_dates):
        return False
    return not (old.dates and new.dates) or bool(old.context_dates & new.context_dates)


def _shares_enough(old_amount: Amount, new_amount: Amount, pair: StatementPair) -> bool:
    """Return whether the statements share enough besides the thing counted."""
    counted_things = frozenset({old_amount.head, new_amount.head})
    shared_topic, context = pair.shared - counted_things - words.GENERIC, pair.context_weight(counted_things)
    is_named = bool(old_amount.head or new_amount.head)
    if old_amount.head in UNITS and (
        pair.weight(shared_topic) < 2 * HALF_WEIGHT or pair.overlap(counted_things) < _MEDIUM_OVERLAP
    ):
        return False
    shared_measures = old_amount.measured & new_amount.measured - words.GENERIC
    if (
        (old_amount.head in UNITS or old_amount.kind == "percent")
        and old_amount.measured
        and new_amount.measured
        and not shared_measures
    ):
        return False
    if (
        old_amount.head in UNITS
        and new_amount.is_new
        and shared_topic
        and pair.overlap(counted_things) >= (_MEDIUM_OVERLAP if shared_measures else _HIGH_OVERLAP)
    ):
        return True
    if old_amount.head in UNITS or old_amount.kind == "percent":
        return len(shared_topic) > 1 or context > 2 * HALF_WEIGHT
    is_described = shared_topic or old_amount.modifiers or new_amount.modifiers
    is_terse = pair.old.persons & pair.new.persons and len(pair.old.topic | pair.new.topic) <= _TERSE_TOPICS
    return bool(
        is_described
        or (is_named and (is_terse or context >= (MIN_SHARED_WEIGHT if new_amount.is_new else 2 * HALF_WEIGHT)))
    )


def _date_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer gives another date or time of the same event."""
    old, new = pair.old, pair.new
    hours = tuple(frozenset(amount.value for amount in side.amounts if amount.kind == "time") for side in (old, new))
    changes_hour = any(amount.is_start and amount.kind == "time" for amount in new.amounts)
    if old.dates and new.dates and not old.dates & new.dates and not changes_hour:
        rule, old_values, new_values = "changed_date", old.dates, new.dates
    elif all(hours) and not hours[0] & hours[1] and (old.dates == new.dates or not old.dates or not new.dates):
        rule, old_values, new_values = "changed_time", hours[0], hours[1]
    else:
        return
    about = pair.shared - words.GENERIC
    if not about or _about_different_things(pair, words.DAY_PARTS):
        return
    values = ", ".join(sorted(old_values)), ", ".join(sorted(new_values))
    overlap, weight = pair.overlap(words.DAY_PARTS), pair.weight(about)
    are_past = old.past and new.past
    are_years = are_past and old.topic == new.topic and all(_YEAR.fullmatch(date) for date in old_values | new_values)
    is_unique = are_years and (words.ONLY_ONCE & about or (words.MEETING & about and words.PEOPLE & about))
    is_rescheduled = new.rescheduled or new.correcting
    is_future_ceremony = bool(words.CEREMONIES & about) and not are_past
    if is_unique or (
        words.IMMUTABLE & about and overlap >= _HIGH_OVERLAP and not is_rescheduled and not is_future_ceremony
    ):
        yield pair.finding(rule, about, values, 0.75, update=False)
    elif was_over_by_then(pair) or ((old.past or new.past) and not is_rescheduled):
        return  # both are past events
    elif new.correcting and not new.rescheduled and overlap < _RESCHEDULED_LOW_WEIGHT_OVERLAP:
        return  # "actually" alone reschedules nothing
    elif is_rescheduled and overlap >= (
        _RESCHEDULED_OVERLAP if weight >= 2 * HALF_WEIGHT else _RESCHEDULED_LOW_WEIGHT_OVERLAP
    ):
        yield pair.finding(rule, about, values, 0.85, update=True)
    elif (
        overlap >= _HIGH_OVERLAP
        and pair.context_weight() >= HALF_WEIGHT
        and all(_is_scheduled(side) for side in (old, new))
    ):
        yield pair.finding(rule, about, values, 0.75, update=True)


def _is_scheduled(one: Statement) -> bool:
    """Return whether a thing, not a person, is at some time, or begins or ends then."""
    if not one.persons.intersection(one.roots[:1]) and words.SCHEDULED.intersection(one.roots):
        return True
    at = next((at for at, word in enumerate(one.roots) if word in {"be", "is"}), 0)
    return at > 1 or (at == 1 and not one.persons.intersection(one.roots[:1]))


def was_over_by_then(pair: StatementPair) -> bool:
    """Return whether all dates of the older had passed when the newer was said; a bare weekday may recur."""
    before, after = pair.times
    if before is None or after is None or before >= after or not pair.old.dates or pair.old.dates & frozenset(WEEKDAYS):
        return False
    spans = [span(date.rpartition("/")[2], before.date()) for date in sorted(pair.old.dates)]
    return all(period is not None and period[1] <= after.date() for period in spans)


def _opposites(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the statements hold different sides of a group of exclusive words."""
    old, new = pair.old, pair.new
    if not old.exclusive or not new.exclusive:
        return
    is_past_event = old.past and new.past and not new.changing
    if old.names - new.names and new.names - old.names:
        return
    for number in sorted(_group_numbers(old.exclusive) & _group_numbers(new.exclusive)):
        sides = words.EXCLUSIVE[number]
        old_sides = [side & old.exclusive for side in sides if side & old.exclusive]
        new_sides = [side & new.exclusive for side in sides if side & new.exclusive]
        if (
            len(old_sides) != 1
            or len(new_sides) != 1
            or any(side & old.exclusive and side & new.exclusive for side in sides)
        ):
            continue
        group_roots = _GROUP_ROOTS[number]
        is_personal = number < words.PERSONAL_GROUPS and all(_is_self_description(side) for side in (old, new))
        rest = (old.topic | new.topic) - group_roots
        shared_topic = pair.shared - group_roots
        is_similar = pair.overlap(group_roots) >= _OPPOSITE_OVERLAP and (has_specific_root(shared_topic) or not rest)
        if bool(old.persons & _SPEAKER) != bool(new.persons & _SPEAKER):
            is_similar = shared_topic == rest  # an act of the speaker against a fact: the topic must be the same
        if is_personal or is_similar:
            is_permanent = all(cues.ALWAYS.search(side.low) for side in (old, new))
            update = not (is_past_event or is_permanent or words.IMMUTABLE_STATES & old_sides[0])
            values = ", ".join(sorted(old_sides[0])), ", ".join(sorted(new_sides[0]))
            yield pair.finding("opposite", pair.shared - group_roots, values, 0.75, update=update)


def _group_numbers(exclusive_words: frozenset[str]) -> frozenset[int]:
    """Group of exclusive words that some words belong to."""
    return frozenset().union(*(_GROUPS_OF_WORD[word] for word in exclusive_words if word in _GROUPS_OF_WORD))


def _is_self_description(statement: Statement) -> bool:
    """Return whether the speaker begins with an exclusive word about themselves: "I'm single"."""
    opening = (word.strip(".,!") for word in statement.low.split()[:_OPENING_WORDS])
    return bool(cues.STARTS_WITH_SPEAKER.match(statement.low)) and not statement.exclusive.isdisjoint(opening)


def _rank_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the statements are on different steps of a scale: third grade, fourth grade."""
    old, new = pair.old, pair.new
    ranks = {noun: label for noun, label in old.labels if noun in words.RANKED}
    is_past_event = old.past and new.past and not new.changing
    for noun, label in new.labels:
        if ranks.get(noun, label) != label and not is_past_event and not _about_different_things(pair):
            yield pair.finding("changed_value", frozenset({noun}), (ranks[noun], label), 0.7, update=True)
