"""English cues of lasting statements about a person: broad word classes, one pattern per line.

Patterns are matched as whole words in folded text: lower case, straight apostrophes. Not here: how they are applied
(`score/core_facts`).
"""

from typing import Final

from memory_pipeline.text.lang.en.kinship import KIN, PET

_WORK: Final = (
    r"(?:teacher|nurse|doctor|surgeon|engineer|developer|programmer|designer|manager|student|lawyer|solicitor|driver"
    r"|writer|author|artist|painter|scientist|researcher|professor|lecturer|accountant|analyst|consultant|chef|cook"
    r"|baker|carpenter|electrician|plumber|mechanic|farmer|gardener|scheduler|planner|clerk|secretary|receptionist"
    r"|architect|musician|singer|photographer|journalist|editor|administrator|director|technician|therapist|counsell?or"
    r"|physiotherapist|dentist|vet|pharmacist|librarian|officer|firefighter|soldier|pilot|sailor|captain|cashier"
    r"|waiter|waitress|barista|[a-z]+(?:ologist|ographer)|freelancer|coach|trainer|owner|founder|translator|interpreter|tailor|hairdresser"
    r"|caretaker|cleaner|social worker|paramedic|volunteer)"
)
_CARER: Final = (
    r"(?:gp|doctor|physician|neurologist|dentist|physio|physiotherapist|psychiatrist|therapist|cardiologist"
    r"|p(?:a)?ediatrician|midwife|optician|specialist|surgeon)"
)
_BODY: Final = (
    r"(?:knees?|back|hips?|shoulders?|neck|heart|lungs?|kidneys?|liver|eyes?|ears?|eyesight|hearing|wrists?|ankles?"
    r"|ankle|elbows?|foot|feet|hands?|legs?|arms?|spine|tendon|stomach|skin)"
)

MEDICINE: Final = (
    r"(?:aspirin|ibuprofen|paracetamol|acetaminophen|warfarin|heparin|morphine|lithium|cortisone|thyroxine|statins?"
    r"|beta blockers?|codeine|tramadol|gabapentin|naproxen|diclofenac|methotrexate|(?:pred|hydrocort|cort)[a-z]*one"
    r"|[a-z]{3,}(?:pril|sartan|statin|cillin|mycin|floxacin|olol|azepam|azolam|prazole|oxetine|xaban|gliptin|gliflozin"
    r"|formin|triptan|dronate|profen|tadine|tirizine|caine|barbital|setron|mab|traline|pram|dipine|thiazide|semide"
    r"|cycline|conazole|gabalin|thyroxine))"
)
"""A medicine: common names, and the stems by which the WHO names substances."""

CHRONIC: Final = rf"""
    allerg(?:y|ies|ic|en|ens)
    reactions? to (?:the )?{MEDICINE}
    intoleran(?:t|ce)
    coeliac|celiac|asthma|asthmatic|diabetes|diabetic|epilepsy|epileptic|arthritis|hypertension|anaphyla\w+
    (?:high|low) blood pressure
    blood[ -](?:type|group)\w*
    (?:has|have|having|with) (?:an? )?(?:bad|weak|artificial) (?:left |right |lower |upper )?{_BODY}
"""
"""Lasting conditions of a body, whatever happened on a day."""
_CONDITIONS: Final = "|".join(line.strip() for line in CHRONIC.strip().splitlines()).replace(r"\w", "[a-z]")
CONDITION: Final = rf"(?-u:\b)(?:{_CONDITIONS})(?-u:\b)"
"""The same as one pattern."""
CONDITION_CHANGES: Final = (
    r"(?-u:\b)(?:not|never|no|[a-z]+n't|any ?more|outgr[a-z]+|grew out|turned out|after all|cured|gone|negative"
    r"|instead|wrong|mistaken?|now|also|too|worse|since|anaphyla[a-z]+)(?-u:\b)"
)
"""Words with which a text that names a condition says something new of it."""

