"""The commands `config`: show settings, change the settings file, calibrate thresholds."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from memory_pipeline.service import report, shell

if TYPE_CHECKING:
    from memory_pipeline.service.config_file import Change


app = typer.Typer(cls=shell.Commands, help="Show and change settings.")

Setting = Annotated[
    str, typer.Argument(metavar="NAME", help="Setting (docs/settings.md), or its name in another system.")
]
SettingsProfile = Annotated[str | None, shell.profile_option("Settings of this profile; default: of all.")]


@app.command("show")
@shell.shown
def config_show(
    profile: SettingsProfile = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="As if this preset were in force.")] = None,
) -> shell.Done:
    """Show every setting with its origin."""
    rows = shell.settings_in_force(preset).explained(profile)

    def tell(console: "shell.Console") -> None:
        shown = [(row.name, _said(row.value), row.origin) for row in rows]
        report.table(console, ("setting", "value", "from"), shown)
        report.line(console, "meanings: docs/settings.md, or --json")

    return shell.Done([row.model_dump(mode="json") for row in rows], tell)


@app.command("set")
@shell.shown
def config_set(
    name: Setting,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="New value; lists are comma-separated, an empty value unsets.")
    ],
    profile: SettingsProfile = None,
) -> shell.Done:
    """Write a setting to the settings file. It is validated first; comments and layout are kept."""
    from memory_pipeline.service import config_file

    return _changed(config_file.put(shell.home_folder(writing=True), name, value, profile_id=profile))


@app.command("unset")
@shell.shown
def config_unset(name: Setting, profile: SettingsProfile = None) -> shell.Done:
    """Remove a setting from the settings file. The preset's value or the default applies again."""
    from memory_pipeline.service import config_file

    return _changed(config_file.remove(shell.home_folder(writing=True), name, profile_id=profile))


@app.command("calibrate")
@shell.shown
def config_calibrate(
    profile: shell.ProfileOption = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Write the proposed values to the settings file: for the named profile, else for all."
        ),
    ] = False,
) -> shell.Done:
    """Propose thresholds by answered pairs. Also compares the cosines of memories with their thresholds.

    A threshold is the smallest confidence from which enough answers of `resolve` say that the judge is right: .95 of
    what it closes or merges, .75 of what it links. With fewer than 20 pairs of a kind, its value stays.
    """
    from memory_pipeline.evaluation import answered_pairs, calibration
    from memory_pipeline.service import config_file

    settings = shell.settings_in_force()
    owner = shell.existing_profile(profile)
    policy = settings.policy_of(owner)
    with shell.existing_lake(settings) as lake:
        memories, vectors = (lake.read(name, profiles=[owner]) for name in ("memories", "vectors"))
        if memories.is_empty():
            raise ValueError(
                f"profile {owner!r} has no consolidated memories; run `memory-pipeline consolidate` first, or name "
                "another"
            )
        pairs = answered_pairs.of_store(lake, owner, policy, as_of=datetime.now(UTC))
    figures = answered_pairs.figures(pairs, policy).to_dicts()
    cosines = calibration.nearest(memories, vectors, policy)
    quantiles, reached = calibration.quantiles(cosines), calibration.reached(cosines, policy)
    changed = [row for row in figures if row["proposed"] not in (None, row["value"])]
    for row in changed if write else ():
        config_file.put(shell.home_folder(writing=True), row["setting"], f"{row['proposed']:g}", profile_id=profile)
    cosine = {"embedder": policy.embedder, "quantiles": quantiles.to_dicts(), "thresholds": reached.to_dicts()}
    document = {"answers": figures, "written": [row["setting"] for row in changed if write]} | cosine

    def tell(console: "shell.Console") -> None:
        quantile_rows = [
            (f"{share:.0%}", "" if cosine is None else f"{cosine:.3f}") for share, cosine in quantiles.iter_rows()
        ]
        threshold_rows = [(name, f"{value:g}", f"{share:.1%}") for name, value, share in reached.iter_rows()]
        title = f"Cosines of {len(cosines)} memories to their nearest neighbour ({policy.embedder})"
        report.table(console, ("memories below", "cosine"), quantile_rows, title=title)
        report.table(console, ("setting", "value", "memories with such a neighbour"), threshold_rows)
        report.line(console, f"The judge {policy.judge!r} on {len(pairs)} answered pairs:")
        for row in figures:
            report.line(console, answered_pairs.verdict(row))
        writing = "Write them with `memory-pipeline config calibrate --write`."
        if changed:
            report.line(console, "Written to the settings file." if write else writing)

    return shell.Done(document, tell)


def _changed(change: "Change") -> shell.Done:
    """Tell of a changed setting, and what overrides the settings file if anything does."""
    now = change.now
    lines = [f"{now.name} = {_said(now.value)}, from: {now.origin}"]
    if change.written and now.origin != change.place:
        lines.append(f"the value in {change.place} has no effect: {now.origin} overrides it")
    return shell.Done(now.model_dump(mode="json"), lines)


def _said(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "unset" if value is None else str(value)
