"""The MCP server: which tools an agent is offered, their schemas, and whose memories a call may touch."""

import inspect
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, GetPromptResult, InputRequiredResult, Resource, ToolAnnotations
from mcp.types import Prompt as MCPPrompt
from mcp.types import Tool as MCPTool
from pydantic import ConfigDict, Field, SkipValidation, ValidationError

from memory_pipeline.ledger.validation_errors import nearest, reason, shown
from memory_pipeline.recall.client.client_pool import Clients
from memory_pipeline.service.auth_tokens import Grant
from memory_pipeline.service.background_runs import Runs
from memory_pipeline.service.limits import Busy, Slots
from memory_pipeline.service.mcp_reads import MemoryReads, core_of
from memory_pipeline.service.mcp_tools import MemoryTools
from memory_pipeline.service.profile_choice import allowed_profile, grant_of


@dataclass(frozen=True)
class _Offer:
    """One tool: its method of the same name, unless another is named, and its effects as declared to clients."""

    name: str
    use: str = ""
    """When to call it, for the server's instructions; empty where the description says enough."""
    method: str = ""
    reads: bool = False
    """Changes nothing, except that `recall` records accesses unless the server is read-only."""
    erases: bool = False
    heavy: bool = False
    """Reads a whole profile, so few at once are accepted from one token."""
    admin: bool = False
    """Over HTTP it needs an administrator's token."""
    listed: bool = True
    """Whether agents are told of it unless a server names its tools; programs call it in any case."""
    rare: tuple[str, ...] = ()
    """Arguments that it takes but does not list: programs and people ask for them, agents hardly ever."""


