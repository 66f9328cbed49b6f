"""Makes the reference pages of settings, tables, events and stages from the code; `make docs` writes them.

Not here: `docs/cli.md`, which typer generates (see the Makefile).
"""

import json
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from memory_pipeline.assets import catalogue
from memory_pipeline.consolidation import pipeline
from memory_pipeline.lake import dictionary
from memory_pipeline.lake.snapshot_macros import MACROS
from memory_pipeline.lake.snapshot_schemas import RECALLS, RELATIONS, Relation, sql_type
from memory_pipeline.ledger import validation_errors
from memory_pipeline.ledger.event import ABOUT_A_MEMORY, CLOCK_SKEW, SESSIONS, Event
from memory_pipeline.ledger.payloads import PAYLOADS
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import (
    ALIASES,
    ENVIRONMENT_PREFIX,
    HOME_VARIABLE,
    SETTINGS_FILE,
    Alias,
    Policy,
    Settings,
    preset_names,
    preset_text,
)
from memory_pipeline.settings.values import takes

_INTRODUCTION: Final = f"""# Settings

An environment variable overrides `{SETTINGS_FILE}` in the data folder, which overrides the preset, which overrides the
default. `memory-pipeline config show` prints every value in force and its origin. An unknown name is refused, and the
nearest known one suggested.

- Variables are named `{ENVIRONMENT_PREFIX}` + the setting in capitals. Lists are comma-separated; empty means unset.
- The data folder itself is `--home`, else `{HOME_VARIABLE}`, else `data`.
- `memory-pipeline config set NAME VALUE` edits the file: the value is validated first, comments and layout are kept;
  `config unset NAME` removes it. With `--profile NAME`, both act on the settings of one profile.
- In the file, an empty string unsets, since TOML has no null. A preset is chosen under `[policy]`, or for one profile.

```toml
nightly = "0 2 * * *"          # deployment
[policy]                       # every profile
archive_threshold = 0.05
[profiles.alice]               # one profile; the rest as in [policy]
preset = "automem"
protected_types = ["Decision", "Insight", "Preference"]
```
"""

_OTHERS: Final = """
## Names of other systems

Accepted as they are, so that configurations move over unchanged: in the settings file, with `config set`, and, for
those that begin with `CONSOLIDATION_`, as environment variables. They work under every preset; a name
that two systems share has the meaning of the system whose preset is in force. SuperLocalMemory's names may also be
in a table `consolidation`, such as `[policy.consolidation]`. Names that are identical here, such as `base_decay_rate`,
are not listed. Settings files for AutoMem's three deployments are in `deploy/automem`.

| name | preset | setting |
|---|---|---|"""


def settings() -> str:
    """Return the page `docs/settings.md`: every setting, the names of other systems, every preset."""
    deployment = [name for name in Settings.model_fields if name not in {"home", "policy", "profiles", "origins"}]
    presets = [f"### {name}\n\n```toml\n{preset_text(name).rstrip()}\n```\n" for name in preset_names()]
    return "\n".join(
        [
            _INTRODUCTION,
            "## Deployment\n",
            "At the top of the file, above every table.\n",
            *_table(Settings, deployment),
            "\n## Policy\n",
            "Under `[policy]` for every profile, or under `[profiles.NAME]` for one.\n",
            *_table(Policy, list(Policy.model_fields)),
            _OTHERS,
            *(f"| `{alias.name}` | {alias.preset} | {_meant(alias)} |" for alias in ALIASES),
            "\n## Presets\n",
            "A preset only changes defaults; these are all of them.\n",
            *presets,
        ]
    )


_INTRODUCTION_TO_STAGES: Final = """# Stages of a run

A stage is a module of [`consolidation/stages/`](../memory_pipeline/consolidation/stages): its `Inputs` are the tables
that it takes, its `Outputs` those that it gives. This page, the order of a run, the assets, the rebuild and the undo
are made from these types. To add a table to a stage, add a field.

All assets; arrows that follow from others, and tables that only serve a run, are left out:
"""

