"""Rules of denial: the newer of two statements says that something is over, or one denies what the other states.

What is not here: other values of one attribute (`fact_rules`), and how a clause denies something (`cues`).
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

_THIRD: Final = frozenset({"he", "she", "they"})
_FIRST: Final = frozenset({"i", "we"})
_HALF: Final = 0.5
_ENDED: Final = 0.66
"""Share of what is said to be over that the older must mention; less where it is named."""
_ENDED_NAMED: Final = 0.4
_DENIED: Final = 0.7
"""Share of a denial's topic that the other must state."""
_DENIED_WORDS: Final = 0.6
_DENIED_OF: Final = 0.3
"""Share of a statement's topic that its denial must mention."""
_NEVER: Final = 0.45
"""Likewise for "never", which denies every case of something."""
_NEVER_NAMED: Final = 0.3
_NEVER_WORDS: Final = 0.4
_NEVER_WEIGHT: Final = 90
_NAMED: Final = 0.7
_UNNAMED: Final = 0.6
"""How sure a contradiction is if what never was done is told in another verb: of a name that both give or in all its
other words, or in some."""
_VALUE_WORDS: Final = 3
_MOST: Final = 0.75
Times = tuple[datetime | None, datetime | None]

_YEAR: Final = re.compile("[0-9]{4}")


def endings(pair: StatementPair) -> Iterator[Finding]:
    """The newer says that what the older states is over."""
    old, new = pair.old, pair.new
    if old.negation or old.is_over or new.negation == "never":
        return
    lasting = not old.past or old.changing
    for over in new.ended if lasting else ():
        both = over & (old.topic | old.figures)
        if any(over & earlier for earlier in old.ended) or not has_specific_root(both):
            continue
        if both <= old.figures and not has_specific_root(pair.shared):
            continue
        named = any(words.roots(name) & both for name in old.names & new.names)
        if cues.INSTEAD_OF.search(new.low) and not (old.persons & new.persons or has_specific_root(pair.shared - both)):
            continue
        covered = pair.weight(both) / pair.weight(over)
        if covered >= (_ENDED_NAMED if named else _ENDED) and (named or len(both) > _HALF * len(over)):
            yield pair.finding("ended", both, pair.excerpts, 0.9, update=True)
    if new.is_over and not old.ended:
        about = new.topic - words.ENDING_WORDS
        both = about & old.topic
        # Of whom or what it is over with more than a name must be shared: of "Ana's car was sold" more than Ana.
        if both <= frozenset().union(*map(words.roots, new.names)) and about - both - words.GENERIC:
            return
        if has_specific_root(both) and pair.weight(both) >= _DENIED_WORDS * pair.weight(about):
            yield pair.finding("ended", both, pair.excerpts, 0.85, update=True)


