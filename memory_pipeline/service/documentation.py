"""Documentation pages generated from the code; `make docs` writes them and tests compare them.

Here: the page of settings, and which page comes from where. Not here: `docs/cli.md`, which typer generates (see the
Makefile).
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from memory_pipeline.consolidation import pipeline
from memory_pipeline.lake import dictionary
from memory_pipeline.ledger import event
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

A stage is a typed function of [`consolidation/stages.py`](../memory_pipeline/consolidation/stages.py): its parameters
are the tables that it takes, its return type names the tables that it gives. This page, the order of a run, the assets,
the rebuild and the undo are made from those signatures. To add a table to a stage, add a parameter.

All assets; arrows that follow from others are left out:
"""

_STAGES: Final = """
| stage | does | takes | gives |
|---|---|---|---|"""


def stages() -> str:
    """Return the page `docs/stages.md`: every stage in order, with what it takes and gives."""
    rows = [
        f"| `{stage.function.__name__}` | {stage.description} | {_code(stage.takes)} | {_code(stage.gives)} |"
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
            "",
        ]
    )


def _diagram() -> list[str]:
    """Draw all assets, one box per step, without arrows that follow from others."""
    gives = {
        "events": ("profiles", "events", "decisions", "reverted"),
        **{stage.name: stage.gives for stage in pipeline.ORDER},
        "consolidation_commit": ("consolidation_commit",),
        "snapshot": ("snapshot",),
    }
    step_of = {table: step for step, tables in gives.items() for table in tables}
    before = {
        stage.name: {step_of[name] for name in ("profiles", *stage.takes)} - {stage.name} for stage in pipeline.ORDER
    }
    before |= {
        "events": set(),
        "consolidation_commit": {stage.name for stage in pipeline.ORDER},
        "snapshot": {"consolidation_commit"},
    }
    reached: dict[str, set[str]] = {}
    for step in gives:
        reached[step] = before[step].union(*(reached[other] for other in before[step]))
    boxes = [f'  {step}["{"<br/>".join(tables)}"]' for step, tables in gives.items()]
    arrows = [
        f"  {other} --> {step}"
        for step in gives
        for other in sorted(before[step])
        if not any(other in reached[nearer] for nearer in before[step])
    ]
    return ["```mermaid", "flowchart TD", *boxes, *arrows, "```"]


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "settings.md": settings,
    "data-dictionary.md": dictionary.documentation,
    "event-format.md": event.documentation,
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
