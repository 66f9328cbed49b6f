"""Long and odd texts cost no more than their length, and what exceeds a limit is refused with its name."""

import resource
import time
from datetime import timedelta
from functools import partial

import homes
import pytest
from reliability import record
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
from memory_pipeline.settings import load
from memory_pipeline.text.compare import merge_guard

WORDS = ("the", "old", "valve", "pump", "gauge", "hose", "drains", "slowly", "beside", "a", "boiler", "and", "nobody")
MEGABYTE = 1_000_000


def stored(memory_id, content, hours):
    at = homes.START + timedelta(hours=hours)
    payload = {"content": content}
    event = {"event_type": "memory.stored", "memory_id": memory_id, "occurred_at": at.isoformat(), "payload": payload}
    return parse(event, recorded_at=homes.RECORDED, origin="test", future=None)


def clause(words, shift=0):
    return " ".join(WORDS[(index * 7 + index // 13 + shift) % len(WORDS)] for index in range(words))


def log(lines, shift=0):
    return "\n".join(
        f"2026-02-{1 + line % 28:02d} 07:{line % 60:02d} WARN {clause(6, line + shift)} number={line * 7919}"
        for line in range(lines)
    )


def prose(sentences, shift=0):
    return " ".join(f"Pump {index} leaked because {clause(7, index + shift)}." for index in range(sentences))


REPEATED = {
    "no spaces": "abcdefghij",
    "repeated clauses": "The pump drains and the gauge does not, ",
    "digits": "7",
    "figures": "1.2-3:4/",
    "quotes": "\"'([",
    "quotes never closed": "\u201c",
    "blanks": " ",
    "names": "Boiler Gauge Hose ",
    "sentences": "The pump drains. ",
    "ellipses": "a\u2026 ",
    "lines": "a\n",
    "no spaces in its script": "水泵漏水但是没有人检查",
    "one clause": clause(10_000) + " ",
    "pasted logs": log(2_000) + "\n",
}
"""What texts are made of, over and over."""


def made(kind, characters):
    return (REPEATED[kind] * (characters // len(REPEATED[kind]) + 1))[: characters - 5] + " pump"


def consolidated(home, texts):
    """Remember texts and one more, consolidate, and ask; returns the CPU seconds of the run and of the recall."""
    events = [stored(f"long {index}", text, index) for index, text in enumerate(texts)]
    events += [stored("short", "The boiler is in the cellar.", 50)]
    with Lake(home) as lake:
        import_events(lake.ledger, events)
        began = time.process_time()
        assert homes.night(lake)["memories"].height >= len(events)
    ran = time.process_time()
    with MemoryClient(home) as client:
        assert "short" in {memory.memory_id for memory in client.recall("where is the boiler?")}
    return ran - began, time.process_time() - ran


@pytest.mark.drill
def test_a_run_takes_texts_of_any_form_and_compares_none_that_are_long_word_by_word(tmp_path, monkeypatch):
    compared = []
    disagreements = merge_guard.disagreements

    def seen(pairs):
        compared.append(pairs["left_content"].str.len_chars().max() or 0)
        return disagreements(pairs)

    monkeypatch.setattr(merge_guard, "disagreements", seen)
    near = [prose(120) + f" Valve {number} is new." for number in range(3)]
    consolidated(tmp_path, [*(made(kind, 2_500) for kind in REPEATED), *near])
    assert max(compared, default=0) <= LONGEST_GUARDED


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    """CPU seconds of a run and a recall whatever the text: the least of three."""
    folder = tmp_path_factory.mktemp("rest")
    return [min(part) for part in zip(*(consolidated(folder / f"{n}", ["A pump."]) for n in range(3)), strict=True)]


@pytest.mark.drill
@pytest.mark.parametrize("kind", REPEATED)
def test_the_time_for_a_text_grows_with_its_length_alone(tmp_path, request, rest, kind):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spent = {}
    for size in (MEGABYTE // 4, MEGABYTE // 2, MEGABYTE):
        both = consolidated(tmp_path / f"{size}", [made(kind, size)])
        spent[size] = [max(0.0, whole - fixed) for whole, fixed in zip(both, rest, strict=True)]
    gigabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MEGABYTE
    figures = {f"CPU s at {size // 1000} kB": f"{ran:.1f} and {asked:.1f}" for size, (ran, asked) in spent.items()}
    record(request, f"run and recall over a text of {kind}", **figures)
    for half, whole in zip(spent[MEGABYTE // 2], spent[MEGABYTE], strict=True):
        assert whole <= 3 * half + 0.5, spent
    if kind in {"no spaces", "repeated clauses", "digits"}:
        assert max(spent[MEGABYTE]) <= 2.0, spent
    assert gigabytes < 1.0


@pytest.mark.drill
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


def test_too_many_tags_of_a_memory_or_of_a_filter_are_refused_with_the_setting_to_change(tmp_path):
    with MemoryClient(limited(tmp_path, max_tags=3)) as client:
        few, many = [f"t{number}" for number in range(3)], [f"t{number}" for number in range(4)]
        kept = client.remember("Drinks tea.", tags=few)
        client.remember("Drinks coffee.", tags=["other"])
        client.remember("Drinks water.")
        for call in (lambda: client.remember("short", tags=many), lambda: client.update(kept, tags=many)):
            with pytest.raises(ValueError, match=r"payload\.tags has 4 tags, more than max_tags = 3; give fewer"):
                call()
        for name in ("tags", "memory_types"):
            for call in (client.list, partial(client.recall, "tea")):
                with pytest.raises(ValueError, match=rf"filters\.{name} has 4 entries, more than max_tags = 3"):
                    call(filters={name: many})
        assert [memory.memory_id for memory in client.list({"tags": ["t2", "none", "t1"]})] == [kept]


def test_an_import_refuses_a_long_text_alone(tmp_path):
    with Lake(tmp_path) as lake:
        events = [stored("a", "x" * 101, 1), stored("b", "short", 2)]
        report = import_events(lake.ledger, events, settings=load(limited(tmp_path, max_text_characters=100)))
        assert (report.accepted, report.dead_letters) == (1, 1)
        assert "payload.content has 101 characters" in lake.ledger.dead_letters()["reason"][0]


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_refused_before_it_is_read(tmp_path, declared):
    token, _ = auth_tokens.create(limited(tmp_path, max_body_bytes=2_000), Role.AGENT, profile_id="p")
    app = application(tmp_path, Runs(tmp_path))
    with TestClient(app, "http://localhost", headers=bearer(token)) as client:
        answer = client.post("/memories", content=b"x" * 100_000 if declared else iter([b"x" * 100] * 1_000))
        assert answer.status_code == 413
        assert "the body exceeds max_body_bytes = 2000" in answer.json()["detail"]
        assert client.post("/memories", json={"text": "short"}).status_code == 201