_WHOSE: Final = r"(?:the |my |his |her |their |our )?"
DOSE_CHANGE: Final = (
    rf"(?-u:\b)(?:(?:stop(?:s|ped)?|discontinued|paused)(?: \w+){{0,2}} {MEDICINE}"
    rf"|{MEDICINE}(?: \w+){{0,2}} (?:stopped|discontinued|paused)|off {_WHOSE}{MEDICINE}"
    r"|no longer|any ?more|instead|replac(?:es|ed|ing)|swap(?:s|ped)?|switch(?:es|ed)?|chang(?:es|ed)|rais(?:es|ed)"
    r"|increas(?:es|ed)|lower(?:s|ed)?|reduc(?:es|ed)|halved|doubled|(?:up|down|cut) (?:to|from|by|in|back|down)"
    r"|now (?:\d\S*|on|off|takes?|taking|only|half|double|every|once|twice|at))(?-u:\b)"
)
"""The end of a medicine, or another dose of it."""


SUPPOSED: Final = r"(?-u:\b)(?:if i|wish|maybe|people who|anyone|i'll|i will|i'd|would be)(?-u:\b)"
"""A wish, a promise of the moment, or a hypothetical case."""
HYPOTHETICAL: Final = (
    r"^(?:(?:what|even|only|but|and) )?(?:if|suppose|supposing|imagine|unless)(?-u:\b)"
    r"|(?-u:\b)(?:maybe|perhaps|possibly|might|undecided|not (?:yet )?(?:decided|sure)|in theory|if only)(?-u:\b)"
)
"""A hypothetical case, or something not decided."""
JOKE: Final = (
    r"(?-u:\b)(?:ha(?:ha)+\w*|lol|lmao|rofl|kidding|jk|jok(?:ed|ing|ingly)|pretend(?:s|ed|ing)?|dream(?:t|ed|ing)"
    r"|dreams? (?:of|about|that)"
    r"|imagin(?:es?|ed|ing|ary)|fictional|said (?:nobody|no one))(?-u:\b)|^ha(?-u:\b)"
)
"""Jokes, dreams and pretence."""
_WORK_OF_FICTION: Final = (
    r"(?:films?|movies?|books?|novels?|stor(?:y|ies)|series|shows?|plays?|dreams?|episodes?|songs?|games?|comics?|tales?"
    r"|soap|sketch|musical)"
)
FICTION: Final = (
    rf"(?:^|, )in (?:the|an?|my|this|that|his|her|our) (?:\w+ )?{_WORK_OF_FICTION}(?-u:\b)"
    r"|(?-u:\b)(?:character|hero|heroine|protagonist|villain)s? (?:in|of|from)(?-u:\b)"
)
"""What is true in a work of fiction."""
REPORTED: Final = (
    r"(?-u:\b)(?:says|said|claims|claimed|thinks|believes|reckons|guesses|suspects|rumou?r|apparently"
    r"|supposedly)(?-u:\b)"
)
"""Hearsay."""
PLACEHOLDER: Final = (
    r"<[\p{L}][\p{L} _.-]*>|\{[^{}]*\}|\[[\p{L}_ -]+\]|(?-u:\b)(?:TODO|TBD|TBC|TBA|FIXME|N/A|[xX]{3,})(?-u:\b)|_{3,}"
    r"|\.{4,}|[:=]\s*\([^()]*\)\s*\.?\s*$|(?i:lorem ipsum)"
    r"|(?i:(?-u:\b)(?:is|are|called|named|in|at|to))\s*[:=]?\s*[.?_-]*$"
)
"""A placeholder that was never filled; matched in the original text."""
LEANING_START: Final = (
    r"(?i)^(?:he|she|it|they|him|her|them|his|its|their|this|that|these|those|there|then|so|and|but|or|because|which|who"
    r"|also|otherwise|instead|same|still|not|lives|works|has|likes|wants|needs|takes|says"
    r"|the (?:second|third|other|others|former|latter|rest)"
    r"|[a-z]+s (?:it|him|her|them|me|us)|except|exceptions?|unless|apart from|only (?:if|when)|[a-z]+ ones"
    r"|(?:don't|do not|never) [a-z]+ (?:until|till|unless|yet|again))(?-u:\b)"
)
"""First words that lean on the sentence before: a pronoun, a verb without its subject, a command without its object, an
exception."""
EXEMPTS: Final = (
    r"(?i)(?-u:\b)(?:(?:is|are|that's|it's|was|be) (?:also |still )?(?:allowed|permitted|fine|okay|ok|enough|exempt"
    r"|not (?:needed|necessary|required))|regardless|either way|unchanged|as (?:before|usual|ever)"
    r"|doesn't apply|don't apply|does not apply)(?-u:\b)"
)
"""What a sentence says that exempts something from the one before it, or leaves it as it was."""
ONE: Final = (
    r"(?i)(?-u:\b)(?:use|make|create|generate|take|get|need|want|buy|order|send|write|add|open|book) one"
    r"(?: (?:yourself|myself|himself|herself|instead|too|either))?(?:[.,;:!?]|\s*$)"
)
"""A word for a thing that the sentence before names."""
AT_THAT_PLACE: Final = r"(?i)(?-u:\b)there(?:[.,;:!?]|\s*$)"
"""A place that the sentence before names."""
SHORT: Final = r"(?i)^\W*(?:never|always|only|no|not|without)(?:\s+\S+){1,2}\s*$"
"""A rule of at most three words, which the sentence before explains."""
PERSON_START: Final = r"(?i)^(?:and |but |so )?(?:he|she|they|his|her|their)(?-u:\b)"
"""First words that refer to somebody whom the sentence before names."""
_PERSONS: Final = r"(?:he|she|him|her|his)"
PERSON: Final = rf"(?i)^(.*?)(?-u:\b){_PERSONS}(?-u:\b)"
"""The words of a sentence before its first pronoun of a person."""
PERSON_NAMED: Final = rf"(?:[\p{{Ll}},;:)] |^)\p{{Lu}}\p{{Ll}}+|(?i:(?-u:\b)(?:{KIN}|{_WORK}|{_CARER}|{PET})(?-u:\b))"
"""Words for somebody to whom such a pronoun can refer."""
THING: Final = r"(?i)^(.*?)(?-u:\b)(?:it|they|them|its|their)(?-u:\b)"
"""The words of a sentence before its first pronoun of things or of several people."""
OBJECT: Final = r"(?i)^(.*?)(?-u:\b)(?:it|them)(?-u:\b)"
"""The words of a sentence before its first pronoun that cannot mean what its own clause names."""
IN_A_CLAUSE_BEFORE: Final = (
    r"(?i)[,;:(]|(?-u:\b)(?:and|but|or|so|when|if|because|until|till|before|after|since|as|while|that|where|which|who"
    r"|unless|once|although)(?-u:\b)"
)
"""What ends the clause in which such a pronoun's noun can stand."""
THING_NAMED: Final = (
    r"(?i)(?-u:\b)(?:the|an?|my|our|your|this|these|those|no|any|all|every|each) \p{L}+|\p{L}+s(?-u:\b)"
)
"""Words for something to which such a pronoun can refer."""
_I_HAVE: Final = r"(?-u:\b)(?:i|we)(?: have|'ve)?(?: just| \w+ly)?"
_END_OF_JOB: Final = (
    rf"()(?:{_I_HAVE} (?:(?:quit|resigned from|lost|left) (?:my|the|that) (?:\w+ )?(?:job|work|position|post|role"
    r"|company"
    r"|firm)|retired)|(?-u:\b)i(?: was| got|'ve been) (?:fired|laid off|let go|made redundant))(?-u:\b)"
)
_JOB: Final = (
    rf"()(?-u:\b)(?:i work|i(?:'m| am) working|i(?:'m| am) an? (?:\S+ ){{0,3}}{_WORK}|my (?:job|boss|employer|manager))"
    r"(?-u:\b)"
)
_END_OF_COUPLE: Final = (
    r"()(?-u:\b)(?:i|we|me)(?: are| have|'ve|'re| got| \w+ly)* (?:divorced|separated|split up|broke up|broken up)"
    r"(?-u:\b)"
)
_COUPLE: Final = (
    r"()(?-u:\b)(?:(?:my|our) (?:\w+ )?(?:husband|wife|spouse|partner|fianc[ée]e?|girlfriend|boyfriend)"
    r"|i(?:'m| am) (?:\w+ )?(?:married|engaged)|married to|engaged to)(?-u:\b)"
)
_END_OF_HOME: Final = rf"(){_I_HAVE} moved (?:to|into|out|house|back)(?-u:\b)"
_HOME: Final = r"()(?-u:\b)(?:(?:i|we)(?: \w+)? live|(?:my|our) (?:\w+ )?(?:address|home|flat|house) is)(?-u:\b)"
_END_OF_PET: Final = rf"(?-u:\b)(?:my|our) (?:\w+ )?({PET})(?: \S+)? (?:died|passed away|was put down|is dead)(?-u:\b)"
_A_PET: Final = rf"(?-u:\b)(?:i|we)(?: have|'ve got) an? (?:\S+ ){{0,2}}?({PET})(?-u:\b)"
_END_OF_ANOTHERS_JOB: Final = (
    r"^(\w+)(?: has| have|'s)?(?: \w+ly)? (?:retired|quit|resigned"
    r"|left (?:his|her|their|the) (?:job|work|post|company|firm)"
    r"|(?:been|was|got) (?:fired|laid off|made redundant))(?-u:\b)"
)
_ANOTHERS_JOB: Final = rf"^(\w+) (?:works?|teaches|is an? (?:\S+ ){{0,3}}{_WORK})(?-u:\b)"
_MENDED: Final = rf"(?-u:\b)(?:fixed|healed|cured|mended) (?:my|his|her|their|the) (?:left |right )?({_BODY})(?-u:\b)"
_HEALED: Final = (
    rf"(?-u:\b)({_BODY}) (?:is|are|has|have) (?:now )?"
    r"(?:healed|cured|recovered|fine|ok|okay|better|back to normal)(?-u:\b)"
)
_AILMENT: Final = rf"(?-u:\b)(?:bad|weak|injured|sore|broken|sprained) (?:left |right |lower |upper )?({_BODY})(?-u:\b)"
ENDS: Final = (
    (_END_OF_JOB, _JOB),
    (_END_OF_ANOTHERS_JOB, _ANOTHERS_JOB),
    (_MENDED, _AILMENT),
    (_HEALED, _AILMENT),
    (_END_OF_COUPLE, _COUPLE),
    (_END_OF_HOME, _HOME),
    (_END_OF_PET, _A_PET),
)
"""What ends a job, a relationship, a home, a pet or an ailment, and the facts that it ends if both groups agree."""

