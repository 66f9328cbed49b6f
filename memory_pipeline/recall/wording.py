"""Says in words what the tables name by codes: what a memory is, its state, and what a decision did to it."""

from collections.abc import Mapping
from typing import Final

from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.schemas import Action, Lifecycle
from memory_pipeline.text import classification

STATES: Final[Mapping[str, str]] = {
    Lifecycle.ACTIVE.value: "in use",
    Lifecycle.WARM.value: "in use",
    Lifecycle.COLD.value: "put away",
    Lifecycle.STUB.value: "cut to its beginning",
    Lifecycle.ARCHIVED.value: "archived",
    Lifecycle.EXPIRED.value: "expired",
    Lifecycle.DELETED.value: "deleted",
    Lifecycle.ERASED.value: "erased",
}
"""The state of a memory, by its lifecycle."""
ENDED: Final[Mapping[str, str]] = {
    Action.ARCHIVE.value: STATES[Lifecycle.ARCHIVED.value],
    Action.DELETE.value: STATES[Lifecycle.DELETED.value],
    Action.EXPIRE.value: STATES[Lifecycle.EXPIRED.value],
    Action.COLD.value: STATES[Lifecycle.COLD.value],
    Action.STUB.value: STATES[Lifecycle.STUB.value],
    Action.SUPERSEDE.value: "merged",
    Action.CLOSE.value: "no longer true",
    Action.TRIM.value: "shortened",
}
"""What became of a memory that a recall no longer returns, or not in full, by the decision."""

REARRANGED: Final = (
    "Scores do not always fall: what holds comes before what it replaces, and what belongs together stands together."
)
"""Why the order of an answer is not that of its scores."""


def state(lifecycle: str, superseded_kind: str | None) -> str:
    """Return the state of a memory, which another one may have replaced, by its lifecycle and the kind of that one."""
    if superseded_kind is None:
        return STATES[lifecycle]
    return ENDED[Action.SUPERSEDE.value if superseded_kind == "summary" else Action.CLOSE.value]


def kind(row: Mapping[str, object], members: int) -> str:
    """Return what a memory is, by its row of table `memories` and the number of memories that it stands for."""
    if members or row["kind"] not in {ORIGINAL, "fact"}:
        return f"a joint text of {members} memories"
    given = str(row["memory_type"])
    what = classification.in_words(given) if row["memory_type_inferred"] else given.lower()
    return what if row["kind"] == ORIGINAL else f"{what}, one statement of a longer text"
