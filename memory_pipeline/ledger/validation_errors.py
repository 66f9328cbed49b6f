"""Models in words: what a field takes, and what was wrong with a value. For reasons of refusal and reference pages.

Here: sentences made from any pydantic model or JSON schema. Not here: the models (`ledger/event.py`).
"""

from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, reduce
from reprlib import Repr
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

WHOLE_LETTERS: Final = "whole letters: it holds half of a surrogate pair"

_SHORT: Final = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 2, 60, 30, 60
_LISTED: Final = 30
"""Known names that are listed where none is near."""


def shown(value: object) -> str:
    """Return a wrong value as a reason repeats it: at most some 60 characters, whatever its size and depth."""
    try:
        return _SHORT.repr(value)
    except ValueError:  # an integer beyond the digits that Python is willing to write
        return f"a huge {type(value).__name__}"


def nearest(value: object, known: Iterable[str]) -> str:
    """Say which known name a wrong one is closest to; if none is near, list them, or how many there are, or none."""
    names = [str(name) for name in known]
    if not names:
        return "none is known"
    if near := get_close_matches(str(value), names, n=1):
        return f"the nearest known one is {near[0]!r}"
    return (
        f"known are {', '.join(names)}"
        if len(names) <= _LISTED
        else f"none of the {len(names)} known is like it: correct it"
    )


def reason(error: ValidationError, model: type[BaseModel], *, prefix: str = "") -> str:
    """Return the first finding of an error of `model` as one sentence: field, value, remedy.

    Args:
        error: what pydantic found.
        model: the model that was checked.
        prefix: path of the model's fields, such as "payload.".
    """
    schema = _schema(model)
    return finding(error.errors(include_url=False)[0], schema, schema, prefix=prefix)


def finding(
    found: ErrorDetails | Mapping[str, Any],
    schema: Mapping[str, Any],
    document: Mapping[str, Any],
    *,
    prefix: str = "",
    value: str = "it",
) -> str:
    """Return what pydantic found wrong with a value as one sentence: field, value, remedy.

    Args:
        found: type, place within the value, input and context. Where the value has one of several JSON types, the
            first step of its place names the type.
        schema: JSON schema of the value.
        document: where references of the schema lead.
        prefix: path of the value's fields, such as "payload.".
        value: what the value itself is called.
    """
    at, path, optional = _resolved(schema, document), "", False
    for step in found["loc"]:
        fields = at.get("properties", {})
        if step in fields:
            optional = step not in at.get("required", ())
            at, path = _resolved(fields[step], document), f"{path}.{step}" if path else f"{prefix}{step}"
        elif fields:
            inner = f"{path}." if path else prefix
            rest = f"; anything else belongs into {inner}metadata" if "metadata" in fields else ""
            return f"{inner}{shown(step)} is no known field; {nearest(step, fields)}{rest}"
        elif "oneOf" in at:
            options = [_resolved(option, document) for option in at["oneOf"]]
            at = next(option for option in options if option["type"] == step)
        else:
            at, path, optional = _resolved(at.get("items", {}), document), f"{path}[{step!r}]", False
    if not path and "error" in found.get("ctx", {}):
        return str(found["ctx"]["error"])
    kind = WHOLE_LETTERS if found["type"] == "string_unicode" else _kind(at)
    if found["type"] == "missing":
        meaning = at.get("description") if path else None
        return f"{path or value} is missing; give " + (
            f"{meaning[0].lower()}{meaning[1:].rstrip('.')}" if meaning else kind
        )
    return f"{path or value} is {shown(found['input'])}; give {kind}" + (", or leave it out" if optional else "")


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
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def _kinds(model: type[BaseModel]) -> dict[str, str]:
    return {name: _kind(_present(schema)) for name, schema in _schema(model)["properties"].items()}


def _present(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of what may be left out for the case that it is there."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    return _instead(schema, "anyOf", options[0]) if len(options) == 1 else schema


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of what is there, with what it refers to, down to the items of a list."""
    schema = _present(schema)
    if "$ref" in schema:
        steps = schema["$ref"].removeprefix("#/").split("/")
        schema = _instead(schema, "$ref", reduce(lambda part, step: part[step], steps, document))
    return {**schema, "items": _resolved(schema["items"], document)} if "items" in schema else schema


def _instead(schema: Mapping[str, Any], key: str, meant: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with what a key of it means in place of that key; what it says itself comes first."""
    return {**meant, **{name: part for name, part in schema.items() if name != key}}


def _kind(schema: Mapping[str, Any]) -> str:
    """Say what a field of this JSON schema takes."""
    kind = "a JSON object"
    match schema:
        case {"enum": values}:
            kind = f"one of {', '.join(values)}"
        case {"type": "array", "items": items}:
            most = f"to {schema['maxItems']}" if "maxItems" in schema else "or more"
            size = f" of {schema['minItems']} {most}" if "minItems" in schema else ""
            kind = f"a list{size}, each {_kind(items)}"
        case {"type": "number" | "integer"}:
            kind = _number(schema)
        case {"type": "boolean"}:
            kind = "true or false"
        case {"format": "date-time"}:
            kind = "an instant such as 2026-01-31T12:00:00Z"
        case {"type": "string", "maxLength": most}:
            kind = f"a string of 1 to {most} characters without control characters"
        case {"type": "string"}:
            kind = "a text that is not blank"
        case {"$ref": _} | {"anyOf": _}:
            kind = "one of the types below"
    return kind


def _number(schema: Mapping[str, Any]) -> str:
    kind = "a whole number" if schema["type"] == "integer" else "a number"
    match schema:
        case {"minimum": low, "maximum": high}:
            return f"{kind} from {low:.15g} to {high:.15g}"
        case {"minimum": low}:
            return f"{kind} from {low:.15g}"
    return kind
