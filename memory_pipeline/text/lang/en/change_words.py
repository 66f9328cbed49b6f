"""Word lists for change detection: single-valued attributes, mutually exclusive words, generic words.

Words stand as *roots*: the common part of a verb, its action noun and its agent noun. Not here: cue expressions
(`cues`), and how statements are compared (`compare/change_rules`).
"""

import re
from functools import lru_cache
from typing import Final

from memory_pipeline.text.lang.en.lemmas import PAST, lemma
from memory_pipeline.text.lang.en.lexicon import SMALL_TALK

_MIN_ROOT_LETTERS: Final = 5
_CACHED_ROOTS: Final = 1 << 16
"""Size of the cache of roots."""
_SUFFIXES: Final = (
    "ations",
    "ation",
    "itions",
    "ition",
    "ions",
    "ion",
    "ment",
    "er",
    "or",
    "ee",
    "ant",
    "at",
    "it",
    "if",
)


@lru_cache(maxsize=_CACHED_ROOTS)
def root(lemma: str) -> str:
    """Return the root of a lemma: the common part of integrate, integration and integrator."""
    word = lemma.removesuffix(PAST)
    word = _FIRST_OF_GROUP.get(word, word)
    if word.endswith("ing") and len(word) > _MIN_ROOT_LETTERS:
        word = word.removesuffix("ing")
    suffix = next(
        (
            candidate
            for candidate in _SUFFIXES
            if word.endswith(candidate) and len(word) - len(candidate) >= _MIN_ROOT_LETTERS
        ),
        "",
    )
    return _FIRST_OF_GROUP.get(word.removesuffix(suffix), word.removesuffix(suffix))


def word_root(word: str) -> str:
    """Return the root of a word as written."""
    return root(lemma(word))


def roots(text: str) -> frozenset[str]:
    """Return roots of words separated by spaces."""
    return frozenset(word_root(word) for word in text.split())


_FIRST_OF_GROUP: dict[str, str] = {}  # empty while `lemma` and `root` are first called
_FIRST_OF_GROUP |= {
    lemma(word).removesuffix(PAST): lemma(group.split()[0]).removesuffix(PAST)
    for group in (
        "prefer preference preferred",
        "favorite favourite",
        "subscribe subscription",
        "allergic allergy",
        "recommend recommendation",
        "bike bicycle cycling",
        "fly flight flying",
        "use using",
        "enroll enrollment enrolment",
    )
    for word in group.split()
}
"""Words that ask for the same value; the first represents its group."""
root.cache_clear()

PROVIDERS: Final = roots("doctor dentist boss manager supervisor landlord teacher professor coach therapist client")
"""People who change appointments and terms for somebody."""
NEAR_SYNONYMS: Final = {
    word_root(word): word_root(group.split()[0])
    for group in (
        "practice training rehearsal session",
        "flat apartment place home house",
        "price cost rent fare fee charge",
        "job work position role",
        "trip holiday journey",
        "show concert gig",
        "launch release rollout",
        "call name title",
        "boss manager supervisor",
        "car vehicle ride",
        "doctor clinic physician",
        "end finish expire",
        "leave depart",
        "spot place",
    )
    for word in group.split()
}
"""Near synonyms, for two texts known to be about one thing; the first stands for all."""
PEOPLE: Final = roots("""
mother father mom dad parent sister brother son daughter kid child baby wife husband spouse partner fiance fiancee
girlfriend boyfriend aunt uncle cousin nephew niece grandma grandpa grandmother grandfather roommate flatmate neighbor
neighbour boss manager supervisor colleague coworker teammate friend mentor mentee client landlord dog cat puppy kitten
teacher professor coach doctor dentist therapist twin
""")
"""People and pets that a statement can be about besides its speaker."""

SINGLE_VALUED: Final = roots("""
favorite address employer job name nickname number code pin deadline quota limit rate score
car school university college major manager boss supervisor doctor dentist
therapist trainer coach tutor landlord roommate partner boyfriend girlfriend fiance password email phone username
deadline budget price cost rent salary size color version plan model theme logo title destination venue location
provider insurer bank gym captain president ceo director lead leader capital birthday age weight height status
host breed brand nickname surname editor publisher carrier wifi passport
appointment timezone currency language diet engine framework database platform tool
""")
"""Attributes with one value at a time: another value is a change, not an addition."""

