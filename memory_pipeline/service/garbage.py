"""How often a process of the program looks for garbage."""

import gc
from typing import Final

_NEW_OBJECTS: Final = 50_000
"""Number of new objects at which Python looks for garbage; its default is 700."""


def collect_seldom() -> None:
    """Collect garbage rarely: what imports create stays, and scanning it takes a quarter of their time."""
    gc.set_threshold(_NEW_OBJECTS)
