"""Cursors of answers: which memories earlier pages returned, so that none comes twice and none is lost.

Scores are relative to the best candidates and change with every memory that is stored, so a place in the order tells no
page.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from typing import Final

from memory_pipeline.ledger.validation_errors import shown

_BYTES: Final = 6
"""Length of a memory's key: among a million memories, a thousand returned ones hide one more in 300,000 times."""


def key(memory_id: str) -> bytes:
    """Return the key of a memory in a cursor."""
    return hashlib.blake2b(memory_id.encode(), digest_size=_BYTES).digest()


def written(keys: Iterable[bytes]) -> str | None:
    """Return the cursor of some keys; None without any."""
    return base64.urlsafe_b64encode(b"".join(keys)).decode() or None


def read(cursor: object) -> tuple[bytes, ...]:
    """Return the keys of a cursor, in order; none of None. Raises ValueError for what is no cursor."""
    if cursor is None:
        return ()
    try:
        packed = base64.b64decode(cursor.encode(), b"-_", validate=True) if isinstance(cursor, str) else b""
    except (binascii.Error, UnicodeEncodeError):
        packed = b""
    if not packed or len(packed) % _BYTES:
        raise ValueError(f"after is {shown(cursor)}; give the cursor of the answer before, or leave it out")
    return tuple(packed[at : at + _BYTES] for at in range(0, len(packed), _BYTES))
