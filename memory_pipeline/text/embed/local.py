"""Embedding by a sentence encoder that runs on this machine's processor, through fastembed (the extra `local`).

A model comes from a local folder, or is downloaded once by the library into its own cache. Its vectors are kept with
the text they stand for, so a text is encoded once. What is not here: the built-in embedder, which needs no weights
(`embedding`).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
"""Model of the embedder `local`: 384 dimensions, float32, 90 MB."""
_PROBES: Final = ("a short one", "a text that is quite a lot longer than the other, so that the other one gets padded")
_SAME: Final = 1e-4
"""Vectors of one text may differ by this much with the texts beside it; those of quantised models differ by more."""


class LocalEmbedder:
    """A sentence encoder. Cost: some milliseconds a text on one core."""

    def __init__(self, name: str, model: str) -> None:
        """Name an encoder; nothing is loaded before the first text.

        Args:
            name: name under which its vectors are kept.
            model: a model that fastembed knows, or a folder with `model.onnx` and its tokenizer's files.
        """
        self.name = name
        self._model = model

    @property
    def dimension(self) -> int:
        """Length of its vectors."""
        return int(self._probed.shape[1])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row a text, [n, dimension]; a zero row for a text without words.

        Raises:
            ValueError: fastembed is not installed, the model cannot be loaded, or a vector depends on the texts beside
                it; says what to do.
        """
        dimension = self.dimension
        result = np.zeros((len(texts), dimension), dtype=np.float32)
        worded = [place for place, text in enumerate(texts) if text.strip()]
        if worded:
            found = _encoded(self._encoder, [texts[place] for place in worded])
            lengths = np.linalg.norm(found, axis=1, keepdims=True)
            result[worded] = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
        return result

    @cached_property
    def _probed(self) -> NDArray[np.float32]:
        """Vectors of two probes, after making sure that each is the same without the other."""
        together = _encoded(self._encoder, list(_PROBES))
        alone = np.vstack([_encoded(self._encoder, [probe]) for probe in _PROBES])
        if np.abs(together - alone).max() > _SAME:
            raise ValueError(
                f"embedder = {self.name!r}: its vectors depend on the texts beside them, as those of quantised models "
                "do; choose a float32 model"
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
                f"embedder = {self.name!r} needs fastembed; pip install 'memory-pipeline[local]', or choose hashing"
            ) from error
        logger.disable("fastembed")
        known = {description["model"] for description in TextEmbedding.list_supported_models()}
        try:
            if self._model in known:
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
            said = " ".join(str(error).split())
            raise ValueError(
                f"embedder = {self.name!r}: the model {self._model!r} cannot be loaded: {said}; give a folder with "
                "model.onnx, tokenizer.json, tokenizer_config.json, special_tokens_map.json and config.json as "
                "local:FOLDER, or a model that fastembed can download"
            ) from error


def _encoded(encoder: Any, texts: list[str]) -> NDArray[np.float32]:
    return np.array(list(encoder.embed(texts)), dtype=np.float32)
