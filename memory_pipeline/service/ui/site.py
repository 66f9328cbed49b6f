"""The application that serves the pages, mounted in the HTTP service: signing in, forms, errors.

Not here: what a page shows (`pages`), and the checks of hosts, origins and sizes, which the service makes for both.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from memory_pipeline.consolidation.plans import telling
from memory_pipeline.lake.object_store import LocalObjectStore
from memory_pipeline.lake.tables import PLANS_PREFIX, Lake
from memory_pipeline.ledger.event import DEFAULT_PROFILE
from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.service import auth_tokens
from memory_pipeline.service.actions import Approval, Consolidation
from memory_pipeline.service.http_guard import PAGES, authorized_profile, error_handlers, require_memories
from memory_pipeline.service.profile_choice import stored_profiles
from memory_pipeline.service.report import figure, when
from memory_pipeline.service.ui import charts, pages
from memory_pipeline.service.ui.pages import Visit
from memory_pipeline.service.ui.sign_in import SignedIn, SignIns
from memory_pipeline.settings import load

Show = Callable[[Visit, MemoryClient], dict[str, Any]]
Act = Callable[[Visit, MemoryClient], str]

MENU: Final[dict[str, tuple[str, Show]]] = {
    "search": ("Search", pages.search),
    "core": ("Core memory", pages.core),
    "review": ("Review", pages.review),
    "plan": ("Next plan", pages.plan),
    "runs": ("Runs", pages.runs),
    "faded": ("What faded", pages.faded),
    "health": ("Health", pages.health),
}
"""Pages of the menu: path, title, and what they show."""

OTHERS: Final[dict[str, tuple[str, Show]]] = {
    "memory": ("Memory", pages.memory),
    "run": ("What a run changed", pages.run),
    "undo": ("Undo?", pages.undoing),
}
"""Pages that others link to."""

SIGN_IN: Final = "sign-in"
ENTER: Final = "enter"
"""Path of the link that signs in whoever started the server."""
USED: Final = "this link was used or has run out; start memory-pipeline ui again for a new one, or sign in with a token"
_ENDED: Final = "ended-"
"""Begins the names of the fields that hold what no longer holds of the older of two memories."""
_LEFT_OUT: Final = "without-"
"""Begins the name of the field that leaves a row out of a plan."""
_FIELDS: Final = 1_000
"""Most fields of a form."""
_WRONG: Final = 400
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser would send forms from the origin `null`
    "Cache-Control": "no-store",
}
_SCRIPTED: Final = ("review",)
"""Pages with a script, for the keyboard; they work without."""


def application(state: State, codes: Mapping[type[Exception], int]) -> Starlette:
    """Build the pages over the state of the HTTP service; `codes` are the status by class of error."""
    state.sign_ins = SignIns(state.home)
    state.invitation = state.sign_ins.invite()
    site = Starlette(
        routes=[
            Route("/", lambda _: _redirect("search")),
            Route("/style.css", _file("style.css", "text/css")),
            Route("/review.js", _file("review.js", "text/javascript")),
            Route(f"/{SIGN_IN}", _ask_token, methods=["GET"]),
            Route(f"/{SIGN_IN}", _sign_in, methods=["POST"]),
            Route("/sign-out", _form(_sign_out), methods=["POST"]),
            Route(f"/{ENTER}", _enter, methods=["GET"]),
            *(
                Route(f"/{path}", _page(path, title, show), methods=["GET"])
                for path, (title, show) in (MENU | OTHERS).items()
            ),
            Route("/answer", _form(_answer), methods=["POST"]),
            Route("/plan", _form(_make_plan), methods=["POST"]),
            Route("/apply", _form(_apply), methods=["POST"]),
            Route("/undo", _form(_undo), methods=["POST"]),
        ],
        exception_handlers={**error_handlers(codes, _error_page), HTTPException: _refused},
    )
    site.state = state
    return site


def _page(path: str, title: str, show: Show) -> Callable[[Request], Response]:

    def endpoint(request: Request) -> Response:
        if (signed_in := _signed_in(request)) is None:
            return _redirect(SIGN_IN)
        visit = _visit(request, signed_in, request.query_params)
        with visit.state.clients.of(visit.profile_id) as memory:
            return _shown(path, request, visit, title=title, **show(visit, memory))

    return endpoint


def _form(act: Act) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a form: performs the action, and redirects to the path that `act` returns."""

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(_done, act, request, await _fields(request))

    return endpoint


