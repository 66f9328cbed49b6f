"""Nouns for a person by the relation to another: "my sister", "Emil's teacher". A closed class of English."""

from typing import Final

RELATIONS: Final = (
    r"(?:(?:grand|step|god|great-grand|half-)?(?:mother|father|son|daughter|sister|brother|child|children|parents?|mum|mom"
    r"|dad|sisters|brothers|sons|daughters|kids?|ma|pa)|(?:mother|father|sister|brother|son|daughter)-in-law|(?:great-)?aunt"
    r"|(?:great-)?uncle|cousin|niece|nephew|twin|wife|husband|spouse|partner|fianc[e\u00e9]+|girlfriend|boyfriend|ex"
    r"|friend|neighbou?r|colleague|coworker|co-worker|boss|manager|mentor|assistant|teacher|tutor|coach|trainer|doctor"
    r"|dentist|therapist|landlord|landlady|flatmate|roommate|housemate|tenant|client|customer|patient|student|pupil"
    r"|dog|cat|puppy|kitten|horse|rabbit|parrot|hamster|pet|baby|nanny|carer)"
)
"""Pattern of a word for someone who belongs to another person, a pet included."""
