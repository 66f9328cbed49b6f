"""A made-up chat while it is written: whose words it is made of, what time it is in it, its turns and questions.

Not here: who says what when (`friends.py`, `assistants.py`), and the words (`worlds/*.toml`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from memory_pipeline.evaluation.synthetic_chats.worlds import world


class ChatWriter:
    """A conversation while it is written."""

    def __init__(self, rng: Random, words: str, start: datetime) -> None:
        """Begin at an instant, with the words of a world."""
        self.rng = rng
        self.words = world(words)
        self.at = start
        self.session = ""
        self.turns: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self._fresh: dict[tuple[str, ...], list[Any]] = {}

    def pick(self, choices: Sequence[Any]) -> Any:
        """Return one of the choices, none a second time before all were taken."""
        key = tuple(map(str, choices))
        if not self._fresh.get(key):
            self._fresh[key] = self.rng.sample(list(choices), len(choices))
        return self._fresh[key].pop()

    def chance(self, share: float) -> bool:
        """Return true this often."""
        return self.rng.random() < share

    def add(self, turn: str, speaker: str, content: str, *, lasts: timedelta) -> str:
        """Add a turn of the session and return its id."""
        self.turns.append(
            {"id": turn, "at": self.at, "session_id": self.session, "speaker": speaker, "content": content}
        )
        self.at += lasts
        return turn
