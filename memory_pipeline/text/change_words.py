"""Word lists by which a changed fact is known: what announces a change, what ends, what has one value at a time.

Words stand here as their *roots*: the common part of a verb, of what is done and of who does it. What is not here: how
statements are read (`statements`) and compared (`changes`).
"""

from typing import Final

from memory_pipeline.text.meanings import PAST, key

_SHORTEST: Final = 5
_ENDINGS: Final = (
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


def root(meaning: str) -> str:
    """The part that integrate, integration and integrator have in common, of words as `meanings` leaves them."""
    word = meaning.removesuffix(PAST)
    word = _SAME.get(word, word)
    if word.endswith("ing") and len(word) > _SHORTEST:
        word = word.removesuffix("ing")
    ending = next((one for one in _ENDINGS if word.endswith(one) and len(word) - len(one) >= _SHORTEST), "")
    return _SAME.get(word.removesuffix(ending), word.removesuffix(ending))


def roots(text: str) -> frozenset[str]:
    """Roots of words, separated by spaces."""
    return frozenset(root(key(word)) for word in text.split())


_SAME: dict[str, str] = {}
_SAME |= {
    key(word).removesuffix(PAST): key(group.split()[0]).removesuffix(PAST)
    for group in (
        "prefer preference preferred",
        "favorite favourite",
        "subscribe subscription",
        "allergic allergy",
        "recommend recommendation",
        "bike bicycle cycling",
        "fly flight flying",
        "enroll enrollment enrolment",
    )
    for word in group.split()
}
"""Words that ask for the same value; the first stands for all."""

PEOPLE: Final = roots("""
mother father mom dad parent sister brother son daughter kid child baby wife husband spouse partner fiance fiancee
girlfriend boyfriend aunt uncle cousin nephew niece grandma grandpa grandmother grandfather roommate flatmate neighbor
neighbour boss manager supervisor colleague coworker teammate friend mentor mentee client landlord dog cat puppy kitten
teacher professor coach doctor dentist therapist twin
""")
"""Whom a statement can be about besides its speaker."""

ONE_VALUED: Final = roots("""
live work promote car prefer named study attend school university college major manager boss supervisor doctor dentist
therapist trainer coach tutor landlord roommate partner boyfriend girlfriend fiance password email phone username
deadline budget price cost rent salary size color version plan model theme logo title destination venue location
provider insurer bank gym captain president ceo director lead leader capital birthday age weight height status
host breed brand nickname surname editor publisher carrier wifi passport born graduate commute
appointment timezone currency language diet engine framework database platform tool
""")
"""What has one value at a time: another value is a change, not an addition."""

FIXED: Final = roots("""
born birthday birthplace birth graduate graduation maiden die died founded native hometown invented discovered
married wedding ancestry nationality
""")
"""What never changes: two values contradict."""

STATES: Final = roots("""
like love enjoy hate dislike prefer want need have own use drink eat live work play trust believe believe support
smoke study attend speak belong know interested afraid allergic available open enabled active plan intend use subscribe
date single vegetarian vegan wear drive read watch follow run take practice teach train
""")
"""Verbs and adjectives of lasting states and habits: their denial is a change of mind, not a contradiction."""

PERSONAL: Final = 4
"""So many of the following groups say of themselves whom and what they are about."""
EXCLUSIVE: Final = tuple(
    tuple(frozenset(side.split()) for side in group.split("/"))
    for group in (
        "single/married/divorced/engaged/widowed/dating",
        "vegan/vegetarian/pescatarian/meat steak chicken beef carnivore omnivore",
        "employed/unemployed jobless/retired/freelance freelancer freelancing",
        "pregnant/birth delivered",
        "like likes love loves loved enjoy enjoys adore adores/hate hates hated detest despise loathe",
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
    )
)
"""Groups of sides of which one holds at a time, as they are written."""

LASTING: Final = frozenset(
    "older younger taller shorter true false guilty innocent introvert extrovert alive dead".split()
)
"""Sides that nobody changes: two of them contradict."""

RANKED: Final = roots("floor grade place level semester year stage tier rank gear")
"""Of these an ordinal is a value ("third floor"), not the name of one of several things ("first draft")."""

IDLE: Final = roots("""
increase increased decrease reduce raise lower move moved reschedule postpone push pushed shift switch replace change update
upgrade downgrade improve improvement grow growth extend extension expand expansion reach bump become turn revise adjust boost
gain drop cut delay recent recently new another additional total finally anymore longer instead actual actually promote
promotion transfer relocate convert swap renew rename adopt trade bring forward back rise fall jump climb double
hold held be last past earlier later plan plans mind decide decided way
""")
"""Words that tell of a change, not of what changes."""

GENERIC: Final = roots("""
thing way make get go come help try want need use look know think see take give say tell new now current today time day
week month year good great best lot bit also project work example question issue problem understand learn sure start
keep feel plan let day people really able different specific currently recent step show ensure follow add create
trying especially considering kinda curious worried wonder wondering having mean trouble specifically useful
advice tip wanted finish complete sense expect working calculate calculation decide deal focus include involve etc kind sort type part number
""")
"""Words that many statements share without being about one thing."""

_CHANGED: Final = (
    r"changed|moved|rescheduled|postponed|pushed|shifted|switched|replaced|increased|decreased|reduced|dropped|rose|risen"
    r"|raised|grew|grown|extended|expanded|improved|reached|bumped|upgraded|downgraded|became|become|turned|revised"
    r"|adjusted|promoted|transferred|relocated|converted|swapped|delayed|lowered|renewed|renamed|updated|boosted|gained"
    r"|went (?:up|down|from)|brought forward|climbed|jumped|fell|fallen|shrunk|doubled|tripled|cut"
)
CHANGING: Final = (
    rf"(?-u:\b)(?:{_CHANGED}|now|currently|new|newly|latest|instead|total of|so far|since then|recently|additional|no longer"
    r"|anymore|(?:moving|switching|changing|increasing|rescheduling|pushing|postponing|expansion of|growth of)"
    r"|stopped|quit|joined|started|got (?:a |promoted|married|divorced|engaged)|added)(?-u:\b)"
)
"""Words by which a statement says that something is not as it was."""

RISEN: Final = (
    rf"(?-u:\b)(?:{_CHANGED}|reach|reaching|hit|now|currently|total|up|down|new|latest|recently|increase|expand|extend|update|becom(?:e|ing)"
    r"|so far|already|changing|moving|rescheduling|raising|lowering|extending|pushing)(?-u:\b)"
)
"""Words before a number that say that it is new."""

MOVED: Final = (
    r"(?-u:\b)(?:moved|moving|reschedul(?:ed?|ing)|postpon(?:ed?|ing)|push(?:ed|ing)|shift(?:ed|ing)|delay(?:ed|ing)|extend(?:ed|ing)"
    r"|extension|brought forward|chang(?:ed|ing) (?:[a-z]+ ){0,4}to|adjust(?:ed|ing)|revised|instead|swapped|switched|set back|(?:earlier|later|rather) than"
    r"|(?:new|updated|revised) (?:[a-z]+ ){0,2}(?:deadline|date|time|slot|schedule|day|hour)s?|now)(?-u:\b)"
)
"""Words by which a statement gives an event another time."""

CORRECTING: Final = (
    r"(?-u:\b)(?:actually|correction|i was wrong|i meant|mistaken|i made a mistake|my mistake|scratch that|in fact"
    r"|contrary to|turns out|not [a-z0-9]+ (?:but|as i said))(?-u:\b)"
)
"""Words by which a statement takes back another."""

_UNTIL: Final = r"((?:[^\s.,;:!?]+(?:\.[^\s.,;:!?]+)* ?){1,7})"
_FROM: Final = r"(?:switch|mov|migrat|transition|chang|upgrad|shift|transferr|relocat|convert)(?:ed|ing)|swapp(?:ed|ing)|went|going"
_WAS: Final = (
    rf"(?:(?:{_FROM}) (?:[a-z']+ ){{0,5}}?from|no longer|stop(?:ped|s)?|stopping|quit(?:ting|s)?|gave up|given up|giving up|cancel(?:l?ed|l?ing)?|sold"
    r"|got rid of|get rid of|ended|broke up with|(?:resigned|retired|stepped down) (?:from|as)|took over from|moved out of|discontinued|abandoned|scrapped"
    r"|instead of|rather than|replac(?:ed|ing|es)|traded in|ditched|(?:i|we|he|she|they|you) used to|dropped out of|formerly|previously|done with"
    r"|divorced|fired from|laid off from|unsubscribed from|left (?:my|our|his|her|their)|outgr(?:ew|own)|passed on|backed out of"
    r"|called off|gave away|can't stand|cannot stand)"
)
ENDED: Final = rf"(?-u:\b){_WAS}(?-u:\b) (?:my |the |our |a |an |being |be |to )?{_UNTIL}"
"""What a statement says is over: the words after such an expression."""
ENDED_STOP: Final = r" (?:and|but|because|so|since|now|anymore|any more|last|this)(?-u:\b).*$"
"""Where those words end."""
GIVEN_UP_FOR: Final = r" (?:to|with|for|in favou?r of|by)(?-u:\b).*$"
"""Where they end when something else takes the place."""
PASSIVE_END: Final = (
    r"(?-u:\b)(?:was|is|were|are|been|got|has|have|been)(?: been| now)? (?:cancel(?:l?ed)|called off|discontinued|scrapped|closed"
    r"|sold|shut down|over|dropped|abandoned|removed|deprecated|postponed indefinitely)(?-u:\b)"
    r"|(?-u:\b)(?:broke up|split up|passed away|died|fell through|won't be happening|has ended|came to an end)(?-u:\b)"
)
"""A statement whose subject has ended."""
