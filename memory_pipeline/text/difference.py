"""Finds where two texts differ, and cuts both around it, so that a reader sees the difference at once.

Not here: colours (`service/report_plan`) and pages (`service/ui`).
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

MORE: Final = "\u2026"
"""Stands where a text goes on."""

_UNIT: Final = re.compile(r"(?:\w+|[^\w\s])\s*")
_AROUND: Final = 12
"""Words and marks of equal text that are shown beside a difference."""
_LONGEST: Final = 60
"""Words and marks of a difference that are shown."""
_COMPARED: Final = 300
"""Words and marks among which equal parts are looked for, which is quadratic; longer texts differ as a whole."""


class Part(NamedTuple):
    """A part of a text."""

    text: str
    differs: bool


def parts(older: str, newer: str) -> tuple[list[Part], list[Part]]:
    """Return two texts, each on one line and in parts that differ or not, with long parts cut.

    A difference is always there, at least its beginning, and so is the equal text right before and after it.
    """
    one, other = _units(older), _units(newer)
    words, others = ([unit.rstrip() for unit in units] for units in (one, other))
    start = _alike(words, others)
    end = _alike(words[start:][::-1], others[start:][::-1])
    middle, opposite = words[start : len(one) - end], others[start : len(other) - end]
    blocks: Sequence[tuple[str, int, int, int, int]] = [("replace", 0, len(middle), 0, len(opposite))]
    if max(len(middle), len(opposite)) <= _COMPARED:
        blocks = SequenceMatcher(None, middle, opposite, autojunk=False).get_opcodes()
    mine = [(start + a, start + b, kind != "equal") for kind, a, b, _, _ in blocks]
    theirs = [(start + a, start + b, kind != "equal") for kind, _, _, a, b in blocks]
    return _cut(one, [(0, start, False), *mine, (len(one) - end, len(one), False)]), _cut(
        other, [(0, start, False), *theirs, (len(other) - end, len(other), False)]
    )


def _units(text: str) -> list[str]:
    return _UNIT.findall(" ".join(text.split()))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many words two texts have in common at the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (word, opposite) in pairs if word != opposite), min(len(one), len(other)))


def _cut(units: Sequence[str], runs: Sequence[tuple[int, int, bool]]) -> list[Part]:
    """Return the runs of a text as parts: equal ones reduced to what is beside a difference, long differences begun."""
    whole = [(units[start:end], differs) for start, end, differs in runs if end > start]
    shown = []
    for place, (run, differs) in enumerate(whole):
        before = [] if not differs and place == 0 and len(whole) > 1 else run[: _LONGEST if differs else _AROUND]
        after = [] if differs or place == len(whole) - 1 else run[-_AROUND:]
        if len(run) <= len(before) + len(after):
            shown.append(Part("".join(run), differs))
        else:
            ends = ("".join(before).rstrip(), MORE, "".join(after))
            shown.append(Part(" ".join(filter(None, ends)), differs))
    return shown
