"""The profile of a user in core memory: stable facts that still hold, the most used first."""

import re

import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from planned import fact_changes

from memory_pipeline.consolidation import core_memory, core_profile
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

DAY = re.compile(r" \(\d{4}-\d\d-\d\d\)$")


def compiled(*rows, **given):
    """The blocks by name, as lists of facts without their days, of memories m0, m1, ..."""
    blocks = dated(*rows, **given)
    assert all(DAY.search(fact) for facts in blocks.values() for fact in facts)
    return {block: [DAY.sub("", fact) for fact in facts] for block, facts in blocks.items()}


def dated(*rows, edges=(), changes=(), **policy):
    """The same with their days."""
    memories = frames.memories({"importance_given": 0.6, **row} for row in rows)
    scored = memories.select("profile_id", "memory_id", importance="importance_given")
    found = core_memory.candidates(
        memories,
        scored,
        frames.enrichment({}, of=memories),
        Policy(**policy),
        as_of=AS_OF,
        edges=frames.edges(edges),
        changes=fact_changes(changes),
    )
    return {block: content.split(core_memory.SEPARATOR) for block, content in found.select("block", "content").rows()}


def said(*texts, **fields):
    return [{"content": text, "created_at": ago(40 - n), **fields} for n, text in enumerate(texts)]


def test_each_kind_of_fact_has_its_block_in_the_order_of_reading():
    told = said(
        "I'm building a cedar canoe in the garage.",
        "I would rather take the train than fly.",
        "Always quote prices without tax.",
        "I'm allergic to walnuts.",
        "I live in a converted barn near Kells.",
        "We went to the harbour yesterday.",
    )
    blocks = compiled(*told)
    assert list(blocks) == list(core_profile.NAMES)
    assert [facts for (facts,) in blocks.values()] == [row["content"] for row in told[4::-1]]


@pytest.mark.parametrize(
    "fields",
    [
        {"valid_until": ago(1)},
        {"lifecycle": "archived"},
        {"superseded_by": "x", "superseded_kind": "update"},
        {"speaker": "Assistant"},
        {"importance_given": 0.1},
        {"kind": "episode", "members": ["x"]},
    ],
)
def test_what_is_closed_merged_away_or_said_by_an_assistant_is_left_out(fields):
    assert compiled(*said("I live in a barn near Kells."))
    assert compiled(*said("I live in a barn near Kells.", **fields)) == {}


@pytest.mark.parametrize("edge", ["MAY_UPDATE", "CONTRADICTS"])
def test_the_older_side_of_a_doubt_is_left_out_even_if_the_newer_one_is_archived(edge):
    told = said("I live in a barn near Kells.", "Moving day! Boxes everywhere in Trim.")
    assert compiled(*told) == {"user_profile": ["I live in a barn near Kells."]}
    link = {"source": "m1", "target": "m0", "edge_type": edge}
    assert compiled(*told, edges=[link]) == {}
    told[1]["lifecycle"] = "archived"
    assert compiled(*told, edges=[link]) == {}


def test_a_closed_sentence_is_left_out_and_the_rest_stays():
    closed = {"sentence": "I live in a barn near Kells.", "valid_until": ago(1), "closed_by": "x"}
    text = "I live in a barn near Kells. I'm allergic to walnuts."
    assert compiled(*said(text, closed_statements=[closed])) == {"health_and_safety": ["I'm allergic to walnuts."]}


def test_a_doubt_about_one_statement_takes_only_that_and_no_doubt_takes_a_lasting_condition():
    allergy, work = "I'm allergic to walnuts.", "I work as a nurse in Sligo."
    told = said(f"I live in a barn near Kells. {allergy} {work}", "Moving day! Boxes everywhere in Trim.")
    link = {"source": "m1", "target": "m0", "edge_type": "MAY_UPDATE"}
    part = {"memory_id": "m0", "other_id": "m1", "relation": "update", "decided": False}
    part["statement"] = "I live in a barn near Kells."
    assert compiled(*told, edges=[link]) == {"health_and_safety": [allergy]}
    assert compiled(*told, edges=[link], changes=[part]) == {"user_profile": [work], "health_and_safety": [allergy]}
    assert compiled(*told, changes=[part | {"statement": allergy}])["health_and_safety"] == [allergy]


