"""Summaries: no fact of a member is lost, nothing is said twice, and the same group gives the same summary."""

import time
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import product
from random import Random

import frames
import polars as pl
import pytest
from example_counts import examples
from frames import AS_OF, ago
from hypothesis import example, given
from hypothesis import strategies as st

from memory_pipeline.consolidation import scoring
from memory_pipeline.consolidation.groups import clustering, lineage, strategies
from memory_pipeline.consolidation.state import derived_ids
from memory_pipeline.consolidation.summaries import extracts, prompting, summarising
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text import content_hash, enrich
from memory_pipeline.text.embed import embedding
from memory_pipeline.text.parse import facts, tokens

METHOD = {kind: method for method, kind in strategies.KINDS.items()}
FACTS = ("numbers", "dates", "entities")
LEVELS = ("episode", "session", "agent")


def clusters(*groups, kind="meta_pattern", profile="p", label="hiking, rainier"):
    """Tables `clusters` and `cluster_members` of given groups of memory ids."""
    level = kind if kind in summarising.LEVELS else None
    method = METHOD.get(kind, "episodes")
    rows = [
        {
            "profile_id": profile,
            "cluster_id": clustering.cluster_id(method, sorted(group), level),
            "method": method,
            "level": level,
            "label": label,
            "dominant_type": "Insight",
            "cluster_size": len(group),
            "temporal_span_days": 12.5,
            "cohesion": 0.9,
            "plan_id": "plan",
        }
        for group in groups
    ]
    members = [
        {"profile_id": profile, "cluster_id": row["cluster_id"], "memory_id": name}
        for row, group in zip(rows, groups, strict=True)
        for name in group
    ]
    return (
        TABLES["clusters"].conform(pl.DataFrame(rows, schema=TABLES["clusters"].empty().schema)),
        TABLES["cluster_members"].conform(pl.DataFrame(members, schema=TABLES["cluster_members"].empty().schema)),
    )


EVERY_KIND = Policy(summarised=tuple(strategies.STRATEGIES), summaries="all")


def summarised(memories, found, policy=EVERY_KIND, completions=None, outdated=None):
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="plan")
    enrichment = enrich.enrich(enrich.texts(memories))
    known = TABLES["completions"].empty() if completions is None else completions
    made = summarising.summarise(*found, memories, scored, enrichment, known, policy, plan_id="plan", outdated=outdated)
    TABLES["summaries"].schema.validate(made)
    return made


def written(texts, kind="meta_pattern", **columns):
    """The content of the one summary of these texts, said one a day."""
    memories = frames.memories(
        {"content": text, "created_at": ago(50 - index), **columns} for index, text in enumerate(texts)
    )
    return summarised(memories, clusters(memories["memory_id"].to_list(), kind=kind))["content"][0]


def lost(made, memories):
    """Facts of members that the summaries' own texts lack."""
    owed = (
        made.select("profile_id", "summary_id", memory_id="members")
        .explode("memory_id")
        .join(memories, on=["profile_id", "memory_id"])
        .select("profile_id", "summary_id", "content")
    )
    return extracts.missing_facts(facts.add_facts(made), facts.add_facts(owed))


# What is said

TRIP = [
    "I went hiking at Mount Rainier yesterday. It was so beautiful!",
    "Wow, that sounds amazing! Did you take photos?",
    "Yes, 12 photos. My sister Anna joined me on March 15, 2024.",
    "I ran a 5K in Fremont last week and finished in 27 minutes; my coach Tom was proud.",
    "Haha, nice!",
    "We should go kayaking at Lake Washington next month.",
]


def test_an_extract_tells_the_facts_in_order_of_time_and_leaves_out_the_chatter():
    assert written(TRIP).split("\n") == [
        "2025-11-12: I went hiking at Mount Rainier yesterday.",
        "2025-11-14: Yes, 12 photos. My sister Anna joined me on March 15, 2024.",
        "2025-11-15: I ran a 5K in Fremont last week and finished in 27 minutes; my coach Tom was proud.",
        "2025-11-17: We should go kayaking at Lake Washington next month.",
    ]


def test_a_sentence_about_her_stays_with_the_one_that_names_her():
    texts = ["Lovely day here. My aunt Odalys called. She moved to flat 12.", "Jem owns 3 boats.", "We met at 9:30."]
    assert "My aunt Odalys called. She moved to flat 12." in written(texts)


def test_speakers_are_named_where_they_change():
    memories = frames.memories(
        {"content": text, "speaker": name, "created_at": ago(3, hours=-index)}
        for index, (name, text) in enumerate([("Ann", "I run 5 km. I swim in Oslo."), ("Ben", "I row 3 km")])
    )
    made = summarised(memories, clusters(["m0", "m1"]))
    assert made["content"][0] == "2025-12-29: Ann: I run 5 km. I swim in Oslo. Ben: I row 3 km."
    assert made["index_text"][0] == "Ann Ben run 5 km swim oslo row 3"


