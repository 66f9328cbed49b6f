"""Figures of drills: what was tried how often and what came of it, gathered from all workers into one page."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pytest

_KEY: Final = "reliability"
_TITLE: Final = """# Reliability
What `make drill` tried, and what came of it. The drill writes this page itself; if anything was lost, it fails and
writes nothing. What is promised is in [SECURITY.md](../SECURITY.md), what to do about alarms in
[operations.md](operations.md).
"""


def record(request: pytest.FixtureRequest, drill: str, **figures: float | str) -> None:
    """Note the figures of one drill; those of several tests with one name are added up, texts are kept as they are."""
    request.node.user_properties.append((_KEY, {"drill": drill} | figures))


def gathered(reports: Iterable[pytest.TestReport]) -> dict[str, dict[str, Any]]:
    """Return the figures of finished tests by drill."""
    drills: dict[str, dict[str, Any]] = {}
    for report in reports:
        for key, figures in report.user_properties if report.when == "call" else ():
            if key == _KEY:
                row = drills.setdefault(figures["drill"], {})
                for name, value in figures.items():
                    if name != "drill":
                        row[name] = row.get(name, 0) + value if isinstance(value, int) else value
    return drills


def lines(drills: dict[str, dict[str, Any]]) -> list[str]:
    """Return the rows of a Markdown table."""
    rows = (f"| {drill} | {_listed(figures)} |" for drill, figures in sorted(drills.items()))
    return ["| drill | figures |", "|---|---|", *rows]


def write(file: Path, drills: dict[str, dict[str, Any]], passed: int) -> None:
    """Write the page."""
    table = "\n".join(lines(drills))
    file.write_text(f"{_TITLE}\n{passed:,} drills and properties passed. Those with figures:\n\n{table}\n", "utf-8")


def _listed(figures: dict[str, Any]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in figures.items())


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:,.3g}"
