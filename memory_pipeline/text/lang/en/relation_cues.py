"""Cues of how one memory relates to another: words of change, ending, addition, permanence, intention, offers, habit.

Closed classes and broad word classes of English, as patterns over folded text for the regular expressions of Polars.
Not here: what follows from a cue (`compare/relation_features`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from memory_pipeline.text.lang.en.cues import any_of

CUES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "change": any_of("""
changed?; moved?; moving; rescheduled; postponed; pushed; shifted; switch(?:ed|ing|es); replac(?:ed|ing|es); increased
; decreased; reduced; dropped; rose; risen; raised; grown?; grew; extended; upgraded; downgraded; bec(?:a|o)mes?; turned
; revised; adjusted; promoted; transferred; relocated; converted; swapp(?:ed|ing); delayed; lowered; renewed; renamed
; updated; refreshed; went (?:up|down|over|back); brought forward; doubled; halved; cut; now; new; instead; no longer
; any ?more; from now on; these days; nowadays; as of; since; (?:put|bumped|goes|going|gone) (?:me |us |up|down)
; in (?:his|her|its|their) place; in place of; stands? in; took (?:up|over); takes over; bought; signed; joined; started
; back; again; until; till; from [a-z]+ on; recreated; ported; migrated; gone; (?:is|are|was|were) being; came back
; returns?"""),
        "end": any_of("""
stop(?:ped|s|ping)?; quit(?:s|ting)?; gave up; given up; giv(?:es|ing) up; cancel(?:l?ed|l?ing|s)?; sold; got rid of
; get rid of; ended; ends?; over; closed?; done; finished; left; leaving; leaves; resigned; retired; died; dead; dropped
; scrapped; abandoned; deleted; removed; no longer; any ?more; used to; expired; reverted; withdrawn; thrown out
; called off; off; failed; broke; lost; fixed; solved; resolved; gone; paused; came back; returned; impossible; can't
; cant; cannot; isn't happening; handed in; vetoed; got over; went away; out of"""),
        "add": any_of("""
also; too; as well; another; second; in addition; additional; more; both; other; besides; on top; plus; added
; extra"""),
        "same": any_of("""
still; stays?; same; unchanged; as before; remains?; untouched; carr(?:y|ies) on; goes on; as ever"""),
        "plan": any_of("""
will; won't; going to; gonna; plans?; planned; planning; wants? to; wants; hop(?:es|ing|e) to; means to; might; may
; could; would; should; probably; maybe; perhaps; intends?; thinking (?:of|about); considering
; looking (?:for|at|into); viewing; hopes?; is to; are to; let's; [a-z]+'ll; due; tries; trying; tried; goal; target
; aims?; in talks"""),
        "quote": any_of("""
quot(?:e|ed|es); offer(?:ed|s)?; ask(?:ed|s)?; estimat(?:e|ed|es); proposed; suggest(?:ed|s)?; said; says; told
; according to; bid; price"""),
        "past": any_of("""
[a-z]{2,}ed; was; were; had; went; came; got; took; said; told; left; sold; bought; found; made; gave; did; began
; broke; lost; won; met; paid; put; ran; saw; sent; spent; felt; kept; held; flew; drove; ate; drank; wrote; read; grew
; knew; thought; brought; caught; taught; died; swam; rang"""),
        "present": any_of("""
is; are; am; has; have; always; never; every; each; prefers?; likes?; wants?; uses?; lives?; works?; keeps?; takes?
; plays?; goes; needs?; does(?:n't)?; do(?:n't)?; hates?; loves?; drinks?; eats?"""),
        "habit": any_of("""
every; each; always; usually; daily; weekly; monthly; yearly; per; a (?:day|week|month|year); mornings?; evenings?
; nights?; [a-z]+days; often; never; once; twice"""),
        "today": any_of("""
today; tonight; yesterday; this (?:morning|evening|afternoon|week|month|year); last (?:night|week|month|year); just
; tomorrow"""),
        "negation": any_of("""
not; no; never; none; nobody; nothing; neither; nor; cannot; [a-z]+n't; without; isnt; dont; doesnt; cant; wont; hardly
; no longer"""),
        "question": r"\?",
        "first_person": any_of("""
i; i'm; i've; i'd; i'll; im; my; me; mine; we; we're; we've; our; us; ill; ive"""),
        "onset": any_of("""
new; newly; now; from now on; these days; nowadays; currently; as of; since; from [a-z0-9 ]{2,14} on; starting"""),
        "return": any_of("""
back; again; reopened; once more; return(?:s|ed)?; returning; resumed?; restarted"""),
    }
)
"""Name of each cue and its pattern."""

REFERS_BACK: Final = any_of("""
same; unchanged; ditto; no changes?; stays? as (?:it|they) (?:is|was|are|were); see above
; (?:as|like) (?:before|ever|always|usual|previously|last [a-z]+|in [0-9]{4}|every [a-z]+)
; (?:as|like) (?:in )?(?:the )?previous [a-z]+
""")
"""A value that is said only by reference to what was said before."""
WEEKDAYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        form: day[:3]
        for day in ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
        for form in (day, f"{day}s", *((day[:3],) if day[:3] not in {"sat", "sun"} else ()))
    }
    | {"tues": "tue", "weds": "wed", "thur": "thu", "thurs": "thu", "weekend": "weekend", "weekends": "weekend"}
)
"""Weekday of each of its spellings."""
MONTHS: Final[Mapping[str, str]] = MappingProxyType(
    {
        form: month[:3]
        for month in (
            *("january", "february", "march", "april", "may", "june", "july"),
            *("august", "september", "october", "november", "december"),
        )
        for form in (month, *((month[:3],) if month[:3] != "mar" else ()))
    }
    | {"sept": "sep"}
)
"""Month of each of its spellings."""
NUMBERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        word: str(number)
        for number, word in enumerate(
            (
                *("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
                *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
            ),
            2,
        )
    }
    | {
        word: str(number)
        for number, word in zip(
            range(30, 100, 10), ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), strict=True
        )
    }
)
"""Digits of number words; "one" is an article too often."""