def test_a_compression_is_the_fullest_version_and_what_the_others_add():
    assert written(["I like tea", "By the way, I like green tea with milk", "I like tea a lot"], "compression") == (
        "By the way, I like green tea with milk"
    )
    assert written(["Our office is in Oslo", "Our office is in Oslo. It opens at 8 am."], "compression") == (
        "Our office is in Oslo. It opens at 8 am."
    )
    assert written(["We met Tom in Rome.", "We met Tom, 3 times, for lunch"], "compression") == (
        "We met Tom, 3 times, for lunch. We met Tom in Rome."
    )
    assert written(["- one\n- two", "- one\n- two\n"], "compression", speaker="Ann") == "- one\n- two"


def test_what_takes_the_place_of_its_members_says_who_said_them_when_and_where():
    """What the members share, the newest one's session and instant, and all tags; the text need not name them."""
    shared = {"speaker": "Ann", "user_id": "u", "content": "I run 5 km"}
    memories = frames.memories(
        {**shared, "session_id": f"s{index}", "agent_id": agent, "tags": tags, "created_at": ago(9 - index)}
        for index, (agent, tags) in enumerate([("g", ["b", "a"]), ("g", ["c"]), ("h", ["a"])])
    )
    expected = {
        "speaker": "Ann",
        "user_id": "u",
        "agent_id": None,
        "session_id": "s2",
        "tags": ["a", "b", "c"],
        "said_at": ago(7),
    }
    for kind in ("compression", "consolidation"):
        for order in (memories, memories[::-1]):
            (row,) = summarised(order, clusters(ids(0, 1, 2), kind=kind)).rows(named=True)
            assert {name: row[name] for name in expected} == expected
            assert "Ann" not in row["content"]
            assert row["content_hash"] == content_hash.content_hash("Ann", row["content"])
    for kind in ("meta_pattern", "episode", "unit"):
        (row,) = summarised(memories, clusters(ids(0, 1, 2), kind=kind)).rows(named=True)
        assert {row[name] for name in expected if name != "tags"} == {None}
        assert row["tags"] == []


def test_a_passing_date_keeps_its_day():
    """ "Yesterday" means nothing once the day is lost on which it was said."""
    assert written(["I saw Tom yesterday", "I saw Tom yesterday!"], "compression") == "2025-11-12: I saw Tom yesterday."


def test_the_budget_is_half_of_the_members_unless_facts_need_more():
    plain = [f"{word} grows slowly behind the quiet {word} while nobody looks" for word in _coined(40)]
    length = tokens.count_tokens(pl.Series([written(plain)]))[0]
    assert 0.8 * 40 * 5 <= length <= 40 * 11 // 2
    assert tokens.count_tokens(pl.Series([written(plain[:8])]))[0] <= extracts.LEAST_BUDGET
    dense = [f"{word} has {index + 100} parts" for index, word in enumerate(_coined(40))]
    content = written(dense)
    assert all(str(index + 100) in content for index in range(40))


def _coined(count):
    return [f"{'bdfgklmnprst'[index % 12]}{'aeiou'[index % 5]}l{'bdfgklm'[index % 7]}o" for index in range(count)]


def test_the_same_is_not_said_twice():
    content = written(
        ["The parrot escaped from the cage.", "the parrot escaped from the cage", "Our cage has a parrot"]
    )
    assert content.lower().count("parrot") == 1


def test_small_talk_has_a_summary_too():
    memories = frames.memories({"content": text} for text in ("How are you?", "How are you!", "you ok?"))
    (row,) = summarised(memories, clusters(ids(0, 1, 2))).rows(named=True)
    assert row["content"] == "2025-09-23: How are you?"
    assert row["index_text"]


def test_a_sentence_names_theme_size_and_span():
    memories = frames.memories({"content": text, "created_at": ago(20 - index)} for index, text in enumerate(TRIP))
    policy = Policy(summary_text="sentence", summaries="all")
    content = summarised(memories, clusters([f"m{index}" for index in range(6)]), policy)["content"][0]
    assert content == (
        "Pattern of 6 memories about hiking and rainier over 12.5 days, mostly Insight: "
        "I went hiking at Mount Rainier yesterday. It was so beautiful!"
    )
    merged = summarised(memories[:2], clusters(["m0", "m1"], kind="compression"), policy)["content"][0]
    assert merged.startswith("2025-12-12: I went hiking")


