"""The routes of the HTTP service for memories: store, recall, change, explain, undo and erase.

Each is one call of a profile's client.
"""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from starlette.convertors import Convertor, register_url_convertor

from memory_pipeline.ledger.payloads import Moment
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.client.validation import InvalidRow
from memory_pipeline.runs.undo import NOT_AGAIN
from memory_pipeline.service.auth_tokens import Grant
from memory_pipeline.service.choices import Answer
from memory_pipeline.service.http_guard import (
    SEVERAL,
    SINGLE,
    Authorized,
    Problem,
    authorized_profile,
    require_memories,
)
from memory_pipeline.service.request_bodies import (
    AnsweredBy,
    Conditions,
    Id,
    NewMemory,
    RequestBody,
    ids_of,
    present_fields,
)
from memory_pipeline.text.display import BUDGET

if TYPE_CHECKING:
    from memory_pipeline.recall.client.client_pool import Clients
    from memory_pipeline.service.limits import Slots


class _Name(Convertor[str]):
    """An id in a path: any text, since ids may hold slashes, which arrive decoded; what is no id is refused as one."""

    regex = r"[\s\S]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("id", _Name())


_SHAPE: Final = frozenset({"filters", "whole", "parts", "ids"})
"""Fields of a question that say how its answer is returned."""


class Stored(BaseModel):
    """Ids of stored memories."""

    profile_id: str = Field(description="Their profile.")
    memory_ids: list[str] = Field(
        description="Ids of the memories, in the order given; of one that only quotes, that of the memory it quotes."
    )
    quoted: dict[str, list[str]] | None = Field(
        None,
        description="By position in the order given, from 0: ids of the stored memories that a text quotes as they are "
        "shown to agents. What it quotes is not stored again.",
    )
    left_out: dict[str, str] | None = Field(
        None, description="By position too: why a text was not stored; it is kept among the dead letters."
    )


class Question(RequestBody):
    """A query for memories."""

    query: Id = Field(description="A question in plain words.")
    k: int = Field(10, ge=1, le=1000, description="Maximum number of memories to return.")
    token_budget: int | None = Field(
        None, ge=1, description=f"Maximum total of tokens to return; the text keeps to {BUDGET} by default."
    )
    min_score: float | None = Field(None, ge=0, le=1, description="Only memories with at least this score.")
    as_of: Moment | None = Field(None, description="Search the state of this instant; default: now.")
    deep: bool = Field(False, description="Include archived, cold and superseded memories, at a lower score.")
    current: bool = Field(False, description="Only memories that hold at that instant.")
    filters: Conditions | None = Field(None, description="Only memories that meet all of these.")
    after: Id | None = Field(None, description="Cursor of the answer before, which this one continues.")
    ranking: str = Field("default", description="default, engram, automem, cognitive, cosine or lexical.")
    record: bool = Field(True, description="Record an access, which keeps the memories alive.")
    session_id: Id | None = Field(None, description="Session in which it is asked.")
    user_id: Id | None = Field(
        None, description="Person who asks; the ranking engram prefers memories of their context."
    )
    profiles: list[Id] | None = Field(
        None, min_length=1, description="Profiles to search together; default: the one of the request."
    )
    parts: bool = Field(False, description="Also return the parts of each score.")
    ids: bool = Field(False, description="Name each memory in the text by its id too.")
    whole: bool = Field(
        False, description="Return all of long texts as content, not only the passages that answer the question."
    )


class Listing(Conditions):
    """Which memories to list."""

    model_config = ConfigDict(strict=False)  # query parameters are text
    limit: int = Field(100, ge=1, le=1000, description="Maximum number of memories to list.")
    after: Id | None = Field(None, description="Id of the last memory of the page before.")
    deep: bool = Field(False, description="Include archived, cold and superseded memories.")
    current: bool = Field(False, description="Only memories that hold now.")
    metadata: Id | None = Field(  # type: ignore[assignment] # the filter reads JSON too
        None, description="With these values in the metadata, as JSON; of a list, any."
    )
    profile_id: str | None = Field(None, min_length=1, description="Profile; a token for one profile needs none.")


