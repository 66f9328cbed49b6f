"""Consolidation in cognitive-memory destroys nothing: originals stay linked, are found by id, and can come back."""

from datetime import timedelta

import homes
import polars as pl
import pytest

from memory_pipeline.ledger.event import parse
from memory_pipeline.recall.client.explain import explain
from memory_pipeline.runs import undo

DAY = timedelta(days=1)
TEXTS = [f"Anna went hiking near the old mill on {day} May" for day in (3, 4, 5, 6, 7)]


def stored(number, text):
    event = {"event_type": "memory.stored", "memory_id": f"m{number}", "profile_id": "p", "payload": {"content": text}}
    event |= {"event_id": f"event {number}", "occurred_at": homes.NIGHT - 200 * DAY + number * timedelta(minutes=1)}
    return parse(event, recorded_at=homes.NIGHT, origin="test")


@pytest.fixture(scope="module")
def consolidated(tmp_path_factory):
    """A store after a night; the last test undoes it."""
    home = tmp_path_factory.mktemp("home")
    told = [stored(number, text) for number, text in enumerate(TEXTS)]
    with homes.filled(home, told) as lake:
        homes.night(lake, policy=homes.settings(home, preset="cognitive"))
        yield lake


def summary(lake):
    return lake.read("memories").filter(kind="consolidation").row(0, named=True)


def test_a_consolidation_is_linked_to_its_originals_which_go_cold(consolidated):
    made = summary(consolidated)
    edges = consolidated.read("association_edges").filter(edge_type="SUMMARIZES")
    assert edges.select("source", "target", "kind", "weight").sort("target").rows() == [
        (made["memory_id"], f"m{number}", "consolidation", 0.8) for number in range(5)
    ]
    originals = consolidated.read("memories").filter(kind="original").sort("memory_id")
    assert set(originals["lifecycle"]) == {"cold"}
    assert set(originals["superseded_by"]) == {made["memory_id"]}
    assert originals["content"].to_list() == TEXTS
    assert made["content"] == f"Summary: {' | '.join(TEXTS)}"
    assert made["lifecycle"] == "active"


def test_an_original_is_found_by_its_id(consolidated):
    found = explain(consolidated, "m3").to_dict()
    assert found["memory"]["content"] == TEXTS[3]


def test_an_undone_consolidation_leaves_the_originals_as_they_were(consolidated):
    made = summary(consolidated)
    undo.undo(consolidated, made["memory_id"], now=homes.NIGHT + DAY)
    back = consolidated.read("memories")
    assert back.select("memory_id", "lifecycle").sort("memory_id").rows() == [(f"m{n}", "active") for n in range(5)]
    assert back["superseded_by"].is_null().all()
    assert consolidated.read("association_edges").filter(pl.col("edge_type") == "SUMMARIZES").is_empty()
