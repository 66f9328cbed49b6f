"""Notes what a benchmark measured, for docs/performance.md (see `performance.py`)."""

import json
import os
from pathlib import Path
from typing import Any, Final

FILE: Final = "BENCHMARK_FIGURES"
"""Variable with the path of the file that collects what is noted; unset: it is only printed."""


def figure(work: str, value: float, unit: str, *, wanted: str = "") -> None:
    """Note one figure.

    Args:
        work: what was done, at which size.
        value: what it took, or the ratio.
        unit: of the value; x for a ratio.
        wanted: what it should be, such as <= 60 CPU s.
    """
    print(f"  -> {work}: {value:,.3g} {unit}{f' (wanted {wanted})' if wanted else ''}", flush=True)
    _keep({"work": work, "value": value, "unit": unit, "wanted": wanted})


def growth(series: str, size: float, seconds: float) -> None:
    """Note a point of a curve: CPU seconds at a number of memories."""
    _keep({"series": series, "size": size, "seconds": seconds})


def _keep(row: dict[str, Any]) -> None:
    if path := os.environ.get(FILE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
