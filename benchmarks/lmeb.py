"""Measures recall on LoCoMo by the rules of LMEB, beside bm25s in the same run, and prints the tables of docs/lmeb.md.

Run: python benchmarks/lmeb.py [FOLDER]   FOLDER holds LoCoMo conversations (JSON); they are not part of the project.

The rules (Zhao et al., LMEB: Long-horizon Memory Embedding Benchmark, 2026, arXiv 2603.12572): a document is one turn;
the candidates of a question are the turns of its own conversation; relevant are the turns of its evidence, whatever
their text; all five types of questions count, adversarial ones too; the score of a type is the mean of its questions
(nDCG@10, and recall@10 capped at what ten places can hold), that of the data set the mean of the types. bm25s is set up
as in the benchmark: English stop words and stemmer, one index over the turns of all conversations.
"""

import sys
from datetime import timedelta
from pathlib import Path

import bm25s
import numpy as np
import polars as pl
import Stemmer

from memory_pipeline.evaluation import replay
from memory_pipeline.evaluation.conversations import load
from memory_pipeline.evaluation.metrics import interval

TYPES = ("single-hop", "multi-hop", "temporal", "open-domain", "adversarial")
RANKINGS = ("default", "lexical", "cosine")
FIRST = 10


def document(speaker, content, at, *, dated):
    """Return a turn as a document: who says what, below the date of the session, the benchmark's title, if wanted."""
    return f"{f'{at:%d %B %Y}' if dated else ''}\n{speaker}: {content}"


def by_bm25s(chats, questions, *, dated):
    """Return the first turns of its own conversation for each question, ties by id as in trec_eval."""
    turns = pl.concat([chat.turns.with_columns(chat=pl.lit(chat.chat_id)) for chat in chats])
    texts = [document(*row, dated=dated) for row in turns.select("speaker", "content", "at").iter_rows()]
    words = {"stopwords": "en", "stemmer": Stemmer.Stemmer("english"), "show_progress": False}
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(texts, **words), show_progress=False)
    asked = bm25s.tokenize(questions["text"].to_list(), **words)
    places, scores = retriever.retrieve(asked, k=len(texts), show_progress=False)
    ids, owners = turns["id"].to_numpy(), turns["chat"].to_numpy()
    ranked = {}
    for question, row, score in zip(questions.iter_rows(named=True), places, scores, strict=True):
        own = owners[row] == question["chat"]
        best = sorted(zip(score[own], ids[row[own]], strict=True), reverse=True)
        ranked[question["id"]] = [name for _, name in best[:FIRST]]
    return ranked


def by_recall(chats, ranking):
    """Return the same from recall, asked a day after the last turn of a store that keeps everything."""
    ranked = {}
    for chat in chats:
        later = chat.turns["at"].max() + timedelta(days=1)
        asked = chat.questions.select("id", at=pl.lit(later), text="text")
        results = replay.run(chat.turns, asked, replay.policy_for(), nights=1, depth=FIRST, ranking=ranking).results
        ranked |= dict(results.sort("query_id", "rank").group_by("query_id").agg("id").iter_rows())
    return ranked


def figures(evidence, ranked):
    """Return nDCG@10 and capped recall@10 of one question."""
    found = np.isin(ranked, evidence)
    discount = 1 / np.log2(np.arange(FIRST) + 2)
    most = min(FIRST, len(evidence))
    return float(discount[: len(found)] @ found) / float(discount[:most].sum()), float(found.sum()) / most


def table(questions, systems, place):
    """Return a Markdown table of one figure: types of questions by systems, then the mean of the types."""
    values = {
        name: np.array([figures(row["evidence"], ranked.get(row["id"], []))[place] for row in questions.to_dicts()])
        for name, ranked in systems.items()
    }
    kinds = questions["kind"].to_numpy()
    lines = [["type of question", "questions", *systems], ["---"] * (2 + len(systems))]
    lines += [
        [kind, str((kinds == kind).sum()), *(f"{column[kinds == kind].mean():.3f}" for column in values.values())]
        for kind in TYPES
    ]
    means = [np.mean([column[kinds == kind].mean() for kind in TYPES]) for column in values.values()]
    lines.append(["**mean of the types**", str(len(kinds)), *(f"**{mean:.3f}**" for mean in means)])
    lines.append(["95 % interval of the mean of all questions", "", *(span(column) for column in values.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def span(values):
    low, high = interval(values)
    return f"{low:.3f} to {high:.3f}"


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/locomo")
    chats = [load(path) for path in sorted(folder.glob("*.json"))]
    if not chats:
        print(f"{folder}: holds no conversations; name the folder of the LoCoMo files")
        return
    questions = pl.concat([chat.questions.with_columns(chat=pl.lit(chat.chat_id)) for chat in chats])
    questions = questions.filter(pl.col("evidence").list.len() > 0)
    systems = {f"recall, `{name}`": by_recall(chats, name) for name in RANKINGS}
    systems["bm25s"] = by_bm25s(chats, questions, dated=False)
    systems["bm25s, with dates"] = by_bm25s(chats, questions, dated=True)
    turns = sum(chat.turns.height for chat in chats)
    print(f"{len(chats)} conversations, {turns} turns, {questions.height} questions with evidence")
    for place, name in enumerate(("nDCG@10", "Recall@10, capped")):
        print(f"\n{name}\n\n{table(questions, systems, place)}")


if __name__ == "__main__":
    main()
