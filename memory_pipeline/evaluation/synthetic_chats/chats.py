"""Chats that the project makes up, with questions and the turns that answer them, to fit and to measure on.

Here: the door. Not here: the words (`worlds/*.toml`), how two friends talk (`friends.py`) and how a user works with an
assistant (`assistants.py`), and chats read from files (`conversations.py`).
"""

from typing import Final, Literal, get_args

from memory_pipeline.evaluation.conversations import Chat
from memory_pipeline.evaluation.synthetic_chats import assistants, friends

__all__ = ["Chat", "Kind", "generate"]

Kind = Literal["two_person", "assistant"]
SESSIONS: Final = 25
"""Sessions of a chat unless told otherwise."""
_FEWEST: Final = 4
"""Sessions that a fact needs to change and a list to grow."""


def generate(seed: int, *, kind: Kind, sessions: int = SESSIONS) -> Chat:
    """Make up a chat: two friends who talk over months, or a user who works on something with an assistant.

    Args:
        seed: the same seed gives the same chat, another seed other people, subjects, facts and wordings.
        kind: `two_person` has the question kinds single-hop, multi-hop, temporal and open-domain, and facts that
            change (knowledge_update); `assistant` those of long work with an assistant, contradictions among them.
        sessions: how many; what is said is spread over them.

    Raises:
        ValueError: the kind is unknown, or there are fewer than four sessions.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind = {kind!r}: give {' or '.join(get_args(Kind))}")
    if sessions < _FEWEST:
        raise ValueError(f"sessions = {sessions}: give {_FEWEST} or more")
    make = friends.generate if kind == "two_person" else assistants.generate
    return make(seed, sessions=sessions)
