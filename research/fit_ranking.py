"""Fits the default ranking from conversations, or from notes, whose questions name the memories that answer them.

Run with `python research/fit_ranking.py (--beam DIR | --notes) [--embedder NAME] [--out FILE]`. Of conversations the
training data are BEAM and generated chats, and the output is `models/ranking.toml`, or `ranking_FAMILY.toml` for
another family of embedders; of notes they are the made-up stores and the episodes of the corpus but those that only
measure, and the output is `models/notes_FAMILY.toml`. Coefficients and fit report are in one file. Not here: the
features (`recall/rank/features`), the chats (`synthetic_chats`, `conversations`) and the figures by which a ranking is
finally judged (`metrics`).

The model is linear. The probability of a turn is the softmax of its score among the candidates; the loss is the mean
negative log-likelihood of the turns that answer the question. The ridge pulls the weights towards their mean, that is
towards equal weights, not towards zero (Dawes, The Robust Beauty of Improper Linear Models, 1979: equal weights are
hard to beat on small data).
"""

import argparse
import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from corpus_files import LEARNED, OTHERS, RANKED, episodes
from labelled_stores import LabelledStore
from made_up_stores import stores
from numpy.typing import NDArray
from scipy.optimize import minimize
from synthetic_chats.chats import generate

from memory_pipeline.evaluation.conversations import Chat, chat, load
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.index.queries import Question, parse
from memory_pipeline.recall.rank.features import FEATURES, Candidates, select_candidates
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings.values import encoder_family
from memory_pipeline.text.embed.embedding import embed_texts, embedder

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RIDGES: Final = (0.003, 0.01, 0.03, 0.1)
"""Ridge strengths to try. The chosen one generalises best to conversations left out of the fit, averaged over leaving
out single conversations and whole kinds: the conversations of users lie between the two."""
TOLERANCE: Final = 0.001
"""Scores that differ by less are tied; the strongest ridge wins."""
SEEDS: Final = {"two_person": (1, 2, 3), "assistant": (1, 2, 3)}
"""Seeds of the generated training chats."""
SHARES: Final = {"two_person": 2.0, "beam": 1.0, "assistant": 1.0, "made_up": 1.0, "episodes": 1.0}
"""Weight of each source: chats between people count as much as both sources of chats with an assistant."""
PARTS: Final = 3
"""Parts of the stores of a source of notes, each of which is left out as a whole."""
_ROUNDS: Final = 2
"""Rounds of choosing the best piece of each long memory and refitting."""
_ACCURACY: Final = {"maxiter": 100, "ftol": 1e-7}
_HITS: Final = 10


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One question with its candidates and the ones that answer it."""

    group: str
    """What is left out as a whole: a conversation, or a part of the stores of a source."""
    source: str
    kind: str
    candidates: Candidates
    gold: NDArray[np.bool_]


def index_of(chat: Chat, *, model: str = "hashing") -> Index:
    """Index the turns of a chat, each as a live memory."""
    turns = chat.turns.with_columns(pl.int_range(1, pl.len() + 1).alias("seq"))
    texts = turns.select(pl.concat_str("speaker", "content", separator="\0", ignore_nulls=True)).to_series().to_list()
    values: dict[str, pl.Expr | pl.Series] = {
        "profile_id": pl.lit("p"),
        "memory_id": pl.col("id"),
        "created_at": pl.col("at"),
        "kind": pl.lit("original"),
        "lifecycle": pl.lit("active"),
        "content_hash": pl.Series([hashlib.sha256(text.encode()).hexdigest()[:32] for text in texts]),
    }
    blank: dict[Any, Any] = {
        pl.String: "",
        pl.Boolean: False,
        pl.Datetime: datetime(2000, 1, 1, tzinfo=UTC),
        pl.List: [],
    }
    missing = {
        name: pl.lit(None if column.nullable else blank.get(type(column.dtype), 0), column.dtype)
        for name, column in TABLES["memories"].schema.columns().items()
        if name not in values | dict.fromkeys(turns.columns)
    }
    memories = TABLES["memories"].conform(turns.with_columns(**values).with_columns(**missing))
    return Index.build(memories, embed_texts(memories.unique("content_hash"), model), model=model)


def asked(index: Index, text: str, at: datetime, vector: NDArray[np.float32]) -> tuple[Question, Candidates]:
    """Parse a question with a given vector for an index, and select its candidates."""
    question = parse(text, now=at, speakers=index.speakers, language=index.passages.language_of(text))
    return question, select_candidates(index, question, index.live, vector)


def examples(chat: Chat, source: str, *, model: str = "hashing") -> list[Example]:
    """Return the questions of a chat with evidence, asked a day after its end."""
    index = index_of(chat, model=model)
    now = chat.turns["at"].to_list()[-1] + timedelta(days=1)
    ids = index.memories["memory_id"]
    questions = chat.questions.filter(pl.col("evidence").list.len() > 0)
    vectors = embedder(index.model).embed(questions["text"].to_list())
    result = []
    for row, vector in zip(questions.iter_rows(named=True), vectors, strict=True):
        candidates = asked(index, row["text"], now, vector)[1]
        gold = ids.gather(candidates.rows).is_in(row["evidence"]).to_numpy()
        result.append(Example(chat.chat_id, source, row["kind"], candidates, gold))
    return result


def examples_of_stores(found: Sequence[LabelledStore], source: str, *, model: str = "hashing") -> list[Example]:
    """Return the questions of stores of notes that some note answers."""
    result = []
    for place, store in enumerate(found):
        rows = [
            {
                "kind": one["qtype"],
                "text": one["question"],
                "evidence": [name for group in one["gold"] for name in group],
            }
            for one in store.questions
        ]
        one = chat(store.name, store.turns.sort("at").to_dicts(), rows)
        group = f"part {place % PARTS + 1}"
        result += [replace(each, group=group) for each in examples(one, source, model=model)] if rows else []
    return result


def fit(training: Sequence[Example], ridge: float) -> Floats:
    """Fit the weights of the features; sources are weighted by `SHARES`. Cost: seconds for a thousand questions."""
    usable = [example for example in training if example.gold.any() and not example.gold.all()]
    sources = [example.source for example in usable]
    shares = np.array([SHARES[source] / sources.count(source) for source in sources])
    shares *= 1.0 / shares.sum()
    weights = np.ones(len(FEATURES))
    for _ in range(_ROUNDS):
        values = np.concatenate([example.candidates.scored(weights)[1] for example in usable])
        weights = _softmax(values, usable, shares, ridge)
    return weights


def _softmax(values: Floats, training: Sequence[Example], shares: Floats, ridge: float) -> Floats:
    gold = np.concatenate([example.gold for example in training])
    sizes = np.array([len(example.gold) for example in training])
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(training)), sizes)
    answers = np.flatnonzero(gold)
    belongs = owner[answers]
    weight = shares[belongs] / np.bincount(belongs, minlength=len(training))[belongs]

    def loss(weights: Floats) -> tuple[float, Floats]:
        score = values @ weights
        score -= np.maximum.reduceat(score, starts)[owner]
        power = np.exp(score)
        others = np.add.reduceat(np.where(gold, 0.0, power), starts)
        of_answer = power[answers]
        whole = others[belongs] + of_answer
        pulled = np.where(gold, 0.0, power) * np.bincount(belongs, weight / whole, len(training))[owner]
        pulled[answers] = weight * (of_answer / whole - 1.0)
        apart = weights - weights.mean()
        value = float(weight @ (np.log(whole) - score[answers]) + ridge * (apart @ apart))
        return value, values.T @ pulled + 2.0 * ridge * apart

    return np.asarray(minimize(loss, np.ones(len(FEATURES)), jac=True, method="L-BFGS-B", options=_ACCURACY).x)


def ranks(training: Sequence[Example], weights: Floats) -> Floats:
    """Return the rank of the first answer of each question, from 1; infinite if no candidate answers it."""
    first = []
    for example in training:
        score = example.candidates.scored(weights)[0]
        answers = np.flatnonzero(example.gold[np.argsort(-score, kind="stable")])
        first.append(float(answers[0]) + 1.0 if len(answers) else np.inf)
    return np.array(first, dtype=np.float64)


def examples_of_notes(*, model: str = "hashing") -> list[Example]:
    """Return the questions of the made-up stores and of the episodes of the corpus."""
    found = {"made_up": stores.load(), "episodes": episodes(files=(*LEARNED, *OTHERS, *RANKED))}
    return [one for source, of_source in found.items() for one in examples_of_stores(of_source, source, model=model)]


def examples_of_talks(beam: Path, *, model: str = "hashing") -> list[Example]:
    """Return the questions of the BEAM conversations in a folder and of the generated chats."""
    paths = sorted(beam.glob("*.json"))
    if not paths:
        raise SystemExit(f"{beam}: has no *.json; give the folder of the BEAM conversations")
    generated = [(generate(seed, kind=kind), kind) for kind, seeds in SEEDS.items() for seed in seeds]  # type: ignore[arg-type]
    chats = [(load(path), "beam") for path in paths] + generated
    return [example for chat, source in chats for example in examples(chat, source, model=model)]


def folds(training: Sequence[Example], ridge: float) -> pl.DataFrame:
    """Cross-validate: score each group with weights fitted on all others, and with equal weights.

    Returns:
        One row per group: source, group, questions, fitted and equal (share answered within the first ten).
    """
    rows = []
    for source, group in dict.fromkeys(map(_group, training)):
        held_out = [example for example in training if _group(example) == (source, group)]
        weights = fit([example for example in training if _group(example) != (source, group)], ridge)
        fitted, equal = ranks(held_out, weights), ranks(held_out, np.ones(len(FEATURES)))
        rows.append(
            {
                "source": source,
                "group": group,
                "questions": len(held_out),
                "fitted": float((fitted <= _HITS).mean()),
                "equal": float((equal <= _HITS).mean()),
            }
        )
    return pl.DataFrame(rows)


def _kind(example: Example) -> str:
    return example.source


def _group(example: Example) -> tuple[str, str]:
    return example.source, example.group


def generalisation(training: Sequence[Example], ridge: float, group_of: Callable[[Example], Hashable]) -> float:
    """Score how well weights generalise to groups left out of the fit.

    Args:
        training: examples of several sources.
        ridge: ridge strength.
        group_of: what of an example to leave out: its source or its group.

    Returns:
        Mean reciprocal rank of the first answer, averaged over sources.
    """
    reciprocal: dict[str, list[float]] = {}
    for group in dict.fromkeys(map(group_of, training)):
        held_out = [example for example in training if group_of(example) == group]
        weights = fit([example for example in training if group_of(example) != group], ridge)
        for example, rank in zip(held_out, ranks(held_out, weights), strict=True):
            reciprocal.setdefault(example.source, []).append(1.0 / rank)
    return float(np.mean([np.mean(values) for values in reciprocal.values()]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model and write it with its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--beam", type=Path, help="fit conversations: folder of those of BEAM (*.json)")
    kind.add_argument("--notes", action="store_true", help="fit notes")
    parser.add_argument("--embedder", default="hashing", help="embedder of the vectors")
    parser.add_argument("--out", type=Path, help="output file; default: in models/ of this package")
    options = parser.parse_args(arguments)
    model = options.embedder
    training = examples_of_notes(model=model) if options.notes else examples_of_talks(options.beam, model=model)
    tried = {
        ridge: 0.5 * (generalisation(training, ridge, _kind) + generalisation(training, ridge, _group))
        for ridge in RIDGES
    }
    ridge = max(candidate for candidate in RIDGES if tried[candidate] >= max(tried.values()) - TOLERANCE)
    family = encoder_family(model)
    name = f"notes_{family}" if options.notes else "ranking" if family == "hashing" else f"ranking_{family}"
    out = options.out or Path(str(resources.files("memory_pipeline") / "models" / f"{name}.toml"))
    command = f"{'--notes' if options.notes else '--beam DIR'}{'' if family == 'hashing' else ' --embedder NAME'}"
    text = document(fit(training, ridge), ridge, tried, folds(training, ridge), command=command)
    out.write_text(text, "utf-8")
    print(text)


def document(weights: Floats, ridge: float, tried: Mapping[float, float], held: pl.DataFrame, *, command: str) -> str:
    """Return the model file: weights that sum to 1, each with its feature's description, and the fit report."""
    shares = weights * (1.0 / float(weights.sum()))
    lines = [
        "# The default ranking: the weight of each feature of `memory_pipeline/recall/rank/features.py`.",
        "# Written by the fit below.",
        "",
        "[coefficients]",
        *(
            f"{name} = {share:.4f}  # {description}"
            for (name, description), share in zip(FEATURES.items(), shares, strict=True)
        ),
        "",
        "[fit]",
        f'command = "python research/fit_ranking.py {command}"',
        'what = "softmax over the candidates of each question, ridge towards equal weights"',
        f"ridge = {ridge:g}",
        f"questions = {held['questions'].sum()}",
        "",
        "[fit.ridges]",
        "# Mean reciprocal rank of the first answer, in groups and sources left out of the fit.",
        *(f'"{candidate:g}" = {score:.4f}' for candidate, score in tried.items()),
        "",
        "# Share of questions answered within the first ten, fitted on all other conversations and with equal weights:",
        "# mean, minimum and maximum over the groups of a source (conversations, or parts of the stores).",
    ]
    for source, of_source in sorted(held.group_by("source"), key=lambda pair: str(pair[0])):
        lines += ["", f"[fit.{source[0]}]", f"groups = {of_source.height}"]
        for name in ("fitted", "equal"):
            figures = (float(of_source[name].to_numpy().mean()), min(of_source[name]), max(of_source[name]))
            lines.append(f"{name} = [{', '.join(f'{figure:.3f}' for figure in figures)}]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
