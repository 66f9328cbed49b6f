"""The routes of the HTTP service that use the memory: store, recall, change, explain, take back and erase.

Each is one call of the client of a profile. What is not here: tokens, errors and the other routes (`http_server`), and
bodies that other faces take too (`bodies`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from memory_pipeline.ledger.payloads import Instant
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.service.auth_tokens import Grant
from memory_pipeline.service.http_guard import SEVERAL, SINGLE, Authorized, Problem, known, within
from memory_pipeline.service.request_bodies import MAX_BATCH, Conditions, Id, NewMemory, RequestBody, present_fields

if TYPE_CHECKING:
    from memory_pipeline.service.client_pool import Clients


class Stored(BaseModel):
    """What was stored."""

    profile_id: str = Field(description="Whose memory it is.")
    memory_ids: list[str] = Field(description="Ids of the memories, in the order given.")


class Question(RequestBody):
    """What is to be known."""

    query: Id = Field(description="What is to be known, in plain words.")
    k: int = Field(10, ge=1, le=1000, description="At most so many memories.")
    token_budget: int | None = Field(None, ge=1, description="At most so many tokens in all.")
    min_score: float | None = Field(None, ge=0, le=1, description="Only memories with at least this score.")
    as_of: Instant | None = Field(None, description="Search the state of this instant; default: now.")
    deep: bool = Field(False, description="Also what is archived, cold or superseded, with half its lead.")
    filters: Conditions | None = Field(None, description="Only among these.")
    ranking: str = Field("default", description="default, engram, automem, cognitive, cosine or lexical.")
    record: bool = Field(True, description="Note that these memories were used, which keeps them fresh.")


class Listing(Conditions):
    """Which memories are listed."""

    model_config = ConfigDict(strict=False)  # what stands in an address is text
    limit: int = Field(100, ge=1, le=10_000, description="At most so many.")
    deep: bool = Field(False, description="Also what is archived, cold or superseded.")
    profile_id: str | None = Field(None, min_length=1, description="Whose; a token for one profile needs none.")


class Opened(RequestBody):
    """What a session will be about."""

    query: Id | None = Field(None, description="In plain words; default: core memory alone.")


class Change(RequestBody):
    """What changes of a memory; what is left out stays."""

    content: Id | None = Field(None, description="Its new text.")
    importance: float | None = Field(None, ge=0, le=1, description="Its new importance.")
    tags: list[str] | None = Field(None, description="Its new tags, all of them; an empty list clears them.")
    metadata: dict[str, Any] | None = Field(None, description="Its new metadata, replacing the old as a whole.")
    valid_from: Instant | None = Field(None, description="It holds from this instant on.")
    valid_until: Instant | None = Field(None, description="It holds until this instant.")


class Reason(RequestBody):
    """Whether and why a memory is protected."""

    reason: str | None = Field(None, description="Shown by explain.")
    protected: bool = Field(True, description="False: protect it no longer.")


class Helped(RequestBody):
    """Whether a recalled memory helped."""

    helpful: bool = Field(description="Whether it helped to answer.")


class Target(RequestBody):
    """What is taken back."""

    target: Id = Field(description="Run id, plan id, or memory id (of a summary: the merge).")
    cascade: bool = Field(False, description="Also take back what builds on it.")


def _profile(
    grant: Authorized,
    profile_id: Annotated[
        str | None, Query(min_length=1, description="Whose memory; a token for one profile needs none.")
    ] = None,
) -> str:
    own = within(grant, profile_id)
    if own is None:
        raise HTTPException(422, "profile_id is missing: this token is for every profile; add ?profile_id=NAME")
    return own


Profile = Annotated[str, Depends(_profile)]


def _client(request: Request, profile: Profile) -> Iterator[MemoryClient]:
    clients: Clients = request.app.state.clients
    with clients.of(profile) as client:
        yield client


Client = Annotated[MemoryClient, Depends(_client)]
Memory = Annotated[str, Path(min_length=1, description="Id of the memory.")]
Session = Annotated[str, Path(min_length=1, description="The session.")]
AsOf = Annotated[Instant | None, Query(description="As it stood at this instant; default: now.")]

_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    403: {"model": Problem, "description": "The token is for another profile, or not for this."},
    404: {"model": Problem, "description": "There is no such memory, or the profile has none."},
    422: {"model": Problem, "description": "The request is wrong."},
    503: {"model": Problem, "description": "Settings or store cannot be read."},
}
router = APIRouter(responses=_REFUSED)


@router.post("/memories", status_code=201)
def remember(
    profile: Profile,
    client: Client,
    asked: Annotated[
        Annotated[NewMemory, Tag(SINGLE)]
        | Annotated[Annotated[list[NewMemory], Field(min_length=1, max_length=MAX_BATCH)], Tag(SEVERAL)],
        Discriminator(lambda body: SEVERAL if isinstance(body, list) else SINGLE),
    ],
) -> Stored:
    """Store one memory or a list of them; all or none. They can be recalled at once."""
    rows = asked if isinstance(asked, list) else [asked]
    return Stored(profile_id=profile, memory_ids=client.remember_many([present_fields(row) for row in rows]))


@router.get("/memories")
def list_memories(
    request: Request,
    grant: Authorized,
    profile: Profile,
    client: Client,
    asked: Annotated[Listing, Query()],
) -> JSONResponse:
    """List memories, newest first."""
    found = client.list(present_fields(asked, exclude={"limit", "deep", "profile_id"}), asked.limit, deep=asked.deep)
    _not_misspelt(request, grant, profile, nothing=not found)
    return JSONResponse([memory.to_dict() for memory in found])


@router.get("/memories/{memory_id}")
def get_memory(client: Client, memory_id: Memory, as_of: AsOf = None) -> JSONResponse:
    """Show one memory as it stands now, or stood at an instant."""
    return JSONResponse(client.get(memory_id, as_of=as_of).to_dict())


@router.patch("/memories/{memory_id}")
def update(client: Client, memory_id: Memory, asked: Change) -> JSONResponse:
    """Change a memory's text or the time in which it holds; the ledger keeps what it was."""
    if not (change := present_fields(asked)):
        raise HTTPException(422, f"nothing to change: give at least one of {', '.join(Change.model_fields)}")
    return JSONResponse(client.update(memory_id, **change).to_dict())


