"""Bearer tokens of the service: who may ask, for which profile. The file holds hashes, never a token.

What is not here: which request needs which role (`service/http_server.py`).
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

import filelock

from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.disk import sync

TOKENS_FILE: Final = "tokens.json"
PREFIX: Final = "mpt_"
"""Beginning of every token, so that one that leaked is known for what it is."""

_BYTES: Final = 32
_LOCK_SECONDS: Final = 30.0


class Role(StrEnum):
    """What a token allows."""

    ADMIN = "admin"
    """Everything, for every profile."""
    AGENT = "agent"
    """To see, change and consolidate one profile."""


@dataclass(frozen=True)
class Grant:
    """What is known of a token."""

    token_id: str
    """Names it in lists; says nothing about the token."""
    name: str
    role: Role
    profile_id: str | None
    """The only profile that it sees; None: all."""
    sha256: str
    """Of the token, 64 hex digits."""
    created_at: datetime

    def allows(self, profile_id: str) -> bool:
        """Whether the token may see, change and consolidate a profile."""
        return self.profile_id in {None, profile_id}


def create(home: Path, role: Role, *, profile_id: str | None = None, name: str = "") -> tuple[str, Grant]:
    """Make a token of 256 random bits and return it, which nobody can do again, with what is kept of it.

    Args:
        home: data folder.
        role: what it allows.
        profile_id: the profile of an agent; an admin has none.
        name: what a person calls it.

    Raises:
        ValueError: an agent without a profile, or an admin with one.
        LakeError: the file cannot be read or written.
    """
    if (role is Role.AGENT) != bool(profile_id):
        remedy = "name its --profile" if role is Role.AGENT else "leave --profile out, or make it an agent"
        raise ValueError(f"role {role.value}: an agent is for one profile, an admin for all; {remedy}")
    token = PREFIX + secrets.token_urlsafe(_BYTES)
    grant = Grant(secrets.token_hex(4), name, role, profile_id, _hash(token), datetime.now(UTC))
    with _changing(home):
        _write(home, [*listing(home), grant])
    return token, grant


def listing(home: Path) -> list[Grant]:
    """Return what is known of every token, oldest first.

    Raises:
        LakeError: the file cannot be read.
    """
    file = home / TOKENS_FILE
    with explained(home):
        text = file.read_text("utf-8") if file.exists() else "[]"
    try:
        return [
            Grant(**row | {"role": Role(row["role"]), "created_at": datetime.fromisoformat(row["created_at"])})
            for row in json.loads(text)
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise LakeError(f"{file}: is no list of tokens ({error}); remove it and make new tokens") from error


def revoke(home: Path, token_id: str) -> Grant:
    """Make a token worthless and return what was known of it.

    Raises:
        ValueError: there is none of that id.
        LakeError: the file cannot be read or written.
    """
    with _changing(home):
        grants = listing(home)
        gone = next((grant for grant in grants if grant.token_id == token_id), None)
        if gone is None:
            raise ValueError(f"token {token_id!r} is unknown; `memory-pipeline token list` names them")
        _write(home, [grant for grant in grants if grant is not gone])
    return gone


def identify(home: Path, token: str) -> Grant | None:
    """Return what is known of a token; None if it was never made or is revoked.

    Every kept hash is compared, each in constant time, so that the answer takes as long whichever it is.

    Raises:
        LakeError: the file cannot be read.
    """
    digest = _hash(token)
    found = None
    for grant in listing(home):
        if hmac.compare_digest(grant.sha256, digest):
            found = grant
    return found


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@contextmanager
def _changing(home: Path) -> Iterator[None]:
    """Keep other writers out."""
    with explained(home):
        home.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(home / "tokens.lock", timeout=_LOCK_SECONDS):
            yield


def _write(home: Path, grants: list[Grant]) -> None:
    """Replace the file in one step; only its owner can read it."""
    rows = [asdict(grant) | {"created_at": grant.created_at.isoformat()} for grant in grants]
    aside = home / f".{TOKENS_FILE}.{secrets.token_hex(8)}.aside"
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(json.dumps(rows, indent=1) + "\n")
        sync(aside)
        aside.replace(home / TOKENS_FILE)
    finally:
        aside.unlink(missing_ok=True)
    sync(home)