MULTI_VALUED: Final = roots("""
like love enjoy know speak buy visit see watch eat try meet learn grow sell adopt add hate own bring find collect order
recommend cook bake draw write paint plant travel need want plan mention prepare manage miss share appreciate thank
test improve consider complete support feel pic photo tell talk enjoyed
""")
"""Verbs that take several objects at once: another object replaces nothing by itself."""
CREATION_VERBS: Final = roots(
    "buried built made written founded invented discovered painted composed designed directed born"
)
"""What is done to a thing once and for all."""
SINGLE_OBJECT_VERBS: Final = roots("""
live reside stay work use drive deploy host run store keep wear rent train practice sleep commute park bank build
study attend record sit stand hang belong report subscribe
""")
"""Verbs that mostly have one object or place at a time: another one replaces it."""
PAINTING: Final = roots("painted")
USING: Final = roots("use")
SINGLE_HOLDER_VERBS: Final = roots(
    "own lead maintain manage head run chair captain coach handle supervise direct conduct organize"
)
"""What one person does at a time."""
ONE_TIME_VERBS: Final = roots("happen occur erupt collapse crash sink explode break")
"""What happens to a thing once."""
MEETING: Final = roots("met")
"""What two people do once: from then on they know each other."""
HYPONYMS: Final = {
    word_root(kind): roots(members)
    for kind, members in {
        "sibling": "brother sister twin",
        "child": "son daughter kid baby toddler",
        "pet": "dog cat hamster rabbit parrot puppy kitten tortoise turtle budgie goldfish",
        "instrument": "piano guitar violin cello flute drums trumpet saxophone clarinet harp ukulele",
        "bone": "arm leg wrist ankle finger toe rib collarbone hip",
        "alcohol": "wine beer whisky vodka gin cocktail champagne rum",
        "meat": "chicken beef pork steak lamb bacon sausage ham",
        "vehicle": "car truck van motorbike scooter",
        "sport": "tennis football soccer basketball hockey rugby volleyball badminton",
        "surgery": "operation appendectomy bypass",
    }.items()
    for kind, members in [(kind, members)]
}
"""Kinds of things and their members: who has none of a kind has none of its members."""
GENERAL_VERBS: Final = roots("use work try touch handle deal meet visit collaborate experience background knowledge")
"""Verbs so general that many other verbs contradict their negation."""
POSSESSION_VERBS: Final = roots("have own drink eat play keep get")
"""Verbs of having or consuming some of a kind."""
FAVOURITE: Final = roots("favorite")
"""Says nothing without the thing that is the favourite."""
SCHEDULED: Final = roots("start begin open close leave depart end meet arrive land happen finish expire due")
"""What a thing does at a set time."""

IMMUTABLE: Final = roots("""
born birthday birthplace birth graduate graduation maiden die died founded native hometown invented discovered
married wedding ancestry nationality
""")
"""What never changes: two values contradict each other."""

ONLY_ONCE: Final = IMMUTABLE | CREATION_VERBS | ONE_TIME_VERBS
"""What happens once: of two years, one is wrong; anything else happened twice."""

CEREMONIES: Final = roots("wedding married marry graduation graduate")
"""Immutable in the past, but rescheduled while in the future."""
DAY_PARTS: Final = roots("morning afternoon evening night noon lunchtime")
"""Parts of a day."""

STATIVE: Final = roots("""
like love enjoy hate dislike prefer want need have own use drink eat live work play trust believe support
smoke study attend speak belong know interested afraid allergic available open enabled active plan intend use subscribe
date single vegetarian vegan wear watch follow run take practice teach train
""")
"""Verbs and adjectives of lasting states and habits: their negation is a change of mind, not a contradiction."""

