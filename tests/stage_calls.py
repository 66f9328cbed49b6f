"""Calls of stages in tests: only the tables that matter are named, the others are empty."""

from memory_pipeline.consolidation.stage import tables_taken
from memory_pipeline.schemas import TABLES


def apply(function, context, **tables):
    """Apply a stage to these tables; every other table that it takes is empty."""
    takes = tables_taken(function)
    assert set(tables) <= set(takes), f"{function.__name__} takes no {set(tables) - set(takes)}"
    return function(context, **{name: tables.get(name, TABLES[name].empty()) for name in takes})
