"""Cues: the expressions that tell how a clause says something: it asks, supposes, denies, changes or ends it.

All are patterns over lower-case clauses, written for the regular expressions of Polars, whose word boundaries are
faster in ASCII; `python` turns one into a pattern of Python. What is not here: lists of single words (`change_words`),
and what follows from a cue (`statements`, `fact_rules`).
"""

import re
from typing import Final

import polars as pl

from memory_pipeline.text import change_words as words

_BOUNDARY: Final = r"(?-u:\b)"


def python(pattern: str) -> re.Pattern[str]:
    """A pattern of this module for Python."""
    return re.compile(pattern.replace(_BOUNDARY, r"\b"))


def any_of(expressions: str) -> str:
    """A pattern of expressions, separated by semicolons, that stand as whole words."""
    parts = (" ".join(one.split()) for one in expressions.split(";"))
    return rf"{_BOUNDARY}(?:{'|'.join(parts)}){_BOUNDARY}"


_LEAD: Final = (
    r"^\W*(?:(?:and|but|so|because|since|that|also|well|oh|hey|hi|ok|okay|yeah|yes|no|plus|then|wow|while|though"
    rf"|although|however|especially|considering|given){_BOUNDARY}[\s,]*)*"
)
_ASKING: Final = (
    rf"{_LEAD}(?:(?:can|could|would|will|should|do|does|did|is|are|was|were|have|has|am|may|might)(?:n't)? "
    rf"(?:i|you|he|she|it|we|they|there|this|that|these|those|the|my|your|anyone|someone){_BOUNDARY}"
    rf"|(?:who|what|which|where|why|when|how|whose|please|let's){_BOUNDARY}|let me know|(?:help|tell|show|give) me"
    rf"|i (?:need|want|would like|'d like) (?:you|your|some help|help){_BOUNDARY}|i wonder|not sure"
    rf"|i'm (?:wondering|curious|not sure){_BOUNDARY})"
)
_STATING: Final = any_of("fact that; now that; my new")
"""What makes a statement even of a question."""
_AHEAD: Final = 24
"""Letters before a modal verb up to which it governs the whole clause."""
_SUPPOSED: Final = rf"^.{{0,{_AHEAD}}}" + any_of("""
if; unless; would; might; maybe; perhaps; could; should; thinking (?:of|about); hypothetical(?:ly)?; imagine; suppose;
assuming; wish; hope; hoping; hopefully; dream of; (?:considering|contemplating) (?:an?|[a-z]+ing)
""")
_REPORTED: Final = any_of("said; told; promised; agreed; announced; decided")
_WISHED: Final = any_of("""
want(?:ed|s)? to; need(?:s|ed)? to; trying to; try to; aim(?:ing|s)? (?:to|for); goal; target; hoping to; would like to;
'd like to; like to; wish to; interested in; looking to; how to; stuck on; so i can; in order to; have to; eager to
""")

_NO_DENIAL: Final = any_of("""
not (?:only|just|sure|certain|to mention); no (?:need|problem|worries|doubt|wonder|matter|idea); why (?:not|don't);
(?:can't|couldn't) (?:wait|believe|help|agree); whether or not; nothing but; never mind;
don't (?:worry|forget|know|think|understand|want to|have time|have to|need to|mind); never been (?:better|happier|so)
""")
"""What sounds like a denial and is none."""
_DENIALS: Final = {
    "no_longer": any_of("""
        no longer; (?:not|[a-z]+n't) .{0,60} (?:anymore|any more|any longer); (?:i|we|he|she|they|you) used to
    """),
    "never": any_of("""
        never; without ever; not once; (?:have|has|had|with) no (?:prior |previous |real )?(?:experience|history|record)
    """),
    "undone": any_of("(?:have|has) not; haven't; hasn't; not yet; [a-z]+n't .{1,60} yet"),
    "did_not": any_of("did not; didn't; had not; hadn't; wasn't; weren't; was not; were not"),
    "not": any_of("""
        not; no; none; nobody; nothing; neither; nor; cannot; [a-z]+n't; isnt; dont; doesnt; cant; wont; unable to
    """),
}
"""Kinds of denial, in the order in which they are looked for."""

