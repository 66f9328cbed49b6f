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
from memory_pipeline.text.lang.en.stemming import stem as english_stem
from memory_pipeline.text.lang.registry import ENGLISH, pack
from memory_pipeline.text.parse import dates, facts, tokens
from memory_pipeline.text.parse.glosses import gloss
from memory_pipeline.text.parse.speakers import ASSISTANTS, USERS

_KINDS: Final = (
    (
        "wish",
        (
            r"\b(?:can|could|would|will) you (?:please )?(?:show|help|explain|write|give|suggest|recommend"
            r"|walk|make|create|draft|tell me how|describe|provide|guide|teach|plan|find|list some)\b"
            r"|^how (?:do|should|can|could|would) (?:i|we|you|one)\b|\b(?:do|would) you (?:suggest|recommend"
            r"|advise)\b|\bshould i\b|^(?:please|help me|show me|explain|suggest|recommend)\b"
            r"|^(?:i'm (?:looking|planning|trying|thinking|working)|i (?:want|need|would like|'d like) to)\b"
            r"|\bif i\b.*\bhow (?:do|should|can) i\b"
        ),
    ),
    (
        "duration",
        (
            r"^how long\b|\bhow (?:many|much) (?:more )?(?:second|minute|hour|day|night|week|month|year"
            r"|decade)s?\b|\bhow old\b"
        ),
    ),
    (
        "number",
        (
            r"\bhow (?:many|much|often|far|tall|big|large)\b|\bwhat (?:is |was )?(?:the )?(?:number"
            r"|percentage|amount|price|cost|score|total|rate)\b"
        ),
    ),
    (
        "date",
        (
            r"\bwhen (?:exactly |else )?(?:did|do|does|is|was|were|are|am|will|would|has|have|had|can|could|should)\b"
            r"|\bwhen\W*$"
            r"|\b(?:since|until|till|and|know|remember|say|said|me) when\b"
            r"|\b(?:what|which|on what|in which|in what) (?:date|day|month|year|time|week|season)\b"
            r"|\bdeadline\b|\bhow long ago\b"
        ),
    ),
    (
        "place",
        (
            r"\bwhere\b|\b(?:what|which|in which|in what) (?:city|country|state|place|town|area|location"
            r"|venue|museum|park|beach|restaurant)\b"
        ),
    ),
    ("person", r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|people|friend|relative|family member|colleague)s?\b"),
    (
        "reason",
        (
            r"\bwhy\b|\bhow come\b|\bwhat (?:motivated|inspired|made|led|caused|prompted)\b|\b(?:reason"
            r"|motivation|inspiration)s?\b"
        ),
    ),
    (
        "name",
        (
            r"\b(?:what|which)\b.*\b(?:name|names|called|title|band|book|movie|film|song|game|brand|breed"
            r"|artist|author)s?\b"
        ),
    ),
)
"""Kinds of answer and the patterns of queries for them; the first match counts."""

