"""The commands `config`: show settings, change the settings file, calibrate thresholds."""

from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.service.options import (
    Commands,
    JsonOption,
    ProfileOption,
    existing_lake,
    existing_profile,
    home_folder,
    out,
    profile_option,
    settings_in_force,
    show_json,
)

if TYPE_CHECKING:
    from memory_pipeline.service.config_file import Change


app = typer.Typer(cls=Commands, help="Show and change settings.")

Setting = Annotated[
    str, typer.Argument(metavar="NAME", help="Setting (docs/settings.md), or its name in another system.")
]
SettingsProfile = Annotated[str | None, profile_option("Settings of this profile; default: of all.")]


@app.command("show")
def config_show(
    profile: SettingsProfile = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="As if this preset were in force.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show every setting with its origin."""
    from memory_pipeline.service import report

    settings = settings_in_force(preset)
    rows = settings.explained(profile)
    if as_json:
        show_json([row.model_dump(mode="json") for row in rows])
    else:
        report.settings(out(), rows)


@app.command("set")
def config_set(
    name: Setting,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="New value; lists are comma-separated, an empty value unsets.")
    ],
    profile: SettingsProfile = None,
    as_json: JsonOption = False,
) -> None:
    """Write a setting to the settings file. It is validated first; comments and layout are kept."""
    from memory_pipeline.service import config_file

    _show(config_file.put(home_folder(writing=True), name, value, profile_id=profile), as_json=as_json)


@app.command("unset")
def config_unset(name: Setting, profile: SettingsProfile = None, as_json: JsonOption = False) -> None:
    """Remove a setting from the settings file. The preset's value or the default applies again."""
    from memory_pipeline.service import config_file

    _show(config_file.remove(home_folder(writing=True), name, profile_id=profile), as_json=as_json)


@app.command("calibrate")
def config_calibrate(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Compare cosines with the thresholds. Shows how close memories are to their nearest neighbours."""
    from memory_pipeline.evaluation import calibration
    from memory_pipeline.service import report

    settings = settings_in_force()
    owner = existing_profile(profile)
    policy = settings.policy_of(owner)
    with existing_lake(settings) as lake:
        memories, vectors = (lake.read(name, profiles=[owner]) for name in ("memories", "vectors"))
    if memories.is_empty():
        raise ValueError(
            f"profile {owner!r} has no consolidated memories; run `memory-pipeline consolidate` first, or name another"
        )
    cosines = calibration.nearest(memories, vectors, policy)
    quantiles, reached = calibration.quantiles(cosines), calibration.reached(cosines, policy)
    if as_json:
        show_json(
            {"embedder": policy.embedder, "quantiles": quantiles.to_dicts(), "thresholds": reached.to_dicts()},
        )
        return
    quantile_rows = [
        (f"{share:.0%}", "" if cosine is None else f"{cosine:.3f}") for share, cosine in quantiles.iter_rows()
    ]
    threshold_rows = [(name, f"{value:g}", f"{share:.1%}") for name, value, share in reached.iter_rows()]
    title = f"Cosines of {len(cosines)} memories to their nearest neighbour ({policy.embedder})"
    report.table(out(), ("memories below", "cosine"), quantile_rows, title=title)
    report.table(out(), ("setting", "value", "memories with such a neighbour"), threshold_rows)


def _show(change: "Change", *, as_json: bool) -> None:
    from memory_pipeline.service import report

    if as_json:
        show_json(change.now.model_dump(mode="json"))
    else:
        report.change(out(), change)
