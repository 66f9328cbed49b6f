"""Fits the weights that put the newest of several values first, on conversations and made-up stores with changed facts.

Run with `python research/fit_changes.py --chats DIR [--out FILE]`. The training data are the made-up
stores, generated chats and folders of conversations; the output is `models/changes.toml`. Not here: the features
(`recall/rank/changes`) and the model that they correct (`fit_ranking`).

The probability of a candidate is the softmax of its corrected score among the compared ones. The loss is the mean
negative log-likelihood of the answers, and for each changed fact that of the newer statement against the older one. The
ridge pulls the weights towards zero, that is towards the uncorrected order.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import resources
from pathlib import Path
from typing import Any, Final

import numpy as np
from fit_ranking import SEEDS, asked, index_of
from made_up_stores import stores
from numpy.typing import NDArray
from scipy.optimize import minimize
from synthetic_chats.chats import generate

from memory_pipeline.evaluation.conversations import Chat, chat, load
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank.changes import CHANGES, COMPARED, change_features
from memory_pipeline.recall.rank.ranking import weights
from memory_pipeline.text.embed.embedding import embedder

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]

RIDGE: Final = 0.005
PAIR: Final = 4.0
"""Weight of a changed fact's two statements beside the rank of the answer."""
SHARES: Final = {"stores": 4.0, "two_person": 2.0}
"""Weight of each source; 1 for the others."""
SCALE: Final = 30.0
"""Steepness of the softmax over scores to begin with: about that of the fit of the default ranking."""
_HITS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One question with the best candidates by the uncorrected ranking.

    Attributes:
        source: where it comes from.
        group: unit left out as a whole: a made-up store, or all conversations of a source.
        scores: uncorrected scores.
        features: [candidates, features of `CHANGES`].
        gold: candidates that answer; of a changed fact, those with the newer statement.
        stale: candidates with the older statement of a changed fact.
    """

    source: str
    group: str
    scores: Floats
    features: Floats
    gold: Marks
    stale: Marks

    @property
    def values(self) -> Floats:
        """The score and the features of each candidate."""
        return np.column_stack([self.scores - self.scores.max(), self.features])


def example(
    index: Index, row: Mapping[str, Any], vector: NDArray[np.float32], *, source: str, group: str
) -> Example | None:
    """Return a question as an example; None without candidates.

    Args:
        index: the memories.
        row: text, at, gold and stale (ids).
        vector: vector of the text.
        source: as in `Example`.
        group: as in `Example`.
    """
    question, candidates = asked(index, row["text"], row["at"], vector)
    scores = candidates.scored(weights(index))[0]
    head = np.argsort(-scores, kind="stable")[:COMPARED]
    if not len(head):
        return None
    rows = candidates.rows[head]
    unknown = np.zeros(len(head), dtype=np.bool_)
    features = change_features(index, question, rows, scores[head], candidates.about[head], unknown)
    ids = index.memories["memory_id"].gather(rows)
    gold, stale = (ids.is_in(list(row[name])).to_numpy() for name in ("gold", "stale"))
    return Example(source, group, scores[head], features, gold & ~stale, stale)


def examples(chat: Chat, rows: Sequence[Mapping[str, Any]], *, source: str, group: str) -> Iterator[Example]:
    """Return the questions of a chat as examples (see `example`)."""
    index = index_of(chat)
    vectors = embedder(index.model).embed([row["text"] for row in rows])
    made = (example(index, row, vector, source=source, group=group) for row, vector in zip(rows, vectors, strict=True))
    return (one for one in made if one is not None)


def of_chat(chat: Chat, source: str) -> Iterator[Example]:
    """Return the questions of a conversation, asked a day after its end."""
    at = chat.turns["at"].to_list()[-1] + timedelta(days=1)
    rows = []
    for row in chat.questions.to_dicts():
        changed = row["original"] and row["updated"] and row["original"] != row["updated"]
        gold = row["updated"] if changed else row["evidence"]
        rows.append({"text": row["text"], "at": at, "gold": gold, "stale": row["original"] if changed else []})
    return examples(chat, rows, source=source, group=source)


def of_stores() -> Iterator[Example]:
    """Return the questions of the made-up stores, asked at their instants."""
    for store in stores.load():
        rows = [
            {
                "text": row["question"],
                "at": row["at"],
                "gold": [name for names in row["gold"] for name in names],
                "stale": row["stale"],
            }
            for row in store.questions
        ]
        told = chat(store.name, store.turns.to_dicts(), [])
        yield from examples(told, rows, source="stores", group=f"store {store.name}")


def training_examples(chats: Sequence[Path]) -> list[Example]:
    """Return the questions of conversations in folders, of the made-up stores and of the generated chats."""
    made = [
        one for folder in chats for path in sorted(folder.glob("*.json")) for one in of_chat(load(path), folder.name)
    ]
    for kind, seeds in SEEDS.items():
        for seed in seeds:
            made += of_chat(generate(seed, kind=kind), kind)  # type: ignore[arg-type]
    return made + list(of_stores())


def fit(training: Sequence[Example]) -> Floats:
    """Fit the weights of the score (first) and of `CHANGES`. Cost: seconds for a thousand questions."""
    usable = [one for one in training if one.gold.any() and not one.gold.all()]
    sources = [one.source for one in usable]
    shares = np.array([SHARES.get(source, 1.0) / sources.count(source) for source in sources])
    shares *= 1.0 / shares.sum()
    values = [one.values * np.append(SCALE, np.ones(len(CHANGES))) for one in usable]
    start = np.append(1.0, np.zeros(len(CHANGES)))

    def loss(weights: Floats) -> tuple[float, Floats]:
        apart = weights - start
        total, slope = RIDGE * float(apart @ apart), 2.0 * RIDGE * apart
        for one, columns, share in zip(usable, values, shares, strict=True):
            value, direction = _loss(one, columns, weights)
            total, slope = total + share * value, slope + share * direction
        return total, slope

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
    return np.asarray(found * np.append(SCALE, np.ones(len(CHANGES))))


def coefficients(weights: Floats) -> dict[str, float]:
    """Return the weight of each of `CHANGES` in units of the score, from the weights of `fit`."""
    return {name: float(weight / weights[0]) for name, weight in zip(CHANGES, weights[1:], strict=True)}


def _loss(one: Example, columns: Floats, weights: Floats) -> tuple[float, Floats]:
    """Return the loss of one question and its gradient."""
    score = columns @ weights
    power = np.exp(score - score.max())
    answers = power * one.gold
    value = float(np.log(power.sum()) - np.log(max(answers.sum(), 1e-300)))
    slope = columns.T @ (power / power.sum() - answers / max(answers.sum(), 1e-300))
    newest = int(np.argmax(np.where(one.gold, score, -np.inf)))
    for old in np.flatnonzero(one.stale):
        lead = score[newest] - score[old]
        value += PAIR * float(np.logaddexp(0.0, -lead))
        slope -= PAIR * (columns[newest] - columns[old]) / (1.0 + np.exp(lead))
    return value, np.asarray(slope, dtype=np.float64)


def figures(held_out: Sequence[Example], weights: Floats) -> dict[str, float]:
    """Return the mean reciprocal rank and share of answers among the first three, and the share of newer ones first."""
    reciprocal, hits, fresh = [], [], []
    for one in held_out:
        order = np.argsort(-(one.values @ weights), kind="stable")
        first = np.flatnonzero(one.gold[order])
        rank = int(first[0]) if len(first) else COMPARED
        reciprocal.append(1.0 / (1 + rank) if rank < COMPARED else 0.0)
        hits.append(rank < _HITS)
        older = np.flatnonzero(one.stale[order])
        if len(older):
            fresh.append(rank < int(older[0]))
    return {
        "questions": float(len(held_out)),
        "mrr": float(np.mean(reciprocal)),
        "hit@3": float(np.mean(hits)),
        "changed": float(len(fresh)),
        "fresh_first": float(np.mean(fresh)) if fresh else float("nan"),
    }


def left_out(training: Sequence[Example]) -> dict[str, tuple[dict[str, float], dict[str, float]]]:
    """Return for each source the figures with weights fitted without the group, and without correction."""
    known = [one for one in training if one.gold.any() or one.stale.any()]
    by_source: dict[str, list[tuple[Example, Floats]]] = {}
    for group in dict.fromkeys(one.group for one in known):
        fitted = fit([one for one in known if one.group != group])
        for one in known:
            if one.group == group:
                by_source.setdefault(one.source, []).append((one, fitted))
    plain = np.append(1.0, np.zeros(len(CHANGES)))
    result = {}
    for source, pairs in by_source.items():
        parts: dict[int, tuple[Floats, list[Example]]] = {}
        for one, fitted in pairs:
            parts.setdefault(id(fitted), (fitted, []))[1].append(one)
        result[source] = (
            _mean([figures(some, fitted) for fitted, some in parts.values()]),
            figures([one for one, _ in pairs], plain),
        )
    return result


def _mean(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the figures of several groups together, each question counting once."""
    whole = {name: sum(part[name] for part in parts) for name in ("questions", "changed")}
    for name, per in (("mrr", "questions"), ("hit@3", "questions"), ("fresh_first", "changed")):
        weighed = [part[name] * part[per] for part in parts if part[per]]
        whole[name] = sum(weighed) / whole[per] if whole[per] else float("nan")
    return whole


