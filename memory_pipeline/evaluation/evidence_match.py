"""Decides whether a text still contains the evidence that a question needs from a turn, by its words alone.

The content words of a turn are weighted by their rarity in the conversation. A window of the text, about as long as the
turn, must contain most of that weight; or the words that the answer shares with the turn, plus some of the question's
words or of the weight. A shortened text thus keeps its credit as long as it keeps the fact, and a long list of keywords
earns none. For a temporal question the text must also state the day. Not here: the figures (`metrics.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Self

import numpy as np
import polars as pl

from memory_pipeline.evaluation.conversations import Chat
from memory_pipeline.text.parse.facts import add_facts
from memory_pipeline.text.parse.tokens import content_stems, tokenize

_MOST: Final = 0.55
"""Share of the turn's weight that suffices by itself."""
_SOME: Final = 0.3
"""Share of the weight that suffices with the answer's words, or with the question's if the answer shares none."""
_ANSWER: Final = 0.75
"""Share of the answer's words that must be present."""
_QUESTION: Final = 0.34
"""Share of the question's words that suffices with the answer's words."""
_WINDOW: Final = 1.5
_SHORTEST: Final = 15
"""Window length in content words: a multiple of the turn's length, and the minimum."""
_SENTENCE: Final = 25
_PROSE: Final = 0.2
"""A text with more words than this and a smaller share of function words is not prose and earns no credit."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class EvidenceMatcher:
    """Matches texts against the turns of a conversation."""

    turns: Mapping[str, Mapping[str, Any]]
    """Turns by id: content, at, and words (content stems without the names of the speakers)."""
    weights: Mapping[str, float]
    """Weight of each content stem: its rarity in the conversation."""

    @classmethod
    def of(cls, chat: Chat) -> Self:
        """Build a matcher for the turns of a chat."""
        stems = content_stems(chat.turns["content"])
        counts = stems.list.unique().explode().drop_nulls().value_counts()
        rare = np.log(1 + chat.turns.height / counts["count"].to_numpy())
        names = {stem for name in content_stems(chat.turns["speaker"].drop_nulls().unique()).to_list() for stem in name}
        rows = chat.turns.select("id", "content", "at").with_columns(words=stems).to_dicts()
        turns = {row["id"]: row | {"words": frozenset(row["words"]) - names} for row in rows}
        return cls(turns, dict(zip(counts[counts.columns[0]], rare.tolist(), strict=True)))

    def matched(self, question: Mapping[str, Any], record: Mapping[str, Any]) -> set[str]:
        """Return the evidence turns that a record covers and whose content it still contains.

        `question` is a row of `Chat.questions`; the record has text, id, member_ids, t_start, t_end.
        """
        covered = {record["id"], *(record["member_ids"] or ())}
        return {
            turn
            for turn in question["evidence"]
            if turn in covered
            and self._contains(question, self.turns[turn], record["text"])
            and (question["kind"] != "temporal" or _states_day(self.turns[turn]["at"], record))
        }

    def _contains(self, question: Mapping[str, Any], turn: Mapping[str, Any], text: str) -> bool:
        if turn["content"] in text:
            return _is_prose(text)
        asked, answer, text_stems = (
            stems.to_list() for stems in content_stems(pl.Series([question["text"], question["answer"], text]))
        )
        whole = turn["words"]
        parts = _windows(text_stems, whole)
        return _is_prose(text) and any(
            self._enough(whole, part, whole & set(asked), whole & set(answer)) for part in parts
        )

    def _enough(
        self, whole: frozenset[str], part: frozenset[str], asked: frozenset[str], answer: frozenset[str]
    ) -> bool:
        total = sum(self.weights[stem] for stem in whole)
        share = sum(self.weights[stem] for stem in part) / total if total else 1.0
        if share >= _MOST:
            return True
        of_question = len(asked & part) / len(asked) if asked else 1.0
        if answer:
            enough = len(answer & part) / len(answer) >= _ANSWER
            return enough and (of_question >= _QUESTION or share >= _SOME)
        return bool(asked) and of_question >= _ANSWER and share >= _SOME


def _windows(stems: Sequence[str], whole: frozenset[str]) -> list[frozenset[str]]:
    """Return the words of the turn in each window of the text; each window starts at such a word."""
    length = max(_SHORTEST, int(_WINDOW * len(whole)))
    starts = [index for index, stem in enumerate(stems) if stem in whole]
    return [frozenset(stems[start : start + length]) & whole for start in starts]


def _is_prose(text: str) -> bool:
    """Return whether a text reads like sentences: a long text without function words is a list of keywords."""
    count = len(tokenize(pl.Series([text]))[0])
    content = len(content_stems(pl.Series([text]))[0])
    return count <= _SENTENCE or count - content >= _PROSE * count


def _states_day(at: datetime, record: Mapping[str, Any]) -> bool:
    """Return whether a record states the day of a turn, by its own time span of at most a day or in its text."""
    start, end = record["t_start"], record["t_end"]
    if start is not None and end is not None and end - start <= _DAY and start - _DAY <= at <= end + _DAY:
        return True
    dates = add_facts(pl.DataFrame({"content": [record["text"]]}))["dates"][0]
    return any((at + shift * _DAY).date().isoformat() in dates for shift in (-1, 0, 1))
