"""Long and odd texts cost no more than their length, and what exceeds a limit is refused with its name."""

import resource
import time
from datetime import timedelta

import homes
import pytest
from serving import bearer
from starlette.testclient import TestClient

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation.groups.strategies.near_duplicates import LONGEST_GUARDED
from memory_pipeline.interop.importing import import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.http_server import application
from memory_pipeline.text.compare import merge_guard

WORDS = ("the", "old", "valve", "pump", "gauge", "hose", "drains", "slowly", "beside", "a", "boiler", "and", "nobody")
CPU_SECONDS = 8.0
"""Far more than a run over these texts takes, far less than one with a quadratic rule."""
MEGABYTE = 1_000_000


def stored(memory_id, content, hours):
    at = homes.START + timedelta(hours=hours)
    payload = {"content": content}
    event = {"event_type": "memory.stored", "memory_id": memory_id, "occurred_at": at.isoformat(), "payload": payload}
    return parse(event, recorded_at=homes.RECORDED, origin="test", future=None)


def clause(words, shift=0):
    return " ".join(WORDS[(place * 7 + place // 13 + shift) % len(WORDS)] for place in range(words))


def log(lines, shift=0):
    return "\n".join(
        f"2026-02-{1 + line % 28:02d} 07:{line % 60:02d} WARN {clause(6, line + shift)} number={line * 7919}"
        for line in range(lines)
    )


def prose(sentences, shift=0):
    return " ".join(f"Pump {place} leaked because {clause(7, place + shift)}." for place in range(sentences))


TEXTS = {
    "one clause without punctuation": [clause(5_500)],
    "two pasted logs": [log(700), log(699) + "\n" + log(1, 5)],
    "no spaces": ["abcdefghij" * 100_000],
    "repeated clauses": ["The pump drains and the gauge does not, " * 20_000],
    "digits": ["7" * MEGABYTE, "1.2-3:4/" * 20_000],
    "marks": ["\"'([" * 20_000, " " * MEGABYTE + "pump"],
    "names": ["Boiler Gauge Hose " * 5_000],
    "sentences": ["The pump drains. " * 16_000, "The pump drains."],
    "near copies of long prose": [prose(600) + f" Valve {number} is new." for number in range(5)],
    "no spaces in its script": ["水泵漏水但是没有人检查" * 10_000],
}


@pytest.mark.parametrize("names", [list(TEXTS)[:5], list(TEXTS)[5:]], ids=" and ".join)
def test_a_run_and_a_recall_over_long_texts_are_bounded(tmp_path, names, monkeypatch):
    guarded = []
    disagreements = merge_guard.disagreements

    def seen(pairs):
        guarded.append(pairs["left_content"].str.len_chars().max() or 0)
        return disagreements(pairs)

    monkeypatch.setattr(merge_guard, "disagreements", seen)
    texts = [text for name in names for text in TEXTS[name]]
    events = [stored(f"long {place}", text, place) for place, text in enumerate(texts)]
    events += [stored("short", "The boiler is in the cellar.", 50)]
    started, peak = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Lake(tmp_path) as lake:
        import_events(lake.ledger, events)
        tables = homes.night(lake)
        assert tables["memories"].height >= len(events)
    with MemoryClient(tmp_path) as client:
        assert "short" in {memory.memory_id for memory in client.recall("where is the boiler?")}
    assert time.process_time() - started < CPU_SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak < MEGABYTE, "in KiB: a gigabyte"
    assert max(guarded, default=0) <= LONGEST_GUARDED


def test_long_copies_are_merged_and_long_near_copies_are_not(tmp_path):
    copied, near = prose(150), prose(150, 3)
    events = [
        stored("a", copied, 1),
        stored("b", copied, 2),
        stored("c", near, 3),
        stored("d", near + " And so on.", 4),
    ]
    with Lake(tmp_path) as lake:
        import_events(lake.ledger, events)
        plan = homes.night(lake)["consolidation_plan"]
    assert set(plan.filter(action="supersede")["memory_id"]) == {"a", "b"}


def limited(home, **limits):
    (home / "memory_pipeline.toml").write_text("".join(f"{name} = {value}\n" for name, value in limits.items()))
    return home


def test_texts_and_batches_over_the_limit_are_refused_with_the_setting_to_change(tmp_path):
    with MemoryClient(limited(tmp_path, max_text_characters=100, max_batch=3)) as client:
        client.remember_many(["x" * 100] * 3)
        for call in (
            lambda: client.remember("x" * 101),
            lambda: client.recall("x" * 101),
            lambda: client.remember("short", metadata={"a": "x" * 101}),
        ):
            with pytest.raises(ValueError, match="characters, more than max_text_characters = 100"):
                call()
        with pytest.raises(ValueError, match="more than max_batch = 3 memories"):
            client.remember_many(f"memory {number}" for number in range(1_000_000))
        assert len(client.list()) == 3


def test_an_import_refuses_a_long_text_alone(tmp_path):
    with Lake(tmp_path) as lake:
        events = [stored("a", "x" * 101, 1), stored("b", "short", 2)]
        report = import_events(lake.ledger, events, most=100)
        assert (report.accepted, report.dead_letters) == (1, 1)
        assert "payload.content has 101 characters" in lake.ledger.dead_letters()["reason"][0]


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_refused_before_it_is_read(tmp_path, declared):
    token, _ = auth_tokens.create(limited(tmp_path, max_body_bytes=2_000), Role.AGENT, profile_id="p")
    app = application(tmp_path, Runs(tmp_path))
    with TestClient(app, "http://localhost", headers=bearer(token)) as client:
        answer = client.post("/memories", content=b"x" * 100_000 if declared else iter([b"x" * 100] * 1_000))
        assert answer.status_code == 413
        assert "the body has more than max_body_bytes = 2000" in answer.json()["detail"]
        assert client.post("/memories", json={"text": "short"}).status_code == 201
