"""Resources of a run: the store, and the state of the ledger that the run reads.

Settings come from the environment, the settings file and the presets (`memory_pipeline.settings`), never from here.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property, partial
from math import isnan
from pathlib import Path
from typing import Any, Literal

import dagster as dg
import polars as pl
from pydantic import Field

from memory_pipeline.assets.namespace import Namespace
from memory_pipeline.assets.run_tags import RETRY
from memory_pipeline.consolidation import model_requests
from memory_pipeline.consolidation.context import Complete
from memory_pipeline.consolidation.pipeline import Engine
from memory_pipeline.consolidation.plans import leaving_out, plan_document, quota
from memory_pipeline.consolidation.scope import KNOWN
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.engine import engines
from memory_pipeline.lake.tables import Conflict, Lake, LakeError
from memory_pipeline.ledger.event import CLOCK_SKEW
from memory_pipeline.runs import consolidate, inputs
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy, Settings, SettingsError, load, under_preset

Task = Literal["full", "reflect", "lightweight", "decay", "creative", "cluster", "forget", "promote", "reembed", "tick"]
"""Task of a run (`consolidation.context.TASKS`); a type, so that Dagster refuses any other at launch."""

Preset = Literal["", "automem", "cognitive", "default", "engram", "superlocal", "three_tier"]
"""Preset of a run (`settings.preset_names`); empty: each profile's own."""


class Run(dg.ConfigurableResource[None]):
    """Which state a run reads and what it may decide; set per launch."""

    as_of: str = Field(
        default="", description="The one clock of the run, ISO 8601, UTC unless it has an offset; empty: now."
    )
    seq: int = Field(default=0, description="Ledger position to read up to; 0: the head.")
    profiles: list[str] = Field(default=[], description="Profiles that take part; empty: every profile with a memory.")
    shards: list[int] = Field(
        default=[],
        description="Shards that take part, from 0, if the setting `shards` says how many there are; empty: all.",
    )
    task: Task = Field(default="full", description="What the run may decide.")
    scope: str = Field(
        default="all",
        description=f"What may be decided about: {KNOWN}; recent: sessions touched since the last reflection.",
    )
    trigger: str = Field(default="manual", description="What started the run: schedule, sensor, manual or cli.")
    preset: Preset = Field(default="", description="Preset to use instead of each profile's own; empty: none.")
    retry_reverted: bool = Field(default=False, description="Propose undone decisions again.")
    max_archived_share: float = Field(
        default=-1.0, description="Quota of this run instead of the policy's; negative: the policy's."
    )
    plan_file: str = Field(default="", description="Plan that a dry run wrote: commit exactly this one or fail.")
    without: list[str] = Field(default=[], description="Ids of rows to leave out of that plan.")

    def instant(self) -> datetime:
        """Return the clock of the run: as configured, else now; a ValueError, if `as_of` is not an instant."""
        if not self.as_of:
            return datetime.now(UTC)
        try:
            given = datetime.fromisoformat(self.as_of)
        except ValueError as error:
            raise ValueError(
                f"run.as_of = {self.as_of!r} is not an instant; write it like 2026-03-01T02:00:00Z"
            ) from error
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)

    def position(self) -> int | None:
        """Return the ledger position to read up to; None: the head; a ValueError, if `seq` is negative."""
        if self.seq < 0:
            raise ValueError(f"run.seq = {self.seq} is not a ledger position; give a positive one, or 0 for the head")
        return self.seq or None

    def quota(self) -> float | None:
        """Return the quota of the run; None: that of the policy; a ValueError, if `max_archived_share` is no share."""
        share = self.max_archived_share
        if share > 1.0 or isnan(share):
            raise ValueError(
                f"run.max_archived_share = {share} is not a share; give a number from 0 to 1, or a negative one for "
                "the policy's quota"
            )
        return None if share < 0 else share

    def plan(self) -> dict[str, Any]:
        """Return the plan file that the run is to apply; a ValueError, if there is none, or it is not a JSON object."""
        try:
            return dict(json.loads(Path(self.plan_file).read_text("utf-8")))
        except (OSError, ValueError) as error:
            raise ValueError(f"plan {self.plan_file}: {error}; make one with a dry run") from error


