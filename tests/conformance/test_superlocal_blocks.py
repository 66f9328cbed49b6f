"""Core memory blocks and warm memories as SuperLocalMemory's documentation states them."""

from datetime import timedelta

import frames
import polars as pl
import pytest
from decided import decisions
from frames import AS_OF, ago
from uses import table

from memory_pipeline.consolidation import core_memory, promotion
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.summaries import prompting
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, preset

POLICY = Policy(**preset("superlocal"))
OTHER = "procedural"
"""A category that no block takes."""


def scores(memories):
    return memories.select("profile_id", "memory_id", importance=pl.lit(0.5), stability=pl.lit(0.5))


def compiled(memories, *, blocks=None, completions=None, policy=POLICY, as_of=AS_OF):
    return core_memory.compile_blocks(
        memories,
        scores(memories),
        frames.enrichment({}, of=memories),
        TABLES["core_memory_blocks"].empty() if blocks is None else blocks,
        TABLES["completions"].empty() if completions is None else completions,
        policy,
        as_of=as_of,
        plan_id="plan",
    )


def contents(blocks):
    return dict(blocks.select("block", "content").rows())


def promoted(memories, as_of=AS_OF):
    none = [
        TABLES[name].empty() for name in ("events", "accesses", "tier_changes", "association_edges", "fact_changes")
    ]
    return promotion.promote(memories, scores(memories), *none, POLICY, as_of=as_of, plan_id="plan")


def run(state, as_of):
    """The state after a run that promotes and compiles."""
    raised = decision_rows.promotions(promoted(state.memories, as_of), state.memories)
    texts = decision_rows.blocks(compiled(state.memories, blocks=state.blocks, as_of=as_of), state.blocks)
    return projection.apply(state, decisions(pl.concat([raised, texts]), as_of=as_of))


def answered(candidates, text, policy):
    """Table `completions`: this answer to every block that a model is asked to word, or one by block."""
    asked = prompting.block_requests(candidates, policy)
    answers = [text if isinstance(text, str) else text[row["subject"]] for row in asked.iter_rows(named=True)]
    answer = {"outcome": "answered", "output_tokens": 5, "cost": 0.0}
    rows = zip(asked.drop("subject", "prompt").to_dicts(), answers, strict=True)
    return table("completions", ({**row, **answer, "content": content} for row, content in rows))


# Our own inputs and numbers


def test_a_used_fact_becomes_warm_and_stays_in_its_block():
    memories = frames.memories(
        {"memory_id": name, "content": f"{name} fact.", "category": "semantic", "access_count": used}
        for name, used in (("hot", 4), ("cool", 2), ("new", 0))
    )
    before = projection.State(memories, TABLES["decided_edges"].empty())
    first = run(before, AS_OF)
    assert dict(first.memories.select("memory_id", "lifecycle").rows()) == {
        "hot": "warm",
        "cool": "active",
        "new": "active",
    }
    assert contents(first.blocks) == {"user_profile": "hot fact.\n---\ncool fact.\n---\nnew fact."}
    second = run(first, AS_OF + timedelta(days=1))
    assert second.memories.equals(first.memories)
    assert second.blocks.equals(first.blocks)


def test_a_preference_needs_a_confidence_of_seven_tenths():
    memories = frames.memories(
        {"memory_id": f"{sure}", "content": f"Sure {sure}.", "category": "opinion", "confidence": sure}
        for sure in (0.5, 0.69, 0.7, 0.9)
    )
    assert contents(compiled(memories))["learned_preferences"] == "Sure 0.9.\n---\nSure 0.7."


