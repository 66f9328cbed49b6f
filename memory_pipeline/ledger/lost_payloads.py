"""The error of payloads that are in neither the ledger nor the files that compaction moved them to."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from memory_pipeline.ledger.database import LakeError

_SHOWN: Final = 5
"""Ranges of lost positions that an error names."""


class LostPayloads(LakeError):
    """Payloads of events are in neither the ledger nor its files."""

    def __init__(self, home: Path, positions: Sequence[int], remedy: str = "restore") -> None:
        """Name the positions; the remedy ends with the files of the payloads."""
        super().__init__(home, positions, remedy)
        self.positions = positions

    def __str__(self) -> str:
        home, positions, remedy = self.args
        ranges = _ranges(positions)
        few = ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges[:_SHOWN])
        more = ", ..." if len(ranges) > _SHOWN else ""
        return (
            f"{home}: the payloads of {len(positions)} events (position {few}{more}) are in neither the ledger nor its "
            f"files; {remedy} lake/payloads or archive/ from a backup"
        )


def _ranges(positions: Iterable[int]) -> list[tuple[int, int]]:
    """Return the first and last of each range of consecutive positions, which are in order."""
    ranges = list[tuple[int, int]]()
    for position in positions:
        if ranges and position == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], position)
        else:
            ranges.append((position, position))
    return ranges