class Store:
    """The data folder of a run: ledger, lake and settings, opened when they are first used."""

    def __init__(self, home: Path, run: Run, settings: Settings | None = None) -> None:
        """Name the store, which is opened later; default: settings are read afresh in every run."""
        self.home = home
        self.run = run
        self._given = settings

    @cached_property
    def lake(self) -> Lake:
        """The lake, opened once a run."""
        return Lake(self.home)

    @cached_property
    def settings(self) -> Settings:
        """Settings in force, under the run's preset if it names one."""
        if self._given is None:
            return load(self.home, preset_name=self.run.preset or None)
        return under_preset(self._given, self.run.preset) if self.run.preset else self._given

    def close(self) -> None:
        """Close what was opened."""
        if "lake" in vars(self):
            self.lake.close()

    def completer(self, policies: Mapping[str, Policy]) -> Complete:
        """Return what answers the requests to a language model: the plan to apply, else the model, where installed."""
        if self.run.plan_file:
            return partial(model_requests.answers_from, plan_document.carried(self.run.plan()))
        return consolidate.completer(self.settings, policies.values())

    @cached_property
    def engine(self) -> Engine:
        """Where the parts of a stage are computed, by the settings and by the size of the whole store."""
        return engines.choose(self.settings, memories=int(self.lake.ledger.profiles()["memories"].sum()))

    def participants(self, *, preview: bool = False) -> pl.DataFrame:
        """Return who takes part in the run, from which state, under which policy: the table `profiles`.

        Args:
            preview: allow an instant in the future or before the last commit, since nothing will be committed.

        Raises:
            dagster.Failure: the run's configuration or the plan to apply does not fit the store.
        """
        run = self.run
        with refusing(ValueError):
            if run.plan_file:
                return inputs.profiles_of_plan(self.lake, self.settings, run.plan())
            # The position before the clock: what comes between is later than both.
            position = run.position() or self.lake.ledger.position()
            clock = run.instant()
            if not preview and clock > datetime.now(UTC) + CLOCK_SKEW:
                raise ValueError(
                    f"run.as_of = {clock.isoformat()} is in the future, and later runs could not go back before it; "
                    "use a preview to look at it"
                )
            profiles = inputs.select_profiles(
                self.lake,
                self.settings,
                as_of=clock,
                seq=position,
                profiles=run.profiles,
                shards=run.shards,
                task=run.task,
                scope=run.scope,
                trigger=run.trigger,
                max_archived_share=run.quota(),
                retry_reverted=run.retry_reverted,
            )
            if not preview:
                self.lake.refuse_stale(profiles)
            return profiles

    def read(self, name: str, profiles: pl.DataFrame) -> pl.DataFrame:
        """Read an input table of the run (see `inputs.read_table`); what it leaves out of a plan counts as undone."""
        undone = dict(zip(("decisions", "reverted"), leaving_out.as_undone(self.left_out), strict=True))
        rows = inputs.read_table(self.lake, name, profiles)
        return pl.concat([rows, undone[name]]) if name in undone else rows

    @cached_property
    def left_out(self) -> pl.DataFrame:
        """Decisions that the run leaves out of the plan that it applies; dagster.Failure, if that lacks them."""
        with refusing(ValueError):
            if not self.run.without:
                return TABLES["consolidation_plan"].empty()
            return inputs.left_out(self.run.plan(), self.run.without)

    def agreed(self, plan: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
        """Return the plan that the run commits: the given one, or that of its plan file but for what is left out.

        The given one is made as if what is left out had been undone; dagster.Failure, if nothing is and they differ.
        """
        if not self.run.plan_file:
            return plan
        with refusing(ValueError):
            if self.left_out.is_empty():
                inputs.check_agreed(plan, self.run.plan())
                return plan
            written, profiles = plan_document.read(self.run.plan())
        state = State(tables["memories"], tables["decided_edges"])
        kept = leaving_out.remaining(written, self.left_out, plan, profiles)
        return quota.hold(kept, profiles, state)


def store(home: Path, settings: Settings | None, names: Namespace) -> dg.ResourceDefinition:
    """Make the resource that gives each run its `Store` and closes it afterwards."""
    run_key = names.name("run")

    @dg.resource(required_resource_keys={run_key}, description=f"The data folder {home}: ledger, lake and settings.")
    def opened(context: dg.InitResourceContext) -> Iterator[Store]:
        open_store = Store(home, getattr(context.resources, run_key), settings)
        try:
            yield open_store
        finally:
            open_store.close()

    return opened


def store_of(context: Any, names: Namespace) -> Store:
    """Return the store that the context of a step, a schedule or a sensor was given."""
    opened: Store = getattr(context.resources, names.name("store"))
    return opened


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Turn expected errors into a failure of the step: one sentence, and no retry."""
    complete: tuple[type[Exception], ...] = (*kinds, SettingsError, LakeError)
    try:
        yield
    except complete as error:
        raise dg.Failure(str(error), allow_retries=False) from None


@contextmanager
def overtaken(instance: dg.DagsterInstance, run_id: str) -> Iterator[None]:
    """Turn a conflict with a later change into a failure after which Dagster retries the whole run."""
    try:
        yield
    except Conflict as conflict:
        instance.add_run_tags(run_id, {RETRY: "true"})
        raise dg.Failure(str(conflict)) from None