_OWNERS: Final = frozenset({"profile_id", "profiles"})
"""Arguments that say whose memory it is."""
_NAMED: Final = frozenset({"session_start", "recall", "remember"})
"""Tools that list the argument `profile_id`; all take it, as the instructions say."""
_OFFERS: Final = (
    _Offer("session_start", "session_start when a conversation begins"),
    _Offer(
        "recall",
        "recall before answering anything earlier talk may have settled",
        reads=True,
        rare=("k", "min_score", "ranking", "profiles", "user_id", "session_id", "after"),
    ),
    _Offer("get", method="get_memory", reads=True, rare=("as_of",)),
    _Offer("list", method="list_memories", reads=True, rare=("deep", "current", "limit")),
    _Offer(
        "remember",
        "remember what later conversations should know",
        rare=(
            *("memory_type", "importance", "agent_id", "occurred_at", "valid_from", "valid_until", "protect"),
            *("session_id", "expires_in"),
        ),
    ),
    _Offer("remember_many", listed=False),
    _Offer("update", rare=("importance", "tags", "metadata", "valid_from", "valid_until")),
    _Offer("protect", rare=("reason", "protected")),
    _Offer("restore", listed=False),
    _Offer("review", "review and resolve now and then", reads=True, rare=("limit",)),
    _Offer("resolve"),
    _Offer("feedback", "feedback on whether a recalled memory helped"),
    _Offer("forget", "forget only when the user asks for it", erases=True, heavy=True),
    _Offer("erase_user", erases=True, heavy=True, admin=True),
    _Offer("erase_questions", erases=True, heavy=True, admin=True),
    _Offer("end_session", "end_session when it is over"),
    _Offer("consolidate", heavy=True, rare=("lightweight", "task", "scope")),
    _Offer("tick", heavy=True, listed=False),
    _Offer("undo", heavy=True, rare=("cascade",)),
    _Offer("explain", reads=True),
    _Offer("status", reads=True),
)


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What a server lets its agents do; a ValueError names a tool that is unknown, or writes although it may not."""

    profile_id: str | None = None
    """The only profile; None lets every call name one."""
    read_only: bool = False
    """Offer only tools that change nothing; a recall is not recorded as an access."""
    tools: Sequence[str] | None = None
    """Names of the tools to offer; None: all but those that erase."""
    allow_erase: bool = False
    """Also offer the tools that erase for good."""

    def __post_init__(self) -> None:
        offers = {offer.name: offer for offer in _OFFERS}
        for name in self.tools or ():
            if name not in offers:
                raise ValueError(f"tool {name!r} is unknown; {nearest(name, offers)}")
            if self.read_only and not offers[name].reads:
                raise ValueError(f"tool {name!r} changes memories; leave it out or drop --read-only")

    def offers(self) -> list[_Offer]:
        """Return the offered tools, in their fixed order."""
        if self.tools is not None:
            return [offer for offer in _OFFERS if offer.name in self.tools]
        return [
            offer
            for offer in _OFFERS
            if (offer.reads or not self.read_only) and (not offer.erases or (self.allow_erase and not self.read_only))
        ]


def server(home: Path, clients: Clients, runs: Runs, exposure: Exposure | None = None) -> MCPServer[Any]:
    """Build the server over a data folder; by default agents may do everything but erase, in any profile."""
    exposure = exposure or Exposure()
    tools = MemoryTools(home, clients, runs, records=not exposure.read_only)
    slots = Slots(home)
    built = _Server(
        "memory-pipeline",
        instructions=_instructions(exposure),
        version=version("memory-pipeline"),
        log_level="WARNING",
        tools=[_tool(tools, offer, exposure.profile_id, slots) for offer in exposure.offers()],
    )
    built.unlisted = {offer.name for offer in exposure.offers() if not (offer.listed or exposure.tools)}
    built.listed = [] if exposure.profile_id is None else [core_of(exposure.profile_id)]
    built.single = exposure.profile_id is not None
    MemoryReads(home, clients, profile_id=exposure.profile_id, records=not exposure.read_only).offer(built)
    return built


class _Server(MCPServer[Any]):
    """A server whose listed resources are read through a template, so that the caller of each read is known."""

    listed: Sequence[Resource] = ()
    unlisted: Collection[str] = ()
    """Tools that are only for programs."""
    single: bool = False
    """Whether it has a single profile, so that no prompt asks for one."""

    async def list_tools(self) -> list[MCPTool]:
        return [tool for tool in await super().list_tools() if tool.name not in self.unlisted]

    async def list_resources(self) -> list[Resource]:
        return [*self.listed]

    async def list_prompts(self) -> list[MCPPrompt]:
        prompts = await super().list_prompts()
        if not self.single:
            return prompts
        asked = [[one for one in prompt.arguments or () if one.name not in _OWNERS] for prompt in prompts]
        pairs = zip(prompts, asked, strict=True)
        return [prompt.model_copy(update={"arguments": arguments}) for prompt, arguments in pairs]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Return a prompt; a wrong name or argument is the caller's, and not logged as a fault of the server."""
        for prompt in await self.list_prompts():
            known = [argument.name for argument in prompt.arguments or ()]
            odd = sorted({*(arguments or ())} - {*known})
            if prompt.name == name and odd:
                remedy = nearest(odd[0], known) if known else "it takes none"
                if self.single and odd[0] in _OWNERS:
                    remedy = "this server has a single profile, leave it out"
                message = f"{shown(odd[0])} is not a known argument of {name}; {remedy}"
                raise MCPError(code=INVALID_PARAMS, message=message)
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:  # which the SDK makes of any
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            if not isinstance(cause, ValueError):
                raise
            raise MCPError(code=INVALID_PARAMS, message=" ".join(str(error).split())) from None


def _instructions(exposure: Exposure) -> str:
    """Return the server's instructions: when to call which of the offered tools."""
    uses = "; ".join(offer.use for offer in exposure.offers() if offer.use)
    guide = f" Call {uses}." if uses else ""
    tenant = (
        ""
        if exposure.profile_id
        else " A profile is a tenant: every tool takes profile_id; use the same one throughout for a user, and omit it "
        "if the store has only one."
    )
    return f"Long-term memory that is consolidated over time.{guide}{tenant}"


