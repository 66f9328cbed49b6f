"""Recall as a LangChain retriever, in a chain. Needs no key: where a model would answer, the prompt is printed.

pip install '.[langchain]'
"""

from tempfile import TemporaryDirectory

from langchain_core.documents import Document
from langchain_core.prompts import PromptTemplate
from langchain_core.runnables import RunnablePassthrough

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.langchain import MemoryRetriever

PROMPT = PromptTemplate.from_template("Memories:\n{memories}\n\nQuestion: {question}")


def joined(documents: list[Document]) -> str:
    """Return the documents as lines."""
    return "\n".join(document.page_content for document in documents)


with TemporaryDirectory() as home, MemoryClient(home, profile_id="ana") as memory:
    memory.remember_many(["I am allergic to peanuts.", "The launch is on 12 June.", "The launch moved to 26 June."])
    memory.consolidate()
    found = MemoryRetriever(memory=memory, k=2) | joined
    chain = {"memories": found, "question": RunnablePassthrough()} | PROMPT
    print(chain.invoke("When is the launch?").to_string())
