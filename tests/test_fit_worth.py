"""The fit of what a sentence is worth under a token budget."""

import fit_worth
import numpy as np
import polars as pl
import pytest

from memory_pipeline.consolidation import worth
from memory_pipeline.settings.model_files import coefficients


def rows(count=600, seed=1):
    """Memories that are asked for the likelier the surer the reader is, and the newer they are."""
    chance = np.random.default_rng(seed)
    values = {name: chance.random(count).round(3) for name in worth.FEATURES}
    score = 4.0 * values["surely"] - 3.0 * values["age"] - 1.0
    gold = chance.random(count) < 1.0 / (1.0 + np.exp(-score))
    return pl.DataFrame(values).with_columns(
        store=pl.Series([f"s{place % 12}" for place in range(count)]), gold=pl.Series(gold)
    )


def test_the_fit_finds_what_decides_and_a_strong_ridge_shrinks_it():
    told = rows()
    free, held = fit_worth.fit(told, 0.3), fit_worth.fit(told, 1000.0)
    found = dict(zip(worth.FEATURES, free[1:], strict=True))
    assert found["surely"] == pytest.approx(4.0, abs=0.9)
    assert found["age"] == pytest.approx(-3.0, abs=0.9)
    assert np.abs(held[1:]).sum() < 0.5 * np.abs(free[1:]).sum()
    chance = 1.0 / (1.0 + np.exp(-(free[0] + told.select(worth.FEATURES).to_numpy() @ free[1:])))
    assert chance.mean() == pytest.approx(told["gold"].mean(), abs=0.01)


def test_the_loss_is_that_of_the_probabilities_and_the_least_is_chosen():
    told = pl.DataFrame({name: [0.0, 0.0] for name in worth.FEATURES}).with_columns(
        pl.Series("surely", [0.0, 1.0]), gold=pl.Series([False, True])
    )
    weights = np.array([0.0, *(2.0 * (name == "surely") for name in worth.FEATURES)])
    assert fit_worth.loss(told, weights) == pytest.approx((np.log(2.0) + np.log1p(np.exp(-2.0))) / 2)
    penalty, losses = fit_worth.choose(rows(240))
    assert losses[penalty] == min(losses.values())


def test_the_document_is_a_model_file_and_the_shipped_one_has_every_feature():
    text = fit_worth.document(rows(240))
    assert [line.split(" = ")[0] for line in text.splitlines()[4 : 5 + len(worth.FEATURES)]] == [
        "offset",
        *worth.FEATURES,
    ]
    assert list(coefficients(worth.MODEL)) == ["offset", *worth.FEATURES]
