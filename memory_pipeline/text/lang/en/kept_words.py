"""Broad classes of English words that decide which memories, and which of their sentences, a token budget keeps.

Each is an expression over folded text (`tokens.fold`) for the regular expressions of Polars. Not here: how memories are
ranked by them (`consolidation/keeping`), and the value of a clause (`text/score/clause_value`).
"""

from typing import Final

from memory_pipeline.text.lang.en.core_cues import MEDICINE


def _any_of(expressions: str) -> str:
    parts = (" ".join(one.split()) for one in expressions.split(";"))
    return rf"(?-u:\b)(?:{'|'.join(parts)})(?-u:\b)"


_HEALTH: Final = (
    _any_of(r"""
    allerg\w*; intoleran\w*; anaphyla\w*; epipens?; asthma\w*; diabet\w*; insulin; epilep\w*; seizures?; pregnan\w*;
    coeliac; celiac; gluten; pacemaker; blood (?:type|group|pressure|thinners?); medications?; medicines?; medicated;
    prescri\w*; dosages?; doses?; tablets?; pills?; inhalers?; antibiotics?; vaccin\w*; side effects?; diagnos\w*;
    \d+ ?(?:mg|mcg|milligrams?); emergency contacts?; vegan; vegetarians?; pescatarian; halal; kosher; lactose;
    vitamins?; colou?r-?blind; diseases?; deaf; surgery; clots?; strokes?; hives; (?:bad|severe) reactions?;
    (?:can't|cannot|can not|shouldn't|mustn't) (?:eat|drink|tolerate|digest)
""")
    + rf"|(?-u:\b){MEDICINE}(?-u:\b)"
)
_PROHIBITIONS: Final = _any_of(r"""
    must(?:n't| not| never); may not; (?:not|isn't|aren't|never) (?:be )?allowed; forbid\w*; forbidden; prohibit\w*;
    banned; off limits; under no circumstances; no longer allowed; not permitted; strictly; safeguarding; unsafe;
    no exceptions; without exception;
    (?:not|isn't|aren't|never) to be [a-z]+; (?:has|have|is|are) to stay (?:off|away|out);
    please (?:don't|do not|never|nobody); (?:nobody|no one|no-one)(?: else)? (?:may|must);
    must (?:stop|stay|leave|call|ring|report|wear|keep)
""")
_ORDERED: Final = (
    r"(?:use|put|send|share|call|ring|touch|open|mention|store|leave|enter|mix|run|push|commit|delete|deploy|change|accept"
    r"|quote|book|schedule|sign|print|log|feed|pay|merge|edit|publish|post|reply|write|tell|give|show|say|lend|promise|eat"
    r"|drink|wake|disturb|let)"
)
_ORDERS: Final = (
    rf"(?:^|[.!?:;,]\s+)(?:please )?(?:(?:don't|do not|never) ever|do not|don't {_ORDERED}"
    rf"|never (?:let|give|tell|take|promise|the|any|with|without|before|after|{_ORDERED})"
    r"|(?:give|say|send|share|tell|use|mention|offer|take) (?:no|nothing|nobody)"
    r"|no (?:[a-z-]+ ){1,2}(?:in|on|at|after|before|between|over|inside)"
    r"|no (?:[a-z-]+ ){1,5}(?:until|unless|without|except)"
    r"|no (?:[a-z-]+ ){1,9}(?:may|must|should|(?:is|are) to) (?:ever )?(?:be )?[a-z]+"
    r"|nothing (?:with|containing|before|after|until|without|for))(?-u:\b)"
)
_LEGAL_AND_PAYMENT: Final = _any_of(r"""
    lawsuits?; courts?; lawyers?; solicitors?; attorneys?; legal(?:ly)?; custody; visas?; passports?; gdpr; liab\w*;
    notarised; power of attorney; iban; payments?; invoices?; invoiced; mortgages?; loans?; debts?; tax(?:es)?;
    bank accounts?; credit cards?; direct debits?; insur(?:ed|ance|er); overdue; payable;
    (?:euros?|dollars?|pounds?) (?:is|are) due
""")
SAFETY: Final = f"{_HEALTH}|{_PROHIBITIONS}|{_ORDERS}|{_LEGAL_AND_PAYMENT}"
"""What does harm if it is forgotten: health and medication, prohibitions, legal matters, payments."""

