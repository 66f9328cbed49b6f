"""Low-confidence change rules for pairs of texts known to be related.

Two texts given as a pair are mostly about one thing; two of the thousands in a store mostly are not. These rules
therefore apply to given pairs alone, and their confidence lies below the threshold at which a fact in a store is
closed. Not here: rules that are safe anywhere (`change_rules`, `denial_rules`).
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

_CONFIDENCE: Final = 0.6
_SPEAKER: Final = frozenset({"i", "we"})
_MIN_OVERLAP: Final = 0.33
"""Share of the shorter statement that the pair must share."""
_MIN_CONTEXT_OVERLAP: Final = 0.2
"""Share of the statement and its neighbours that the pair must share."""
_MAX_WEIGHT: Final = 3 * RARE_WEIGHT
_MIN_CONTENT_WORDS: Final = 2
"""Content words before a place that make it the place of something."""
_RESTATED_OVERLAP: Final = 0.6
"""Share of the older that the newer must restate if it only says how it is now."""
_MAX_NUMBERS: Final = 2
"""More numbers are a list."""
_SHORT_CLAUSE_WORDS: Final = 8
"""Words of a clause that says nothing else."""
_MIN_DIGITS: Final = 3
"""Digits from which a bare number is neither an hour nor a day."""
_GOVERNED_WORDS: Final = 3
"""Words next to a verb among which its object is."""
_PLACE_PREPOSITIONS: Final = frozenset({"in", "on", "with", "to"})
_UNINFORMATIVE: Final = FUNCTION_LEMMAS | words.GENERIC
_ONE_OF_A_KIND: Final = re.compile(r"^(?:[a-z'-]+ ){1,2}[a-z]+s (?:an?|one of|some|several|many|two|three|[0-9]+) ")
"""Somebody has one of a kind of which others may have one, too."""
_HOLDS_ROLE: Final = re.compile(r"\b(?:is|are) (?:the|our|my|in charge)\b")
_DEFINITE_OBJECT: Final = re.compile(r"^[a-z'-]+ [a-z]+s (?:the|our|my) ")
_OWN_THING: Final = re.compile(r"\b(?:my|our) ((?:[a-z]+ )?[a-z]+)")
_KIND: Final = re.compile(
    r"^(?:my|our|his|her|their|the) ([a-z ]{2,30}) is (?:now )?an? ([a-z]+(?: [a-z]+)?)(?: now)?[.!]?$"
)
_WILL_NOT: Final = re.compile(
    r"\b(?:won't|will not|(?:not|[a-z]n't) (?:be )?(?:going|able) to|(?:can't|cannot) (?:make|come|join|attend|go))\b"
)
_TOOK_PLACE: Final = re.compile(r"\b(?:was|were) (?:in|at)\b")
_SIZE: Final = re.compile(r"\b(?:tall|long|wide|high|deep)\b")
_DEFINITE: Final = re.compile(r"\b(?:my|our|his|her|their|the)\b")
_OWN_IN_STATE: Final = re.compile(
    r"\b([a-z]+) (?:my|our|his|her|their) ([a-z-]+) (?!(?:in|on|at|every|for|after|before) )(.+)$"
)
_WANTS_TO_BE: Final = re.compile(r"\bwants? to (?:be|become)\b")
_HAS_NONE: Final = re.compile(
    r"\b(?:(?:don't|do not|never) (?:own|have|had|owned)|have never (?:had|owned)|have no) (?:an? |any )?([a-z]+)[.!]?$"
)
_ANAPHORIC: Final = re.compile(
    r"^(?:and |but |so |now |well |actually,? )*(?:it|it's|they|they're|he|she|he's|she's|this|which|there|that)\b"
)
_ADDRESSED: Final = re.compile(
    r"^(?:hey|hi|hello|wow|yeah|yes|yep|aw+|thanks|oh|congrats|sorry|no|ok|okay),? ([a-z]+)\b"
)
_COMMENT: Final = re.compile(
    r"^(?:that's|that was|it was|so|thanks|thank you|wow|got it|yeah|great|sounds|this is|look)\b"
)
_ATTEMPT: Final = re.compile(r"\b(?:trying to|make sure|help with|stuck on|worried|wondering|curious)\b")
_NOW: Final = re.compile(r"\b(?:now|these days|nowadays|already|finally|at last|any (?:more|longer)|anymore)\b")
_NEW_THING: Final = re.compile(
    r"\b(?:an?|my|our|his|her|their) (?:[a-z]+ )?(?:new|different|other) ((?:[a-z]+ ?){1,3})"
)
_CONTRAST: Final = re.compile(
    r",? (?:and |but )?(?:not|rather than|instead of) (?:an? |the |my |in |on |at )?([^,.;!?]+)"
)
_SETTING: Final = re.compile(r"\bon ((?:week|mon|tues|wednes|thurs|fri|satur|sun)[a-z]*s)\b|\bat (weekends)\b")
_SUBJECT: Final = re.compile(r"^(?:and |but |so |now |well |actually,? |oh,? )*(?:my|our|his|her|their|the) ([a-z]+)")
_PREPOSITION: Final = re.compile(r" (?:for|of|in|at|with|about|on|to|from|into|by|because|after|since|as)\b")


def findings(pair: StatementPair) -> Iterator[Finding]:
    """Return all findings of the low-confidence rules about a pair of statements."""
    old, new = pair.old, pair.new
    if old.hypothetical or new.hypothetical or words.names_counterparts(old.low, new.low):
        return
    yield from _kind_negations(pair)
    about_provider = frozenset() < new.people <= words.PROVIDERS and not old.people
    if not same_people(old, new) and not about_provider:
        return
    if not old.negation:
        yield from _successions(pair)
        yield from _progress(pair)
    if not same_subject(old, new) or _about_two_things(pair):
        return
    yield from _contrasts(pair)
    if not old.negation and not _ATTEMPT.search(old.low):
        yield from _cancellations(pair)
    if bool(old.negation) != bool(new.negation) and new.negation not in {"", "no_longer"}:
        return
    yield from _one_time_conflicts(pair)
    if _COMMENT.match(old.low) or _ATTEMPT.search(old.low) or was_over_by_then(pair):
        return
    is_past_event = old.past and (not old.changing or slots.similarly_worded(old, new, other=True))
    if (cues.ADDING.search(new.low) and not new.retracting) or is_past_event or old.negation:
        return
    for rule in _RULES:
        yield from rule(pair)


def _about_two_things(pair: StatementPair) -> bool:
    """Return whether the statements have different subjects, or opposite positions."""
    old, new = pair.old, pair.new
    if not slots.similarly_worded(old, new):
        return False
    values = [
        {amount.value for amount in side.amounts} | side.dates | {label for _, label in side.labels}
        for side in (old, new)
    ]
    names_differ = (
        bool(old.names - new.names and new.names - old.names) and values[0].isdisjoint(values[1]) and all(values)
    )
    return names_differ or (not new.changing and slots.have_opposites(old, new)) or _subjects_differ(old, new)


def _subjects_differ(old: Statement, new: Statement) -> bool:
    """Return whether both begin with a definite thing that the other does not mention."""
    for one, other in ((old, new), (new, old)):
        match = _SUBJECT.match(one.low)
        if not match or match[1] in other.low or words.word_root(match[1]) in other.topic | other.context_topic:
            return False
    return True


def _successions(pair: StatementPair) -> Iterator[Finding]:
    """Detect that somebody else does what one person does at a time."""
    old, new = pair.old, pair.new
    if not (old.lead and new.lead) or old.lead & new.lead or old.past:
        return
    if change_phrases.SUCCEEDED.search(new.low) and _shares_enough(pair, _shared_roots(pair)):
        yield pair.finding("replaced", _shared_roots(pair), pair.excerpts, _CONFIDENCE, update=True)
    slot = slots.single_slot(old, new) if not new.past else None
    if slot is None or slot.before or pair.weight(pair.shared) < MIN_SHARED_WEIGHT:
        return
    both_definite = all(_DEFINITE_OBJECT.search(side.low) for side in (old, new)) and not words.MULTI_VALUED & {
        *slot.after
    }
    is_single_holder = words.SINGLE_HOLDER_VERBS & {*slot.after[:2]} and not all(
        _ONE_OF_A_KIND.search(side.low) for side in (old, new)
    )
    if is_single_holder or both_definite or all(_HOLDS_ROLE.search(side.low) for side in (old, new)):
        yield pair.finding("changed_value", pair.shared, slots.as_written(slot, old, new), _CONFIDENCE, update=True)


def _silent_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect the same words with another value of a single-valued attribute, without an announcement."""
    old, new = pair.old, pair.new
    if old.past != new.past or old.desired != new.desired or old.persons != new.persons or old.labels != new.labels:
        return
    if (old.past or new.past) and not new.declared:
        return
    slot = slots.single_slot(old, new)
    if (
        slot is None
        or not (slots.comparable(slot.old, slot.new) or _ends_differently(slot, new))
        or _same_in_other_spelling(slot)
    ):
        return
    shared = (*slot.before, *slot.after)
    attribute = frozenset(shared) & pair.shared - words.GENERIC
    is_habit = all(_SETTING.search(side.low) for side in (old, new))
    is_list = slot.is_numeric and not (slot.is_single_number or _is_day_or_hour(slot, (old.low, new.low)))
    if (pair.weight(attribute) < MIN_SHARED_WEIGHT and not is_habit) or is_list:
        return
    if (
        slot.is_numeric
        or (new.declared and not slots.about_two_subjects(slot, old, new))
        or _is_single_valued_slot(slot, pair)
        or _ends_differently(slot, new)
    ):
        is_immutable = slot.is_numeric and not old.persons and bool(_SIZE.search(new.low))
        yield pair.finding(
            "changed_value", attribute, slots.as_written(slot, old, new), _CONFIDENCE, update=not is_immutable
        )