@pytest.mark.parametrize(("text", "by"), [("likes tea and rain.", "gpt"), ("likes Berlin.", "rules"), (None, "rules")])
def test_a_model_words_the_first_two_blocks_if_it_invents_nothing(text, by):
    policy = POLICY.model_copy(update={"llm_model": "gpt"})
    memories = frames.memories(
        [
            {"memory_id": "a", "content": "likes tea.", "category": "semantic"},
            {"memory_id": "b", "content": "likes rain.", "category": "semantic"},
            {
                "memory_id": "d",
                "content": "tea it is.",
                "category": OTHER,
                "memory_type": "Decision",
                "access_count": 3,
            },
        ]
    )
    known = frames.enrichment({}, of=memories)
    facts = core_memory.candidates(memories, scores(memories), known, policy, as_of=AS_OF)
    asked = answered(facts, text or "", policy)
    blocks = compiled(memories, completions=asked if text else asked.clear(), policy=policy)
    rules = "likes tea.\n---\nlikes rain."
    assert blocks.select("block", "content", "compiled_by", "members").rows() == [
        ("active_decisions", "tea it is.", "rules", ["d"]),
        ("user_profile", text if by == "gpt" else rules, by, ["a", "b"]),
    ]


def test_a_wording_that_does_not_fit_into_what_is_left_gives_way_to_the_rules():
    policy = POLICY.model_copy(update={"llm_model": "gpt", "core_memory_char_limit": 30})
    memories = frames.memories(
        [
            {"memory_id": "a", "content": "likes tea.", "category": "semantic"},
            {"memory_id": "e", "content": "drinks tea.", "category": "episodic"},
        ]
    )
    known = frames.enrichment({}, of=memories)
    facts = core_memory.candidates(memories, scores(memories), known, policy, as_of=AS_OF)
    wordings = {"user_profile": "Likes tea; likes tea.", "project_context": "Drinks tea; drinks tea."}
    blocks = compiled(memories, completions=answered(facts, wordings, policy), policy=policy)
    assert contents(blocks) == {"user_profile": "Likes tea; likes tea."}
    wider = policy.model_copy(update={"core_memory_char_limit": 32})
    facts = core_memory.candidates(memories, scores(memories), known, wider, as_of=AS_OF)
    blocks = compiled(memories, completions=answered(facts, wordings, wider), policy=wider)
    assert contents(blocks) == {"user_profile": "Likes tea; likes tea.", "project_context": "drinks tea."}
    assert dict(blocks.select("block", "compiled_by").rows()) == {"user_profile": "gpt", "project_context": "rules"}


# The cases of the real system


def test_promotion_of_what_ends_later(real_system):
    case = real_system("superlocal")["slm-promo-2"]
    until = AS_OF + timedelta(days=int(case["input"]["valid_until"].split()[0]))
    memories = frames.memories([{"memory_id": "p6", "access_count": case["input"]["access"], "valid_until": until}])
    assert dict(promoted(memories).select("memory_id", "lifecycle").rows()) == case["expected_by_code"]
    assert promoted(memories, as_of=until).is_empty()


def test_blocks_of_the_documentation(real_system):
    """Ours: preferences need .7, as documented; what is empty is no block; ties go to the older."""
    case = real_system("superlocal")["slm-block-1"]
    used = case["input"]["semantic/opinion access counts s0..s6"]
    rows = [
        {
            "memory_id": f"s{index}",
            "content": f"User trait {index}.",
            "category": "opinion" if index % 2 == 0 else "semantic",
            "access_count": count,
            "confidence": 0.9 if index < 4 else 0.6,
        }
        for index, count in enumerate(used)
    ]
    rows += [
        {"memory_id": f"ep{index}", "content": f"Episode {index} happened.", "created_at": ago(days)}
        for index, days in enumerate(case["input"]["episodic ages d ep0..ep6"])
    ]
    rows += [
        {
            "memory_id": name,
            "content": "Decided on DuckDB." if name == "d1" else "Decided on tea.",
            "memory_type": "Decision",
            "category": OTHER,
            "access_count": count,
        }
        for name, count in case["input"]["decisions"].items()
    ]
    blocks = compiled(frames.memories(rows))
    by_code = case["expected_by_code"]["blocks"]
    kept = ("user_profile", "project_context", "active_decisions")
    assert {name: contents(blocks)[name] for name in kept} == {name: by_code[name] for name in kept}
    members = dict(blocks.select("block", "members").rows())
    by_wiki = case["expected_by_wiki"]
    assert {name: " ".join(members[name]) for name in kept} == {name: by_wiki[name] for name in kept}
    assert members["learned_preferences"] == by_wiki["learned_preferences"].split()[:2]
    assert "behavioral_patterns" not in members


