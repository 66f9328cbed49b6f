"""Names that other systems give to settings: accepted as they are, so that a configuration can move over unchanged.

Here: which name means which setting, and under which preset. What is not here: where names are read (`loading`).
"""

from dataclasses import dataclass
from typing import Any, Final

from memory_pipeline.settings.values import SettingsError

AUTOMEM_PREFIX: Final = "CONSOLIDATION_"
NESTED: Final = "consolidation"
"""Table in which SuperLocalMemory keeps its settings: `consolidation.enabled` is `enabled` of that table."""

_RATES: Final = "the energy of a memory follows from the events alone, at the rates of the design"


@dataclass(frozen=True)
class Alias:
    """What another system calls a setting."""

    name: str
    """The name, as that system writes it."""
    setting: str | None
    """The setting it means; None: accepted without effect."""
    preset: str
    """The preset that follows that system."""
    factor: float = 1.0
    """By how much a value is multiplied, where that system counts in another unit."""
    why: str = ""
    """Why it has no effect."""
    fixed: float | None = None
    """The value that holds whatever is given."""

    def converted(self, value: Any) -> Any:
        """Return a value in the unit of the setting; what is no number is left to the setting's own check."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return value * self.factor if number and self.factor != 1.0 else value


def _of(preset: str, names: dict[str, str], *, factor: float = 1.0) -> tuple[Alias, ...]:
    return tuple(Alias(name, setting, preset, factor) for name, setting in names.items())


ALIASES: Final[tuple[Alias, ...]] = (
    *_of(
        "automem",
        {
            "CONSOLIDATION_TICK_SECONDS": "sensor_seconds",
            "CONSOLIDATION_DECAY_INTERVAL_SECONDS": "decay_interval_seconds",
            "CONSOLIDATION_CREATIVE_INTERVAL_SECONDS": "creative_interval_seconds",
            "CONSOLIDATION_CLUSTER_INTERVAL_SECONDS": "cluster_interval_seconds",
            "CONSOLIDATION_FORGET_INTERVAL_SECONDS": "forget_interval_seconds",
            "CONSOLIDATION_DECAY_IMPORTANCE_THRESHOLD": "decay_importance_threshold",
            "CONSOLIDATION_HISTORY_LIMIT": "history_limit",
            "CONSOLIDATION_PROTECTED_TYPES": "protected_types",
            "CONSOLIDATION_GRACE_PERIOD_DAYS": "grace_period_days",
            "CONSOLIDATION_ARCHIVE_THRESHOLD": "archive_threshold",
            "CONSOLIDATION_DELETE_THRESHOLD": "delete_threshold",
            "min_cluster_size": "cluster_min_size",
            "similarity_threshold": "cluster_similarity",
        },
    ),
    Alias("reinforcement_bonus", None, "automem", why="none of AutoMem's formulas uses it"),
    *_of(
        "cognitive",
        {
            "consolidation_retention_threshold": "fading_retention",
            "consolidation_group_size": "fading_size",
            "consolidation_similarity_threshold": "fading_similarity",
        },
    ),
    *_of(
        "engram",
        {
            "S_base": "recency_base_hours",
            "S_boost": "recency_access_hours",
            "w_r": "w_recency",
            "w_i": "w_importance",
            "w_v": "w_relevance",
            "w_u": "w_affinity",
            "REFLECTION_THRESHOLD": "reflection_threshold",
            "similarity_threshold": "similar_to_threshold",
        },
    ),
    *_of(
        "three_tier",
        {
            "workingToShortThreshold": "short_term_energy",
            "shortToLongThreshold": "long_term_energy",
            "coactivationThreshold": "coactivation_min",
            "semanticSimilarityThreshold": "reinforcement_similarity",
            "promotionBatchSize": "promotion_batch",
        },
    ),
    Alias("workingDecay", None, "three_tier", fixed=0.5, why=_RATES),
    Alias("shortTermDecay", None, "three_tier", fixed=0.05, why=_RATES),
    Alias("longTermDecay", None, "three_tier", fixed=0.001, why=_RATES),
    Alias("decayBatchSize", None, "three_tier", why="energy is computed from the accesses, for all memories at once"),
    *_of(
        "three_tier",
        {
            "promotionIntervalMinutes": "promote_interval_seconds",
            "clusteringIntervalMinutes": "cluster_interval_seconds",
            "decayIntervalMinutes": "decay_interval_seconds",
        },
        factor=60.0,
    ),
    *_of(
        "superlocal",
        {
            "consolidation.enabled": "enabled",
            "consolidation.step_count_trigger": "step_count_trigger",
            "consolidation.session_trigger": "session_trigger",
            "consolidation.idle_timeout_seconds": "idle_timeout_seconds",
            "consolidation.scheduled_sessions": "scheduled_sessions",
            "consolidation.core_memory_char_limit": "core_memory_char_limit",
            "consolidation.block_char_limit": "block_char_limit",
            "consolidation.compression_similarity": "duplicate_similarity",
            "consolidation.promotion_min_access": "promotion_min_access",
            "consolidation.promotion_min_trust": "promotion_min_confidence",
            "consolidation.decay_days_threshold": "edge_decay_days",
        },
    ),
)
"""Every name of another system that differs from ours; `base_decay_rate`, for one, is the same in both."""

VARIABLES: Final = {
    alias.name: alias.setting for alias in ALIASES if alias.setting and alias.name.startswith(AUTOMEM_PREFIX)
}
"""Variables of AutoMem deployments that are read from the environment by their own names."""


def find(name: str, preset: str) -> Alias | None:
    """Return what a name of another system means under a preset; None if it is none.

    Raises:
        SettingsError: systems mean different settings by it, and the preset follows none of them.
    """
    meant = [alias for alias in ALIASES if alias.name == name]
    own = [alias for alias in meant if alias.preset == preset]
    if len(meant) > 1 and not own:
        said = " and ".join(f"{alias.setting} under the preset {alias.preset}" for alias in meant)
        raise SettingsError(f"{name} means {said}; write which, or choose a preset")
    return next(iter(own or meant), None)


def names(setting: str, preset: str) -> list[str]:
    """Return what other systems call a setting, as understood under a preset."""
    used = [alias.name for alias in ALIASES]
    return [
        alias.name
        for alias in ALIASES
        if alias.setting == setting and (alias.preset == preset or used.count(alias.name) == 1)
    ]