_STAGES: Final = """
| stage | does | takes | gives |
|---|---|---|---|"""


def stages() -> str:
    """Return the page `docs/stages.md`: every stage in order, with what it takes and gives."""
    rows = [
        f"| `{stage.name}` | {stage.description} | {_code(stage.takes)} | {_code(stage.gives)} |"
        for stage in pipeline.ORDER
    ]
    return "\n".join(
        [
            _INTRODUCTION_TO_STAGES,
            *_diagram(),
            _STAGES,
            *rows,
            "",
            f"A run starts from {_code(pipeline.SOURCES)}. Stages only append to {_code(pipeline.RECORDED)}.",
            f"By {_code(pipeline.REUSED)} they find again what the last run made from the same.",
            "",
        ]
    )


def _diagram() -> list[str]:
    """Draw all assets in their groups; an arrow says that one is made from the other."""
    boxes = [
        line
        for group, members in catalogue.GROUPS.items()
        for line in (f"  subgraph {group}", *(f"    {name}" for name in members), "  end")
    ]
    arrows = [f"  {other} --> {name}" for name, made_from in catalogue.sources().items() for other in sorted(made_from)]
    return ["```mermaid", "flowchart TD", *boxes, *arrows, "```"]


_INTRODUCTION_TO_TABLES: Final = """# Data dictionary

Generated from the schemas in `memory_pipeline/schemas/` and `memory_pipeline/lake/snapshot_schemas.py`. Columns of the
key of a table are in bold, in its order; a question mark after the type means that the column may be null. Instants are
`TIMESTAMP WITH TIME ZONE`, to the microsecond. A memory is identified by `profile_id` and `memory_id`.

## The snapshot

Open `snapshots/memories.duckdb` in the data folder with `duckdb -readonly` or
`duckdb.connect("memories.duckdb", read_only=True)`. The file is in the storage format of DuckDB 1.0: every table, view
and macro was queried with DuckDB 1.0, 1.1, 1.2, 1.3, 1.4, 1.5 and 2.0. Its table `data_dictionary` holds this text.
After `ATTACH`, a macro needs a `USE` of the attached name first. `SET TimeZone = 'UTC'` shows instants in UTC; in
Python, DuckDB before 2.0 fetches them with the package `pytz`. The views `vectors`, `score_history`, `cluster_lineage`
and `enrichment` read Parquet files beside the snapshot; a file written by `snapshot --export` contains them. A snapshot
never changes: open the link again to see the newest one.
"""
_LAKE: Final = """
## The lake

Tables that the stages of a run pass on. A snapshot does not have them in this form; its `memories` differs only in
`summarises_cluster_id`, which is `cluster_id` in the lake, `tier_changes` and `fact_changes` in the name of their
instant, which is `at`."""


def data_dictionary() -> str:
    """Return the page `docs/data-dictionary.md`: tables, views and macros of a snapshot, and the lake."""
    macros = [f"| `{macro.signature}` | {_cell(macro.description)} |" for macro in MACROS]
    relations = [*RELATIONS.values(), RECALLS]
    in_snapshot = {(relation.name, schema) for relation in RELATIONS.values() for schema in relation.schema.__mro__}
    lake_tables = [
        Relation(table.name, table.schema)
        for table in TABLES.values()
        if table.write_mode != "per_run" and (table.name, table.schema) not in in_snapshot
    ]
    return "\n".join(
        [
            _INTRODUCTION_TO_TABLES,
            "| macro | returns |",
            "|---|---|",
            *macros,
            *map(_section, relations),
            _LAKE,
            *map(_section, lake_tables),
            "",
        ]
    )