def document(weights: Floats, report: Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]) -> str:
    """Return the model file: weights in units of the score, each with its feature's description, and the fit report."""
    lines = [
        "# How the newest of several values comes first: the weight of each feature of",
        "# `memory_pipeline/recall/rank/changes.py`, in units of the score. Written by the fit below.",
        "",
        "[coefficients]",
        *(f"{name} = {weight:.4f}  # {CHANGES[name]}" for name, weight in coefficients(weights).items()),
        "",
        "[fit]",
        'command = "python research/fit_changes.py --chats DIR"',
        "# Figures among the compared candidates, fitted without the store or the source, and uncorrected.",
    ]
    for source, (fitted, plain) in sorted(report.items()):
        lines += ["", f"[fit.{source}]", f"questions = {fitted['questions']:.0f}", f"changed = {fitted['changed']:.0f}"]
        for name in ("mrr", "hit@3", "fresh_first"):
            lines.append(f'"{name}" = [{fitted[name]:.3f}, {plain[name]:.3f}]')
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit the model and write it with its report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chats", type=Path, action="append", default=[], help="folder of conversations; repeatable")
    parser.add_argument("--out", type=Path, help="output file; default: models/changes.toml of this package")
    options = parser.parse_args(arguments)
    training = training_examples(options.chats)
    out = options.out or Path(str(resources.files("memory_pipeline") / "models" / "changes.toml"))
    out.write_text(document(fit(training), left_out(training)), "utf-8")
    print(out.read_text("utf-8"))


if __name__ == "__main__":
    main()
