"""English pronouns and connectives by which a sentence leans on the one before it.

Not here: how they are applied (`score/core_facts`, `consolidation/core_profile`, `consolidation/summaries`).
"""

from typing import Final

PLACEHOLDER: Final = (
    r"<[\p{L}][\p{L} _.-]*>|\{[^{}]*\}|\[[\p{L}_ -]+\]|(?-u:\b)(?:TODO|TBD|TBC|TBA|FIXME|N/A|[xX]{3,})(?-u:\b)|_{3,}"
    r"|\.{4,}|[:=]\s*\([^()]*\)\s*\.?\s*$|(?i:lorem ipsum)"
    r"|(?i:(?-u:\b)(?:is|are|called|named))(?:\s*[:=][\s.?_-]*|\s[\s.?_-]*)?$"
    r"|(?i:(?-u:\b)(?:in|at|to))(?:\s*[:=]|\s+[.?_-])[\s.?_-]*$"
)
"""A placeholder that was never filled; matched in the original text."""
LEANING_START: Final = (
    r"(?i)^(?:he|she|it|they|him|her|them|his|its|their|this|that|these|those|there|then|so|and|but|or|because|which|who"
    r"|also|otherwise|instead|same|still|not|except|exceptions?|unless|apart from|only (?:if|when)"
    r"|the (?:second|third|other|others|former|latter|rest))(?-u:\b)"
)
"""First words that lean on the sentence before: a pronoun, a connective, an exception."""
PERSON_START: Final = r"(?i)^(?:and |but |so )?(?:he|she|they|his|her|their)(?-u:\b)"
"""First words that refer to somebody whom the sentence before names."""
BEGINS: Final = r"(?-u:\b)(?:since|started|began|begun)(?-u:\b)"
"""Words before a date that is not a deadline."""
