"""English cues of lasting statements about a person: broad word classes, one pattern per line.

Patterns are matched as whole words in folded text: lower case, straight apostrophes. Not here: how they are applied
(`score/core_facts`).
"""

from typing import Final

from memory_pipeline.text.lang.en.kinship import KIN, PET

_BE: Final = r"(?:am|is|are|\w+'(?:m|s|re))"
_OWN: Final = r"(?:my|our|his|her|their|\w+'s|\w+s')"
_COUNT: Final = r"(?:an?|no|one|two|three|four|five|six|several|\d+)"
_SPELLED: Final = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen"
    r"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)?)"
)
_LANGUAGE: Final = (
    r"(?:\w+(?:ish|ese)|english|french|german|italian|russian|ukrainian|arabic|hindi|urdu|bengali|dutch|greek|hebrew"
    r"|korean|mandarin|cantonese|persian|farsi|tamil|thai|czech|welsh|norwegian|hungarian|latin|several languages"
    r"|(?:two|three|four|five) languages)"
)
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
_STATUS: Final = (
    r"(?:married|divorced|single|widowed|engaged|retired|self-employed|unemployed|left-handed|right-handed)"
)
_STATE: Final = (
    rf"(?:lives?|works? (?:as|at|for|in|from)|teaches|studies|plays? (?:an?|the)|speaks?"
    rf"|goes to (?:\w+ )?(?:school|nursery|kindergarten|college|university)|turns \d+|owns?"
    rf"|(?:is|are) (?:called|named|from|{_STATUS}|{_SPELLED}|\d{{1,2}}|an? [a-z]+))"
)
_DO: Final = (
    r"(?:learning|studying|training (?:for|to|as)|preparing (?:for|to|an?|the|my|our)|building|writing"
    r"|working (?:on|towards)|developing|renovating|planning|saving (?:up|for)|drafting|revising|translating"
    r"|restoring|migrating|testing|editing|recording|composing|converting|(?:searching|looking) for (?:an?|new|work)"
    r"|practi[sc]ing|researching|organi[sz]ing|redoing|designing|applying (?:for|to))"
)
_PURSUE: Final = (
    r"(?:learn|study|become|build|write|finish|complete|publish|launch|open|found|start|set up|move|renovate"
    r"|restore|run|train|apply|graduate|qualify|pass|save|retire|switch|migrate|walk|climb|cycle|record|design"
    r"|translate|organi[sz]e)"
)

_CANNOT: Final = r"(?:can't|cannot|can not|mustn't|must not|may not|not allowed(?: to)?|unable to|shouldn't)"
_BODY: Final = (
    r"(?:knees?|back|hips?|shoulders?|neck|heart|lungs?|kidneys?|liver|eyes?|ears?|eyesight|hearing|wrists?|ankles?"
    r"|ankle|elbows?|foot|feet|hands?|legs?|arms?|spine|tendon|stomach|skin)"
)
_AILING: Final = r"(?:sick|nauseous|faint|dizzy|gag|ill|stomach|cramps?|hives|headaches?|a headache|a rash)"
_WANTS: Final = r"(?:wants?|asked for|asks for|would like|\w+'d like|prefers?|needs?|likes)"
_REPLY: Final = r"(?:replies|reply|answers?|responses?|messages|bullet points|units|tone|paragraphs?|metric|in writing)"
_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE: Final = rf"(?:the )?(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}|\d{{4}}-\d\d-\d\d)"
_TASK: Final = (
    r"(?:test|review|exams?|launch|release|delivery|submission|hand-?in|hand-?over|presentation|inspection|audit|demo"
    r"|defen[cs]e|tender|kick-?off|go-live|migration|viva|trial|opening)"
)
_DIET: Final = r"(?:vegan|vegetarian|pescatarian|teetotal|kosher|halal)"

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
ABOUT_A_CONDITION: Final = (
    r"(?-u:\b)(?:allerg(?:y|ies)|asthma|diabetes|epilepsy|arthritis|blood[ -](?:type|group|pressure))"
    r" (?:tests?|testing|tested|clinics?|check-?ups?|checks?|appointments?|screenings?|results?|nurses?|courses?"
    r"|leaflets?)(?-u:\b)"
)
"""What concerns a condition without stating that anybody has it."""
DOSE: Final = r"""
    \d+(?:\.\d+)? ?(?:mg|mcg|µg|milligrams?|micrograms?|iu)
"""
"""The dose of a medicine, which holds from the day on which it was set."""

