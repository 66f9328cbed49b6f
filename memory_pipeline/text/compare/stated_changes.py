"""Finds changes that a sentence states outright: something has ended, or has another value now.

"The standup moved to Friday" replaces "The standup is on Monday", and "I no longer cycle to work" ends "I cycle to work
in summer": the newer sentence names subject and attribute in the words of the older one, and says by a closed-class cue
that they changed. Uncertain statements (a plan, a question, hearsay, a joke, an exception, a passing state), statements
narrower than the older one, and older sentences that state more than what ended do not count. A new figure of something
measured or counted is only likely to replace the older one, since each was true at its time. English only. Not here:
changes without such a cue (`relation_model`).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeVar

import numpy as np
import polars as pl

from memory_pipeline.text.arrays import Rows
from memory_pipeline.text.compare import standing
from memory_pipeline.text.lang.en import stated_change as words
from memory_pipeline.text.lang.en.lexicon import MONTHS, NUMBERS, STOP_WORDS, WEEKDAYS
from memory_pipeline.text.lang.en.stemming import stem
from memory_pipeline.text.parse.sentences import split_sentences
from memory_pipeline.text.parse.tokens import fold

Kind = Literal["ended", "changed_value", "likely"]

_Read = TypeVar("_Read")

_CUE: Final = f"{words.ENDING}|{words.REPLACING}|{words.PLACING}"
"""Pattern over folded text that every text with a stated change matches."""
_MAX_CHARACTERS: Final = 6_000
"""Maximum number of characters read of a memory."""
_MAX_WORDS: Final = 30
"""Maximum number of words of a sentence that is read; a longer one is taken to state more than one thing."""
_LEAST_CONTENT: Final = 2
"""Minimum content words of an ending that may say less than the statement it ends."""
_PAST_LETTERS: Final = 5
"""Minimum number of letters of a word in -ed that is a verb in the past tense."""
_TOKEN: Final = re.compile(r"[$\u20ac\u00a3]?[0-9]+(?:[.,:][0-9]+)*[^\W\d_]*%?|[^\W_]+(?:['.-][^\W_]+)*")
_FIGURE: Final = re.compile(r"[$\u20ac\u00a3]?[0-9]")
_TIME: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?:[ap]m)?|[0-9]{1,2}[ap]m")
_ORDINAL: Final = re.compile(r"([0-9]+)(?:st|nd|rd|th)")
_INTRODUCTION: Final = re.compile(rf"^\W*(?:(?:{'|'.join(sorted(words.DROPPED))})\s*[,:!]\s*)+", re.IGNORECASE)
_SHORT: Final = tuple((re.compile(pattern, re.IGNORECASE), wording) for pattern, wording in words.SPELLED_OUT)
_ANY_SHORT: Final = re.compile("|".join(pattern for pattern, _ in words.SPELLED_OUT), re.IGNORECASE)
BEGINNINGS: Final = tuple(tuple(map(stem, verb.split())) for verb in words.BEGINNINGS)
_AUXILIARIES: Final = frozenset({"be", "have", "get"})
_INSTEAD: Final = ("instead", "of")


@dataclass(frozen=True, slots=True)
class Clause:
    """The words of a clause that say what it states, in order.

    Attributes:
        stems: their stems.
        low: the words in lower case.
        named: whether each is written with a capital.
    """

    stems: tuple[str, ...] = ()
    low: tuple[str, ...] = ()
    named: tuple[bool, ...] = ()

    def __len__(self) -> int:
        return len(self.stems)

    def __getitem__(self, part: slice) -> "Clause":
        return Clause(self.stems[part], self.low[part], self.named[part])

    def without(self, *indices: int) -> "Clause":
        """Return the clause without the words at some indices."""
        rest = [index for index in range(len(self)) if index not in indices]
        return Clause(
            tuple(self.stems[index] for index in rest),
            tuple(self.low[index] for index in rest),
            tuple(self.named[index] for index in rest),
        )

    def find(self, *wanted: str) -> int:
        """Return the index of adjacent words, -1 if they are not there."""
        size = len(wanted)
        return next((index for index in range(len(self) - size + 1) if self.low[index : index + size] == wanted), -1)


@dataclass(frozen=True, slots=True)
class Change:
    """What a clause ends or replaces.

    Attributes:
        kind: which of the two; `likely` where something that has one name at a time gets another without a word of
            change, and where the new value is measured or counted.
        how: what an older statement must consist of: `statement` (`subject`, and possibly more), `event` (`subject`
            with any value), `object` (`subject`, a verb of having or doing, and `old`), `value` (`subject` with a value
            other than `new`), `place` (the same up to a name, then another name).
        subject: what the change is about; for `statement` and `place` all that the two have in common.
        old: what held before, where the clause says so.
        new: what holds now.
    """

    kind: Kind
    how: Literal["statement", "event", "object", "value", "place"]
    subject: Clause
    old: Clause = Clause()
    new: Clause = Clause()


def find(memories: pl.DataFrame, older: Rows, newer: Rows) -> pl.DataFrame:
    """Find pairs of memories, ordered by validity, where the newer states that a sentence of the older has changed.

    The columns are pair, kind, ended (the sentence of the older) and by (that of the newer). At most one row per pair,
    and none where both hold from the same instant. Of statements that give a subject different values, only the latest
    one is replaced, unless the change says which value it replaces. Cost: about 40 µs per sentence read.
    """
    texts = memories["content"].fill_null("").str.head(_MAX_CHARACTERS)
    since, speaker = memories["since"], memories["speaker"].rank("dense").fill_null(0).to_list()
    low = fold(texts)
    cued = (low.str.contains(_CUE) & ~low.str.contains(words.RETRACTED)).to_numpy()
    pairs = np.flatnonzero(cued[newer] & (since.gather(older) < since.gather(newer)).fill_null(value=False).to_numpy())
    read = _by_memory(texts, newer[pairs], changes)
    pairs = pairs[np.isin(newer[pairs], list(read))]
    stated = _by_memory(texts, older[pairs], lambda sentence: filter(None, [statement(sentence)]))
    rows: list[tuple[int, str, str, str]] = []
    for name, group in groupby(pairs[np.lexsort((pairs, older[pairs], newer[pairs]))].tolist(), key=newer.__getitem__):
        statements = [
            (pair, sentence, clause, speaker[older[pair]] == speaker[name])
            for pair in group
            for sentence, clause in stated.get(older[pair], ())
        ]
        for by, change in read[int(name)]:
            hits = [row for row in statements if is_changed(row[2], change, one_speaker=row[3])]
            latest = {row[2].stems for row in hits[-1:]} if _replaces_any(change) else {row[2].stems for row in hits}
            rows += [(pair, change.kind, ended, by) for pair, ended, clause, _ in hits if clause.stems in latest]
    found = pl.DataFrame(rows, {"pair": pl.Int64, "kind": pl.String, "ended": pl.String, "by": pl.String}, orient="row")
    return found.sort("pair", pl.col("kind") == "likely", maintain_order=True).unique("pair", keep="first").sort("pair")


_NOW: Final = Clause(("now",), ("now",), (False,))


def statement(sentence: str) -> Clause | None:
    """Read a sentence that states one thing as it is; None for any other. "X moved to B" states that X is at B."""
    text = _INTRODUCTION.sub("", sentence).strip().rstrip(".! ")
    low = text.lower().replace("\u2019", "'")
    if words.OPEN.search(low) or words.DENIED.search(low) or words.BREAK.search(low):
        return None
    clause = read_clause(text)
    moved = next((change for change in _moved(clause) if change.how == "value"), None)
    if moved is not None and moved.subject.low[0] not in words.THIRD:
        return _joined(moved.subject, Clause(("be",), ("is",), (False,)), moved.new)
    clause = clause.without(*(index for index, word in enumerate(clause.low) if word == "now"))
    readable = 1 < len(clause) <= _MAX_WORDS and clause.low[0] not in words.THIRD
    return clause if readable and _is_present(clause) else None


def changes(sentence: str) -> tuple[Change, ...]:
    """Return what a sentence says has ended or has another value now."""
    text = _INTRODUCTION.sub("", sentence).strip().rstrip(".! ")
    low = text.lower().replace("\u2019", "'")
    if words.OPEN.search(low) or len(low.split()) > 2 * _MAX_WORDS:
        return ()
    found: list[Change] = []
    start, named = 0, Clause()
    for joint in [*words.BREAK.finditer(low), None]:
        end = joint.start() if joint else len(text)
        clause = read_clause(text[start:end])
        joined = start > 0 and low[:start].rstrip()[-1:].isalpha()
        if clause.low[:2] == ("it", "is") and len(named):
            found += _now(_joined(named, clause[1:], _NOW))
        named = (
            _thing(_without_auxiliaries(clause[:-1])) if clause.low[-1:] and clause.low[-1] in words.MOVES else Clause()
        )
        if 1 < len(clause) <= _MAX_WORDS and (not joined or clause.low[0] in words.SPEAKING):
            found += _endings(clause)
            found += _moved(clause)
            found += _now(clause)
            found += _elsewhere(clause)
        start = joint.end() if joint else end
    return tuple(change for change in found if change.subject.low and change.subject.low[0] not in words.THIRD)


def is_changed(older: Clause, change: Change, *, one_speaker: bool) -> bool:
    """Return whether a change says that an older statement no longer holds.

    If not the same person said both, "I" and "the car" mean something else.
    """
    named = any(change.subject.named) and words.SPEAKING.isdisjoint(change.subject.low + older.low)
    return (one_speaker or named) and _TESTS[change.how](older, change)


def _by_memory(
    texts: pl.Series, memories: Rows, read: Callable[[str], Iterable[_Read]]
) -> dict[int, list[tuple[str, _Read]]]:
    """Return what `read` finds in the sentences of some memories, with the sentence; empty results are left out."""
    rows = np.unique(memories)
    result: dict[int, list[tuple[str, _Read]]] = {}
    for row, sentence in split_sentences(texts.gather(rows)).select("row", "sentence").iter_rows():
        for one in read(sentence):
            result.setdefault(int(rows[row]), []).append((sentence.strip(), one))
    return result


def _replaces_any(change: Change) -> bool:
    """Return whether a change gives another value without saying which one it had."""
    return change.kind != "ended" and not len(change.old)


def _continues(older: Clause, change: Change) -> bool:
    """Return whether a statement is the one that ended, or says more of the same."""
    size, content = len(change.subject), sum(word not in STOP_WORDS for word in change.subject.low)
    if older.stems[:size] != change.subject.stems:
        return False
    return len(older) == size or (older.low[size] in words.BOUNDARY and content >= _LEAST_CONTENT)


def _takes_place(older: Clause, change: Change) -> bool:
    """Return whether a statement says when or where something takes place that was called off."""
    subject, rest = _given(older)
    return bool(len(rest)) and subject.stems == change.subject.stems and bool(_values(rest))


def _has_object(older: Clause, change: Change) -> bool:
    """Return whether a statement says that its subject has, uses or does what it no longer does."""
    start = len(change.subject)
    if older.stems[:start] != change.subject.stems or older.stems[start : start + 1] == ():
        return False
    verbs = _USES if change.kind == "changed_value" else _PRACTICES
    if older.stems[start] not in verbs:
        return False
    begin = start + 1 + (older.low[start + 1 : start + 2] in {("on",), ("with",), ("at",)})
    end = begin + len(change.old)
    rest = older[end:]
    goes_on = not len(rest) or rest.low[0] in words.BOUNDARY
    return older.stems[begin:end] == change.old.stems and goes_on and set(change.new.stems) <= set(rest.stems)


def _has_other_value(older: Clause, change: Change) -> bool:
    """Return whether a statement gives its subject nothing but other values of the types that it now has."""
    subject, rest = _given(older)
    if not len(rest) or subject.stems != change.subject.stems:
        return False
    was, now, before = _values(rest), _values(change.new), _values(change.old)
    others = unlike_values(rest) ^ unlike_values(change.new)
    narrower = (now.keys() - was.keys()) - (_WHEN if not _WHEN.isdisjoint(was) else set())
    differs = any(now[kind] != value for kind, value in was.items() if kind in now)
    alike = bool(was) and was.keys() <= now.keys() and not others and not narrower
    return alike and differs and before.items() <= was.items()


def _has_other_name(older: Clause, change: Change) -> bool:
    """Return whether a statement is the same up to another name."""
    size = len(change.subject)
    name = _name(older, size)
    if older.stems[:size] != change.subject.stems or not len(name) or set(name.stems) & set(change.new.stems):
        return False
    if len(change.old) and name.stems != change.old.stems:
        return False
    return len(older) == size + len(name)


_TESTS: Final = {
    "statement": _continues,
    "event": _takes_place,
    "object": _has_object,
    "value": _has_other_value,
    "place": _has_other_name,
}


def read_clause(text: str) -> Clause:
    """Read a clause."""
    spelled = text.replace("\u2019", "'")
    for pattern, wording in _SHORT if _ANY_SHORT.search(spelled) else ():
        spelled = pattern.sub(wording, spelled)
    found = [word.removesuffix("'s").removesuffix("'") for word in _TOKEN.findall(spelled)]
    remaining = [word for word in found if word.lower() not in words.DROPPED]
    low = tuple(word.lower() for word in remaining)
    stems = tuple(words.FORMS.get(word) or stem(word) for word in low)
    clause = Clause(stems, low, tuple(word[:1].isupper() and word != "I" for word in remaining))
    doing = (
        index
        for index in range(len(clause) - 1)
        if stems[index] == "be" and low[index] not in words.PAST and low[index + 1].endswith("ing")
    )
    return clause.without(*doing)


def _joined(*parts: Clause) -> Clause:
    """Return clauses as one."""
    return Clause(
        tuple(word for part in parts for word in part.stems),
        tuple(word for part in parts for word in part.low),
        tuple(named for part in parts for named in part.named),
    )


def _is_present(clause: Clause) -> bool:
    """Return whether no verb is in the past tense; a participle after "is" is not."""
    return not any(
        word in words.PAST
        or (word.endswith("ed") and len(word) >= _PAST_LETTERS and not (index and clause.stems[index - 1] == "be"))
        for index, word in enumerate(clause.low)
        if not clause.named[index]
    )


def _endings(clause: Clause) -> Iterator[Change]:
    """Yield what a clause says has ended."""
    for cut in _ended(clause):
        if _is_present(cut):
            yield Change("ended", "statement", cut)
    for index in range(1, len(clause)):
        word, before, after = clause.low[index], clause[:index], clause[index + 1 :]
        if word in words.CALLED_OFF and clause.stems[index - 1] == "be" and not len(after):
            yield Change("ended", "event", _thing(_without_auxiliaries(before)))
        elif word in _GIVEN_UP and clause.stems[index - 1] != "be" and len(after):
            yield Change("ended", "object", _without_auxiliaries(before), after)


def _ended(clause: Clause) -> Iterator[Clause]:
    """Yield the statements that a clause denies for now, without the cue."""
    longer, more, used = clause.find("no", "longer"), clause.find("any", "more"), clause.find("used", "to")
    if longer > 0:
        yield clause.without(longer, longer + 1)
    if more > 0 and "not" in clause.low[:more]:
        denial = clause.low.index("not")
        helper = denial - 1 if denial and clause.stems[denial - 1] == "do" else denial
        yield clause.without(denial, helper, more, more + 1)
    if used > 0 and clause.stems[used - 1] not in _AUXILIARIES:
        yield clause.without(used, used + 1)
    for index in range(1, len(clause) - 1):
        if clause.low[index] in {"stopped", "quit"} and clause.low[index + 1].endswith("ing"):
            yield _joined(_without_auxiliaries(clause[:index]), clause[index + 1 :])


def _moved(clause: Clause) -> Iterator[Change]:
    """Yield what a clause says was moved, switched or replaced."""
    index = next((index for index, word in enumerate(clause.low) if index and word in _MOVING), -1)
    if index < 0:
        return
    subject, rest = _without_auxiliaries(clause[:index]), clause[index + 1 :]
    if rest.low[:1] and rest.low[0] in words.DIRECTIONS:
        rest = rest[1:]
    if clause.low[index] in {"replaced", "swapped"}:
        with_ = max(rest.find("with"), rest.find("for") if clause.low[index] == "swapped" else -1)
        if with_ > 0:
            yield Change("changed_value", "object", subject, _thing(rest[:with_]), addition(rest[with_ + 1 :]))
        return
    to = max((rest.find(word) for word in ("to", "until", "till")), default=-1)
    if to < 0:
        return
    before, new = rest[:to], rest[to + 1 :]
    start = before.find("from")
    old = before[start + 1 :] if start >= 0 else Clause()
    moved = before[: start if start >= 0 else to]
    if _values(new):
        yield _revalued(_thing(moved if len(moved) else subject), old, new)
    elif len(old) and not len(moved) and clause.low[index] == "moved" and all(old.named) and _name(new, 0) == new:
        home = _joined(subject, Clause((_LIVE, "in"), ("live", "in"), (False, False)))
        yield Change("changed_value", "place", home, old, new)
    elif len(old) and not len(moved) and clause.low[index] in words.SWITCHES:
        yield Change("changed_value", "object", subject, old, addition(new))


def _now(clause: Clause) -> Iterator[Change]:
    """Yield what a clause says holds now."""
    index = clause.find("now")
    if index < 0:
        return
    rest = clause.without(*(at for at, word in enumerate(clause.low) if word == "now"))
    instead = rest.find(*_INSTEAD)
    if not _is_present(rest):
        return
    if instead > 1:
        verb = next((at for at in range(1, instead) if rest.stems[at] in _USES), -1)
        if verb > 0:
            yield Change("changed_value", "object", rest[:verb], rest[instead + 2 :])
        return
    subject, given = _given(rest)
    if len(given) and _values(given):
        yield _revalued(subject, Clause(), given)
    for at in range(1, len(rest) - 1):
        role = rest.stems[at] == "be" and not rest.named[at - 1] and rest.low[at - 1] not in words.SPEAKING
        start = _place(rest, at) or (at + 1 if role else 0)
        name = _name(rest, start)
        if start and len(name) and start + len(name) == len(rest):
            yield Change("changed_value", "place", rest[:start], new=name)


def _revalued(subject: Clause, old: Clause, new: Clause) -> Change:
    """Return the change of a subject's value; it is only likely to replace a value that was measured."""
    measured = standing.has_measure(subject.low + new.low)
    return Change("likely" if measured else "changed_value", "value", subject, old, new)


