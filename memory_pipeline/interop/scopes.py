"""Reads users, agents and sessions out of names by a template such as `memories/{user_id}`."""

import re
from collections.abc import Mapping
from typing import Final

FIELDS: Final = ("user_id", "agent_id", "session_id")

_FIELD: Final = re.compile(r"\{(\w*)\}")


def pattern(template: str | None) -> re.Pattern[str] | None:
    """Return a template as a pattern; a ValueError, if it has no field, one twice, or an unknown one."""
    if template is None:
        return None
    fields = _FIELD.findall(template)
    if not fields or len(set(fields)) < len(fields) or not set(fields) <= {*FIELDS, ""}:
        known = ", ".join(f"{{{name}}}" for name in FIELDS)
        raise ValueError(
            f"--scope {template!r}: name at least one of {known}, each at most once; {{}} matches anything"
        )
    parts = _FIELD.split(template)
    return re.compile(
        "".join(
            re.escape(part) if index % 2 == 0 else (f"(?P<{part}>[^/]+)" if part else "[^/]*")
            for index, part in enumerate(parts)
        )
    )


def read(name: str, scope: re.Pattern[str] | None) -> Mapping[str, str]:
    """Return the fields that a name has by a template; none if it does not fit."""
    match = scope.fullmatch(name) if scope else None
    return match.groupdict() if match else {}
