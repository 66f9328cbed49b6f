"""The description of the HTTP service, and its page: drawn by the browser from the former, without other requests.

FastAPI's own pages load scripts from a CDN, so this one is self-contained. It needs no token; the token that a reader
types in stays in the page.
"""

import secrets
from functools import cache
from importlib import resources

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)


@router.get("/docs", response_class=HTMLResponse)
def documentation() -> HTMLResponse:
    """Return the page; its policy allows its own script and requests to this server, nothing else."""
    nonce = secrets.token_urlsafe(16)
    policy = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
    return HTMLResponse(_template().replace("{{nonce}}", nonce), headers=headers)


@router.get("/openapi.json")
async def document(request: Request) -> Response:
    """Return the description of the API. It is written once a process: anybody may ask for it, and it is long."""
    return Response(request.app.state.document(), media_type="application/json")


@cache
def _template() -> str:
    return (resources.files("memory_pipeline.service") / "docs_page.html").read_text("utf-8")
