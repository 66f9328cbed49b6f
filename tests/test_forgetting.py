import frames
import polars as pl
import pytest
from frames import AS_OF, ago
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from memory_pipeline.consolidation import forgetting, scoring
from memory_pipeline.lake.schemas import TABLES
from memory_pipeline.settings import Policy

FORGETFUL = Policy(archive_threshold=0.2, delete_threshold=0.05)


def selected(memories, policy=FORGETFUL, summaries=()):
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="plan")
    return forgetting.select(scored, memories, frames.summaries(summaries), policy, plan_id="plan")


def actions(archived):
    return dict(archived.select("memory_id", "action").rows())


def test_what_is_old_is_archived_what_is_older_deleted_and_what_is_protected_kept():
    memories = frames.memories(
        [
            {"memory_id": "fresh", "last_accessed_at": AS_OF},
            {"memory_id": "fading", "last_accessed_at": ago(15)},
            {"memory_id": "gone", "last_accessed_at": None},
            {"memory_id": "kept", "protected": True},
            {"memory_id": "away", "lifecycle": "archived"},
        ]
    )
    archived = selected(memories)
    assert actions(archived) == {"fading": "archive", "gone": "delete"}
    assert archived["rule"].to_list() == ["archive_threshold", "delete_threshold"]
    assert archived["threshold"].to_list() == [0.2, 0.05]
    assert (archived["strength"] < archived["threshold"]).all()
    assert set(archived["plan_id"]) == {"plan"}


def test_a_reason_is_a_sentence_with_the_numbers():
    memories = frames.memories([{"confidence": 0.8, "importance_given": 0.25}])
    reason = selected(memories)["reason"].item()
    assert reason == (
        "Relevance 0.0017 is below the delete threshold 0.05: 100.0 days old, 100.0 days since the last access, "
        "importance 0.25, confidence 0.8, 0 neighbours."
    )


def test_thresholds_are_strict_and_zero_switches_them_off():
    memories = frames.memories([{"memory_id": "m", "last_accessed_at": ago(15)}])
    relevance = selected(memories, Policy(archive_threshold=1.0))["strength"].item()
    assert selected(memories, Policy(archive_threshold=relevance)).is_empty()
    assert selected(memories, Policy(delete_threshold=relevance)).is_empty()
    assert selected(memories, Policy()).is_empty()


def test_members_of_a_superseding_summary_give_way_whatever_their_strength():
    memories = frames.memories(
        [
            {"memory_id": "strong", "importance_given": 0.9, "created_at": ago(1)},
            {"memory_id": "weak"},
            {"memory_id": "decision", "memory_type": "Decision"},
            {"memory_id": "flagged", "protected": True},
            {"memory_id": "core", "category": "core"},
            {"memory_id": "outside", "last_accessed_at": AS_OF},
        ]
    )
    members = sorted(set(memories["memory_id"]) - {"outside"})
    archived = selected(memories, summaries=[{"summary_id": "s", "members": members}])
    assert actions(archived) == dict.fromkeys(["strong", "weak", "decision"], "supersede")
    assert set(archived["target_id"]) == {"s"}
    assert archived["reason"][0] == "Summary s takes the place of this memory and 4 others."
    assert archived["threshold"].null_count() == 3


def test_a_policy_that_does_not_protect_flags_or_core_supersedes_them():
    memories = frames.memories([{"memory_id": "flagged", "protected": True}, {"memory_id": "core", "category": "core"}])
    summary = {"summary_id": "s", "members": ["core", "flagged"]}
    policy = Policy(protect_flagged=False, protect_core=False)
    assert actions(selected(memories, policy, [summary])) == {"core": "supersede", "flagged": "supersede"}


def test_members_stay_when_their_summary_does_not_supersede():
    memories = frames.memories([{"memory_id": "a", "last_accessed_at": AS_OF}])
    assert selected(memories, summaries=[{"summary_id": "s", "members": ["a"], "supersedes": False}]).is_empty()


def test_a_grown_group_moves_its_members_to_the_new_summary_and_an_unchanged_one_proposes_nothing():
    covered = {"lifecycle": "archived", "superseded_by": "old", "superseded_kind": "summary"}
    memories = frames.memories(
        [
            {"memory_id": "a", **covered},
            {"memory_id": "b", "last_accessed_at": AS_OF},
            {"memory_id": "gone", **covered, "lifecycle": "deleted"},
        ]
    )
    grown = selected(memories, summaries=[{"summary_id": "new", "members": ["a", "b", "gone"]}])
    assert actions(grown) == {"a": "supersede", "b": "supersede"}
    assert grown["strength"].is_null().to_list() == [True, False]
    assert selected(memories, summaries=[{"summary_id": "old", "members": ["a"]}]).is_empty()


def test_a_memory_has_one_row_and_supersession_goes_before_forgetting():
    memories = frames.memories([{"memory_id": "a"}, {"memory_id": "b"}])
    summaries = [{"summary_id": name, "members": ["a"]} for name in ("t", "s")]
    archived = selected(memories, summaries=summaries)
    assert archived.select("memory_id", "action", "target_id").rows() == [
        ("a", "supersede", "s"),
        ("b", "delete", None),
    ]


def test_a_summary_that_stands_for_others_is_never_forgotten():
    memories = frames.memories(
        [
            {"memory_id": "s", "kind": "compression"},
            {"memory_id": "a", "lifecycle": "archived", "superseded_by": "s", "superseded_kind": "summary"},
        ]
    )
    assert selected(memories).is_empty()


@pytest.mark.parametrize("members", [["a"], ["unheard of"]])
def test_a_summary_of_one_profile_touches_no_memory_of_another(members):
    memories = frames.memories([{"memory_id": "a", "profile_id": "q", "last_accessed_at": AS_OF}])
    assert selected(memories, summaries=[{"summary_id": "s", "members": members}]).is_empty()


@given(
    st.lists(st.tuples(st.floats(0, 300), st.floats(0, 1), st.booleans()), max_size=12),
    st.floats(0, 1),
    st.floats(0, 1),
    st.randoms(),
)
def test_no_protected_memory_is_forgotten_and_order_does_not_matter(rows, archive, delete, random):
    memories = frames.memories(
        [
            {"last_accessed_at": ago(days), "importance_given": value, "protected": protected}
            for days, value, protected in rows
        ]
    )
    policy = Policy(archive_threshold=archive, delete_threshold=delete)
    archived = selected(memories, policy)
    scored = scoring.score(memories, frames.importance(memories), frames.edges([]), policy, as_of=AS_OF, plan_id="")
    protected = scored.filter("is_protected").select("memory_id")
    assert archived.join(protected, on="memory_id", how="semi").is_empty()
    assert TABLES["archived_set"].violations(archived).is_empty()
    free = scored.filter(~pl.col("is_protected") & (pl.col("relevance") < max(archive, delete)))
    assert set(archived["memory_id"]) == set(free["memory_id"])
    places = list(range(len(memories)))
    random.shuffle(places)
    assert_frame_equal(selected(memories[places], policy), archived, check_exact=True)
