"""What an agent reads when a session starts, and the outcome of a consolidation."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Self

import polars as pl

from memory_pipeline.consolidation import whereabouts
from memory_pipeline.consolidation.core_memory import SEPARATOR
from memory_pipeline.recall.models import Answer, Recalled, as_json, listed, within
from memory_pipeline.text.display import BUDGET, one_line, unmarked
from memory_pipeline.text.parse.speakers import USERS

_BEFORE: Final = rf"(?:(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|{'|'.join(sorted(USERS))}):\s+)*"
_CUT: Final = re.compile(rf"(?:(?:^|(?<=[.!?])\s+|\n+){_BEFORE})+")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A block of core memory."""

    name: str
    content: str
    version: int
    compiled_at: datetime
    members: tuple[str, ...] = ()
    """The memory that each fact comes from; of a block that a model worded those that it was made of."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Return the block of a row of the table `core_memory_blocks`."""
        columns = {name: row[name] for name in ("content", "version", "compiled_at")}
        return cls(name=row["block"], members=tuple(row["members"]), **columns)

    def __str__(self) -> str:
        """Return its facts under its name."""
        facts = map(unmarked, self.content.split(SEPARATOR))
        return listed(f"{self.name.replace('_', ' ')}, version {self.version}", facts)

    __repr__ = __str__


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What an agent should read when a session starts."""

    session_id: str | None
    blocks: tuple[Block, ...]
    """Core memory as compiled by the last run."""
    answer: Answer | None
    """Memories relevant to the query; None without a query."""
    notices: tuple[str, ...] = ()
    """What a person should look at, such as a run that was held back."""

    def text(self, token_budget: int | None = BUDGET) -> str:
        """Return the blocks under their names, then the relevant memories, as text for a prompt.

        Statements of the user appear once: what a block contains is omitted from later blocks and from the relevant
        memories, unless there is more to know about it than its text. The budget is that of the relevant memories (see
        `Answer.text`); blocks have their own limit.
        """
        parts, written, told_of = [], set[str](), dict[str, str]()
        for block in self.blocks:
            facts = [(fact, _sentences(fact)) for fact in block.content.split(SEPARATOR)]
            told_of |= dict(zip(block.members, block.content.split(SEPARATOR), strict=False))
            new = [fact for fact, sentences in facts if not sentences <= written]
            written.update(*(sentences for _, sentences in facts))
            parts += [f"## {block.name.replace('_', ' ')}\n{SEPARATOR.join(map(unmarked, new))}"] if new else []
        relevant = [
            memory
            for memory in self.answer or ()
            if not (_is_all_there_is(memory) and _is_told(memory, told_of, written))
        ]
        lines = within([memory.line(relevant) for memory in relevant], token_budget)
        parts += ["\n".join(["## relevant memories", *lines])] if lines else []
        parts += ["\n".join(["## notices", *map(unmarked, self.notices)])] if self.notices else []
        return "\n\n".join(parts)

    def __str__(self) -> str:
        """Return its text."""
        return self.text() or "nothing is remembered yet"

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, instants as ISO 8601 text."""
        answer = self.answer.to_dict() if self.answer is not None else None
        blocks = [as_json(asdict(block)) for block in self.blocks]
        return {"session_id": self.session_id, "blocks": blocks, "answer": answer, "notices": [*self.notices]}


@dataclass(frozen=True, kw_only=True, eq=False)
class Consolidated:
    """The outcome of a consolidation in this process, or of its dry run."""

    run_id: str | None
    """None for a dry run, which wrote nothing."""
    task: str
    as_of: datetime
    """Clock of the run, in the time zone of the reader."""
    profiles: pl.DataFrame
    """Table `profiles`: the profiles of the run and the state it started from."""
    plan: pl.DataFrame
    """Table `consolidation_plan`: every decision, with rule and reason."""
    memories: pl.DataFrame
    """Table `memories` that the plan was made from."""

    @cached_property
    def changes(self) -> pl.DataFrame:
        """The plan by what it does to memories: one row per change, with both texts (`telling.TOLD`)."""
        from memory_pipeline.consolidation.plans import telling  # noqa: PLC0415 - no recall reads plans

        return telling.tell(self.plan, self.memories, self.as_of.tzinfo or UTC)

    @property
    def actions(self) -> dict[str, int]:
        """Number of decisions by action, without those held back by the quota."""
        released = self.plan.filter(pl.col("status") != "held")
        return dict(released.group_by("action").len().sort("action").iter_rows())

    @property
    def held(self) -> int:
        """Number of decisions held back by the quota."""
        return self.plan.filter(pl.col("status") == "held").height

    def to_dict(self) -> dict[str, Any]:
        """Return run_id, task, as_of, actions and held as JSON values."""
        return as_json({name: getattr(self, name) for name in ("run_id", "task", "as_of", "actions", "held")})

    def document(self) -> dict[str, Any]:
        """Return the plan in its portable form (see `plan_document.write`), the input of `apply`."""
        from memory_pipeline.consolidation.plans import plan_document  # noqa: PLC0415 - no recall reads plans

        return plan_document.write(self.plan, self.profiles, changes=self.changes)

    def told(self) -> list[str]:
        """Return how much of each kind changes, a sentence each, such as "2 repeats -> 1"."""
        from memory_pipeline.consolidation.plans import telling  # noqa: PLC0415 - no recall reads plans

        return telling.summary(self.changes)

    def __str__(self) -> str:
        """Return what the run changed, or would change, as a few lines."""
        head = f"plan of {self.task}, nothing written" if self.run_id is None else f"run {self.run_id} of {self.task}"
        held = [f"{self.held} decisions held back by the quota"] if self.held else []
        return listed(f"{head}, as of {self.as_of:%Y-%m-%d %H:%M %Z}", [*self.told(), *held] or ["nothing to change"])

    __repr__ = __str__


def _is_all_there_is(memory: Recalled) -> bool:
    """Return whether there is no more to know about a memory than its text."""
    open_to_doubt = memory.conflicts or memory.outdated_by or memory.closed_statements
    return memory.current is not False and not open_to_doubt and not memory.deep


def _is_told(memory: Recalled, told_of: Mapping[str, str], written: set[str]) -> bool:
    """Return whether core memory has the text of a memory: as its fact (`told_of`), or in a statement of the user's."""
    if one_line(memory.text) in told_of.get(memory.memory_id, ""):
        return True
    by_user = memory.speaker is None or memory.speaker.lower() in USERS
    return by_user and _sentences(whereabouts.below(memory.heading, memory.text)) <= written


def _sentences(text: str) -> set[str]:
    """Return the sentences of a text without the dates and users that a summary puts before them."""
    return {sentence.rstrip(".").casefold() for sentence in _CUT.split(text) if sentence}