STANDING: Final = _any_of(r"""
    name is; (?:call|address(?:ed)?) (?:me|him|her|them|us) (?:as|by)?; pronouns; nickname\w*; birthday; was born;
    born (?:in|on); native (?:speaker|language); mother tongue; citizen\w*; nationality; i live in; lives in;
    i work (?:as|at|for|in); works (?:as|at|for); i'm married; is married; my (?:wife|husband|partner|fiancee?) is;
    from now on; in future; going forward; at all times; by default; as a rule; house rules?; guidelines?;
    should always; always (?:use|answer|reply|write|call|give|ask|check|run|keep|put|send|start|end|show|quote);
    always (?:include|add|round); (?:before|after) (?:every|each|any) [a-z]+;
    (?:wants?|asked|expects?|insists?) (?:that|for|not|the|all|every|any|short|long|no|replies|answers) \w+;
    prefers?; preferred; preferences?; would rather; 'd rather; rather than; (?:can't|cannot) (?:stand|bear); dislikes?;
    hates?; favou?rite [a-z ]{1,20} (?:is|are); (?:is|are) (?:my|his|her|their) favou?rite; not a fan of;
    (?:replies|reply|answers?|responses?|respond) (?:in|with|as|should|must);
    please (?:use|keep|write|answer|reply|call|always|give);
    (?:doesn't|don't|does not|do not|no longer) (?:eats?|drinks?|smokes?); does(?:n't| not) want [a-z]+s? (?:in|on|at);
    wants? (?:[a-z]+ ){1,3}(?:in|on|for|with|at) (?:every|each|all|any); rules? for; (?:must|has to|have to) be;
    (?:is|are|it's|that's) (?:all right|okay|ok|fine|allowed|permitted|welcome) (?:again|after all);
    (?:fine|okay|ok|all right|allowed) to (?:[a-z]+ ){1,8}?(?:again|after all);
    (?:are|is) [a-z]+, never; (?:phone number|address|e-?mail) is; new address; (?:i|we) live (?:in|at|on);
    (?:bad|weak|artificial) (?:left |right )?(?:knee|back|hip|shoulder|heart|ankle|eyes?|hearing)
""")
"""What holds until it is changed: who somebody is, instructions, rules, preferences."""

_TURNS: Final = r"""
    not; never; no; none; nobody; nothing; nowhere; neither; nor; cannot; without; hardly; barely; [a-z]+n't; except;
    unless; otherwise; instead; therefore; thus; turned out; in the end; after all; finally
"""
HOLDS: Final = r"\d|" + _any_of(
    _TURNS
    + r"""
    ; unable; fail(?:s|ed)?; refus\w*; only; if; until; whether; provided; as long as; in case; must; may; should;
    decid\w*; decisions?; agree[ds]?; agreements?; approv\w*; accept(?:s|ed)?; sign(?:s|ed); reject\w*; results?;
    outcomes?; concluded?; conclusions?; resolv\w*; settled; cho(?:se|sen); from now on; secrets?; confidential;
    asked (?:me|us|him|her|them) (?:not )?to
"""
)
"""Marks of sentences that a text cannot lose: a figure, a negation, a condition, an outcome."""

PERSONS: Final = _any_of("he; she; him; her; hers; he's; she's; he'd; she'd; he'll; she'll; himself; herself")
"""Pronouns of somebody named before."""

_MEANT: Final = _any_of(f"it; its; they; them; theirs; it's; it'll; they're; they've; they'd; they'll; such; {_TURNS}")
_STARTS: Final = (
    r"^\W*(?:he|she|it|they|this|that|these|those|his|her|its|their|him|them|then|so|but|and|or|also|however|because|"
    r"which|who|there|both|each|another|such|same|it's|he's|she's|they're|that's|later|afterwards|meanwhile|yet|still|"
    r"someone|somebody|everyone|everybody|(?:some|one|two|most|all|any) of|"
    r"the (?:first|second|third|others?|last|latter|former|rest|same|next)|"
    r"[a-z]+ed (?:for|by|with|in|at|to|from|on|out|off|up|and))(?-u:\b)"
)
DEPENDS: Final = f"{_STARTS}|{_MEANT}|{PERSONS}"
"""A sentence whose subject or other half is in the one before, or that qualifies what was said before."""
