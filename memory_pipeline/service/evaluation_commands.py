"""The commands that measure a policy before it is turned on: `compare-presets`."""

from typing import Annotated

import typer

from memory_pipeline.service import report
from memory_pipeline.service.options import (
    InstantOption,
    JsonOption,
    ProfileOption,
    err,
    existing_lake,
    instant,
    out,
    settings_in_force,
    show_json,
)
from memory_pipeline.settings import preset_names

app = typer.Typer()


@app.command("compare-presets")
def compare_presets(
    presets: Annotated[
        list[str] | None,
        typer.Option("--preset", metavar="NAME", help="Preset to compare; give it again for more. Default: all."),
    ] = None,
    profile: ProfileOption = None,
    as_of: InstantOption = None,
    nights: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Runs, evenly from the first day to the last.")
    ] = 6,
    as_json: JsonOption = False,
) -> None:
    """Show what each preset would keep, link, merge and forget of the memories. Nothing is changed."""
    from memory_pipeline.evaluation import comparing  # noqa: PLC0415

    policies = {name: settings_in_force(name).policy_of(profile or "") for name in presets or preset_names()}
    console = err()
    with existing_lake(settings_in_force()) as lake:
        known = lake.events(as_of=instant(as_of), profiles=[profile] if profile else None)
        compared = comparing.compare(
            lambda night: known.filter(known["occurred_at"] <= night),
            policies,
            nights=comparing.spread(known, count=nights),
            progress=(lambda name: report.line(console, f"{nights} nights under {name} ..."))
            if console.is_terminal
            else None,
        )
    if as_json:
        show_json({"nights": nights, "presets": compared.to_dicts()})
        return
    figures = [name for name in comparing.COLUMNS if name != "preset"]
    rows = [(figure, *(f"{value:g}" for value in compared[figure])) for figure in figures]
    report.table(out(), ("", *compared["preset"]), rows, title=f"After {nights} nights, from the first day to the last")
    for figure in figures:
        report.line(out(), f"{figure}: {comparing.COLUMNS[figure]}")
