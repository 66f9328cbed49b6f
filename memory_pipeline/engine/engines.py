"""Chooses the engine of a run by the settings and by its size."""

from typing import Final

from memory_pipeline.consolidation.pipeline import IN_TURN, ROWS_AT_ONCE, Engine
from memory_pipeline.engine.cores import cores
from memory_pipeline.engine.process_pool import ProcessPool
from memory_pipeline.engine.spark import Spark
from memory_pipeline.settings import Settings
from memory_pipeline.settings.values import LOCAL

LARGE: Final = 50_000
"""Memories from which on a run uses several processes unless `workers` is set: below, they start too slowly to help."""

_JOBS: Final = 8
"""Jobs on a cluster at once unless `workers` is set."""

_PARTS_EACH: Final = 4
"""Parts for each worker, so that none waits long for the last of another."""

_SMALLEST: Final = 2_000
"""Rows of a part below which handing it over costs more than it gains."""


def choose(settings: Settings, *, memories: int) -> Engine:
    """Return the engine of a run over so many memories, by the settings `engine` and `workers`.

    A run whose policies ask a language model is computed in this process: the budget of its requests is the run's.
    """
    if any(policy.llm_model for policy in (settings.policy, *settings.profiles.values())):
        return IN_TURN
    if settings.engine != LOCAL:
        jobs = settings.workers or _JOBS
        return Spark(settings.engine, jobs, rows_at_once=_rows(memories, jobs))
    workers = settings.workers or (cores() if memories >= LARGE else 1)
    return ProcessPool(workers, rows_at_once=_rows(memories, workers)) if workers > 1 else IN_TURN


def _rows(memories: int, workers: int) -> int:
    """Return the maximum rows of a part: several parts for each worker, but no more than bounds its memory."""
    return min(ROWS_AT_ONCE, max(_SMALLEST, memories // (workers * _PARTS_EACH)))
