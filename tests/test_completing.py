"""What a run asks a model and what it keeps, against a real server."""

import json
import random
from datetime import timedelta

import frames
import polars as pl
import pytest
from answering import failure, reply, said, script, serving
from frames import AS_OF
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import model_prompts, model_requests
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.summaries import summarising
from memory_pipeline.llm.openai import OpenAICompletionClient
from memory_pipeline.llm.protocol import Completion, Outcome, Usage, estimated_tokens, within_budget
from memory_pipeline.schemas import TABLES, Action
from memory_pipeline.settings import LanguageModel, Policy

KEY = "sk-very-secret-0123456789"
EMPTY = TABLES["completions"].empty()


def requests(*texts, profile="p", model="m"):
    """Requests for texts as they are."""
    rows = [
        {
            "profile_id": profile,
            "request_hash": model_prompts.request_hash(model, "summary", text),
            "model": model,
            "purpose": "summary",
            "subject": text,
            "prompt": text,
            "input_tokens": estimated_tokens(text),
        }
        for text in texts
    ]
    return pl.DataFrame(rows, schema=model_prompts.REQUESTS)


def settings(server, **changed):
    return LanguageModel(**{"llm_base_url": server.url, "llm_concurrency": 1, "llm_retries": 0} | changed)


def asked(server, wanted, known=EMPTY, **changed):
    """One run: the rows that it adds."""
    chosen = settings(server, **changed)
    completer = OpenAICompletionClient(chosen, environment={"OPENAI_API_KEY": KEY}, pause=0.001)
    return model_requests.ModelAnswers(completer, chosen)(wanted, known)


def outcomes(rows, wanted):
    """Outcome of each request, in their order."""
    found = rows.with_columns(pl.col("request_hash").str.head(32))
    return wanted.join(found, on=["profile_id", "request_hash"], how="left", maintain_order="left")["outcome"].to_list()


def test_an_answer_is_kept_with_what_it_cost():
    wanted = requests("What?")
    with serving(script(reply(said("That.", asked=1000, answered=200)))) as server:
        rows = asked(server, wanted, llm_price_input=1.0, llm_price_output=4.0)
    assert rows.rows(named=True) == [
        {
            "profile_id": "p",
            "request_hash": wanted["request_hash"][0],
            "model": "m",
            "purpose": "summary",
            "content": "That.",
            "outcome": "answered",
            "input_tokens": 1000,
            "output_tokens": 200,
            "cost": pytest.approx(0.0018),
        }
    ]


def test_what_was_answered_is_never_asked_again():
    with serving(script(reply())) as server:
        first = asked(server, requests("a", "b"))
        again = asked(server, requests("b", "a"), first)
        more = asked(server, requests("a", "c"), first)
    assert again.is_empty()
    assert more.height == 1
    assert server.prompts == ["a", "b", "c"]


def test_what_is_wanted_twice_is_asked_once():
    with serving(script(reply())) as server:
        assert asked(server, requests("a", "a", "b")).height == 2
    assert server.prompts == ["a", "b"]


def test_no_profile_gets_the_answer_of_another():
    wanted = pl.concat([requests("a", profile="p"), requests("a", profile="q")])
    with serving(lambda _, nth: reply(said(f"answer {nth}"))) as server:
        rows = asked(server, wanted)
    assert rows.select("profile_id", "content").rows() == [("p", "answer 0"), ("q", "answer 1")]


def test_another_model_is_another_question():
    with serving(script(reply())) as server:
        known = asked(server, requests("a"))
        assert asked(server, requests("a", model="other"), known).height == 1
    assert [body["model"] for body in server.asked] == ["m", "other"]


def test_what_failed_is_kept_with_its_reason_and_asked_again_by_the_next_run():
    wanted = requests("a")
    with serving(script(failure(500), reply(said("")), reply(said("At last.")))) as server:
        known = EMPTY
        for _ in range(4):
            known = pl.concat([known, asked(server, wanted, known)])
    name = wanted["request_hash"][0]
    assert known.select("request_hash", "outcome", "content").rows() == [
        (f"{name}.1", "server_error", None),
        (f"{name}.2", "empty", None),
        (name, "answered", "At last."),
    ]
    assert len(server.asked) == 3


def test_no_row_takes_the_key_of_an_earlier_one():
    """What the table holds already stays: rows are only ever added."""
    wanted = requests("a", "b", "c")
    respond = lambda prompt, nth: failure(400) if (prompt, nth) in {("a", 0), ("b", 1), ("a", 3)} else reply()  # noqa: E731
    with serving(respond) as server:
        known = EMPTY
        for _ in range(3):
            known = pl.concat([known, asked(server, wanted, known)])
    assert known.select("profile_id", "request_hash").is_unique().all()
    assert server.prompts == ["a", "b", "c", "a", "b", "a"]