def test_texts_are_joined_where_a_policy_asks_for_that():
    memories = frames.memories(
        {"content": text, "speaker": name, "created_at": ago(3, hours=-index)}
        for index, (text, name) in enumerate([("I run 5 km", "Ann"), ("We row", None), ("I run 5 km", "Ann")])
    )
    found = clusters(ids(0, 1, 2), kind="consolidation")
    made = summarised(memories, found, Policy(summary_text="concat"))
    assert made["content"].to_list() == ["Summary: Ann: I run 5 km | We row"]


def test_only_patterns_are_told_in_a_sentence():
    memories = frames.memories({"content": text} for text in TRIP)
    policy = EVERY_KIND.model_copy(update={"summary_text": "sentence"})
    for kind in (*METHOD, "session"):
        (content,) = summarised(memories, clusters(ids(0, 2, 3), kind=kind), policy)["content"]
        assert content.startswith("Pattern of 3 memories") == (kind == "meta_pattern")


def test_a_flood_of_copies_is_summed_up_at_once():
    memories = frames.memories(
        {"memory_id": f"m{index:05}", "content": "We use 3 servers in Oslo"} for index in range(5000)
    )
    start = time.process_time()
    (row,) = summarised(memories, clusters(memories["memory_id"].to_list(), kind="compression")).rows(named=True)
    assert time.process_time() - start < 20.0
    assert row["content"] == "We use 3 servers in Oslo"
    assert len(row["members"]) == 5000


# In a model's words

MODEL = EVERY_KIND.model_copy(update={"llm_model": "some-model"})
RUNS = ["Anna ran 5 km in Oslo on 2024-03-12", "Anna ran 9 km in Rome on 2024-03-15"]


def answered(memories, found, content, outcome="answered", policy=MODEL):
    """Table `completions`: one answer to what is asked about the clusters."""
    enrichment = enrich.enrich(enrich.texts(memories))
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="plan")
    due = lineage.due(*found, memories, scored, enrichment, policy)
    asked = prompting.summary_requests(due, policy)
    return TABLES["completions"].conform(
        asked.with_columns(
            content=pl.lit(content, pl.String),
            outcome=pl.lit(outcome),
            output_tokens=pl.lit(9),
            cost=pl.lit(0.0),
        )
    )


@pytest.mark.parametrize(
    ("content", "outcome", "fallback"),
    [
        ("In March 2024 Anna ran 5 km in Oslo (Mar 12) and 9 km in Rome (Mar 15).", "answered", None),
        ("Anna ran 5 km in Oslo on 2024-03-12 and 9 km in Rome in 2027.", "answered", "invented 2027"),
        ("Anna ran 5 km in Oslo on 2024-03-12 and 9 km in Rome.", "answered", "lacks 2024-03-15"),
        ("Ben ran 5 km in Oslo on 2024-03-12 and 9 km in Rome on 2024-03-15.", "answered", "invented Ben"),
        (None, "timeout", "timeout"),
    ],
)
def test_a_models_text_is_taken_if_it_is_faithful(content, outcome, fallback):
    memories = frames.memories({"content": text, "created_at": datetime(2024, 3, 16, tzinfo=UTC)} for text in RUNS)
    for kind in ("consolidation", "episode"):
        found = clusters(ids(0, 1), kind=kind)
        by_rules = summarised(memories, found).rows(named=True)[0]
        (row,) = summarised(memories, found, MODEL, answered(memories, found, content, outcome)).rows(named=True)
        assert row["fallback"] == fallback
        assert row["compiled_by"] == ("rules" if fallback else "some-model")
        assert row["content"] == (by_rules["content"] if fallback else content)
        assert row["index_text"] == by_rules["index_text"]
        assert row["summary_id"] == by_rules["summary_id"]
        assert by_rules["fallback"] is None


def test_a_model_that_was_not_asked_leaves_the_rules():
    memories = frames.memories({"content": text} for text in RUNS)
    (row,) = summarised(memories, clusters(ids(0, 1)), MODEL).rows(named=True)
    assert (row["compiled_by"], row["fallback"]) == ("rules", "not asked")


# Facts

PIECES = [
    "Anna", "Dr. Smith", "Mount Rainier", "NASA", "U.S.", "Tom's", "I", "we", "paid", "met", "$3,000", "12", "5 pm",
    "27%", "March 15, 2024", "on Friday", "yesterday", "2024-05-01", "last week", "tea", "...", "; ", ". ", "! ", "\n",
    "- ", "3.5", "twenty-five", "1/2", "No.", "(see", "page 7)", "iPhone", "e.g.", "at 10:30", "and", "in 2019",
    "JUNE", "May 3rd",
]  # fmt: skip
CONTENTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map(" ".join) | st.text(min_size=1, max_size=80)


