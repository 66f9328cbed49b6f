"""Stores the weights of a sentence encoder in eight bits, as `memory_pipeline/models/reader/encoder.npz`.

Run with `python research/store_encoder.py FOLDER`, where FOLDER holds `model.safetensors` and `tokenizer.json` of
all-MiniLM-L6-v2. Weights only: each row of the word table and each output of a linear layer has one scale; everything
else stays float32. Prints the SHA-256 of what it wrote.
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LAYERS = 6
OUT = Path(__file__).parents[1] / "memory_pipeline" / "models" / "reader"


def load(path: Path) -> dict[str, NDArray[np.float32]]:
    """Read a file in the safetensors format: the length of a JSON header, the header, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    return {
        name: np.frombuffer(data, "<f4", int(np.prod(entry["shape"])), start + entry["data_offsets"][0]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
        if name != "__metadata__" and entry["dtype"] == "F32"
    }


def quantised(weights: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers of -127..127 and the scale along `axis`, whose product is nearest to the weights."""
    scale = np.maximum(np.abs(weights).max(axis=axis, keepdims=True) / 127, np.float32(1e-12))
    return np.rint(weights / scale).astype(np.int8), scale.astype(np.float32)


def network(model: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a transformer without its word table."""
    kinds = model["embeddings.token_type_embeddings.weight"]
    result: dict[str, NDArray[np.generic]] = {
        "places": model["embeddings.position_embeddings.weight"],
        "kinds": kinds,
        "gain": model["embeddings.LayerNorm.weight"],
        "offset": model["embeddings.LayerNorm.bias"],
    }
    for layer in range(LAYERS):
        of = f"encoder.layer.{layer}."
        parts = [f"{of}attention.self.{part}" for part in ("query", "key", "value")]
        linear = {
            "projection": [np.concatenate([model[f"{part}.{kind}"] for part in parts]) for kind in ("weight", "bias")],
            "output": [model[f"{of}attention.output.dense.{kind}"] for kind in ("weight", "bias")],
            "inner": [model[f"{of}intermediate.dense.{kind}"] for kind in ("weight", "bias")],
            "outer": [model[f"{of}output.dense.{kind}"] for kind in ("weight", "bias")],
        }
        for name, (weight, bias) in linear.items():
            numbers, scale = quantised(np.ascontiguousarray(weight.T), 0)
            result |= {f"{layer}.{name}": numbers, f"{layer}.{name}.scale": scale, f"{layer}.{name}.offset": bias}
        for name, part in (("attended", "attention.output"), ("closed", "output")):
            result[f"{layer}.{name}.gain"] = model[f"{of}{part}.LayerNorm.weight"]
            result[f"{layer}.{name}.offset"] = model[f"{of}{part}.LayerNorm.bias"]
    return result


def stored(model: dict[str, NDArray[np.float32]]) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of the encoder: a text is of the first kind throughout."""
    words, scale = quantised(model["embeddings.word_embeddings.weight"], 1)
    result = network(model)
    result["places"] = result["places"] + result.pop("kinds")[0]
    return result | {"words": words, "words.scale": scale}


def main() -> None:
    """Write the weights and the tokenizer."""
    source = Path(sys.argv[1])
    OUT.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(OUT / "encoder.npz", **stored(load(source / "model.safetensors")))
    (OUT / "tokenizer.json").write_bytes((source / "tokenizer.json").read_bytes())
    for name in ("encoder.npz", "tokenizer.json"):
        data = (OUT / name).read_bytes()
        print(f"{hashlib.sha256(data).hexdigest()}  {name}  {len(data):,} bytes")


if __name__ == "__main__":
    main()
