"""A tiny sentence encoder as an ONNX model, which tests build and load as any other."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

SPECIAL = ("[UNK]", "[PAD]")
WORDS = ("green", "tea", "coffee", "river", "boat")


def encoder(folder: Path, *, words: Sequence[str] = WORDS, quantised: bool = False) -> Path:
    """Write an encoder that gives every word its own vector; a `quantised` one scales by the longest text beside it."""
    folder.mkdir()
    known = [*SPECIAL, *words]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(known)}, unk_token=SPECIAL[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[UNK]", "sep_token": "[UNK]"}
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 1}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64, "pad_token": "[PAD]"}))
    (folder / "special_tokens_map.json").write_text(json.dumps(special))
    table = np.random.default_rng(0).normal(size=(len(known), 8)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"], axis=0)]
    constants = [numpy_helper.from_array(table, "table")]
    if quantised:
        nodes.append(helper.make_node("Shape", ["input_ids"], ["shape"]))
        nodes.append(helper.make_node("Cast", ["shape"], ["sizes"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("ReduceSum", ["sizes"], ["size"], keepdims=0))
        nodes.append(helper.make_node("Mul", ["words", "size"], ["scaled"]))
        nodes.append(helper.make_node("Sin", ["scaled"], ["last_hidden_state"]))
    else:
        nodes.append(helper.make_node("Identity", ["words"], ["last_hidden_state"]))
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "words"])
            for name in ("input_ids", "attention_mask")
        ],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "words", 8])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 10
    onnx.save(model, str(folder / "model.onnx"))
    return folder
