"""Things that English distinguishes by a number or an ordinal: "task 12", "cousin number 3", "the second rehearsal".

Patterns over folded text for the regular expressions of Polars. Not here: numbers that are values ("costs 12 euros").
"""

from typing import Final

_NO_PART_OF_A_NAME: Final = (
    r"i|we|he|she|you|they|it|there|is|are|was|were|has|have|had|be|been|do|does|did|will|can|not|at|until|till|since|by"
    r"|from|to|than|about|around|over|under|every|each|after|before|and|or|only|some|all|exactly|nearly|almost"
)
_FOLLOWS: Final = (
    r"is|are|was|were|has|have|had|will|can|does|did|of|in|on|at|to|for|with|by|from|needs|takes|starts|ends|and"
)
NUMBERED: Final = (
    r"^\W*((?:[\p{L}'-]+ ){0,4}[\p{L}'-]+) (?:(?:number|no\.?|nr\.?) #?([0-9]+) [\p{L}]"
    rf"|#?([0-9]+) (?:{_FOLLOWS})(?-u:\b))"
)
"""What is numbered, and its number: after the word for a number, or followed by a verb or preposition."""
NO_NAME: Final = rf"(?-u:\b)(?:{_NO_PART_OF_A_NAME})(?-u:\b)"
"""A word that shows that a number after it is a value."""
RANKED: Final = (
    r"^\W*(?:the|my|our|his|her|their|your|[\p{L}]+'s) (first|second|third|fourth|fifth|sixth|seventh|eighth|ninth"
    r"|tenth|[0-9]+(?:st|nd|rd|th)) ([\p{L}]{3,})"
)
"""An ordinal, and what it counts."""
