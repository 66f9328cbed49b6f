"""Denial rules: the newer of two statements says that something is over, or one negates what the other states.

Not here: other values of one attribute (`change_rules`), and how a clause negates something (`lang/en/cues`).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from memory_pipeline.text.compare.statement_pair import Finding, Roots, StatementPair, has_specific_root
from memory_pipeline.text.lang.en import change_words as words
from memory_pipeline.text.lang.en import cues
from memory_pipeline.text.parse.dates import span
from memory_pipeline.text.parse.statements import Statement

_THIRD_PERSONS: Final = frozenset({"he", "she", "they"})
_SPEAKER: Final = frozenset({"i", "we"})
_HALF: Final = 0.5
_ENDED_OVERLAP: Final = 0.66
"""Share of an ended thing that the older must mention; less where it is named."""
_ENDED_OVERLAP_NAMED: Final = 0.4
_NEGATED_OVERLAP: Final = 0.7
"""Share of a negation's topic that the other must state."""
_NEGATED_WORDS: Final = 0.6
_STATED_OVERLAP: Final = 0.3
"""Share of a statement's topic that its negation must mention."""
_NEVER_OVERLAP: Final = 0.45
"""Share of a "never" that the other must state, as it denies every instance."""
_NEVER_OVERLAP_NAMED: Final = 0.3
_NEVER_WORDS: Final = 0.4
_NEVER_WEIGHT: Final = 90
_CONFIDENCE_NAMED: Final = 0.7
_CONFIDENCE_UNNAMED: Final = 0.6
"""Confidence of a contradiction where "never" is stated with another verb: about a shared name or in all other
words, or in some."""
_MAX_VALUE_WORDS: Final = 3
_HIGH_OVERLAP: Final = 0.75
Times = tuple[datetime | None, datetime | None]

_YEAR: Final = re.compile("[0-9]{4}")


def endings(pair: StatementPair) -> Iterator[Finding]:
    """Detect that the newer says that what the older states is over."""
    old, new = pair.old, pair.new
    if old.negation or old.is_over or new.negation == "never":
        return
    is_lasting = not old.past or old.changing
    for ended_roots in new.ended if is_lasting else ():
        shared = ended_roots & (old.topic | old.figures)
        if any(ended_roots & already_ended for already_ended in old.ended) or not has_specific_root(shared):
            continue
        if shared <= old.figures and not has_specific_root(pair.shared):
            continue
        is_named = any(words.roots(name) & shared for name in old.names & new.names)
        if cues.INSTEAD_OF.search(new.low) and not (
            old.persons & new.persons or has_specific_root(pair.shared - shared)
        ):
            continue
        covered = pair.weight(shared) / pair.weight(ended_roots)
        if covered >= (_ENDED_OVERLAP_NAMED if is_named else _ENDED_OVERLAP) and (
            is_named or len(shared) > _HALF * len(ended_roots)
        ):
            yield pair.finding("ended", shared, pair.excerpts, 0.9, update=True)
    if new.is_over and not old.ended:
        topic = new.topic - words.ENDING_WORDS
        shared = topic & old.topic
        # More than the name must be shared: "Ana's car was sold" ends nothing else about Ana.
        if shared <= frozenset().union(*map(words.roots, new.names)) and topic - shared - words.GENERIC:
            return
        if has_specific_root(shared) and pair.weight(shared) >= _NEGATED_WORDS * pair.weight(topic):
            yield pair.finding("ended", shared, pair.excerpts, 0.85, update=True)


