"""How much time and memory imports take: a large export of chats, and ten thousand notes. For `make drill`."""

import json
import random
import subprocess
import sys
import zipfile

import pytest
from commands import COMMAND, environment

WORDS = [f"word{number}" for number in range(5_000)]
MOST_BYTES = 500 * 2**20
MOST_SECONDS = 60


def conversation(number, chance):
    """A conversation of 60 messages, some 70 kB."""
    parent = "root"
    nodes = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    for index in range(60):
        key, role = f"{number}-{index}", "assistant" if index % 2 else "user"
        content = {"content_type": "text", "parts": [" ".join(chance.choices(WORDS, k=150 if index % 2 else 40))]}
        message = {"id": key, "author": {"role": role}, "create_time": 1.7e9 + index, "content": content}
        nodes[key] = {"id": key, "parent": parent, "children": [], "message": message | {"recipient": "all"}}
        nodes[parent]["children"].append(key)
        parent = key
    return {"id": f"c{number}", "create_time": 1.7e9, "mapping": nodes, "current_node": parent}


def imported(home, *args):
    """Import in a process of its own; return the counts, and the processor seconds and bytes that it took."""
    code = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, check=True); "
    code += "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(done.stdout.decode()); "
    code += "print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, COMMAND, "--home", home, "import", *args, "--json"],
        capture_output=True, check=True, encoding="utf-8", env=environment(),
    )  # fmt: skip
    seconds, most = map(float, done.stderr.split())
    (counts,) = json.loads(done.stdout).values()
    return counts, seconds, most


@pytest.mark.drill
def test_an_export_of_200_megabytes_streams(tmp_path):
    chance, size, number = random.Random(1), 0, 0
    with (
        zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("conversations.json", "w") as file,
    ):
        while size < 200 * 2**20:
            size += file.write((b"," if number else b"[") + json.dumps(conversation(number, chance)).encode())
            number += 1
        file.write(b"]")
    counts, _, most = imported(tmp_path / "home", "chatgpt", tmp_path / "export.zip")
    assert counts["accepted"] == number * 32
    assert most <= MOST_BYTES


@pytest.mark.drill
def test_ten_thousand_notes_are_imported_within_a_minute(tmp_path):
    chance = random.Random(1)
    for number in range(10_000):
        path = tmp_path / "notes" / str(number % 100) / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = " ".join(chance.choices(WORDS, k=40))
        path.write_text(
            f"---\nname: n{number}\ndescription: d\ntype: project\n---\n\n{text} [[n{number // 2}]]\n", "utf-8"
        )
    for accepted in (19_999, 0):
        counts, seconds, most = imported(tmp_path / "home", "markdown", tmp_path / "notes")
        assert counts["accepted"] == accepted
        assert seconds <= MOST_SECONDS
        assert most <= MOST_BYTES
