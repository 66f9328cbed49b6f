"""Generates chats with questions and their evidence, for fitting and measuring.

Not here: the vocabulary (`worlds/*.toml`), chats between friends (`friends.py`) and with an assistant
(`assistants.py`), and chats read from files (`conversations.py`).
"""

from typing import Final, Literal, get_args

from memory_pipeline.evaluation.conversations import Chat
from synthetic_chats import assistants, friends

__all__ = ["Chat", "Kind", "generate"]

Kind = Literal["two_person", "assistant"]
SESSIONS: Final = 25
"""Default number of sessions."""
_FEWEST: Final = 4
"""Minimum number of sessions for facts to change and lists to grow."""


def generate(seed: int, *, kind: Kind, sessions: int = SESSIONS) -> Chat:
    """Generate a chat: two friends who talk over months, or a user who works on something with an assistant.

    Args:
        seed: equal seeds give equal chats; other seeds give other people, subjects, facts and wordings.
        kind: `two_person` has single-hop, multi-hop, temporal and open-domain questions and changing facts
            (knowledge_update); `assistant` has the questions of long work with an assistant, including
            contradictions.
        sessions: number of sessions over which the content is spread.

    Raises:
        ValueError: the kind is unknown, or there are fewer than four sessions.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind = {kind!r}: give {' or '.join(get_args(Kind))}")
    if sessions < _FEWEST:
        raise ValueError(f"sessions = {sessions}: give {_FEWEST} or more")
    make = friends.generate if kind == "two_person" else assistants.generate
    return make(seed, sessions=sessions)
