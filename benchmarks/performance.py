"""Runs benchmarks, prints what they print, and writes docs/performance.md with a chart of growth.

    python benchmarks/performance.py [NAME...] [--full] [--page]

What each benchmark measured is kept in benchmarks/figures.json with its date, so that one can be repeated alone;
`--page` only writes the page again. What a run with `--full` measured at larger sizes stays there, with its date, when
the benchmark is repeated without. The page compares it with what is wanted; growth is drawn on logarithmic axes.
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
from typing import Any

import matplotlib as mpl
from figures import FILE, shown, verdict, wanted

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
KEPT = HERE / "figures.json"
OWN = {"performance", "figures", "limits"}
FIRST = ("pipeline", "scale", "similarity_join", "scoring", "peers", "recall", "ledger")
"""Benchmarks of what is wanted, in the order of the page; the others follow by name."""
HEADER = """# Performance
What `make bench` measured, beside what is wanted. It writes this page; each benchmark is a script in `benchmarks/`, and
its whole output follows below. Ratios are to a peer or a limit in the same run. CPU seconds are those of one process
and its workers, on a machine of two shared cores, and differ by up to a third from run to run.

The load beside a date is how many processes wanted those two cores. At ten and more, CPU seconds were two to four times
those of an idle machine, and events a second, which are wall time, a tenth; ratios in one run hold. What is dated
earlier was measured then, by a longer run (`make bench BENCH=--full`) or as [speed.md](speed.md) and
[scale.md](scale.md) say.

Other work shares the machine on some days, and the load does not show it. So figures of different days compare machines
as well as programs. Two programs, the older run again beside the newer on 2026-11-27:

| work | program of 2026-11-23 | program of 2026-11-27 |
|---|---|---|
| first night of 12,000 memories of ten people, one thread | 16.3 CPU s | 14.7 CPU s |
| first night of 8,000 memories of 160 people, one thread | 10.8 CPU s | 11.5 CPU s |
| recall among 20,000 memories | 15.6 ms | 14.3 ms |
| first night of 1,000,000 memories of 20,000 people, each on its own day | 10 CPU min | 18 CPU min |
| recall among 100,000 memories, each on its own day | 8.5 ms | 35 ms |

![CPU seconds by number of memories](performance.svg)

Each line is a benchmark; the dotted line grows as the number of memories does.
"""

Measured = dict[str, dict[str, Any]]


def run(name: str, *, full: bool) -> dict[str, Any]:
    """Run a benchmark; print its output and return it with what it noted."""
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.touch()
        large = full and "--full" in (HERE / f"{name}.py").read_text("utf-8")
        process = subprocess.Popen(  # noqa: S603 - a script of this folder
            [sys.executable, "-u", HERE / f"{name}.py", *(["--full"] if large else [])],
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
        others = f", load {os.getloadavg()[2]:.0f}" if hasattr(os, "getloadavg") else ""
        today = {"on": f"{datetime.now(UTC):%Y-%m-%d}{others}", "full": large}
        noted = [json.loads(line) | today for line in notes.read_text("utf-8").splitlines()]
    return {
        "output": "".join(lines),
        "figures": [row for row in noted if "work" in row],
        "growth": [row for row in noted if "series" in row],
    }


def joined(earlier: dict[str, Any] | None, made: dict[str, Any], *, full: bool) -> dict[str, Any]:
    """Return what a benchmark measured, with what only an earlier run with --full measured."""
    if full or not earlier:
        return made
    keys = {"figures": ("work",), "growth": ("series", "size")}
    kept = {}
    for kind, names in keys.items():
        again = {tuple(row[name] for name in names) for row in made[kind]}
        larger = [row for row in earlier[kind] if row["full"] and tuple(row[name] for name in names) not in again]
        kept[kind] = [*made[kind], *larger]
    return made | kept


def chart(measured: Measured) -> None:
    """Draw CPU seconds by number of memories, one line for each series."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - after the settings below

    series: dict[str, list[tuple[float, float]]] = {}
    for one in measured.values():
        for point in one["growth"]:
            series.setdefault(point["series"], []).append((point["size"], point["seconds"]))
    drawing = Figure(figsize=(9, 6))
    axes = drawing.subplots()
    for place, (name, points) in enumerate(sorted(series.items())):
        style = "-" if place < 10 else "--"
        axes.plot(*zip(*sorted(points), strict=True), marker="o", markersize=4, linestyle=style, label=name)
    if series:
        size, seconds = min(point for points in series.values() for point in points)
        axes.plot([size, 1e6], [seconds, seconds * 1e6 / size], linestyle=":", color="grey", label="as the memories")
        axes.legend(fontsize="x-small")
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="CPU seconds", xlim=(8e2, 1.25e6))
    axes.grid(visible=True, alpha=0.3)
    drawing.savefig(DOCS / "performance.svg", metadata={"Date": None}, bbox_inches="tight")


def named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows that can stand alone: "the same, ..." becomes the work that it refers to, and what differs."""
    made, work = list[dict[str, Any]](), ""
    for row in rows:
        head, _, rest = row["work"].partition("the same")
        work = row["work"] if head or not rest else work
        made.append(row | {"work": f"{work}{':' if rest[:1] == ' ' else ''}{rest}" if rest and not head else work})
    return made


def page(measured: Measured) -> str:
    """Return the page: figures beside what is wanted, why some are missed, then what each benchmark printed."""
    rows = [row for one in measured.values() for row in named(one["figures"])]
    aimed = [row for row in rows if wanted(row)]
    lines = [HEADER, "## What is wanted", "| work | measured | wanted | | on |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['work']} | {shown(row['value'])} {row['unit']} | {wanted(row)} | {verdict(row)} | {row['on']} |"
        for row in aimed
    ]
    missed: dict[str, list[str]] = {}
    for row in aimed:
        if verdict(row) == "missed":
            missed.setdefault(row["tried"], []).append(row["work"])
    lines += ["", "## What was missed", "What was tried, and why it is not reached:", ""]
    lines += [f"- **{'; '.join(works)}**: {tried}" for tried, works in missed.items()]
    lines += ["", "## Beside limits and peers", "| work | measured | on |", "|---|---|---|"]
    lines += [
        f"| {row['work']} | {shown(row['value'])} {row['unit']} | {row['on']} |" for row in rows if not wanted(row)
    ]
    for name, one in measured.items():
        if one["output"]:
            described = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text("utf-8"))) or ""
            first = described.partition("\n")[0]
            lines += ["", f"## {name}.py", first, "", "```text", one["output"].rstrip(), "```"]
    return "\n".join(lines) + "\n"


def main() -> None:
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in OWN)
    known = [*FIRST, *(name for name in known if name not in FIRST)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*known, []], metavar="NAME", help="benchmarks; default: all")
    parser.add_argument("--full", action="store_true", help="with their largest sizes")
    parser.add_argument("--page", action="store_true", help="run nothing")
    given = parser.parse_args()
    mpl.rcParams["svg.hashsalt"] = "memory_pipeline"
    measured = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    for name in [] if given.page else given.names or known:
        print(f"== {name}", flush=True)
        measured[name] = joined(measured.get(name), run(name, full=given.full), full=given.full)
        KEPT.write_text(
            json.dumps({name: measured[name] for name in known if name in measured}, indent=1) + "\n", "utf-8"
        )
    measured = {name: measured[name] for name in known if name in measured}
    chart(measured)
    (DOCS / "performance.md").write_text(page(measured), "utf-8")


if __name__ == "__main__":
    main()
