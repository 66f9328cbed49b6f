"""A store moves from one embedder to another and back."""

import re
import shutil

import commands
import homes
import polars as pl
import pytest
from encoders import encoder

from memory_pipeline.lake.tables import Lake
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import load
from memory_pipeline.text.embed.embedding import embedder

RUN = {"plan_id"}
"""Columns that name a run."""
PROPOSALS = (
    *("profiles", "consolidation_plan", "proposed_edges", "summaries", "promotions", "proposed_blocks"),
    *("archived_set", "trims", "deferred", "score_history"),
)
"""Tables about one run: what it proposed, and when it scored."""


@pytest.fixture(scope="module")
def history():
    return homes.events(profiles=1, memories=8)


@pytest.fixture(scope="module")
def name(tmp_path_factory, history):
    """An embedder that knows every word of the store."""
    words = {word for event in history for word in re.findall(r"\w+", str(event.payload))}
    return f"local:{encoder(tmp_path_factory.mktemp('models') / 'tiny', words=sorted(words))}"


@pytest.fixture(scope="module")
def once(tmp_path_factory, history):
    """A store after a first run."""
    home = tmp_path_factory.mktemp("once")
    with homes.filled(home, history) as lake:
        homes.night(lake, run_id="first")
    return home


def published(lake):
    """The published tables, without what names a run or is proposed by it."""
    tables = homes.published(lake, but=PROPOSALS)
    return {key: frame.drop(RUN & set(frame.columns)) for key, frame in tables.items()}


def moved(lake, embedder_name):
    return homes.night(
        lake, run_id=embedder_name, policy=homes.settings(lake.home, embedder=embedder_name), task="reembed"
    )


@pytest.mark.drill
def test_a_store_moves_to_another_embedder_and_back_exactly_and_the_way_back_embeds_nothing(
    tmp_path, once, name, monkeypatch
):
    with homes.copied(once, tmp_path) as lake:
        before = published(lake)
        there = moved(lake, name)
        away = published(lake)
        vectors = lake.read("vectors")
        monkeypatch.setattr(type(embedder("hashing")), "embed", lambda *_: pytest.fail("a text was embedded again"))
        monkeypatch.setattr("memory_pipeline.text.embed.embedding.embed_texts", _nothing)
        back = moved(lake, "hashing")
        assert lake.read("vectors").height == vectors.height
        assert there["consolidation_plan"].is_empty()
        assert back["consolidation_plan"].is_empty()
        homes.same(before, published(lake))
        assert not away["derived_edges"].equals(before["derived_edges"])
        memories = lake.read("memories").filter(pl.col("lifecycle") == "active")
        for model in ("hashing", name):
            assert memories.join(vectors.filter(model=model), on=["profile_id", "content_hash"], how="anti").is_empty()
        assert vectors.select(TABLES["vectors"].key).is_unique().all()


def _nothing(texts, _model):
    assert texts.is_empty()
    return TABLES["vectors"].empty()


@pytest.mark.drill
def test_one_command_moves_a_store_and_recall_follows(tmp_path, history, once, name, monkeypatch):
    monkeypatch.delenv("MEMORY_PIPELINE_EMBEDDER")
    shutil.copytree(once, tmp_path, symlinks=True, dirs_exist_ok=True)
    query = next(event.payload.content for event in history if hasattr(event.payload, "content"))
    first = commands.as_json("recall", query, home=tmp_path)
    commands.text("embedder", name, home=tmp_path)
    assert f'embedder = "{name}"' in (tmp_path / "memory_pipeline.toml").read_text("utf-8")
    with Lake(tmp_path) as lake:
        vectors = lake.read("vectors")
    assert vectors.filter(model=name)["content_hash"].n_unique() == vectors["content_hash"].n_unique()
    second = commands.as_json("recall", query, home=tmp_path)
    assert [found["recalled"][0]["content"] for found in (first, second)] == [query, query]


def test_a_model_that_cannot_be_loaded_changes_nothing(tmp_path, history):
    homes.filled(tmp_path, history[:3]).close()
    refused = commands.call("embedder", f"local:{tmp_path / 'no'}", home=tmp_path)
    assert refused.returncode != 0
    assert "cannot be loaded" in refused.stderr
    assert not (tmp_path / "memory_pipeline.toml").exists()


def test_a_new_store_begins_with_the_reader_and_an_old_one_keeps_its_own(tmp_path, history, monkeypatch):
    homes.filled(tmp_path / "old", history[:3]).close()
    commands.text("init", home=tmp_path / "given")
    monkeypatch.delenv("MEMORY_PIPELINE_EMBEDDER")
    commands.text("init", home=tmp_path / "new")
    assert 'embedder = "reader"' in (tmp_path / "new" / "memory_pipeline.toml").read_text("utf-8")
    commands.text("init", home=tmp_path / "old")
    for name in ("given", "old"):
        assert not (tmp_path / name / "memory_pipeline.toml").exists()
        assert load(tmp_path / name).policy.embedder == "hashing"
    assert load(tmp_path / "new").policy.embedder == load(tmp_path / "none").policy.embedder == "reader"


def test_a_new_store_keeps_the_settings_that_somebody_wrote_before(tmp_path, history, monkeypatch):
    monkeypatch.delenv("MEMORY_PIPELINE_EMBEDDER")
    for name, text, expected in (
        ("some", "# mine\n[policy]\ntoken_budget = 0.5\n", "reader"),
        ("own", '[policy]\nembedder = "hashing"\n', "hashing"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "memory_pipeline.toml").write_text(text, "utf-8")
        before = load(tmp_path / name).policy
        homes.filled(tmp_path / name, history[:3]).close()
        assert (tmp_path / name / "memory_pipeline.toml").read_text("utf-8").startswith(text[:20])
        assert load(tmp_path / name).policy == before
        assert before.embedder == expected
