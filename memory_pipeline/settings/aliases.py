"""Setting names of other systems, accepted so that their configurations can be reused unchanged.

Here: which name maps to which setting under which preset. Not here: reading the names (`loading`).
"""

from dataclasses import dataclass
from typing import Any, Final

from memory_pipeline.settings.values import SettingsError

AUTOMEM_PREFIX: Final = "CONSOLIDATION_"
NESTED: Final = "consolidation"
"""Table of SuperLocalMemory's settings: `consolidation.enabled` is `enabled` in that table."""

_RATES: Final = "energy is computed from the events alone, at the rates of the design"


@dataclass(frozen=True)
class Alias:
    """Name of a setting in another system."""

    name: str
    """The name as that system writes it."""
    setting: str | None
    """The setting that it maps to; None: accepted without effect."""
    preset: str
    """The preset that models that system."""
    factor: float = 1.0
    """Conversion factor to the unit of the setting."""
    why: str = ""
    """Reason for having no effect."""
    fixed: float | None = None
    """The value in force, whatever is configured."""

    def converted(self, value: Any) -> Any:
        """Return a value in the unit of the setting; the setting itself validates values that are not numbers."""
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
"""All names that differ from ours; `base_decay_rate`, for example, is the same in both systems."""

VARIABLES: Final = {
    alias.name: alias.setting for alias in ALIASES if alias.setting and alias.name.startswith(AUTOMEM_PREFIX)
}
"""Environment variables of AutoMem deployments, by name."""


def find(name: str, preset: str) -> Alias | None:
    """Return the alias that a name is under a preset; None if it is none, a SettingsError if it could be several."""
    candidates = [alias for alias in ALIASES if alias.name == name]
    matching = [alias for alias in candidates if alias.preset == preset]
    if len(candidates) > 1 and not matching:
        meanings = " and ".join(f"{alias.setting} under the preset {alias.preset}" for alias in candidates)
        raise SettingsError(f"{name} means {meanings}; write the setting's own name, or choose a preset")
    return next(iter(matching or candidates), None)


def names(setting: str, preset: str) -> list[str]:
    """Return the aliases of a setting that are unambiguous under a preset."""
    all_names = [alias.name for alias in ALIASES]
    return [
        alias.name
        for alias in ALIASES
        if alias.setting == setting and (alias.preset == preset or all_names.count(alias.name) == 1)
    ]