PERSONAL_GROUPS: Final = 4
"""The first so many groups of `EXCLUSIVE` are about the person who says them."""
EXCLUSIVE: Final = tuple(
    tuple(frozenset(side.split()) for side in group.split("/"))
    for group in (
        "single/married/divorced/engaged/widowed/dating",
        "vegan/vegetarian/pescatarian/meat steak chicken beef carnivore omnivore",
        "employed/unemployed jobless/retired/freelance freelancer freelancing",
        "pregnant/birth delivered",
        "like likes love loves loved enjoy enjoys adore adores/hate hates hated dislike dislikes detest despise loathe",
        "accepted accept approve approved/rejected reject declined decline refused refuse",
        "early/late",
        "enabled enable/disabled disable",
        "remote remotely/onsite",
        "won win/lost lose",
        "passed pass/failed fail",
        "open opened/closed close shut",
        "alive/dead",
        "full-time/part-time",
        "older/younger",
        "oldest eldest/youngest",
        "draft/published",
        "alpha/beta/available",
        "taller/shorter",
        "daily/weekly/monthly/yearly annually/biweekly",
        "introvert/extrovert",
        "true/false",
        "succeeded succeed/failed fail",
        "cancelled cancel/confirmed confirm",
        "pending/shipped/delivered",
        "beginner/intermediate/advanced",
        "junior/senior",
        "aisle/window",
        "indoor indoors/outdoor outdoors",
        "public/private",
        "optional/mandatory required",
        "renting/own owner",
        "introverted/extroverted",
        "left-handed/right-handed",
        "guilty/innocent",
        "inward inwards/outward outwards",
        "safe/unsafe",
        "empty/full",
        "online/offline",
        "remembered remember/forgot forget",
        "frozen/thawed",
        "clockwise/counterclockwise anticlockwise",
        "deaf/hearing",
        "ascending/descending",
        "legal/illegal",
        "vertical/horizontal",
    )
)
"""Groups of sides of which one holds at a time, as written."""

_COUNTERPARTS: Final = tuple(
    tuple(re.compile(rf"\b(?:my|our|his|her|their|the|your) (?:{side})\b") for side in pair.split("/"))
    for pair in (
        "left/right",
        "old|former|previous/new|current",
        "upper|upstairs/lower|downstairs",
        "front/back|rear",
        "first/second|last|next",
        "big|bigger|large/small|smaller|little",
        "north|northern/south|southern",
        "older|elder/younger",
        "morning/afternoon|evening",
        "summer/winter",
        "indoor/outdoor",
        "red/blue|green|yellow|black|white",
    )
)


def names_counterparts(one: str, other: str) -> bool:
    """Return whether two folded clauses are each about one of a pair of things: my left knee, my right knee."""
    return any(
        first.search(one if first_in_one else other) and second.search(other if first_in_one else one)
        for first, second in _COUNTERPARTS
        for first_in_one in (True, False)
    )


IMMUTABLE_STATES: Final = frozenset(
    {
        "older",
        "younger",
        "oldest",
        "eldest",
        "youngest",
        "taller",
        "shorter",
        "true",
        "false",
        "guilty",
        "innocent",
        "left-handed",
        "right-handed",
        "inward",
        "outward",
        "safe",
        "unsafe",
        "legal",
        "illegal",
        "introvert",
        "extrovert",
        "dead",
    }
)
"""Sides that never change: two of them contradict each other."""

RANKED: Final = roots("floor grade place level semester year stage tier rank gear")
"""With these an ordinal is a value ("third floor"), not a label ("first draft")."""

CHANGE_WORDS: Final = roots("""
increase increased decrease reduce raise lower move moved reschedule postpone push pushed shift switch replace change
update upgrade downgrade improve improvement grow growth extend extension expand expansion reach bump become turn revise
adjust boost gain drop cut delay recent recently new another additional total finally anymore longer instead actual
actually promote promotion transfer relocate convert swap renew rename adopt trade bring forward back rise fall jump
climb double hold held be last past earlier later plan plans mind decide decided way
""")
"""Words that say that something changes, not what changes."""

_GENERIC_WORDS: Final = """
thing way make get go come help try want need use look know think see take give say tell new now current today time day
week month year good great best lot bit also project work example question issue problem understand learn sure start
keep feel plan let day people really able different specific currently recent step show ensure add create
trying especially considering kinda curious worried wonder wondering having mean trouble specifically useful
stand old one people
advice tip wanted finish complete sense expect working calculate calculation decide deal focus include involve etc kind
sort type part number talk chat hear
"""
GENERIC: Final = roots(" ".join([_GENERIC_WORDS, *sorted(SMALL_TALK)])) - PEOPLE
"""Words that many statements share without being about one thing."""

ENDING_WORDS: Final = roots("""
break split pass away die fell through happen end cancel cancelled called off closed sold discontinued scrapped shut
abandoned removed deprecated postponed
""")
"""How a statement says that its subject is over."""