class SessionStart(RequestBody):
    """Options of a session start."""

    query: Id | None = Field(None, description="Topic of the session; default: return core memory only.")
    project: Id | None = Field(None, description="Project at work: leave out what others instruct.")


class Change(RequestBody):
    """New values of a memory; fields that are left out stay."""

    content: Id | None = Field(None, description="New text.")
    importance: float | None = Field(None, ge=0, le=1, description="New importance.")
    tags: list[str] | None = Field(None, description="Replaces all tags; an empty list removes them.")
    metadata: dict[str, Any] | None = Field(None, description="Replaces all metadata.")
    valid_from: Moment | None = Field(None, description="True from this instant on.")
    valid_until: Moment | None = Field(None, description="True until this instant.")


class Protection(RequestBody):
    """Whether and why a memory is protected."""

    reason: str | None = Field(None, description="Shown by explain.")
    protected: bool = Field(True, description="False lifts the protection.")


class Feedback(RequestBody):
    """Whether a recalled memory helped."""

    helpful: bool = Field(description="Whether it helped to answer.")


class Resolution(RequestBody):
    """How the two memories of a pair relate."""

    pair: Id | Annotated[list[Id], Field(min_length=2, max_length=2)] = Field(
        description="Id of a pair of a review, or the ids of two memories, the older one first."
    )
    relation: Answer = Field(description="What holds; open withdraws an answer, skip records nothing.")
    newer: Id | None = Field(None, description="Memory that replaces the other, if it is not the later one.")
    statement: Id | None = Field(None, description="With partial: the sentences that no longer hold, one per line.")
    answered_by: AnsweredBy | None = Field(None, description="Who says so; default: agent if one is known, else owner.")


class UndoTarget(RequestBody):
    """What to undo."""

    target: Id = Field(description="Run id, plan id, answer id or memory id (of a summary: its merge).")
    cascade: bool = Field(False, description="Also undo decisions that build on it.")


def _profile(
    grant: Authorized,
    profile_id: Annotated[
        str | None, Query(min_length=1, description="Profile; a token for one profile needs none.")
    ] = None,
) -> str:
    owner = authorized_profile(grant, profile_id)
    if owner is None:
        raise HTTPException(422, "profile_id is missing: this token is for every profile; add ?profile_id=NAME")
    return owner


Profile = Annotated[str, Depends(_profile)]


def _client(request: Request, profile: Profile) -> Iterator[MemoryClient]:
    clients: Clients = request.app.state.clients
    with clients.of(profile) as client:
        yield client


async def _heavy(request: Request, grant: Authorized) -> AsyncIterator[None]:
    slots: Slots = request.app.state.slots
    with slots.taken(grant.token_id):
        yield


Client = Annotated[MemoryClient, Depends(_client)]
Heavy: Final = Depends(_heavy)
Memory = Annotated[str, Path(min_length=1, description="Id of the memory.")]
Session = Annotated[str, Path(min_length=1, description="Id of the session.")]
AsOf = Annotated[Moment | None, Query(description="As it was at this instant; default: now.")]

_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    403: {"model": Problem, "description": "The token is for another profile, or an administrator's is needed."},
    404: {"model": Problem, "description": "The memory is unknown, or the profile has none."},
    422: {"model": Problem, "description": "The request is invalid."},
    503: {"model": Problem, "description": "Settings or store cannot be read."},
}
router = APIRouter(responses=_REFUSED)


@router.post("/memories", status_code=201, response_model_exclude_none=True)
def remember(
    profile: Profile,
    client: Client,
    body: Annotated[
        Annotated[NewMemory, Tag(SINGLE)] | Annotated[Annotated[list[NewMemory], Field(min_length=1)], Tag(SEVERAL)],
        Discriminator(lambda value: SEVERAL if isinstance(value, list) else SINGLE),
    ],
) -> Stored:
    """Store one memory or a list of them, all or none; they can be recalled at once."""
    rows = body if isinstance(body, list) else [body]
    try:
        stored = client.store([present_fields(row) for row in rows])
    except InvalidRow as error:
        raise (error if isinstance(body, list) else ValueError(error.reason)) from error
    return Stored(profile_id=profile, **ids_of(stored))


