"""Whether a text still holds what a question needs of a turn, by its words alone.

A turn's content words are weighed by their rarity in the conversation. Within a window of the text about as long as the
turn itself there must be most of that weight; or what the answer takes from the turn, with some of what the question
takes from it or of the weight. So a shortened text keeps its credit while it keeps the fact, and a long bag of keywords
earns none. For a question about time the text must also tell the day. Not here: what is made of it (`metrics.py`).
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
"""Share of the turn's weight that is enough by itself."""
_SOME: Final = 0.3
"""Share of it that is enough next to the answer's words, or to the question's where the answer takes none from it."""
_ANSWER: Final = 0.75
"""Share of the answer's words that must be there."""
_QUESTION: Final = 0.34
"""Share of the question's words that is enough next to them."""
_WINDOW: Final = 1.5
_SHORTEST: Final = 15
"""Length of the window in content words: so many times the turn's, but no shorter."""
_SENTENCE: Final = 25
_PROSE: Final = 0.2
"""A text of more words than this with a smaller share of function words is no prose and earns nothing."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class EvidenceMatcher:
    """The turns of a conversation, ready to be looked for in texts."""

    turns: Mapping[str, Mapping[str, Any]]
    """By id: content, at, and words (its content stems without the speakers' names)."""
    weights: Mapping[str, float]
    """Rarity of each content stem in the conversation."""

    @classmethod
    def of(cls, chat: Chat) -> Self:
        """Read the turns of a chat."""
        cut = content_stems(chat.turns["content"])
        counts = cut.list.unique().explode().drop_nulls().value_counts()
        rare = np.log(1 + chat.turns.height / counts["count"].to_numpy())
        names = {
            stem for stems in content_stems(chat.turns["speaker"].drop_nulls().unique()).to_list() for stem in stems
        }
        rows = chat.turns.select("id", "content", "at").with_columns(words=cut).to_dicts()
        turns = {row["id"]: row | {"words": frozenset(row["words"]) - names} for row in rows}
        return cls(turns, dict(zip(counts[counts.columns[0]], rare.tolist(), strict=True)))

    def matched(self, question: Mapping[str, Any], record: Mapping[str, Any]) -> set[str]:
        """Return which of a question's evidence a record stands for and still holds.

        Args:
            question: row of `Chat.questions`.
            record: text, id, member_ids, t_start, t_end.
        """
        covered = {record["id"], *(record["member_ids"] or ())}
        return {
            turn
            for turn in question["evidence"]
            if turn in covered
            and self._says(question, self.turns[turn], record["text"])
            and (question["kind"] != "temporal" or _tells_day(self.turns[turn]["at"], record))
        }

    def _says(self, question: Mapping[str, Any], turn: Mapping[str, Any], text: str) -> bool:
        if turn["content"] in text:
            return _is_prose(text)
        asked, answer, shown = (
            stems.to_list() for stems in content_stems(pl.Series([question["text"], question["answer"], text]))
        )
        whole = turn["words"]
        parts = _windows(shown, whole)
        return _is_prose(text) and any(
            self._enough(whole, part, whole & set(asked), whole & set(answer)) for part in parts
        )

    def _enough(
        self, whole: frozenset[str], part: frozenset[str], asked: frozenset[str], answer: frozenset[str]
    ) -> bool:
        total = sum(self.weights[stem] for stem in whole)
        kept = sum(self.weights[stem] for stem in part) / total if total else 1.0
        if kept >= _MOST:
            return True
        of_question = len(asked & part) / len(asked) if asked else 1.0
        if answer:
            enough = len(answer & part) / len(answer) >= _ANSWER
            return enough and (of_question >= _QUESTION or kept >= _SOME)
        return bool(asked) and of_question >= _ANSWER and kept >= _SOME


def _windows(stems: Sequence[str], whole: frozenset[str]) -> list[frozenset[str]]:
    """Return which words of the turn each window of the text has; windows begin at such words."""
    length = max(_SHORTEST, int(_WINDOW * len(whole)))
    starts = [place for place, stem in enumerate(stems) if stem in whole]
    return [frozenset(stems[start : start + length]) & whole for start in starts]


def _is_prose(text: str) -> bool:
    """Whether a text reads like sentences: a long one without function words is a list of keywords."""
    said = len(tokenize(pl.Series([text]))[0])
    telling = len(content_stems(pl.Series([text]))[0])
    return said <= _SENTENCE or said - telling >= _PROSE * said


def _tells_day(at: datetime, record: Mapping[str, Any]) -> bool:
    """Whether a record says the day of a turn, by its own span of a day at most or in its text."""
    start, end = record["t_start"], record["t_end"]
    if start is not None and end is not None and end - start <= _DAY and start - _DAY <= at <= end + _DAY:
        return True
    told = add_facts(pl.DataFrame({"content": [record["text"]]}))["dates"][0]
    return any((at + shift * _DAY).date().isoformat() in told for shift in (-1, 0, 1))
