"""Where a language model answers, how patiently it is asked, and what a run may spend on it.

The key is no setting: it is read from the environment variable OPENAI_API_KEY alone. What is not here: which model
words what (`Policy.llm_model`), and how it is asked.
"""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from memory_pipeline.settings.values import NotNegative, Positive, Values


def _address(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("no address; write it like https://api.openai.com/v1 or http://localhost:11434/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("an address holds no user, password, query or fragment; give the key as OPENAI_API_KEY")
    return url


class LanguageModel(Values):
    """How a language model is reached."""

    llm_base_url: Annotated[str, AfterValidator(_address)] = Field(
        "https://api.openai.com/v1",
        description="Where the language model answers: any endpoint that speaks OpenAI's chat completions.",
    )
    llm_timeout_seconds: Positive = Field(
        60.0, description="Most seconds that one try may take from request to last byte."
    )
    llm_retries: int = Field(
        2, ge=0, le=10, description="Tries after the first, if the server was busy, broken or silent."
    )
    llm_concurrency: int = Field(4, ge=1, le=64, description="Requests on their way at once.")
    llm_max_output_tokens: int = Field(1024, ge=16, description="Most tokens of one answer.")
    llm_token_budget: int | None = Field(
        500_000, ge=0, description="Most tokens that a run may ask and be answered, together; unset: no limit."
    )
    llm_money_budget: NotNegative | None = Field(
        None,
        description="Most money that a run may spend on the model, in the currency of its prices; unset: no limit.",
    )
    llm_price_input: NotNegative = Field(0.0, description="Price of a million tokens asked.")
    llm_price_output: NotNegative = Field(0.0, description="Price of a million tokens answered.")

    @model_validator(mode="after")
    def _priced(self) -> Self:
        """A limit in money without prices would never be reached."""
        if self.llm_money_budget is not None and not self.llm_price_input + self.llm_price_output > 0:
            raise ValueError("llm_money_budget is set without prices; set llm_price_input and llm_price_output too")
        return self
