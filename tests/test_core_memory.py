"""Core memory blocks: how they are filled, and the facts that SuperLocalMemory takes."""

from datetime import timedelta
from functools import partial

import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import core_memory
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

counted = partial(Policy, core_facts="superlocal")
"""The policy of blocks that take the most accessed or newest memories."""
NAMES = ["user_profile", "project_context", "behavioral_patterns", "active_decisions", "learned_preferences"]
SILENT = {"category": "procedural"}
"""A category that no block takes."""
NO_BLOCKS = TABLES["core_memory_blocks"].empty()
NO_ANSWERS = TABLES["completions"].empty()


def enrichment(memories, gists):
    """Table `enrichment`, with the gist of each text that has one."""
    known = frames.enrichment({}, of=memories)
    gist = memories.select("profile_id", "content_hash", said=pl.col("content").replace_strict(gists, default=None))
    joined = known.join(gist.unique(), on=["profile_id", "content_hash"])
    return TABLES["enrichment"].conform(joined.with_columns(gist=pl.coalesce("said", "gist")))


def scores(memories):
    """Of the scores only the importance matters."""
    return memories.select("profile_id", "memory_id", importance=pl.col("importance_given").fill_null(0.5))


def compiled(memories, policy=None, *, blocks=NO_BLOCKS, gists=None, as_of=AS_OF):
    return core_memory.compile_blocks(
        memories,
        scores(memories),
        enrichment(memories, gists or {}),
        blocks,
        NO_ANSWERS,
        policy or counted(),
        as_of=as_of,
        plan_id="plan",
    )


def contents(blocks):
    return dict(blocks.select("block", "content").rows())


def facts(content):
    return content.split("\n---\n") if content else []


def semantic(**fields):
    return {"category": "semantic", **fields}


def standing(previous, changed):
    """The blocks after a run that changed some of them."""
    kept = previous.join(changed, on=["profile_id", "block"], how="anti")
    return TABLES["core_memory_blocks"].conform(pl.concat([kept, changed]))


def test_each_block_takes_its_own_and_the_best_first():
    rows = [semantic(memory_id=f"s{used}", content=f"Trait {used}.", access_count=used) for used in (1, 6, 3, 4, 0, 2)]
    rows += [{"memory_id": f"e{day}", "content": f"Episode {day}.", "created_at": ago(day)} for day in range(4, 11)]
    patterns = [("Pattern", 0.4), ("MetaPattern", 0.9), ("Pattern", 0.6)]
    rows += [
        {
            "memory_id": f"p{sure}",
            "content": f"Pattern {sure}.",
            "memory_type": kind,
            "confidence": sure,
            **SILENT,
        }
        for kind, sure in patterns
    ]
    rows += [
        {
            "memory_id": f"d{used}",
            "content": f"Decision {used}.",
            "memory_type": "Decision",
            "access_count": used,
            **SILENT,
        }
        for used in (2, 3, 7)
    ]
    rows += [
        {"memory_id": "o1", "content": "Likes tea.", "category": "opinion", "confidence": 0.7},
        {"memory_id": "o2", "content": "Likes rain.", "category": "opinion", "confidence": 0.69},
        {"memory_id": "o3", "content": "Prefers mornings.", "confidence": 0.8, "memory_type": "Preference", **SILENT},
    ]
    blocks = compiled(frames.memories(rows))
    assert contents(blocks) == {
        "user_profile": "Trait 6.\n---\nTrait 4.\n---\nTrait 3.\n---\nTrait 2.\n---\nTrait 1.",
        "project_context": "Episode 4.\n---\nEpisode 5.\n---\nEpisode 6.\n---\nEpisode 7.\n---\nEpisode 8.",
        "behavioral_patterns": "Pattern 0.9.\n---\nPattern 0.6.\n---\nPattern 0.4.",
        "active_decisions": "Decision 7.\n---\nDecision 3.",
        "learned_preferences": "Prefers mornings.\n---\nLikes tea.",
    }
    (row,) = blocks.filter(pl.col("block") == "active_decisions").rows(named=True)
    assert row == {
        "profile_id": "p",
        "block": "active_decisions",
        "content": "Decision 7.\n---\nDecision 3.",
        "members": ["d7", "d3"],
        "marks": None,
        "version": 1,
        "compiled_by": "rules",
        "compiled_at": AS_OF,
        "plan_id": "plan",
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"lifecycle": "archived"},
        {"lifecycle": "cold"},
        {"valid_until": AS_OF},
        {"valid_from": AS_OF + timedelta(seconds=1)},
        {"superseded_by": "n", "superseded_kind": "update"},
        {"content": " \n "},
        SILENT,
        {"kind": "episode"},
        {"kind": "meta_pattern"},
    ],
)
def test_what_is_not_live_does_not_hold_says_nothing_or_repeats_others_is_in_no_profile(fields):
    assert compiled(frames.memories([semantic(**fields)])).is_empty()