@router.get("/memories")
def list_memories(
    request: Request,
    grant: Authorized,
    profile: Profile,
    client: Client,
    listing: Annotated[Listing, Query()],
) -> JSONResponse:
    """List memories, newest first; if there may be more, the header Link names the next page."""
    filters = present_fields(listing, exclude={"limit", "deep", "current", "after", "profile_id"})
    memories = client.list(filters, listing.limit, deep=listing.deep, current=listing.current, after=listing.after)
    _check_spelling(request, grant, profile, empty=not memories)
    full = len(memories) == listing.limit
    following = request.url.include_query_params(after=memories[-1].memory_id) if full else None
    links = {"link": f'<{following.path}?{following.query}>; rel="next"'} if following else None
    return JSONResponse([memory.to_dict() for memory in memories], headers=links)


@router.get("/memories/{memory_id:id}")
def get_memory(client: Client, memory_id: Memory, as_of: AsOf = None) -> JSONResponse:
    """Return one memory, as it is now or was at an instant."""
    return JSONResponse(client.get(memory_id, as_of=as_of).to_dict())


@router.patch("/memories/{memory_id:id}")
def update(client: Client, memory_id: Memory, change: Change) -> JSONResponse:
    """Change a memory's text, fields or validity; the ledger keeps the old values."""
    if not (values := present_fields(change)):
        raise HTTPException(422, f"nothing to change: give at least one of {', '.join(Change.model_fields)}")
    return JSONResponse(client.update(memory_id, **values).to_dict())


@router.delete("/memories/{memory_id:id}", dependencies=[Heavy])
def erase_memory(request: Request, profile: Profile, client: Client, memory_id: Memory) -> JSONResponse:
    """Erase a memory for good and return a receipt; an agent may do this in its own profile."""
    require_memories(request.app.state.lake, profile)
    return JSONResponse(client.erase(memory_id).to_dict())


@router.delete("/users/{user_id:id}", dependencies=[Heavy])
def erase_user(
    grant: Authorized,
    client: Client,
    user_id: Annotated[str, Path(min_length=1, description="Person whose memories are erased.")],
) -> JSONResponse:
    """Erase every memory of a person in a profile for good; needs an administrator's token."""
    _require_admin(grant)
    return JSONResponse(client.erase(user=user_id).to_dict())


@router.delete("/questions", dependencies=[Heavy])
def erase_questions(
    grant: Authorized,
    client: Client,
    since: Annotated[Moment, Query(description="Questions asked since this instant, such as that of an erasure.")],
) -> JSONResponse:
    """Erase the words of every question asked since an instant for good; needs an administrator's token."""
    _require_admin(grant)
    return JSONResponse(client.erase(questions_since=since).to_dict())


@router.delete("/profiles/{profile_id:id}", dependencies=[Heavy])
def erase_profile(
    request: Request, grant: Authorized, profile_id: Annotated[str, Path(min_length=1, description="Profile to erase.")]
) -> JSONResponse:
    """Erase every memory of a profile for good; needs an administrator's token."""
    _require_admin(grant)
    require_memories(request.app.state.lake, profile_id)
    clients: Clients = request.app.state.clients
    with clients.of(profile_id) as client:
        return JSONResponse(client.erase(profile=True).to_dict())


@router.post("/memories/{memory_id:id}/protect")
def protect(client: Client, memory_id: Memory, protection: Protection | None = None) -> JSONResponse:
    """Protect a memory from being archived, trimmed or deleted."""
    protection = protection or Protection()
    return JSONResponse(client.protect(memory_id, protection.reason, protected=protection.protected).to_dict())


@router.post("/memories/{memory_id:id}/restore")
def restore(client: Client, memory_id: Memory) -> JSONResponse:
    """Restore a memory that a run archived, merged or trimmed."""
    return JSONResponse(client.restore(memory_id).to_dict())


@router.post("/memories/{memory_id:id}/feedback")
def feedback(client: Client, memory_id: Memory, body: Feedback) -> JSONResponse:
    """Record whether a recalled memory helped."""
    return JSONResponse(client.feedback(memory_id, helpful=body.helpful).to_dict())


