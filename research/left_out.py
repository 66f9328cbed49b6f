"""Fits the models of recall without one conversation at a time, so that each is evaluated on data that it never saw.

`relations` is fitted on made-up stores without questions, `changes` on those with questions, BEAM and generated chats,
and `keep` on BEAM and generated chats, so none has seen a labelled store or a LoCoMo conversation; BEAM is used only
where nothing is trimmed.
Not here: one fit (`fit_ranking`, `fit_changes`) and the figures (`quality`).
"""

from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Final

import fit_changes
import fit_ranking
import numpy as np
from numpy.typing import NDArray

from memory_pipeline.recall.rank.features import FEATURES
from memory_pipeline.settings import model_files
from memory_pipeline.settings.new_stores import EMBEDDER

Models = Mapping[str, Mapping[str, float]]
"""Coefficients by name of the model, which stand in for the shipped ones."""

_RIDGE: Final = 0.01
"""Ridge strength that the fit of the shipped ranking chose."""


def models(shared: Path, pool: Executor) -> Mapping[str, Models]:
    """Fit the models of recall without each source that they were fitted on.

    Args:
        shared: folder with `beam` and `beam500k`.
        pool: where the fits run.

    Returns:
        Coefficients by name of the model, by `FOLDER/NAME` of the conversation that was left out; of `changes`, the
        whole folder.
    """
    fits = (pool.submit(_rankings, shared), pool.submit(_changes, shared))
    rankings, changes = (fit.result() for fit in fits)
    talks = {
        f"{folder}/{path.stem}": {"changes": changes[folder]}
        for folder in _TALKS
        for path in (shared / folder).glob("*.json")
    }
    ranking = model_files.ranking_names(EMBEDDER)[0]
    beam = {f"beam/{name}": {ranking: fitted, "changes": changes["beam"]} for name, fitted in rankings.items()}
    return talks | beam


_TALKS: Final = ("beam", "beam500k")
"""Folders of conversations that the shipped models were fitted on."""


def _rankings(shared: Path) -> dict[str, dict[str, float]]:
    """Return the coefficients of the ranking fitted without each BEAM conversation, by its name."""
    training = fit_ranking.examples_of_talks(shared / "beam", model=EMBEDDER)
    return {
        chat: _named(fit_ranking.fit([one for one in training if one.group != chat], _RIDGE))
        for chat in dict.fromkeys(one.group for one in training if one.source == "beam")
    }


def _named(weights: NDArray[np.float64]) -> dict[str, float]:
    shares = weights * (1.0 / float(weights.sum()))
    return {name: float(share) for name, share in zip(FEATURES, shares, strict=True)}


def _changes(shared: Path) -> dict[str, dict[str, float]]:
    """Return the coefficients of changed facts fitted without each folder of conversations."""
    training = fit_changes.training_examples([shared / folder for folder in _TALKS])
    return {
        folder: fit_changes.coefficients(fit_changes.fit([one for one in training if one.source != folder]))
        for folder in _TALKS
    }
