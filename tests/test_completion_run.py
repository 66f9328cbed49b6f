"""A language model in real Dagster runs: asked once, replayed by every look at the state, never by a rebuild."""

import re
import sys
from datetime import UTC
from io import StringIO

import dagster as dg
import homes
import launches
import polars as pl
import pytest
from answering import all_different, failure, material, reply, said, serving, stated
from rich.console import Console

from memory_pipeline import MemoryClient, Settings, build_defs
from memory_pipeline.assets.resources import Run
from memory_pipeline.runs import consolidate, inputs
from memory_pipeline.schemas import TABLES
from memory_pipeline.service import actions, report_runs
from memory_pipeline.settings import Policy, load
from memory_pipeline.text.score.commands import instructs_reader

KEY = "sk-very-secret-0123456789"
LATER = homes.NIGHT + homes.days(1)


@pytest.fixture(scope="module")
def instance():
    with dg.DagsterInstance.ephemeral() as opened:
        yield opened


@pytest.fixture(scope="module")
def history():
    return homes.events(profiles=1, memories=32, days=60)


@pytest.fixture(autouse=True, scope="module")
def key():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield


@pytest.fixture
def lake(tmp_path, history):
    with homes.filled(tmp_path, history) as opened:
        yield opened


@pytest.fixture(scope="module")
def worded(tmp_path_factory, history, instance):
    """A store after two nights with a model, its settings, what was asked in each, and Dagster's events of one."""
    with homes.filled(tmp_path_factory.mktemp("worded"), history) as opened:
        with serving(faithful) as server:
            settings = deployment(opened, server)
            first = finished(settings, instance, as_of=homes.NIGHT.isoformat())
            asked = len(server.asked)
            homes.night(opened, policy=settings, as_of=LATER, run_id="second")
        yield opened, settings, (server.prompts[:asked], server.prompts[asked:]), first.all_events


def faithful(prompt, _):
    """Repeat what the prompt lists, which invents nothing, without what tells a reader to do something."""
    if "atomic facts" in prompt:
        return reply(said(stated(prompt)))
    if "pair of notes" in prompt:
        return reply(said(all_different(prompt)))
    texts = pl.Series(list(dict.fromkeys(re.sub(r"^\d+\. (?:\[[-\d]+\] )?", "", line) for line in material(prompt))))
    return reply(said(" / ".join(texts.filter(~instructs_reader(texts))) or "Nothing else was said."))


def deployment(lake, server, **policy):
    every = {"llm_model": "m", "summaries": "all", "core_facts": "superlocal"}
    return Settings(home=lake.home, llm_base_url=server.url, llm_retries=0, policy=Policy(**every | policy))


def run(settings, instance, **options):
    definition = build_defs(settings=settings, key_prefix="").resolve_job_def("full")
    config = Run(**options).model_dump(exclude_defaults=True)
    return definition.execute_in_process(
        instance=instance,
        run_config=launches.QUIET | {"resources": {"run": {"config": config}}},
        raise_on_error=False,
    )


def finished(settings, instance, **options):
    result = run(settings, instance, **options)
    assert result.success, launches.why(result)
    return result


@pytest.mark.drill
def test_a_model_is_asked_once_and_its_words_are_kept(worded):
    lake, _, (first, second), _ = worded
    verdicts = lake.read("verdicts")
    kept = pl.concat([lake.read("completions"), verdicts.drop("subject", "refused")])
    assert set(kept["outcome"]) == {"answered"}
    assert set(kept["purpose"]) == {"block", "facts", "relation", "summary"}
    assert verdicts["subject"].str.split(" ").list.len().max() > 1
    assert len({*first, *second}) == len(first) + len(second) == kept.height
    memories = lake.read("memories")
    assert set(memories.filter(pl.col("kind") != "original")["content"]) & set(kept["content"])
    blocks = lake.read("core_memory_blocks")
    assert set(blocks.filter(pl.col("compiled_by") == "m")["block"]) == {"project_context", "user_profile"}


@pytest.mark.drill
def test_the_facts_of_entries_are_memories_that_a_recall_finds_and_explains(worded):
    lake, settings, _, _ = worded
    memories = lake.read("memories")
    facts = memories.filter(kind="fact")
    entries = dict(memories.filter(kind="original").select("memory_id", "content").iter_rows())
    assert facts.height > 1
    assert all(fact in entries[members[0]] for fact, members in facts.select("content", "members").iter_rows())
    fact = facts.row(0, named=True)
    with MemoryClient(lake.home, profile_id=fact["profile_id"], settings=settings, clock=lambda: LATER) as client:
        explained = client.explain(fact["memory_id"])
    assert entries[fact["members"][0]] in explained.text()


