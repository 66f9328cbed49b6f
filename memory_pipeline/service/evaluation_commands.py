"""Commands that measure what a policy would do before it is enabled: `compare-presets` and `evaluate`."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from memory_pipeline.service import report, shell

if TYPE_CHECKING:
    from memory_pipeline.settings import Policy


FILES: Final = "files"
"""Subcommand of `evaluate` that runs when its first argument names none."""

_HALF: Final = 0.5
"""Token share that is tried when neither preset nor budget is given."""


class AskAt(StrEnum):
    """When a question is asked."""

    END = "end"
    SOON = "soon"


def _policy_check(name: str) -> Callable[[Any], Any]:
    """Return an option callback that validates values as a setting of the policy."""

    def check(values: Any) -> Any:
        from pydantic import ValidationError

        from memory_pipeline.settings import Policy

        for value in values if isinstance(values, list) else [values]:
            try:
                Policy.model_validate({} if value is None else {name: value})
            except ValidationError as error:
                raise typer.BadParameter(error.errors(include_url=False)[0]["msg"]) from error
        return values

    return check


Embedder = Annotated[
    str | None,
    typer.Option(metavar="NAME", callback=_policy_check("embedder"), help="Embedder; default: that of the preset."),
]
Ranking = Annotated[str, typer.Option(metavar="NAME", help="How results are ranked; see `recall`.")]


class Measurements(shell.Commands):
    """Command group that falls back to `files` when the first argument names no subcommand."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Prepend the default subcommand if none is given."""
        if args and args[0] not in {*self.commands, "--help"}:
            args = [FILES, *args]
        return super().parse_args(ctx, args)


app = typer.Typer()
measurements = typer.Typer(
    cls=Measurements,
    help="Measure recall under a policy. Before you enable it. `evaluate FILE...` means `evaluate files`.",
)
app.add_typer(measurements, name="evaluate")


@app.command("compare-presets")
@shell.shown
def compare_presets(
    presets: Annotated[
        list[str] | None,
        typer.Option("--preset", metavar="NAME", help="Preset to compare; repeatable. Default: all."),
    ] = None,
    profile: shell.ProfileFilter = None,
    as_of: shell.InstantOption = None,
    nights: Annotated[
        int,
        typer.Option(
            min=1, max=1000, metavar="N", help="Number of runs, spread evenly from the first day to the last."
        ),
    ] = 6,
) -> shell.Done:
    """Compare what each preset would do. Counts what it would keep, link, merge and forget; changes nothing."""
    from memory_pipeline.evaluation import comparison
    from memory_pipeline.settings import preset_names

    policies = {name: shell.settings_in_force(name).policy_of(profile or "") for name in presets or preset_names()}
    console = shell.err()
    with shell.existing_lake() as lake:
        events = lake.events(as_of=shell.instant(as_of), profiles=[profile] if profile else None)
        compared = comparison.compare(
            lambda night: events.filter(events["occurred_at"] <= night),
            policies,
            nights=comparison.spread(events, count=nights),
            progress=(lambda name: report.line(console, f"{nights} nights under {name} ..."))
            if console.is_terminal
            else None,
        )

    def tell(console: "shell.Console") -> None:
        figures = [name for name in comparison.COLUMNS if name != "preset"]
        rows = [(figure, *(report.figure(value) for value in compared[figure])) for figure in figures]
        title = f"After {nights} nightly runs from the first day to the last"
        report.table(console, ("", *compared["preset"]), rows, title=title)
        for figure in figures:
            report.line(console, f"{figure}: {comparison.COLUMNS[figure]}")

    return shell.Done({"nights": nights, "presets": compared.to_dicts()}, tell)


@measurements.command("answers")
@shell.shown
def evaluate_answers(profile: shell.ProfileOption = None, as_of: shell.InstantOption = None) -> shell.Done:
    """Measure the judge on answered pairs. How often it would have said what `resolve` was told; changes nothing."""
    from memory_pipeline.evaluation import answered_pairs

    settings = shell.settings_in_force()
    owner = shell.existing_profile(profile)
    policy = settings.policy_of(owner)
    with shell.existing_lake(settings) as lake:
        pairs = answered_pairs.of_store(lake, owner, policy, as_of=shell.instant(as_of) or datetime.now(UTC))
    if pairs.is_empty():
        raise ValueError(
            f"profile {owner!r} has no answered pairs; answer some with `memory-pipeline review`, and try again"
        )
    found = answered_pairs.figures(pairs, policy)

    def tell(console: "shell.Console") -> None:
        rows = [
            (
                *(row["setting"], f"{row['value']:g}", f"{row['right']} of {row['judged']}"),
                *(f"{row['wanted']:.0%}", f"{row['right']} of {row['answered']}"),
            )
            for row in found.iter_rows(named=True)
        ]
        headers = ("setting", "value", "right of what it judges so", "wanted", "found of what was answered so")
        report.table(console, headers, rows, title=f"The judge {policy.judge!r} on {len(pairs)} answered pairs")
        report.line(console, "Values to set by these answers: `memory-pipeline config calibrate`.")

    return shell.Done({"pairs": pairs.to_dicts(), "settings": found.to_dicts()}, tell)