@examples(2)
@given(
    st.lists(st.tuples(CONTENTS, st.sampled_from([None, "Ann", "Ben Lee"])), min_size=2, max_size=8),
    st.sampled_from([*METHOD, "session", "agent"]),
    st.sampled_from(["extractive", "concat"]),
)
def test_no_fact_is_lost(texts, kind, how):
    """A text that cannot hold them all takes the place of nothing."""
    memories = frames.memories({"content": text, "speaker": speaker} for text, speaker in texts)
    policy = EVERY_KIND.model_copy(update={"summary_text": how})
    made = summarised(memories, clusters(memories["memory_id"].to_list(), kind=kind), policy)
    assert not made.is_empty()
    assert lost(made, memories).rows() == []
    assert made["index_text"][0]


def test_a_text_that_cannot_hold_a_fact_takes_the_place_of_nothing():
    """No text can be made to name what is not read as a name."""
    memories = frames.memories({"content": text} for text in RUNS)
    enrichment = enrich.enrich(enrich.texts(memories))
    odd = enrichment.with_columns(entities=pl.lit(["no name"], pl.List(pl.String)))
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), MODEL, as_of=AS_OF, plan_id="plan")
    for kind, count in (("compression", 0), ("consolidation", 0), ("episode", 1), ("meta_pattern", 1)):
        found = clusters(ids(0, 1), kind=kind)
        known = TABLES["completions"].empty()
        made = [
            summarising.summarise(*found, memories, scored, read, known, EVERY_KIND, plan_id="plan")
            for read in (enrichment, odd)
        ]
        assert [len(one) for one in made] == [1, count]


def test_lost_facts_are_found():
    owed = pl.DataFrame(
        {
            "profile_id": "p",
            "summary_id": ["s", "s", "t"],
            "numbers": [["2"], ["3"], ["2"]],
            "dates": [["2024"], [], []],
            "entities": [["Ann"], [], ["Ann"]],
        }
    )
    kept = owed[:1].with_columns(dates=pl.lit([], pl.List(pl.String)))
    assert extracts.missing_facts(kept, owed).rows() == [
        ("p", "s", "dates", "2024"),
        ("p", "s", "numbers", "3"),
        ("p", "t", "entities", "Ann"),
        ("p", "t", "numbers", "2"),
    ]


def test_facts_stand_in_the_text_as_they_were_said():
    content = written(["We paid Anna $3,000 on 2024-05-01.", "Tom came at 10:30 with 12 friends from Oslo."])
    for fact in ("Anna", "$3,000", "2024-05-01", "Tom", "10:30", "12", "Oslo"):
        assert fact in content


# Which groups get a text

TALK = [
    "We keep bees behind the barn in Larkfield",
    "The bees swarmed on 3 May",
    "Haha, nice!",
    "Honey came to 14 jars",
]


def talk(**policy):
    """What is made of four memories about bees, of which one says nothing."""
    memories = frames.memories({"content": text, "created_at": ago(50 - n)} for n, text in enumerate(TALK))
    return memories, clusters(["m0", "m1", "m2", "m3"], label="bees, honey"), Policy(**policy)


@pytest.mark.parametrize(
    ("policy", "members"),
    [
        ({}, None),
        ({"summaries": "asked"}, None),
        ({"summaries": "asked", "summaries_asked": ("garden",)}, None),
        ({"summaries": "asked", "summaries_asked": ("Bees",)}, ["m0", "m1", "m3"]),
        ({"summaries": "asked", "summaries_asked": ("bees",), "token_budget": 9.0}, None),
        ({"summaries": "all"}, ["m0", "m1", "m2", "m3"]),
    ],
)
def test_a_text_beside_its_members_is_written_where_it_is_asked_for_and_without_small_talk(policy, members):
    memories, found, policy = talk(**policy)
    made = summarised(memories, found, policy)
    assert made["members"].to_list() == ([members] if members else [])


def test_a_cluster_can_be_asked_for_by_its_id():
    memories, found, _ = talk()
    (cluster,) = found[0]["cluster_id"]
    assert len(summarised(memories, found, Policy(summaries="asked", summaries_asked=(cluster,)))) == 1


def test_no_summary_of_two_but_a_merge():
    memories = frames.memories({"content": text} for text in (TALK[0], f"{TALK[0]}.", TALK[2]))
    asked = Policy(summaries="asked", summaries_asked=("bees",))
    pair = clusters(["m0", "m1"], label="bees")
    assert summarised(memories, pair, asked).is_empty()
    assert summarised(memories, clusters(["m0", "m1", "m2"], label="bees"), asked).is_empty()
    assert summarised(memories, clusters(["m0", "m1"], kind="compression"), Policy())["supersedes"].to_list() == [True]


def test_a_models_words_are_taken_and_its_silence_leaves_nothing():
    memories, found, policy = talk(llm_model="some-model")
    told = f"{TALK[0]}. {TALK[1]}. {TALK[3]}."
    assert summarised(memories, found, policy).is_empty()
    made = summarised(memories, found, policy, answered(memories, found, told, policy=policy))
    assert made.select("content", "compiled_by").rows() == [(told, "some-model")]


