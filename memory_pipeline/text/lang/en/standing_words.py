"""Words that distinguish lasting states from events and from measurements of one moment.

Broad word classes of English, for `compare/standing` and `compare/stated_changes`. Not here: words of change
(`stated_change`), and cues that only make a relation likely (`relation_cues`).
"""

from typing import Final

MEASURES: Final = frozenset(
    """
    euro euros eur dollar dollars usd pound pounds gbp franc francs cent cents percent
    mg g kg gram grams kilo kilos ml cl l litre litres liter liters mm cm m km metre metres meter meters mile miles
    inch inches foot feet degree degrees celsius fahrenheit c f bar psi volt volts watt watts kwh kw amp amps bpm rpm
    kcal calories steps hz khz mhz ghz kb mb gb tb mbit gbit km/h kmh mph
    second seconds sec minute minutes min hour hours hr hrs day days night nights week weeks month months year years
    """.split()  # noqa: SIM905 - a long list is easier to read as text
)
"""Units of quantities that vary."""
NAMING: Final = frozenset(
    """
    code codes pin password passcode passphrase combination number numbers extension ext id room hall desk seat locker
    gate platform pier dock bay building bus tram route channel port version iban plate serial
    """.split()  # noqa: SIM905
)
"""Nouns whose figures name a thing instead of measuring it."""
AGREED: Final = frozenset(
    """
    rent salary wage wages fee fees allowance pension premium deposit subscription membership tariff limit quota budget
    must mustn't maximum minimum
    """.split()  # noqa: SIM905
)
"""Words beside figures that are agreed on or demanded, and hold until they are changed."""
STATES: Final = (
    "is|are|am|i'm|we're|you're|they're|he's|she's|it's|has|have|does|do|doesn't|don't|isn't|aren't|can|can't|cannot"
    "|must|always|never|every|lives?|works?|likes?|loves?|hates?|prefers?|wants?|needs?|owns?|uses?|knows?|speaks?"
    "|plays?|studies|teaches|owes?|opens?|closes?|belongs?|contains?|means?|stands?|sleeps?|eats?|drinks?|smokes?"
    "|wears?|drives?|rides?|walks?|cycles?|takes?|gets?|gives?|pays?|sells?|keeps?|goes|serves?|allows?|requires?"
    "|expects?|depends?|runs?|sits?|attends?|collects?|manages?|leads?|supports?|accepts?|prints?|comes?|says"
)
"""Present forms of verbs of being, having and habitual action."""
PASSING: Final = (
    "again|once|just|now|today|tonight|tomorrow|yesterday|soon|this (?:morning|afternoon|evening|week|month|year|time)"
    "|last (?:night|week|month|year)|ago|at last|finally|right away"
)
"""Expressions that tie a statement to the day it was said."""
SAME_FORM: Final = "put|read|cut|set|hit|let|quit|cost|hurt|shut|beat|bet|split"
"""Verbs whose past tense looks like their present."""