_WHOSE: Final = r"(?:the |my |his |her |their |our )?"
DOSE_CHANGE: Final = (
    rf"(?-u:\b)(?:(?:stop(?:s|ped)?|discontinued|paused)(?: \w+){{0,2}} {MEDICINE}"
    rf"|{MEDICINE}(?: \w+){{0,2}} (?:stopped|discontinued|paused)|off {_WHOSE}{MEDICINE}"
    r"|no longer|any ?more|instead|replac(?:es|ed|ing)|swap(?:s|ped)?|switch(?:es|ed)?|chang(?:es|ed)|rais(?:es|ed)"
    r"|increas(?:es|ed)|lower(?:s|ed)?|reduc(?:es|ed)|halved|doubled|(?:up|down|cut) (?:to|from|by|in|back|down)"
    r"|now (?:\d\S*|on|off|takes?|taking|only|half|double|every|once|twice|at))(?-u:\b)"
)
"""The end of a medicine, or another dose of it."""

_MEDICATION: Final = rf"(?:blood thinners?|medication|tablets|pills|insulin|steroids|antidepressants|{MEDICINE})"
_DISEASE: Final = (
    r"(?:[a-z]{3,}(?:itis|sclerosis|trophy|algia|plegia|phrenia|(?:an|leuk|glyc|thalass)a?emia|aemia)|[a-z]{5,}pathy"
    r"|(?:fibr|psych|thromb|endometri|tubercul|cirrh|sten|scoli|narc)[a-z]*osis|ha?emophilia|glaucoma|[a-z]+pno?ea"
    r"|(?:heart|lung|kidney|liver|stomach|thyroid|bowel|bladder) [a-z]+"
    r"|[a-z]+(?:'s)? (?:disease|disorder|syndrome|condition|deficiency))"
)
"""A disease: the stems by which medicine names them, what ails an inner organ, and general words."""
HEALTH: Final = rf"""
    migraines?
    (?:has|have|having|with) (?:\w+ ){{0,2}}{_DISEASE}
    (?:insulin|inhaler|epipen|pacemaker|wheelchair|hearing aids?|contact lenses|prosthe\w+|painkillers?|antibiotics?)
    (?:medication|medicines?|prescription|prescribed|side effects?)
    {_CANNOT} (?:have|eat|drink|take|digest|tolerate|lift)
    (?:has|have|needs?) to (?:stop|avoid) (?:(?:taking|eating|drinking) \w+|{MEDICINE})
    {_OWN} (?:new |family |regular )?{_CARER} (?:is|are)
    (?:sees?|goes? to) (?:(?:dr\.?|doctor) \w+|(?:an?|the) (?:\w+ )?{_CARER})
    {_BE} (?:pregnant|deaf|blind|disabled|short-sighted|colou?r-?blind|vaccinated)
    (?:{_CARER},?|dr\.? \w+,?)(?: now)? says
    {_BE} on (?:\w+ ){{0,3}}{_MEDICATION}
    (?:been|put|started|stays?|remains?) (?:\w+ )?on (?:\w+ ){{0,3}}{_MEDICATION}
    takes? (?:\w+ ){{0,2}}(?:blood thinners?|steroids|antidepressants|{MEDICINE})
    (?:makes?|gives?|turns?) (?:\w+|\w+'s) {_AILING}
    (?:throat closes|breaks? out in|come out in|comes out in)
    emergency contact
    (?:doctor|physio\w*|dentist|gp|pharmacist)'s (?:orders|advice)
    (?:vitamin|supplement|tablets?|pills?|capsules?) (?:\w+ ){{0,4}}(?:every|daily|with|at night|in the)
"""
"""Health, allergies, medicines and carers."""

