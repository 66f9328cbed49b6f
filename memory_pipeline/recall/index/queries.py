"""Parses queries: content words, the speakers and dates they name, the kind of answer, and present or past."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from typing import Final

import numpy as np

from memory_pipeline.recall.index.postings import keys
from memory_pipeline.text.arrays import Floats, Integers, Keys
from memory_pipeline.text.lang import folding
from memory_pipeline.text.lang.en.lexicon import LISTS
from memory_pipeline.text.lang.en.stemming import stem as english_stem
from memory_pipeline.text.lang.registry import ENGLISH, pack
from memory_pipeline.text.parse import dates, facts, tokens
from memory_pipeline.text.parse.glosses import gloss
from memory_pipeline.text.parse.speakers import ASSISTANTS, USERS

_WORDS: Final = LISTS.section("queries")


def _any(name: str) -> re.Pattern[str]:
    return re.compile("|".join(_WORDS.expressions(name)))


_KINDS: Final = {
    kind: _any(kind) for kind in ("wish", "duration", "number", "date", "place", "person", "reason", "name")
}
"""Kinds of answer and what queries for them say; the first match counts."""
_NOW: Final = _any("now")
_NOT_NOW: Final = _any("not_now")
_LEAD: Final = r"(?:(?:and|so|but|ok|okay|hey|please|remind me|tell me|do you know|can you tell me)\W+)*"
_PRESENT: Final = re.compile(
    rf"^{_LEAD}(?:what|which|when|where|who|whose|how (?:many|much|often|long|old|big|far|tall))\b"
    r"(?:(?!\b(?:did|was|were|had)\b).)*?\b(?:is|are|am|do|does|has|have|'s)\b"
    rf"|(?:^|[.,;:!?]\s+){_LEAD}(?:(?:am|is|are|do|does)(?:n't)? (?!you\b)|(?:can(?:'t)?|will|won't) (?!you\b)"
    r"|(?:has|have)(?:n't)? (?:[\w'-]+ ){1,4}got\b)"
)
"""Asks in the present tense for a value, or whether something holds. "Has she been there?" asks for the past."""
_PAST: Final = _any("past")
_OF_THE_FIRST: Final = _any("of_the_first")
_VALUE: Final = re.compile(
    rf"^(?:[\w ']{{1,30}}, )?{_LEAD}(?:(?:on|in|at|by|from|for|to|with|since|until|under|about|of) )?"
    r"(?:what|which|when|where|who|whom|whose|how (?:many|much|often|long|old|big|far|tall))\b"
    r"|^(?:am|is|are|do|does|can|will|may|must|should|has|have)(?:n't)? (?!you\b)"
)
"""Asks for a value, or whether something is so, in any tense."""
_PAST_TENSE: Final = _any("past_tense")
_POLAR: Final = _any("polar")
_ASKING: Final = _any("asking")
_DATED: Final = _any("dated")
_SELF: Final = _any("self")
_YOU: Final = _any("you")
_RETROSPECTIVE: Final = _any("retrospective")
_LISTED: Final = re.compile(r"(?:'s)?[\s,/&]*(?:and|or)?[\s,/&]*")
"""Text between the names of an enumeration."""
_FRAME: Final = frozenset(map(english_stem, _WORDS.listed("frame")))
"""Stems that refer to the memory itself rather than to its content."""
FRAME_WEIGHT: Final = 0.3
"""Weight of a stem of `_FRAME`."""
RARITY_POWER: Final = 0.5
"""Exponent of a word's rarity in the language, which counts beside its rarity among the memories."""


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A parsed query.

    Attributes:
        language: code of the language that its words are read in.
        plain: its text, folded, in English function words.
        stems: content words without the names of speakers, sorted.
        keys: the stems as hashes.
        emphasis: weight of each word: its rarity in the language, less if it only frames the question.
        speakers: positions of the speakers it asks about, or else of those that "I" and "you" refer to.
        named: the speakers are named.
        kind: kind of answer, one of `KINDS`, or None.
        spans: [dates, 2]: first day and day after the last (days since 1970) of each date it names.
        bounds: [dates, 2]: when these days begin in the time zone of the query, in microseconds since 1970.
        now: it asks explicitly for what holds now.
        present: it asks in the present tense for a value that may have changed.
        holds: it asks for a value, or whether something is so, and not in the past: the newest memory is wanted.
        past: it asks for the past, or for everything up to now.
        polar: it is a yes-no question.
        bare: it is a list of search words, not a question.
        open: it asks for help or for what holds in general, not for what was said or done.
        of_self: it says "I", "my" or "we", names nobody, and asks for no help: it may ask about the owner.
    """

    language: str
    plain: str
    stems: tuple[str, ...]
    keys: Keys
    emphasis: Floats
    speakers: tuple[int, ...]
    named: bool
    kind: str | None
    spans: Integers
    bounds: Integers
    now: bool
    present: bool
    holds: bool
    past: bool
    polar: bool
    bare: bool
    open: bool
    of_self: bool

    @property
    def ruled(self) -> bool:
        """Whether a standing rule for an assistant may apply: not to one about a speaker by name, or about the past."""
        return not self.named and not self.bare and (self.open or not self.polar)


def parse(text: str, *, now: datetime, speakers: tuple[str, ...], language: str | None = None) -> Question:
    """Parse a query asked at `now` about conversations between these speakers. Cost: about 1 ms.

    `now` is in the time zone whose days the query means; UTC without one. Its words are read in a language, by default
    English.
    """
    named = _named(text, speakers)
    low = folding.fold_text(text)
    plain = gloss(low, language or ENGLISH, question=True)
    rarity = tokens.rarities(low, language)
    stem = pack(language).stem
    left_out = {stem(part.lower()) for place in named for part in speakers[place].split()}
    dated = _dates(plain, now) if _DATED.search(plain) else {}
    left_out |= {stem for written in dated for stem in tokens.rarities(written) if re.search(r"\d", stem)}
    stems = tuple(sorted(rarity.keys() - left_out)) or tuple(sorted(rarity))
    emphasis = [(FRAME_WEIGHT if stem in _FRAME else 1.0) * (0.01 * rarity[stem]) ** RARITY_POWER for stem in stems]
    asked_now = bool(_NOW.search(plain))
    past = bool(_PAST.search(_OF_THE_FIRST.sub(" ", plain)))
    present = not past and bool(_PRESENT.search(plain))
    value = bool(_VALUE.search(plain))
    polar = bool(_POLAR.search(plain))
    kind = next((kind for kind, pattern in _KINDS.items() if pattern.search(plain)), None)
    bare = not polar and kind != "wish" and not _ASKING.search(plain)
    spans = np.array(sorted({span for spans in dated.values() for span in spans}), dtype=np.int64).reshape(-1, 2)
    return Question(
        language=language or ENGLISH,
        plain=plain,
        stems=stems,
        keys=keys(list(stems)),
        emphasis=np.array(emphasis),
        speakers=_asked_about(text, named) or _role(plain, speakers),
        named=bool(named),
        kind=kind,
        spans=spans,
        bounds=_beginnings(spans, now.tzinfo or UTC),
        now=asked_now and not _NOT_NOW.search(plain),
        present=present,
        holds=asked_now or present or (value and not past and kind != "wish"),
        past=past,
        polar=polar,
        bare=bare,
        open=not named and not bare and not _RETROSPECTIVE.search(plain),
        of_self=not named and kind != "wish" and bool(_SELF.search(plain)),
    )


def _dates(plain: str, now: datetime) -> dict[str, list[tuple[int, int]]]:
    """Return the dates of a lower-case text by their wording: first day and day after the last (days since 1970)."""
    today = now.date()
    past = bool(_PAST_TENSE.search(plain))
    spans_of = {
        written: [span for form in forms if (span := dates.span(form, today, past=past))]
        for written, forms in facts.dates_in(plain).items()
    }
    return {
        written: [((first - _EPOCH).days, (last - _EPOCH).days) for first, last in spans]
        for written, spans in spans_of.items()
        if spans
    }


_EPOCH: Final = date(1970, 1, 1)


def _beginnings(days: Integers, zone: tzinfo) -> Integers:
    """Return when days (since 1970) begin in a time zone, in microseconds since 1970."""
    start = datetime(1970, 1, 1, tzinfo=UTC)
    begun = [
        (datetime.combine(_EPOCH + timedelta(days=day), time(), zone) - start) // timedelta(microseconds=1)
        for day in days.ravel().tolist()
    ]
    return np.array(begun, dtype=np.int64).reshape(days.shape)


def _named(text: str, speakers: tuple[str, ...]) -> dict[int, tuple[int, int]]:
    """Return the speakers whose name or first name the text contains as a name, in its order, and their spans."""
    words: dict[str, tuple[int, int]] = {}
    for word in re.finditer(r"[^\W\d_][\w-]*", text):
        words.setdefault(folding.plain(word[0]), word.span())
    places = {}
    for place, name in enumerate(speakers):
        if name.lower() not in USERS | ASSISTANTS and name.split():
            first = folding.plain(name.split()[0])
            if span := words.get(first) or words.get(first.capitalize()):
                places[place] = span
    return dict(sorted(places.items(), key=lambda named: named[1]))


def _asked_about(text: str, named: dict[int, tuple[int, int]]) -> tuple[int, ...]:
    """Return the first speaker named and those enumerated with them: A and B of "What did A and B give C?"."""
    places = list(named)
    for last, (before, after) in enumerate(pairwise(named.values()), start=1):
        if not _LISTED.fullmatch(text[before[1] : after[0]]):
            return tuple(sorted(places[:last]))
    return tuple(sorted(places))


def _role(plain: str, speakers: tuple[str, ...]) -> tuple[int, ...]:
    """Return the user's side for "I", the assistant's side for "you said"."""
    wanted = ASSISTANTS if _YOU.search(plain) else USERS if _SELF.search(plain) else frozenset()
    return tuple(place for place, name in enumerate(speakers) if name.lower() in wanted)
