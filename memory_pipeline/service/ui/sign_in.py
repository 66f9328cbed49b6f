"""Sign-ins to the pages: a browser sends its token once, and then holds a cookie that ends with the server.

The cookie is not the token: browsers send it to every port of a host, and it expires after some hours. Whoever starts
the server gets a link that signs one browser in without a token.
"""

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from memory_pipeline.service import auth_tokens
from memory_pipeline.service.auth_tokens import Grant
from memory_pipeline.service.choices import Role

LIFETIME_SECONDS: Final = 12 * 3600
"""Seconds after which a browser must sign in again."""
MOST: Final = 32
"""Browsers that may be signed in with one token at once; the oldest of them is signed out first."""


_OWNER: Final = Grant("", "the link in the terminal", Role.ADMIN, None, "", datetime.min.replace(tzinfo=UTC))
"""Grant of whoever started the server."""


@dataclass(kw_only=True)
class SignedIn:
    """One signed-in browser."""

    key: str
    """Value of its cookie."""
    grant: Grant
    """What its token allows, as of the request in progress."""
    since: float
    plan: dict[str, Any] | None = None
    """The last plan that it asked for."""
    later: set[str] = field(default_factory=set)
    """Pairs that its review left for later."""

    @property
    def form_key(self) -> str:
        """What its forms carry, so that a page of another site cannot send them."""
        return hmac.digest(self.key.encode(), b"form", "sha256").hex()

    def sent(self, form_key: str) -> bool:
        """Whether a form with this key is its own."""
        return hmac.compare_digest(form_key.encode(), self.form_key.encode())


class SignIns:
    """The browsers that have signed in to a server; thread-safe."""

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none; `clock` returns seconds."""
        self._home = home
        self._clock = clock
        self._lock = threading.Lock()
        self._open: OrderedDict[str, SignedIn] = OrderedDict()
        self._invitation: tuple[str, float] | None = None

    def invite(self) -> str:
        """Return a key that signs one browser in as administrator, once; an earlier one no longer does.

        For whoever starts the server, who can read the data folder anyway.
        """
        key = secrets.token_urlsafe(32)
        with self._lock:
            self._invitation = key, self._clock()
        return key

    def accept(self, key: str) -> SignedIn | None:
        """Sign in with the key of an invitation; None if it is unknown, was used, or is older than a sign-in lasts."""
        with self._lock:
            invited, since = self._invitation or ("", 0.0)
            if not invited or not hmac.compare_digest(key.encode(), invited.encode()):
                return None
            self._invitation = None
        return None if self._clock() - since > LIFETIME_SECONDS else self._entered(_OWNER)

    def enter(self, token: str) -> SignedIn | None:
        """Sign in with a token; None if it is not valid."""
        grant = auth_tokens.identify(self._home, token.strip())
        return None if grant is None else self._entered(grant)

    def _entered(self, grant: Grant) -> SignedIn:
        entered = SignedIn(key=secrets.token_urlsafe(32), grant=grant, since=self._clock())
        with self._lock:
            self._open[entered.key] = entered
            own = [key for key, other in self._open.items() if other.grant.token_id == grant.token_id]
            for key in own[:-MOST]:
                del self._open[key]
        return entered

    def find(self, key: str) -> SignedIn | None:
        """Return who holds a cookie; None if it is unknown or too old, or if the token was revoked."""
        with self._lock:
            found = self._open.get(key)
        if found is None:
            return None
        valid = found.grant is _OWNER or any(
            grant.token_id == found.grant.token_id for grant in auth_tokens.listing(self._home)
        )
        if not valid or self._clock() - found.since > LIFETIME_SECONDS:
            self.leave(key)
            return None
        return found

    def leave(self, key: str) -> None:
        """Sign out."""
        with self._lock:
            self._open.pop(key, None)
