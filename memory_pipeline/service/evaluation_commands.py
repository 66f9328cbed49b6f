"""The commands that measure before anything is forgotten: `compare-presets` and `evaluate`."""

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from pydantic import ValidationError

from memory_pipeline.service import report
from memory_pipeline.service.options import (
    Commands,
    InstantOption,
    JsonOption,
    Misused,
    ProfileOption,
    err,
    existing_lake,
    instant,
    new_file,
    out,
    settings_in_force,
    show_json,
)
from memory_pipeline.settings import Policy, preset_names

FILES: Final = "files"
"""The measurement that `evaluate` makes where its first word names no other."""

_HALF: Final = 0.5
"""Share of the tokens that is tried where nobody says what to try."""


class AskAt(StrEnum):
    """When a question is asked."""

    END = "end"
    SOON = "soon"


def _fitting(name: str) -> Callable[[Any], Any]:
    """Return what checks the values of an option that stand for one of the policy."""

    def check(given: Any) -> Any:
        for value in given if isinstance(given, list) else [given]:
            try:
                Policy.model_validate({} if value is None else {name: value})
            except ValidationError as error:
                raise typer.BadParameter(error.errors(include_url=False)[0]["msg"]) from error
        return given

    return check


Embedder = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", callback=_fitting("embedder"), help="What turns texts into vectors; default: the preset's."
    ),
]
Ranking = Annotated[str, typer.Option(metavar="NAME", help="How questions are answered; see `recall`.")]


class Measurements(Commands):
    """A group whose first word decides; anything but the name of a measurement is taken for a file or an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the default measurement first where none is given."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = [FILES, *args]
        return super().parse_args(ctx, args)


app = typer.Typer()
measurements = typer.Typer(
    cls=Measurements,
    help="Measure what a recall finds, before anything is forgotten. `evaluate FILE...` is short for `evaluate files`.",
)
app.add_typer(measurements, name="evaluate")


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
    from memory_pipeline.evaluation import comparison  # noqa: PLC0415

    policies = {name: settings_in_force(name).policy_of(profile or "") for name in presets or preset_names()}
    console = err()
    with existing_lake(settings_in_force()) as lake:
        known = lake.events(as_of=instant(as_of), profiles=[profile] if profile else None)
        compared = comparison.compare(
            lambda night: known.filter(known["occurred_at"] <= night),
            policies,
            nights=comparison.spread(known, count=nights),
            progress=(lambda name: report.line(console, f"{nights} nights under {name} ..."))
            if console.is_terminal
            else None,
        )
    if as_json:
        show_json({"nights": nights, "presets": compared.to_dicts()})
        return
    figures = [name for name in comparison.COLUMNS if name != "preset"]
    rows = [(figure, *(f"{value:g}" for value in compared[figure])) for figure in figures]
    report.table(out(), ("", *compared["preset"]), rows, title=f"After {nights} nights, from the first day to the last")
    for figure in figures:
        report.line(out(), f"{figure}: {comparison.COLUMNS[figure]}")


@measurements.command(FILES)
def evaluate_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Conversations (LoCoMo, BEAM, JSONL of events), or stores: data folders, exported snapshots.",
        ),
    ],
    presets: Annotated[
        list[str] | None, typer.Option("--preset", metavar="NAME", help="Preset to try; give it again for more.")
    ] = None,
    budgets: Annotated[
        list[float] | None,
        typer.Option(
            "--budget",
            metavar="TOKENS",
            callback=_fitting("token_budget"),
            help="Tokens to keep; up to 1, the share of all; repeat.",
        ),
    ] = None,
    embedder: Embedder = None,
    ranking: Ranking = "default",
    ask_at: Annotated[
        AskAt, typer.Option(help="Ask a day after the last turn, or a day after the last one that answers.")
    ] = AskAt.END,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with charts there.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Live through conversations again under presets and budgets. Says what recall still finds, and what is kept.

    Every preset is tried whole and at every budget; budgets without a preset trim and do nothing else. Without both,
    the preset default is tried, whole and at half its tokens. All are compared with keeping everything. The questions
    of a store are those that were really asked of it, and what was found helpful answers them. Nothing is changed.
    """
    new_file(page, "--html")
    from memory_pipeline.evaluation import experiment, sources  # noqa: PLC0415
    from memory_pipeline.evaluation import report as pages  # noqa: PLC0415
    from memory_pipeline.service import report_evaluation  # noqa: PLC0415

    policies = _policies(presets, budgets, embedder)
    chats = [chat for file in files for chat in sources.read(file)]
    console = err()
    trial = experiment.evaluate(
        chats,
        policies,
        ranking=ranking,
        ask_at=ask_at.value,
        progress=(lambda policy, chat: report.line(console, f"{chat}: {policy} ...")) if console.is_terminal else None,
    )
    if page is not None:
        page.write_text(pages.html(trial), "utf-8")
    if as_json:
        show_json(trial.to_dict())
        return
    report_evaluation.trial(out(), trial)
    if page is not None:
        report.line(out(), f"written: {page}")


