"""Objects in a bucket of S3, or of any server with its interface, by the setting `lake`.

A put is one request, so readers see the old object, the new one or none. Nothing is renamed or locked. The server
cannot touch an object; an empty one beside it, a mark, says when it was touched. Endpoint and credentials come from the
variables that AWS's own tools read.
"""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from io import BufferedIOBase, BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store
from polars.exceptions import ComputeError

from memory_pipeline.lake.object_store import StoredObject
from memory_pipeline.ledger.database import LakeError

RETRIES: Final = 10
"""Attempts after the first one, over some seconds, before a request that the server fails or drops is an error."""
REQUEST_SECONDS: Final = 120.0
"""Time that one request may take, transfer included."""

_CONNECT_SECONDS: Final = 5.0
_RETRY_SECONDS: Final = 180
"""Time since the first attempt after which there is no other."""
_PAUSE: Final = timedelta(milliseconds=200)
"""Time before the second attempt; it doubles with each one."""
_LONGEST_PAUSE: Final = timedelta(seconds=5)
_TOUCHED: Final = ".touched"
"""End of a mark's key."""
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_BLOCK: Final = 10 << 20
_OF_SERVER: Final = "object-store error"
"""Part of Polars' messages about requests; its other errors are about what a file holds."""
_REMEDIES: Final = (
    ("nosuchbucket", "create the bucket, or correct the setting lake"),
    ("forbidden", "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and what they may do in this bucket"),
    ("unauthorized", "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    ("redirect", "set AWS_REGION to the region of the bucket"),
)
_UNREACHABLE: Final = (
    "check AWS_ENDPOINT_URL, AWS_REGION and the setting lake, and that the server runs; then try again"
)


class S3ObjectStore:
    """Objects below a prefix of a bucket. Not fork-safe: start processes with spawn."""

    elsewhere = True
    beyond_erasure: tuple[str, ...] = (
        "old versions, unfinished uploads, replicas and backups of the bucket of the lake",
    )

    def __init__(self, address: str, *, retries: int = RETRIES, seconds: float = REQUEST_SECONDS) -> None:
        """Open the store at s3://BUCKET[/PREFIX]; the first request shows whether the server can be reached.

        `retries` are attempts after the first one, `seconds` the time that one request may take.
        """
        self._address = address.rstrip("/")
        parts = urlsplit(self._address)
        endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
        plain = endpoint.startswith("http://")
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            disable_bulk_delete=True,  # a request that deletes several objects is not tried again
            client_options={
                "allow_http": plain,
                "timeout": timedelta(seconds=seconds),
                "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
            },
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=_RETRY_SECONDS),
                "backoff": {"init_backoff": _PAUSE, "max_backoff": _LONGEST_PAUSE, "base": 2},
            },
        )
        self.scan_options: Mapping[str, Any] = {
            "timeout": f"{seconds}s",  # else a scan waits without end for a server that says nothing
            "connect_timeout": f"{_CONNECT_SECONDS}s",
            "max_retries": retries,
            "retry_timeout_ms": _RETRY_SECONDS * 1000,
            "retry_init_backoff_ms": _PAUSE // timedelta(milliseconds=1),
            "retry_max_backoff_ms": _LONGEST_PAUSE // timedelta(milliseconds=1),
            "aws_allow_http": str(plain).lower(),
            **({"aws_endpoint_url": endpoint} if endpoint else {}),
        }

    def put(self, key: str, data: bytes | memoryview) -> None:
        """Send the object in one request."""
        with self._sending(key):
            obstore.put(self._store, key, data, use_multipart=False)

    def get(self, key: str) -> BufferedIOBase:
        """Receive the whole object in one request, so that it is one version of it."""
        with self._explained(key):
            return BytesIO(obstore.get(self._store, key).bytes())

    def list(self, prefix: str) -> Sequence[StoredObject]:
        """List the folder of the prefix, page by page; a mark makes its object younger."""
        with self._explained(prefix):
            folder = prefix.rpartition("/")[0] or None
            pages = obstore.list(self._store, folder)
            found = {meta["path"]: meta for page in pages for meta in page}
        marks = {key for key in found if key.endswith(_TOUCHED) and key.removesuffix(_TOUCHED) in found}
        return [
            StoredObject(
                key,
                max(meta["last_modified"], found.get(f"{key}{_TOUCHED}", meta)["last_modified"]).timestamp(),
                meta["size"],
            )
            for key, meta in sorted(found.items())
            if key.startswith(prefix) and key not in marks
        ]

    def delete(self, key: str) -> None:
        """Delete the object, then its mark."""
        for name in (key, f"{key}{_TOUCHED}"):
            with self._explained(name), suppress(FileNotFoundError):
                obstore.delete(self._store, name)

    def exists(self, key: str) -> bool:
        """Ask for the object's head."""
        with suppress(FileNotFoundError), self._explained(key):
            obstore.head(self._store, key)
            return True
        return False

    def touch(self, key: str) -> None:
        """Put a mark beside the object."""
        if self.exists(key):
            self.put(f"{key}{_TOUCHED}", b"")

    def fetch(self, key: str, path: Path) -> None:
        """Write the object to the file as it arrives."""
        with self._explained(key), path.open("wb") as file:
            for block in obstore.get(self._store, key).stream(min_chunk_size=_BLOCK):
                file.write(block)

    def send(self, path: Path, key: str) -> None:
        """Send the file in parts, each tried again by itself, which the server joins at the end."""
        with self._sending(key):
            obstore.put(self._store, key, path, chunk_size=_BLOCK)

    def uri(self, key: str) -> str:
        """Return the object's address."""
        return f"{self._address}/{key}"

    @contextmanager
    def scanning(self) -> Iterator[None]:
        """Turn what Polars raises for requests into the errors of this store: FileNotFoundError and LakeError."""
        with self._explained(""):
            yield

    @contextmanager
    def _sending(self, key: str) -> Iterator[None]:
        """Do as `_explained` does; what is not found by a request that sends an object is the bucket."""
        with self._explained(key):
            try:
                yield
            except FileNotFoundError as error:
                raise LakeError(f"{self.uri(key)}: no such bucket: {_REMEDIES[0][1]}") from error

    @contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        """Turn failures of requests into FileNotFoundError for an object, or else a LakeError with a remedy."""
        try:
            yield
        except (BaseError, OSError, ComputeError) as error:
            cause = str(error)
            if isinstance(error, ComputeError) and _OF_SERVER not in cause:
                raise
            if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in cause:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.uri(key)) from error
            if isinstance(error, OSError) and error.errno is not None and _OF_SERVER not in cause:
                raise  # of the local disk
            remedy = next((remedy for sign, remedy in _REMEDIES if sign in cause.lower()), _UNREACHABLE)
            short = cause.splitlines()[0].partition(": <")[0].rstrip(" :-")  # without the answer's body
            raise LakeError(f"lake = {self._address}: {short}: {remedy}") from error
