"""The commands `config`: settings in force, and changes to the settings file."""

from typing import Annotated

import typer

from memory_pipeline.service import configuring, report
from memory_pipeline.service.configuring import Change
from memory_pipeline.service.options import (
    Commands,
    JsonOption,
    ProfileOption,
    home_folder,
    out,
    settings_in_force,
    show_json,
)

app = typer.Typer(cls=Commands, help="Settings in force, and changes to them.")

Setting = Annotated[
    str, typer.Argument(metavar="NAME", help="Setting (docs/settings.md), or what another system calls it.")
]


@app.command("show")
def config_show(
    profile: ProfileOption = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="As if this preset were chosen.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting and where it comes from."""
    settings = settings_in_force(preset)
    rows = settings.explained(profile)
    if as_json:
        show_json([row.model_dump(mode="json") for row in rows])
    else:
        report.settings(out(), rows)


@app.command("set")
def config_set(
    name: Setting,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Its value; lists take commas, an empty one unsets.")],
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a setting to the settings file. It is checked first; comments and layout stay."""
    _show(configuring.put(home_folder(), name, value, profile_id=profile), as_json=as_json)


@app.command("unset")
def config_unset(name: Setting, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Take a setting out of the settings file. What the preset or the default says is in force again."""
    _show(configuring.remove(home_folder(), name, profile_id=profile), as_json=as_json)


def _show(change: Change, *, as_json: bool) -> None:
    if as_json:
        show_json(change.now.model_dump(mode="json"))
    else:
        report.change(out(), change)
