"""Speaker names that stand for a role in a conversation: the user's side and the assistant's side.

Not here: what a role counts for in a ranking (`rank/features`).
"""

from typing import Final

USERS: Final = frozenset({"user", "human", "me", "customer", "client"})
"""Speakers whom "I" in a query refers to."""
ASSISTANTS: Final = frozenset({"assistant", "agent", "ai", "bot", "model", "system"})
"""Speakers whom "you" in a query refers to."""
