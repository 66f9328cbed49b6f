"""What the client returns prints as a few lines that a person reads, and the package names what it offers."""

import pytest

import memory_pipeline
from memory_pipeline import MemoryClient

SHORT = 40
"""Lines that a printed result has at most."""


def test_the_package_lists_what_it_offers_and_nothing_else():
    assert dir(memory_pipeline) == sorted(memory_pipeline.__all__)


def test_a_list_of_memories_prints_a_line_each_and_is_a_list(tmp_path):
    with MemoryClient(tmp_path) as memory:
        memory.remember_many({"text": f"Shelf {shelf} holds paint.", "memory_id": f"m{shelf}"} for shelf in range(200))
        few, many, none = memory.list(limit=2), memory.list(limit=200), memory.list({"speaker": "Bo"})
    day = f"{few[0].created_at:%Y-%m-%d}"
    assert str(few).splitlines() == [
        "2 memories", *(f"  [{day}] Shelf {one.memory_id[1:]} holds paint. in use {one.memory_id}" for one in few)
    ]  # fmt: skip
    assert few == [*few]
    assert (str(none), none) == ("0 memories", [])
    assert len(str(many).splitlines()) < 100
    assert str(many).endswith("print them one by one")


@pytest.mark.drill
def test_results_print_as_a_few_lines(tmp_path):
    with MemoryClient(tmp_path / "data", profile_id="ana") as memory:
        tea = memory.remember("Ana drinks tea in the morning.", occurred_at="2026-01-02")
        memory.remember("Ana drinks tea in the morning.", occurred_at="2026-01-05")
        stored = memory.remember_checked("Ana drinks coffee in the morning.")
        answer = memory.recall("What does Ana drink?")
        planned = memory.consolidate(dry_run=True)
        done = memory.consolidate()
        results = [
            answer, answer[0], memory.get(tea), stored, planned, done, memory.review(), memory.session_start("tea"),
            memory.explain(tea), memory.erase(tea), *memory.core_memory(), *stored.likely,
        ]  # fmt: skip
    assert repr(memory) == f"MemoryClient({str(tmp_path / 'data')!r}, profile_id='ana')"
    for result in results:
        assert str(result) == repr(result)
        assert 1 <= len(str(result).splitlines()) <= SHORT
        assert "namespace" not in str(result)
        assert "datetime" not in str(result)
    assert str(answer).startswith("3 memories for 'What does Ana drink?', as of ")
    assert "- [2026-01-02] Ana drinks tea in the morning." in str(answer)
    assert str(results[2]) == f"[2026-01-02] Ana drinks tea in the morning. archived {tea}"
    assert str(stored).startswith(f"stored as {stored.memory_id}")
    assert str(planned).startswith("plan of full, nothing written, as of ")
    assert str(done).startswith(f"run {done.run_id} of full, as of ")
    assert "2 repeats -> 1" in str(planned)
    assert planned.told() == done.told()
