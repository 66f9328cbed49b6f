"""Calls of stages in tests: only the tables that matter are named, the others are empty."""

from memory_pipeline.consolidation.stages import STAGES
from memory_pipeline.schemas import TABLES


def apply(name, context, **tables):
    """Apply a stage to these tables, and return what it gives; every other table that it takes is empty."""
    stage = STAGES[name]
    assert set(tables) <= set(stage.takes), f"{name} takes no {set(tables) - set(stage.takes)}"
    given = stage.inputs(**{taken: tables.get(taken, TABLES[taken].empty()) for taken in stage.takes})
    made = stage.function(given, context)
    return made if len(made) > 1 else made[0]
