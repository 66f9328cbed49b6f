"""Speaker names that stand for a role in a conversation: the user's side and the assistant's side."""

from typing import Final

import polars as pl

USERS: Final = frozenset({"user", "human", "me", "customer", "client"})
"""Speakers whom "I" in a query refers to, lower-case."""
ASSISTANTS: Final = frozenset({"assistant", "agent", "ai", "bot", "chatbot", "model", "system", "tool"})
"""Speakers whom "you" in a query refers to, lower-case: programs. What they say is advice or repetition."""


def by_assistant(speaker: pl.Expr) -> pl.Expr:
    """Return whether the speaker is an assistant or another program; False if there is none."""
    return speaker.str.to_lowercase().is_in(sorted(ASSISTANTS)).fill_null(value=False)