def _same_in_other_spelling(slot: slots.Slot) -> bool:
    """Return whether both sides are one thing in two spellings, or units."""
    one, other = sorted(("".join(slot.old), "".join(slot.new)), key=len)
    units = not UNITS.isdisjoint({*slot.old, *slot.new})
    return not slot.is_numeric and (units or other.startswith(one))


def _ends_differently(slot: slots.Slot, new: Statement) -> bool:
    """Return whether the newer ends in another way and says that it is so now."""
    content = frozenset(slot.before) - _UNINFORMATIVE - _SPEAKER
    is_multi_valued = words.MULTI_VALUED & content and new.persons
    at_end = not slot.after and len(content) >= _MIN_CONTENT_WORDS and not is_multi_valued
    return at_end and bool(_NOW.search(new.low)) and all(map(slots.names_something, (slot.old, slot.new)))


def _is_single_valued_slot(slot: slots.Slot, pair: StatementPair) -> bool:
    """Return whether the slot is a home, a tool in use, a vehicle, a time or a place."""
    roots_before = frozenset(slot.before)
    lows = pair.old.low, pair.new.low
    is_owned = all(map(_DEFINITE.search, lows))
    is_scheduled = (is_owned or all(map(_SETTING.search, lows))) and _is_day_or_hour(slot, lows)
    if words.SINGLE_OBJECT_VERBS & roots_before or all(map(_WANTS_TO_BE.search, lows)) or is_scheduled:
        return True
    is_multi_valued = words.MULTI_VALUED & roots_before and not is_owned
    is_place = _PLACE_PREPOSITIONS & {*slot.before[1:], *slot.old[:1]}
    content_words = (
        len(roots_before - _UNINFORMATIVE - _SPEAKER),
        len(frozenset(slot.after) - _UNINFORMATIVE - _SPEAKER),
    )
    return (
        bool(is_place)
        and not is_multi_valued
        and (content_words[0] >= _MIN_CONTENT_WORDS or (content_words[1] > 0 and is_owned))
    )


