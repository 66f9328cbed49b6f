"""Bearer tokens of the servers: who may call, for which profile. The file holds hashes, never a token.

Not here: which request needs which role (`http_guard`, `http_memories`, `mcp_server`).
"""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import filelock

from memory_pipeline.ledger.database import LakeError, explained
from memory_pipeline.ledger.disk import private, replacing
from memory_pipeline.service.choices import Role

TOKENS_FILE: Final = "tokens.json"
PREFIX: Final = "mpt_"
"""Start of every token, so that people and secret scanners recognise a leaked one."""
REFUSED: Final = "a valid bearer token is required; an administrator creates one with: memory-pipeline token create"
"""Answer to a caller without a valid token; the same whatever is wrong with the token."""

_BYTES: Final = 32
_LOCK_SECONDS: Final = 30.0


@dataclass(frozen=True)
class Grant:
    """What a token allows, and how it is listed."""

    token_id: str
    """Identifies the token in listings; reveals nothing about it."""
    name: str
    role: Role
    profile_id: str | None
    """The only profile it may use; None: all."""
    sha256: str
    """Hash of the token, 64 hex digits."""
    created_at: datetime
    reads: tuple[str, ...] = ()
    """Other profiles whose memories it may recall, such as a team's."""

    def allows(self, profile_id: str) -> bool:
        """Whether the token may read, change and consolidate a profile."""
        return self.profile_id in {None, profile_id}

    def recalls(self, profile_id: str) -> bool:
        """Whether the token may recall memories of a profile."""
        return self.allows(profile_id) or profile_id in self.reads

    def refusal(self, profiles: Iterable[str]) -> str | None:
        """Return why the token may not recall memories of these profiles together; None if it may."""
        first = next((name for name in profiles if not self.recalls(name)), None)
        return first and f"the token may not read profile {first!r}; create one that may, with --reads"


def create(
    home: Path, role: Role, *, profile_id: str | None = None, name: str = "", reads: Sequence[str] = ()
) -> tuple[str, Grant]:
    """Create a token of 256 random bits, which cannot be recovered later, store its hash, and return it and its grant.

    Raises:
        ValueError: an agent without a profile, or an administrator with one or with profiles to read.
    """
    if (role is Role.AGENT) != bool(profile_id):
        remedy = "add --profile NAME" if role is Role.AGENT else "drop --profile, or use --role agent"
        raise ValueError(f"role {role.value}: an agent has one profile, an administrator all; {remedy}")
    if role is Role.ADMIN and reads:
        raise ValueError("role admin: an administrator reads every profile; drop --reads, or use --role agent")
    token = PREFIX + secrets.token_urlsafe(_BYTES)
    grant = Grant(secrets.token_hex(4), name, role, profile_id, _hash(token), datetime.now(UTC), tuple(reads))
    with _locked(home):
        _write(home, [*listing(home), grant])
    return token, grant


def listing(home: Path) -> list[Grant]:
    """Return the grants of all tokens, oldest first; LakeError says why the file cannot be read."""
    file = home / TOKENS_FILE
    try:
        with explained(home):
            text = file.read_text("utf-8") if file.exists() else "[]"
        return [Grant(**row | _typed(row)) for row in json.loads(text)]
    except (ValueError, TypeError, KeyError, RecursionError, IsADirectoryError) as error:
        raise LakeError(f"{file}: is not a list of tokens ({error}); remove it and create new tokens") from error


def revoke(home: Path, token_id: str) -> Grant:
    """Invalidate a token and return its grant; a ValueError says that no token has that id."""
    with _locked(home):
        grants = listing(home)
        revoked = next((grant for grant in grants if grant.token_id == token_id), None)
        if revoked is None:
            raise ValueError(f"token {token_id!r} is unknown; `memory-pipeline token list` shows the ids")
        _write(home, [grant for grant in grants if grant is not revoked])
    return revoked


def identify(home: Path, token: str) -> Grant | None:
    """Return the grant of a token; None if the token was never created or is revoked.

    Compares against every stored hash, each in constant time, so that timing reveals nothing.
    """
    digest = _hash(token)
    match = None
    for grant in listing(home):
        if hmac.compare_digest(grant.sha256, digest):
            match = grant
    return match


def identify_header(home: Path, authorization: str) -> Grant | None:
    """Return the grant of the token in an Authorization header; None if it carries no valid bearer token."""
    scheme, _, token = authorization.partition(" ")
    return identify(home, token.strip() if scheme.lower() == "bearer" else "")


def _typed(row: Mapping[str, Any]) -> dict[str, Any]:
    created_at = datetime.fromisoformat(row["created_at"])
    return {"role": Role(row["role"]), "created_at": created_at, "reads": tuple(row.get("reads", ()))}


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    with explained(home):
        private(home)
        with filelock.FileLock(home / "tokens.lock", timeout=_LOCK_SECONDS):
            yield


def _write(home: Path, grants: list[Grant]) -> None:
    """Replace the file atomically; only its owner can read it."""
    rows = [asdict(grant) | {"created_at": grant.created_at.isoformat()} for grant in grants]
    with replacing(home / TOKENS_FILE) as unfinished:
        unfinished.touch(0o600, exist_ok=False)
        unfinished.write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
