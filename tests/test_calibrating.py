"""What cosines mean under a profile's embedder."""

import pytest
from frames import memories, vectors

from memory_pipeline.evaluation import calibration
from memory_pipeline.settings import Policy

HALF_WAY = 0.5**0.5


def store():
    known = memories([{"memory_id": name} for name in "abcd"] + [{"memory_id": "z", "lifecycle": "archived"}])
    rows = {"a": [1.0, 0.0], "b": [1.0, 0.0], "c": [HALF_WAY, HALF_WAY], "d": [-1.0, 0.0], "z": [-1.0, 0.0]}
    return known, vectors(rows, of=known)


def test_each_live_memory_is_compared_with_its_nearest_other():
    found = calibration.nearest(*store(), Policy())
    assert found.to_list() == pytest.approx([-HALF_WAY, HALF_WAY, 1.0, 1.0], abs=1e-6)


def test_vectors_of_another_embedder_do_not_count():
    assert calibration.nearest(*store(), Policy(embedder="local")).is_empty()


def test_quantiles_and_what_each_threshold_takes():
    policy = Policy(cluster_similarity=0.5, duplicate_similarity=0.85)
    cosines = calibration.nearest(*store(), policy)
    assert dict(calibration.quantiles(cosines).iter_rows())[0.99] == pytest.approx(1.0, abs=1e-6)
    taken = {name: share for name, _, share in calibration.reached(cosines, policy).iter_rows()}
    assert taken["cluster_similarity"] == 0.75
    assert taken["duplicate_similarity"] == 0.5
    assert set(taken) == set(calibration.THRESHOLDS)


def test_a_profile_with_one_memory_has_no_neighbours():
    known = memories([{"memory_id": "a"}])
    cosines = calibration.nearest(known, vectors({"a": [1.0, 0.0]}, of=known), Policy())
    assert cosines.is_empty()
    assert calibration.quantiles(cosines)["cosine"].null_count() == len(calibration.QUANTILES)
    assert calibration.reached(cosines, Policy())["share"].to_list() == [0.0] * len(calibration.THRESHOLDS)
