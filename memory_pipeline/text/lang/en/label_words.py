"""English words that name no topic: a label of a group leaves them out.

Not here: function words and small talk (`lexicon`), and how a label is made (`consolidation/groups/labels`).
"""

from typing import Final

from memory_pipeline.text.lang.en.lexicon import DATE_WORDS, FIRST_PERSON, SMALL_TALK, STOP_WORDS


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VERBS: Final = _set("""
accept add agree allow answer appear apply arrive ask become begin believe break bring build buy call carry change
check choose come complete confirm consider continue cost cut decide do drop eat end enjoy expect explain fall feel
find finish fit fix follow forget get give go grow handle happen hate have hear help hold hope include join keep know
leave let like listen live look lose love make mean meet mention miss move need notice offer open order own pass pay
pick place plan play prefer promise put reach read realize receive remember remind remove replace reply report require
run save say see seem sell send serve set share show sit sleep speak spend stand start stay stop suggest support
suppose swap switch take talk tell think throw touch try turn understand update use visit wait walk want watch wear
win wish wonder work worry write earn hang handed raise poll reset sign sort
""")
_PAST: Final = _set("""
ate began believed bought broke brought built came chose cut did drew drove fell felt fought found forgot gave gone
got grew had heard held hid kept knew known lost made meant met paid ran said sat saw seen sent shown slept sold spent
spoke stood taken taught thought threw told took understood went woke won wore wrote written ordered
""")
_GENERAL: Final = _set("""
able again also another anymore anything away back bit bottom case certain clear close couple current different easy
end enough entire even extra far few final fine first former free full general half hard high kind large last late
latest left less little long lot low main many minute minutes more most much name near new next nice number old ones
only open other own part pair past people person piece plenty possible present previous quick quite rather ready real
recent regular related same second separate several short side similar simple single slow small some soon sort special
start stuff such sure thing things third time times today top total true twice two three four five six seven eight
nine ten type usual various very way ways whole word words wrong yes mr mrs ms dr prof user users assistant agent day
days week weeks month months year years hour hours morning evening afternoon night god wow hey dont cant wont didnt
isnt thats youre theyre gonna lol utc etc due best better worst good bad later alright idea care worth crazy
experience problem problems hes shes
""")

NO_TOPIC: Final = (
    STOP_WORDS
    | SMALL_TALK
    | DATE_WORDS
    | FIRST_PERSON
    | _PAST
    | _GENERAL
    | {
        form
        for verb in _VERBS
        for stem in (verb.removesuffix("e"),)
        for form in (
            verb,
            f"{verb}s",
            f"{verb}es",
            f"{stem}ed",
            f"{stem}ing",
            f"{verb}{verb[-1]}ing",
            f"{verb}{verb[-1]}ed",
        )
    }
)
"""Function words, small talk, words of dates, and general verbs, adjectives and measures of time, in every form."""
PAST_ENDING: Final = r"\p{L}{2}[^e]ed$"
"""The ending of verbs in the past tense."""
