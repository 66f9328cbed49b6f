"""The bucket as DuckDB sees it while it creates views, and reads their files: their copies on this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fsspec.implementations.local import LocalFileSystem

_SCHEME: Final = "s3"


class FetchedFiles(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A file system of known files, for reading."""

    protocol = _SCHEME
    cachable = False

    def __init__(self, places: Mapping[str, Path]) -> None:
        """Know a local copy of each address."""
        super().__init__()
        self._places = places

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        """Leave an address as it is."""
        return path

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the address itself."""
        return [path.removeprefix(f"{_SCHEME}://")]

    def info(self, path: str, **options: Any) -> Any:
        """Describe the local copy."""
        return super().info(self._copy(path), **options)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        return super()._open(self._copy(path), mode, **options)

    def _copy(self, path: str) -> str:
        return str(self._places[f"{_SCHEME}://{path.removeprefix(f'{_SCHEME}://')}"])
