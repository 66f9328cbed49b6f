"""What trees answered in an earlier night stands where they would read the same, and nothing else does."""

import frames
import numpy as np
import polars as pl
import pytest
from frames import ago
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.consolidation import change_detection, reuse
from memory_pipeline.consolidation.tree_answers import TreeAnswers
from memory_pipeline.lake import files
from memory_pipeline.lake.object_store import LocalObjectStore
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy
from memory_pipeline.text.arrays import fingerprints
from memory_pipeline.text.compare import relation_trees
from memory_pipeline.text.compare.relation_trees import ANSWER

TEXTS = (
    "The kiln is fired on Mondays.",
    "We fire the kiln on Fridays from this week.",
    "The kiln has a new door.",
    "My sister Lea lives in Rostock.",
    "Lea has moved to Kiel, she no longer lives in Rostock.",
    "Lea lives in Rostock, my sister.",
    "The night bus leaves at nine from the harbour.",
    "The night bus leaves at ten from the harbour.",
    "I take ramipril in the morning.",
    "I take a statin in the evening.",
)
"""One text for each day, oldest first."""


def spread(grown, rows, seed=0):
    """Return features that lie among the thresholds of trees, [rows, features]."""
    rng = np.random.default_rng(seed)
    widest = np.array([np.abs(of).max(initial=0) for of in grown.tests.thresholds])
    return rng.uniform(-0.2, 1.2, size=(rows, len(grown.names))) * widest


def compared(days, **kept):
    """Compare the texts of some days."""
    rows = [{"memory_id": f"m{day}", "content": TEXTS[day], "created_at": ago(20 - day)} for day in sorted(days)]
    empty = [TABLES[name].empty() for name in ("enrichment", "vectors")]
    return change_detection.compare(
        frames.memories(rows), *empty, Policy(token_budget=1000), as_of=frames.AS_OF, plan_id="plan", **kept
    )


@given(st.lists(st.sets(st.integers(0, len(TEXTS) - 1), min_size=2), min_size=2, max_size=4))
def test_nights_in_which_notes_come_go_and_come_late_judge_as_if_each_were_the_first(nights):
    kept, recorded = None, TABLES["pair_readings"].empty()
    for days in nights:
        found, first = compared(days, kept=kept, recorded=recorded), compared(days, recorded=recorded)
        for name, rows in first._asdict().items():
            assert rows.equals(found._asdict()[name]), name
        kept, recorded = found.judgements, pl.concat([recorded, found.pair_readings])


@pytest.fixture
def asked(monkeypatch):
    """Count the pairs about which trees are asked."""
    counts, answer = [], TreeAnswers.of

    def counting(self, pairs, numbers, find):
        def noted(some):
            counts.append(len(some))
            return find(some)

        return answer(self, pairs, numbers, noted)

    monkeypatch.setattr(TreeAnswers, "of", counting)
    return counts


def test_a_new_note_has_the_trees_asked_about_few_pairs_and_another_program_about_all(asked, monkeypatch):
    known = compared(range(len(TEXTS) - 1))
    everything = sum(asked)
    asked.clear()
    compared(range(len(TEXTS)), kept=known.judgements, recorded=known.pair_readings)
    again = sum(asked)
    assert 0 < again < everything
    asked.clear()
    digest = reuse.digest
    monkeypatch.setattr(reuse, "digest", lambda settings: digest(["the next version", *settings]))
    compared(range(len(TEXTS)), kept=known.judgements, recorded=known.pair_readings)
    assert sum(asked) > everything


def test_only_what_is_not_known_is_asked_and_each_profile_keeps_its_own():
    answer = np.arange(3 * ANSWER, dtype=np.float64).reshape(3, ANSWER)
    known = pl.DataFrame({"asked": [[7, 9], [8]], "answered": [answer[:2].ravel(), answer[2]]})
    answers, some = TreeAnswers(np.array([0, 0, 1, 1]), known), []

    def find(missing):
        some.extend(missing.tolist())
        return np.full((len(missing), ANSWER), -1.0)

    told = answers.of(np.array([0, 1, 2, 3]), np.array([8, 5, 9, 9]), find)
    assert some == [1]
    assert told[[0, 2, 3]].tolist() == answer[[2, 1, 1]].tolist()
    assert answers.table().to_dicts() == [
        {"owner": 0, "asked": [5, 8], "answered": [*[-1.0] * ANSWER, *answer[2]]},
        {"owner": 1, "asked": [9], "answered": [*answer[1]]},
    ]
    assert TreeAnswers(np.empty(0, dtype=np.int64), known.clear()).table().is_empty()


@given(st.integers(0, 2**32 - 1))
def test_an_answer_does_not_depend_on_the_other_pairs(seed):
    grown = relation_trees.trees()
    rows = spread(grown, 9, seed)
    together = relation_trees.first_probabilities(rows)
    alone = [relation_trees.first_probabilities(rows[[place]])[0] for place in range(len(rows))]
    assert np.array_equal(together, alone)
    whole = relation_trees.probabilities(rows, grown)
    assert np.array_equal(whole[3:5], relation_trees.probabilities(rows[3:5], grown))


def test_features_are_the_same_to_the_trees_until_one_passes_a_threshold():
    grown = relation_trees.trees(relation_trees.SECOND)
    row, other = spread(grown, 1), np.array([4])
    asked = relation_trees.asked(row, grown, other)
    feature = int(np.argmax([len(of) for of in grown.tests.thresholds]))
    thresholds = grown.tests.thresholds[feature]
    here = int(np.searchsorted(thresholds, row[0, feature]).clip(1, len(thresholds) - 1))
    row[0, feature] = thresholds[here]
    within = relation_trees.asked(row, grown, other)
    beyond = row.copy()
    beyond[0, feature] = np.nextafter(thresholds[here], np.inf)
    row[0, feature] = np.nextafter(thresholds[here - 1], np.inf)
    assert relation_trees.asked(row, grown, other) == within
    assert relation_trees.asked(beyond, grown, other) != within
    assert relation_trees.asked(row, grown, other + 1) != within
    assert len(asked) == 1


@given(st.lists(st.lists(st.integers(0, 255), min_size=5, max_size=5), min_size=1, max_size=20))
def test_equal_rows_have_equal_fingerprints_and_others_do_not(rows):
    numbers = fingerprints(np.array(rows, dtype=np.uint8))
    assert len(set(numbers.tolist())) == len({*map(tuple, rows)})


def test_judgements_of_an_earlier_version_are_read_without_answers(tmp_path):
    table = TABLES["judgements"]
    older = table.empty().drop("made_by", "asked", "answered")
    older = pl.concat([older, pl.DataFrame([{"profile_id": "p", "read": "r", "pairs": []}], older.schema)])
    store = LocalObjectStore(tmp_path)
    read = files.collect(store, [files.write(store, table.name, older).key], table)
    assert read.select("made_by", "asked", "answered").rows() == [(None, [], [])]
    assert table.violations(read).is_empty()
