"""Which memories no longer speak for the present."""

import frames
import pytest
from frames import ago
from planned import fact_changes

from memory_pipeline.consolidation import currency

MEMORIES = frames.memories(
    [
        {"memory_id": "old", "created_at": ago(9)},
        {"memory_id": "new", "created_at": ago(2)},
        {"memory_id": "closed", "superseded_by": "new", "superseded_kind": "update"},
        {"memory_id": "merged", "superseded_by": "new", "superseded_kind": "summary"},
    ]
)


def ids(frame):
    return sorted(frame["memory_id"])


def test_what_was_closed_and_what_this_run_closes_is_over():
    changes = fact_changes([{"memory_id": "old", "other_id": "new"}])
    assert ids(currency.closed(MEMORIES, changes)) == ["closed", "old"]
    conflict = fact_changes([{"memory_id": "old", "other_id": "new", "relation": "conflict"}])
    assert ids(currency.closed(MEMORIES, conflict)) == ["closed"]


@pytest.mark.parametrize(
    ("edge", "found"),
    [
        ({"source": "new", "target": "old", "edge_type": "MAY_UPDATE"}, ["old"]),
        ({"source": "old", "target": "new", "edge_type": "MAY_UPDATE"}, ["new"]),
        ({"source": "new", "target": "old", "edge_type": "CONTRADICTS", "kind": "conflict"}, ["old"]),
        ({"source": "old", "target": "new", "edge_type": "CONTRADICTS"}, ["old"]),
        ({"source": "new", "target": "old", "edge_type": "CONTRADICTS", "kind": "contrast"}, []),
        ({"source": "new", "target": "old", "edge_type": "MAY_REPEAT"}, []),
        ({"source": "nobody", "target": "old", "edge_type": "MAY_UPDATE"}, []),
    ],
)
def test_the_older_side_of_a_doubt_is_outdated_while_the_newer_exists(edge, found):
    assert ids(currency.outdated(MEMORIES, frames.edges([edge]))) == found


@pytest.mark.parametrize(("lifecycle", "found"), [("archived", ["old"]), ("cold", ["old"]), ("deleted", [])])
def test_an_archived_successor_gives_nothing_back(lifecycle, found):
    memories = frames.memories([{"memory_id": "old", "created_at": ago(9)}, {"memory_id": "n", "lifecycle": lifecycle}])
    assert (
        ids(currency.outdated(memories, frames.edges([{"source": "n", "target": "old", "edge_type": "MAY_UPDATE"}])))
        == found
    )