FORMER: Final = (
    r"(?-u:\b)(?:was|were|used to be|used to have) (?:an? |\w+ly )?(?:allergic|diabetic|asthmatic|epileptic|intolerant"
    r"|coeliac|celiac)(?-u:\b)|(?-u:\b)(?:was|were|had) (?:\w+ )+?as an? (?:child|kid|boy|girl|baby|teenager)(?-u:\b)"
)
"""Conditions that a body had in the past."""
DIET: Final = rf"""
    (?:{_BE}|been|became|turned|went|eats?) (?:an? |strictly |now )?{_DIET}
"""
"""Lasting diets: what somebody does not eat or drink."""

WISH: Final = rf"""
    {_WANTS} (?:\S+ ){{0,4}}{_REPLY}
    (?:wants?|would like|\w+'d like|asked|told) (?:you|the (?:assistant|agent|bot)|us) (?:not )?(?:to)
    asked (?:not to|to be|that|for (?:\w+ ){{0,2}}to be)
    (?:asked|told|wants) (?:me|us|\w+) (?:never|always|not) to
    (?:asked|told|wants) (?:me|us|\w+) to (?:never|always|not)
    wants? (?:one|every|each|all|no|only|none) \w+
    wants? (?:none|everything|nothing)
    wants? (?:\S+ ){{1,4}}(?:in|on|for|with|at) (?:every|each|all|any)
    does(?:n't| not) want (?:any )?(?:\w+ ){{1,2}}(?:in|on|at|for)
"""
"""How somebody wants something done: an instruction, if it is the user's wish."""
OWN_WISH: Final = (
    r"(?-u:\b)(?:i|we|user)(?:'d| would)?(?: \w+ly| also| just)?"
    r" (?:like|wants?|prefers?|needs?|asked|told|asks?)(?-u:\b)"
)
"""That wish is the user's."""
INSTRUCTION: Final = r"""
    rules?(?: (?:for|of|from|about|on|in|at|by|to|with|is|are|here|now)(?: \w+){0,3})?:
    (?:addressed|called|known) (?:as|by)
    (?:may|must) (?:not|never|only|always)
    should (?:always|never)
    only (?:run|use|call|ask|send|write|reply|answer)
    mustn't
    (?:forbidden|prohibited|off limits|not allowed|not permitted)
    (?:are|is)(?: not| never| only)? to be
    from now on
    (?:only|no \w+(?: \w+){0,4}) (?:with|without) (?:a |the |my |our )?(?:permit|permission|approval|consent|asking)
    no \w+(?: \w+){0,4} (?:unless|except)
    no exceptions|without exception|under no circumstances
    (?:is|are|it's|that's) (?:all right|okay|ok|fine|allowed|permitted|welcome) (?:again|after all)
    (?:fine|okay|ok|all right|allowed) to (?:\w+ ){1,8}?(?:again|after all)
    no \w+ (?:at|on) (?:the )?(?:weekends?|weekdays|school days|night|table|[a-z]+days)
    (?:in|with) (?:short|brief|plain|full) (?:sentences|bullet points|paragraphs|words|messages)
    answers? best to
    (?:keep|leave) (?:it|them|that|this|\w+) (?:off|out of|out|away)
"""
"""Standing instructions and prohibitions."""