def test_what_is_outdated_is_never_said_and_a_summary_that_says_it_is_withdrawn():
    memories = frames.memories(
        {"content": text} for text in [*TALK, "The barn in Larkfield has 3 doors", "We planted 2 limes"]
    )
    found = clusters([f"m{n}" for n in (0, 1, 3, 4, 5)], label="bees")
    asked = Policy(summaries="asked", summaries_asked=("bees",))
    (first,) = summarised(memories, found, asked)["summary_id"]
    old = memories.filter(pl.col("memory_id") == "m4").select("profile_id", "memory_id")
    (made,) = summarised(memories, found, asked, outdated=old).rows(named=True)
    assert made["members"] == ["m0", "m1", "m3", "m5"]
    assert "doors" not in made["content"]
    live = {"memory_id": first, "kind": "meta_pattern", "content": "x", "cluster_id": found[0]["cluster_id"][0]}
    standing = pl.concat([memories, frames.memories([live | {"members": ["m0", "m1", "m3", "m4", "m5"]}])])
    assert summarising.stale(standing, *found, asked).is_empty()
    assert summarising.stale(standing, *found, asked, outdated=old).rows() == [
        ("p", first, "A member of it is outdated.")
    ]
    assert summarised(standing, found, asked, outdated=old)["replaces"].to_list() == [[first]]


def test_a_summary_that_the_policy_no_longer_makes_is_withdrawn():
    memories, found, _ = talk()
    live = {"memory_id": "s", "kind": "meta_pattern", "cluster_id": found[0]["cluster_id"][0], "members": ids(0, 1, 3)}
    merged = {"memory_id": "t", "kind": "compression", "cluster_id": "gone", "members": ids(0, 1)}
    standing = pl.concat([memories, frames.memories([live | {"content": "x"}, merged | {"content": "y"}])])
    assert summarising.stale(standing, *found, Policy(summaries="all")).is_empty()
    assert summarising.stale(standing, *found, Policy(llm_model="some-model")).is_empty()
    assert summarising.stale(standing, *found, Policy()).rows() == [("p", "s", "The policy makes no such summaries.")]


# What is inherited


def test_what_a_summary_inherits():
    memories = frames.memories(
        [
            {"content": "a", "importance_given": 0.2, "confidence": 0.9, "access_count": 3, "category": "opinion"},
            {"content": "b", "importance_given": 0.8, "confidence": 0.4, "valid_from": ago(9), "category": "semantic"},
            {"content": "c", "protected": True, "protected_reason": "asked to", "valid_from": ago(30)},
            {"content": "d", "stability_gain": 0.2},
        ]
    )
    found = summarised(memories, clusters(["m0", "m1", "m2", "m3"], kind="compression"))
    (row,) = found.rows(named=True)
    assert row["kind"] == "compression"
    assert row["supersedes"]
    assert row["memory_type"] == "Insight"
    assert row["category"] == "episodic"
    assert row["members"] == ["m0", "m1", "m2", "m3"]
    assert row["importance"] == 0.8
    assert row["confidence"] == 0.4
    assert row["access_count"] == 3
    assert row["stability"] == pytest.approx((0.16 + 0.34 + 0.25 + 0.45) / 4)
    assert row["valid_from"] == ago(30)
    assert row["protected"]
    assert row["protected_reason"] == "asked to"
    assert row["replaces"] == []
    kinds = ("meta_pattern", "consolidation", "unit", "episode", "session", "agent")
    made = [summarised(memories, clusters(ids(0, 1, 2, 3), kind=kind)) for kind in kinds]
    assert pl.concat(made).select("kind", "memory_type", "category", "supersedes").rows() == [
        ("meta_pattern", "MetaPattern", "semantic", False),
        ("consolidation", "Insight", "episodic", True),
        *((kind, "Insight", "episodic", False) for kind in kinds[2:]),
    ]
    assert len(set(pl.concat(made)["summary_id"])) == len(kinds)


def test_only_methods_that_the_policy_names_get_a_summary():
    memories = store()
    assert summarised(memories, clusters(ids(0, 1), kind="unit"), Policy(summaries="all")).is_empty()
    every = Policy(summarised=("coactivation",), summaries="all")
    assert len(summarised(memories, clusters(ids(0, 1), kind="unit"), every)) == 1