def contradictions(pair: StatementPair) -> Iterator[Finding]:
    """One denies what the other states."""
    old, new = pair.old, pair.new
    denying, stating = (new, old) if new.negation else (old, new)
    about, said = denying.topic, stating.topic
    both = about & said
    never, ability = (
        denying.negation == "never",
        denying.negation != "no_longer" and bool(cues.INABILITY.search(denying.low)),
    )
    lived = never and stating.experienced and cues.FIRST_PERSON.search(stating.low)
    single = len(about) == 1 and not _brief(stating, denying) and not lived
    if _at_another_time(denying, stating):
        return
    if not has_specific_root(both) or (stating.desired and not never) or single or not _one_subject(denying, stating):
        return
    beside = about & stating.context_topic - both
    covered = (pair.weight(both) + pair.weight(beside) // 2) / pair.weight(about)
    if never or ability:
        own = denying.persons & stating.persons & _FIRST and denying.negated in words.GENERAL_VERBS
        named = own and any(words.roots(name) & both for name in old.names & new.names)
        same = not denying.negated or denying.negated in both
        whole = denying.persons & stating.persons & _FIRST and len(both) > 1 and covered >= _DENIED
        sure = 0.45 + 0.3 * covered if same else _NAMED if named or whole else _UNNAMED
        if (
            _told(denying, stating)
            and not _of_others(denying, stating)
            and _all_denied(pair, both, covered, len(about))
        ):
            since = denying is old and covered >= _DENIED and cues.BEGINNING.search(new.low)
            begun = bool(since) and not _dated_back(new, known=pair.times[0] is not None)
            if denying is old and not begun and said != about and _later(pair) and not _long_since(pair):
                return
            yield pair.finding("never", both, pair.excerpts, sure, update=begun)
        return
    stated = pair.weight(both) >= _DENIED_OF * pair.weight(said)
    worried = any(cues.CONCERN.search(side.low) for side in (old, new))
    if covered < _DENIED or len(both) < _DENIED_WORDS * len(about) or not stated or worried:
        return
    if denying.negation == "no_longer":
        yield pair.finding("no_longer", both, pair.excerpts, 0.9, update=True)
    elif (denying.negated and denying.negated not in both) or _elsewhere(denying, stating, both):
        return
    elif (update := _changed_mind(denying, stating, both, denied_first=denying is old, times=pair.times)) is not None:
        yield pair.finding("negation", both, pair.excerpts, 0.5 + covered / 3, update=update)


def _one_subject(denying: Statement, stating: Statement) -> bool:
    """Both tell of the speaker, or neither does; what is said of the one addressed is no claim."""
    if any(side.persons == {"you"} for side in (denying, stating)):
        return False
    if denying.negation == "not" and denying.persons & _FIRST and not stating.persons:
        return False
    own, others = (bool(side.persons & _FIRST) for side in (denying, stating))
    third = bool(denying.persons & _THIRD or (denying.lead and not denying.lead & stating.topic)) and not own
    return not (third and others and not stating.lead and not stating.people)


def _at_another_time(denying: Statement, stating: Statement) -> bool:
    """What is denied is denied of a day, or of what goes with it, that the other does not speak of."""
    if denying.dates and stating.dates and not denying.dates & stating.dates and denying.negation == "did_not":
        return True
    bound = [words.roots(found) for found in cues.CIRCUMSTANCE.findall(denying.low) if found not in stating.low]
    return any(one - words.GENERIC - stating.topic - stating.context_topic for one in bound)


def _elsewhere(denying: Statement, stating: Statement, both: Roots) -> bool:
    """What did not happen is told of one thing or place, what happened of another."""
    other = denying.topic - both, stating.topic - both - words.GENERIC
    return all(other) and (denying.past or denying.negation in {"did_not", "undone"} or denying.past != stating.past)


def _told(denying: Statement, stating: Statement) -> bool:
    """What is stated has happened or goes on: it is not still to come, and not what somebody should do."""
    return not stating.planned or denying.planned


def _of_others(denying: Statement, stating: Statement) -> bool:
    """The denial is about somebody whom the statement does not name, and the statement about somebody else."""
    strange = denying.names - stating.names, stating.names - denying.names
    return all(
        any(name not in other.low for name in names) for names, other in zip(strange, (stating, denying), strict=True)
    )


def _later(pair: StatementPair) -> bool:
    """The newer was said on a later day, when what never was may have come to be."""
    before, after = pair.times
    return before is not None and after is not None and before.date() < after.date()


def _long_since(pair: StatementPair) -> bool:
    """What the newer tells was so before the older was said."""
    before = pair.times[0]
    spans = [span(date.rpartition("/")[2], before.date()) for date in sorted(pair.new.dates)] if before else []
    earlier = bool(before) and any(one is not None and before is not None and one[1] <= before.date() for one in spans)
    return earlier or bool(cues.LONG_SINCE.search(pair.new.low))


def _dated_back(one: Statement, *, known: bool) -> bool:
    """It tells when, long before it is said, or at all if it is not known when the older was said."""
    dated = any(_YEAR.fullmatch(date) for date in one.dates) or (not known and bool(one.dates) and one.past)
    fresh = not known and cues.JUST_NOW.search(one.low)
    return not fresh and (bool(cues.LONG_SINCE.search(one.low)) or dated)


def _brief(stating: Statement, denying: Statement) -> bool:
    """What is denied in one word is most of what is stated, by the same persons."""
    same = stating.topic == denying.topic
    return same or bool(stating.persons & denying.persons and len(stating.topic) <= _VALUE_WORDS)


def _all_denied(pair: StatementPair, both: Roots, covered: float, count: int) -> bool:
    """What is stated is a case of what never was."""
    named = bool(pair.old.names & pair.new.names)
    if len(both) < _NEVER_WORDS * count and not named:
        return False
    enough = covered >= (_NEVER_NAMED if named else _NEVER) and pair.weight(both) >= _NEVER_WEIGHT
    return enough or covered >= _MOST


def _changed_mind(
    denying: Statement, stating: Statement, both: Roots, *, denied_first: bool, times: Times
) -> bool | None:
    """Whether denial and statement can follow each other (True) or contradict (False); None if nothing follows."""
    if denying.negation == "undone" and denied_first:
        return not _dated_back(stating, known=times[0] is not None)
    grown = denied_first and denying.topic == both and not stating.past and bool(cues.FINALLY.search(stating.low))
    if grown and not denying.past:
        return True
    if denying.negation in {"did_not", "undone"} or both & words.PEOPLE or (denying.past and stating.past):
        return False
    if denied_first:
        begun = cues.BEGINNING.search(stating.low) or cues.INSTEAD.search(stating.low)
        same = denying.persons & stating.persons or denying.lead & stating.lead or denying.topic <= both
        if not begun or not same:
            return False if denying.topic == both else None
        return True
    lasting = bool(words.STATIVE & (denying.topic | stating.topic)) or "be" in denying.roots
    return lasting and bool(cues.INSTEAD.search(denying.low))