_ORDER: Final = r"(?:always|never|don't(?: ever)?|do not|avoid|make sure|ask before|ask first|keep|leave|use)"
_ROUTINE: Final = (
    r"(?:run|ask|check|send|write|reply|answer|call|add|show|wait|start|warn|confirm|notify|round|quote|label|sort)"
)
_IN_A_FORM: Final = (
    rf"(?:in (?:\w+ ){{0,4}}(?:{_LANGUAGE}|sentences?|bullet points|paragraphs?|words|lists?|tables?|prose|points|steps"
    r"|units|detail|markdown|json|capitals|verse)|with (?:an? )?(?:\w+ )?(?:sources?|examples?|links?|citations?"
    r"|references?)|briefly|concisely|politely)"
)
_SAY: Final = r"(?:reply|answer|respond|write|speak|talk|text)"
_MANNER: Final = (
    r"(?:brief|short|concise|formal|informal|direct|blunt|precise|plain|simple|terse|to the point|polite|honest)"
)
_ACT: Final = (
    rf"(?:{_ROUTINE}|{_SAY}|ring|phone|text|tell|remind|give|take|treat|page|open|close|switch|turn|inform|stop|skip|assume"
    r"|retry|bring|put|move|get|order|book|cancel|log|escalate|restart|roll back|fall back|go|see|fetch|pause)"
)
_TELL: Final = r"(?:mention|share|show|promise|offer|sell|pay|sign|publish|lend|say)"
IMPERATIVE: Final = (
    rf"(?:^|[;:] ?|[^.\s]{{3}}[.!] )(?:please,? )?{_ORDER} \S+ \S+"
    rf"|(?:^|[,;] )(?:and |but |so )?please,? {_ORDER} \S+ \S+|(?-u:\b)(?:and|but|so) please,? {_ORDER} \S+ \S+"
    rf"|^(?:for|when|whenever|if|with|after|before|in|on) [^,;]{{2,60}}, (?:please,? )?{_ORDER} \S+ \S+"
    rf"|^(?:if|when|whenever) [^,;]{{4,80}}, (?:then )?(?:please,? )?(?:always |first )?{_ACT} \S+"
    r"|^(?:for|if|when|whenever) [^,;:]{2,80}: (?:please,? )?(?:no|nothing|nobody|only) \S+"
    r"|^(?:no|nothing|nobody|none) [^.;]{3,80}, please(?-u:\b)"
    r"|^(?:no(?: [^\s.,;:]+){1,9}|nobody) (?:may|must|should|(?:is|are) to) (?:ever )?(?:be )?[a-z]+"
    r"|^no (?:[^\s.,;:]+ ){1,7}(?:before|after|between|until) (?:noon|midnight|dark|dawn|(?:one|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven)(?-u:\b)|\d)"
    rf"|^(?:please,? )?{_ROUTINE} (?:\S+ ){{1,8}}(?:before|after|unless|whenever|every time|each time) \S+"
    rf"|^(?:please,? )?(?:remind me|{_ROUTINE}) (?:\S+ ){{1,8}}(?:every|each) (?:second |other |first |last )?"
    r"(?:day|week|month|morning|evening|\w+day)"
    rf"|^(?:please,? )?{_SAY}(?: to)?(?: me)?(?: only| always)? {_IN_A_FORM}(?-u:\b)"
    rf"|^(?:please,? )?{_SAY}(?: only| always)? {_LANGUAGE}(?-u:\b)"
    rf"|^(?:please,? )?(?:be|stay|keep (?:it|them|things|(?:the |your )?{_REPLY})) (?:\w+ and )?{_MANNER}(?-u:\b)"
    rf"|^(?:please,? )?(?:{_ROUTINE}|give|put|book|order) (?:\S+ ){{1,6}}?not (?:to|in|as|by|with|from|via|on) \S+"
    rf"|(?:^|, )(?:please,? )?(?:{_ACT}|{_TELL}) (?:no|nothing|nobody|only) \S+"
    rf"|, (?:so|and|but) (?:please,? )?(?:don't|do not|never) (?:{_ACT}|{_TELL}|let) \S+"
    r"|^(?:if|when|whenever) [^,;]{4,80}, (?:\w+ )?\w+ (?:must|has to|have to) \S+"
)
"""A sentence that commands: by its first words, after a case or a purpose, or by a verb and when to do it."""
NO_COMMAND: Final = (
    r"^(?:please,? )?(?:(?:never|don't|do not)(?: ever)? (?:mind|knew|thought|had|been|felt|seen|heard|worry|know|think"
    r"|forget|be|get|stress|give up|laugh|have|want|need|feel|like|you|see|even|really|remember|care|tell me)"
    r"|always (?:up|good|nice|great|fun|a|an|the|so|be|been|happy|here|love|loved|wanted|have|had|there|there's)"
    r"|(?:keep|leave) (?:it up|up|going|doing|at|me|us)|use(?:d|s))(?-u:\b)"
)
"""First words of sentences that give no lasting command."""
OF_ANOTHER: Final = (
    r"^(?:my|our) (?:\S+ ){1,3}?(?:prefers?|loves?|likes?|enjoys?|hates?|dislikes?|adores?|detests?|wants?)(?-u:\b)"
)
"""A taste of somebody or something that belongs to the speaker, which is the speaker's only within the household."""
OF_HOUSEHOLD: Final = rf"^(?:my|our) (?:\S+ ){{0,2}}(?:{KIN}|{PET})(?-u:\b)"
"""First words about a relative or an animal of the speaker's."""
OWNER_START: Final = r"^(?:i|we|(?:the )?user) [a-z]"
"""First words of a sentence that says what its speaker, or the user, does."""
ADDRESSED: Final = r"(?-u:\b)(?:you|your|yours|you're|you've|you'll|yourself|u|ur)(?-u:\b)"
"""A sentence about the person addressed."""
SUPPOSED: Final = r"(?-u:\b)(?:if i|wish|maybe|people who|anyone|i'll|i will|i'd|would be)(?-u:\b)"
"""A wish, a promise of the moment, or a hypothetical case."""
HYPOTHETICAL: Final = (
    r"^(?:(?:what|even|only|but|and) )?(?:if|suppose|supposing|imagine|unless)(?-u:\b)"
    r"|(?-u:\b)(?:maybe|perhaps|possibly|might|undecided|not (?:yet )?(?:decided|sure)|in theory|if only)(?-u:\b)"
)
"""A hypothetical case, or something not decided."""
_SAYING: Final = (
    r"(?:told|tells|said|says|mentioned|claims|claimed|asked|asks|reckons|reported|reports|complained|wrote)"
)
NOBODY_KNOWN: Final = (
    r"^(?:some(?:one|body)|every(?:one|body)|no(?: one|body)|people|some people)(?-u:\b)"
    r"|^(?:(?:the )?user (?:said|says|mentioned) (?:that )?)?(?:an?|some|one of the) (?:\S+ ){1,4}?"
    rf"{_SAYING}(?-u:\b)"
)
"""A sentence about nobody in particular, or what somebody unnamed said."""
OF_THE_SPEAKER: Final = rf"{_SAYING}(?: (?:me|us))?(?: that)? (?:i|i'm|i've|i'd|my|we|we're|we've|our)(?-u:\b)"
"""What somebody said about the speaker: a doctor need not have a name."""
RETRACTED: Final = (
    r"(?-u:\b)but (?:that|this|it)(?:'s| is| was| seems| looks| may be| might be)(?: now| probably| since)?"
    r" (?:outdated|out of date|wrong|old|over|untrue|no longer|not true|a mistake|obsolete)(?-u:\b)"
)
"""A sentence that takes back what it says."""
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
QUOTED: Final = r"(?-u:\b)(?:says|said|reads|read|wrote|writes|shouted|yelled)(?: to \w+)?\s*[:\x22\x{201c}]"
"""Words of somebody else."""
PLACEHOLDER: Final = (
    r"<[\p{L}][\p{L} _.-]*>|\{[^{}]*\}|\[[\p{L}_ -]+\]|(?-u:\b)(?:TODO|TBD|TBC|TBA|FIXME|N/A|[xX]{3,})(?-u:\b)|_{3,}"
    r"|\.{4,}|(?i:lorem ipsum)|(?i:(?-u:\b)(?:is|are|called|named|in|at|to))\s*[:=]?\s*[.?_-]*$"
)
"""A placeholder that was never filled; matched in the original text."""
SMALL_TALK: Final = (
    r"^(?:thanks|thank you|wow|yeah|yes|yep|yup|no|nope|nah|hey|hi|hello|haha\w*|lol|oh|ooh|aw+|ah"
    r"|congrats|congratulations|cool|great|nice|awesome|sure|ok|okay|sounds?|glad|good|definitely|absolutely|totally|exactly|sorry|bye|woah|whoa"
    r"|yum|yay|omg|well|true|right|of course|me too|same here|here(?:'s| is| are)|that(?:'s| is)|this is|these are)"
    r"(?-u:\b)"
)
"""First words of chat."""
REACTION: Final = (
    r"(?-u:\b)(?:love|loves|like|likes|enjoy|enjoys|adore|adores) (?:this|that|these|those|it|them|how|what|when|the"
    r"|your|you|her|him|to (?:say|joke|claim|boast|think|believe))(?-u:\b)"
)
"""Praise of the moment and sayings, which are no lasting tastes."""

