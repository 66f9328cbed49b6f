"""Describes pydantic models in words: error messages with a remedy, and what fields take."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache, reduce
from reprlib import Repr
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from memory_pipeline.text import credentials

TOO_DEEP: Final = "too_deep"
"""Type of the error of a value that is nested too deeply; its message follows the name of the value."""
WHOLE_LETTERS: Final = "whole characters: it holds half of a surrogate pair"

CORRECT_PROFILE: Final = "correct the name: `memory-pipeline profiles` lists them"
"""Remedy for an unknown profile. It names no other one, which the caller may not be allowed to know."""

_SHORT: Final = Repr()
_SHORT.maxlevel, _SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother = 2, 60, 30, 60
_LISTED: Final = 30
"""Most names to list if none is similar."""


def shown(value: object) -> str:
    """Return a wrong value as an error message quotes it: at most some 60 characters, whatever its size and depth."""
    try:
        return credentials.redacted(_SHORT.repr(credentials.redacted(value) if isinstance(value, str) else value))
    except ValueError:  # an integer with more digits than Python converts
        return f"a huge {type(value).__name__}"


def nearest(value: object, known: Iterable[str]) -> str:
    """Return a hint to the most similar known name or, without one, to all of them or their number."""
    names = [str(name) for name in known]
    if not names:
        return "there are none"
    if near := get_close_matches(str(value), names, n=1):
        return f"the closest match is {near[0]!r}"
    return (
        f"choose one of {', '.join(names)}"
        if len(names) <= _LISTED
        else f"none of the {len(names)} names is similar; correct it"
    )


def reason(error: ValidationError, model: type[BaseModel], *, prefix: str = "") -> str:
    """Return the first error of a model as a sentence: field, value, remedy; `prefix` as for `finding`."""
    schema = _schema(model)
    return finding(error.errors(include_url=False)[0], schema, schema, prefix=prefix)


def finding(
    details: ErrorDetails | Mapping[str, Any],
    schema: Mapping[str, Any],
    document: Mapping[str, Any],
    *,
    prefix: str = "",
    value: str = "it",
) -> str:
    """Return an error of a value as a sentence: field, value, remedy.

    Args:
        details: type, location within the value, input and context. If the value may have several JSON types, the first
            step of the location names the type.
        schema: JSON schema of the value; `document` holds the definitions that it refers to.
        prefix: path of the value's fields, such as "payload."; `value` names the value itself.
    """
    at, path, optional = _resolved(schema, document), "", False
    for step in details["loc"]:
        fields = at.get("properties", {})
        if step in fields:
            optional = step not in at.get("required", ())
            at, path = _resolved(fields[step], document), f"{path}.{step}" if path else f"{prefix}{step}"
        elif fields:
            inner = f"{path}." if path else prefix
            rest = f"; anything else belongs in {inner}metadata" if "metadata" in fields else ""
            return f"{inner}{shown(step)} is not a known field; {nearest(step, fields)}{rest}"
        elif "oneOf" in at:
            options = [_resolved(option, document) for option in at["oneOf"]]
            at = next(option for option in options if option["type"] == step)
        else:
            at, path, optional = _resolved(at.get("items", {}), document), f"{path}[{step!r}]", False
    if not path and "error" in details.get("ctx", {}):
        return str(details["ctx"]["error"])
    if details["type"] == TOO_DEEP:
        return f"{path or value} {details['msg']}"
    kind = WHOLE_LETTERS if details["type"] == "string_unicode" else _kind(at)
    if details["type"] == "missing":
        meaning = at.get("description") if path else None
        return f"{path or value} is missing; give " + (
            f"{meaning[0].lower()}{meaning[1:].rstrip('.')}" if meaning else kind
        )
    return f"{path or value} is {shown(details['input'])}; give {kind}" + (", or leave it out" if optional else "")


@cache
def _schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()


def kinds(model: type[BaseModel]) -> dict[str, str]:
    """Return what each field of a model takes, in words."""
    return {name: _kind(_present(schema)) for name, schema in _schema(model)["properties"].items()}


def _present(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of an optional value for the case that it is present."""
    options = [option for option in schema.get("anyOf", ()) if option.get("type") != "null"]
    return _inlined(schema, "anyOf", options[0]) if len(options) == 1 else schema


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of a present value with its references resolved, down to the items of a list."""
    schema = _present(schema)
    if "$ref" in schema:
        steps = schema["$ref"].removeprefix("#/").split("/")
        schema = _inlined(schema, "$ref", reduce(lambda part, step: part[step], steps, document))
    return {**schema, "items": _resolved(schema["items"], document)} if "items" in schema else schema


def _inlined(schema: Mapping[str, Any], key: str, target: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema with a key replaced by its target; the schema's own keywords take precedence."""
    return {**target, **{name: part for name, part in schema.items() if name != key}}


def _kind(schema: Mapping[str, Any]) -> str:
    """Describe the values that a JSON schema accepts."""
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
            return f"{kind} of at least {low:.15g}"
    return kind
