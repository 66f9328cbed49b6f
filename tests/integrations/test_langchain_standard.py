"""The standard tests that LangChain has for retrievers."""

import pytest

retrievers = pytest.importorskip(
    "langchain_tests.integration_tests.retrievers", reason="langchain-tests is not installed"
)

from memory_pipeline import MemoryClient  # noqa: E402
from memory_pipeline.integrations.langchain import MemoryRetriever  # noqa: E402


class TestMemoryRetriever(retrievers.RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _memory(self, tmp_path):
        with MemoryClient(tmp_path) as self.memory:
            self.memory.remember_many(f"Ana bought book number {number}." for number in range(5))
            yield

    @property
    def retriever_constructor(self):
        return MemoryRetriever

    @property
    def retriever_constructor_params(self):
        return {"memory": self.memory}

    @property
    def retriever_query_example(self):
        return "Which books did Ana buy?"