@pytest.mark.parametrize("outcome", [one.value for one in Outcome if one is not Outcome.ANSWERED])
def test_only_an_answer_counts_as_one(outcome):
    known = TABLES["completions"].conform(
        requests("a").with_columns(
            pl.col("request_hash") + ".1", content=pl.lit(None), outcome=pl.lit(outcome), output_tokens=0, cost=0.0
        )
    )
    with serving(script(reply())) as server:
        assert asked(server, requests("a"), known)["outcome"].to_list() == ["answered"]


def test_a_run_without_a_budget_asks_nothing():
    with serving(script(reply())) as server:
        rows = asked(server, requests("a", "b"), llm_token_budget=0)
    assert rows["outcome"].to_list() == ["budget", "budget"]
    assert server.asked == []


def test_a_budget_of_tokens_stops_the_asking_in_order():
    wanted = requests("a", "b", "c", "d")
    each = estimated_tokens("a") + 100
    with serving(script(reply(said(asked=17, answered=100)))) as server:
        rows = asked(server, wanted, llm_token_budget=2 * each + each // 2, llm_max_output_tokens=100)
    assert outcomes(rows, wanted) == ["answered", "answered", "budget", "budget"]
    assert server.prompts == ["a", "b"]


def test_a_budget_of_money_stops_the_asking():
    wanted = requests("a", "b", "c")
    prices = {"llm_price_input": 0.0, "llm_price_output": 1e6, "llm_max_output_tokens": 100}
    with serving(script(reply(said(answered=100)))) as server:
        rows = asked(server, wanted, llm_money_budget=250.0, **prices)
    assert outcomes(rows, wanted) == ["answered", "answered", "budget"]
    assert rows["cost"].sum() == 200.0


def test_what_short_answers_leave_over_goes_to_those_that_had_to_wait():
    wanted = requests(*"abcdef")
    with serving(script(reply(said(asked=17, answered=3)))) as server:
        rows = asked(server, wanted, llm_token_budget=3 * (17 + 100), llm_max_output_tokens=100, llm_retries=0)
    assert outcomes(rows, wanted) == ["answered"] * 6
    assert server.prompts == list("abcdef")


def test_a_long_request_does_not_keep_short_ones_waiting():
    wanted = requests("a", "long " * 1000, "b")
    with serving(script(reply(said(answered=5)))) as server:
        rows = asked(server, wanted, llm_token_budget=300, llm_max_output_tokens=16)
    assert outcomes(rows, wanted) == ["answered", "budget", "answered"]


def test_a_budget_spent_in_one_run_is_whole_again_in_the_next():
    wanted = requests("a", "b")
    one = estimated_tokens("a") + 100
    with serving(script(reply(said(asked=17, answered=100)))) as server:
        first = asked(server, wanted, llm_token_budget=one, llm_max_output_tokens=100)
        second = asked(server, wanted, first, llm_token_budget=one, llm_max_output_tokens=100)
    assert outcomes(first, wanted) == ["answered", "budget"]
    assert second["outcome"].to_list() == ["answered"]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12), st.integers(0, 200), st.integers(0, 60)
)
def test_a_budget_is_never_overrun(sizes, tokens, so_far):
    limits = LanguageModel(llm_token_budget=tokens)
    worst = [Usage(asked + answered) for asked, answered in sizes]
    chosen = within_budget(worst, Usage(so_far), limits)
    total = so_far + sum(one.tokens for one, fits in zip(worst, chosen, strict=True) if fits)
    assert total <= max(tokens, so_far)
    for index, fits in enumerate(chosen):
        before = so_far + sum(one.tokens for one, taken in zip(worst[:index], chosen, strict=False) if taken)
        assert fits == (before + worst[index].tokens <= tokens)


def test_a_completer_that_loses_answers_is_refused():
    class Careless:
        def complete(self, prompts):
            return [Completion("one", Outcome.ANSWERED)] * (len(prompts) - 1)

    with pytest.raises(ValueError, match="returned 1 answers to 2 prompts"):
        model_requests.ModelAnswers(Careless(), LanguageModel())(requests("a", "b"), EMPTY)


def test_no_row_holds_the_key():
    with serving(script(failure(401, message=f"Incorrect API key provided: {KEY}"), reply())) as server:
        rows = asked(server, requests("a", "b"))
    assert rows["outcome"].to_list() == ["unauthorised"] * 2
    assert KEY not in json.dumps(rows.to_dicts())


NOTES = ("Anna moved to Rome on 12 June", "Anna moved to Rome on 12 June.", "Bob owns 3 boats", "Bob owns three boats")
OWN = ("I moved to Rome on 12 June", "I moved to Rome on 12 June.", "I own 3 boats", "I own three boats")
"""Statements about the one whose memory it is, which a block of core memory may hold."""


