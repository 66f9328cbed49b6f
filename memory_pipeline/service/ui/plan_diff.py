"""Shows a plan as a diff: what each decision removes and adds.

Pure. Not here: how a plan is made (`consolidation/plans`), and how the page looks (`templates`).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory_pipeline.consolidation.state.decision_json import LEAVES
from memory_pipeline.schemas import Action

SHOWN: Final = 100
"""Decisions of each action that are shown in full."""

LINKS: Final = (Action.LINK, Action.PRUNE)
"""Actions about links, of which a plan may have many."""

HELD: Final = "held"
"""Status of a decision that the quota holds back."""

Row = Mapping[str, Any]
Lookup = Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class Change:
    """What one decision changes."""

    memory_id: str
    target_id: str | None
    removed: tuple[str, ...]
    added: tuple[str, ...]
    rule: str
    reason: str
    held: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    """The decisions of one action, in the order in which they are applied."""

    action: str
    count: int
    changes: tuple[Change, ...]


def groups(rows: Sequence[Row], text: Lookup, block: Lookup) -> list[Group]:
    """Group a plan by action: memories before links, otherwise in the order of application.

    Memories that a summary replaces are shown with the summary.

    Args:
        rows: the decisions, as a plan document holds them.
        text: returns the text of a stored memory.
        block: returns the content of a block of core memory.
    """
    written = {row["memory_id"]: _after(row)["content"] for row in rows if row["action"] == Action.SUMMARISE}

    def content(memory_id: str) -> str:
        return str(written[memory_id]) if memory_id in written else text(memory_id)

    found = []
    for action in sorted(Action, key=LINKS.__contains__):
        own = [row for row in rows if row["action"] == action and not _is_shown_with_summary(row, written)]
        if own:
            changes = tuple(_change(row, content, block) for row in own[:SHOWN])
            found.append(Group(action=action.value, count=len(own), changes=changes))
    return found


def _is_shown_with_summary(row: Row, written: Mapping[str, Any]) -> bool:
    return row["action"] == Action.SUPERSEDE and row["target_id"] in written


def _change(row: Row, text: Lookup, block: Lookup) -> Change:
    return Change(
        memory_id=row["memory_id"],
        target_id=row["target_id"],
        removed=tuple(_removed(row, text, block)),
        added=tuple(_added(row, text)),
        rule=row["rule"],
        reason=row["reason"],
        held=row["status"] == HELD,
    )


def _removed(row: Row, text: Lookup, block: Lookup) -> Iterator[str]:
    match row["action"]:
        case Action.SUMMARISE:
            yield from map(text, _after(row)["members"])
        case Action.PRUNE:
            yield _edge(row, _before(row), text)
        case Action.COMPILE:
            yield from filter(None, [block(row["memory_id"])])
        case Action.PROMOTE:
            yield f"{text(row['memory_id'])} ({_place(_before(row))})"
        case Action.CLOSE:
            yield _after(row).get("statement") or text(row["memory_id"])
        case Action.SUPERSEDE | Action.TRIM:
            yield text(row["memory_id"])
        case action if action in LEAVES:
            yield text(row["memory_id"])


def _added(row: Row, text: Lookup) -> Iterator[str]:
    after = _after(row)
    match row["action"]:
        case Action.SUMMARISE | Action.COMPILE:
            yield after["content"]
        case Action.LINK:
            yield _edge(row, after, text)
        case Action.PROMOTE:
            yield f"{text(row['memory_id'])} ({_place(after)})"
        case Action.SUPERSEDE | Action.CLOSE if row["target_id"]:
            yield text(row["target_id"])
        case Action.TRIM:
            yield after["trimmed"] or "(its full text again)"


def _edge(row: Row, edge: Row, text: Lookup) -> str:
    return f"{edge.get('edge_type', 'edge')}: {text(row['memory_id'])} \N{LEFT RIGHT ARROW} {text(row['target_id'])}"


def _place(fields: Row) -> str:
    return ", ".join(str(fields[name]) for name in ("tier", "lifecycle", "category") if fields.get(name))


def _before(row: Row) -> dict[str, Any]:
    return dict(json.loads(row["before"]))


def _after(row: Row) -> dict[str, Any]:
    return dict(json.loads(row["after"]))
