"""The values that options and requests choose from: tasks, roles, answers.

Apart from what acts on them, so that the command line knows its options before anything slow is imported.
"""

from enum import StrEnum
from typing import Final, Literal, NamedTuple, get_args

Answer = Literal["update", "partial", "repeat", "conflict", "none", "open", "skip"]
"""What can be answered about a pair of memories; skip records nothing."""


class Key(NamedTuple):
    """How people give an answer."""

    letter: str
    label: str
    meaning: str

    @property
    def word(self) -> str:
        """The answer on a command line."""
        return self.label.split()[0].lower()


KEYS: Final[dict[Answer, Key]] = {
    "update": Key("r", "Replaces", "the older is over"),
    "partial": Key("p", "Part of it", "the marked part is over"),
    "repeat": Key("s", "Same", "one can stand for both"),
    "conflict": Key("c", "Conflict", "only one can be true"),
    "none": Key("b", "Both true", "leave both as they are"),
    "skip": Key("l", "Later", "ask me another time"),
}
"""The answers that people give, in the terminal and on the page."""

ANSWERS: Final = ", ".join(f"{key.word} ({key.meaning})" for key in KEYS.values())
"""Their words on a command line, each with its meaning."""


def relation_of(word: str) -> str:
    """Return the relation that a word, or its own name, stands for; a ValueError lists the words."""
    relations: dict[str, str] = {key.word: relation for relation, key in KEYS.items()}
    if word in get_args(Answer):
        return word
    if word not in relations:
        raise ValueError(f"answer is {word!r}; give one of: {ANSWERS}")
    return relations[word]


class Task(StrEnum):
    """One task of a consolidation."""

    DECAY = "decay"
    CREATIVE = "creative"
    CLUSTER = "cluster"
    FORGET = "forget"
    PROMOTE = "promote"


class Role(StrEnum):
    """What a token allows."""

    ADMIN = "admin"
    """Everything, in every profile."""
    AGENT = "agent"
    """Reading, changing and consolidating one profile."""
