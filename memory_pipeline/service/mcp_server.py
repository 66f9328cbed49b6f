"""The MCP server: consolidate, remember, explain and status as tools for an agent, over standard input and output.

Descriptions are written for the agents that read them. What is not here: what the tools do (`actions`, `runs`,
`recall.explain`, `lake.status`).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import Field, ValidationError

from memory_pipeline.lake import status as progress
from memory_pipeline.lake.events import InvalidEvent
from memory_pipeline.lake.tables import Lake
from memory_pipeline.recall.explain import explain as explain_memory
from memory_pipeline.service import actions
from memory_pipeline.service.actions import Consolidation
from memory_pipeline.service.runs import Runs
from memory_pipeline.settings import load

SHOWN: Final = 20
"""Decisions of a plan that an agent is shown; more would fill its context."""

_INSTRUCTIONS: Final = (
    "Long-term memory that is kept in order. Use remember for what should be known in later conversations; consolidate "
    "merges duplicates, links and summarises, at the end of a session or when asked; explain says why a memory is as "
    "it is; status says what is stored and what is due. Every tool acts on one profile, the tenant whose memories "
    "these are: always the same one for the same user."
)
Profile = Annotated[str, Field(min_length=1, description="Whose memories: the tenant or user. Keep to one.")]


def server(home: Path, runs: Runs) -> MCPServer[Any]:
    """Make the server over a data folder.

    Args:
        home: data folder, made if it is not there.
        runs: where runs are made.
    """
    tools = Tools(home, runs)
    return MCPServer(
        "memory-pipeline",
        instructions=_INSTRUCTIONS,
        version=version("memory-pipeline"),
        log_level="WARNING",
        tools=[
            _tool(tools.remember, "Remember", writes=True, repeats=False),
            _tool(tools.consolidate, "Consolidate", writes=True, repeats=True),
            _tool(tools.explain, "Explain a memory", writes=False, repeats=True),
            _tool(tools.status, "Status", writes=False, repeats=True),
        ],
    )


def _tool(function: Callable[..., Any], title: str, *, writes: bool, repeats: bool) -> Tool:
    """Make a tool that refuses arguments it does not know: a misspelt `dry_run` must not start a run."""
    notes = ToolAnnotations(
        title=title, read_only_hint=not writes, destructive_hint=False, idempotent_hint=repeats, open_world_hint=False
    )
    tool = Tool.from_function(function, title=title, annotations=notes)
    taken = tool.fn_metadata.arg_model
    taken.model_config["extra"] = "forbid"
    taken.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": tool.parameters | {"additionalProperties": False}})


class Tools:
    """What an agent can do."""

    def __init__(self, home: Path, runs: Runs) -> None:
        """Name the data folder and where runs are made."""
        self._home = home
        self._runs = runs

    def remember(
        self,
        text: Annotated[
            str, Field(min_length=1, description="What to remember: one fact, complete without the conversation.")
        ],
        profile_id: Profile = "default",
        memory_type: Annotated[
            Literal["Decision", "Insight", "Pattern", "Preference", "Style", "Habit", "Context", "Memory"] | None,
            Field(description="What kind of memory it is; leave out if unsure, then the text decides."),
        ] = None,
        importance: Annotated[
            float | None, Field(ge=0, le=1, description="0 trivial, 1 vital; leave out if unsure.")
        ] = None,
        session_id: Annotated[
            str | None, Field(min_length=1, description="The conversation it comes from; the same id all along.")
        ] = None,
        protect: Annotated[
            bool, Field(description="Never let it be forgotten. Only if the user asks for that.")
        ] = False,
    ) -> dict[str, str]:
        """Store one memory for later conversations. Answers at once with its memory_id; duplicates are merged later."""
        with _refusing():
            event = actions.remember(
                self._home,
                text,
                profile_id=profile_id,
                memory_type=memory_type,
                importance=importance,
                session_id=session_id,
                protect=protect,
                origin="MCP remember",
            )
        return {"memory_id": str(event.memory_id), "profile_id": profile_id}

    def consolidate(
        self,
        profile_id: Profile = "default",
        lightweight: Annotated[
            bool, Field(description="Only what takes a moment: refresh core memory blocks, prune faded links.")
        ] = False,
        task: Annotated[
            Literal["decay", "creative", "cluster", "forget", "promote"] | None,
            Field(description="Only this task; leave out to do everything. Not together with lightweight."),
        ] = None,
        scope: Annotated[
            Literal["all", "recent"], Field(description="recent: only sessions touched since the last reflection.")
        ] = "all",
        dry_run: Annotated[
            bool, Field(description="Only show what would be decided and why; nothing is changed.")
        ] = False,
    ) -> dict[str, Any]:
        """Put the memories of a profile in order: merge duplicates, link, summarise, promote, forget by its policy.

        Takes seconds to minutes and answers when it is done, with how many decisions of each kind were made and the
        run_id by which a person can undo them. Use it at the end of a session, or when the user asks; once is enough.
        With dry_run, nothing is changed: the answer shows the first decisions that would be made, each with its reason.
        """
        with _refusing():
            wanted = Consolidation.model_validate(
                {
                    "profile_id": profile_id,
                    "lightweight": lightweight,
                    "task": task,
                    "scope": scope,
                    "dry_run": dry_run,
                }
            )
            if dry_run:
                return _planned(self._runs.plan(wanted, trigger="mcp"))
            done = self._runs.start(wanted, trigger="mcp").result.result()
        return {"run_id": done["run_id"], "profiles": [_ran(row) for row in done["profiles"]]}

    def explain(
        self,
        memory_id: Annotated[str, Field(min_length=1, description="Id of the memory, as other tools name it.")],
        profile_id: Profile = "default",
    ) -> str:
        """Say everything about one memory: text, scores, links, what was decided about it and why, where it came from.

        A memory can be explained after the first consolidation that saw it.
        """
        with _refusing(), Lake(self._home) as lake:
            return "\n".join(explain_memory(lake, memory_id, profile_id=profile_id).lines())

    def status(self, profile_id: Profile = "default") -> dict[str, Any]:
        """Say how many memories a profile has, what waits to be consolidated, what ran last and what is due next."""
        with _refusing(), Lake(self._home) as lake:
            found = progress.summary(lake, load(self._home), now=datetime.now(UTC), profile_id=profile_id)
        told = {name: found[name] for name in ("profiles", "tasks", "history", "lag_seconds")}
        return dict(json.loads(json.dumps(told, default=_plain)))


def _ran(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("profile_id", "task", "outcome", "memories", "actions")}


def _planned(document: dict[str, Any]) -> dict[str, Any]:
    plan = document["plan"]
    counts = Counter((row["action"], row["rule"], row["status"]) for row in plan)
    shown = ("action", "memory_id", "target_id", "rule", "reason", "status")
    return {
        "decisions": len(plan),
        "counts": [
            {"action": action, "rule": rule, "status": state, "decisions": count}
            for (action, rule, state), count in sorted(counts.items())
        ],
        "first": [{name: row[name] for name in shown} for row in plan[:SHOWN]],
    }


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turn what is wrong into one line that the agent can read."""
    try:
        yield
    except ValidationError as error:
        raise ToolError(error.errors()[0]["msg"].removeprefix("Value error, ")) from None
    except InvalidEvent as error:
        raise ToolError(error.reason) from None
    except (ValueError, RuntimeError, OSError) as error:
        raise ToolError(" ".join(str(error).split())) from None
