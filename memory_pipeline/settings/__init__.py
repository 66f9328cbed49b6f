"""Every setting: its name, type, default and meaning, and where its value came from.

A `Policy` is what one profile's memories are consolidated by; `Settings` is the deployment: folders, schedules and
the policy of each profile. Environment beats file beats preset beats default. What is not here: what a setting does
(`consolidation/`), and the presets themselves (`presets/*.toml`, one file each, no code).
"""

from memory_pipeline.settings.aliases import ALIASES, Alias
from memory_pipeline.settings.deployment import Origin, Settings
from memory_pipeline.settings.language_model import LanguageModel
from memory_pipeline.settings.loading import ENVIRONMENT_PREFIX, HOME_VARIABLE, SETTINGS_FILE, load
from memory_pipeline.settings.policy import Policy
from memory_pipeline.settings.presets import preset, preset_names, preset_text
from memory_pipeline.settings.schedule import cron, next_tick
from memory_pipeline.settings.values import MEMORY_TYPES, SettingsError

__all__ = [
    "ALIASES",
    "ENVIRONMENT_PREFIX",
    "HOME_VARIABLE",
    "MEMORY_TYPES",
    "SETTINGS_FILE",
    "Alias",
    "LanguageModel",
    "Origin",
    "Policy",
    "Settings",
    "SettingsError",
    "cron",
    "load",
    "next_tick",
    "preset",
    "preset_names",
    "preset_text",
]