def _is_day_or_hour(slot: slots.Slot, lows: tuple[str, str]) -> bool:
    """Return whether the slot is a day or an hour."""
    return slots.is_date_or_time(slot) and (not slot.is_numeric or all(":" in low for low in lows))


def _frequency_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the same is done more or less often than before."""
    old_match, new_match = change_phrases.FREQUENCY.search(pair.old.low), change_phrases.FREQUENCY.search(pair.new.low)
    if not old_match or not new_match or old_match[0] == new_match[0] or pair.new.past:
        return
    frequency_roots = words.roots(f"{old_match[0]} {new_match[0]}")
    unshared = (pair.old.topic ^ pair.new.topic) - frequency_roots - words.GENERIC
    if not has_specific_root(unshared) and pair.weight(pair.shared - frequency_roots) >= MIN_SHARED_WEIGHT:
        yield pair.finding("changed_value", pair.shared, (old_match[0], new_match[0]), _CONFIDENCE, update=True)


def _named_identity_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that one thing or role is given another name."""
    for old_claim, new_claim in product(pair.old.claims, pair.new.claims):
        are_identities = (
            old_claim.attribute == new_claim.attribute == "is" and old_claim.is_definite and new_claim.is_definite
        )
        if (
            are_identities
            and old_claim.subject == new_claim.subject
            and _is_name(old_claim.value, pair.old)
            and _is_name(new_claim.value, pair.new)
            and not old_claim.value & new_claim.value
        ):
            yield pair.finding(
                "changed_value", old_claim.subject, (old_claim.shown, new_claim.shown), _CONFIDENCE, update=True
            )


