"""Runs benchmarks, prints what they print, and writes docs/performance.md with a chart of growth.

    python benchmarks/performance.py [NAME...] [--full]

What each benchmark measured is kept in benchmarks/figures.json with its date, so that one can be repeated alone. The
page compares it with what is wanted; growth is drawn on logarithmic axes.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import matplotlib as mpl
from figures import FILE

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
KEPT = HERE / "figures.json"
OWN = {"performance", "figures"}
HEADER = """# Performance
What `make bench` measured, beside what is wanted. It writes this page; each benchmark is a script in `benchmarks/`, and
its whole output follows below. Ratios are to a peer or a limit in the same run. CPU seconds are those of one process
and its workers, on a machine of two shared cores, which differ by up to a third from run to run.

![CPU seconds by number of memories](performance.svg)

Each line is a benchmark; the dotted line grows as the number of memories does.
"""


def run(name: str, *, full: bool) -> dict[str, object]:
    """Run a benchmark; print its output and return it with what it noted."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        arguments = ["--full"] if full and "--full" in (HERE / f"{name}.py").read_text("utf-8") else []
        process = subprocess.Popen(  # noqa: S603 - a script of this folder
            [sys.executable, "-u", HERE / f"{name}.py", *arguments],
            env={**os.environ, FILE: str(notes)},
            stdout=subprocess.PIPE,
            text=True,
        )
        lines = []
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            lines.append(line)
        if process.wait():
            raise SystemExit(f"{name}.py failed with {process.returncode}; nothing was written")
        noted = [json.loads(line) for line in notes.read_text("utf-8").splitlines()]
    return {
        "on": f"{datetime.now(UTC):%Y-%m-%d}",
        "output": "".join(lines),
        "figures": [row for row in noted if "work" in row],
        "growth": [row for row in noted if "series" in row],
    }


def chart(measured: dict[str, dict]) -> None:
    """Draw CPU seconds by number of memories, one line for each series."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - after the settings below

    series: dict[str, list[tuple[float, float]]] = {}
    for one in measured.values():
        for point in one["growth"]:
            series.setdefault(point["series"], []).append((point["size"], point["seconds"]))
    drawing = Figure(figsize=(8, 5))
    axes = drawing.subplots()
    for name, points in sorted(series.items()):
        axes.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
    if series:
        size, seconds = min(point for points in series.values() for point in points)
        axes.plot([size, 1e6], [seconds, seconds * 1e6 / size], linestyle=":", color="grey", label="as the memories")
        axes.legend()
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="CPU seconds")
    axes.grid(visible=True, alpha=0.3)
    drawing.savefig(DOCS / "performance.svg", metadata={"Date": None})


def page(measured: dict[str, dict]) -> str:
    """Return the page: a table of figures beside what is wanted, then what each benchmark printed."""
    lines = [HEADER, "| work | measured | wanted | on |", "|---|---|---|---|"]
    for one in measured.values():
        lines += [
            f"| {row['work']} | {row['value']:,.3g} {row['unit']} | {row['wanted']} | {one['on']} |"
            for row in one["figures"]
        ]
    for name, one in measured.items():
        described = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or ""
        first = described.partition("\n")[0]
        lines += ["", f"## {name}.py", first, "", "```text", one["output"].rstrip(), "```"]
    return "\n".join(lines) + "\n"


def main() -> None:
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in OWN)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*known, []], metavar="NAME", help="benchmarks; default: all")
    parser.add_argument("--full", action="store_true", help="with their largest sizes")
    given = parser.parse_args()
    measured = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    for name in given.names or known:
        print(f"== {name}", flush=True)
        measured[name] = run(name, full=given.full)
        measured = {name: measured[name] for name in sorted(measured.keys() & set(known))}
        KEPT.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
        mpl.rcParams["svg.hashsalt"] = "memory_pipeline"
        chart(measured)
        (DOCS / "performance.md").write_text(page(measured), "utf-8")


if __name__ == "__main__":
    main()
