"""The MCP server: an agent's memory as tools, over standard input and output.

Descriptions are written for the agents that read them. What is not here: what the tools take and answer (`mcp_tools`).
"""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import ValidationError

from memory_pipeline.ledger.validation_errors import reason
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.client_pool import Clients
from memory_pipeline.service.mcp_tools import Tools

_INSTRUCTIONS: Final = (
    "Long-term memory that is kept in order. Call session_start when a conversation begins, recall before you answer "
    "anything that an earlier conversation may have settled, and remember (remember_many for several) for what should "
    "be known in later ones; end_session when it is over. Say with feedback whether a recalled memory helped. get and "
    "list show what is stored; update changes it, protect keeps it from being forgotten, restore brings back what a "
    "run took out, undo takes back a run or a merge. forget erases a memory for good, erase_user all of a person, only "
    "when the user asks for it. consolidate merges duplicates, links and summarises, at the end of a session or when "
    "asked; tick only merges and moves what fades, every few exchanges; explain says why a memory is as it is; status "
    "says what is stored and what is due. Every tool acts on one profile, the tenant whose memories these are: always "
    "the same one for the same user."
)


def server(home: Path, clients: Clients, runs: Runs) -> MCPServer[Any]:
    """Make the server over a data folder.

    Args:
        home: data folder, made if it is not there.
        clients: memories that stay open.
        runs: where runs are made.
    """
    tools = Tools(home, clients, runs)
    return MCPServer(
        "memory-pipeline",
        instructions=_INSTRUCTIONS,
        version=version("memory-pipeline"),
        log_level="WARNING",
        tools=[
            _tool(tools.session_start, "Start a session", writes=True, repeats=False),
            _tool(tools.recall, "Recall", writes=False, repeats=True),
            _tool(tools.get_memory, "Get a memory", name="get", writes=False, repeats=True),
            _tool(tools.list_memories, "List memories", name="list", writes=False, repeats=True),
            _tool(tools.remember, "Remember", writes=True, repeats=False),
            _tool(tools.remember_many, "Remember many", writes=True, repeats=False),
            _tool(tools.update, "Update a memory", writes=True, repeats=True),
            _tool(tools.protect, "Protect a memory", writes=True, repeats=True),
            _tool(tools.restore, "Restore a memory", writes=True, repeats=False),
            _tool(tools.feedback, "Feedback", writes=True, repeats=False),
            _tool(tools.forget, "Forget for good", writes=True, repeats=True, destroys=True),
            _tool(tools.erase_user, "Erase a person for good", writes=True, repeats=True, destroys=True),
            _tool(tools.end_session, "End a session", writes=True, repeats=True),
            _tool(tools.consolidate, "Consolidate", writes=True, repeats=True),
            _tool(tools.tick, "Tick", writes=True, repeats=False),
            _tool(tools.undo, "Undo", writes=True, repeats=False),
            _tool(tools.explain, "Explain a memory", writes=False, repeats=True),
            _tool(tools.status, "Status", writes=False, repeats=True),
        ],
    )


class _Told(Tool):
    """A tool that refuses wrong arguments as everything else is refused: field, value and remedy in one sentence."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Run the tool; see `Tool.run`."""
        try:
            return await super().run(arguments, context, convert_result)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if not isinstance(found := error.__cause__, ValidationError):
                raise
            said = reason(found, self.fn_metadata.arg_model)
            raise ToolError(f"Error executing tool {self.name}: {said}") from found


def _tool(
    function: Callable[..., Any],
    title: str,
    *,
    writes: bool,
    repeats: bool,
    destroys: bool = False,
    name: str | None = None,
) -> Tool:
    """Make a tool that refuses arguments it does not know or of other types: a misspelt `dry_run` starts no run."""
    notes = ToolAnnotations(
        title=title,
        read_only_hint=not writes,
        destructive_hint=destroys,
        idempotent_hint=repeats,
        open_world_hint=False,
    )
    tool = _Told.from_function(function, name=name, title=title, annotations=notes)
    taken = tool.fn_metadata.arg_model
    taken.model_config |= {"extra": "forbid", "strict": True}
    taken.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": tool.parameters | {"additionalProperties": False}})
