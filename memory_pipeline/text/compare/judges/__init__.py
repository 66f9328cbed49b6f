"""Judges of pairs of memories: one module each, registered by existing.

A module of this package with a `JUDGE` is a judge named after the module, and the policy's `judge` names the one that
judges every pair. Not here: the interface of a judge (`compare/judge`).
"""

import pkgutil
from importlib import import_module
from typing import Final

from memory_pipeline.text.compare.judge import RelationJudge

JUDGES: Final[dict[str, RelationJudge]] = {
    module.name: import_module(f"{__name__}.{module.name}").JUDGE for module in pkgutil.iter_modules(__path__)
}
"""Every judge by its name."""
