"""The sample generator: the same bytes for the same arguments, and stories that hold what they promise."""

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import sample
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from memory_pipeline.interop.importing import ImportReport, import_events
from memory_pipeline.interop.jsonl import events as read
from memory_pipeline.ledger.event import parse
from memory_pipeline.ledger.ledger import Ledger
from memory_pipeline.text.embed.embedding import embedder

NOW = datetime(2026, 12, 1, tzinfo=UTC)
GOLDEN = "be1ab3bd8bc6457179a30de19e41023da38fbfcb6702e44122526c4fade88904"
TRUTH = "66106fbcd2fda480546d98f35052a6a7ab2d6774490045492f0dd153ac5263bd"


class Sample(NamedTuple):
    path: Path
    events: list[dict[str, Any]]
    truths: list[dict[str, Any]]


@pytest.fixture(scope="module")
def thousand(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample") / "sample.jsonl"
    count = sample.write(path, profiles=2, memories=1000, days=30, seed=7)
    said, truths = (
        [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        for file in (path, path.with_name("sample.truth.jsonl"))
    )
    assert count == len(said)
    return Sample(path, said, truths)


def stored(thousand, profile="sample-1"):
    return {
        event["memory_id"]: event
        for event in thousand.events
        if event["event_type"] == "memory.stored" and event["profile_id"] == profile
    }


def test_a_seed_gives_the_same_bytes_for_ever(thousand):
    truth = thousand.path.with_name("sample.truth.jsonl")
    assert hashlib.sha256(thousand.path.read_bytes()).hexdigest() == GOLDEN
    assert hashlib.sha256(truth.read_bytes()).hexdigest() == TRUTH


def test_another_seed_length_or_start_makes_other_events():
    arguments = {"profiles": 1, "memories": 20, "days": 3, "seed": 1}
    ids = [
        {event["event_id"] for event in sample.generate(**arguments | change)}
        for change in ({}, {"seed": 2}, {"memories": 21}, {"days": 4}, {"start": datetime(2025, 1, 1, tzinfo=UTC)})
    ]
    assert len(set.union(*ids)) == sum(map(len, ids))


def test_every_event_is_taken_and_each_profile_has_its_memories(thousand, tmp_path):
    with Ledger.at(tmp_path) as ledger:
        report = import_events(ledger, read(thousand.path, recorded_at=NOW))
    assert report == ImportReport(accepted=len(thousand.events))
    assert Counter(e["profile_id"] for e in thousand.events if e["event_type"] == "memory.stored") == {
        "sample-1": 1000,
        "sample-2": 1000,
    }
    assert {event["event_type"] for event in thousand.events} == {
        "memory.stored", "memory.accessed", "memory.updated", "link.asserted", "feedback.given", "session.started",
        "session.ended",
    }  # fmt: skip


def test_time_runs_forward_within_a_profile_and_within_its_days(thousand):
    for profile in ("sample-1", "sample-2"):
        times = [datetime.fromisoformat(e["occurred_at"]) for e in thousand.events if e["profile_id"] == profile]
        assert all(one <= next_one for one, next_one in pairwise(times))
        assert times[0] >= sample.START
        assert sample.START + timedelta(days=28) < times[-1] <= sample.START + timedelta(days=30)


def test_what_is_recalled_linked_or_caused_was_stored_before(thousand):
    known: set[tuple[str, str]] = set()
    for event in thousand.events:
        profile, payload = event["profile_id"], event["payload"]
        named = [*payload.get("memory_ids", ()), payload.get("target_id"), event.get("parent_event_id")]
        if event["event_type"] == "memory.stored":
            known |= {(profile, event["memory_id"]), (profile, event["event_id"])}
        elif "memory_id" in event:
            named.append(event["memory_id"])
        assert all((profile, name) in known for name in named if name is not None)


def test_the_truth_names_memories_and_never_stands_in_the_events(thousand):
    for truth in thousand.truths:
        assert truth["memory_ids"] == sorted(truth["memory_ids"])
        assert len(truth["memory_ids"]) == len(set(truth["memory_ids"])) >= 2
        assert set(truth["memory_ids"]) <= stored(thousand, truth["profile_id"]).keys()
    counts = Counter(truth["kind"] for truth in thousand.truths)
    assert counts == {
        "duplicate": 60, "distinct": 30, "superseded": 40, "contradiction": 20, "chain": 30, "topic": 24,
    }  # fmt: skip
    assert not any(kind in event for event in thousand.events for kind in ("kind", "truth"))


def test_stories_tell_what_their_truth_says(thousand):
    for truth in thousand.truths:
        memories = stored(thousand, truth["profile_id"])
        told = [memories[name] for name in truth["memory_ids"]]
        contents = [event["payload"]["content"] for event in told]
        assert len(set(contents)) == len(contents)
        if truth["kind"] == "chain":
            assert [event.get("parent_event_id") for event in told[1:]] == [event["event_id"] for event in told[:-1]]
        if truth["kind"] == "topic":
            assert len(told) >= 5


def test_most_memories_come_without_importance_confidence_and_tags(thousand):
    for field in (
        "importance",
        "importance_hint",
        "confidence",
        "tags",
        "memory_type",
        "category",
        "metadata",
        "source",
    ):
        share = sum(field in event["payload"] for event in stored(thousand).values()) / 1000
        assert 0.01 < share < 0.3


def test_memories_spread_over_many_subjects_with_real_groups_among_them(thousand):
    memories = stored(thousand)
    places = {name: index for index, name in enumerate(memories)}
    vectors = embedder("hashing").embed([event["payload"]["content"] for event in memories.values()])
    similar = np.triu(vectors @ vectors.T, 1)
    groups: dict[str, set[tuple[int, int]]] = {}
    for truth in thousand.truths:
        if truth["profile_id"] == "sample-1":
            ids = sorted(places[name] for name in truth["memory_ids"])
            groups.setdefault(truth["kind"], set()).update((a, b) for a in ids for b in ids if a < b)
    related = set.union(*groups.values())
    near = set(zip(*np.nonzero(similar >= 0.85), strict=True))
    assert len(near - related) <= 3
    assert len(groups["duplicate"] & near) > 0.8 * len(groups["duplicate"])
    assert len(groups["distinct"] & near) > 0.5 * len(groups["distinct"])
    left, right = np.nonzero(similar >= 0.75)
    count, labels = connected_components(coo_array((np.ones(len(left)), (left, right)), shape=similar.shape))
    sizes = np.bincount(labels)
    assert count > 700
    assert sizes.max() <= 10
    assert (sizes >= 5).sum() >= 10


def test_a_long_sample_streams():
    events = sample.generate(profiles=1, memories=10**9, days=365, seed=1)
    assert [event["event_type"] for event in islice(events, 2)] == ["session.started", "memory.stored"]


@pytest.mark.parametrize("name", ["profiles", "memories", "days"])
def test_nothing_is_refused_at_once(name):
    with pytest.raises(ValueError, match=f"{name} is 0"):
        sample.generate(**{"profiles": 1, "memories": 1, "days": 1, "seed": 1} | {name: 0})


@given(
    profiles=st.integers(1, 3),
    memories=st.integers(1, 60),
    days=st.floats(0.01, 400),
    seed=st.integers(-(2**40), 2**40),
)
def test_any_size_gives_valid_events_in_order(profiles, memories, days, seed):
    events = list(sample.generate(profiles=profiles, memories=memories, days=days, seed=seed))
    read = [parse(event, recorded_at=NOW + timedelta(400), origin="sample") for event in events]
    assert len({event.event_id for event in read}) == len(read)
    assert sum(event.event_type == "memory.stored" for event in read) == profiles * memories
    assert all(a.occurred_at <= b.occurred_at for a, b in pairwise(read) if a.profile_id == b.profile_id)
