"""An agent with a memory: two conversations, and a consolidation between them. Needs no key and no network.

Where a real agent would ask a language model, this one prints what the model would be shown.
"""

from tempfile import TemporaryDirectory

from memory_pipeline import MemoryClient

FIRST = [
    "I live in Lisbon.",
    "I'm allergic to peanuts.",
    "The website launch is on 12 June.",
    "The website launch moved to 26 June.",
]
SECOND = ["When is the website launch?", "What is Ana allergic to?"]


def converse(memory: MemoryClient, session: str, lines: list[str]) -> None:
    """Hold one conversation: read the memories at its start, answer questions, remember the rest."""
    print(*filter(None, (f"== {session}", memory.session_start(session_id=session).text())), sep="\n")
    for line in lines:
        recalled = memory.recall(line, k=2).text() if line.endswith("?") else ""
        if not recalled:
            memory.remember(line, session_id=session, speaker="Ana")
        print(f"Ana: {line}", recalled or "agent: I will remember that.", sep="\n")
    memory.end_session(session)


with TemporaryDirectory() as home, MemoryClient(home, profile_id="ana") as ours:
    converse(ours, "session 1", FIRST)
    print("== asleep", f"decided: {ours.consolidate().actions}", sep="\n")
    converse(ours, "session 2", SECOND)
