"""Exports what a profile remembers as a folder of Markdown (`docs/formats.md`): pure, from tables to files.

Not here: the syntax of a memory (`interop/markdown_notes.py`), and writing the files (`exports/folder.py`).
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.interop import markdown_notes
from memory_pipeline.interop.exports.current import Current, fields, inferred

INDEX: Final = "MEMORY.md"
"""Name of the index."""

_LINES: Final = 200
_BYTES: Final = 25_000
_CORE_SHARE: Final = 0.5
"""Largest share of the index that core memory takes."""
_SHOWN: Final = 120
"""Characters of a memory that its description shows."""
_NAME: Final = 40
"""Characters of a text that a file is named after."""
_DIGITS: Final = 8


def files(current: Current) -> dict[str, str]:
    """Return the text of every file by its path in the folder, the index first.

    Cost: some 20 µs per memory.
    """
    topics = dict(current.topics.select("memory_id", pl.struct("cluster_id", "label")).iter_rows())
    notes, grouped, ranked = dict[str, str](), dict[str, list[dict[str, Any]]](), list[tuple[str, str]]()
    for row in current.memories.iter_rows(named=True):
        topic = topics.get(row["memory_id"])
        if topic is None:
            path = _note_path(row, notes)
            notes[path] = _note(path, row)
            ranked.append((path, row["content"]))
            continue
        if topic["cluster_id"] not in grouped:
            ranked.append((topic["cluster_id"], ""))
        grouped.setdefault(topic["cluster_id"], []).append(row)
    labels = {topic["cluster_id"]: topic["label"] for topic in topics.values()}
    paths = _topic_paths(labels)
    titled = {paths[name]: f"{labels[name]}: {len(rows)} memories" for name, rows in grouped.items()}
    entries = [
        (paths[name], titled[paths[name]]) if name in paths else (name, line_of(content)) for name, content in ranked
    ]
    written = {paths[name]: _topic(labels[name], titled[paths[name]], rows) for name, rows in grouped.items()}
    return {INDEX: _index(current, entries), **dict(sorted((written | notes).items()))}


def note_name(memory_id: str, content: str) -> str:
    """Return the name of a memory's file, without its suffix: the beginning of its text and a hash of its id."""
    return f"{_slug(content)}-{_digest(memory_id)[:_DIGITS]}"


def line_of(text: str) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text[: 4 * _SHOWN].split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1].rstrip() + "…"


def _note_path(row: dict[str, Any], taken: dict[str, str]) -> str:
    path = f"notes/{note_name(row['memory_id'], row['content'])}.md"
    return path if path not in taken else f"notes/{_digest(row['memory_id'])}.md"


def _digest(memory_id: str) -> str:
    return hashlib.sha256(memory_id.encode()).hexdigest()


def _topic_paths(labels: dict[str, str]) -> dict[str, str]:
    """Return the file of each topic: named after its label, and after its members where two labels are equal."""
    paths = dict[str, str]()
    for cluster_id, label in sorted(labels.items()):
        path = f"topics/{_slug(label)}.md"
        paths[cluster_id] = path if path not in paths.values() else f"topics/{_slug(label)}-{cluster_id[:_DIGITS]}.md"
    return paths


def _slug(text: str) -> str:
    """Return the beginning of a text as a name of a file, in any script."""
    words = re.sub(r"[\W_]+", "-", unicodedata.normalize("NFC", text[: 4 * _NAME]).casefold()).strip("-")
    return words[:_NAME].strip("-") or "memory"


def _note(path: str, row: dict[str, Any]) -> str:
    name = path.removeprefix("notes/").removesuffix(".md")
    given = fields(row)
    header = {"memory_id": given.pop("memory_id"), "name": name, "description": line_of(row["content"])}
    return markdown_notes.note(header | given | inferred(row), row["content"])


def _topic(label: str, description: str, rows: Sequence[dict[str, Any]]) -> str:
    header = markdown_notes.front_matter({"name": label, "description": description})
    in_time = sorted(rows, key=lambda row: (row["said_at"] or row["created_at"], row["memory_id"]))
    items = (markdown_notes.item(fields(row) | inferred(row), row["content"]) for row in in_time)
    return f"{header}\n# {line_of(label)}\n\n{''.join(items)}"


def _index(current: Current, entries: Sequence[tuple[str, str]]) -> str:
    """Return the index: core memory, then a line per file, best first, as far as lines and bytes allow."""
    head = [f"# Memory of {line_of(current.profile_id)}", "", markdown_notes.INDEX_BEGINS]
    lines = [*head, *_fitting(head, _core(current.blocks), share=_CORE_SHARE), "## Index"]
    links = [f"- [{_escaped(title, brackets=True)}]({path})" for path, title in entries]
    shown = _fitting([*lines, f"- and {len(links)} more files", markdown_notes.INDEX_ENDS], links)
    more = [f"- and {len(links) - len(shown)} more files"] if len(shown) < len(links) else []
    return "\n".join([*lines, *shown, *more, markdown_notes.INDEX_ENDS, ""])


def _fitting(before: Sequence[str], lines: Sequence[str], *, share: float = 1.0) -> list[str]:
    """Return as many of the lines as fit into a share of the index after the preceding ones."""
    room, left = int(_LINES * share) - len(before), int(_BYTES * share) - sum(len(line.encode()) + 1 for line in before)
    fitting = list[str]()
    for line in lines[:room]:
        left -= len(line.encode()) + 1
        if left < 0:
            break
        fitting.append(line)
    return fitting


def _core(blocks: pl.DataFrame) -> list[str]:
    lines = list[str]()
    for row in blocks.iter_rows(named=True):
        facts = [_escaped(" ".join(fact.split())) for fact in row["content"].split(SEPARATOR) if fact.strip()]
        lines += [f"## {row['block'].replace('_', ' ').capitalize()}", *(f"- {fact}" for fact in facts)]
    return lines


def _escaped(text: str, *, brackets: bool = False) -> str:
    """Return a text that opens no comment and, in a link, closes no bracket."""
    plain = text.replace("<!--", "&lt;!--")
    return plain.replace("[", "\\[").replace("]", "\\]") if brackets else plain