PREFERENCE: Final = rf"""
    prefers?
    preference
    (?:i|we|they)(?: really| just| absolutely| also)? (?:love|like|enjoy|hate|dislike|adore|detest)
    (?:loves|likes|enjoys|hates|dislikes|adores|detests)
    favou?rites?
    (?:would|\w+'d) rather
    (?:can't|cannot|can not|couldn't) (?:stand|bear|abide)
    (?:not a|big|huge|great) fan of
    (?:doesn't|don't|does not|do not|never|no longer) (?:eats?|drinks?|cooks?|wears?|flies|fly|smokes?)
    (?:doesn't|don't|does not|do not) (?:want|like) to
    (?:takes?|drinks?|has|have) (?:my|his|her|their) (?:coffee|tea|eggs|steak)
    (?:always|usually) (?:puts?|takes?|wears?|eats?|drinks?|orders?|books?|sits?)
    {_BE} (?:afraid|scared|terrified|fond) of
    asks? for on
"""
"""Likes, dislikes and ways."""

IDENTITY: Final = rf"""
    my name is
    {_BE} \d{{1,2}}(?: years old|,| and | now)
    {_BE} {_SPELLED}(?: years old)?(?:,|;|\.| and|$)
    years old
    (?:lives|living) (?:in|at|on|with|near|alone|here)
    (?:i|we|they|who|both|{KIN}|and \w+)(?: now| still| both| also)? live (?:in|at|on|with|near|alone|here)
    (?:my|our|her|his|their|new) (?:\w+ )?(?:address|(?:phone|mobile) number|phone|email|e-mail)(?: address)? is
    new (?:address|e-?mail(?: address)?|(?:(?:phone|mobile|cell) )?number)
    (?:grew up|was born|were born|was raised in|native of)
    (?:(?:i|he|she) comes?|we come|i'm|i am|we're|we are|(?:he|she)(?:'s| is)) (?:originally )?from [a-z]+
    (?:rents?|owns?) (?:an?|two|three|{_OWN})
    {_BE} (?:an?|the) (?:\S+ ){{0,3}}{_WORK}
    (?:works|i(?: now| still| also| currently)? work|we work|they work) (?:as|at|for|in|from|nights|part-time|full-time)
    (?:is|i'm) working (?:as|at|for|in|from|nights|part-time|full-time)
    for a living
    {_OWN} (?:job|salary|contract|office) (?:is|are|pays|gives)
    {_OWN} (?:boss|employer|manager) (?:is called|is named)
    (?:earns?|drives?|studies|plays) (?:an?|the|at|\d)
    (?:teaches|i teach|we teach) [a-z]+
    started (?:an?|my|his|her|their) (?:new )?job (?:at|as|in|with)
    (?:native|mother) (?:tongue|speaker|language)
    (?:speaks?|fluent in) (?:fluent |some |a little )?{_LANGUAGE}
    bilingual
    {_OWN} (?:\S+ ){{0,2}}{KIN},? (?:\S+ ){{0,4}}{_STATE}
    {_OWN} (?:\S+ ){{0,2}}(?:{KIN}|{PET}) (?:is|are|was) (?:called|named)
    (?:have|has|\w+'ve got|\w+'s got) {_COUNT} (?:\S+ ){{0,3}}(?:{KIN}|{PET})
    there {_BE} {_COUNT} (?:{KIN}|{PET})
    (?:married to|engaged to)
    {_BE} (?:happily |newly |recently )?{_STATUS}
    (?:citizen|citizenship|nationality)
    passport (?:is|number|expires)
    expecting (?:\w+ ){{0,3}}(?:baby|child|twins)
    wants? to be (?:called|known as|addressed)
    (?:birthday|anniversary) is
    (?:husband|wife|partner|son|daughter) of
"""
"""Who somebody is: name, age, home, work, languages, family."""
_NAME: Final = r"\p{Lu}\p{Ll}+(?:-\p{Lu}\p{Ll}+)?"
INTRODUCTION: Final = (
    rf"(?:^|[^\p{{L}}'\x{{2019}}])I(?:['\x{{2019}}]m| am) {_NAME}(?: {_NAME})?(?:[,.;!]|$| (?:and|but|from))"
)
"""Introductions by name or nationality; matched in the original text."""
CALLED: Final = (
    rf"(?i:(?-u:\b)(?:people|friends|everyone|everybody|family|colleagues|they|just|please|you can)) call me {_NAME}"
    rf"|^[Cc]all (?:me|her|him|them) {_NAME}(?:[.,;!]|$| (?:in|when|if|only|at))"
    rf"|(?-u:\b)(?i:my|our) (?:\w+ ){{0,2}}(?i:{KIN}|name|landlord|landlady|{PET})(?: is|'s|\x{{2019}}s) {_NAME}"
    rf"|(?-u:\b)(?i:my|our) (?:new |line )?(?i:boss|manager|employer)(?: is|'s|\x{{2019}}s) {_NAME}"
)
"""What somebody is called; likewise."""
A_PLACE_OF_THINGS: Final = r"(?-u:\b)lives? (?:in|at|on) \S*[/`_\\]"
"""The location of a file, which is not a home."""

