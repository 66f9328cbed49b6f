"""Cue expressions by which a clause says or marks that something changes.

All are patterns over folded clauses for the regular expressions of Polars, whose word boundaries are faster in ASCII.
Not here: the cues of relations between two memories (`relation_cues`), and those of core facts (`core_cues`).
"""

from typing import Final

_BOUNDARY: Final = r"(?-u:\b)"


def any_of(expressions: str) -> str:
    """Return the pattern of whole-word expressions separated by semicolons."""
    parts = (" ".join(expression.split()) for expression in expressions.split(";"))
    return rf"{_BOUNDARY}(?:{'|'.join(parts)}){_BOUNDARY}"


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
_MARKERS: Final = rf"(?i){any_of(_NOWADAYS)}|^\W*(?:sorry,? )?{any_of(_OPENING)}[,:]?"
"""Expressions that mark a change and say nothing about what changes."""
CHANGING: Final = rf"{_MARKERS}|{_CHANGING}"
"""Expressions that mark or say that something changes."""

CONDITION: Final = (
    r"\b(?:when|whenever|if|every time|each time|any ?time)(?: (?:i|we) (?:ask|request|inquire|want|need|talk|speak)"
    r"(?: (?:you|me|for|about|to|know|on|with|help|a|any|questions?|information))*)? ([^.,;:!?\n]+)"
)
"""Says when a standing rule applies; its one group is what a query must then be about."""