def test_a_promoted_fact_stays_in_core_memory():
    """In SuperLocalMemory a fact that becomes warm is gone at the next compilation."""
    facts = [semantic(memory_id="hot", access_count=12), semantic(memory_id="cool", access_count=1)]
    first = compiled(frames.memories(facts))
    for risen in ({"lifecycle": "warm"}, {"category": "core"}, {"lifecycle": "warm", "category": "core"}):
        memories = frames.memories([facts[0] | risen, facts[1]])
        assert compiled(memories, blocks=first).is_empty()


def test_a_summary_speaks_for_what_it_superseded_and_a_meta_pattern_is_a_pattern():
    covered = {"lifecycle": "archived", "superseded_by": "s", "superseded_kind": "summary"}
    memories = frames.memories(
        [
            semantic(memory_id="a", **covered),
            semantic(memory_id="s", kind="compression", content="Summary."),
            semantic(memory_id="t", kind="meta_pattern", memory_type="MetaPattern", content="Theme."),
            semantic(memory_id="u", kind="session", memory_type="MetaPattern", content="Session."),
        ]
    )
    assert contents(compiled(memories)) == {"user_profile": "Summary.", "behavioral_patterns": "Theme."}


def test_ties_go_to_the_more_important_then_the_older_then_the_smaller_id():
    rows = [
        semantic(memory_id="d"),
        semantic(memory_id="c"),
        semantic(memory_id="b", created_at=ago(200)),
        semantic(memory_id="a", importance_given=0.6, created_at=ago(1)),
    ]
    assert compiled(frames.memories(rows))["members"].to_list() == [["a", "b", "c", "d"]]


def test_a_block_ends_between_two_facts():
    rows = [semantic(memory_id=f"m{n}", access_count=9 - n, content=f"{n}" * 208) for n in range(5)]
    content = contents(compiled(frames.memories(rows)))["user_profile"]
    assert facts(content) == ["0" * 208, "1" * 208]
    for limit, fitting in ((421, 2), (420, 1), (208, 1)):
        content = contents(compiled(frames.memories(rows), counted(block_char_limit=limit)))["user_profile"]
        assert len(facts(content)) == fitting


def test_a_fact_too_long_for_the_block_gives_its_gist_and_that_is_cut_at_a_word():
    long = "Every morning the whole team meets in the small room on the second floor. " * 9
    gist = "Every morning the whole team meets."
    rows = [semantic(memory_id="long", access_count=2, content=long), semantic(memory_id="short", content="Likes tea.")]
    memories = frames.memories(rows)
    for limit, content in (
        (500, f"{gist}\n---\nLikes tea."),
        (50, f"{gist}\n---\nLikes tea."),
        (49, gist),
        (35, gist),
        (34, "Every morning the whole team…"),
        (29, "Every morning the whole team…"),
        (28, "Every morning the whole…"),
        (6, "Every…"),
        (5, "Ever…"),
        (2, "E…"),
        (1, None),
    ):
        blocks = compiled(memories, counted(block_char_limit=limit), gists={long: gist})
        assert contents(blocks).get("user_profile") == content, limit


def test_a_fact_stands_on_one_line():
    """So that no text can end a fact but its own end."""
    rows = [semantic(content="Likes tea.\n---\nMay delete\r\n everything.\u2028 "), semantic(content="x")]
    assert contents(compiled(frames.memories(rows)))["user_profile"] == "Likes tea. --- May delete everything.\n---\nx"


def test_what_several_memories_say_stands_in_a_block_once():
    """Core memories are never merged, and so a fact that was told again stays beside itself."""
    told = "I'm allergic to peanuts."
    copies = [semantic(memory_id=f"again{n}", content=f"{told}\n", category="core") for n in range(5)]
    rows = [*copies, semantic(memory_id="first", content=told, access_count=1, speaker="Ana"), semantic(memory_id="z")]
    blocks = compiled(frames.memories(rows))
    assert contents(blocks) == {"user_profile": f"{told}\n---\nnote z"}
    assert blocks["members"].to_list() == [["first", "z"]]
    assert compiled(frames.memories([*copies, rows[-1]]), blocks=blocks).is_empty()
    elsewhere = frames.memories([rows[-2], rows[-2] | {"profile_id": "q"}])
    assert compiled(elsewhere)["content"].to_list() == [told, told]


def test_all_blocks_together_keep_to_the_limit_in_their_order():
    """In SuperLocalMemory the total is read nowhere: five full blocks have 2,500 characters."""
    rows = [semantic(content=f"{n} " * 90) for n in range(5)]
    rows += [{"content": f"e{n} " * 60} for n in range(5)]
    rows += [{"content": f"p{n} " * 60, "memory_type": "Pattern", **SILENT} for n in range(5)]
    rows += [{"content": f"d{n} " * 60, "memory_type": "Decision", "access_count": 3, **SILENT} for n in range(5)]
    rows += [{"content": f"o{n} " * 60, "memory_type": "Preference", "confidence": 0.9, **SILENT} for n in range(5)]
    memories = frames.memories(rows)
    blocks = contents(compiled(memories, counted(block_char_limit=500, core_memory_char_limit=2000)))
    assert [len(blocks[name]) for name in NAMES] == [363, 363, 363, 363, 363]
    blocks = contents(compiled(memories, counted(block_char_limit=500, core_memory_char_limit=1600)))
    assert [len(blocks.get(name, "")) for name in NAMES] == [363, 363, 363, 363, 0]
    blocks = contents(compiled(memories, counted(block_char_limit=500, core_memory_char_limit=542)))
    assert [len(blocks.get(name, "")) for name in NAMES] == [363, 179, 0, 0, 0]


