"""Notes what a benchmark measured, for docs/performance.md (see `performance.py`); finds the sample generator."""

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

sys.path.append(str(Path(__file__).parents[1] / "research"))

FILE: Final = "BENCHMARK_FIGURES"
"""Variable with the path of the file that collects what is noted; unset: it is only printed."""


def figure(
    work: str,
    value: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    tried: str = "",
) -> None:
    """Note one figure.

    Args:
        work: what was done, at which size.
        value: what it took, or the ratio.
        unit: of the value; x for a ratio.
        at_most: what it should not exceed; default: nothing is wanted.
        at_least: what it should reach.
        tried: what was tried where it misses that, and why it does; the page says so only then.
    """
    row = {"work": work, "value": value, "unit": unit, "at_most": at_most, "at_least": at_least, "tried": tried}
    wish = wanted(row)
    print(f"  -> {work}: {shown(value)} {unit}{f' (wanted {wish}: {verdict(row)})' if wish else ''}", flush=True)
    _keep(row)


def growth(series: str, size: float, seconds: float) -> None:
    """Note a point of a curve: CPU seconds at a number of memories."""
    _keep({"series": series, "size": size, "seconds": seconds})


def wanted(row: dict[str, Any]) -> str:
    """Return what a figure should be, such as <= 60 CPU s; nothing where nothing is wanted."""
    if row["at_most"] is not None:
        return f"<= {shown(row['at_most'])} {row['unit']}"
    return f">= {shown(row['at_least'])} {row['unit']}" if row["at_least"] is not None else ""


def verdict(row: dict[str, Any]) -> str:
    """Return whether a figure is what it should be: reached, missed, or nothing where nothing is wanted."""
    if row["at_most"] is not None:
        return "reached" if row["value"] <= row["at_most"] else "missed"
    if row["at_least"] is not None:
        return "reached" if row["value"] >= row["at_least"] else "missed"
    return ""


def shown(value: float) -> str:
    """Return a number with three digits that count, or all of a whole one."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _keep(row: dict[str, Any]) -> None:
    if path := os.environ.get(FILE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