def _elsewhere(clause: Clause) -> Iterator[Change]:
    """Yield the change of place of somebody who is in one place at a time."""
    if clause.find("now") >= 0 or not _is_present(clause):
        return
    for at in range(1, len(clause) - 1):
        start = _place(clause, at)
        name = _name(clause, start)
        if start and len(name) and start + len(name) == len(clause):
            yield Change("likely", "place", clause[:start], new=name)


def _place(clause: Clause, at: int) -> int:
    """Return where the place that a verb gives begins; 0 if it gives none."""
    given = clause.stems[at] in _PLACES and clause.low[at + 1] in {"in", "at", "for"}
    return at + 2 if given else 0


def _given(clause: Clause) -> tuple[Clause, Clause]:
    """Return the subject of a statement and what its verb assigns to it; the latter is empty without such a verb."""
    for index in range(1, len(clause)):
        for verb in BEGINNINGS:
            if clause.stems[index : index + len(verb)] == verb:
                subject = _thing(clause[:index])
                known = any(word not in STOP_WORDS for word in subject.low)
                return subject, clause[index + len(verb) :] if known else Clause()
    return clause, Clause()


def _name(clause: Clause, start: int) -> Clause:
    """Return the capitalised words from an index on."""
    end = start
    while end < len(clause) and clause.named[end]:
        end += 1
    return clause[start:end]