def _is_name(value: Roots, statement: Statement) -> bool:
    """Return whether a value consists of names in the statement."""
    return bool(value) and value <= words.roots(" ".join(statement.names))


def _kind_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that one thing is said to be of another kind."""
    old_match, new_match = _KIND.match(pair.old.low), _KIND.match(pair.new.low)
    if (
        old_match
        and new_match
        and old_match[1] == new_match[1]
        and words.roots(old_match[2]).isdisjoint(words.roots(new_match[2]))
    ):
        yield pair.finding(
            "changed_value", words.roots(old_match[1]), (old_match[2], new_match[2]), _CONFIDENCE, update=True
        )


def _cancellations(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer says that what the older announces will not happen."""
    old, new = pair.old, pair.new
    if new.negation != "not" or old.past or not _WILL_NOT.search(new.low) or cues.CONCERN.search(new.low):
        return
    shared = _shared_roots(pair)
    if _shares_enough(pair, shared) and (
        not new.negated or new.negated in shared | words.GENERAL_VERBS or new.negated in words.GENERIC
    ):
        yield pair.finding("ended", shared, pair.excerpts, _CONFIDENCE, update=True)


def _restated_as_now(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer restates the older, as it is now."""
    old, new = pair.old, pair.new
    shared = _shared_roots(pair)
    is_new = has_specific_root(new.topic - old.topic) or new.amounts != old.amounts
    if not is_new or not _NOW.search(new.low) or new.past or slots.similarly_worded(old, new, other=True):
        return
    if pair.weight(shared) >= max(RARE_WEIGHT, _RESTATED_OVERLAP * pair.weight(old.topic - words.GENERIC)):
        yield pair.finding("changed_value", shared, pair.excerpts, _CONFIDENCE, update=True)


def _next_stages(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer states the next stage of what is ongoing in the older."""
    shared = _shared_roots(pair)
    for before, after, of_speaker in change_phrases.STAGES:
        if before.search(pair.old.low) and after.search(pair.new.low):
            by_speaker = of_speaker and pair.old.persons & pair.new.persons & _SPEAKER
            if pair.weight(shared) >= MIN_SHARED_WEIGHT or by_speaker:
                yield pair.finding("ended", shared, pair.excerpts, _CONFIDENCE, update=True)


def _progress(pair: StatementPair) -> Iterator[Finding]:
    """Detect that somebody has reached another part than before: chapter three, chapter five."""
    old, new = pair.old, pair.new
    old_labels = dict(old.labels)
    for noun, label in new.labels:
        announced = re.search(rf"\b(?:already|now|up to|reached)\b.{{0,20}}\b{re.escape(noun)}", new.low)
        if announced and old_labels.get(noun, label) != label and old.persons & new.persons & _SPEAKER:
            yield pair.finding("changed_value", frozenset({noun}), (old_labels[noun], label), _CONFIDENCE, update=True)


def _state_changes_of_own_things(pair: StatementPair) -> Iterator[Finding]:
    """Detect that somebody has a thing in another state than before: my coffee black, my notes on paper."""
    old_match, new_match = _OWN_IN_STATE.search(pair.old.low), _OWN_IN_STATE.search(pair.new.low)
    if (
        old_match
        and new_match
        and old_match[2] == new_match[2]
        and words.word_root(old_match[1]) == words.word_root(new_match[1])
    ):
        values = words.roots(old_match[3].strip(".! ")), words.roots(new_match[3].strip(".! "))
        shared_amounts = {amount.value.strip("$€£") for amount in pair.old.amounts} & {
            amount.value.strip("$€£") for amount in pair.new.amounts
        }
        if (
            pair.new.past
            or shared_amounts
            or not has_specific_root(values[0] - values[1])
            or not has_specific_root(values[1] - values[0])
        ):
            return
        yield pair.finding(
            "changed_value", words.roots(old_match[2]), (old_match[3], new_match[3]), _CONFIDENCE, update=True
        )


def _life_circumstances(pair: StatementPair) -> Iterator[Finding]:
    """Detect that both are about one circumstance of somebody's life, in whatever words."""
    old, new = pair.old, pair.new
    if new.persons - old.persons - _SPEAKER or (new.lead and not new.lead & old.lead):
        return
    settings = [frozenset(_SETTING.findall(side.low)) for side in (old, new)]
    if all(settings) and settings[0] != settings[1]:
        return
    for name, (before, after) in change_phrases.LIFE_CIRCUMSTANCES.items():
        old_match, new_match = before.search(old.low), after.search(new.low)
        if old_match and new_match:
            values = old_match[old_match.lastgroup or 0].strip(), new_match[new_match.lastgroup or 0].strip()
            if words.roots(values[0]).isdisjoint(words.roots(values[1])):
                yield Finding("update", "changed_value", name, *values, _CONFIDENCE)


def _shared_roots(pair: StatementPair) -> Roots:
    """Return specific roots that both have, near synonyms merged.

    Of a newer statement that only says "it", its neighbours count, too.
    """
    old, new = pair.old, pair.new
    newer_roots = new.topic | new.context_topic if _ANAPHORIC.match(new.low) else new.topic
    addressed = words.roots(" ".join(match[1] for side in (old, new) if (match := _ADDRESSED.match(side.low))))
    canonical = {words.NEAR_SYNONYMS.get(root, root) for root in newer_roots - addressed}
    return frozenset(root for root in old.topic if words.NEAR_SYNONYMS.get(root, root) in canonical) - words.GENERIC


def _shares_enough(pair: StatementPair, shared: Roots) -> bool:
    """Return whether these roots are a good part of one of the statements, and of its context."""
    sides = pair.old, pair.new
    smaller_topic = min(pair.weight(side.topic - words.GENERIC) for side in sides)
    smaller_context = min(pair.weight((side.topic | side.context_topic) - words.GENERIC) for side in sides)
    return pair.weight(shared) >= max(
        MIN_SHARED_WEIGHT, _MIN_OVERLAP * min(smaller_topic, _MAX_WEIGHT), _MIN_CONTEXT_OVERLAP * smaller_context
    )


def _replacements(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer says that something was replaced."""
    old, new = pair.old, pair.new
    shared = _shared_roots(pair)
    match = change_phrases.REPLACED.search(new.low)
    if not match or (not new.declared and slots.are_parallel(old, new)):
        return
    own_things = (
        words.roots(" ".join(_OWN_THING.findall(old.low))) & words.roots(" ".join(_OWN_THING.findall(new.low))) & shared
    )
    governs_own = has_specific_root(own_things & _governed_roots(new.low, match))
    if shared and (governs_own or _shares_enough(pair, shared)):
        yield pair.finding("replaced", shared, pair.excerpts, _CONFIDENCE, update=True)
    elif words.SINGLE_OBJECT_VERBS & frozenset(old.roots) and old.persons & new.persons & _SPEAKER:
        match = change_phrases.SWITCHED.search(new.low) or change_phrases.ADOPTED.search(new.low)
        names = old.names - new.names, new.names - old.names
        names_replaced = all(names) and match and any(match["value"].startswith(name) for name in names[1])
        if match and (names_replaced or words.USING & frozenset(old.roots)):
            yield pair.finding("replaced", old.topic, pair.excerpts, _CONFIDENCE, update=True)


def _new_instances(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer mentions a new or different one of what the older has one of."""
    for match in _NEW_THING.finditer(pair.new.low):
        shared = words.roots(match[1]) & pair.old.topic - words.GENERIC
        is_owned = re.search(
            rf"\b(?:my|our|his|her|their|the) (?:[a-z]+ )?{re.escape(match[1].split()[0])}", pair.old.low
        )
        if shared and is_owned and not _NEW_THING.search(pair.old.low):
            yield pair.finding("replaced", shared, pair.excerpts, _CONFIDENCE, update=True)


def _contrasts(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer contrasts the old value with another: "Brittany, not Cornwall"."""
    for match in _CONTRAST.finditer(pair.new.low):
        old_value = words.roots(match[1]) - words.GENERIC
        shared = pair.shared - old_value - words.GENERIC
        is_short = len(pair.new.low.split()) <= _SHORT_CLAUSE_WORDS
        if (
            old_value
            and old_value <= pair.old.topic | pair.old.figures | pair.old.dates
            and (is_short or _shares_enough(pair, shared))
        ):
            yield pair.finding("changed_value", shared, pair.excerpts, _CONFIDENCE, update=True)


def _endings(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer says that what the older states has ended."""
    old, new = pair.old, pair.new
    shared = old.topic & new.topic - words.GENERIC
    low = change_phrases.ENDING_IDIOMS_COMPILED.sub(" ", new.low)
    dropped, done = (
        change_phrases.DROPPED.search(low),
        change_phrases.DONE.search(low) if change_phrases.ONGOING.search(old.low) else None,
    )
    if old.planned:
        done = None
    for match in (dropped, done):
        if (
            match
            and _shares_enough(pair, shared)
            and shared & _governed_roots(low, match) - _named_agents(pair, low[: match.start()])
        ):
            yield pair.finding("ended", shared, pair.excerpts, _CONFIDENCE, update=True)


def _named_agents(pair: StatementPair, before: str) -> Roots:
    """Return roots of names before a verb with another object: what Ana has sold ends nothing else about Ana."""
    agents = frozenset().union(*(words.roots(name) for name in pair.new.names if name in before))
    return agents if pair.new.topic - agents - words.ENDING_WORDS - words.GENERIC else frozenset()


def _governed_roots(low: str, match: re.Match[str]) -> Roots:
    """Return the roots of the words next to a verb."""
    following = low[match.end() :].strip()
    following = re.sub(r"^(?:out of|from|of|with|off|up|as|doing|the|my|our|a|an|being) ", "", following)
    following = _PREPOSITION.split(f" {following}")[0]
    preceding = [word for word in re.findall(r"[a-z0-9'-]+", low[: match.start()]) if word not in STOP_WORDS]
    return words.roots(re.sub(r"[^a-z0-9 -]|'s", " ", following)) | words.roots(" ".join(preceding[-_GOVERNED_WORDS:]))


def _number_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer gives another number and says that it is new."""
    old, new = pair.old, pair.new
    if not old.amounts or not new.amounts or max(len(old.amounts), len(new.amounts)) > _MAX_NUMBERS:
        return
    if slots.are_parallel(old, new) or slots.similarly_worded(old, new, other=True) or _subjects_differ(old, new):
        return
    same_matter = _shares_enough(pair, _shared_roots(pair))
    for old_amount, new_amount in product(old.amounts, new.amounts):
        has_grown = (
            bool(old_amount.head)
            and old_amount.head == new_amount.head
            and old_amount.head not in UNITS
            and new_amount.is_new
        )
        is_new = (
            new_amount.is_new or new.changing or new.announced or new.declared or change_phrases.REVISED.search(new.low)
        )
        if (
            is_new
            and (same_matter or has_grown)
            and old_amount.value != new_amount.value
            and _same_quantity(old_amount, new_amount)
        ):
            yield pair.finding(
                "changed_number", _shared_roots(pair), (old_amount.value, new_amount.value), _CONFIDENCE, update=True
            )


def _same_quantity(old_amount: Amount, new_amount: Amount) -> bool:
    """Return whether two amounts can count the same."""
    if (
        old_amount.kind != new_amount.kind
        or old_amount.is_start
        or new_amount.is_start
        or old_amount.is_goal != new_amount.is_goal
        or new_amount.is_difference
    ):
        return False
    heads = {old_amount.head, new_amount.head} - {""}
    return len(heads) <= 1 and (
        old_amount.kind != "count" or bool(heads) or min(map(len, (old_amount.value, new_amount.value))) >= _MIN_DIGITS
    )


def _date_changes(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer gives another date or time and says that it is new."""
    old, new = pair.old, pair.new
    is_revised = new.rescheduled or new.correcting or change_phrases.RESCHEDULED.search(new.low)
    if (
        not is_revised
        or not _shares_enough(pair, _shared_roots(pair))
        or slots.similarly_worded(old, new, other=True)
        or _subjects_differ(old, new)
    ):
        return
    hours = tuple(frozenset(amount.value for amount in side.amounts if amount.kind == "time") for side in (old, new))
    values = ("changed_date", old.dates, new.dates), ("changed_time", hours[0], hours[1])
    for rule, old_values, new_values in values:
        if old_values and new_values and not old_values & new_values:
            shown = ", ".join(sorted(old_values)), ", ".join(sorted(new_values))
            yield pair.finding(rule, _shared_roots(pair), shown, _CONFIDENCE, update=True)


def _one_time_conflicts(pair: StatementPair) -> Iterator[Finding]:
    """Detect another value of what happens once or comes first."""
    old, new = pair.old, pair.new
    shared_roots = frozenset(old.roots) & frozenset(new.roots)
    are_first = all("first" in side.low.split() and side.past for side in (old, new))
    same_time = bool(old.dates & new.dates) and all(_TOOK_PLACE.search(side.low) for side in (old, new))
    is_unique = are_first or same_time or bool(words.ONE_TIME_VERBS & shared_roots)
    if not is_unique or old.persons != new.persons or old.negation or new.negation:
        return
    slot = slots.single_slot(old, new) if old.past and new.past and not new.changing else None
    if slot and slot.before and (same_time or pair.weight(pair.shared) >= MIN_SHARED_WEIGHT):
        yield pair.finding("changed_value", pair.shared, slots.as_written(slot, old, new), _CONFIDENCE, update=False)


def _kind_negations(pair: StatementPair) -> Iterator[Finding]:
    """Detect that one negates a kind of thing of which the other has an instance."""
    old, new = pair.old, pair.new
    if bool(old.negation) == bool(new.negation):
        return
    denying, stating = (new, old) if new.negation else (old, new)
    if denying.negation not in {"never", "not"} or not denying.persons & stating.persons & _SPEAKER:
        return
    if possession := _HAS_NONE.search(denying.low):
        thing = words.word_root(possession[1])
        if thing in denying.topic and re.search(
            rf"\b(?:my|our) (?:[a-z]+ )?{re.escape(possession[1].rstrip('s'))}", stating.low
        ):
            yield pair.finding("negation", frozenset({thing}), pair.excerpts, _CONFIDENCE, update=False)
    for kind, members in words.HYPONYMS.items():
        if kind in denying.topic and members & stating.topic and _negates_only_kind(denying, stating, kind):
            has_begun = denying is old and cues.BEGINNING.search(stating.low)
            yield pair.finding("negation", denying.topic, pair.excerpts, _CONFIDENCE, update=bool(has_begun))


def _negates_only_kind(denying: Statement, stating: Statement, kind: str) -> bool:
    """Return whether nothing else is negated that the other does not state as well."""
    other_roots = (
        denying.topic
        - {kind, words.word_root("family")}
        - stating.topic
        - words.GENERIC
        - words.GENERAL_VERBS
        - words.POSSESSION_VERBS
    )
    return not has_specific_root(other_roots)


_RULES: Final = (
    _silent_changes,
    _state_changes_of_own_things,
    _frequency_changes,
    _named_identity_changes,
    _kind_changes,
    _life_circumstances,
    _replacements,
    _new_instances,
    _restated_as_now,
    _next_stages,
    _endings,
    _number_changes,
    _date_changes,
)