def test_a_block_of_long_facts(real_system):
    """Ours: two whole facts and nothing of the third."""
    case = real_system("superlocal")["slm-block-3"]
    length = case["input"]["chars_each"]
    rows = [
        {"memory_id": f"f{index}", "content": f"Fact {index} ".ljust(length, "x"), "category": "semantic"}
        for index in range(case["input"]["facts"])
    ]
    (content,) = contents(compiled(frames.memories(rows))).values()
    assert content == "\n---\n".join(row["content"] for row in rows[:2])
    assert len(content) <= case["expected_by_wiki"]["user_profile_len"]


def test_the_total_of_all_blocks(real_system):
    """Ours: what the documentation promises; the real system reads the limit nowhere."""
    case = real_system("superlocal")["slm-block-4"]
    kinds = [
        {"category": "semantic"},
        {"category": "episodic"},
        {"category": OTHER, "memory_type": "Pattern"},
        {"category": OTHER, "memory_type": "Decision", "access_count": 3},
        {"category": OTHER, "memory_type": "Preference", "confidence": 0.9},
    ]
    rows = [{"content": f"{index} {n} ".ljust(96, "x"), **kind} for index, kind in enumerate(kinds) for n in range(9)]
    blocks = compiled(frames.memories(rows))
    lengths = dict(zip(blocks["block"], blocks["content"].str.len_chars(), strict=True))
    full = 5 * 96 + 4 * 5
    assert lengths == {name: full for name in contents(blocks) if name != "learned_preferences"}
    assert len(lengths) == 4
    assert sum(lengths.values()) == case["expected_by_wiki"]["total_chars_max"]


def test_a_second_run_changes_nothing(real_system):
    """Ours, as documented: in the real system the promoted fact is gone from its block after the second run."""
    case = real_system("superlocal")["slm-idem-1"]
    texts = {"hot": "Hot fact.", "cool": "Cool fact.", "z": "Zero."}
    memories = frames.memories(
        {"memory_id": name, "content": texts[name], "category": "semantic", "access_count": used}
        for name, used in case["input"]["facts"].items()
    )
    first = run(projection.State(memories, TABLES["decided_edges"].empty()), AS_OF)
    expected = case["expected_by_code"]["after_run_1"]
    assert dict(first.memories.select("memory_id", "lifecycle").rows()) == expected["lifecycle"]
    assert contents(first.blocks)["user_profile"] == expected["user_profile"]
    second = run(first, AS_OF + timedelta(hours=1))
    assert second.memories.equals(first.memories)
    assert second.blocks.equals(first.blocks)


def test_blocks_worded_by_a_model(real_system):
    """Ours, as documented: the wording stands; in the real system the rules write over it.

    The stub of the case says what no fact says, which we refuse; here it says of each fact what it states.
    """
    case = real_system("superlocal")["slm-block-6"]
    texts = [fact.split(" ", 1) for fact in case["input"]["facts"].values()]
    memories = frames.memories({"content": text.strip("'"), "category": category} for category, text in texts)
    policy = POLICY.model_copy(update={"llm_model": "llm"})
    known = frames.enrichment({}, of=memories)
    facts = core_memory.candidates(memories, scores(memories), known, policy, as_of=AS_OF)
    by_rules = {name: said[0] for name, said in case["expected_by_code"].items() if isinstance(said, list)}
    assert contents(facts) == by_rules
    expected = {
        block: [wording, by]
        for (block, (_, by)), wording in zip(
            case["expected_by_wiki"].items(), ("An alpha fact", "A bravo episode"), strict=True
        )
    }
    wordings = {block: text for block, (text, _) in expected.items()}
    blocks = compiled(memories, completions=answered(facts, wordings, policy), policy=policy)
    assert {
        block: [text, by] for block, text, by in blocks.select("block", "content", "compiled_by").rows()
    } == expected