@router.get("/review")
def review(
    client: Client, limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of pairs.")] = 10
) -> JSONResponse:
    """List the pairs of memories of which the last run was unsure, those most worth an answer first."""
    return JSONResponse(client.review(limit).to_dict())


@router.post("/review")
def resolve(client: Client, body: Resolution) -> JSONResponse:
    """Say how two memories relate. It takes effect at once; `undo` withdraws it by the id that is returned."""
    pair = body.pair if isinstance(body.pair, str) else (body.pair[0], body.pair[1])
    answer = client.resolve(
        pair, body.relation, newer=body.newer, statement=body.statement, answered_by=body.answered_by
    )
    return JSONResponse({"answer_id": answer})


@router.post("/undo", dependencies=[Heavy])
def undo(client: Client, body: UndoTarget) -> JSONResponse:
    """Undo a run, a merge or one decision within the profile; the ledger keeps both."""
    undone = client.undo(body.target, body.cascade)
    again = NOT_AGAIN if undone.height else None
    return JSONResponse(jsonable_encoder({"undone": undone.to_dicts(), "again": again}))


@router.post("/tick", dependencies=[Heavy])
def tick(request: Request, profile: Profile, client: Client) -> JSONResponse:
    """Merge duplicates and move fading memories; fast, for use every few exchanges."""
    require_memories(request.app.state.lake, profile)
    return JSONResponse(client.tick().to_dict())


@router.post("/recall")
def recall(request: Request, grant: Authorized, profile: Profile, client: Client, question: Question) -> JSONResponse:
    """Find the memories that answer a question, best first, as a list and as a text for a prompt.

    With several profiles, such as a user's own and a team's, each memory names its profile.
    """
    if why := grant.refusal(question.profiles or ()):
        raise HTTPException(403, why)
    filters = present_fields(question.filters) if question.filters else None
    answer = client.recall(**present_fields(question, exclude=_SHAPE), filters=filters)
    _check_spelling(request, grant, profile, empty=not answer)
    shown = answer.to_dict() if question.whole else _passages(answer.to_dict())
    if not question.parts:
        shown["recalled"] = [{name: hit[name] for name in hit if name != "parts"} for hit in shown["recalled"]]
    return JSONResponse(shown | {"text": answer.text(question.token_budget or BUDGET, ids=question.ids)})


@router.post("/sessions/{session_id:id}/start")
def session_start(client: Client, session_id: Session, body: SessionStart | None = None) -> JSONResponse:
    """Return what an agent reads first: core memory, then memories relevant to the query."""
    found = client.session_start(session_id=session_id, **present_fields(body or SessionStart()))
    opening = found.to_dict()
    answer = opening["answer"] and _passages(opening["answer"])
    return JSONResponse(opening | {"answer": answer, "text": found.text()})


@router.post("/sessions/{session_id:id}/end", status_code=204)
def session_end(client: Client, session_id: Session) -> None:
    """Record that a session is over; the next sensor or schedule consolidates it."""
    client.end_session(session_id)


@router.get("/explain/{memory_id:id}")
def explain(client: Client, memory_id: Memory, as_of: AsOf = None) -> JSONResponse:
    """Explain a memory: scores, links, decisions with reasons, origin; for an erased one, when it was erased."""
    return JSONResponse(client.explain(memory_id, as_of).to_dict())


def _passages(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without the whole texts of which it shows passages: `content` is null there."""
    recalled = [hit | {"content": None if hit["passage"] else hit["content"]} for hit in answer["recalled"]]
    return answer | {"recalled": recalled}


def _require_admin(grant: Grant) -> None:
    if grant.profile_id is not None:
        raise HTTPException(403, "this erases more than one memory; it needs an administrator's token")


def _check_spelling(request: Request, grant: Grant, profile: str, *, empty: bool) -> None:
    """Answer an administrator's empty result with 404 if the profile has no memories; an agent may start with none."""
    if empty and grant.profile_id is None:
        require_memories(request.app.state.lake, profile)
