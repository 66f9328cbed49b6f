"""`MemoryRetriever`: recall as a LangChain retriever."""

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from memory_pipeline.recall.client.memory_client import MemoryClient
from memory_pipeline.recall.filters import Filters
from memory_pipeline.recall.models import Answer


class MemoryRetriever(BaseRetriever):
    """Finds the memories that answer a query, best first.

    A document's text is that of `Answer.text`: dated, and marked if it no longer holds or may no longer hold; its
    metadata are the fields of the hit. `k` and any other argument of `MemoryClient.recall` can be given for one call:
    `invoke(query, k=3)`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    memory: MemoryClient
    """The client of the profile; the caller closes it."""
    k: int = 10
    """Most documents."""
    token_budget: int | None = None
    """Most tokens of all documents together."""
    filters: Filters | dict[str, Any] | None = None
    """Conditions that memories must meet."""
    deep: bool = False
    """Whether to search memories that are no longer live, too."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        del run_manager
        return self._found(query, given)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        del run_manager
        return await asyncio.to_thread(self._found, query, given)

    def _found(self, query: str, given: dict[str, Any]) -> list[Document]:
        options = {"k": self.k, "token_budget": self.token_budget, "filters": self.filters, "deep": self.deep}
        return documents(self.memory.recall(query, **options | given))


def documents(answer: Answer) -> list[Document]:
    """Return the hits of an answer as documents, best first."""
    return [
        Document(
            page_content=hit.line(answer).removeprefix("- "),
            id=hit.memory_id,
            metadata={
                "memory_id": hit.memory_id,
                "score": hit.score,
                "created_at": hit.created_at.isoformat(),
                "speaker": hit.speaker,
                "memory_type": hit.memory_type,
                "session_id": hit.session_id,
                "current": hit.current,
                "content": hit.content,
            },
        )
        for hit in answer
    ]