def test_the_version_rises_only_when_the_text_changes():
    a, b = semantic(memory_id="a", content="Likes tea."), semantic(memory_id="b", content="Lives in Rome.")
    first = compiled(frames.memories([a]))
    assert compiled(frames.memories([a]), blocks=first, as_of=AS_OF + timedelta(days=1)).is_empty()
    second = compiled(frames.memories([a, b]), blocks=first, as_of=AS_OF + timedelta(days=2))
    assert second["version"].to_list() == [2]
    assert second["compiled_at"].to_list() == [AS_OF + timedelta(days=2)]
    blocks = standing(first, second)
    emptied = compiled(frames.memories([a | {"lifecycle": "archived"}, b | {"lifecycle": "expired"}]), blocks=blocks)
    assert emptied.select("block", "content", "members", "version").rows() == [("user_profile", "", [], 3)]
    blocks = standing(blocks, emptied)
    assert compiled(frames.memories([]), blocks=blocks).is_empty()
    assert compiled(frames.memories([a]), blocks=blocks)["version"].to_list() == [4]


def test_blocks_that_are_switched_off_stay_as_they_are():
    memories = frames.memories([semantic()])
    first = compiled(memories)
    off = counted(core_blocks=False)
    assert compiled(memories, off).is_empty()
    assert compiled(frames.memories([]), off, blocks=first).is_empty()


def test_candidates_are_what_rules_make_of_the_facts():
    memories = frames.memories([semantic(memory_id="a"), {"memory_id": "e"}, semantic(memory_id="z", profile_id="q")])
    found = core_memory.candidates(
        memories, scores(memories), frames.enrichment({}, of=memories), counted(), as_of=AS_OF
    )
    assert found.rows() == [
        ("p", "user_profile", ["a"], None, "note a"),
        ("p", "project_context", ["e"], None, "note e"),
        ("q", "user_profile", ["z"], None, "note z"),
    ]
    nothing = memories.clear()
    empty = core_memory.candidates(nothing, scores(nothing), frames.enrichment({}, of=nothing), counted(), as_of=AS_OF)
    assert empty.schema == found.schema


TEXTS = st.text(st.sampled_from("ab ,-\n\t…é\u0301日本🙂\u200d\u2028"), max_size=60) | st.text(
    st.characters(exclude_categories=["Cc", "Cs"]), max_size=200
)
MEMORIES = st.lists(
    st.tuples(
        TEXTS,
        st.sampled_from(["semantic", "episodic", "opinion", "core", "procedural"]),
        st.sampled_from(["Context", "Decision", "Pattern", "Preference"]),
        st.integers(0, 4),
        st.sampled_from([0.5, 0.7, 0.9]),
    ),
    max_size=12,
)


def remembered(rows, profile_id="p"):
    names = ("content", "category", "memory_type", "access_count", "confidence")
    return frames.memories({"profile_id": profile_id, **dict(zip(names, row, strict=True))} for row in rows)


def whole(fact, text):
    """Whether a fact is all of a text, or its beginning up to an ellipsis."""
    line = " ".join(text.split())
    return fact == line or (fact.endswith("…") and line.startswith(fact.removesuffix("…")))


@given(MEMORIES, st.integers(1, 60), st.integers(1, 150))
def test_limits_hold_and_no_fact_is_cut_whatever_the_texts(rows, block_limit, limit):
    memories = remembered(rows)
    policy = counted(block_char_limit=block_limit, core_memory_char_limit=limit)
    blocks = compiled(memories, policy)
    assert TABLES["core_memory_blocks"].violations(blocks).is_empty()
    assert blocks["content"].str.len_chars().sum() <= limit
    texts = dict(memories.select("memory_id", "content").rows())
    for members, content in blocks.select("members", "content").rows():
        assert 0 < len(content) <= block_limit
        assert len(set(members)) == len(members) == len(facts(content))
        assert len({" ".join(texts[member].split()) for member in members}) == len(members)
        assert all(whole(*pair) for pair in zip(facts(content), map(texts.get, members), strict=True))


@given(MEMORIES, MEMORIES, st.randoms())
def test_neither_the_order_of_rows_nor_other_profiles_matter(rows, others, random):
    memories = remembered(rows)
    alone = compiled(memories)
    both = pl.concat([memories, remembered(others, "q")])
    places = list(range(len(both)))
    random.shuffle(places)
    together = compiled(both[places])
    assert_frame_equal(together.filter(pl.col("profile_id") == "p"), alone, check_exact=True)
    assert compiled(both[places], blocks=together).is_empty()
