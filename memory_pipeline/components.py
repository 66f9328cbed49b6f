"""The pipeline as a Dagster component: a few lines of YAML in anybody's project.

Not here: what the definitions are made of (`definitions`).
"""

from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from memory_pipeline.definitions import build_defs
from memory_pipeline.settings import load


class MemoryPipelineScaffolder(dg.Scaffolder[Any]):
    """Writes a component with the attributes that a first run needs."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        """Write `defs.yaml` with a data folder inside the project and the default preset."""
        dg.scaffold_component(
            request, {"home": "data", "preset": "default", "schedules": {"nightly": "0 2 * * *"}, "start": False}
        )


@dg.scaffold_with(MemoryPipelineScaffolder)
class MemoryPipelineComponent(dg.Component, dg.Model, dg.Resolvable):
    """Consolidates the long-term memory of AI agents: scores, links, clusters, summarises, promotes and forgets.

    The environment and `memory_pipeline.toml` in the data folder take precedence over what stands here.
    """

    home: str = Field("data", description="Data folder of ledger, lake and snapshots; relative to the project.")
    preset: str = Field("default", description="Preset of every profile without its own.")
    policy: dict[str, Any] = Field(default_factory=dict, description="Settings of every profile without its own.")
    profiles: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Policies of single profiles, by profile and setting."
    )
    schedules: dict[str, Any] = Field(
        default_factory=dict, description="When runs start: nightly and maintenance (cron), timezone, sensor_seconds."
    )
    key_prefix: str | list[str] = Field("memory_pipeline", description="Prefix of asset keys and of all other names.")
    start: bool = Field(False, description="Start schedules and sensors as soon as Dagster loads them.")
    owners: list[str] = Field(default_factory=list, description="Owners of the assets: team:NAME or e-mail addresses.")
    in_process: bool = Field(
        True, description="Run each job in one process; otherwise by the executor of the code location."
    )

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the pipeline's definitions.

        Raises:
            SettingsError: a setting is unknown or out of range; names it.
        """
        home = Path(self.home)
        return build_defs(
            settings=load(
                home if home.is_absolute() else context.project_root / home,
                component={
                    **self.schedules,
                    "policy": {"preset": self.preset} | self.policy,
                    "profiles": self.profiles,
                },
            ),
            key_prefix=self.key_prefix,
            start=self.start,
            owners=self.owners,
            executor=dg.in_process_executor if self.in_process else None,
        )