def state(texts=NOTES, *, profile="p", groups=(("near_duplicates", (0, 1)), ("similarity_components", (2, 3)))):
    """Tables of a state with clusters of the texts named by their places."""
    memories = frames.memories(
        [
            {"memory_id": f"m{place}", "content": text, "profile_id": profile, "importance_given": 0.1 * place}
            for place, text in enumerate(texts)
        ]
    )
    names = [(method, [f"m{place}" for place in places]) for method, places in groups]
    ids = [clustering.cluster_id(method, members) for method, members in names]
    defaults = {
        "level": None,
        "parent_id": None,
        "strength": None,
        "first_coactivated_at": None,
        "label": "x",
        "dominant_type": "Context",
        "temporal_span_days": 0.0,
        "cohesion": 0.9,
        "plan_id": "plan",
        "profile_id": profile,
    }
    clusters = [
        {"cluster_id": name, "method": method, "cluster_size": len(members), **defaults}
        for name, (method, members) in zip(ids, names, strict=True)
    ]
    members = [
        {"profile_id": profile, "cluster_id": name, "memory_id": member}
        for name, (_, own) in zip(ids, names, strict=True)
        for member in own
    ]
    scored = frames.importance(memories).select("profile_id", "memory_id", "importance")
    return (
        TABLES["clusters"].conform(pl.DataFrame(clusters, schema=TABLES["clusters"].empty().schema)),
        TABLES["cluster_members"].conform(pl.DataFrame(members, schema=TABLES["cluster_members"].empty().schema)),
        memories,
        scored.with_columns(stability=pl.lit(0.1)),
        frames.enrichment({}, of=memories),
    )


def wanted(tables, *, actions=frozenset(Action), **policy):
    every = {"llm_model": "m", "summaries": "all"}
    return model_requests.requests(*tables, Policy(**every | policy), as_of=AS_OF, actions=actions)


def test_without_a_model_nothing_is_wanted():
    assert wanted(state(), llm_model=None).is_empty()


def test_blocks_come_first_then_summaries_by_importance():
    found = wanted(state(OWN))
    clusters = state(OWN)[0].select("method", "cluster_id")
    methods = found.join(clusters, left_on="subject", right_on="cluster_id", how="left", maintain_order="left")
    assert methods.select(pl.coalesce("method", "subject")).to_series().to_list() == [
        "user_profile",
        "similarity_components",
        "near_duplicates",
    ]


def test_only_what_the_run_may_decide_is_asked():
    purposes = {
        name: wanted(state(OWN), actions=frozenset(actions))["purpose"].unique().sort().to_list()
        for name, actions in {
            "lightweight": (Action.PRUNE, Action.COMPILE),
            "cluster": (Action.SUMMARISE, Action.SUPERSEDE),
            "forget": (Action.ARCHIVE,),
        }.items()
    }
    assert purposes == {"lightweight": ["block"], "cluster": ["summary"], "forget": []}


def test_clusters_without_a_summary_are_not_asked_about():
    found = wanted(state(), summarised=("near_duplicates",), core_blocks=False)
    assert found["purpose"].to_list() == ["summary"]


def test_a_summary_that_is_live_is_not_asked_about_again():
    clusters, members, memories, scored, enrichment = state()
    first = wanted((clusters, members, memories, scored, enrichment), core_blocks=False)
    made = summarising.summarise(
        clusters, members, memories, scored, enrichment, EMPTY, Policy(summaries="all"), plan_id="plan"
    )
    standing = pl.concat(
        [
            memories,
            frames.memories(
                {"memory_id": row["summary_id"], "kind": row["kind"], "content": row["content"]}
                for row in made.iter_rows(named=True)
            ),
        ]
    )
    assert first.height == 2
    assert wanted((clusters, members, standing, scored, enrichment), core_blocks=False).is_empty()


def test_the_order_of_rows_changes_nothing():
    tables = state()
    expected = wanted(tables)
    shuffled = random.Random(0)
    for _ in range(5):
        mixed = tuple(frame.sample(fraction=1.0, shuffle=True, seed=shuffled.randrange(99)) for frame in tables)
        assert wanted(mixed).equals(expected)


def test_the_memories_of_two_profiles_never_share_a_prompt():
    tables = tuple(
        pl.concat(pair)
        for pair in zip(state(), state(("Q one", "Q two", "Q three", "Q four"), profile="q"), strict=True)
    )
    found = wanted(tables)
    assert all(
        ("Q " in prompt) == (profile == "q") for profile, prompt in found.select("profile_id", "prompt").iter_rows()
    )
    assert found.filter(pl.col("profile_id") == "p").equals(wanted(state()))


def test_the_instant_of_a_run_does_not_change_what_was_asked():
    tables = state()
    policy = Policy(llm_model="m")
    later = model_requests.requests(*tables, policy, as_of=AS_OF + timedelta(days=30))
    assert later.equals(model_requests.requests(*tables, policy, as_of=AS_OF))
