"""Consolidates the long-term memory of AI agents as a Dagster data pipeline.

The public interface: `MemoryClient` and `AsyncMemoryClient` for agents, with the `Answer` and `Memory` they return and
the `UnknownMemory` they raise; `Settings`, `load_settings` and `build_defs` for running the pipeline. Everything else
is imported from its own module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from memory_pipeline.definitions import build_defs
    from memory_pipeline.ledger.database import UnknownMemory
    from memory_pipeline.recall.client.async_client import AsyncMemoryClient
    from memory_pipeline.recall.client.memory_client import MemoryClient
    from memory_pipeline.recall.models import Answer, Memory
    from memory_pipeline.settings import Settings
    from memory_pipeline.settings import load as load_settings

__all__ = [
    "Answer",
    "AsyncMemoryClient",
    "Memory",
    "MemoryClient",
    "Settings",
    "UnknownMemory",
    "build_defs",
    "load_settings",
]

_MODULES: Final = {
    "Answer": "memory_pipeline.recall.models",
    "AsyncMemoryClient": "memory_pipeline.recall.client.async_client",
    "Memory": "memory_pipeline.recall.models",
    "MemoryClient": "memory_pipeline.recall.client.memory_client",
    "Settings": "memory_pipeline.settings",
    "UnknownMemory": "memory_pipeline.ledger.database",
    "build_defs": "memory_pipeline.definitions",
    "load_settings": "memory_pipeline.settings",
}


def __dir__() -> list[str]:
    """Return the public names, imported yet or not, and no other."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import on first use: Dagster takes seconds, the client one, and `memory-pipeline --version` needs neither."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), "load" if name == "load_settings" else name)
    raise AttributeError(f"module 'memory_pipeline' has no attribute {name!r}")