def _section(relation: Relation) -> str:
    columns = [
        f"| {f'**`{name}`**' if name in relation.key else f'`{name}`'} "
        f"| {sql_type(column.dtype)}{'?' if column.nullable else ''} | {dictionary.unit(name, column) or ''} "
        f"| {_cell(column.description or '')} |"
        for name, column in relation.columns.items()
    ]
    title = f"\n### {relation.name}{' (view)' if relation.is_view else ''}\n\n{relation.description}\n"
    return "\n".join([title, "| column | type | unit | meaning |", "|---|---|---|---|", *columns])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_INTRODUCTION_TO_EVENTS: Final = f"""# Events

The format of events, which agents send and files import. An event is one JSON object; a file of events has one per line
(JSON Lines, UTF-8).

- A null field counts as absent. An instant without an offset is UTC.
- An invalid event is refused with a reason and stored as a dead letter; nothing is guessed.
- A live event may be at most {CLOCK_SKEW.seconds // 60} minutes in the future. An imported event from the future is
  dated to its import.
- An event without `event_id` gets a new one. In an imported file the bytes of the line identify it: the same line twice
  is one event.
- Every event about one memory needs its `memory_id`, which may also be in the payload. A stored memory without one
  takes the id of its event.
- Session events need their `session_id`.
- A memory is stored once, and storing the same again is harmless. A different text, or different fields, under its
  `memory_id` is refused: change it with `memory.updated`, or choose another id.
- Nothing can be stored under the id of an erased memory; the dead letter contains only the reason. Any other event
  about it is accepted, so that a repeated delivery is recognised, but its payload and the ids of user, agent and
  session are not stored, nor is what a question says to which it was an answer.
- Only the pipeline writes `memory.erased` and `run.*`.

## Every event
"""


def events() -> str:
    """Return the page `docs/event-format.md`: the fields of an event and of each payload, with an example."""
    parts = [_INTRODUCTION_TO_EVENTS, _fields(Event, filled=("event_id", "occurred_at", "recorded_at"))]
    for event_type, model in PAYLOADS.items():
        example: dict[str, Any] = {"event_type": event_type.value, "occurred_at": "2026-01-31T12:00:00Z"}
        example |= {"memory_id": "m1"} if event_type in ABOUT_A_MEMORY else {}
        example |= {"session_id": "s1"} if event_type in SESSIONS else {}
        example |= {"payload": model.example} if model.example else {}
        text = json.dumps(example, ensure_ascii=False)
        parts += [f"## {event_type.value}\n", f"{model.__doc__}\n", _fields(model), f"```json\n{text}\n```\n"]
    return "\n".join(parts)


def _fields(model: type[BaseModel], *, filled: Container[str] = ()) -> str:
    """Return a Markdown table of a model's fields, required ones first: name, type, whether required, meaning.

    Args:
        model: the model.
        filled: required fields that are filled in if left out.
    """
    rows, kinds = ["| field | takes | needed | meaning |", "|---|---|---|---|"], validation_errors.kinds(model)
    needed = [name for name, field in model.model_fields.items() if field.is_required() and name not in filled]
    for name in [*needed, *(name for name in model.model_fields if name not in needed)]:
        answer = "yes" if name in needed else "no"
        rows.append(f"| `{name}` | {kinds[name]} | {answer} | {model.model_fields[name].description} |")
    return "\n".join(rows) + "\n"


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "settings.md": settings,
    "data-dictionary.md": data_dictionary,
    "event-format.md": events,
    "stages.md": stages,
}
"""Pages by file name."""


def _table(model: type[BaseModel], names: list[str]) -> list[str]:
    schemas = model.model_json_schema()["properties"]
    rows = [
        f"| `{name}` | {takes(schemas[name])} | `{_plain(model.model_fields[name].default)}` "
        f"| {model.model_fields[name].description} |"
        for name in names
    ]
    return ["| setting | takes | default | meaning |", "|---|---|---|---|", *rows]


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _meant(alias: Alias) -> str:
    """Return the setting that another system's name means, with the factor between their units."""
    if alias.setting is None:
        return f"none: {alias.why}"
    return f"`{alias.setting}`" + (f" = {alias.factor:g} times it" if alias.factor != 1 else "")


def _plain(value: Any) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value)


if __name__ == "__main__":
    for page, make in PAGES.items():
        (Path(sys.argv[1]) / page).write_text(make(), "utf-8")
