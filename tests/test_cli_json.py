"""The page docs/json.md holds what the commands that use the memory print; for the others see `test_cli.py`."""

import homes
import json_page
import pytest
from commands import as_json

from memory_pipeline import MemoryClient


@pytest.mark.drill
def test_the_page_says_what_the_commands_of_the_memory_print(consolidated, tmp_path):
    home, own = tmp_path / "data", ("-p", "sample-1")
    with homes.copied(consolidated, home) as lake:
        memories = lake.read("memories", profiles=["sample-1"])
        merged = memories.filter(superseded_kind="summary").sort("memory_id").row(0, named=True)
    changed = ("-p", "changed")
    with MemoryClient(home, profile_id="changed") as client:
        updated = client.remember("User works at Siemens in Munich.")
        client.remember("User now works at Bosch in Munich.")
        client.consolidate()
    review = as_json("review", *changed, home=home)
    start = as_json("session-start", merged["content"], *own, "--session", "s1", home=home)
    assert start["answer"]["recalled"]
    real = {
        "recall": [as_json("recall", merged["content"], *own, home=home)],
        "digest": [as_json("digest", *changed, home=home)],
        "session-start": [start],
        "get, list": [as_json("get", merged["memory_id"], *own, home=home), *as_json("list", *own, home=home)],
        "update, protect, restore, feedback": [
            as_json("protect", merged["memory_id"], *own, home=home),
            as_json("restore", merged["memory_id"], *own, home=home),
        ],
        "correct": [as_json("correct", updated, "User works for himself now.", *changed, home=home)],
        "review": [review],
        "resolve": [as_json("resolve", review["pairs"][0]["pair_id"], "none", *changed, home=home)],
        "end-session": [as_json("end-session", "s1", *own, home=home)],
        "tick": [as_json("tick", *own, home=home)],
        "erase --dry-run": [as_json("erase", merged["memory_id"], *own, "--dry-run", home=home)],
        "erase": [as_json("erase", merged["memory_id"], *own, "--yes", home=home)],
    }
    assert set(real) == set(json_page.MEMORY)
    json_page.agrees(real)