def test_what_is_more_likely_than_not_outdated_is_left_out_but_no_lasting_condition():
    told = said("I live in a barn near Kells.", "I'm allergic to walnuts.", "Moving day! Walnuts everywhere in Trim.")
    unsure = [
        {"memory_id": older, "other_id": "m2", "relation": "doubt", "decided": False, "confidence": 0.6}
        for older in ("m0", "m1")
    ]
    assert compiled(*told, changes=unsure) == {"health_and_safety": ["I'm allergic to walnuts."]}


def test_a_short_memory_is_told_whole_unless_it_states_several_kinds_of_facts_or_is_long():
    boiler = "The boiler in the crypt is a Baxi. Never press its reset twice. The vicar has the manual."
    both = "The vicar is coeliac. I live in a barn near Kells. The hens have gone."
    long = f"{'The boiler was cleaned and it took a while. ' * 5}Never press its reset twice in one day."
    assert compiled(*said(boiler)) == {"standing_instructions": [boiler]}
    assert compiled(*said(both)) == {
        "health_and_safety": ["The vicar is coeliac."],
        "user_profile": ["I live in a barn near Kells."],
    }
    assert compiled(*said(long)) == {"standing_instructions": ["Never press its reset twice in one day."]}


def test_an_instruction_is_left_out_only_if_a_link_outdates_it():
    told = said("The keys of the boathouse must not be lent.", "Lent the keys of the boathouse to the vicar.")
    doubt = {"memory_id": "m0", "other_id": "m1", "relation": "doubt", "decided": False, "confidence": 0.6}
    link = {"source": "m1", "target": "m0", "edge_type": "MAY_UPDATE"}
    assert compiled(*told, changes=[doubt]) == {
        "standing_instructions": ["The keys of the boathouse must not be lent."]
    }
    assert compiled(*told, edges=[link]) == {}


def test_of_an_introduction_that_no_longer_holds_the_name_stays():
    told = said("I'm Orla Finnegan, a night nurse in Sligo.", "Only day shifts from now on.")
    unsure = {"memory_id": "m0", "other_id": "m1", "relation": "doubt", "decided": False, "confidence": 0.6}
    assert compiled(*told, changes=[unsure])["user_profile"] == ["I'm Orla Finnegan."]


def test_a_low_importance_that_nobody_gave_keeps_no_allergy_and_no_instruction_out():
    told = said("He is allergic to sulfa drugs.", "No new paint without asking.", "I live in a barn near Kells.")
    memories = frames.memories({"importance_given": None, **row} for row in told)
    scored = memories.select("profile_id", "memory_id", importance=0.1)
    blocks = core_memory.candidates(memories, scored, frames.enrichment({}, of=memories), Policy(), as_of=AS_OF)
    assert blocks["block"].to_list() == ["health_and_safety", "standing_instructions"]


@pytest.mark.parametrize(
    ("told", "ending"),
    [
        ("I drive a blue Volvo with a roof rack.", "Sold the Volvo to a neighbour."),
        ("I'm training for the Cork triathlon.", "The triathlon isn't happening, my knee gave in."),
        ("We are restoring an old barge.", "The barge is finished at last!"),
        ("I need to renew my fishing licence by 30 March.", "Handed in the licence renewal."),
        ("Nell works at the harbour office.", "Nell has retired."),
        ("I have a bad knee, no stairs.", "The physio fixed my knee."),
        ("I take 10 mg lisinopril every morning.", "Came off lisinopril, it made me cough."),
        ("Mum takes 20 mg amlodipine.", "The amlodipine was halved."),
    ],
)
def test_what_was_given_up_ended_or_set_to_another_dose_is_left_out(told, ending):
    assert compiled(*said(told))
    assert told not in [fact for facts in compiled(*said(told, ending)).values() for fact in facts]
    assert compiled(*said(ending, told))


