"""The alarm: logs which run failed, for which profiles, why and what to do, and posts it to `alert_url`.

Failed ticks of sensors and schedules are posted as well. Both retry by themselves; nothing here starts a run.
"""

import json
import logging
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPException
from typing import Any, Final

import dagster as dg

from memory_pipeline.assets.namespace import Namespace, is_own
from memory_pipeline.assets.run_tags import RETRY, task_of
from memory_pipeline.settings import Settings, SettingsError

ANSWER_SECONDS: Final = 10.0
"""How long the receiver of a report may take to answer."""

_told: Final[dict[str, str]] = {}
"""Error of the last tick of each sensor and schedule of this process, if it failed."""

_RETRIED: Final = "dagster/will_retry"
"""Tag that Dagster gives a failed run that it will start again."""


@dataclass(frozen=True, kw_only=True)
class Automation:
    """What the sensors and schedules of a deployment share."""

    settings: Settings
    names: Namespace
    start: bool
    """Start them as soon as Dagster loads them."""
    alert_url: Callable[[], str | None]
    """Returns the address to report to, at the time of a failure; None: nothing is to be reported."""

    def of_sensor(self, name: str) -> dict[str, Any]:
        """Return the arguments that every sensor has."""
        status = dg.DefaultSensorStatus.RUNNING if self.start else dg.DefaultSensorStatus.STOPPED
        seconds = self.settings.sensor_seconds
        return {"name": self.names.name(name), "minimum_interval_seconds": seconds, "default_status": status}

    def of_schedule(self, name: str, *, asked: bool = True) -> dict[str, Any]:
        """Return the arguments that every schedule has; one that is not asked for is off."""
        status = dg.DefaultScheduleStatus.RUNNING if self.start and asked else dg.DefaultScheduleStatus.STOPPED
        zone = self.settings.timezone
        return {"name": self.names.name(name), "execution_timezone": zone, "default_status": status}

    @contextmanager
    def ticking(self, log: logging.Logger, name: str) -> Iterator[None]:
        """Report an error of a tick, and let Dagster record it: a tick that fails starts no run, whose failure tells.

        The same error of tick after tick, of the sensor or schedule `name`, is reported once.
        """
        whole = self.names.name(name)
        try:
            yield
        except Exception as error:
            reason, _, remedy = str(error).rpartition("; ")
            found = {
                "tick": whole,
                "failed_at": datetime.now(UTC).isoformat(),
                "reason": reason or remedy or type(error).__name__,
                "remedy": remedy if reason else f"look at the ticks of {whole} in the Dagster UI",
            }
            if _told.get(whole) != str(error):
                log.critical("[consolidation] %s failed: %s; %s", whole, found["reason"], found["remedy"])
                self.alert(log, found)
            _told[whole] = str(error)
            raise
        _told.pop(whole, None)

    def alert(self, log: logging.Logger, found: dict[str, Any]) -> None:
        """Send a report to `alert_url`, if one is set; a failure to send is logged."""
        try:
            if url := self.alert_url():
                post(url, found)
        except SettingsError as error:
            log.warning("[consolidation] alert_url could not be read: %s", error)
        except (OSError, HTTPException) as error:
            # The address itself is not logged: often it is the secret.
            log.warning("[consolidation] posting to alert_url failed: %s", error)


def sensor(automation: Automation) -> dg.SensorDefinition:
    """Make the sensor that reports every failed run of the pipeline's jobs."""

    @dg.run_failure_sensor(
        **automation.of_sensor("failures"),
        description="Logs each failed run with profiles, reason and remedy, and posts it as JSON to alert_url, if set.",
    )
    def evaluate(context: dg.RunFailureSensorContext) -> None:
        if not is_own(context.dagster_run, automation.names):
            return
        found = document(context, automation.names)
        who = ", ".join(found["profiles"]) or "all profiles"
        message = "[consolidation] %s failed for %s: %s; %s"
        context.log.error(message, found["job"], who, found["reason"], found["remedy"])
        automation.alert(context.log, found)

    return evaluate


def document(context: dg.RunFailureSensorContext, names: Namespace) -> dict[str, Any]:
    """Return the report on a failed run.

    `job`, `run_id`, `task`, `trigger`, `profiles` (empty: all), `failed_at`, `reason`, `remedy`, `retried` (whether it
    is started again automatically).
    """
    run = context.dagster_run
    resources: dict[str, Any] = dict(run.run_config).get("resources", {})  # type: ignore[assignment]
    given = resources.get(names.name("run"), {}).get("config", {})
    reason, _, remedy = _reason(context).rpartition("; ")
    record = context.instance.get_run_record_by_id(run.run_id)
    tags = record.dagster_run.tags if record else run.tags
    ended = record.end_time if record else None
    return {
        "job": run.job_name,
        "run_id": run.run_id,
        "task": task_of(record.dagster_run if record else run, names),
        "trigger": given.get("trigger", "manual"),
        "profiles": list(given.get("profiles", ())),
        "failed_at": datetime.fromtimestamp(ended, UTC).isoformat() if ended else None,
        "reason": reason or remedy,
        "remedy": remedy if reason else f"look at run {run.run_id} in the Dagster UI",
        "retried": "true" in {tags.get(_RETRIED), tags.get(RETRY)},
    }


def post(url: str, found: dict[str, Any]) -> None:
    """Send a report as JSON; OSError or HTTPException, if there was no answer, or it was an error or not HTTP."""
    headers = {"Content-Type": "application/json"}
    sent = urllib.request.Request(url, json.dumps(found).encode(), headers, method="POST")  # noqa: S310 - settings take only addresses of the web
    with urllib.request.urlopen(sent, timeout=ANSWER_SECONDS):  # noqa: S310 - settings take only addresses of the web
        pass


def root_cause(error: Any) -> str | None:
    """Return the first line of the root cause of an error that Dagster recorded; None of no error."""
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message.strip().splitlines()[0] if error else None


def _reason(context: dg.RunFailureSensorContext) -> str:
    """Return the reason given by the first step that failed, or else by the run."""
    for event in context.get_step_failure_events():
        failure = event.step_failure_data
        if failure.user_failure_data and failure.user_failure_data.description:
            return failure.user_failure_data.description
        if cause := root_cause(failure.error):
            return cause
    return context.failure_event.message or "no reason was recorded"