_NOW: Final = re.compile(
    r"\b(?:currently|current|now|right now|nowadays|these days|at the moment|at present|presently"
    r"|as of now|as of today|today|still"
    r"|latest|newest|most recent|most recently|up to date|up-to-date|so far|to date|any ?more|any longer|lately)\b"
)
_LEAD: Final = r"(?:(?:and|so|but|ok|okay|hey|please|remind me|tell me|do you know|can you tell me)\W+)*"
_PRESENT: Final = re.compile(
    rf"^{_LEAD}(?:what|which|when|where|who|whose|how (?:many|much|often|long|old|big|far|tall))\b"
    r"(?:(?!\b(?:did|was|were|had)\b).)*?\b(?:is|are|am|do|does|has|have|'s)\b"
    rf"|(?:^|[.,;:!?]\s+){_LEAD}(?:(?:am|is|are|do|does)(?:n't)? (?!you\b)|(?:can(?:'t)?|will|won't) (?!you\b)"
    r"|(?:has|have)(?:n't)? (?:[\w'-]+ ){1,4}got\b)"
)
"""Asks in the present tense for a value, or whether something holds. "Has she been there?" asks for the past."""
_PAST: Final = re.compile(
    r"\b(?:did|was|were|had|used to|previous|previously|earlier|originally|original|initially|initial"
    r"|formerly|former|back then"
    r"|before|ago|first|yesterday|between|last (?:week|month|year|night|time|summer|winter|spring"
    r"|fall|autumn|[a-z]+day)"
    r"|in (?:19|20)[0-9]{2}|in total|altogether|across|over time|changed?|evolved?|mention(?:ed)?|said"
    r"|(?:has|have)(?:n't)? [^.!?]*?\bever"
    r"|(?:what|which) (?:[\w'-]+ ){0,4}?[\w'-]*[^\W's]s (?:has|have)(?:n't)?)\b"
)
"""Asks for the past, or for everything up to now: "Has she ever …", "Which books has she read?"."""
_OF_THE_FIRST: Final = re.compile(r"\b(?:of|for|with|[a-z]{3,}ing) (?:the|my|our|your|his|her|their) first\b")
""""first" that identifies a thing rather than a time: "the deadline of the first sprint"."""
_VALUE: Final = re.compile(
    rf"^(?:[\w ']{{1,30}}, )?{_LEAD}(?:(?:on|in|at|by|from|for|to|with|since|until|under|about|of) )?"
    r"(?:what|which|when|where|who|whom|whose|how (?:many|much|often|long|old|big|far|tall))\b"
    r"|^(?:am|is|are|do|does|can|will|may|must|should|has|have)(?:n't)? (?!you\b)"
)
"""Asks for a value, or whether something is so, in any tense."""
_PAST_TENSE: Final = re.compile(r"\b(?:did|was|were|had)\b")
"""Past tense: "on Monday" then means the last Monday."""
_POLAR: Final = re.compile(
    r"^(?:\W*(?:so|and|but|hey|ok)\W+)?(?:have|has|had|did|do|does|am|is|are|was|were|can|could|will|would)(?:n't)?\s"
)
_ASKING: Final = re.compile(r"\?|\b(?:who|whom|whose|what|which|when|where|why|how)\b")
_DATED: Final = re.compile(
    r"[0-9]|days?\b|night\b|week|month|year|decade|quarter|tomorrow|\b(?:spring|summer|autumn|fall|winter|morning|evening)\b"
    r"|\b(?:tues?|thur?s?|fri|sept?|jan|feb|mar|apr|june?|july?|aug|oct|nov|dec)\b|january|february|march|april|may\b|august"
    r"|september|october|november|december"
)
"""A text without any of these names no date."""
_SELF: Final = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself|we|our|ours|us)\b")
_YOU: Final = re.compile(
    r"\b(?:did|have|had|were|was) you (?:recommend|suggest|advise|propose|say|tell"
    r"|give|explain|mention|provide|list|describe)|\byou (?:recommended|suggested|advised|proposed"
    r"|said|told|gave|explained|mentioned|provided|listed|described)|\byour (?:advice|suggestions?"
    r"|recommendations?|answers?)\b"
)
_RETROSPECTIVE: Final = re.compile(
    r"\b(?:did|have|has|had|was|were) (?:i|we|you|my|our)\b|\bwhen (?:did|does|is|was)\b"
    r"|\b(?:i|we|you) (?:said|mentioned|told|asked|brought|discussed|did|had|was|were|used|recommended|suggested)\b"
    r"|\b(?:summary|summari[sz]e|in order|order in which|conversations?)\b"
)
"""Signs that a query asks for what was said or done, not for help."""
_LISTED: Final = re.compile(r"(?:'s)?[\s,/&]*(?:and|or)?[\s,/&]*")
"""Text between the names of an enumeration."""
_FRAME_WORDS: Final = """
mention mentioned tell told say said talk talked discuss discussed conversation conversations chat chats
session sessions message messages question questions remember recall remind summary summarize summarise
comprehensive overview list order walk item items aspect aspects bring brought different kind kinds type types
name various several many much long often ever currently current now latest recent recently today please know
"""
_FRAME: Final = frozenset(english_stem(word) for word in _FRAME_WORDS.split())
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
    kind = next((kind for kind, pattern in _KINDS if re.search(pattern, plain)), None)
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
        now=asked_now and not re.search(r"\b(?:used to|previous|before|ago|back then)\b", plain),
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