@pytest.mark.parametrize(
    ("told", "done"),
    [
        ("I prefer coffee to tea.", "We finished the coffee."),
        ("I don't drink milk.", "The milk is off."),
        ("I drive a blue Volvo with a roof rack.", "I stopped the Volvo at the lights."),
        ("I love a run before work.", "I finished my run."),
        ("I take 10 mg lisinopril every morning.", "Picked up my lisinopril from the pharmacy."),
    ],
)
def test_what_is_done_or_gone_for_today_stays(told, done):
    assert told in [fact for facts in compiled(*said(told, done)).values() for fact in facts]


def test_an_allergy_outlasts_the_end_of_the_medicine():
    told = "I'm allergic to amoxicillin."
    assert compiled(*said(told, "Amoxicillin stopped, thank heaven."))["health_and_safety"] == [told]


def test_a_joke_or_a_rumour_ends_nothing():
    told = "I drive a blue Volvo with a roof rack."
    for idle in ("Ha, I dreamt I sold the Volvo.", "Somebody says I sold the Volvo?", "Claire is off sick."):
        assert compiled(*said(told, idle))["user_profile"] == [told]


def test_what_holds_for_a_number_of_weeks_ends_with_them():
    told = ["The physio says no climbing for three weeks.", "My physio's orders: no climbing for nine weeks."]
    assert compiled(*said(*told))["health_and_safety"] == [told[1]]
    been = "I have been on insulin for two weeks."
    assert compiled(*said(been)) == {"health_and_safety": [been]}


def test_each_fact_has_the_day_on_which_it_was_said():
    told = {"content": "I was diagnosed with asthma today.", "created_at": ago(40)}
    assert dated(told) == {"health_and_safety": [f"I was diagnosed with asthma today. ({ago(40).date()})"]}
    twice = said("I never drink gin at all.", "I never drink gin at all.")
    assert dated(*twice) == {"preferences": [f"I never drink gin at all. ({ago(39).date()})"]}


def test_the_newest_of_facts_about_the_same_thing_stands_where_the_first_was():
    told = said("Signe never eats mushrooms.", "Mushrooms are something Signe never eats.", "I never drink gin at all.")
    told[0]["access_count"] = 3
    assert compiled(*told) == {"preferences": [told[1]["content"], told[2]["content"]]}
    shouted = said("I never drink gin at all.", "i never drink GIN at all!")
    assert compiled(*shouted) == {"preferences": ["i never drink GIN at all!"]}


def test_a_repeat_that_is_linked_is_said_once():
    told = said("I would rather take the train.", "I hate to fly anywhere.")
    assert len(compiled(*told)["preferences"]) == 2
    repeat = {"source": "m0", "target": "m1", "edge_type": "MAY_REPEAT"}
    assert compiled(*told, edges=[repeat]) == {"preferences": ["I hate to fly anywhere."]}


def test_of_two_doses_of_one_medicine_the_newer_stands():
    told = said("I take 50 mg of metoprolol every morning.", "My doctor raised the metoprolol to 75 mg.")
    assert compiled(*told) == {"health_and_safety": [told[1]["content"]]}
    assert len(compiled(*said("I take 5 mg of metoprolol.", "I take 20 mg of omeprazole."))["health_and_safety"]) == 2
    assert (
        len(compiled(*said("I take 5 mg of metoprolol.", "Our Jem gets 9 mg of metoprolol."))["health_and_safety"]) == 2
    )


def test_facts_of_two_people_are_not_the_same():
    told = said("Jem is allergic to cat hair and pollen.", "My aunt Jo is allergic to cat hair and pollen.")
    assert len(compiled(*told)["health_and_safety"]) == 2


def test_the_most_used_come_first_then_those_about_the_user_then_the_most_important():
    told = said(
        "Jem loves old maps of cities.", "I prefer green tea.", "I hate long queues anywhere.", "I love jazz from Oslo."
    )
    told[2] |= {"importance_given": 0.9}
    told[3] |= {"access_count": 2}
    order = [told[place]["content"] for place in (3, 2, 1, 0)]
    assert compiled(*told) == {"preferences": order}


