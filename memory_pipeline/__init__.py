"""Consolidates the long-term memory of AI agents as a Dagster data pipeline.

The public door: `MemoryClient` (and `AsyncMemoryClient`) for agents, `Settings` (or `load_settings`) and `build_defs`
for whoever runs the pipeline. Everything else is reached through its own module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from memory_pipeline.settings import Settings
from memory_pipeline.settings import load as load_settings

if TYPE_CHECKING:
    from memory_pipeline.definitions import build_defs
    from memory_pipeline.recall.client.async_client import AsyncMemoryClient
    from memory_pipeline.recall.client.memory_client import MemoryClient

__all__ = ["AsyncMemoryClient", "MemoryClient", "Settings", "build_defs", "load_settings"]

_ROOMS: Final = {
    "AsyncMemoryClient": "memory_pipeline.recall.client.async_client",
    "MemoryClient": "memory_pipeline.recall.client.memory_client",
    "build_defs": "memory_pipeline.definitions",
}


def __getattr__(name: str) -> Any:
    """Load on first use: Dagster takes seconds, the client a part of one, and the pure rooms do without either."""
    if name in _ROOMS:
        return getattr(import_module(_ROOMS[name]), name)
    raise AttributeError(f"module 'memory_pipeline' has no attribute {name!r}")