class _MemoryTool(Tool):
    """A tool that acts on the profile its caller may touch and reports wrong arguments in one sentence."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    profile_id: str | None = Field(default=None, exclude=True)
    """The server's single profile, if it has one."""
    admin: bool = Field(default=False, exclude=True)
    slots: SkipValidation[Slots | None] = Field(default=None, exclude=True)
    """Bounds how many callers use it at once, if it is heavy."""

    @cached_property
    def output_schema(self) -> dict[str, Any] | None:
        """None: answers are text to read, and a schema of it would cost an agent more tokens than it gains."""
        return None

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        grant = grant_of(context)
        allowed = self._allowed(arguments, grant)
        try:
            with nullcontext() if self.slots is None else self.slots.taken(grant.token_id if grant else ""):
                return await super().run(allowed, context, convert_result)
        except Busy as error:
            raise self._refusal(str(error)) from None
        except UnexpectedToolError:
            raise
        except ToolError as error:
            if not isinstance(found := error.__cause__, ValidationError):
                raise
            raise self._refusal(reason(found, self.fn_metadata.arg_model)) from found

    def _allowed(self, arguments: dict[str, Any], grant: Grant | None) -> dict[str, Any]:
        """Return the arguments with the profile that server and token allow."""
        if grant is not None and self.admin and grant.profile_id is not None:
            raise self._refusal("this erases more than one memory; it needs an administrator's token")
        for name in sorted(_OWNERS & arguments.keys()) if self.profile_id is not None else ():
            raise self._refusal(f"{name!r} is not a known field; this server has a single profile, leave it out")
        searched = arguments.get("profiles")
        named = [name for name in searched if isinstance(name, str)] if isinstance(searched, list) else []
        if grant is not None and (why := grant.refusal(named)):
            raise self._refusal(why)
        asked = arguments.get("profile_id")
        if not isinstance(asked, str | None):
            return arguments  # no profile at all: the strict model of the arguments refuses it in its own words
        try:
            profile_id = allowed_profile(grant, asked, self.profile_id)
        except ValueError as error:
            raise self._refusal(str(error)) from None
        return arguments if profile_id is None else arguments | {"profile_id": profile_id}

    def _refusal(self, why: str) -> ToolError:
        return ToolError(f"Error executing tool {self.name}: {why}")


def _tool(tools: MemoryTools, offer: _Offer, profile_id: str | None, slots: Slots) -> Tool:
    """Build a tool that refuses unknown arguments and other types, so that a misspelt `dry_run` starts no run."""
    method = getattr(tools, offer.method or offer.name)
    # Of a text the SDK would send a second copy, and clients hand their agents both.
    text_alone = False if inspect.signature(method).return_annotation is str else None
    tool = _MemoryTool.from_function(
        method,
        name=offer.name,
        description=" ".join((inspect.getdoc(method) or "").split()),
        structured_output=text_alone,
    )
    arguments = tool.fn_metadata.arg_model
    arguments.model_config |= {"extra": "forbid", "strict": True}
    arguments.model_rebuild(force=True)
    schema = compact(tool.parameters, tool.parameters.get("$defs", {}))
    hidden = {
        *offer.rare,
        *(_OWNERS if profile_id is not None else _OWNERS - {"profiles"} if offer.name not in _NAMED else ()),
    }
    schema["properties"] = {name: field for name, field in schema["properties"].items() if name not in hidden}
    # Hints that equal the protocol's defaults, or mean nothing for a tool that only reads, are left out.
    hints = ToolAnnotations(read_only_hint=True) if offer.reads else ToolAnnotations(destructive_hint=offer.erases)
    changes = {"parameters": schema, "annotations": hints, "profile_id": profile_id, "admin": offer.admin}
    changes |= {"slots": slots if offer.heavy else None}
    return tool.model_copy(update=changes)


def compact(schema: Any, definitions: dict[str, Any]) -> Any:
    """Shorten a JSON schema to what an agent needs; the server itself still validates by the full model.

    Left out: titles, limits, defaults, definitions (written in place), what the fields of a field are, `null` where a
    field may be omitted, and descriptions: those of the tools say what names do not.
    """
    if "$ref" in schema:
        return compact(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        (option,) = [option for option in schema["anyOf"] if option != {"type": "null"}]
        return compact(option, definitions)
    kept = {name: schema[name] for name in ("type", "enum", "required") if name in schema}
    if "properties" in schema:
        kept["properties"] = {name: _field(compact(field, definitions)) for name, field in schema["properties"].items()}
    if "items" in schema:
        kept["items"] = _field(compact(schema["items"], definitions))
    return kept


def _field(schema: Any) -> Any:
    """Return the schema of a field without that of its own fields, but for those it must have."""
    return {name: value for name, value in schema.items() if name != "properties"}