@measurements.command(FILES)
@shell.shown
def evaluate_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Conversations (LoCoMo, BEAM, JSONL events) or stores (data folders, exported snapshots).",
        ),
    ],
    presets: Annotated[
        list[str] | None, typer.Option("--preset", metavar="NAME", help="Preset to try; repeatable.")
    ] = None,
    budgets: Annotated[
        list[float] | None,
        typer.Option(
            "--budget",
            metavar="TOKENS",
            callback=_policy_check("token_budget"),
            help="Tokens to keep; values up to 1 are a share of all tokens. Repeatable.",
        ),
    ] = None,
    embedder: Embedder = None,
    ranking: Ranking = "default",
    ask_at: Annotated[
        AskAt,
        typer.Option(
            help="When to ask: a day after the last turn (end), or a day after the last turn with evidence (soon)."
        ),
    ] = AskAt.END,
    page: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Also write an HTML page with charts and the lost questions."),
    ] = None,
) -> shell.Done:
    """Replay conversations under policies. Reports what recall still finds and which questions are lost.

    Each preset is tried without a budget and with each budget; a budget without a preset only trims. By default, the
    preset default is tried without a budget and with half of the tokens. All results are compared with keeping
    everything. For a store, the questions are the queries it actually received, and memories marked helpful
    are the answers. Changes nothing.
    """
    shell.new_file(page, "--html")
    from memory_pipeline.evaluation import experiment, sources
    from memory_pipeline.evaluation import report as pages
    from memory_pipeline.service import report_evaluation

    policies = _policies(presets, budgets, embedder)
    chats = [chat for file in files for chat in sources.read(file)]
    console = shell.err()
    result = experiment.evaluate(
        chats,
        policies,
        ranking=ranking,
        ask_at=ask_at.value,
        progress=(lambda policy, chat: report.line(console, f"{chat}: {policy} ...")) if console.is_terminal else None,
    )
    if page is not None:
        page.write_text(pages.html(result), "utf-8")

    def tell(console: "shell.Console") -> None:
        report_evaluation.experiment(console, result)
        if page is not None:
            report.line(console, f"written: {page}")

    return shell.Done(result.to_dict(), tell)


def _policies(presets: list[str] | None, budgets: list[float] | None, embedder: str | None) -> "dict[str, Policy]":
    from memory_pipeline.evaluation import replay

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
    file: Annotated[Path, typer.Argument(metavar="FILE.jsonl", help="Pairs of texts, one JSON object per line.")],
    target: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Output file; default: standard output.")
    ] = None,
) -> None:
    """Report what a run does with pairs of texts.

    The texts of all pairs form one store, over which one run of the preset default is made in memory. The two texts of
    a line may have any obvious field names, such as first and second or older and newer; instants and speakers may be
    given. Each line is returned with outcome (merged, closed, partly closed, MAY_UPDATE, CONTRADICTS, MAY_REPEAT or
    nothing), its label (duplicate, update, contradiction or unrelated), confidence, reason and later (the newer text).
    """
    from memory_pipeline.evaluation import pairs as pair_labels

    shell.new_file(target, "--out")
    labelled = pair_labels.label(pair_labels.read(file))
    text = "".join(f"{line}\n" for line in pair_labels.dumps(labelled))
    if target is None:
        sys.stdout.write(text)
        return
    target.write_text(text, "utf-8")
    counts = labelled["outcome"].value_counts().sort("outcome")
    report.table(shell.out(), ("outcome", "pairs"), counts.iter_rows())
    shell.say(f"written: {target}")


@measurements.command()
@shell.shown
def replay(
    events: Annotated[Path, typer.Argument(metavar="EVENTS.parquet", help="Messages: id, time, speaker, content.")],
    queries: Annotated[Path, typer.Argument(metavar="QUERIES.parquet", help="Questions: query_id, time, text.")],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for hot.parquet and results.parquet.")],
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="TOKENS",
            callback=_policy_check("token_budget"),
            help="Tokens to keep; values up to 1 are a share of all tokens. Default: no limit.",
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Preset to consolidate with; default: only the budget applies.")
    ] = None,
    embedder: Embedder = None,
    ranking: Ranking = "default",
) -> shell.Done:
    """Replay one conversation. For an external scorer: writes the remaining memories and each question's results."""
    if folder.exists() and not folder.is_dir():
        raise shell.Misused(f"OUT {folder}: is a file; name a folder")
    from memory_pipeline.evaluation import replay_files

    with report.spinner(shell.err(), "replay"):
        result = replay_files.run(
            events, queries, folder, budget=budget, preset=preset, embedder=embedder, ranking=ranking
        )
    answered = result.results["query_id"].n_unique()
    left, seconds = result.hot.height, result.seconds
    told = f"{left} memories left, {answered} questions answered, {seconds:.1f} s for all nights"
    return shell.Done(
        {"folder": str(folder), "memories": left, "questions": answered, "seconds": seconds},
        [told, f"written: {folder / 'hot.parquet'} and {folder / 'results.parquet'}"],
    )