@pytest.mark.drill
def test_a_rebuild_asks_nobody_and_gives_the_same(worded):
    """The server is gone by then; the words are those that it gave."""
    lake, settings, _, _ = worded
    again = consolidate.preview(lake, settings, inputs.select_profiles(lake, settings, as_of=LATER))
    for name in ("summaries", "proposed_blocks"):
        homes.same({name: again[name].drop("plan_id")}, {name: lake.read(name).drop("plan_id")})


@pytest.mark.drill
def test_the_key_is_in_no_table_and_in_no_event_of_a_run(worded):
    lake, _, _, events = worded
    for name in TABLES:
        assert KEY not in str(lake.read(name).to_dicts()), name
    assert KEY not in "".join(map(str, events))


@pytest.mark.drill
def test_a_dry_run_asks_carries_the_answers_and_writes_nothing(lake):
    with serving(faithful) as server:
        before = launches.state(lake)
        planned = actions.dry_run(deployment(lake, server), as_of=homes.NIGHT)
    assert server.asked
    assert planned["completions"].height == len(server.asked)
    assert set(planned["completions"]["purpose"]) == {"block", "facts", "relation", "summary"}
    assert lake.read("completions").is_empty()
    assert lake.read("verdicts").is_empty()
    assert launches.state(lake) == before


@pytest.mark.drill
def test_a_model_that_fails_leaves_the_words_to_rules_and_says_why(lake, instance):
    with serving(lambda *_: failure(401, message=f"Incorrect API key provided: {KEY}")) as server:
        result = finished(deployment(lake, server), instance, as_of=homes.NIGHT.isoformat())
    completions, summaries = lake.read("completions"), lake.staged(result.run_id, "summaries")
    assert len(server.asked) <= 2 * Settings().llm_concurrency  # the step about pairs, and the step about words
    assert set(lake.read("verdicts")["outcome"]) == {"unauthorised"}
    assert set(completions["outcome"]) == {"unauthorised"}
    assert set(summaries.select("compiled_by", "fallback").rows()) == {("rules", "unauthorised")}
    assert KEY not in str([completions.to_dicts(), summaries.to_dicts(), *result.all_events])


@pytest.mark.drill
def test_the_report_of_a_run_says_how_many_summaries_rules_had_to_word_and_why(lake):
    """One answer names a year that no memory knows, one is empty, and then the server refuses."""
    answers = {0: reply(said("All of it happened in 1437.")), 1: reply(said(""))}
    given = {
        "LLM_MODEL": "m",
        "LLM_RETRIES": "0",
        "LLM_CONCURRENCY": "1",
        "CORE_BLOCKS": "no",
        "LLM_PAIRS": "0",
        "SUMMARIES": "all",
    }
    with serving(lambda _, nth: answers.get(nth) or failure(400)) as server:
        variables = {f"MEMORY_PIPELINE_{name}": value for name, value in (given | {"LLM_BASE_URL": server.url}).items()}
        homes.night(lake, policy=load(lake.home, environment=variables))
    made = lake.read("summaries").height
    reasons = f"rejected ({made - 2}), empty (1), with an invented fact (1)"
    assert f"\nworded by rules instead of the language model: {made} summaries: {reasons}\n" in reported(lake)


def reported(lake):
    """What the command line shows of the run."""
    console = Console(file=StringIO(), width=300)
    done = report_runs.run_document(lake, "run")
    report_runs.run(console, lake, done, report_runs.changes_of(lake, done, UTC), UTC)
    return console.file.getvalue()


@pytest.mark.drill
def test_without_a_model_nobody_is_asked_and_the_report_says_nothing_of_one(lake):
    with serving(faithful) as server:
        given = {"LLM_BASE_URL": server.url, "SUMMARIES": "all", "CORE_FACTS": "superlocal"}
        variables = {f"MEMORY_PIPELINE_{name}": value for name, value in given.items()}
        homes.night(lake, policy=load(lake.home, environment=variables))
    assert server.asked == []
    assert lake.read("completions").is_empty()
    assert "language model" not in reported(lake)


@pytest.mark.drill
def test_a_missing_package_stops_the_run_with_one_sentence(lake, instance, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with serving(faithful) as server:
        result = run(deployment(lake, server), instance, as_of=homes.NIGHT.isoformat())
    assert not result.success
    assert "pip install 'openai<" in launches.why(result)["consolidation.associations"]


@pytest.mark.drill
def test_a_client_asks_too_and_a_second_run_asks_nothing_new(lake):
    profile = lake.ledger.profiles()["profile_id"][0]
    with serving(faithful) as server:
        settings = deployment(lake, server)
        with MemoryClient(lake.home, profile_id=profile, settings=settings, clock=lambda: homes.NIGHT) as client:
            client.consolidate()
            asked = len(server.asked)
            assert asked > 0
            client.consolidate()
            assert len(server.asked) == asked
    made = lake.read("summaries")
    assert set(made["compiled_by"]) - {"rules"}