def _policies(presets: list[str] | None, budgets: list[float] | None, embedder: str | None) -> dict[str, Policy]:
    """Return the policies to try by the names that they are shown under."""
    from memory_pipeline.evaluation import replay  # noqa: PLC0415

    named: list[str | None] = [*dict.fromkeys(presets or ())]
    sizes: list[float | None] = [*dict.fromkeys(budgets or ())]
    if not named and not sizes:
        named, sizes = ["default"], [_HALF]
    tried = [(preset, budget) for preset in named or [None] for budget in ([None, *sizes] if named else sizes)]
    return {
        _name(preset, budget): replay.policy_for(preset=preset, budget=budget, embedder=embedder)
        for preset, budget in tried
    }


def _name(preset: str | None, budget: float | None) -> str:
    size = "" if budget is None else f"{100 * budget:g}%" if budget <= 1 else f"{budget:g} tokens"
    return " ".join(filter(None, (preset, size)))


@measurements.command()
def pairs(
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Pairs of texts, one JSON object a line.")],
    written: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where to write; default: standard output.")
    ] = None,
) -> None:
    """Say of pairs of texts whether they are duplicates, an update, a contradiction or unrelated.

    Both texts may stand under any obvious names, such as first and second or older and newer. The lines come back with
    label, confidence, reason and later.
    """
    from memory_pipeline.evaluation.pair_labels import pairs as judged  # noqa: PLC0415

    new_file(written, "--out")
    labelled = judged.label(judged.read(file))
    text = "".join(f"{line}\n" for line in judged.dumps(labelled))
    if written is None:
        sys.stdout.write(text)
        return
    written.write_text(text, "utf-8")
    counts = labelled["label"].value_counts().sort("label")
    report.table(out(), ("label", "pairs"), counts.iter_rows())
    report.line(out(), f"written: {written}")


@measurements.command()
def replay(
    events: Annotated[Path, typer.Argument(metavar="EVENTS.parquet", help="Messages: id, time, speaker, content.")],
    queries: Annotated[Path, typer.Argument(metavar="QUERIES.parquet", help="Questions: query_id, time, text.")],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for hot.parquet and results.parquet.")],
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="TOKENS",
            callback=_fitting("token_budget"),
            help="Tokens to keep; up to 1, the share of all. Default: all.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Policy to consolidate under; default: only the budget acts.")
    ] = None,
    embedder: Embedder = None,
    ranking: Ranking = "default",
    as_json: JsonOption = False,
) -> None:
    """Live through one conversation again. Writes what is left of it, and what each question gets, for any scorer."""
    if folder.exists() and not folder.is_dir():
        raise Misused(f"OUT {folder}: is a file; name a folder")
    from memory_pipeline.evaluation import replay_files  # noqa: PLC0415

    with report.spinner(err(), "replay"):
        made = replay_files.run(
            events, queries, folder, budget=budget, preset=preset, embedder=embedder, ranking=ranking
        )
    asked = made.results["query_id"].n_unique()
    if as_json:
        show_json({"folder": str(folder), "memories": made.hot.height, "questions": asked, "seconds": made.seconds})
        return
    report.line(out(), f"{made.hot.height} memories left, {asked} questions answered, {made.seconds:.1f} s of nights")
    report.line(out(), f"written: {folder / 'hot.parquet'} and {folder / 'results.parquet'}")
