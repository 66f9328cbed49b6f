"""Core memory blocks worded by a model, as SuperLocalMemory documents them: what the model said stays."""

from datetime import timedelta

import frames
import polars as pl
import pytest
from answering import reply, said, script, serving
from frames import AS_OF, ago

from memory_pipeline.consolidation import core_memory, model_requests
from memory_pipeline.llm.openai import OpenAICompletionClient
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import LanguageModel, Policy

FACTS = {"Alpha fact.": "semantic", "Bravo episode.": "episodic"}
POLICY = Policy(preset="superlocal", llm_model="stub", core_facts="superlocal", methods=("near_duplicates",))
STORED = TABLES["core_memory_blocks"].empty()


def state(facts):
    memories = frames.memories(
        {"memory_id": f"m{index}", "content": text, "category": category, "created_at": ago(2)}
        for index, (text, category) in enumerate(facts.items())
    )
    scored = frames.importance(memories).select("profile_id", "memory_id", "importance")
    return memories, scored, frames.enrichment({}, of=memories)


def asked(server, facts, known, *, policy=POLICY, as_of=AS_OF):
    """One run's questions: all that is known of the model afterwards."""
    memories, scored, enrichment = state(facts)
    none = TABLES["clusters"].empty(), TABLES["cluster_members"].empty()
    settings = LanguageModel(llm_base_url=server.url, llm_retries=0)
    wanted = model_requests.requests(
        *none, memories, scored.with_columns(stability=pl.lit(0.1)), enrichment, policy, as_of=as_of
    )
    rows = model_requests.ModelAnswers(OpenAICompletionClient(settings, environment={}), settings)(wanted, known)
    return pl.concat([known, rows])


def compiled(facts, before, known, *, policy=POLICY, as_of=AS_OF):
    """One run's blocks: all that stand afterwards."""
    changed = core_memory.compile_blocks(
        *state(facts), before, known, policy, as_of=as_of, plan_id=f"plan at {as_of.isoformat()}"
    )
    key = ["profile_id", "block"]
    return pl.concat([before.join(changed, on=key, how="anti"), changed]).sort(key)


def told(blocks):
    return {
        block: (content, by, version)
        for block, content, by, version in blocks.select("block", "content", "compiled_by", "version").iter_rows()
    }


def worded(answers):
    """Reply to a prompt with the answer to the fact that it quotes, else with the only one."""

    def answer(prompt, _):
        return reply(said(next((text for fact, text in answers.items() if fact in prompt), "")))

    return answer


def twice(facts, answer):
    """Blocks after one run and after another a day later, and how often the model was asked."""
    with serving(script(reply(said(answer))) if isinstance(answer, str) else worded(answer)) as server:
        known = asked(server, facts, TABLES["completions"].empty())
        first = compiled(facts, STORED, known)
        later = AS_OF + timedelta(days=1)
        known = asked(server, facts, known, as_of=later)
        return first, compiled(facts, first, known, as_of=later), len(server.asked)


@pytest.mark.drill
def test_blocks_of_the_model_stay_the_models(real_system):
    """The release words both blocks by its model and then overwrites them by rules, as version 2, in the same run."""
    case = real_system("superlocal")["slm-block-6"]
    texts = [case["input"]["facts"][name].split(" ", 1) for name in "ab"]
    facts = {text.strip("'"): category for category, text in texts}
    assert facts == FACTS
    wordings = dict(zip(facts, ("An alpha fact", "A bravo episode"), strict=True))  # the stub's says what no fact says
    first, second, questions = twice(facts, wordings)
    expected = dict(zip(case["expected_by_wiki"], wordings.values(), strict=True))
    assert {block: content for block, (content, _, _) in told(first).items()} == expected
    assert second.equals(first)
    assert questions == 2


def test_blocks_of_the_model_stay_the_models_with_our_own_facts():
    facts = {"The user drinks tea and lives in Rome.": "semantic", "The user began to build a boat.": "episodic"}
    wordings = dict(zip(facts, ("Lives in Rome and drinks tea.", "Began to build a boat."), strict=True))
    first, second, questions = twice(facts, wordings)
    assert told(first) == {
        "user_profile": ("Lives in Rome and drinks tea.", "stub", 1),
        "project_context": ("Began to build a boat.", "stub", 1),
    }
    assert second.equals(first)
    assert questions == 2


@pytest.mark.parametrize("answer", ["", "The user moved to Paris.", "x" * 501, "I'm sorry, but I can't help."])
def test_rules_word_what_the_model_does_not(answer):
    first, second, _ = twice(FACTS, answer)
    assert told(first) == {
        "user_profile": ("Alpha fact.", "rules", 1),
        "project_context": ("Bravo episode.", "rules", 1),
    }
    assert second.equals(first)


def test_a_new_fact_is_worded_anew_and_the_other_block_stays():
    wordings = {
        "Charlie fact.": "An alpha fact, a charlie fact",
        "Alpha fact.": "An alpha fact",
        "Bravo": "A bravo episode",
    }
    with serving(worded(wordings)) as server:
        known = asked(server, FACTS, TABLES["completions"].empty())
        first = compiled(FACTS, STORED, known)
        more, later = FACTS | {"Charlie fact.": "semantic"}, AS_OF + timedelta(days=1)
        known = asked(server, more, known, as_of=later)
        second = compiled(more, first, known, as_of=later)
    assert {block: version for block, (_, _, version) in told(second).items()} == {
        "user_profile": 2,
        "project_context": 1,
    }
    assert told(second)["user_profile"][:2] == ("An alpha fact, a charlie fact", "stub")
    assert len(server.asked) == 3


def test_only_two_blocks_are_the_models():
    facts = {"We decided on oak.": "opinion", "Prefers oak.": "opinion"}
    with serving(script(reply(said("Oak.")))) as server:
        known = asked(server, facts, TABLES["completions"].empty())
        assert len(server.asked) == 1
    by = {block: by for block, (_, by, _) in told(compiled(facts, STORED, known)).items()}
    assert by.pop("user_profile") == "stub"
    assert set(by.values()) <= {"rules"}
