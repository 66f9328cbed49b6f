"""Models in words: what a field takes, and what was wrong with a value. For reasons of refusal and reference pages.

Here: sentences made from any pydantic model. Not here: the models (`lake/events.py`).
"""

from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from reprlib import Repr
from typing import Any, Final

from pydantic import BaseModel, ValidationError

WHOLE_LETTERS: Final = "whole letters: it holds half of a surrogate pair"

_SHORT: Final = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 2, 60, 30, 60


def shown(value: object) -> str:
    """Return a wrong value as a reason repeats it: at most some 60 characters, whatever its size and depth."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer beyond the digits that Python is willing to write
        return f"a huge {type(value).__name__}"


def nearest(value: object, known: Iterable[str]) -> str:
    """Say which known name a wrong one is closest to, or list them all if none is near, or that there is none."""
    names = [str(name) for name in known]
    if not names:
        return "none is known"
    near = get_close_matches(str(value), names, n=1)
    return f"the nearest known one is {near[0]!r}" if near else f"known are {', '.join(names)}"


def reason(error: ValidationError, model: type[BaseModel], *, prefix: str = "") -> str:
    """Return the first finding of an error of `model` as one sentence: field, value, remedy.

    Args:
        error: what pydantic found.
        model: the model that was checked.
        prefix: path of the model's fields, such as "payload.".
    """
    found = error.errors(include_url=False)[0]
    if not found["loc"]:
        return str(found["ctx"]["error"]) if "ctx" in found else found["msg"]
    name, *inner = found["loc"]
    if name not in model.model_fields:
        rest = f"; anything else belongs into {prefix}metadata" if "metadata" in model.model_fields else ""
        return f"{prefix}{shown(name)} is no known field; {nearest(name, model.model_fields)}{rest}"
    field = model.model_fields[str(name)]
    path = f"{prefix}{name}" + "".join(f"[{place!r}]" for place in inner)
    if found["type"] == "missing":
        meaning = str(field.description)
        return f"{path} is missing; give {meaning[0].lower()}{meaning[1:].rstrip('.')}"
    kind = WHOLE_LETTERS if found["type"] == "string_unicode" else _kinds(model)[str(name)]
    remedy = f"give {kind}" + ("" if field.is_required() else ", or leave it out")
    return f"{path} is {shown(found['input'])}; {remedy}"


def fields_table(model: type[BaseModel], *, filled: Container[str] = ()) -> str:
    """Return a Markdown table of a model's fields, needed ones first: name, what it takes, whether needed, meaning.

    Args:
        model: the model to show.
        filled: required fields that a reader need not give.
    """
    rows = ["| field | takes | needed | meaning |", "|---|---|---|---|"]
    needed = [name for name, field in model.model_fields.items() if field.is_required() and name not in filled]
    for name in [*needed, *(name for name in model.model_fields if name not in needed)]:
        answer = "yes" if name in needed else "no"
        rows.append(f"| `{name}` | {_kinds(model)[name]} | {answer} | {model.model_fields[name].description} |")
    return "\n".join(rows) + "\n"


@cache
def _kinds(model: type[BaseModel]) -> dict[str, str]:
    return {name: _kind(schema) for name, schema in model.model_json_schema()["properties"].items()}


def _kind(schema: Mapping[str, Any]) -> str:
    """Say what a field of this JSON schema takes."""
    schema = next((option for option in schema.get("anyOf", ()) if option.get("type") != "null"), schema)
    kind = "a JSON object"
    match schema:
        case {"type": "array", "items": items}:
            kind = f"a list, each {_kind(items)}"
        case {"type": "number", "minimum": low, "maximum": high}:
            kind = f"a number from {low} to {high}"
        case {"type": "integer", "minimum": low, "maximum": high}:
            kind = f"a whole number from {low} to {high}"
        case {"type": "boolean"}:
            kind = "true or false"
        case {"format": "date-time"}:
            kind = "an instant such as 2026-01-31T12:00:00Z"
        case {"type": "string", "maxLength": most}:
            kind = f"a string of 1 to {most} characters without control characters"
        case {"type": "string"}:
            kind = "a text that is not blank"
        case {"$ref": _}:
            kind = "one of the types below"
    return kind