_CHANGED: Final = """
changed; moved; rescheduled; postponed; pushed; shifted; switched; replaced; increased; decreased; reduced; dropped;
rose; risen; raised; grew; grown; extended; expanded; improved; reached; bumped; upgraded; downgraded; became; become;
turned; revised; adjusted; promoted; transferred; relocated; converted; swapped; delayed; lowered; renewed; renamed;
updated; boosted; gained; went (?:up|down|from); brought forward; climbed; jumped; fell; fallen; shrunk; doubled;
tripled; cut; now; currently; new; latest; recently
"""
_CHANGING: Final = any_of(
    _CHANGED
    + """
; newly; instead; total of; so far; since then; additional; no longer; anymore; moving; switching; changing; increasing;
rescheduling; pushing; postponing; expansion of; growth of; stopped; quit; joined; started; added;
got (?:a|promoted|married|divorced|engaged)
"""
)
RISEN: Final = any_of(
    _CHANGED
    + """
; reach; reaching; hit; total; up; down; increase; expand; extend; update; becom(?:e|ing); so far; already; changing;
moving; rescheduling; raising; lowering; extending; pushing
"""
)
"""Before a number: it is a new one."""
_MOVED: Final = any_of("""
moved; moving; reschedul(?:ed?|ing); postpon(?:ed?|ing); push(?:ed|ing); shift(?:ed|ing); delay(?:ed|ing); extension;
extend(?:ed|ing); brought forward; chang(?:ed|ing) (?:[a-z]+ ){0,4}to; adjust(?:ed|ing); revised; instead; swapped;
switched; set back; (?:earlier|later|rather) than; now;
(?:new|updated|revised) (?:[a-z]+ ){0,2}(?:deadline|date|time|slot|schedule|day|hour)s?
""")
_CORRECTING: Final = any_of("""
actually; correction; i was wrong; i meant; mistaken; i made a mistake; my mistake; scratch that; in fact; contrary to;
turns out; not [a-z0-9]+ (?:but|as i said)
""")
NOWADAYS: Final = python(
    any_of("""
now; instead; anymore; these days; nowadays; lately; changed; switched; renamed; swapped; moved; no longer; became; new
""")
)
INSTEAD: Final = python(any_of("now; instead; anymore; these days; nowadays; lately; switched"))
BEGUN: Final = python(
    any_of("""
recently; started; bought; got; adopted; learned; learnt; first; finally; just; began; found; hired; signed up; again
""")
)
WORRIED: Final = python(any_of("worried; concerned; afraid; nervous; ensure; make sure; in case"))
ALWAYS: Final = python(any_of("always"))
GOAL: Final = python(
    any_of("""
goal; target(?:ing)?; aim; aiming; want; hope; hoping; need; to (?:reach|get|hit|finish|save|complete); achieve;
optimized for; at least; at most
""")
)
"""Shortly before a number: it is aimed at."""
WANTED: Final = python(any_of("aim; aiming; wants?; hoping; goal; target; targeting; would like"))
"""Anywhere before a number, likewise."""
ATTEMPTED: Final = re.compile(r"\b(?:trying|try|need|have|planning|going) to [a-z]+ (?:[a-z]+ )?$")
"""Right before a number, likewise."""

