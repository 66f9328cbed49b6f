"""The commands `config`: settings in force, changes to the settings file, and what thresholds mean."""

from typing import Annotated

import typer

from memory_pipeline.service import config_file, report
from memory_pipeline.service.config_file import Change
from memory_pipeline.service.options import (
    Commands,
    JsonOption,
    ProfileOption,
    existing_lake,
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
    _show(config_file.put(home_folder(writing=True), name, value, profile_id=profile), as_json=as_json)


@app.command("unset")
def config_unset(name: Setting, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Take a setting out of the settings file. What the preset or the default says is in force again."""
    _show(config_file.remove(home_folder(writing=True), name, profile_id=profile), as_json=as_json)


@app.command("calibrate")
def config_calibrate(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Show what cosines mean for the memories of a profile: how near the nearest lie, and what each threshold takes."""
    from memory_pipeline.evaluation import calibration  # noqa: PLC0415

    settings = settings_in_force()
    owner = profile or "default"
    policy = settings.policy_of(owner)
    with existing_lake(settings) as lake:
        memories, vectors = (lake.read(name, profiles=[owner]) for name in ("memories", "vectors"))
    if memories.is_empty():
        raise ValueError(f"profile {owner!r} has no consolidated memories; consolidate it first or name another")
    cosines = calibration.nearest(memories, vectors, policy)
    quantiles, reached = calibration.quantiles(cosines), calibration.reached(cosines, policy)
    if as_json:
        show_json(
            {"embedder": policy.embedder, "quantiles": quantiles.to_dicts(), "thresholds": reached.to_dicts()},
        )
        return
    shown = [(f"{share:.0%}", "" if cosine is None else f"{cosine:.3f}") for share, cosine in quantiles.iter_rows()]
    taken = [(name, f"{value:g}", f"{share:.1%}") for name, value, share in reached.iter_rows()]
    title = f"Cosine of each of {len(cosines)} memories to its nearest other ({policy.embedder})"
    report.table(out(), ("memories below", "cosine"), shown, title=title)
    report.table(out(), ("setting", "value", "memories with a neighbour that near"), taken)


def _show(change: Change, *, as_json: bool) -> None:
    if as_json:
        show_json(change.now.model_dump(mode="json"))
    else:
        report.change(out(), change)
