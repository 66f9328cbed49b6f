"""What AutoMem deletes is gone from the graph; here the ledger still knows it, so that it can come back."""

from datetime import timedelta

import homes
import polars as pl

from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import undo

DAY = timedelta(days=1)


def told(event_type, memory_id, days, **payload):
    event = {"event_id": f"{event_type} {memory_id}", "event_type": event_type, "memory_id": memory_id}
    event |= {"profile_id": "p", "occurred_at": homes.NIGHT - days * DAY, "session_id": "s", "payload": payload}
    return parse(event, recorded_at=homes.NIGHT, origin="test")


def test_what_is_deleted_has_no_edge_and_no_score_and_can_come_back(tmp_path):
    events = [
        told("memory.stored", "dull", 400, content="A walk in the park", importance=0.1),
        told("memory.stored", "faded", 300, content="We had tea in the garden", importance=0.2),
        told("memory.stored", "kept", 20, content="The harbour opens at eight", importance=0.9),
        told("link.asserted", "dull", 2, target_id="kept", edge_type="RELATES_TO"),
        told("link.asserted", "kept", 2, target_id="faded", edge_type="RELATES_TO"),
    ]
    with homes.filled(tmp_path, events) as lake:
        settings = homes.settings(
            tmp_path, preset="automem", delete_threshold=1e-9, archive_threshold=0.1, max_archived_share=1.0
        )
        homes.night(lake, policy=settings)
        where = dict(lake.read("memories").select("memory_id", "lifecycle").rows())
        assert where == {"dull": "deleted", "faded": "archived", "kept": "active"}
        ends = lake.read("association_edges").select(pl.concat_list("source", "target")).to_series().explode()
        assert set(ends) == {"faded", "kept"}
        assert lake.read("scored_memories")["memory_id"].to_list() == ["kept"]
        undo.undo(lake, "dull", now=homes.NIGHT + DAY)
        back = lake.read("memories").filter(memory_id="dull")
        assert back.select("lifecycle", "content").rows() == [("active", "A walk in the park")]
        assert "dull" in set(lake.read("scored_memories")["memory_id"])