_SOMETIMES: Final = r"(?: (?:currently|now|still|also|really|just|\w+ly))?"


def _undertaken(who: str, being: str) -> str:
    """Return the cues that somebody does or intends something that takes time."""
    return rf"""
    {being}{_SOMETIMES} {_DO}
    {who}(?:'ve|'s| have| has) been {_DO}
    {who}{_SOMETIMES} (?:plans?|intends?|aims?) to [a-z]+ \S+
    {being} (?:going|trying|hoping|aiming) to {_PURSUE} \S+
    {who}(?:{_SOMETIMES} (?:wants?|hopes?)|'d like| would like) to {_PURSUE} \S+
    {who} will (?:be (?:redone|built|renovated|launched|opened|moved)|marry|move|launch|graduate|retire)
    {who} started (?:learning|studying|training|building|writing|working on|a course|a project)
    {who} signed up for
"""


PROJECT: Final = _undertaken(r"\w+", _BE)
"""Projects under way or intended, by anybody."""
OWN_PROJECT: Final = (
    _undertaken(r"(?:i|we|user)", r"(?:i'm|i am|we're|we are|user is)")
    + rf"""    (?:my|our|user's) (?:\S+ )?(?:goal|target|aim|project|thesis|dissertation) (?:is|for)
    (?:deadline|due date)(?: (?:for|of)(?: \S+){{1,5}})?(?: (?:is|stays|remains|moved to|now))*(?: on| by)?:? {_DATE}
    (?:need|needs|want|wants|expects?|due|must have|has to have) (?:\S+ ){{0,5}}(?:by|on|until) {_DATE}
    {_TASK} (?:is|are|will be)(?: now| still)?(?: due| planned| set| scheduled| booked)?(?: on| by| for| from)? {_DATE}
    (?:runs?|leads?|manages?|heads?|(?:is|am) in charge of) the (?:\S+ ){{1,3}}(?:project|release|migration|bid)
"""
)
"""What the user does or intends, projects with the person who runs them, and deadlines."""
SOMEDAY: Final = (
    r"(?-u:\b)(?:one day|some ?day|sometime|eventually|at some point|in a few years"
    r"|when i(?:'m| am) (?:old|retired|rich))"
    r"(?-u:\b)"
)
"""No definite time: a dream rather than a project."""
FINISHED: Final = r"(?-u:\b)(?:is|are|was|'s) (?:over|past|done|finished|cancelled|canceled|off|dead|passed)(?-u:\b)"
"""What is no longer under way."""

