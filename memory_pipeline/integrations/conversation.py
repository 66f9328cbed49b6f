"""Shared by the adapters of conversations: what an agent reads before it answers, and which turns are remembered.

Not here: any framework.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.openings import Opening
from memory_pipeline.text.quoting import INTRODUCTION

USER: Final = "user"
"""Speaker of what the user says."""


def before_answering(memory: MemoryClient, question: str, *, k: int, session_id: str | None = None) -> str:
    """Return core memory and memories that answer the user's last words, as text for a prompt; empty without memories.

    The words themselves, if already remembered, do not count as an answer.
    """
    answer = memory.recall(question, k + 1, session_id=session_id) if question.strip() else None
    if answer is not None:
        answer = replace(answer, recalled=tuple(hit for hit in answer if hit.content != question)[:k])
    text = Opening(session_id=session_id, blocks=memory.core_memory(), answer=answer).text()
    return f"{INTRODUCTION}\n\n{text}" if text else ""


def remember_turns(memory: MemoryClient, texts: Iterable[str], *, session_id: str | None) -> list[str]:
    """Store what the user says in turns, but for blank ones, all or none, and return the ids."""
    said = [{"text": text, "session_id": session_id, "speaker": USER} for text in texts if text.strip()]
    return memory.remember_many(said)
