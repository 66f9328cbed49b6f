"""A plan as a JSON document with a checksum, written by a dry run and read by `apply`.

Not here: how a plan is made (`planning`), and where the document is stored.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

import polars as pl
import polars.selectors as cs

from memory_pipeline.consolidation.plans import telling
from memory_pipeline.consolidation.state import decision_json
from memory_pipeline.schemas import INSTANT, TABLES

FORMAT: Final = "memory-pipeline/plan@1"
"""Name and version of the document format."""


def write(
    plan: pl.DataFrame,
    profiles: pl.DataFrame,
    completions: pl.DataFrame | None = None,
    changes: pl.DataFrame | None = None,
) -> dict[str, Any]:
    """Return a plan as a JSON document that `read` understands, with a SHA-256 of its content.

    It holds the answers of a language model, so that applying the plan needs no further request, and the plan as people
    read it (`telling.TOLD`).
    """
    content = {
        "format": FORMAT,
        "profiles": _rows("profiles", profiles),
        "plan": _rows("consolidation_plan", plan),
    }
    if completions is not None and completions.height:
        content["completions"] = _rows("completions", completions)
    if changes is not None:
        content["changes"] = changes.to_dicts()
    return content | {"sha256": _checksum(content)}


def read(document: Mapping[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables `consolidation_plan` and `profiles` of a document.

    Raises ValueError: the document has another format, or was changed after it was written.
    """
    content = {name: value for name, value in document.items() if name != "sha256"}
    if content.get("format") != FORMAT:
        raise ValueError(
            f"format is {content.get('format')!r}, not {FORMAT!r}; write the plan again with --dry-run --out"
        )
    if document.get("sha256") != _checksum(content):
        raise ValueError("sha256 does not match the content: the plan was changed since it was written; plan again")
    return _table("consolidation_plan", content["plan"]), _table("profiles", content["profiles"])


def changes(document: Mapping[str, Any]) -> pl.DataFrame:
    """Return the plan of a document as people read it (`telling.TOLD`); empty if the document lacks it."""
    return pl.DataFrame(document.get("changes", []), schema=telling.TOLD)


def carried(document: Mapping[str, Any]) -> pl.DataFrame:
    """Return the table `completions` that a document carries."""
    return _table("completions", document.get("completions", []))


def _rows(name: str, frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON values; decisions in order of application."""
    instants = cs.datetime().dt.strftime(decision_json.INSTANT_FORMAT)
    rows = TABLES[name].conform(frame)
    return (rows.sort("profile_id", "ordinal") if "ordinal" in rows.columns else rows).with_columns(instants).to_dicts()


def _table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    types = TABLES[name].types
    written = {column: pl.String if kind == INSTANT else kind for column, kind in types.items()}
    instants = [column for column, kind in types.items() if kind == INSTANT]
    return TABLES[name].conform(
        pl.DataFrame(rows, schema=written).with_columns(
            pl.col(instants).str.to_datetime(decision_json.INSTANT_FORMAT, time_unit="us", time_zone="UTC")
        )
    )


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
