"""The stages of a run, one module each, in the order of the run: the one declaration of the graph.

A module has `Inputs` and `Outputs`, the tables that its stage takes and gives by name and schema, and one function
decorated with `stage`. The order of a run, the assets, the rebuild, the undo and the docs are all made from these
types. A stage passes tables and the policy's values to the module that does the work (`scoring`, `clustering`, ...).
Not here: what a stage declares (`stage`), and several policies in one run (`pipeline`).
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Final

from memory_pipeline.consolidation.stage import DECLARED, Stage

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

STAGES: Final[Mapping[str, Stage]] = {one.name: one for one in DECLARED}
"""Every stage by name, in the order of a run."""