def test_a_command_comes_before_a_newer_rule_that_is_about_nobody():
    rules = ("Never lend the oars to visitors.", "The slip is not to be painted before May.")
    assert compiled(*said(*rules)) == {"standing_instructions": list(rules)}


def test_a_fact_names_who_said_it():
    assert compiled(*said("I live in a barn near Kells.", speaker="Ottoline")) == {
        "user_profile": ["Ottoline: I live in a barn near Kells."]
    }


def test_people_who_talk_give_each_other_no_instructions_for_an_agent():
    chat = said("Never open the oven early, Jem.", speaker="Signe") + said(
        "I live in Trim by the river.", speaker="Jem"
    )
    chat = [row | {"memory_id": f"c{n}"} for n, row in enumerate(chat)]
    assert compiled(*chat) == {"user_profile": ["Jem: I live in Trim by the river."]}
    assert "standing_instructions" in compiled(chat[0])


def test_what_others_undertake_is_no_project_and_what_they_want_no_instruction():
    told = said("Jem plans to walk the coast path.", "Jem wants every letter on paper.", "I'm restoring an old organ.")
    assert compiled(*told) == {"preferences": [told[1]["content"]], "current_projects": [told[2]["content"]]}
    noted = said(*(f"Jem {does}." for does in ("plans to sail round Rona", "lives in Trim", "owns a boat", "is well")))
    assert "current_projects" in compiled(*noted)


def test_a_deadline_that_has_passed_is_no_project():
    coming, passed = (f"The audit is on {ago(days):%Y-%m-%d} in Trim." for days in (-3, 3))
    assert compiled(*said(coming, passed)) == {"current_projects": [coming]}


@pytest.mark.parametrize(
    ("told", "ending"),
    [
        ("I work at a tannery in Trim.", "I quit my job at the tannery."),
        ("My husband is Abelard.", "Abelard and I separated."),
        ("I live in a barn near Kells.", "We moved to Trim."),
        ("I have a cat.", "My old cat died."),
    ],
)
def test_what_its_speaker_ended_is_left_out(told, ending):
    assert compiled(*said(told, ending)) == {}
    assert compiled(*said(ending, told)) == {"user_profile": [told]}
    assert compiled(*said(told, f"Jem dreamt this: {ending}")) == {"user_profile": [told]}


def test_old_projects_are_over():
    text = "I'm building a cedar canoe in the garage."
    assert compiled({"content": text, "created_at": ago(core_profile.PROJECT_DAYS - 1)}) == {"current_projects": [text]}
    assert compiled({"content": text, "created_at": ago(core_profile.PROJECT_DAYS + 1)}) == {}


@pytest.mark.parametrize(
    ("fields", "block"),
    [
        ({"category": "core", "category_inferred": False}, "user_profile"),
        ({"category": "core", "category_inferred": True}, None),
        ({"memory_type": "Preference", "memory_type_inferred": False}, "preferences"),
    ],
)
def test_what_an_agent_calls_core_or_a_preference_is_taken_in_any_language(fields, block):
    text = "Schlüssel liegen beim Nachbarn Ruprecht."
    assert compiled({"content": text, **fields}) == ({block: [text]} if block else {})


def test_blocks_are_read_in_order():
    names = ["learned_preferences", "preferences", "user_profile", "zebra", "project_context", "health_and_safety"]
    rows = pl.DataFrame({"profile_id": ["p"] * 6, "block": names})
    assert core_memory.in_order(rows)["block"].to_list() == [
        *("user_profile", "health_and_safety", "preferences", "project_context", "learned_preferences", "zebra")
    ]


def test_an_empty_store_has_no_block():
    empty = TABLES["memories"].empty()
    scored = empty.select("profile_id", "memory_id", importance="importance_given")
    known = TABLES["enrichment"].empty()
    assert core_memory.candidates(empty, scored, known, Policy(), as_of=AS_OF).is_empty()
