"""Fits the clause-value model: predicts which clauses of a memory people ask for later.

Run with `python research/fit_clause_value.py --beam DIR`. Writes `models/keep.toml`, coefficients and
fit report in one file. The training data are BEAM conversations and generated chats. Not here: the features
(`text/score/clause_value`).
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from synthetic_chats import chats

from memory_pipeline.consolidation import trimming, worth
from memory_pipeline.consolidation.keeping import ODDS, Rank
from memory_pipeline.evaluation import conversations
from memory_pipeline.text.parse import facts, tokens
from memory_pipeline.text.score import clause_value

EQUAL: Final[Mapping[str, float]] = (
    {"words": 1.0}
    | dict.fromkeys(clause_value.COUNTED_FEATURES, 1.0)
    | dict.fromkeys(clause_value.STATEMENT_CUES, 0.25)
    | dict.fromkeys(clause_value.CHAT_CUES, -0.25)
    | {"assistant": -1.0}
)
"""Equal weights, the prior of the fit: a fact counts as much as a word; each cue of a fact adds a quarter to the words
around it, each cue of small talk removes a quarter. Assistants say far more than anybody asks for, so that only their
facts and cues count."""
PENALTIES: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
"""Ridge strengths to try."""
TOLERANCE: Final = 0.01
"""Tolerance in the share of answered questions, about one standard error; the strongest penalty within it is chosen."""
BUDGETS: Final = (0.5, 0.3, 0.2)
SEEDS: Final[Mapping[chats.Kind, range]] = {"two_person": range(1000, 1006), "assistant": range(1000, 1006)}
"""Seeds of the generated training chats."""
UNANSWERABLE: Final = ("abstention", "instruction_following", "preference_following")
"""Kinds of questions that no clause answers."""
ENOUGH: Final = 0.75
"""Share of the needed words of a memory at which a question counts as answered."""
MOST: Final = 12.0
"""Cap on the target of a clause, in words: questions about summaries need everything."""

Weights = NDArray[np.float64]


@dataclass(frozen=True)
class Lesson:
    """One training conversation.

    Attributes:
        name: the conversation.
        kind: beam, two_person or assistant.
        rows: memories in the form that `trimming.pieces` and `trimming.ordered` take.
        read: clauses with their features.
        needed: question, row, at (the clause), words (weight of its words that the question needs).
        tokens: tokens of the whole conversation.
    """

    name: str
    kind: str
    rows: pl.DataFrame
    read: pl.DataFrame
    needed: pl.DataFrame
    tokens: int


def lesson(chat: conversations.Chat | chats.Chat, kind: str) -> Lesson:
    """Extract the features of the clauses of a conversation and the words that its questions need."""
    rows = _rows(chat)
    read = clause_value.features(rows).with_row_index("at")
    return Lesson(chat.chat_id, kind, rows, read, _needed(chat, rows, read), int(rows["whole_cost"].sum()))


def fit(lessons: Sequence[Lesson], penalty: float) -> dict[str, float]:
    """Fit the weights by ridge regression towards `EQUAL`.

    The target of a clause is the weight of its words that questions need. Clauses are weighted by inverse length, so
    that the value per token is fitted; conversations have equal weight.
    """
    equal = np.array([EQUAL[name] for name in clause_value.FEATURES])
    squares, products = np.zeros((len(equal), len(equal))), np.zeros(len(equal))
    for chat in lessons:
        clauses = chat.read.join(
            chat.needed.group_by("at").agg(pl.col("words").sum().alias("asked_for")), on="at", how="left"
        )
        clauses = clauses.sort("at")
        features = clauses.select(clause_value.FEATURES).to_numpy()
        target = clauses["asked_for"].fill_null(0.0).clip(0.0, MOST).to_numpy()
        target = target * ((features @ equal).clip(0.0).sum() / target.sum())
        weighed = features / clauses["tokens"].clip(1).to_numpy()[:, None]
        squares += weighed.T @ features / len(clauses)
        products += weighed.T @ target / len(clauses)
    ridge = np.diag(squares) + 1e-6 * np.trace(squares)
    moved = np.linalg.solve(squares + penalty * np.diag(ridge), products - squares @ equal)
    return dict(zip(clause_value.FEATURES, (equal + moved).tolist(), strict=True))


def answered(chat: Lesson, weights: Mapping[str, float], budget: float) -> float:
    """Return the share of questions that some memory still answers after trimming to a budget."""
    order = trimming.ordered(
        trimming.pieces(clause_value.score(chat.read, weights), chat.rows, worth.SCHEMA.to_frame()), chat.rows
    )
    selected = order.select("row", "place", kept=pl.col("cost").cum_sum() <= budget * chat.tokens)
    at = chat.read.select("at", "row", "place").join(selected, on=["row", "place"], how="left")
    at = at.sort("row", "place").with_columns(pl.col("kept").forward_fill().over("row"))
    questions = (
        chat.needed.join(at.select("at", "kept"), on="at", how="left")
        .group_by("question", "row")
        .agg(share=pl.col("words").filter(pl.col("kept").fill_null(value=False)).sum() / pl.col("words").sum())
        .group_by("question")
        .agg(pl.col("share").max() >= ENOUGH)
    )
    return float(questions["share"].to_numpy().mean()) if len(questions) else 0.0


def choose(lessons: Sequence[Lesson]) -> tuple[float, dict[float, float]]:
    """Choose the penalty by leaving out one kind of conversation at a time; return it and all scores.

    Kinds instead of single conversations: what people store is of a kind that is not in the training data. Among
    penalties within `TOLERANCE` of the best, the strongest is chosen.
    """
    scores = {}
    for penalty in PENALTIES:
        of_kind = []
        for kind in sorted({chat.kind for chat in lessons}):
            weights = fit([chat for chat in lessons if chat.kind != kind], penalty)
            of_kind.append(float(np.mean(_answered([chat for chat in lessons if chat.kind == kind], weights))))
        scores[penalty] = float(np.mean(of_kind))
    return max(penalty for penalty in PENALTIES if scores[penalty] >= max(scores.values()) - TOLERANCE), scores


def folds(lessons: Sequence[Lesson], penalty: float) -> pl.DataFrame:
    """Cross-validate: score each conversation with weights fitted on all others: name, kind, one column per budget."""
    rows = []
    for held in lessons:
        weights = fit([chat for chat in lessons if chat is not held], penalty)
        rows.append({"name": held.name, "kind": held.kind} | {str(b): answered(held, weights, b) for b in BUDGETS})
    return pl.DataFrame(rows)


def _answered(lessons: Sequence[Lesson], weights: Mapping[str, float]) -> list[float]:
    return [answered(chat, weights, budget) for chat in lessons for budget in BUDGETS]


def _rows(chat: conversations.Chat | chats.Chat) -> pl.DataFrame:
    """Return the turns as memory rows, by time within each session."""
    turns = chat.turns.sort("session_id", "at", "id").select(
        "speaker", "session_id", profile_id=pl.lit(chat.chat_id), memory_id="id", created_at="at", text="content"
    )
    rows = turns.with_row_index("row").with_columns(
        question=facts.are_questions(tokens.fold(turns["text"])),
        kind=pl.lit("original"),
        stands=pl.lit(value=False),
        rank=pl.lit(Rank.REST.value),
        use=pl.lit(0.0),
        **dict.fromkeys(ODDS, pl.lit(0.0)),
        age=pl.lit(0.0),
        chat=pl.lit(value=True),
        newer=pl.lit([], pl.List(pl.String)),
        judged=pl.lit(value=True),
        alone=pl.lit(value=False),
        importance_given=pl.lit(None, pl.Float64),
        importance_hint=pl.lit(None, pl.Float64),
        room=pl.lit(0),
        name_cost=tokens.count_tokens(turns["speaker"] + ":"),
    )
    return rows.with_columns(
        follows_question=clause_value.follows_question(rows),
        whole_cost=pl.col("name_cost") + tokens.count_tokens(rows["text"]),
    )


def _needed(chat: conversations.Chat | chats.Chat, rows: pl.DataFrame, read: pl.DataFrame) -> pl.DataFrame:
    """Return the words of question and answer found in the clauses of its evidence: question, row, at, words."""
    asked = chat.questions.filter(~pl.col("kind").is_in(UNANSWERABLE)).with_row_index("question")
    wanted = (
        asked.select("question", word=tokens.content_stems(asked["text"] + " " + asked["answer"].fill_null("")))
        .explode("word")
        .drop_nulls()
        .unique()
    )
    names = tokens.content_stems(rows["speaker"].fill_null("")).explode().unique()
    words = read.select("at", "row", word=tokens.content_stems(read["clause"])).explode("word").drop_nulls().unique()
    rarity = words.group_by("word").agg(words=1.0 - pl.col("row").n_unique().log() / np.log1p(len(rows)))
    evidence = asked.select("question", memory_id="evidence").explode("memory_id").drop_nulls()
    return (
        evidence.join(rows.select("row", "memory_id"), on="memory_id")
        .join(wanted.filter(~pl.col("word").is_in(names.to_list())), on="question")
        .join(words, on=["row", "word"])
        .join(rarity, on="word")
        .group_by("question", "row", "at")
        .agg(pl.col("words").sum())
        .sort("question", "row", "at")
    )


def lessons(beam: Path) -> list[Lesson]:
    """Return the BEAM conversations in a folder and the generated chats."""
    read = [lesson(conversations.load(path), "beam") for path in sorted(beam.glob("*.json"))]
    if not read:
        raise SystemExit(f"{beam}: has no *.json; give the folder of the BEAM conversations")
    generated = [lesson(chats.generate(seed, kind=kind), kind) for kind, seeds in SEEDS.items() for seed in seeds]
    return read + generated


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model and write it with its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beam", type=Path, required=True, help="folder of the BEAM conversations (*.json)")
    parser.add_argument("--out", type=Path, help="output file; default: models/keep.toml of this package")
    options = parser.parse_args(arguments)
    training = lessons(options.beam)
    penalty, scores = choose(training)
    held = folds(training, penalty)
    equal = pl.DataFrame(
        [{"kind": chat.kind} | {str(b): answered(chat, EQUAL, b) for b in BUDGETS} for chat in training]
    )
    out = options.out or Path(str(resources.files("memory_pipeline") / "models" / f"{clause_value.MODEL}.toml"))
    out.write_text(_document(fit(training, penalty), penalty, scores, held, equal), "utf-8")
    print(out.read_text("utf-8"))


def _document(
    weights: Mapping[str, float],
    penalty: float,
    scores: Mapping[float, float],
    held: pl.DataFrame,
    equal: pl.DataFrame,
) -> str:
    lines = [
        "# Value of a clause of a memory: the weight of each feature (`memory_pipeline/text/score/clause_value.py`).",
        "# Written by the fit below; a file of your own can replace it.",
        "",
        "[coefficients]",
        *(f"{name} = {weights[name]:.3f}" for name in clause_value.FEATURES),
        "",
        "[fit]",
        'command = "python research/fit_clause_value.py --beam DIR"',
        'what = "ridge regression towards equal weights on the words of each clause that questions need"',
        f'data = "{_data(held)}"',
        f"penalty = {penalty:g}",
        "",
        "[fit.penalties]",
        "# Mean share of questions answered, with weights fitted on the other kinds of conversations.",
        *(f'"{tried:g}" = {score:.3f}' for tried, score in scores.items()),
        "",
        *_figures(
            "answered",
            "Share of questions answered at each budget, with weights fitted on all other conversations.",
            held,
        ),
        *_figures("equal", "The same with equal weights, without a fit.", equal),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _data(held: pl.DataFrame) -> str:
    counts = held.group_by("kind").len().sort("kind")
    return ", ".join(f"{number} of {kind}" for kind, number in counts.iter_rows())


def _figures(name: str, heading: str, rows: pl.DataFrame) -> list[str]:
    lines = [f"# {heading}", "# Mean, minimum and maximum over the conversations of a kind."]
    for kind, of_kind in sorted(rows.group_by("kind"), key=lambda pair: str(pair[0])):
        lines.append(f"[fit.{name}.{kind[0]}]")
        for budget in BUDGETS:
            shares = of_kind[str(budget)]
            figures = [shares.to_numpy().mean(), min(shares), max(shares)]
            lines.append(f'"{budget:.0%}" = [{", ".join(f"{figure:.3f}" for figure in figures)}]')
        lines.append("")
    return lines


if __name__ == "__main__":
    main()