@pytest.mark.parametrize(("ends", "expected"), [((5, 5), 5), ((5, 4), None), ((5, None), None), ((None, None), None)])
def test_an_end_of_validity_is_inherited_if_it_is_shared(ends, expected):
    instants = [None if end is None else ago(end) for end in ends]
    memories = frames.memories({"content": f"text {index}", "valid_until": at} for index, at in enumerate(instants))
    found = summarised(memories, clusters(["m0", "m1"], kind="compression"))["valid_until"][0]
    assert found == (None if expected is None else ago(expected))
    beside = summarised(memories, clusters(["m0", "m1"], kind="cluster"), Policy(summaries="all"))["valid_until"][0]
    first = max((end for end in ends if end is not None), default=None)
    assert beside == (None if first is None else ago(first)), (
        "one beside its members holds until the first of them ends"
    )


def test_members_that_are_not_live_count_by_what_the_ledger_knows():
    gone = {"lifecycle": "archived", "superseded_by": "s", "superseded_kind": "summary"}
    memories = frames.memories(
        [{"content": "a", "importance_given": 0.9, "stability_gain": 0.1, **gone}, {"content": "b"}]
    )
    (row,) = summarised(memories, clusters(["m0", "m1"], kind="compression")).rows(named=True)
    assert row["importance"] == 0.9
    assert row["stability"] == pytest.approx((0.47 + 0.25) / 2)


# Which summaries are made


def store(*summaries, count=8):
    """Memories m0 to m7, and live summaries with given members."""
    return frames.memories(
        [{"content": f"We use version {index}"} for index in range(count)]
        + [{"content": f"summary {row['memory_id']}", **row} for row in summaries]
    )


def ids(*places):
    return [f"m{place}" for place in places]


def test_the_id_follows_from_members_and_their_texts():
    first = summarised(store(), clusters(ids(0, 1, 2)))
    assert summarised(store(), clusters(ids(2, 0, 1)))["summary_id"].equals(first["summary_id"])
    changed = store().with_columns(content_hash=pl.col("content_hash").str.reverse())
    assert summarised(changed, clusters(ids(0, 1, 2)))["summary_id"][0] != first["summary_id"][0]
    assert summarised(store(), clusters(ids(0, 1)))["summary_id"][0] != first["summary_id"][0]
    other = summarised(store(), clusters(ids(0, 1, 2), kind="compression"))
    assert other["summary_id"][0] != first["summary_id"][0]
    hashes = sorted(store().head(3)["content_hash"])
    expected = derived_ids.summary_id("similarity_components", "meta_pattern", ids(0, 1, 2), hashes)
    assert first["summary_id"][0] == expected


def test_a_group_that_has_its_summary_gets_no_other():
    (made,) = summarised(store(), clusters(ids(0, 1, 2)))["summary_id"]
    known = {"memory_id": made, "kind": "meta_pattern", "members": ids(0, 1, 2)}
    assert summarised(store(known), clusters(ids(0, 1, 2))).is_empty()
    again = summarised(store(known | {"lifecycle": "archived"}), clusters(ids(0, 1, 2)))
    assert again["summary_id"].to_list() == [made]


REPLACED = {
    ((0, 1, 2), (0, 1, 2, 3)): True,
    ((0, 1, 2, 3), (0, 1)): True,  # two of four
    ((0, 1, 2, 3, 4), (0, 1)): False,  # two of five
    ((0, 1, 2), (2, 3, 4)): False,
    ((0, 1), (0, 1, 2, 3, 4)): True,  # two of five, but all of the old one
}
"""Whether a summary of the second members replaces one of the first."""
KINDS = {"meta_pattern": "compression", "compression": "meta_pattern"}


@cache
def replaces():
    """What new summaries replace, by profile: each case of each kind has one of its own, all are made at once."""
    rows, found = [], []
    for (old, new), (kind, other) in product(REPLACED, KINDS.items()):
        for beside, (own, owner) in {"alike": (kind, ""), "other": (other, ""), "elsewhere": (kind, "not ")}.items():
            name = f"{old} {new} {kind} {beside}"
            known = {"memory_id": "s", "kind": kind, "members": ids(*old), "profile_id": owner + name}
            rows.append(
                store(known).with_columns(profile_id=pl.when(memory_id="s").then("profile_id").otherwise(pl.lit(name)))
            )
            found.append(clusters(ids(*new), kind=own, profile=name))
    made = summarised(
        pl.concat(rows).sort("profile_id", "memory_id"), [pl.concat(tables) for tables in zip(*found, strict=True)]
    )
    return dict(made.select("profile_id", "replaces").iter_rows())


@pytest.mark.parametrize(("old", "new"), REPLACED)
@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_replaces_one_of_its_kind_with_half_of_the_members(old, new, kind):
    found = [replaces()[f"{old} {new} {kind} {beside}"] for beside in ("alike", "other", "elsewhere")]
    assert found == [["s"] if REPLACED[old, new] else [], [], []]


