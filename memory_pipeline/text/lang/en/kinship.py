"""Nouns for a person or an animal by the relation to another: "my sister", "Emil's teacher". Closed classes."""

from typing import Final

KIN: Final = (
    r"(?:wife|husband|spouse|partner|fianc[ée]e?|girlfriend|boyfriend|mother|mum|mam|mom|father|dad|parents?|son|sons"
    r"|daughters?|child|children|kids?|baby|brothers?|sisters?|siblings?|twins?|grand(?:mother|father|parents?|son"
    r"|daughter|children|kids?|ma|pa)|nan|nana|aunts?|uncles?|cousins?|nieces?|nephews?|in-laws?"
    r"|step(?:mother|father|son|daughter))"
)
"""A relative or partner."""
PET: Final = r"(?:dogs?|cats?|pets?|pup(?:s|py|pies)?|kittens?|horses?|rabbits?|parrots?|hamsters?|tortoises?)"
"""An animal that belongs to somebody."""
RELATIONS: Final = (
    r"(?:(?:mother|father|sister|brother|son|daughter)-in-law|great-(?:aunt|uncle|grand(?:mother|father|son|daughter))"
    rf"|(?:god|half-)(?:mother|father|son|daughter|sister|brother)|{KIN}|{PET}|ma|pa|ex|friend|neighbou?r|colleague"
    r"|coworker|co-worker|boss|manager|mentor|assistant|teacher|tutor|coach|trainer|doctor|dentist|therapist|landlord"
    r"|landlady|flatmate|roommate|housemate|tenant|client|customer|patient|student|pupil|nanny|carer)"
)
"""Anybody who belongs to another person, a pet included."""
