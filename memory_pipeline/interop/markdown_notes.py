"""The syntax of memories in files of Markdown: a whole file, a list item or a paragraph (`docs/formats.md`).

Writing and reading are exact: what is read is what was written, character for character. Not here: which files a folder
has (`exports/markdown.py`), and files that others wrote.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import yaml

from memory_pipeline.ledger.payloads import written

READ_ONLY: Final = frozenset({"name", "description", "inferred", "kind", "members", "outdated"})
"""Keys that describe a memory to readers; imports ignore them."""
INDEX_BEGINS: Final = "<!-- index by memory-pipeline -->"
"""Line before what an import of the index skips."""
INDEX_ENDS: Final = "<!-- end of index -->"
"""Line after it."""

_FENCE: Final = "---\n"
_ITEM: Final = "- "
_MARK: Final = '<!-- {"memory_id":'
_MARKER: Final = re.compile(r" {0,3}(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
"""What a list item begins with."""
_END: Final = re.compile(r'<!-- (\{"memory_id":.*\}) -->')
_ESCAPED: Final = re.compile(rf"^(\\*){re.escape(_MARK)}", re.MULTILINE)
_NOT_IN_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WHOLE_EXPONENT: Final = re.compile(r"^(-?\d+)(e[+-]\d+)$")


@dataclass(frozen=True)
class Note:
    """A memory in a file."""

    fields: Mapping[str, Any]
    """`memory_id` and the fields of `memory.stored` and its event, by name, without the text."""
    content: str
    start: int
    """Where it begins in the file's text, in characters."""
    end: int
    """Where it ends."""


def note(fields: Mapping[str, Any], content: str) -> str:
    """Return the text of a file that is one memory: its id and other front matter in order, JSON values or instants."""
    return f"{front_matter(fields)}\n{content}\n"


def front_matter(fields: Mapping[str, Any]) -> str:
    """Return front matter: a key and a JSON value per line, readable as YAML too."""
    return "".join([_FENCE, *(f"{name}: {_json(value)}\n" for name, value in fields.items()), _FENCE])


def item(fields: Mapping[str, Any], content: str, *, marker: str = _ITEM) -> str:
    """Return a memory as a list item; `fields` begin with `memory_id`, and `marker` ends with a space."""
    indent = " " * len(marker)
    lines = _ESCAPED.sub(r"\\\g<0>", content).split("\n")
    text = "\n".join(indent + line if line else "" for line in lines).removeprefix(indent)
    return f"{marker}{text}\n{indent}{_comment(fields)}\n"


def like(line: str, fields: Mapping[str, Any], content: str) -> str:
    """Return a memory in the shape of what begins with a line: an item with its marker, or a paragraph.

    A text that cannot be a paragraph, such as one of several, is an item.
    """
    if marker := _MARKER.match(line):
        return item(fields, content, marker=f"{marker[0].rstrip()} ")
    paragraph = "\n".join([_ESCAPED.sub(r"\\\g<0>", content), _comment(fields), ""])
    return paragraph if [note.content for note in read(paragraph)] == [content] else item(fields, content)


def _comment(fields: Mapping[str, Any]) -> str:
    described = _json(fields).replace(">", r"\u003e")
    return f"<!-- {described} -->"


def read(text: str) -> list[Note]:
    """Return the memories with an id in the text of a file, in order; none if no export wrote it.

    An item whose comment is damaged is not among them, nor is a note whose front matter lacks an id.
    """
    header, body = read_front_matter(text)
    if isinstance(header.get("memory_id"), str):
        content = text[body:].removeprefix("\n").removesuffix("\n")
        return [Note(header, content, 0, len(text))] if content.strip() else []
    return _items(text, body)


def read_front_matter(text: str) -> tuple[dict[str, Any], int]:
    """Return the front matter, as it is written here or edited in YAML, and where the rest of the text begins.

    That place is in characters; 0, and no values, without front matter.
    """
    if not text.startswith(_FENCE) or (end := text.find("\n" + _FENCE, len(_FENCE) - 1)) < 0:
        return {}, 0
    body = end + 1 + len(_FENCE)
    lines = [line.partition(": ") for line in text[len(_FENCE) : end].splitlines()]
    try:
        return {name: json.loads(value) for name, _, value in lines}, body
    except (ValueError, RecursionError):
        return _edited(text[len(_FENCE) : end]), body


def _edited(header: str) -> dict[str, Any]:
    """Return the values of front matter that others wrote, in YAML; empty where it is none."""
    try:
        values = yaml.safe_load(header)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return {name: value for name, value in values.items() if isinstance(name, str)} if isinstance(values, dict) else {}


def _items(text: str, start: int) -> list[Note]:
    found, begun, lines, place = list[Note](), None, list[str](), start
    indent = ""  # of what follows the first line; none in a paragraph
    for line in text[start:].split("\n"):
        after = min(place + len(line) + 1, len(text))
        goes_on = begun is not None and (line.startswith(indent) if line.strip() else bool(indent))
        if begun is not None and goes_on and (ending := _END.fullmatch(line.removeprefix(indent))):
            content = "\n".join(lines)
            content = _ESCAPED.sub(lambda match: match[0].removeprefix("\\"), content)
            if (fields := _object(ending[1])) and content.strip():
                found.append(Note(fields, content, begun, after))
            begun = None
        elif (marker := _MARKER.match(line)) and not (goes_on and indent):
            begun, lines, indent = place, [line[marker.end() :]], " " * marker.end()
        elif goes_on:
            lines.append(line.removeprefix(indent))
        else:
            begun, lines, indent = (place, [line], "") if line.strip() and not line.startswith("#") else (None, [], "")
        place = after
    return found


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("memory_id"), str) else None


def _json(value: Any) -> str:
    """Return a value as JSON in one line that means the same in YAML 1.1."""
    match value:
        case datetime():
            return json.dumps(written(value))
        case str():
            return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
        case float():
            return _WHOLE_EXPONENT.sub(r"\1.0\2", repr(value))
        case Mapping():
            return f"{{{', '.join(f'{_json(name)}: {_json(one)}' for name, one in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value)
