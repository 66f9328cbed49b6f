"""Settings of the language model client: endpoint, timeouts, and limits per run.

The API key is not a setting; it is read from the environment variable OPENAI_API_KEY only. Not here: the choice of
model (`Policy.llm_model`) and the client (`llm/`).
"""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from memory_pipeline.settings.values import NotNegative, Positive, Values


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("not a URL; write it like https://api.openai.com/v1 or http://localhost:11434/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("the URL may not contain user, password, query or fragment; set the key as OPENAI_API_KEY")
    return url


class LanguageModel(Values):
    """Settings of the language model client."""

    llm_base_url: Annotated[str, AfterValidator(_address)] = Field(
        "https://api.openai.com/v1",
        description="Base URL of the language model: any endpoint with OpenAI's chat completions API.",
    )
    llm_timeout_seconds: Positive = Field(60.0, description="Timeout of one request, from sending it to the last byte.")
    llm_retries: int = Field(2, ge=0, le=10, description="Retries after a request that failed or timed out.")
    llm_concurrency: int = Field(4, ge=1, le=64, description="Maximum number of concurrent requests.")
    llm_max_output_tokens: int = Field(1024, ge=16, description="Maximum tokens of one answer.")
    llm_token_budget: int | None = Field(
        500_000, ge=0, description="Maximum tokens per run, prompts and answers together; unset: no limit."
    )
    llm_money_budget: NotNegative | None = Field(
        None,
        description="Maximum cost of the model per run, in the currency of the prices; unset: no limit.",
    )
    llm_price_input: NotNegative = Field(0.0, description="Price per million prompt tokens.")
    llm_price_output: NotNegative = Field(0.0, description="Price per million answer tokens.")

    def shared(self, share: float) -> Self:
        """Return these settings with a share of the budget of a run."""
        tokens, money = self.llm_token_budget, self.llm_money_budget
        return self.model_copy(
            update={
                "llm_token_budget": None if tokens is None else int(tokens * share),
                "llm_money_budget": None if money is None else money * share,
            }
        )

    @model_validator(mode="after")
    def _priced(self) -> Self:
        """Require prices with a money budget: without them it would never be reached."""
        if self.llm_money_budget is not None and not self.llm_price_input + self.llm_price_output > 0:
            raise ValueError("llm_money_budget is set without prices; set llm_price_input and llm_price_output too")
        return self
