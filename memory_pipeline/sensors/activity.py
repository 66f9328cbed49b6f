"""The sensors that request runs for what agents did: which asks what, and for which job.

What is due by time alone is asked by schedules (`jobs/intervals.py`).
"""

from dataclasses import dataclass
from typing import Final

import dagster as dg

from memory_pipeline.assets.resources import Store
from memory_pipeline.sensors.requests import request
from memory_pipeline.settings import Settings


@dataclass(frozen=True)
class Question:
    """What a sensor asks."""

    name: str
    job: str
    rules: tuple[str, ...]
    """Triggers that call for the job (see `triggers.due`)."""
    description: str


QUESTIONS: Final = (
    Question(
        "arrivals",
        "projection",
        ("arrivals",),
        "Reads and enriches new events at once; accesses alone wait five minutes. Decides nothing.",
    ),
    Question(
        "reflection",
        "reflect",
        ("reflection",),
        "Fires when the importance stored since the last committed reflection exceeds its threshold "
        "(reflection, reflection_threshold).",
    ),
    Question(
        "sessions",
        "full",
        ("session_end", "sessions", "nightly"),
        "Consolidates when a session ends or after so many sessions (session_trigger, scheduled_sessions), and makes "
        "up for a nightly run that was missed or failed.",
    ),
    Question(
        "activity",
        "lightweight",
        ("idle", "steps"),
        "Compiles core memory and prunes faded edges after a pause, once a pause, and after so many new memories "
        "(idle_timeout_seconds, step_count_trigger).",
    ),
    Question(
        "ingestion",
        "tick",
        ("ingestion",),
        "Lets faded memories go cold and merges groups of them after so many batches of memories (ingestion_cycles).",
    ),
)
"""Every sensor that requests runs."""


def sensor(question: Question, settings: Settings) -> dg.SensorDefinition:
    """Make the sensor that asks a question."""

    @dg.sensor(
        name=question.name,
        job_name=question.job,
        minimum_interval_seconds=settings.sensor_seconds,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=question.description,
    )
    def evaluate(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.RunRequest | dg.SkipReason:
        return request(context, store, question.job, question.rules)

    return evaluate
