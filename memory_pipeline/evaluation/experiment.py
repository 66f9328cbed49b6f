"""Compares policies on conversations: what each keeps and what recall still finds, relative to keeping everything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, cast

import polars as pl

from memory_pipeline.evaluation import metrics, recall_log
from memory_pipeline.evaluation import replay as replays
from memory_pipeline.evaluation.comparison import NIGHTS
from memory_pipeline.evaluation.conversations import Chat
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens

EVERYTHING: Final = "keep everything"
"""Name of the baseline policy; always the first."""
_UNANSWERABLE: Final = ("adversarial", "abstention")
"""Kinds of questions that nothing in the conversation answers."""
_DAY: Final = timedelta(days=1)

AskAt = Literal["end", "soon"]


@dataclass(frozen=True)
class Experiment:
    """Results of replaying conversations under several policies."""

    figures: pl.DataFrame
    """policy, group (kind of question, empty for all), figure, value, low, high (95 %), ratio, ratio_low, ratio_high
    (to keeping everything, paired; null for groups), n."""
    stores: pl.DataFrame
    """policy, chat, items, tokens, items_share, tokens_share (of the conversation), seconds (all nights)."""
    questions: pl.DataFrame
    """policy, then the columns of `metrics.score`."""
    conversations: pl.DataFrame
    """chat, first, last (instants of its turns), turns, questions."""
    lost: pl.DataFrame
    """Questions with evidence among the first ten only when everything is kept; of the baseline, those without any:
    policy, chat, question, kind, asked, expected (the answer, else the evidence), instead (text of the first result,
    empty if there is none)."""
    notes: tuple[str, ...] = ()
    """Caveats for readers of the figures, a sentence or two each."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the scores of single questions as JSON values."""
        dates = [pl.col(name).dt.strftime("%Y-%m-%d") for name in ("first", "last")]
        return {
            "conversations": self.conversations.with_columns(dates).to_dicts(),
            "figures": self.figures.to_dicts(),
            "stores": self.stores.to_dicts(),
            "means": self.means().to_dicts(),
            "lost": self.lost.to_dicts(),
            "definitions": metrics.FIGURES,
            "notes": list(self.notes),
        }

    def means(self) -> pl.DataFrame:
        """Return one row per policy: mean shares and seconds per conversation, and each figure over all questions."""
        stores = self.stores.group_by("policy", maintain_order=True).agg(
            pl.col("tokens_share", "items_share", "seconds").mean()
        )
        overall = self.figures.filter(pl.col("group") == "")
        wide = overall.pivot("figure", index="policy", values="value")
        return stores.join(wide, on="policy", how="left", maintain_order="left")


def evaluate(
    chats: Sequence[Chat],
    policies: Mapping[str, Policy],
    *,
    ranking: str = "default",
    ask_at: AskAt = "end",
    nights: int = NIGHTS,
    progress: Callable[[str, str], None] | None = None,
) -> Experiment:
    """Replay conversations under policies and score the answers to their questions.

    Args:
        chats: conversations with questions; unanswerable questions are left out. Questions without feedback
            (`recall_log.AGREEMENT`) take as evidence what comes back first when everything is kept.
        policies: by display name (see `replay.policy_for`); keeping everything always runs first.
        ranking: how questions are answered (`recall.ranking`).
        ask_at: a day after the last turn (`end`), or a day after the last turn that the answer needs (`soon`).
        nights: consolidations, spread evenly over each conversation.
        progress: called with the name of the policy and of the conversation before each replay.

    Raises:
        ValueError: no chat has a question with evidence, two chats have the same id, or a policy has the name of the
            baseline.
    """
    _check(chats, policies)
    embedder = next((policy.embedder for policy in policies.values()), None)
    all_policies = {EVERYTHING: replays.policy_for(embedder=embedder), **policies}
    chats = [_with_agreement(chat, all_policies[EVERYTHING], nights=nights, ranking=ranking) for chat in chats]
    scores, first_results, stores = dict[str, pl.DataFrame](), list[pl.DataFrame](), []
    for name, policy in all_policies.items():
        parts = []
        for chat in chats:
            if progress is not None:
                progress(name, chat.chat_id)
            replay = replays.run(chat.turns, queries(chat, ask_at), policy, nights=nights, ranking=ranking)
            parts.append(metrics.score(answerable(chat), replay.hot, replay.results))
            first_results.append(_first_results(replay, name, chat.chat_id))
            stores.append({"policy": name, "chat": chat.chat_id} | size(chat, replay.hot) | {"seconds": replay.seconds})
        scores[name] = pl.concat(parts)
    questions = pl.concat([rows.select(pl.lit(name).alias("policy"), pl.all()) for name, rows in scores.items()])
    return Experiment(
        pl.concat([_figures(name, rows, scores[EVERYTHING]) for name, rows in scores.items()]),
        pl.DataFrame(stores),
        questions,
        pl.concat([_overview(chat) for chat in chats]),
        _lost(questions, pl.concat([_wordings(chat) for chat in chats]), pl.concat(first_results)),
        (replays.UNLIMITED, *_notes(chats)),
    )


def queries(chat: Chat, ask_at: AskAt = "end") -> pl.DataFrame:
    """Return the questions of a chat with the time to ask them (columns of `replay.QUERIES`)."""
    questions = answerable(chat).questions
    if ask_at == "end":
        return _at_end(chat, questions)
    times = dict(chat.turns.select("id", "at").iter_rows())
    at = [max(times[turn] for turn in evidence) + _DAY for evidence in questions["evidence"].to_list()]
    return questions.select("id", at=pl.Series(at, dtype=replays.QUERIES["at"]), text="text")


