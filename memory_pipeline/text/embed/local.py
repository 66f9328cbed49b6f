"""Local sentence encoder: runs on this machine's processor through fastembed (the extra `local`).

A model comes from a local folder, or is downloaded once by the library into its own cache. Vectors are stored with
their text, so each text is encoded once. Not here: the built-in embedder, which needs no weights (`embedding`).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from memory_pipeline.settings.extras import pip_install
from memory_pipeline.text.arrays import Matrix

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""Model of the embedder `local`: 384 dimensions, float32, 90 MB."""
_BATCH: Final = 32
"""Texts encoded at once: of 512 tokens each they take half a gigabyte."""
_PROBES: Final = ("a short one", "a text that is quite a lot longer than the other, so that the other one gets padded")
_TOLERANCE: Final = 1e-4
"""Largest difference between vectors of one text in different batches; those of quantised models differ by more."""


class LocalEmbedder:
    """A sentence encoder. Cost: some milliseconds per text on one core."""

    def __init__(self, name: str, model: str) -> None:
        """Name an encoder: a model that fastembed knows, or a folder with `model.onnx` and its tokenizer files.

        Nothing is loaded before the first text.
        """
        self.name = name
        self._model = model

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        return int(self._probe_vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit row per text, [n, dimension]; a zero row for a text without words.

        Raises ValueError: fastembed is not installed, the model cannot be loaded, or a vector depends on the other
        texts of its batch; says what to do.
        """
        dimension = self.dimension
        result = np.zeros((len(texts), dimension), dtype=np.float32)
        with_words = [index for index, text in enumerate(texts) if text.strip()]
        if with_words:
            encoded = _encode(self._encoder, [texts[index] for index in with_words])
            lengths = np.linalg.norm(encoded, axis=1, keepdims=True)
            result[with_words] = np.divide(encoded, lengths, out=np.zeros_like(encoded), where=lengths > 0)
        return result

    @cached_property
    def _probe_vectors(self) -> Matrix:
        """Return the vectors of two probes, after checking that each is the same without the other."""
        together = _encode(self._encoder, list(_PROBES))
        alone = np.vstack([_encode(self._encoder, [probe]) for probe in _PROBES])
        if np.abs(together - alone).max() > _TOLERANCE:
            raise ValueError(
                f"embedder = {self.name!r}: its vectors depend on their batch, as those of quantised models do; "
                "choose a float32 model"
            )
        return together

    @cached_property
    def _encoder(self) -> Any:
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415
            from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415
            from loguru import logger  # noqa: PLC0415
        except ImportError as error:
            raise ValueError(
                f"embedder = {self.name!r} needs fastembed; {pip_install('local')}, or choose hashing"
            ) from error
        logger.disable("fastembed")
        supported = {description["model"] for description in TextEmbedding.list_supported_models()}
        try:
            if self._model in supported:
                return TextEmbedding(self._model)
            TextEmbedding.add_custom_model(
                model=self._model,
                pooling=PoolingType.MEAN,
                normalization=True,
                sources=ModelSource(hf=self._model),
                dim=1,
                model_file="model.onnx",
            )
            return TextEmbedding(self._model, specific_model_path=self._model)
        except Exception as error:
            reason = " ".join(str(error).split())
            raise ValueError(
                f"embedder = {self.name!r}: the model {self._model!r} cannot be loaded: {reason}; give a folder with "
                "model.onnx, tokenizer.json, tokenizer_config.json, special_tokens_map.json and config.json as "
                "local:FOLDER, or a model that fastembed can download"
            ) from error


def _encode(encoder: Any, texts: list[str]) -> Matrix:
    """Encode texts in batches of about equal length: a batch is padded to its longest text."""
    order = np.argsort([len(text) for text in texts], kind="stable")
    encoded = np.array(list(encoder.embed([texts[index] for index in order], batch_size=_BATCH)), dtype=np.float32)
    result = np.empty_like(encoded)
    result[order] = encoded
    return result
