"""Settings: name, type, default, description and origin of each value.

`Policy` holds the settings of one profile's consolidation; `Settings` holds the deployment: folders, schedules and the
policy of each profile. Environment variables override the settings file, which overrides the preset, which overrides
the default. Not here: the behaviour of each setting (`consolidation/`) and the presets (`presets/*.toml`).
"""

from memory_pipeline.settings.aliases import ALIASES, Alias
from memory_pipeline.settings.deployment import Origin, Settings
from memory_pipeline.settings.language_model import LanguageModel
from memory_pipeline.settings.loading import (
    ENVIRONMENT_PREFIX,
    HOME_VARIABLE,
    SETTINGS_FILE,
    alert_address,
    lake_address,
    ledger_address,
    load,
    salvaged,
    under_preset,
)
from memory_pipeline.settings.policy import Policy
from memory_pipeline.settings.policy_versions import POLICY_VERSION, read_policy
from memory_pipeline.settings.presets import preset, preset_names, preset_text
from memory_pipeline.settings.schedule import cron, next_tick
from memory_pipeline.settings.values import LOCAL, MEMORY_TYPES, SQLITE, SettingsError

__all__ = [
    "ALIASES",
    "ENVIRONMENT_PREFIX",
    "HOME_VARIABLE",
    "LOCAL",
    "MEMORY_TYPES",
    "POLICY_VERSION",
    "SETTINGS_FILE",
    "SQLITE",
    "Alias",
    "LanguageModel",
    "Origin",
    "Policy",
    "Settings",
    "SettingsError",
    "alert_address",
    "cron",
    "lake_address",
    "ledger_address",
    "load",
    "next_tick",
    "preset",
    "preset_names",
    "preset_text",
    "read_policy",
    "salvaged",
    "under_preset",
]
