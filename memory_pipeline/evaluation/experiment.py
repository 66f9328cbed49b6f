"""Conversations under several policies: what each keeps and what recall still finds, against keeping everything.

Here: the trial and its tables. Not here: one replay (`replay.py`), figures (`metrics.py`) and pages (`report.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, cast

import polars as pl

from memory_pipeline.evaluation import metrics, recall_log, replay
from memory_pipeline.evaluation.comparison import NIGHTS
from memory_pipeline.evaluation.conversations import Chat
from memory_pipeline.settings import Policy
from memory_pipeline.text.parse.tokens import count_tokens

EVERYTHING: Final = "keep everything"
"""Name of the policy that the others are compared with; always the first."""
_SKIPPED: Final = ("adversarial", "abstention")
"""Kinds of questions that nothing in the conversation answers."""
_DAY: Final = timedelta(days=1)

AskAt = Literal["end", "soon"]


@dataclass(frozen=True)
class Experiment:
    """What came of it."""

    figures: pl.DataFrame
    """policy, group (kind of question, empty for all), figure, value, low, high (95 %), ratio, ratio_low, ratio_high
    (to keeping everything, paired; null for groups), n."""
    stores: pl.DataFrame
    """policy, chat, items, tokens, items_share, tokens_share (of what was said), seconds (of all nights)."""
    questions: pl.DataFrame
    """policy, then rows of `metrics.score`."""
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know, a sentence or two each."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single questions as JSON takes it."""
        return {
            "figures": self.figures.to_dicts(),
            "stores": self.stores.to_dicts(),
            "means": self.means().to_dicts(),
            "definitions": metrics.FIGURES,
            "notes": list(self.notes),
        }

    def means(self) -> pl.DataFrame:
        """Return one row a policy: its share of tokens and seconds a chat, and its figures over all questions."""
        stores = self.stores.group_by("policy", maintain_order=True).agg(
            pl.col("tokens_share", "items_share", "seconds").mean()
        )
        whole = self.figures.filter(pl.col("group") == "")
        wide = whole.pivot("figure", index="policy", values="value")
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
    """Replay chats under policies and ask their questions.

    Args:
        chats: conversations with questions; questions that nothing answers are left out. Where nobody said what
            answers them (`recalled.AGREEMENT`), it is what comes back first when everything is kept.
        policies: by the name to show (see `replay.policy_for`); keeping everything is always tried first.
        ranking: how questions are answered (`recall.ranking`).
        ask_at: a day after the last turn (`end`), or a day after the last turn that the answer needs (`soon`).
        nights: consolidations, spread evenly over each conversation.
        progress: called with the name of the policy and of the chat before each replay.

    Raises:
        ValueError: no chat has a question with evidence, two chats have one id, or a policy has the name of keeping
            everything.
    """
    _check(chats, policies)
    everything = next((policy.embedder for policy in policies.values()), None)
    all_policies = {EVERYTHING: replay.policy_for(embedder=everything), **policies}
    chats = [_agreed(chat, all_policies[EVERYTHING], nights=nights, ranking=ranking) for chat in chats]
    scored, stores = dict[str, pl.DataFrame](), []
    for name, policy in all_policies.items():
        parts = []
        for chat in chats:
            if progress is not None:
                progress(name, chat.chat_id)
            made = replay.run(chat.turns, asked(chat, ask_at), policy, nights=nights, ranking=ranking)
            parts.append(metrics.score(answerable(chat), made.hot, made.results))
            stores.append({"policy": name, "chat": chat.chat_id} | size(chat, made.hot) | {"seconds": made.seconds})
        scored[name] = pl.concat(parts)
    return Experiment(
        pl.concat([_figures(name, rows, scored[EVERYTHING]) for name, rows in scored.items()]),
        pl.DataFrame(stores),
        pl.concat([rows.select(pl.lit(name).alias("policy"), pl.all()) for name, rows in scored.items()]),
        (replay.UNLIMITED, *_notes(chats)),
    )