def addition(clause: Clause) -> Clause:
    """Return what follows the thing that a clause begins with, if any."""
    end = next((index for index, word in enumerate(clause.low) if word in words.BOUNDARY), len(clause))
    return clause[end:]


def _thing(clause: Clause) -> Clause:
    """Return a thing without its owner, if that is the speaker."""
    return clause[1:] if clause.low[:1] in {("my",), ("our",)} else clause


def _without_auxiliaries(clause: Clause) -> Clause:
    """Return the clause without the auxiliaries at its end."""
    end = len(clause)
    while end and clause.stems[end - 1] in _AUXILIARIES:
        end -= 1
    return clause[:end]


def _values(clause: Clause) -> Mapping[str, frozenset[str]]:
    """Return the values of a clause by their type; a count has the type of what is counted."""
    kinds: dict[str, set[str]] = {}
    for index, word in enumerate(clause.low):
        if kind := _value_kind(clause, index):
            value = _ORDINAL.sub(r"\1", word).replace(",", "")
            kinds.setdefault(kind, set()).add(WEEKDAYS.get(value) or MONTHS.get(value) or NUMBERS.get(value) or value)
    return {kind: frozenset(values) for kind, values in kinds.items()}


def _value_kind(clause: Clause, index: int) -> str | None:
    """Return the type of the value at an index; None if there is none."""
    word = clause.low[index]
    following = clause.low[index + 1] if index + 1 < len(clause) else ""
    figure = bool(_FIGURE.match(word)) or word in NUMBERS
    beside = {following, *clause.low[max(index - 1, 0) : index]}
    if word in WEEKDAYS:
        return "day"
    if word in MONTHS or _ORDINAL.fullmatch(word) or (figure and not beside.isdisjoint(MONTHS)):
        return "date"
    if _TIME.fullmatch(word) or (figure and following in {"am", "pm", "o'clock"}):
        return "time"
    if not figure:
        return None
    if word[0] in "$\u20ac\u00a3" or word[-1] == "%" or following in words.CURRENCIES:
        return "money"
    return f"number {stem(following)}" if following and following not in words.PLACED else "number"


def unlike_values(clause: Clause) -> set[str]:
    """Return the words of a clause that are neither values nor go with them."""
    return {
        root
        for index, (root, word) in enumerate(zip(clause.stems, clause.low, strict=True))
        if word not in words.PLACED and word not in words.UNITS and _value_kind(clause, index) is None
    }


def _stems(of: Iterable[str]) -> frozenset[str]:
    return frozenset(words.FORMS.get(word) or stem(word) for word in of)


_USES: Final = _stems(words.USES)
_PRACTICES: Final = _stems(words.PRACTICES)
_PLACES: Final = _stems(words.PLACES)
_LIVE: Final = stem("live")
_WHEN: Final = frozenset({"day", "date"})
"""Types of values that name a day: one may name it more closely than the other."""
_GIVEN_UP: Final = words.CALLED_OFF | {"quit"}
_MOVING: Final = words.MOVES | words.SWITCHES | {"replaced"}
