"""Phrases of two related texts before and after a change: stages, replacements, cancellations, life circumstances.

Patterns over folded clauses, as in `cues`. Not here: the rules that apply them (`compare/likely_changes`).
"""

import re
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en.cues import ENDING_IDIOMS, any_of, compile_cue

_VALUE: Final = (
    r"(?P<value>[a-z0-9][^,.;:!?]{0,40}?)(?= (?:and|with|near|for|now|these|so|while|last|at|since)\b|[,.;:!?]|$)"
)
_HOUR: Final = (
    r"(?P<value>(?:(?:half|quarter) (?:past|to) )?(?:[0-9]{1,2}(?::[0-9]{2})?|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|noon|midnight)(?: thirty| fifteen)?(?: ?[ap]m)?)\b"
)
_DIET: Final = (
    r"\b(?P<value>vegan|vegetarian|pescatarian|pescetarian|keto|paleo|kosher|halal|(?:gluten|dairy|lactose|sugar)-free"
    r"|low-(?:carb|fat|sodium)|omnivore|carnivore)\b"
)
_WAKING: Final = (
    rf"\b(?:gets? up|getting up|out of bed|wakes? up|waking up|alarm|rings)\b[^,.;]{{0,25}}? (?:at|by|for) {_HOUR}"
)
_BEDTIME: Final = (
    r"(?<!of )(?<!up )\b(?:bed|asleep|lights out|turn in|bedtime is|stay up)\b"
    rf"[^,.;]{{0,12}}? (?:at |by |around |before |until |till )?{_HOUR}"
)
_VEHICLE: Final = (
    r"\b(?:(?:drives?|rides?|driving|riding|get around (?:in|on)|getting around (?:in|on)|(?:car|ride) is)"
    rf" (?:an?|my|the) {_VALUE}|takes? (?:an?|my|the) (?P<taken>.{{3,30}}?) (?:everywhere|to work))"
)
_PARTNER: Final = rf"\b(?:been seeing|dating|engaged to|married to|going out with) (?!(?:an?|some|the|my) ){_VALUE}"
_BOSS: Final = rf"\b(?:reporting to|report to|(?:boss|manager|supervisor|team lead) is|managed by) {_VALUE}"
_DWELLING: Final = (
    r"\b(?:live|lives|living|settled|based|home is|(?:flat|apartment|house|room|place|studio|condo|cottage)\b"
    rf"[^,.;]{{0,25}}) (?:in|near|at) {_VALUE}"
)
_SEEKING: Final = (
    r"\b(?P<value>unemployed|jobless|between jobs|out of work"
    r"|looking for (?:an? )?(?:new )?(?:job|work|position))\b"
)
_HIRED: Final = (
    r"\b(?:got|found|started|accepted|landed|have|signed) (?:an? |my |the )?"
    r"(?P<value>(?:[a-z]+ ){0,2}(?:job|position|offer|contract))\b"
)
LIFE_CIRCUMSTANCES: Final = {
    name: (re.compile(before), re.compile(after))
    for name, before, after in (
        (
            "home",
            _DWELLING,
            rf"\b(?:moved|relocated|moving|settled|home is|live now|living now)(?: [a-z]+)?(?: to| in| into)? {_VALUE}",
        ),
        (
            "job",
            rf"\b(?:i'm|i am|me,?|working as|work as|works as|job as) an? {_VALUE}",
            rf"\b(?:i'm|i am|working|work|works|started|hired|job)(?: now)?(?: as)? an? {_VALUE}",
        ),
        (
            "work",
            _SEEKING,
            _HIRED,
        ),
        ("boss", _BOSS, _BOSS),
        ("partner", _PARTNER, _PARTNER),
        ("diet", _DIET, _DIET),
        ("ride", _VEHICLE, _VEHICLE),
        ("rising", _WAKING, _WAKING),
        ("bedtime", _BEDTIME, _BEDTIME),
    )
}
"""Circumstances of which somebody has one at a time: patterns of the older and of the newer text."""
_REPLACED: Final = any_of("""
moved; switch(?:ed)?; changed; swapped; migrated; converted; transferred; upgraded; downgraded; replaced; renamed
; re(?:assigned|located|scheduled|painted|placed|worked|organi[sz]ed); postponed; pushed; shifted; slipped; delayed
; brought forward; handed; took over; taken over; step(?:ped)? down; turned (?:down|into|to); traded
; put (?:off|back|up); raised
; lowered; tightened; relaxed; increased; reduced; (?:cut|scaled|dialled|dialed) (?:back|down); gone (?:up|down)
; went (?:up|down); (?:down|up) (?:to|from); ha(?:s|ve) (?:grown|shrunk|risen|fallen|become|turned); used to
; changed (?:my|our|his|her|their) minds?; over to; decided (?:to|on|against)
; opted; going with; went with; settled on; re(?:written|wrote|built|designed|done|made|decorated)
; no longer; any ?more; rather than; instead; these days; nowadays
; ended up; turns out; from now on; on second thoughts?; after all; lately; elected; appointed; promoted
""")
REPLACED: Final = compile_cue(_REPLACED)
"""Something replaced something else."""
_SUCCEEDED: Final = any_of("""
ha(?:s|ve) (?:taken|took) over; took over; taking over; replaced; replaces; succeeded; stepped in
; was (?:elected|appointed|named|chosen)
; is (?:now|the new); became
""")
SUCCEEDED: Final = compile_cue(_SUCCEEDED)
"""Somebody succeeded somebody else."""
ADOPTED: Final = re.compile(
    r"\b(?:adopted|introduced|went with|going with|settled on|decided on|chose|picked|opted for|trying)"
    r" (?:the |an? )?(?P<value>[^,.;:!?]+)"
)
FREQUENCY: Final = re.compile(
    r"\b(?:(?:[0-9]+ times|once|twice|three times|four times|five times) (?:an?|per|every|each) [a-z]+"
    r"|every (?:first |second |third |other )?(?:day|week|month|quarter|year|morning|evening|hour|[a-z]+day)"
    r"|daily|weekly|fortnightly|monthly|quarterly|yearly)\b"
)
_STAGES: Final = (
    (r"\b(?:rent|renting|lease)\b", "bought; own; moved out", False),
    (r"\bengaged\b", "married; wedding; called off; broke", True),
    (
        r"\b(?:dating|seeing|boyfriend|girlfriend|together with)\b",
        "engaged; married; broke up; split; fiancée?; ex",
        False,
    ),
    (
        r"\b(?:single|divorced)\b",
        "dating; seeing (?:someone|somebody); met (?:someone|somebody); boyfriend; girlfriend; engaged",
        True,
    ),
    (r"\b(?:saving (?:up )?|want to save )for\b", "bought; got", False),
    (r"\b(?:pregnant|expecting)\b", "born; birth; newborn; delivered", False),
    (r"\b(?:studying|student|enrolled|degree|thesis)\b", "graduated; dropped out; defended", False),
    (r"\blearning (?:how )?to\b", "can; know how to; learned; mastered", False),
    (
        r"\b(?:looking for|searching for|hunting|shopping for|in the market for|want to find)\b",
        "found; bought; got; hired; chose; picked; decided; signed; adopted",
        False,
    ),
    (r"\b(?:applying|applied|interviewing|candidate)\b", "got; accepted; rejected; hired; offer; admitted", False),
    (
        r"\b(?:waiting|pending|awaiting|under review|on order|on its way|in transit)\b",
        "arrived; came; received; approved; rejected; delivered; got; granted; here; merged",
        False,
    ),
    (
        r"\b(?:broken|broke down|in repair|repairs?|being (?:fixed|repaired)|in the garage|down|leaking)\b",
        "fixed; repaired; back; works; working; running",
        False,
    ),
    (
        r"\b(?:sick|ill|flu|cold|injured|sprained|broken|hospital|recovering|crutches|fever)\b",
        "better; recovered; home; healed; discharged; healthy; well again",
        False,
    ),
    (
        r"\b(?:being|renovating|renovated|building|negotiating|in progress|under construction|working on)\b",
        "finished; completed; done; ready; signed; over; launched; shipped",
        False,
    ),
    (
        r"\b(?:undecided|considering|torn between|debating|thinking (?:of|about)|can't decide)\b",
        "decided; chose; went with; picked; settled; opted",
        False,
    ),
)
STAGES: Final = tuple(
    (re.compile(before), compile_cue(any_of(after)), by_speaker) for before, after, by_speaker in _STAGES
)
"""An ongoing stage, its next stage, and whether both may be about the speaker alone, without a shared object."""
SWITCHED: Final = re.compile(
    r"\b(?:switched|migrated|moved|changed|converted|went|gone)(?: [a-z]+){0,2}? to (?:the |an? )?(?P<value>[^,.;:!?]+)"
)
_REVISED: Final = any_of("""
rais(?:e|ed|ing); lower(?:ed|ing)?; tighten(?:ed|ing)?; slipped; pushed; put (?:back|off|up|forward); brought forward
; moved; changed; increas(?:e|ed|ing); gone (?:up|down); went (?:up|down); grown; dropped; down to; up to; upgraded; now
; revised; cut; extended; bumped
""")
REVISED: Final = compile_cue(_REVISED)
"""A number was revised."""
RESCHEDULED: Final = compile_cue(
    any_of("""
slipped; pushed; put (?:back|off|forward); brought forward; moved; changed; now; instead; postponed; delayed
""")
)
"""A date was changed."""
_DROPPED: Final = any_of("""
cancel(?:l?ed)?; called off; dropped(?: out)?; quit; gave up; given up; stopped; left; step(?:ped)? down; moved out
; broke up; split up; traded; (?:is|are|was) off; fell through; scrapped; sold; got rid of; (?:backed|pulled|bailed) out
; won't be (?:able|going|coming); not going to; can't make it; retired; resigned; let go; laid off; (?:closed|shut) down
; (?:had|decided|chose|agreed) to (?:drop|quit|sell|cancel|leave|give up|stop|call|skip|step|pull|back|close|scrap)
; shaved off; ran out; postponed; died; passed away; came off; taken off; removed; broke(?: down)?; gave out; stolen
; skip(?:ped|ping); on hold; not happening; cancel(?:l?ing); quitting
; dropping; selling; giving up; leaving; stepping down; moving out; pulling out; backing out
""")
DROPPED: Final = compile_cue(_DROPPED)
"""Something was given up."""
_DONE: Final = any_of("""
finished; (?:is|are) (?:done|ready|over|back|home|finished|complete); completed; wrapped up; discharged; released
; (?:has|have|'s) (?:healed|recovered|arrived|finished|ended|passed|landed|come back|been filled); healed; recovered
; arrived; came (?:home|back); gave birth; delivered; filled
""")
DONE: Final = compile_cue(_DONE)
"""Something is finished."""
ONGOING: Final = re.compile(r"\b(?:am|is|are|still|waiting|pending)\b|\b[a-z]+'(?:m|re|s) (?!.*\bgoing to\b)")
ENDING_IDIOMS_COMPILED: Final = compile_cue(ENDING_IDIOMS)