def _done(act: Act, request: Request, fields: Mapping[str, str]) -> Response:
    if (signed_in := _signed_in(request)) is None:
        return _redirect(SIGN_IN)
    if not signed_in.sent(fields.get("form_key", "")):
        raise HTTPException(403, "this form belongs to another sign-in; open the page again")
    visit = _visit(request, signed_in, fields)
    with visit.state.clients.of(visit.profile_id) as memory:
        return _redirect(act(visit, memory))


def _make_plan(visit: Visit, _: MemoryClient) -> str:
    require_memories(visit.state.lake, visit.profile_id)
    wanted = Consolidation(profile_id=visit.profile_id, dry_run=True)
    with visit.state.slots.taken(visit.signed_in.grant.token_id):
        visit.signed_in.plan = visit.state.runs.plan(wanted, trigger="http")
    return _path("plan", profile=visit.profile_id)


def _apply(visit: Visit, _: MemoryClient) -> str:
    """Queue the run that commits the plan of this browser exactly as it was shown, without the rows left out."""
    document = visit.signed_in.plan
    if document is None or document["sha256"] != visit.asked.get("plan"):
        raise HTTPException(409, "this is not the latest plan; make the plan again")
    held = ExitStack()
    held.enter_context(visit.state.slots.taken(visit.signed_in.grant.token_id))
    with held:
        wanted = Approval(
            profile_id=visit.profile_id,
            plan_file=_written(document, visit.state.lake, held),
            without=[name.removeprefix(_LEFT_OUT) for name in visit.asked if name.startswith(_LEFT_OUT)],
        )
        visit.state.runs.start_holding(wanted, held.pop_all(), trigger="http")
    visit.signed_in.plan = None
    return _path("runs", profile=visit.profile_id)


def _written(document: Mapping[str, Any], lake: Lake, held: ExitStack) -> Path:
    """Write a plan to a file that `held` deletes; if the server is killed, sweeps and erasures delete it."""
    key, store = f"{PLANS_PREFIX}{secrets.token_hex(8)}.plan.json", LocalObjectStore(lake.home)
    held.callback(store.delete, key)
    store.put(key, json.dumps(document).encode())
    return Path(store.uri(key))


def _undo(visit: Visit, memory: MemoryClient) -> str:
    with visit.state.slots.taken(visit.signed_in.grant.token_id):
        undone = memory.undo(visit.asked.get("target", ""), "cascade" in visit.asked)
    page = "review" if "answer" in visit.asked else "runs"
    return _path(page, profile=visit.profile_id, undone=str(undone.height))


def _answer(visit: Visit, memory: MemoryClient) -> str:
    """Record how two memories relate, or leave the pair for later."""
    relation, pair = visit.asked.get("relation", ""), visit.asked.get("pair", "")
    later = visit.signed_in.later
    if relation == "skip":
        later.add(pair)
        return _path("review", profile=visit.profile_id)
    if relation == "again":
        later.clear()
        return _path("review", profile=visit.profile_id)
    ended = [text for name, text in visit.asked.items() if name.startswith(_ENDED)]
    if relation == "partial" and (asked := pages.asked_about(visit, memory)):
        if missing := next((text for text in ended if text.strip() not in asked.older.content), None):
            return _path("review", profile=visit.profile_id, pair=pair, wrong="elsewhere", words=missing)
        if not ended:
            return _path("review", profile=visit.profile_id, pair=pair, wrong="unmarked")
    statement = "\n".join(ended) if relation == "partial" else None
    answer = memory.resolve(pair, relation, statement=statement, answered_by="owner")
    return _path("review", profile=visit.profile_id, answered=answer or "", said=relation)


def _sign_out(visit: Visit, _: MemoryClient) -> str:
    visit.state.sign_ins.leave(visit.signed_in.key)
    return SIGN_IN


def _ask_token(request: Request) -> Response:
    return _shown("sign_in", request, None, title="Sign in", wrong=None)


async def _sign_in(request: Request) -> Response:
    fields = await _fields(request)
    entered = await run_in_threadpool(request.app.state.sign_ins.enter, fields.get("token", ""))
    if entered is None:
        return _shown("sign_in", request, None, 401, title="Sign in", wrong=auth_tokens.REFUSED)
    return _welcomed(request, entered)