def test_no_archived_member_is_left_without_a_summary():
    """m2 stands behind s and is in no new group: s stays beside the new summary of the others."""
    known = {"memory_id": "s", "kind": "compression", "members": ids(0, 1, 2)}
    memories = store(known).with_columns(
        lifecycle=pl.when(pl.col("memory_id").is_in(ids(0, 1, 2))).then(pl.lit("archived")).otherwise("lifecycle"),
        superseded_by=pl.when(pl.col("memory_id").is_in(ids(0, 1, 2))).then(pl.lit("s")),
    )
    made = summarised(memories, clusters(ids(0, 1), kind="compression"))
    assert made["replaces"].to_list() == [[]]
    both = summarised(memories, clusters(ids(0, 1), ids(2, 3), kind="compression"))
    assert sorted(both["replaces"].to_list()) == [[], ["s"]]


def test_a_meta_pattern_without_its_cluster_is_stale():
    live = [
        {"memory_id": name, "kind": "meta_pattern", "members": ids(*members), "cluster_id": cluster}
        for name, members, cluster in [
            ("kept", (0, 1, 2), clusters(ids(0, 1, 2))[0]["cluster_id"][0]),
            ("grown", (3, 4), "gone"),
            ("lonely", (6, 7), "gone"),
        ]
    ]
    other = {"memory_id": "merged", "kind": "compression", "members": ids(6, 7), "cluster_id": "gone"}
    archived = {"memory_id": "old", "kind": "meta_pattern", "lifecycle": "archived", "members": ids(6, 7)}
    found = summarising.stale(store(*live, other, archived), *clusters(ids(0, 1, 2), ids(3, 4, 5)), EVERY_KIND)
    assert found.select("profile_id", "memory_id").rows() == [("p", "lonely")]
    assert found["reason"][0]


@pytest.mark.parametrize("lifecycle", ["archived", "cold", "stub"])
def test_wherever_a_member_went_it_keeps_a_summary(lifecycle):
    known = {"memory_id": "s", "kind": "consolidation", "members": ids(0, 1, 2)}
    memories = store(known).with_columns(
        lifecycle=pl.when(pl.col("memory_id").is_in(ids(0, 1, 2))).then(pl.lit(lifecycle)).otherwise("lifecycle"),
        superseded_by=pl.when(pl.col("memory_id").is_in(ids(0, 1, 2))).then(pl.lit("s")),
    )
    assert summarised(memories, clusters(ids(0, 1), kind="consolidation"))["replaces"].to_list() == [[]]
    assert summarised(memories, clusters(ids(0, 1, 2, 3), kind="consolidation"))["replaces"].to_list() == [["s"]]


def test_an_episode_that_grew_replaces_its_summary_and_only_that():
    known = [
        {"memory_id": kind, "kind": kind, "members": ids(0, 1), "cluster_id": "gone"} for kind in ("episode", "session")
    ]
    made = summarised(store(*known), clusters(ids(0, 1, 2), kind="episode"))
    assert made["replaces"].to_list() == [["episode"]]
    assert summarising.stale(store(*known), *clusters(ids(0, 1, 2), kind="episode"), EVERY_KIND).rows() == [
        ("p", "session", "The cluster that it stood for is gone.")
    ]


@pytest.mark.parametrize("kind", ["episode", "session", "agent", "unit", "meta_pattern"])
def test_a_summary_that_nothing_stands_for_any_more_is_stale(kind):
    """But not the last word on what is no longer live of an episode or a unit."""
    known = {"memory_id": "s", "kind": kind, "members": ids(0, 1), "cluster_id": "gone"}
    nothing = clusters(ids(5, 6), kind=kind)
    assert summarising.stale(store(known), *nothing, EVERY_KIND)["memory_id"].to_list() == ["s"]
    gone = store(known).with_columns(
        lifecycle=pl.when(pl.col("memory_id") == "m0").then(pl.lit("archived")).otherwise("lifecycle")
    )
    kept = kind in {*summarising.LEVELS, "unit"}
    assert summarising.stale(gone, *nothing, EVERY_KIND)["memory_id"].to_list() == ([] if kept else ["s"])
    deleted = gone.with_columns(lifecycle=pl.col("lifecycle").replace("archived", "deleted"))
    assert summarising.stale(deleted, *nothing, EVERY_KIND)["memory_id"].to_list() == ["s"]
    grown = clusters(ids(0, 1, 2), kind=kind)
    assert summarising.stale(store(known), *grown, EVERY_KIND).is_empty()


@pytest.mark.parametrize("kind", ["compression", "consolidation"])
def test_a_summary_that_took_the_place_of_its_members_is_never_stale(kind):
    known = {"memory_id": "s", "kind": kind, "members": ids(0, 1), "cluster_id": "gone"}
    assert summarising.stale(store(known), *clusters(), EVERY_KIND).is_empty()


