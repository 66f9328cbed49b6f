"""Consolidates the long-term memory of AI agents as a Dagster data pipeline.

The public door: `Settings` (or `load_settings`) and `build_defs`. Everything else is reached through its own module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memory_pipeline.settings import Settings
from memory_pipeline.settings import load as load_settings

if TYPE_CHECKING:
    from memory_pipeline.definitions import build_defs

__all__ = ["Settings", "build_defs", "load_settings"]


def __getattr__(name: str) -> Any:
    """Load `build_defs` on first use: Dagster takes seconds, and the pure rooms do without it."""
    if name == "build_defs":
        return import_module("memory_pipeline.definitions").build_defs
    raise AttributeError(f"module 'memory_pipeline' has no attribute {name!r}")