def _enter(request: Request) -> Response:
    """Sign in by the link that the terminal shows; a browser that is signed in already just goes on."""
    if _signed_in(request) is not None:
        return _redirect("search")
    entered = request.app.state.sign_ins.accept(request.query_params.get("key", ""))
    if entered is None:
        return _shown("sign_in", request, None, 401, title="Sign in", wrong=USED)
    return _welcomed(request, entered)


def _welcomed(request: Request, entered: SignedIn) -> Response:
    answer = _redirect("search")
    secure = request.url.scheme == "https"
    answer.set_cookie(_cookie(request), entered.key, path=PAGES, httponly=True, samesite="strict", secure=secure)
    return answer


def _file(name: str, media_type: str) -> Callable[[Request], Response]:
    """Return the endpoint of a file that lies beside this module."""
    content = (resources.files("memory_pipeline.service.ui") / name).read_bytes()
    return lambda _: Response(content, media_type=media_type, headers={"X-Content-Type-Options": "nosniff"})


async def _fields(request: Request) -> dict[str, str]:
    """Return the fields of a form, without blank ones; only a page of this server may send one."""
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, f"Origin is {origin!r}, which is not this server")
    try:
        return dict(parse_qsl((await request.body()).decode(), max_num_fields=_FIELDS))
    except ValueError as error:
        raise HTTPException(422, f"the form cannot be read: {error}") from error


def _signed_in(request: Request) -> SignedIn | None:
    found: SignedIn | None = request.app.state.sign_ins.find(request.cookies.get(_cookie(request), ""))
    return found


def _cookie(request: Request) -> str:
    """Return the name of the cookie: browsers share cookies among the ports of a host, so it has the port."""
    return f"memory_pipeline_{request.url.port or request.url.scheme}"


def _visit(request: Request, signed_in: SignedIn, asked: Mapping[str, str]) -> Visit:
    """Return what a request asks, and of which profile."""
    given = {name: value for name, value in asked.items() if value.strip()}
    named, lake = given.get("profile"), request.app.state.lake
    owner, settings = authorized_profile(signed_in.grant, named), load(request.app.state.home)
    if owner is None:
        owner = settings.default_profile or next(iter(stored_profiles(lake)), DEFAULT_PROFILE)
    elif signed_in.grant.profile_id is None:
        require_memories(lake, owner)
    request.state.visit = visit = Visit(
        state=request.app.state, signed_in=signed_in, profile_id=owner, asked=given, zone=settings.zone
    )
    return visit


def _shown(name: str, request: Request, visit: Visit | None, code: int = 200, **values: Any) -> HTMLResponse:
    path = request.url.path.removeprefix(f"{request.scope.get('root_path', '')}/")
    # Of an error the cause may be the store itself.
    profiles = stored_profiles(visit.state.lake) if visit and visit.admin and code < _WRONG else []
    html = (
        _templates()
        .get_template(f"{name}.html")
        .render(visit=visit, path=path, menu=MENU, profiles=profiles, link=partial(_link, visit), **values)
    )
    policy = _HEADERS["Content-Security-Policy"] + ("; script-src 'self'" if name in _SCRIPTED else "")
    return HTMLResponse(html, code, _HEADERS | {"Content-Security-Policy": policy})


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("memory_pipeline.service.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"when": _when, "figure": figure, "confidence": telling.confidence}
    made.globals |= {"chart_width": charts.WIDTH, "chart_height": charts.HEIGHT}
    return made


@pass_context
def _when(context: Context, instant: datetime | None, otherwise: str = "-") -> str:
    """Return an instant to the minute, in the time zone of the reader."""
    return when(instant, otherwise, zone=context["visit"].zone)


def _link(visit: Visit | None, page: str, **parameters: str) -> str:
    """Return the address of a page about the profile of a visit."""
    return _path(page, **({"profile": visit.profile_id} if visit else {}) | parameters)


def _path(page: str, **parameters: str) -> str:
    return f"{page}?{urlencode(parameters)}"


def _redirect(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303, {"Cache-Control": "no-store"})


async def _refused(request: Request, error: Exception) -> Response:
    code, detail = (error.status_code, error.detail) if isinstance(error, HTTPException) else (500, str(error))
    return _error_page(request, code, detail)


def _error_page(request: Request, code: int, detail: str) -> HTMLResponse:
    visit = getattr(request.state, "visit", None)
    return _shown("problem", request, visit, code, title="That did not work", detail=detail)