_ANY_CHANGE: Final = "|".join(
    (
        _REPLACED,
        _SUCCEEDED,
        _REVISED,
        _DROPPED,
        _DONE,
        any_of("now; already; finally; different; new; not; other; first"),
        *(any_of(after) for _, after, _ in _STAGES),
    )
)
_ANY_CIRCUMSTANCE: Final = any_of("""
live; lives; living; settled; based; home; flat; apartment; house; room; place; studio; condo; cottage; moved; relocated
; moving; (?:i'm|i am|working|work|works|started|hired|job|me,?) (?:now )?(?:as )?an?; up; bed; bedtime; alarm; rings
; asleep; drives?; driving; rides?; riding; car; takes?; (?:get|getting) around; single; vegan; vegetarian; pescatarian
; pescetarian; us(?:e|es|ing); runs?; host(?:s|ed)?; deploy; store; switched; migrated; adopted; settled; seeing; dating
; report; reporting; (?:was|were) (?:in|at); boss; manager; supervisor
; keto; paleo; kosher; halal; [a-z]+-free; low-[a-z]+; unemployed; jobless; it; it's; they; he; she
""")


def detect(low: pl.Series) -> pl.DataFrame:
    """Return whether each clause may be about a change (`changed`) and about a circumstance of life (`life`)."""
    return pl.DataFrame({"changed": low.str.contains(_ANY_CHANGE), "life": low.str.contains(_ANY_CIRCUMSTANCE)})
