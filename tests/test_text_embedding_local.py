"""The local sentence encoder, with a tiny ONNX model built by the tests."""

import numpy as np
import polars as pl
import pytest
from encoders import encoder

from memory_pipeline.settings import SettingsError, load
from memory_pipeline.text.embed.embedding import embed_texts, embedder


def texts(*contents: str) -> pl.DataFrame:
    hashes = [f"h{index}" for index in range(len(contents))]
    return pl.DataFrame({"profile_id": "p", "content_hash": hashes, "speaker": None, "content": contents}).cast(
        {"speaker": pl.String}
    )


def test_texts_become_unit_rows_of_the_models_dimension(tmp_path):
    chosen = embedder(f"local:{encoder(tmp_path / 'tiny')}")
    rows = chosen.embed(["green tea", "", "river boat", "tea green"])
    assert chosen.dimension == 8
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 1, 1], abs=1e-6)
    assert rows[0] == pytest.approx(rows[3], abs=1e-6)
    assert chosen.embed([]).shape == (0, 8)


def test_vectors_are_stored_under_the_configured_name(tmp_path):
    name = f"local:{encoder(tmp_path / 'tiny')}"
    kept = embed_texts(texts("green tea", "   ", "coffee"), name)
    assert kept["model"].unique().to_list() == [name]
    assert kept["content_hash"].to_list() == ["h0", "h2"]
    assert kept["vector"].list.len().to_list() == [8, 8]


def test_a_model_whose_vectors_depend_on_their_batch_is_refused(tmp_path):
    chosen = embedder(f"local:{encoder(tmp_path / 'batchy', quantised=True)}")
    with pytest.raises(ValueError, match=r"depend on their batch.*choose a float32 model"):
        chosen.embed(["green tea"])


def test_a_folder_without_a_model_is_refused_with_what_it_should_hold(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"cannot be loaded: .*give a folder with model\.onnx"):
        embedder(f"local:{tmp_path / 'empty'}").embed(["tea"])


def test_thresholds_follow_the_embedder_unless_set(tmp_path):
    (tmp_path / "memory_pipeline.toml").write_text(
        '[policy]\nembedder = "local"\nfading_similarity = 0.6\n[profiles.auto]\npreset = "automem"\n'
    )
    settings = load(tmp_path, environment={})
    assert settings.policy_of("").cluster_similarity == 0.75
    assert settings.policy_of("").fading_similarity == 0.6
    assert settings.policy_of("auto").similar_to_threshold == 0.85
    assert load(tmp_path, environment={"MEMORY_PIPELINE_EMBEDDER": "hashing"}).policy_of("").cluster_similarity == 0.5


@pytest.mark.parametrize("name", ["minilm", "local:", "local: ", "hashing:x"])
def test_an_unknown_embedder_is_refused(tmp_path, name):
    with pytest.raises(SettingsError, match=r"embedder = .*unknown embedder; use hashing, reader, local"):
        load(tmp_path, environment={"MEMORY_PIPELINE_EMBEDDER": name})
