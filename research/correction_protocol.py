"""Measures what a recall shows after a correction, a change, or what must change nothing.

Run with `python research/correction_protocol.py FILE ...`; a file holds scenarios (`research/corpus/corrections`). Each
scenario is a profile of its own in one store, which real runs consolidate: the older notes, a night, the newer notes,
and another night. Not here: how a scenario is written (`corpus/README.md`).
"""

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl
from corpus_files import UNCHANGED, scenarios

from memory_pipeline import MemoryClient, load_settings
from memory_pipeline.lake.tables import Lake
from memory_pipeline.runs import consolidate, inputs

BEGIN: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
_SHOWN: Final = 3
"""Answers among which another note of that time is looked for."""


class Clock:
    """Time of a store: each note takes a second; `pass_by` lets days pass."""

    def __init__(self) -> None:
        """Begin."""
        self.now = BEGIN

    def __call__(self) -> datetime:
        """Return the time, a second later than before."""
        self.now += timedelta(seconds=1)
        return self.now

    def pass_by(self, days: float) -> None:
        """Let days pass."""
        self.now += timedelta(days=days)


def measure(told: Sequence[dict[str, Any]], home: Path) -> pl.DataFrame:
    """Return for each scenario what recall and the store show.

    Args:
        told: scenarios (`corpus_files.scenarios`).
        home: folder of an empty store.

    Returns:
        kind; before and after (the right note came first before, and after, the night that followed the newer notes);
        again (it did after the older note was imported once more and another night); ended (the older note is closed,
        or marked as outdated or contradicted); closed; beside (the answer to another question is among the first three
        if it was before the newer notes, and no other note is closed).

    Cost: about a second a scenario.
    """
    clock = Clock()
    clients = [MemoryClient(home, profile_id=f"scenario{place}", clock=clock) for place in range(len(told))]
    older = [[client.remember(text) for text in one["O"]] for client, one in zip(clients, told, strict=True)]
    others = [[client.remember(text) for text in one["X"]] for client, one in zip(clients, told, strict=True)]
    clock.pass_by(9)
    _night(home, clock)
    found = [_found_beside(client, one) for client, one in zip(clients, told, strict=True)]
    clock.pass_by(3)
    for client, one in zip(clients, told, strict=True):
        for text in one["N"]:
            client.remember(text)
    before = [_right_first(client, one) for client, one in zip(clients, told, strict=True)]
    clock.pass_by(1)
    _night(home, clock)
    rows = list(_rows(clients, told, older, others, found))
    for client, one in zip(clients, told, strict=True):
        client.remember(one["O"][0], occurred_at=BEGIN)
    clock.pass_by(1)
    _night(home, clock)
    again = [_right_first(client, one) for client, one in zip(clients, told, strict=True)]
    for client in clients:
        client.close()
    return pl.DataFrame(rows).with_columns(before=pl.Series(before), again=pl.Series(again))


def _night(home: Path, clock: Clock) -> None:
    settings = load_settings(home, environment={})
    with Lake(home) as lake:
        profiles = inputs.select_profiles(lake, settings, as_of=clock())
        consolidate.consolidate(lake, settings, profiles, run_id=f"night {clock.now:%Y-%m-%d}")


def _rows(
    clients: Sequence[MemoryClient],
    told: Sequence[dict[str, Any]],
    older: Sequence[Sequence[str]],
    others: Sequence[Sequence[str]],
    found: Sequence[bool],
) -> Iterator[dict[str, Any]]:
    for client, one, first, rest, was_found in zip(clients, told, older, others, found, strict=True):
        shown = {memory.memory_id: memory for memory in client.recall(_parts(one["Q"][0])[0], 8)}
        closed = any(client.get(name).closed_by for name in first)
        marked = any(shown[name].outdated_by or shown[name].conflicts for name in first if name in shown)
        yield {
            "kind": one["kind"],
            "after": _right_first(client, one),
            "ended": closed or marked,
            "closed": closed,
            "beside": _found_beside(client, one) >= was_found and not any(client.get(name).closed_by for name in rest),
        }


def _found_beside(client: MemoryClient, one: dict[str, Any]) -> bool:
    asked, pattern = one["R"][0].rsplit("|", 1)
    return any(re.search(pattern.strip(), memory.text, re.IGNORECASE) for memory in client.recall(asked, _SHOWN))


def _right_first(client: MemoryClient, one: dict[str, Any]) -> bool:
    question, right, _ = _parts(one["Q"][0])
    found = client.recall(question, 1)
    return bool(found) and bool(re.search(right, found[0].text, re.IGNORECASE))


def _parts(line: str) -> list[str]:
    return [part.strip() for part in line.rsplit("|", 2)]


def figures(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of each kind, and of all that change and all that must not."""
    grouped = pl.concat(
        [
            measured,
            measured.with_columns(
                kind=pl.when(pl.col("kind").is_in(UNCHANGED)).then(pl.lit("unchanged")).otherwise(pl.lit("changed"))
            ),
        ]
    )
    counts = ("before", "after", "again", "ended", "closed", "beside")
    return grouped.group_by("kind", maintain_order=True).agg(pl.len().alias("scenarios"), pl.col(counts).sum())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    told = [one for file in parser.parse_args().files for one in scenarios(file)]
    with tempfile.TemporaryDirectory() as home, pl.Config(tbl_rows=-1, tbl_cols=-1):
        print(figures(measure(told, Path(home))))


if __name__ == "__main__":
    main()
