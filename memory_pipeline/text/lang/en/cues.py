"""Cue expressions: how a clause says that it asks, supposes, denies, changes or ends something.

All are patterns over folded clauses for the regular expressions of Polars, whose word boundaries are faster in ASCII;
`compile_cue` converts one to Python. Not here: word lists (`change_words`), and what follows from a cue
(`parse/statements`, `compare/change_rules`).
"""

import re
from typing import Final

import polars as pl

from memory_pipeline.text.lang.en import change_words as words

_BOUNDARY: Final = r"(?-u:\b)"


def compile_cue(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of this module for Python."""
    return re.compile(pattern.replace(_BOUNDARY, r"\b"))


def any_of(expressions: str) -> str:
    """Return the pattern of whole-word expressions separated by semicolons."""
    parts = (" ".join(expression.split()) for expression in expressions.split(";"))
    return rf"{_BOUNDARY}(?:{'|'.join(parts)}){_BOUNDARY}"


_LEAD_IN: Final = (
    r"^\W*(?:(?:and|but|so|because|since|that|also|well|oh|hey|hi|ok|okay|yeah|yes|no|plus|then|wow|while|though"
    rf"|although|however|especially|considering|given){_BOUNDARY}[\s,]*)*"
)
_REQUEST: Final = (
    rf"{_LEAD_IN}(?:(?:can|could|would|will|should|do|does|did|is|are|was|were|have|has|am|may|might)(?:n't)? "
    rf"(?:i|you|he|she|it|we|they|there|this|that|these|those|the|my|your|anyone|someone){_BOUNDARY}"
    rf"|(?:who|what|which|where|why|when|how|whose|please|let's|don't"
    rf"|do not){_BOUNDARY}|let me know|(?:help|tell|show|give) me"
    rf"|i (?:need|want|would like|'d like) (?:you|your|some help|help){_BOUNDARY}|i wonder|not sure"
    rf"|i'm (?:wondering|curious|not sure){_BOUNDARY})"
)
_QUESTION_MARK: Final = r"\?\W*$"
_FIRST_PERSON_START: Final = (
    rf"{_LEAD_IN}(?:i|i'm|i've|we|we're|we've|my|our|after|having|now that|(?:the )?fact that){_BOUNDARY}"
)
"""A question that starts like this may still state something."""
_STATEMENT_CUES: Final = any_of("""
fact that; now that; my new; from now on; going forward; in (?:the )?future; always; (?:call|address) me
; your (?:answers?|repl(?:y|ies)|responses?|messages); (?:reply|answer|respond|write|speak|talk) (?:to me )?in
; please (?:stop|quit|use|keep|avoid|format|stick|include|address|refer)
; when (?:i|we|he|she|they) (?:went|was|were|had|got|came|saw|took|did|[a-z]+ed)
""")
"""Cues of a statement even within a question."""
_MODAL_SCOPE: Final = 24
"""Characters before a modal verb up to which it governs the whole clause."""
_HYPOTHETICAL: Final = rf"^.{{0,{_MODAL_SCOPE}}}" + any_of("""
if; unless; would; might; maybe; perhaps; could; should; thinking (?:of|about); hypothetical(?:ly)?; imagine; suppose;
assuming; so (?:that )?(?:i|we|it|they) (?:don't|won't|can't|can|do not|will not);
wish; hope; hoping; hopefully; dream of; (?:considering|contemplating) (?:an?|[a-z]+ing)
""")
_REPORTED: Final = any_of("said; told; promised; agreed; announced; decided")
_DESIRED: Final = any_of("""
want(?:ed|s)? to; need(?:s|ed)? to; trying to; try to; aim(?:ing|s)? (?:to|for); goal; target; hoping to; would like to;
'd like to; like to; wish to; interested in; looking to; how to; stuck on; so i can; in order to; have to; eager to
""")

_NEGATION_IDIOMS: Final = any_of("""
not (?:only|just|sure|certain|to mention|all|every|everyone|always|necessarily|alone|gonna lie|too bad|bad);
no (?:need|problem|worries|doubt|wonder|matter|idea|pressure|rush|way|kidding|big deal|one like|place like|better);
why (?:not|don't); if not; not (?:how|what|why|where|when|who|which|a fan|an? [a-z]+ person);
not (?:the|this|that|another|again) [^.,;!?]{0,40}again;
never the (?:problem|issue|point);
(?:oh|ah|ugh) no; whether or not; or not; nothing but; no more than; not more than;
nothing (?:like|beats|better|wrong|compares|can|could|will|to worry); can't (?:wait|go wrong|beat);
(?:can't|cannot|can not|couldn't) (?:stand|bear);
(?:can't|cannot|can not|couldn't|could not)
(?:wait|believe|help|agree|stop|get enough|beat|complain|imagine|resist|thank|be happier|ask for|recommend)[a-z]*;
don't (?:worry|forget|know|think|understand|want to|have time|have to|need to|mind|get me wrong|give up|let|be|mention);
(?:never|won't|will not|don't|do not|didn't|not) (?:ever )?(?:giv[a-z]+ up|gave up|stop[a-z]*|cease[sd]?|fail[sd]? to);
never (?:mind|ending|too late|too old|too early|knew|know|thought|imagined|dreamed|forget|hurts|gets old|a dull);
never expected; (?:wouldn't|would not) (?:have missed|miss);
never been (?:better|happier|so|more|this|prouder|easier)
""")
"""Phrases with a negator that negate nothing."""
_NEGATIONS: Final = {
    "no_longer": any_of("""
        no longer; (?:not|[a-z]+n't) .{0,60} (?:anymore|any more|any longer); (?:i|we|he|she|they|you) used to
    """),
    "never": any_of("""
        never; without ever; not once; (?:have|has|had|with) no (?:prior |previous |real )?(?:experience|history|record)
        ; (?:have|has|had|with) no contact; (?:nobody|no one) (?:[a-z-]+ ){0,4}(?:has|have|had)
    """),
    "undone": any_of("(?:have|has) not; haven't; hasn't; not yet; [a-z]+n't .{1,60} yet"),
    "did_not": any_of("did not; didn't; had not; hadn't; wasn't; weren't; was not; were not"),
    "not": any_of("""
        not; no; none; nobody; nothing; neither; nor; cannot; [a-z]+n't; isnt; dont; doesnt; cant; wont; unable to
    """),
}
"""Kinds of negation, in the order in which they are tested."""

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
got (?:a|promoted|married|divorced|engaged); took over as; (?:was|were) (?:appointed|elected)
"""
)
_NOWADAYS: Final = """
now; from (?:now|today|tomorrow|this [a-z]+|next [a-z]+|[a-z]+ [0-9]+|[a-z]+) on(?:wards?)?; these days; nowadays
; any ?more; any longer; no longer; instead; currently; lately; at the moment; after all; recently; by now; finally
; as of (?:(?:this|next|last) )?[a-z0-9]+; since (?:last|this) [a-z]+; in fact; (?:it )?turn(?:s|ed) out(?: that)?
; on second thoughts?; actually; this time; for now
"""
_OPENING: Final = r"""
update; correction; attention; heads up; change of plans?; that(?:'s| has)? changed; things (?:have )?(?:moved|changed)
; until further notice; sorry; i misspoke; my mistake; scratch that; new plan; effective [a-z0-9]+
; (?:starting|beginning)(?: from| on| in| with)? (?:(?:this|next) )?[a-z0-9]+
; (?:after|because of|thanks to|due to|following) [^,:.]{3,40}(?:,|:)
; (?:after|with|since|following) (?:the|my|our) (?:new )?[a-z]+
"""
CHANGE_MARKERS: Final = rf"(?i){any_of(_NOWADAYS)}|^\W*(?:sorry,? )?{any_of(_OPENING)}[,:]?"
"""Expressions that mark a change and say nothing about what changes."""
CHANGING: Final = rf"{CHANGE_MARKERS}|{_CHANGING}"
"""Expressions that mark or say that something changes."""
_ANNOUNCED: Final = any_of(_CHANGED + "; " + _NOWADAYS) + rf"|^\W*{any_of(_OPENING)}"
_CORRECTION_START: Final = (
    r"^\W*(?:sorry|update|correction|actually|change of plans?|things moved|scratch that"
    r"|that(?:'s| has)? changed)(?:\W|$)"
)
_DECLARED: Final = (
    any_of("""
as of (?:(?:this|next|last) )?[a-z0-9]+; from (?:now|today|tomorrow|this [a-z]+|[a-z]+ [0-9]+) on(?:wards?)?; these days
; nowadays; any ?more; any longer; no longer; instead; used to be; misspoke; in fact; on second thoughts?; after all
; re(?:painted|assigned|opened|scheduled|named|placed|arranged|negotiated); (?:it )?turn(?:s|ed) out(?: that)?
; (?:has|have|had|was|were|i|we|they|been|got) (?:been )?(?:[a-z]+ )?(?:changed|switched|swapped|replaced)
""")
    + rf"|{_CORRECTION_START}|^\W*(?:attention|until further notice)\W"
    + r"|^\W*(?:starting|effective) (?:now|today|tomorrow|on|in|from|this|next|[a-z]+day|[a-z]+ [0-9])"
)
"""Expressions that unambiguously mark a change."""
_RETRACTING: Final = (
    any_of("no longer; any ?more; any longer; used to be; instead; misspoke; changed (?:my|his|her|their|our) minds?")
    + f"|{_CORRECTION_START}"
)
"""Expressions that mark a change and retract the earlier state."""
ADDING: Final = re.compile(r"\b(?:also|too|as well|another|besides|in addition|both|additionally|more|second|other)\b")
"""Marks an addition to what was said before."""
WORD: Final = re.compile(r"[^\W_]+(?:['.][^\W_]+)*")
NEW_NUMBER: Final = any_of(
    _CHANGED
    + """
; raise; lower; reach; reaching; hit; total; up; down; increase; expand; extend; update; becom(?:e|ing); so far
; already; changing;
moving; rescheduling; raising; lowering; extending; pushing
"""
)
"""Before a number: the number is new."""
_RESCHEDULED: Final = any_of("""
moved; moving; reschedul(?:ed?|ing); postpon(?:ed?|ing); push(?:ed|ing); shift(?:ed|ing); delay(?:ed|ing); extension;
extend(?:ed|ing); brought forward; chang(?:ed|ing) (?:[a-z]+ ){0,4}to; adjust(?:ed|ing); revised; instead; swapped;
switched; (?:set|put) back; put off; postponed; (?:earlier|later|rather) than; now;
(?:new|updated|revised) (?:[a-z]+ ){0,2}(?:deadline|date|time|slot|schedule|day|hour)s?
""")
_CORRECTING: Final = any_of("""
actually; correction; i was wrong; i meant; mistaken; i made a mistake; my mistake; scratch that; in fact; contrary to;
turns out; not [a-z0-9]+ (?:but|as i said)
""")
NOWADAYS: Final = compile_cue(
    any_of("""
now; instead; anymore; these days; nowadays; lately; changed; switched; renamed; swapped; moved; no longer; became; new
""")
)
INSTEAD: Final = compile_cue(any_of("now; stopped; instead; anymore; these days; nowadays; lately; switched"))
BEGINNING: Final = compile_cue(
    any_of("""
recently; started; bought; got; adopted; learned; learnt; first; finally; just; began; found; hired; signed up; again
""")
)
FINALLY: Final = compile_cue(any_of("finally; now; at last; by now; these days; already"))
"""A change after a long wait."""
JUST_NOW: Final = compile_cue(
    any_of("""
just; today; yesterday; tonight; finally; this (?:morning|afternoon|week|month); last (?:night|week); now; recently
""")
)
"""It happened only now."""
CONCERN: Final = compile_cue(any_of("worried; concerned; afraid; nervous; ensure; make sure; in case"))
INABILITY: Final = re.compile(
    r"\b(?:can't|cannot|can not|unable to|don't know how to|never learn(?:ed|t) (?:how )?to)\b"
)
"""Negation of an ability, which denies every instance."""
LONG_SINCE: Final = compile_cue(
    any_of(
        "for (?:years|ages|decades|a long time|(?:[a-z]+|[0-9]+) years); as a (?:child|kid|teenager); "
        "always; already; years ago; back in; in the past; used to; when i was; growing up; "
        "in my (?:first|twenties|thirties|teens|youth|school days); at (?:the age of )?(?:[a-z]+teen|[a-z]+teens)"
    )
)
"""It has been so for long."""
EXPERIENCED: Final = compile_cue(any_of("have been; has been; i've been; we've been; i've [a-z]+ed; have [a-z]+ed"))
CIRCUMSTANCE: Final = re.compile(
    r"\b(?:after|before|during|together with|along with|with (?:my|our|the|his|her)) ([a-z]+)"
)
"""The circumstance that a negation depends on."""
INSTEAD_OF: Final = re.compile(r"\b(?:rather than|instead of)\b")
_CONNECTIVE_START: Final = r"^(?:and |but |so |now |well |actually |recently )*"
STARTS_WITH_SPEAKER: Final = re.compile(_CONNECTIVE_START + r"(?:i|i'm|i've|we|we're)\b")
STARTS_WITH_THIRD_PERSON: Final = re.compile(_CONNECTIVE_START + r"(?:he|he's|she|she's)\b")
"""Whether a clause is about its speaker or about somebody else."""
FIRST_PERSON: Final = compile_cue(any_of("i; i've; i'm; we; we've; we're; my; our"))
ALWAYS: Final = compile_cue(any_of("always"))
GOAL: Final = compile_cue(
    any_of("""
goal; target(?:ing)?; aim; aiming; want; hope; hoping; need; to (?:reach|get|hit|finish|save|complete); achieve;
optimized for; at least; at most
""")
)
"""Shortly before a number: the number is a goal."""
WANTED: Final = compile_cue(
    any_of("deadline [^,]* to [a-z]+; aim; aiming; wants?; hoping; goal; target; targeting; would like")
)
"""Anywhere before a number: the number is a goal."""
ATTEMPTED: Final = re.compile(r"\b(?:trying|try|need|have|planning|going) to [a-z]+ (?:[a-z]+ )?$")
"""Directly before a number: the number is a goal."""

_FROM: Final = (
    "(?:(?:switch|mov|migrat|transition|chang|upgrad|shift|transferr|relocat|convert)(?:ed|ing)|swapp(?:ed|ing)|went"
    "|going) (?:[a-z']+ ){0,5}?from"
)
ENDING_IDIOMS: Final = (
    r"(?-u:\b)(?:can't|cannot|can not|couldn't|could not|never|don't|do not|won't|wouldn't|didn't|did not|not"
    r"|nothing can|if (?:i|you|we)|how to|hard to)(?-u:\b) (?:ever |just |even )?"
    r"(?:stop|quit|g[ia]v[ei]|end|leav|cancel|sold|sell)[a-z]*"
    r"|(?-u:\b)stop(?:s|ped|ping)? (?:right |just )?(?:by|at|in|over|off|for)(?-u:\b)"
    r"|(?-u:\b)(?:sold|gave away) (?:an?|some|two|three|several)(?-u:\b)|(?-u:\b)sold (?:on|out)(?-u:\b)"
)
"""Expressions of ending that end nothing."""
_ENDING: Final = any_of(f"""
{_FROM}; no longer; stop(?:ped|s|ping)?; quit(?:ting|s)?; gave up; given up; giving up; cancel(?:l?ed|l?ing)?; sold;
(?:got|get) rid of; ended (?:my|our|the|his|her|their); broke up with;
(?:resigned|retired|stepped down) (?:from|as); took over from; moved out of;
discontinued; abandoned; scrapped; instead of; rather than; replac(?:ed|ing|es); traded in; ditched; dropped out of;
(?:i|we|he|she|they|you) used to; formerly; previously; done with; divorced;
traded (?:my|our|his|her|their); discharged from; released from; fired from; laid off from; passed on;
unsubscribed from; (?:gone|went|going) off; over with; no more; it used to be; fed up with; had enough of;
moved on from; left (?:my|our|his|her|their); outgr(?:ew|own); backed out of; called off; gave away
""")
_PHRASE: Final = r"((?:[^\s.,;:!?]+(?:\.[^\s.,;:!?]+)* ?){1,7})"
ENDED: Final = rf"{_ENDING} (?:my |the |our |a |an |being |be |to )?{_PHRASE}"
"""An expression of ending and the words after it, which say what is over."""
ENDED_PHRASE_END: Final = compile_cue(
    rf" (?:and|but|because|so|since|now|anymore|any more|last|this|after|before|when|until){_BOUNDARY}.*$"
)
"""Where the phrase after an expression of ending stops."""
REPLACING: Final = re.compile(r"\b(?:from|replac\w+|traded)\b")
REPLACED_PHRASE_END: Final = compile_cue(rf" (?:to|with|for|in favou?r of|by){_BOUNDARY}.*$")
"""Where that phrase stops if it names the replacement, too."""
INTENDED: Final = compile_cue(
    any_of("""
tried; trying to; wants? to; wanted to; thinking (?:of|about); considering; plan(?:s|ned|ning)? to; need to; hope to;
hoping to
""")
)
"""What is intended or considered is not over yet."""
FUTURE: Final = compile_cue(
    any_of("""
will; won't; going to; gonna; plan(?:s|ning)? to; planning; wants? to; need to; like to; hope; heading to; would;
looking forward; can't wait; (?:buzzing|keen|eager|ready|about|set|supposed|stoked|pumped|thrilled) to; upcoming;
excited (?:to|for|about); deadline (?:to|(?:for|of) [a-z]+ing); (?:words|pages) to; [a-z]*'d like
; interested in; [a-z]+'ll
""")
)
"""What is in the future has not happened yet."""
LEFT_PLACE: Final = re.compile(r"\b(?:left|leaving|moved out of|moved away from) ([^,.;]+)")
SUBJECT_ENDED: Final = any_of("""
(?:was|is|were|are|been|got)(?: been| now)? (?:cancel(?:l?ed)|called off|discontinued|scrapped|closed|sold
|shut down|over|dropped|abandoned|removed|deprecated|postponed indefinitely); broke up; split up; passed away; died;
fell through; won't be happening; has ended; came to an end; (?:has|have)(?: now)? (?:closed|shut) (?:down|for good|its
doors)
""").replace(" |", "|")
_PERFECT: Final = any_of("""
(?:have|has|had|i've|we've) (?:[a-z]+ )?(?:been|[a-z]+ed|[a-z]+en|done|made|got|grown|become|won)
""")
PRESENT: Final = re.compile(
    r"(?:\b(?:will|is|are|am|to be|can|should|must)(?:n't)?|'(?:m|re|s|ll))\b(?!.*\b(?:was|were|did)\b)"
)
_SIMILE: Final = any_of("(?:taste|look|sound|feel|smell|seem|act|is|be|are|was)(?:s|ed)? (?:just )?like")
"""The comparison "like", which is not the verb."""
_LITERAL_STAND: Final = any_of("stand (?:up|still|straight|upright|alone|here|there|on|in|at|by|for|behind)")
_CANNOT_STAND: Final = any_of("(?:can't|cannot|can not) (?:stand|bear)")
"""Dislike, unless it is about standing."""
_EXCLUSIVE_WORDS: Final = any_of(
    "; ".join(sorted({word for sides in words.EXCLUSIVE for side in sides for word in side}))
)


def are_requests(low: pl.Series) -> pl.Series:
    """Return whether each clause asks or requests instead of stating something."""
    asks = low.str.contains(_REQUEST) | (low.str.contains(_QUESTION_MARK) & ~low.str.contains(_FIRST_PERSON_START))
    return asks & ~low.str.contains(_STATEMENT_CUES)


def detect(low: pl.Series) -> pl.DataFrame:
    """Detect the cues of each clause.

    Args:
        low: clauses, folded.

    Returns:
        Booleans hypothetical, desired, rescheduled, changing, correcting, announced, declared, retracting, perfect and
        is_over; the kind of negation; ended and exclusive as matched.
    """
    without_idioms = low.str.replace_all(_NEGATION_IDIOMS, " ")
    negation = pl.coalesce(
        *(
            pl.when(pl.lit(without_idioms.str.contains(pattern))).then(pl.lit(name))
            for name, pattern in _NEGATIONS.items()
        ),
        pl.lit(""),
    )
    return pl.DataFrame(
        {
            "hypothetical": low.str.contains(_HYPOTHETICAL) & ~low.str.contains(_REPORTED),
            "desired": low.str.contains(_DESIRED),
            "rescheduled": low.str.contains(_RESCHEDULED),
            "changing": low.str.contains(_CHANGING),
            "correcting": low.str.contains(_CORRECTING),
            "announced": low.str.contains(_ANNOUNCED),
            "declared": low.str.contains(_DECLARED),
            "retracting": low.str.contains(_RETRACTING),
            "perfect": low.str.contains(_PERFECT),
            "is_over": low.str.replace_all(ENDING_IDIOMS, " ").str.contains(SUBJECT_ENDED),
            "ended": low.str.replace_all(ENDING_IDIOMS, " ").str.extract_all(ENDED),
            "exclusive": low.str.replace_all(f"{_SIMILE}|{_LITERAL_STAND}", " ")
            .str.replace_all(_CANNOT_STAND, "dislike")
            .str.extract_all(rf"{_EXCLUSIVE_WORDS}(?:-[a-z]+)?"),
        }
    ).with_columns(negation=negation)