def test_a_summary_is_made_of_originals_only():
    known = {"memory_id": "s", "kind": "meta_pattern", "members": ids(0, 1, 2)}
    with pytest.raises(ValueError, match="'s' of cluster"):
        summarised(store(known), clusters([*ids(3, 4), "s"]))
    assert summarised(store(), clusters()).is_empty()


# Properties


@examples(2)
@example([*["Anna"] * 5, "N'T"], Random(0))
@given(st.lists(CONTENTS, min_size=6, max_size=12), st.randoms(use_true_random=False))
def test_summaries_depend_on_their_own_members_alone(texts, random):
    memories = frames.memories(
        {
            "profile_id": "pq"[index % 2],
            "memory_id": f"m{index // 2}",
            "content": text,
            "created_at": AS_OF - timedelta(hours=random.randint(0, 90)),
        }
        for index, text in enumerate(texts)
    )
    found = [
        pl.concat(tables)
        for tables in zip(
            clusters(ids(0, 1, 2)),
            clusters(ids(0, 1, 2), profile="q"),
            clusters(ids(0, 1), kind="compression"),
            strict=True,
        )
    ]
    made = summarised(memories, found)
    order = random.sample(range(len(memories)), len(memories))
    assert summarised(memories[order], [table[::-1] for table in found]).equals(made)
    for profile in "pq":
        alone = summarised(
            memories.filter(pl.col("profile_id") == profile), [t.filter(pl.col("profile_id") == profile) for t in found]
        )
        assert alone.equals(made.filter(pl.col("profile_id") == profile))


WALKS = ["hiking the trail at the lake", "hiking boots for the trail", "the hiking trail in snow", "dentist"]


def run(memories, policy, edges):
    """Summaries to be made, and those that are stale."""
    texts = enrich.texts(memories)
    enrichment = enrich.enrich(texts)
    vectors = embedding.embed_texts(
        texts.select("profile_id", "content_hash", "speaker", content="embedded"), "hashing"
    )
    scored = scoring.score(memories, frames.importance(memories), edges, policy, as_of=AS_OF, plan_id="plan")
    found = clustering.cluster(memories, scored, enrichment, vectors, edges, policy, as_of=AS_OF, plan_id="plan")
    tables = found.clusters, found.cluster_members
    known = TABLES["completions"].empty()
    made = summarising.summarise(*tables, memories, scored, enrichment, known, policy, plan_id="plan")
    return made, summarising.stale(memories, *tables, policy)


def applied(memories, made, lifecycle):
    """The memories once the summaries stand, and the members of those that supersede have gone."""
    behind = made.filter("supersedes").explode("members").select("profile_id", "summary_id", memory_id="members")
    left = pl.col("summary_id").is_not_null()
    memories = memories.join(behind, on=["profile_id", "memory_id"], how="left", maintain_order="left").with_columns(
        superseded_by="summary_id",
        superseded_kind=pl.when(left).then(pl.lit("summary")),
        lifecycle=pl.when(left).then(pl.lit(lifecycle)).otherwise("lifecycle"),
    )
    new = made.rename({"summary_id": "memory_id"}).select(
        "memory_id", "kind", "content", "content_hash", "index_text", "members", "cluster_id"
    )
    return pl.concat([memories.drop("summary_id"), frames.memories(new.rows(named=True))])


@pytest.mark.parametrize(
    ("methods", "kinds", "lifecycle"),
    [
        (("near_duplicates", "similarity_components"), {"compression", "meta_pattern"}, "archived"),
        (("near_duplicates", "fading_groups", "episodes"), {"compression", "consolidation", *LEVELS}, "cold"),
        (("near_duplicates", "coactivation"), {"compression", "unit"}, "archived"),
    ],
)
def test_a_second_run_proposes_nothing(methods, kinds, lifecycle):
    """Once merged and summed up, the same memories give the same groups, and these have their summaries."""
    policy = Policy(
        methods=methods,
        summarised=methods,
        summaries="all",
        episode_levels=LEVELS,
        duplicate_similarity=0.85,
        cluster_similarity=0.3,
        cluster_min_size=2,
        fading_similarity=0.3,
        fading_size=2,
        linkage="single",
    )
    copies = [f"{text}{mark}" for text in TRIP[::2] for mark in ("", "!", " :)")]
    memories = frames.memories(
        {
            "content": text,
            "created_at": ago(200, hours=index // 4),
            "session_id": f"s{index // 8}",
            "agent_id": "a",
        }
        for index, text in enumerate([*copies, *WALKS])
    )
    edges = frames.edges(
        {"source": "m10", "target": f"m{other}", "edge_type": "COACTIVATED", "co_count": 4} for other in (11, 12)
    )
    made, stale = run(memories, policy, edges)
    assert set(made["kind"]) == kinds
    assert stale.is_empty()
    again, stale = run(applied(memories, made, lifecycle), policy, edges)
    assert again.is_empty()
    assert stale.is_empty()