@router.delete("/memories/{memory_id}")
def erase_memory(request: Request, profile: Profile, client: Client, memory_id: Memory) -> JSONResponse:
    """Erase a memory for good, from the ledger on; answers with a receipt. An agent may do this in its own profile."""
    known(request.app.state.lake, profile)
    return JSONResponse(client.erase(memory_id).to_dict())


@router.delete("/users/{user_id}")
def erase_user(
    grant: Authorized, client: Client, user_id: Annotated[str, Path(min_length=1, description="The person.")]
) -> JSONResponse:
    """Erase everything of a person in a profile for good; an administrator's token is needed."""
    _for_administrators(grant)
    return JSONResponse(client.erase(user=user_id).to_dict())


@router.delete("/profiles/{profile_id}")
def erase_profile(
    request: Request, grant: Authorized, profile_id: Annotated[str, Path(min_length=1, description="The profile.")]
) -> JSONResponse:
    """Erase everything of a profile for good; an administrator's token is needed."""
    _for_administrators(grant)
    known(request.app.state.lake, profile_id)
    clients: Clients = request.app.state.clients
    with clients.of(profile_id) as client:
        return JSONResponse(client.erase(profile=True).to_dict())


@router.post("/memories/{memory_id}/protect")
def protect(client: Client, memory_id: Memory, asked: Reason | None = None) -> JSONResponse:
    """Keep a memory from being archived, trimmed or deleted."""
    wanted = asked or Reason()
    return JSONResponse(client.protect(memory_id, wanted.reason, protected=wanted.protected).to_dict())


@router.post("/memories/{memory_id}/restore")
def restore(client: Client, memory_id: Memory) -> JSONResponse:
    """Bring a memory back that a run has archived, merged or trimmed."""
    return JSONResponse(client.restore(memory_id).to_dict())


@router.post("/memories/{memory_id}/feedback")
def feedback(client: Client, memory_id: Memory, asked: Helped) -> JSONResponse:
    """Say whether a recalled memory helped."""
    return JSONResponse(client.feedback(memory_id, helpful=asked.helpful).to_dict())


@router.post("/undo")
def undo(client: Client, asked: Target) -> JSONResponse:
    """Take back a run, a merge or one decision, within the profile; the ledger keeps both."""
    undone = client.undo(asked.target, asked.cascade)
    return JSONResponse(jsonable_encoder({"undone": undone.to_dicts()}))


@router.post("/tick")
def tick(request: Request, profile: Profile, client: Client) -> JSONResponse:
    """Merge and move fading memories, as an agent does every few exchanges; answers when it is done."""
    known(request.app.state.lake, profile)
    return JSONResponse(client.tick().to_dict())


@router.post("/recall")
def recall(request: Request, grant: Authorized, profile: Profile, client: Client, asked: Question) -> JSONResponse:
    """Find what answers a question, best first, each with its score and the parts of it."""
    filters = present_fields(asked.filters) if asked.filters else None
    answer = client.recall(**present_fields(asked, exclude={"filters"}), filters=filters)
    _not_misspelt(request, grant, profile, nothing=not answer)
    return JSONResponse(answer.to_dict())


@router.post("/sessions/{session_id}/start")
def session_start(client: Client, session_id: Session, asked: Opened | None = None) -> JSONResponse:
    """Give what an agent reads first: core memory, then what is relevant to the query."""
    return JSONResponse(client.session_start(asked.query if asked else None, session_id).to_dict())


@router.post("/sessions/{session_id}/end", status_code=204)
def session_end(client: Client, session_id: Session) -> None:
    """Say that a session is over; the next sensor or schedule consolidates what it brought."""
    client.end_session(session_id)


@router.get("/explain/{memory_id}")
def explain(client: Client, memory_id: Memory, as_of: AsOf = None) -> JSONResponse:
    """Say everything about a memory: scores, links, decisions and why, origin; of an erased one, when it was erased."""
    return JSONResponse(client.explain(memory_id, as_of).to_dict())


def _for_administrators(grant: Grant) -> None:
    if grant.profile_id is not None:
        raise HTTPException(403, "this erases more than one memory: an administrator's token is needed")


def _not_misspelt(request: Request, grant: Grant, profile: str, *, nothing: bool) -> None:
    """Where an administrator finds nothing, say so if the profile has no memory; an agent may begin with none."""
    if nothing and grant.profile_id is None:
        known(request.app.state.lake, profile)