def _notes(chats: Sequence[Chat]) -> list[str]:
    """Return what must be known of chats, each once, after the names of those it is about."""
    said: dict[str, list[str]] = {}
    for chat in chats:
        for note in chat.notes:
            said.setdefault(note, []).append(chat.chat_id)
    return [f"{', '.join(names)}: {note}" for note, names in said.items()]


def asked(chat: Chat, ask_at: AskAt = "end") -> pl.DataFrame:
    """Return the questions of a chat with the time to ask them (columns of `replay.QUERIES`)."""
    questions = answerable(chat).questions
    if ask_at == "end":
        return _at_end(chat, questions)
    known = dict(chat.turns.select("id", "at").iter_rows())
    at = [max(known[turn] for turn in evidence) + _DAY for evidence in questions["evidence"].to_list()]
    return questions.select("id", at=pl.Series(at, dtype=replay.QUERIES["at"]), text="text")


def _at_end(chat: Chat, questions: pl.DataFrame) -> pl.DataFrame:
    end = cast("datetime", chat.turns["at"].max())
    return questions.select("id", at=pl.lit(end + _DAY), text="text")


def _agreed(chat: Chat, policy: Policy, *, nights: int, ranking: str) -> Chat:
    """Give questions of which nobody said what answers them, as evidence, what a policy answers first at the end."""
    unsaid = chat.questions.filter(pl.col("kind") == recall_log.AGREEMENT)
    if unsaid.is_empty():
        return chat
    made = replay.run(
        chat.turns, _at_end(chat, unsaid), policy, nights=nights, depth=recall_log.AGREED, ranking=ranking
    )
    best = dict(made.results.sort("query_id", "rank").group_by("query_id").agg("id").iter_rows())
    evidence = [best.get(name, own) for name, own in chat.questions.select("id", "evidence").iter_rows()]
    return replace(chat, questions=chat.questions.with_columns(pl.Series("evidence", evidence, pl.List(pl.String()))))


def size(chat: Chat, hot: pl.DataFrame) -> dict[str, float]:
    """Return what a store holds, and its share of what was said: items, tokens, items_share, tokens_share."""
    said = chat.turns.select(pl.concat_str("speaker", pl.lit(": "), "content").fill_null(pl.col("content"))).to_series()
    tokens, whole = int(count_tokens(hot["text"]).sum()), int(count_tokens(said).sum())
    shares = {"items_share": hot.height / chat.turns.height, "tokens_share": tokens / whole}
    return {"items": hot.height, "tokens": tokens} | shares


def answerable(chat: Chat) -> Chat:
    """Return a chat with those of its questions that something in it answers."""
    kept = (pl.col("evidence").list.len() > 0) & ~pl.col("kind").is_in(_SKIPPED)
    return replace(chat, questions=chat.questions.filter(kept))


def _check(chats: Sequence[Chat], policies: Mapping[str, Policy]) -> None:
    if EVERYTHING in policies:
        raise ValueError(f"a policy is named {EVERYTHING!r}, which is always tried; give it another name")
    names = [chat.chat_id for chat in chats]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two conversations are named {twice!r}; give each its own file name")
    unsaid = any(recall_log.AGREEMENT in chat.questions["kind"] for chat in chats)
    if not unsaid and not any(answerable(chat).questions.height for chat in chats):
        raise ValueError(
            f"{', '.join(names) or 'nothing'}: no question with evidence; give conversations with questions (LoCoMo, "
            "BEAM), or events with recalls that say their query"
        )


def _figures(name: str, scored: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    ratios = metrics.against(scored, base).select(
        "figure", "ratio", ratio_low="low", ratio_high="high", group=pl.lit("")
    )
    means = metrics.summary(scored, by="kind").join(ratios, on=["group", "figure"], how="left", maintain_order="left")
    order = ("group", "figure", "value", "low", "high", "ratio", "ratio_low", "ratio_high", "n")
    return means.select(pl.lit(name).alias("policy"), *order)