_THING: Final = r"((?:[\p{L}\p{N}'-]+ ){0,3}?[\p{L}\p{N}'-]+?)"
_THING_ENDS: Final = (
    r"(?: (?:to|for|with|from|in|on|at|by|and|but|because|so|before|after|early|late|yesterday|today|last|this|\d\S*"
    r"|two|three|four|five)(?-u:\b)|[.,;:!?(]|$)"
)
_THE_THING: Final = rf" (?:the |my |our |his |her |their |its )(?:old )?{_THING}{_THING_ENDS}"
GIVEN_UP: Final = (
    r"(?-u:\b)(?:sold|traded in|gave away|given away|got rid of|scrapped|handed back|gave back|gave up|given up"
    rf"|called off|cancelled|canceled|quit|abandoned|turned down){_THE_THING}"
)
"""The thing that somebody has given up or parted with."""
DONE: Final = (
    r"(?-u:\b)(?:handed in|returned|finished|completed|submitted|delivered|dropped|stopped|deleted|removed|sent off)"
    rf"{_THE_THING}"
)
"""The thing that somebody is done with: the end of a task, but not of coffee because today's is finished."""
_IS: Final = (
    r"(?:is|are|was|were|has been|have been|had to be|has now been|isn't|aren't|is not|are not)"
    r" (?:now |all |finally |already )?"
)
_A_SUBJECT: Final = rf"(?:^|[.,;:!?] (?:and |so |but )?)(?:the |my |our |his |her |their )?{_THING} "
_AND_THAT_IS_ALL: Final = (
    r"(?: now| for good| completely| at last)?(?:[.,;:!]|$| (?:because|so|and|but|after|since|as)(?-u:\b))"
)
COME_TO_AN_END: Final = (
    rf"{_A_SUBJECT}(?:{_IS}(?:(?:sold|traded in|cancelled|canceled|called off|paused|put down|put to sleep|scrapped"
    r"|happening|refused|rejected|stolen|abandoned|out of the question)(?-u:\b)"
    rf"|(?:lost|dead|history){_AND_THAT_IS_ALL})"
    r"|(?:died|passed away|fell through|ended|flew away|ran away|went bust|fizzled out|got cancelled)(?-u:\b))"
)
"""The thing that has come to an end."""
IS_DONE: Final = (
    rf"{_A_SUBJECT}{_IS}(?:(?:handed in|submitted|delivered|completed|stopped|deleted|removed)(?-u:\b)"
    rf"|(?:over|off|done|gone|finished|complete){_AND_THAT_IS_ALL})"
)
"""The thing that is done or gone for today at least: the end of a task."""
_SPAN: Final = (
    r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: more)? (day|week|month)s?"
)
FOR_A_WHILE: Final = rf"(?-u:\b)for (?:the next |another |at least )?{_SPAN}(?-u:\b)"
"""How long something holds from the day on which it was said: the number and the unit."""
FROM_ANOTHER_DAY: Final = rf"{FOR_A_WHILE} (?:before|after|prior to|ahead of|following|from)(?-u:\b)"
"""A span that another day begins or ends."""
COUNTS: Final = "one two three four five six seven eight nine ten eleven twelve"
"""Numbers as they are spelled, from one."""
UP_TO_NOW: Final = r"(?-u:\b)(?:has|have|had|been|was|were|since|ago|already|used to)(?-u:\b)|'(?:ve|d)(?-u:\b)"
"""A span of time that lies in the past."""
OF_A_THING: Final = r" (?:to|of|for|with|from|in|on|at|by|about)(?-u:\b).*$"
"""What follows the noun of a thing."""
_CALLED_BY_NAME: Final = r"\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)*"
OWN_NAME: Final = (
    rf"^((?:[Mm]y (?:full )?name is|I'm|I\x{{2019}}m|I am|(?:The )?[Uu]ser(?:'s name)? is) {_CALLED_BY_NAME})"
    r"(?:,|;|\.| and| but|$)"
)
"""The beginning of an introduction that gives no more than the name."""
BEGINS: Final = r"(?-u:\b)(?:since|started|began|begun)(?-u:\b)"
"""Words before a date that is not a deadline."""
RELATIVE_DAY: Final = (
    r"(?-u:\b)(?:today|yesterday|tonight|tomorrow|(?:this|last|next) (?:week(?:end)?|month|year|morning|afternoon"
    r"|evening|night|spring|summer|autumn|fall|winter|term|time|[a-z]+day))(?-u:\b)"
)
"""A day that only its own date explains."""
AT_HAND: Final = (
    r"(?-u:\b)(?:this|these|those|(?:when|once|until|till) that|the (?:current|present|next|following)) [a-z]+"
    r"|(?-u:\b)(?:when|once|after)"
    r" (?:you're |you are |it's |it is )?(?:done|finished|ready|through)(?-u:\b)|(?-u:\b)first\W*$"
    r"|(?-u:\b)while [a-z]+ing(?-u:\b)"
)
"""What a sentence points at: the task, the run or the thing at hand."""
FROM_NOW_ON: Final = r"(?-u:\b)from [a-z ]{3,20}? on(?-u:\b)"
"""From a day on, which is for good."""
DURING: Final = (
    r"(?-u:\b)(?:while|until|till|before|after) (?:the|i|i'm|i am|you|you're|we|we're|it|it's|they|they're)(?-u:\b)"
)
"""A clause of time about somebody or something at hand: "while you move the files"."""
ONE_THING: Final = r"(?-u:\b)the [a-z]"
"""A certain thing: "the importer"."""
ANY_TIME: Final = (
    r"(?-u:\b)(?:always|never|every|each|any|anything|all|whenever|when|if|no|only|daily|from (?:now on|today))(?-u:\b)"
)
"""Words of a rule: it holds each time."""
FORMER: Final = (
    r"(?-u:\b)(?:was|were|used to be|used to have) (?:an? |\w+ly )?(?:allergic|diabetic|asthmatic|epileptic|intolerant"
    r"|coeliac|celiac)(?-u:\b)|(?-u:\b)(?:was|were|had) (?:\w+ )+?as an? (?:child|kid|boy|girl|baby|teenager)(?-u:\b)"
)
"""Conditions that a body had in the past."""
OWN: Final = r"(?-u:\b)(?:i|i'm|i've|me|my|mine|we|our|user)(?-u:\b)"
"""Words for the one who speaks or whom a note is about."""
