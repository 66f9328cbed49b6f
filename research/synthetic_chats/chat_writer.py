"""Base class for writing a generated chat: vocabulary, clock, turns and questions.

Not here: the content of the chats (`friends.py`, `assistants.py`) and the vocabulary (`worlds/*.toml`).
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from synthetic_chats.worlds import world


class ChatWriter:
    """A conversation being written."""

    def __init__(self, rng: Random, words: str, start: datetime) -> None:
        """Start at an instant with the vocabulary of a world."""
        self.rng = rng
        self.words = world(words)
        self.at = start
        self.session = ""
        self.turns: list[dict[str, Any]] = []
        self.questions: list[dict[str, Any]] = []
        self._fresh: dict[tuple[str, ...], list[Any]] = {}

    def pick(self, choices: Sequence[Any]) -> Any:
        """Return one of the choices; none is repeated before all have been used."""
        key = tuple(map(str, choices))
        if not self._fresh.get(key):
            self._fresh[key] = self.rng.sample(list(choices), len(choices))
        return self._fresh[key].pop()

    def chance(self, share: float) -> bool:
        """Return true with this probability."""
        return self.rng.random() < share

    def add(self, turn: str, speaker: str, content: str, *, lasts: timedelta) -> str:
        """Add a turn to the session and return its id."""
        self.turns.append(
            {"id": turn, "at": self.at, "session_id": self.session, "speaker": speaker, "content": content}
        )
        self.at += lasts
        return turn