def size(chat: Chat, hot: pl.DataFrame) -> dict[str, float]:
    """Return the size of a store and its share of the conversation: items, tokens, items_share, tokens_share."""
    turns = chat.turns.select(pl.concat_str("speaker", pl.lit(": "), "content").fill_null(pl.col("content")))
    tokens, all_tokens = int(count_tokens(hot["text"]).sum()), int(count_tokens(turns.to_series()).sum())
    shares = {"items_share": hot.height / chat.turns.height, "tokens_share": tokens / all_tokens}
    return {"items": hot.height, "tokens": tokens} | shares


def answerable(chat: Chat) -> Chat:
    """Return a chat with only the questions that something in it answers."""
    has_answer = (pl.col("evidence").list.len() > 0) & ~pl.col("kind").is_in(_UNANSWERABLE)
    return replace(chat, questions=chat.questions.filter(has_answer))


def _first_results(replay: replays.Replay, policy: str, chat_id: str) -> pl.DataFrame:
    """Return the text of the first result of each question: policy, chat, question, instead."""
    first = replay.results.sort("query_id", "rank").unique("query_id", keep="first", maintain_order=True)
    texts = first.join(replay.hot.select("id", "text"), on="id", maintain_order="left")
    return texts.select(policy=pl.lit(policy), chat=pl.lit(chat_id), question="query_id", instead="text")


def _wordings(chat: Chat) -> pl.DataFrame:
    """Return the wording of each answerable question: chat, question, asked, expected."""
    contents = dict(chat.turns.select("id", "content").iter_rows())
    rows = [
        (chat.chat_id, row["id"], row["text"], row["answer"] or " / ".join(contents[turn] for turn in row["evidence"]))
        for row in answerable(chat).questions.iter_rows(named=True)
    ]
    names = ("chat", "question", "asked", "expected")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String()), orient="row")


def _lost(questions: pl.DataFrame, wordings: pl.DataFrame, first_results: pl.DataFrame) -> pl.DataFrame:
    keys = ["chat", "question"]
    missed = questions.filter(pl.col("hit@10") == 0)
    missed_by_baseline = missed.filter(pl.col("policy") == EVERYTHING).select(keys)
    lost = pl.concat(
        [
            missed.filter(pl.col("policy") == EVERYTHING),
            missed.filter(pl.col("policy") != EVERYTHING).join(missed_by_baseline, on=keys, how="anti"),
        ]
    )
    lost = lost.join(wordings, on=keys, how="left", maintain_order="left")
    lost = lost.join(first_results, on=["policy", *keys], how="left", maintain_order="left")
    return lost.select("policy", *keys, "kind", "asked", "expected", pl.col("instead").fill_null(""))


def _overview(chat: Chat) -> pl.DataFrame:
    at = pl.col("at")
    counts = {"turns": pl.len().cast(pl.Int64), "questions": pl.lit(answerable(chat).questions.height, pl.Int64)}
    return chat.turns.select(chat=pl.lit(chat.chat_id), first=at.min(), last=at.max(), **counts)


def _notes(chats: Sequence[Chat]) -> list[str]:
    """Return the distinct notes on the chats, each prefixed with the names of the chats that it concerns."""
    names_by_note: dict[str, list[str]] = {}
    for chat in chats:
        for note in chat.notes:
            names_by_note.setdefault(note, []).append(chat.chat_id)
    return [f"{', '.join(names)}: {note}" for note, names in names_by_note.items()]


def _at_end(chat: Chat, questions: pl.DataFrame) -> pl.DataFrame:
    end = cast("datetime", chat.turns["at"].max())
    return questions.select("id", at=pl.lit(end + _DAY), text="text")


def _with_agreement(chat: Chat, policy: Policy, *, nights: int, ranking: str) -> Chat:
    """Use what the policy answers first at the end as evidence for questions without feedback."""
    unjudged = chat.questions.filter(pl.col("kind") == recall_log.AGREEMENT)
    if unjudged.is_empty():
        return chat
    replay = replays.run(
        chat.turns, _at_end(chat, unjudged), policy, nights=nights, depth=recall_log.AGREED, ranking=ranking
    )
    best = dict(replay.results.sort("query_id", "rank").group_by("query_id", maintain_order=True).agg("id").iter_rows())
    evidence = [best.get(name, own) for name, own in chat.questions.select("id", "evidence").iter_rows()]
    return replace(chat, questions=chat.questions.with_columns(pl.Series("evidence", evidence, pl.List(pl.String()))))


def _check(chats: Sequence[Chat], policies: Mapping[str, Policy]) -> None:
    if EVERYTHING in policies:
        raise ValueError(f"a policy is named {EVERYTHING!r}, the name of the baseline; choose another name")
    names = [chat.chat_id for chat in chats]
    if duplicate := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two conversations are named {duplicate!r}; give each file its own name")
    unjudged = any(recall_log.AGREEMENT in chat.questions["kind"] for chat in chats)
    if not unjudged and not any(answerable(chat).questions.height for chat in chats):
        raise ValueError(
            f"{', '.join(names) or 'nothing'}: no question with evidence; give conversations with questions (LoCoMo, "
            "BEAM), or events whose recalls include the query"
        )


def _figures(name: str, scores: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    ratios = metrics.against(scores, base).select(
        "figure", "ratio", ratio_low="low", ratio_high="high", group=pl.lit("")
    )
    means = metrics.summary(scores, by="kind").join(ratios, on=["group", "figure"], how="left", maintain_order="left")
    order = ("group", "figure", "value", "low", "high", "ratio", "ratio_low", "ratio_high", "n")
    return means.select(pl.lit(name).alias("policy"), *order)