ONE_TIME: Final = rf"""
    yesterday
    today
    tonight
    tomorrow
    last (?:night|week|month|year|weekend|summer|winter|spring|fall|autumn|\w+day)
    next (?:week|month|year|weekend|\w+day)
    ago
    recently
    this (?:morning|afternoon|evening|week|weekend|month|time)
    (?:just|already) (?:now|got|finished|came|went|had|left)
    (?:on|by|until|till) (?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}
    (?:on|by|until|till) {_MONTH} \d{{1,2}}
    on (?:mon|tues|wednes|thurs|fri|satur|sun)day (?:at|from|until|till|night|morning|evening|afternoon)
    (?:went|was|were|did|had|met|saw|came|got|took|bought|made|told|said|gave|felt|found|left|kept|ran|sold|lost|won)
    (?:was|were|did|had)n't
    at the moment|right now|for now|for the time being|temporarily
"""
"""A day or a deed of the past: not a standing fact."""
RELATIVE_DAY: Final = (
    r"(?-u:\b)(?:today|yesterday|tonight|tomorrow|(?:this|last|next) (?:week(?:end)?|month|year|morning|afternoon"
    r"|evening|night|spring|summer|autumn|fall|winter|term|time|[a-z]+day))(?-u:\b)"
)
"""A day that only its own date explains."""
STANDING: Final = (
    r"(?:grew up|was born|were born|was raised in|used to be called)"
    r"|(?-u:\b)(?:now (?:lives?|works?)|(?:lives?|works?) (?:in|at|on|for|as) (?:[^\s,;.]+ ){1,3}now)(?-u:\b)"
)
"""The past that stays true, and what is so now."""
LEFT_SIDE: Final = r"(?-u:\b)(?:my|our|his|her|their|the) left(?-u:\b)"
"""A side, which nobody has left."""
PASSIVE: Final = (
    r"(?:(?-u:\b)(?:am|is|are|be|been|being|gets?|get|an?|the|my|our|his|her|their)|'s|'m|'re)"
    r" (?:\w+ly )?\w+(?:ed|en)(?-u:\b)"
)
"""Participles after an auxiliary or an article, which are not past tense."""
PAST: Final = r"^(?:\S+ ){1,3}?[a-z]{2,}[^e\s]ed(?-u:\b)"
"""A verb in the past near the beginning."""
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
PASSING: Final = (
    r"(?-u:\b)(?:at the moment|right now|for now|for the time being|temporarily|while (?:he|she|they|[a-z]+)"
    r"(?:'s|'re| is| are) (?:here|away|down|out|ill|sick|staying|visiting|moved|moving)|is visiting|are visiting"
    r"|until (?:[a-z]+ (?:leaves?|(?:gets?|is|are|am|comes?) back|returns?)|[a-z]+'(?:m|s|re) back)"
    r"|(?:for|over|during|in|at) the (?:coming|next|following) (?:\w+ )?(?:days?|weekends?|weeks?|months?))(?-u:\b)"
)
"""What makes a rule or a wish one of a few days."""
AT_HAND: Final = (
    r"(?-u:\b)(?:this|these|those|the (?:current|present|next|following)) [a-z]+|(?-u:\b)(?:when|once|after)"
    r" (?:you're |you are |it's |it is )?(?:done|finished|ready|through)(?-u:\b)|(?-u:\b)first$|(?-u:\b)while [a-z]+ing"
    r"(?-u:\b)"
)
"""What a sentence points at: the task, the run or the thing at hand."""
FROM_NOW_ON: Final = r"(?-u:\b)from [a-z ]{3,20}? on(?-u:\b)"
"""From a day on, which is for good."""
SINCE: Final = r"(?-u:\b)since (?:(?:last|this|the|early|late|mid) )?[a-z]+(?-u:\b)"
"""Since when something has been so; it still is."""
NO_LONGER: Final = r"(?-u:\b)no (?:longer|more)(?-u:\b)"
"""The end of something, which forbids nothing."""
FOR_GOOD: Final = (
    r"(?-u:\b)(?:always|never|ever|every|each|from now on|must|mustn't|may not|in (?:the )?future)(?-u:\b)"
)
"""What makes a rule lasting, whatever happens today."""
THERE: Final = r"(?-u:\b)(?:in|into|inside|from|near|over|up|down|under|behind|out) there(?-u:\b)"
"""A place that is named elsewhere."""
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
