"""A LangGraph agent whose store is consolidated. Needs no key: where a model would answer, it prints what it found.

pip install '.[langgraph]' langgraph
"""

from tempfile import TemporaryDirectory
from typing import TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.langgraph import MemoryPipelineStore

NAMESPACE = ("memories", "ana")
SAID = ["I live in Lisbon.", "I live in Lisbon.", "The launch is on 12 June.", "The launch moved to 26 June."]


class Turn(TypedDict):
    """What a turn carries."""

    said: str


def answer(turn: Turn, *, store: BaseStore) -> Turn:
    """Remember what was said, or print what answers a question."""
    if not turn["said"].endswith("?"):
        store.put(NAMESPACE, f"turn {len(store.search(NAMESPACE))}", {"content": turn["said"]})
    for item in store.search(NAMESPACE, query=turn["said"], limit=1) if turn["said"].endswith("?") else ():
        print(f"{turn['said']} {item.value['content']}")
    return turn


with TemporaryDirectory() as home, MemoryPipelineStore(home) as memories:  # the one changed line
    agent = StateGraph(Turn).add_node("answer", answer).add_edge(START, "answer").add_edge("answer", END)
    graph = agent.compile(store=memories)
    for words in SAID:
        graph.invoke({"said": words})
    with MemoryClient(home, profile_id=".".join(NAMESPACE)) as client:
        print("asleep:", client.consolidate().actions)
    for question in ("Where does Ana live?", "When is the launch?"):
        graph.invoke({"said": question})
    print("left:", len(memories.search(NAMESPACE)), "of", len(SAID))