_FROM: Final = (
    "(?:(?:switch|mov|migrat|transition|chang|upgrad|shift|transferr|relocat|convert)(?:ed|ing)|swapp(?:ed|ing)|went"
    "|going) (?:[a-z']+ ){0,5}?from"
)
_OVER: Final = any_of(f"""
{_FROM}; no longer; stop(?:ped|s|ping)?; quit(?:ting|s)?; gave up; given up; giving up; cancel(?:l?ed|l?ing)?; sold;
(?:got|get) rid of; ended (?:my|our|the|his|her|their); broke up with;
(?:resigned|retired|stepped down) (?:from|as); took over from; moved out of;
discontinued; abandoned; scrapped; instead of; rather than; replac(?:ed|ing|es); traded in; ditched; dropped out of;
(?:i|we|he|she|they|you) used to; formerly; previously; done with; divorced; fired from; laid off from; passed on;
unsubscribed from; left (?:my|our|his|her|their); outgr(?:ew|own); backed out of; called off; gave away; can't stand;
cannot stand
""")
_PHRASE: Final = r"((?:[^\s.,;:!?]+(?:\.[^\s.,;:!?]+)* ?){1,7})"
ENDED: Final = rf"{_OVER} (?:my |the |our |a |an |being |be |to )?{_PHRASE}"
"""What a clause says is over: the words behind such an expression."""
ENDED_STOP: Final = python(rf" (?:and|but|because|so|since|now|anymore|any more|last|this){_BOUNDARY}.*$")
"""Where those words end."""
REPLACING: Final = re.compile(r"\b(?:from|replac\w+|traded in)\b")
REPLACED_STOP: Final = python(rf" (?:to|with|for|in favou?r of|by){_BOUNDARY}.*$")
"""Where they end when something else takes the place."""
TRIED: Final = python(any_of("tried"))
LEFT: Final = re.compile(r"\b(?:left|leaving|moved out of|moved away from) ([^,.;]+)")
_OVER_ITSELF: Final = any_of("""
(?:was|is|were|are|been|got|has|have)(?: been| now)? (?:cancel(?:l?ed)|called off|discontinued|scrapped|closed|sold
|shut down|over|dropped|abandoned|removed|deprecated|postponed indefinitely); broke up; split up; passed away; died;
fell through; won't be happening; has ended; came to an end
""").replace(" |", "|")

_PERFECT: Final = any_of("""
(?:have|has|had|i've|we've) (?:[a-z]+ )?(?:been|[a-z]+ed|[a-z]+en|done|made|got|grown|become|won)
""")
PRESENT: Final = re.compile(
    r"(?:\b(?:will|is|are|am|to be|can|should|must)|'(?:m|re|s|ll))\b(?!.*\b(?:was|were|did)\b)"
)
_SIDED: Final = any_of("; ".join(sorted({word for sides in words.EXCLUSIVE for side in sides for word in side})))


def asking(low: pl.Series) -> pl.Series:
    """Whether each clause asks or requests instead of stating something."""
    return low.str.contains(_ASKING) & ~low.str.contains(_STATING)


def told(low: pl.Series) -> pl.DataFrame:
    """What cues tell of each clause: columns supposed, wished, moved, changing, correcting, perfect, over, denial.

    The columns ended and sides hold what was found, as written.
    """
    denying = low.str.replace_all(_NO_DENIAL, " ")
    denial = pl.coalesce(
        *(pl.when(pl.lit(denying.str.contains(pattern))).then(pl.lit(name)) for name, pattern in _DENIALS.items()),
        pl.lit(""),
    )
    return pl.DataFrame(
        {
            "supposed": low.str.contains(_SUPPOSED) & ~low.str.contains(_REPORTED),
            "wished": low.str.contains(_WISHED),
            "moved": low.str.contains(_MOVED),
            "changing": low.str.contains(_CHANGING),
            "correcting": low.str.contains(_CORRECTING),
            "perfect": low.str.contains(_PERFECT),
            "over": low.str.contains(_OVER_ITSELF),
            "ended": low.str.extract_all(ENDED),
            "sides": low.str.extract_all(rf"{_SIDED}(?:-[a-z]+)?"),
        }
    ).with_columns(denial=denial)
