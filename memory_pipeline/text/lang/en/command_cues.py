"""English cues of texts that instruct a language model, or the reader of a summary.

All patterns are for text folded by `tokens.fold`. Not here: standing instructions that a person gives (`core_cues`).
"""

from typing import Final

_MACHINE: Final = (
    r"(?:assistants?|agents?|ais?|(?:language )?models?|llms?|(?:chat)?bots?|summari[sz]ers?|whoever reads this)"
)
_DUTY: Final = r"(?:must|should|shall|ought to|(?:has|have|needs?|is|are) to|will|may)"
_PRIOR: Final = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|existing|initial|original|other|former|system|safety)"
)
_ORDERS: Final = (
    r"(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|commands?|messages?|context|text)"
)

TO_A_MODEL: Final = "|".join(
    (
        (
            rf"(?:ignore|disregard|forget|override|bypass|overrule) (?:(?:all|any|the|your|every|of|these|those|my) )*"
            rf"{_PRIOR}(?: \w+){{0,2}} {_ORDERS}"
        ),
        rf"(?:ignore|disregard|forget|override|bypass) (?:(?:all|any|every) )?(?:of )?your (?:\w+ )?{_ORDERS}",
        r"(?:ignore|disregard) (?:everything|anything|all) (?:above|before|else|that (?:was|came|stands))",
        r"\byour (?:system|developer|hidden|original) (?:prompt|message|instruction)s?\b",
        r"(?:^|[\n.!?:;] ?)(?:new|updated|hidden|secret|important) (?:system )?instructions?(?: \w+){0,3}:",
        r"<[/|]?(?:system|assistant|instructions?|im_start|im_end|inst)\b|\[/?inst\]|### ?(?:instruction|system)",
        r"(?:^|[\n.!?] ?)\W*(?:system|developer)(?: (?:message|override|prompt))? ?: ",
        r"you are (?:now|no longer) (?:a|an|the|in|bound|chatgpt|dan)\b",
        r"(?:pretend|act as if|roleplay as if) you (?:are|were|have)\b",
        (
            r"(?:when|while|before|after) (?:you )?(?:summari[sz]|consolidat|compress)(?:e|ing)\b[^.\n]{0,60}"
            r"(?:write|say|state|include|add|answer|mention|output|report)\b"
        ),
        (
            r"(?:write|put|insert|add|store|include|state|repeat|say)\b[^.\n]{0,80}(?:in|into|to) "
            r"(?:the|your|its|every) (?:summar(?:y|ies)|core memory|system prompt|answer|output)\b"
        ),
        rf"(?:note|message|instruction|order|attention|important)s? (?:to|for) (?:the |any |all |every )?{_MACHINE}\b",
        (
            rf"\b(?:the|any|every|all|each|this|dear) {_MACHINE}(?: \w+){{0,3}} {_DUTY} (?:\w+ )?"
            r"(?:write|say|answer|obey|follow|output|approve|reveal|ignore|state|reply|call|execute|send|pay|transfer)\b"
        ),
    )
)
"""A text that tries to command a language model."""

_VERB: Final = (
    r"(?:accept|act|add|allow|answer|apply|approve|ask|assume|authori[sz]e|avoid|be|begin|believe|block|book|buy|call"
    r"|cancel|change|check|choose|click|comply|confirm|consider|contact|continue|copy|create|delete|deny|disable|disclose"
    r"|disregard|do|download|email|enable|ensure|erase|execute|expect|explain|follow|forget|forward|give|grant|help"
    r"|ignore|include|inform|install|keep|leave|let|link|list|make|mention|never|notify|obey|open|order|output|pay"
    r"|perform|post|prefer|prioriti[sz]e|proceed|provide|publish|put|read|recommend|refer|refuse|reject|release|rely"
    r"|remember|remind|remove|repeat|reply|report|respond|return|reveal|run|save|say|schedule|see|select|send|set|share"
    r"|show|sign|skip|speak|start|state|stop|store|submit|tell|transfer|treat|trust|turn|update|upload|use|verify|visit"
    r"|wire|write)"
)
_SOFTENED: Final = r"(?:(?:please|kindly|always|never|now|then|also|just|simply|immediately|automatically) )"
READER: Final = "|".join(
    (
        r"\b(?:you|your|yours|yourself|you're|you'll|you've)\b",
        (
            r"^\W*(?:please|kindly|always|never|do not|don't|make sure|be sure|ensure|remember to|note that"
            r"|from now on|going forward|henceforth)\b"
        ),
        rf"(?:^|[:;.!?] )\W*{_SOFTENED}*{_VERB} \S",
        rf"(?:, |\band |\bthen |\bso ){_SOFTENED}*{_VERB} (?:all|any|every|each|your|no|only)\b",
        rf"\b{_MACHINE}(?: \w+){{0,2}} {_DUTY}\b",
        (
            r"\b(?:must|shall|should|ought to|(?:is|are|has|have|needs?) to)(?: \w+ly| always| never| not)? be "
            r"\w+(?:ed|en|id|ade|ne)\b"
        ),
    )
)
"""A sentence that tells its reader what to do; statements about third persons do not."""

_UNFILLED: Final = r"(?:#+ [^\n]*|(?:[-*] +)?[\[(][^\])]*[\])]\s*\.?|[^\n]*[:=]\s*\([^()]*\)\s*\.?)"
"""A heading, a line that is all in brackets, or a label with a value in brackets."""

OF_A_PLATFORM: Final = (
    r"(?i)^\W*you(?: are|'re|\x{2019}re) (?:now )?(?:an? |the |called |named )?\p{L}"
    r"|^\W*your (?:role|job|task|purpose|goal|mission) (?:is|will be)(?-u:\b)"
    r"|^\W*as an? (?:ai|(?:ai |llm |language )?model|chatbot)(?-u:\b)"
    r"|^\W*\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*\s|(?-i:^\s*(?:ERROR|FATAL|DEBUG|INFO|FAIL|PANIC)(?-u:\b))"
    r"|^\s*\[(?:system|developer|tool|function|assistant)\]"
    r"|^\s*(?:error|warning|note)(?:\[\w+\])?: .*\[[\w/@-]+\]\s*$"
    r"|</[a-z][\w.-]*>|^\s*<[a-z][\w.-]*[\s>]"
    rf"|^\s*{_UNFILLED}(?:\s*\n\s*{_UNFILLED})*\s*$"
    r"|^\s*(?:[{$>`]|\[[{\x22\[]|Traceback |#!)"
)
"""A prompt that tells a model who it is, tags of prompts, a text with all values in brackets, JSON, code or a log."""