def contradictions(pair: StatementPair) -> Iterator[Finding]:
    """Detect that one statement negates what the other states."""
    old, new = pair.old, pair.new
    denying, stating = (new, old) if new.negation else (old, new)
    negated_topic, stated_topic = denying.topic, stating.topic
    shared = negated_topic & stated_topic
    never, is_inability = (
        denying.negation == "never",
        denying.negation != "no_longer" and bool(cues.INABILITY.search(denying.low)),
    )
    is_experience = never and stating.experienced and cues.FIRST_PERSON.search(stating.low)
    is_single_word = len(negated_topic) == 1 and not _is_most_of(stating, denying) and not is_experience
    if _at_another_time(denying, stating):
        return
    if (
        not has_specific_root(shared)
        or (stating.desired and not never)
        or is_single_word
        or not _same_subject(denying, stating)
    ):
        return
    in_context = negated_topic & stating.context_topic - shared
    overlap = (pair.weight(shared) + pair.weight(in_context) // 2) / pair.weight(negated_topic)
    if never or is_inability:
        by_speaker = denying.persons & stating.persons & _SPEAKER and denying.negated in words.GENERAL_VERBS
        is_named = by_speaker and any(words.roots(name) & shared for name in old.names & new.names)
        same_verb = not denying.negated or denying.negated in shared
        is_whole = denying.persons & stating.persons & _SPEAKER and len(shared) > 1 and overlap >= _NEGATED_OVERLAP
        confidence = (
            0.45 + 0.3 * overlap if same_verb else _CONFIDENCE_NAMED if is_named or is_whole else _CONFIDENCE_UNNAMED
        )
        if (
            _is_actual(denying, stating)
            and not _about_other_names(denying, stating)
            and _is_instance(pair, shared, overlap, len(negated_topic))
        ):
            has_begun = denying is old and overlap >= _NEGATED_OVERLAP and cues.BEGINNING.search(new.low)
            is_update = bool(has_begun) and not _began_earlier(new, times_known=pair.times[0] is not None)
            if (
                denying is old
                and not is_update
                and stated_topic != negated_topic
                and _on_later_day(pair)
                and not _long_since(pair)
            ):
                return
            yield pair.finding("never", shared, pair.excerpts, confidence, update=is_update)
        return
    is_stated = pair.weight(shared) >= _STATED_OVERLAP * pair.weight(stated_topic)
    is_concern = any(cues.CONCERN.search(side.low) for side in (old, new))
    if overlap < _NEGATED_OVERLAP or len(shared) < _NEGATED_WORDS * len(negated_topic) or not is_stated or is_concern:
        return
    if denying.negation == "no_longer":
        yield pair.finding("no_longer", shared, pair.excerpts, 0.9, update=True)
    elif (denying.negated and denying.negated not in shared) or _of_another_place(denying, stating, shared):
        return
    elif (update := _is_update(denying, stating, shared, negated_first=denying is old, times=pair.times)) is not None:
        yield pair.finding("negation", shared, pair.excerpts, 0.5 + overlap / 3, update=update)


def _same_subject(denying: Statement, stating: Statement) -> bool:
    """Return whether both are about the speaker, or neither is; a statement about the person addressed is no claim."""
    if any(side.persons == {"you"} for side in (denying, stating)):
        return False
    if denying.negation == "not" and denying.persons & _SPEAKER and not stating.persons:
        return False
    by_speaker, other_by_speaker = (bool(side.persons & _SPEAKER) for side in (denying, stating))
    by_third_person = (
        bool(denying.persons & _THIRD_PERSONS or (denying.lead and not denying.lead & stating.topic)) and not by_speaker
    )
    return not (by_third_person and other_by_speaker and not stating.lead and not stating.people)


def _at_another_time(denying: Statement, stating: Statement) -> bool:
    """Return whether the negation holds for a date or circumstance that the other does not mention."""
    if denying.dates and stating.dates and not denying.dates & stating.dates and denying.negation == "did_not":
        return True
    circumstances = [words.roots(text) for text in cues.CIRCUMSTANCE.findall(denying.low) if text not in stating.low]
    return any(circumstance - words.GENERIC - stating.topic - stating.context_topic for circumstance in circumstances)


def _of_another_place(denying: Statement, stating: Statement, shared: Roots) -> bool:
    """Return whether what did not happen is about one thing or place, and what happened about another."""
    unshared = denying.topic - shared, stating.topic - shared - words.GENERIC
    return all(unshared) and (denying.past or denying.negation in {"did_not", "undone"} or denying.past != stating.past)


def _is_actual(denying: Statement, stating: Statement) -> bool:
    """Return whether the statement is about the past or present, not about the future or an obligation."""
    return not stating.planned or denying.planned


def _about_other_names(denying: Statement, stating: Statement) -> bool:
    """Return whether negation and statement are about different names, each unmentioned by the other."""
    unshared = denying.names - stating.names, stating.names - denying.names
    return all(
        any(name not in other.low for name in names) for names, other in zip(unshared, (stating, denying), strict=True)
    )


def _on_later_day(pair: StatementPair) -> bool:
    """Return whether the newer was said on a later day, when "never" may no longer hold."""
    before, after = pair.times
    return before is not None and after is not None and before.date() < after.date()


def _long_since(pair: StatementPair) -> bool:
    """Return whether what the newer states held before the older was said."""
    before = pair.times[0]
    spans = [span(date.rpartition("/")[2], before.date()) for date in sorted(pair.new.dates)] if before else []
    was_earlier = bool(before) and any(
        dates_span is not None and before is not None and dates_span[1] <= before.date() for dates_span in spans
    )
    return was_earlier or bool(cues.LONG_SINCE.search(pair.new.low))


def _began_earlier(statement: Statement, *, times_known: bool) -> bool:
    """Return whether a statement dates its content to long before it was said, or at all if times are unknown."""
    is_dated = any(_YEAR.fullmatch(date) for date in statement.dates) or (
        not times_known and bool(statement.dates) and statement.past
    )
    is_recent = not times_known and cues.JUST_NOW.search(statement.low)
    return not is_recent and (bool(cues.LONG_SINCE.search(statement.low)) or is_dated)


def _is_most_of(stating: Statement, denying: Statement) -> bool:
    """Return whether what is negated in one word is most of the statement, by the same persons."""
    same_topic = stating.topic == denying.topic
    return same_topic or bool(stating.persons & denying.persons and len(stating.topic) <= _MAX_VALUE_WORDS)


def _is_instance(pair: StatementPair, shared: Roots, overlap: float, word_count: int) -> bool:
    """Return whether what is stated is an instance of a "never"."""
    is_named = bool(pair.old.names & pair.new.names)
    if len(shared) < _NEVER_WORDS * word_count and not is_named:
        return False
    is_enough = (
        overlap >= (_NEVER_OVERLAP_NAMED if is_named else _NEVER_OVERLAP) and pair.weight(shared) >= _NEVER_WEIGHT
    )
    return is_enough or overlap >= _HIGH_OVERLAP


def _is_update(
    denying: Statement, stating: Statement, shared: Roots, *, negated_first: bool, times: Times
) -> bool | None:
    """Return whether the later of negation and statement updates the other (True) or contradicts it (False).

    None if neither follows.
    """
    if denying.negation == "undone" and negated_first:
        return not _began_earlier(stating, times_known=times[0] is not None)
    has_begun = (
        negated_first and denying.topic == shared and not stating.past and bool(cues.FINALLY.search(stating.low))
    )
    if has_begun and not denying.past:
        return True
    if denying.negation in {"did_not", "undone"} or shared & words.PEOPLE or (denying.past and stating.past):
        return False
    if negated_first:
        begins = cues.BEGINNING.search(stating.low) or cues.INSTEAD.search(stating.low)
        same_matter = denying.persons & stating.persons or denying.lead & stating.lead or denying.topic <= shared
        if not begins or not same_matter:
            return False if denying.topic == shared else None
        return True
    is_lasting = bool(words.STATIVE & (denying.topic | stating.topic)) or "be" in denying.roots
    return is_lasting and bool(cues.INSTEAD.search(denying.low))
