"""Pairs of texts: what a run in a store of all of them does with each, and how they are read from lines of JSON."""

import json

import pytest

from memory_pipeline.evaluation import pairs


def raised(what):
    """Two texts of which the second one says that an amount is another one now."""
    return f"My {what} is $900 a month.", f"My {what} went up to $950 a month."


RENT = raised("rent")
LINES = [
    {"a": RENT[0], "b": RENT[1]},
    {"a": "Tea is served at five.", "b": "Tea is served at five."},
    {"a": "The launch party is on the roof.", "b": "Ada plays the cello."},
    {"a": "I keep bees. The dentist visit is on Monday.", "b": "The dentist visit was moved to Friday."},
    {"a": "The hall has 40 seats.", "b": "There are 60 seats in the hall."},
    {"a": "Every autumn Torvald services the boiler.", "b": "The boiler is serviced by Torvald every autumn."},
    {"a": RENT[1], "b": RENT[0], "label": "update"},
    {"a": "Uma lives in Riga.", "b": "Uma lives in Quito."},
]


def written(*lines):
    return list(map(json.loads, pairs.dumps(pairs.label(pairs.parse(map(json.dumps, lines))))))


@pytest.fixture(scope="module")
def reported():
    return written(*LINES)


@pytest.mark.parametrize(
    ("place", "outcome", "label"),
    [
        (0, "closed", "update"),
        (2, "nothing", "unrelated"),
        (3, "partly closed", "update"),
        (4, "CONTRADICTS", "contradiction"),
        (5, "merged", "duplicate"),
        (7, "MAY_UPDATE", "update"),
    ],
)
def test_a_pair_comes_back_with_what_the_run_did(reported, place, outcome, label):
    found = reported[place]
    assert (found["outcome"], found["label"], found["later"]) == (outcome, label, "second")
    if outcome == "nothing":
        assert (found["confidence"], found["reason"]) == (None, None)
    else:
        assert 0 < found["confidence"] <= 1
        assert any(text.rstrip(".") in found["reason"] for text in (found["a"], found["b"]))


def test_copies_are_merged_whatever_the_judge_says(reported):
    found = reported[1]
    assert (found["outcome"], found["label"], found["later"]) == ("merged", "duplicate", "second")
    assert found["reason"]


def test_a_text_that_comes_again_is_the_same_memory_and_given_labels_are_kept(reported):
    again = reported[6]
    assert (again["outcome"], again["later"]) == ("closed", "first")
    assert again["given_label"] == "update"
    assert again["reason"] == reported[0]["reason"]


def test_the_later_text_is_the_newer_and_one_instant_closes_nothing():
    turned, beside, before, at_once = written(
        dict(zip("ba", raised("rent"), strict=True)) | {"times": ["2025-02-01", "2025-01-01T10:00:00Z"]},
        dict(zip("ba", raised("gym fee"), strict=True)) | {"a_at": "2025-02-01"},
        {"a": "The office closes at 17:00.", "b": "The office now closes at 18:30.", "b_at": 0},
        dict(zip("ab", raised("allowance"), strict=True)) | {"times": ["2025-02-01", "2025-02-01"]},
    )
    assert (turned["outcome"], turned["later"]) == ("closed", "first")
    assert beside["later"] == "second"
    assert (before["outcome"], before["later"]) == ("closed", "second")
    assert at_once["outcome"] != "closed"


def test_speakers_count():
    own, others = written(
        dict(zip("ab", raised("rent"), strict=True)) | {"speakers": ["Ada", "Ada"]},
        dict(zip("ab", raised("phone bill"), strict=True)) | {"speakers": ["Ada", "Bo"]},
    )
    assert own["outcome"] == "closed"
    assert others["outcome"] != "closed"


@pytest.mark.parametrize(
    "line",
    [
        {"a": "I live in Riga.", "b": "I moved to Quito."},
        {"first": "I live in Riga.", "second": "I moved to Quito."},
        {"older": "I live in Riga.", "newer": "I moved to Quito."},
        {"original": "I live in Riga.", "updated": "I moved to Quito."},
        {"text_a": "I live in Riga.", "text_b": "I moved to Quito."},
        {"text1": "I live in Riga.", "text2": "I moved to Quito."},
        {"left": "I live in Riga.", "right": "I moved to Quito.", "id": "x"},
        {"texts": ["I live in Riga.", "I moved to Quito."]},
        {"pair": ["I live in Riga.", "I moved to Quito."], "times": ["2025-01-01", "2025-02-01T10:00:00Z"]},
        {"a": {"text": "I live in Riga.", "at": 0}, "b": {"text": "I moved to Quito.", "at": 9e8}},
        {"a": "I moved to Quito.", "b": "I live in Riga.", "time_a": "2025-02-01", "time_b": "2025-01-01"},
    ],
)
def test_pairs_are_read_under_obvious_names(line):
    found = pairs.parse([json.dumps(line)]).row(0, named=True)
    assert {found["first"], found["second"]} == {"I live in Riga.", "I moved to Quito."}
    assert json.loads(found["fields"]) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"a": "x"}', "line 2: field 'b' is missing beside 'a'; give both"),
        ("{", "line 2: not JSON"),
        ("3", "line 2: an object is needed"),
        ('{"x": 1}', "line 2: no texts; give them as 'first' and 'second'"),
        ('{"a": "x", "b": 3}', "line 2: field 'b' is 3; give a text"),
        ('{"a": "x", "b": " "}', "line 2: field 'b' is empty"),
        ('{"texts": ["x"]}', "line 2: field 'texts' is"),
        ('{"a": "x", "b": "y", "times": ["2025-01-01", "soon"]}', "line 2: field 'times\\[1\\]' is \"soon\"; write an"),
        ('{"a": "x", "b": "y", "times": ["2025-01-01"]}', "give a list of two"),
        ('{"a": "x", "b": "y", "speakers": [1, 2]}', "line 2: field 'speakers\\[0\\]' is 1; give a name"),
    ],
)
def test_bad_lines_are_named(line, expected):
    with pytest.raises(ValueError, match=expected):
        pairs.parse(["", line])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "pairs.jsonl: holds no pair; give two texts per line"),
        (b"\n \r\n", "pairs.jsonl: holds no pair"),
        (b'{"a": "x", "b": "y"}\n{"a": "x\xff", "b": "y"}', "pairs.jsonl: line 2: byte 0xff is not UTF-8; save the"),
        (b"{}", "pairs.jsonl: line 1: no texts"),
    ],
)
def test_a_file_without_pairs_is_refused_with_line_and_remedy(tmp_path, content, expected):
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=expected):
        pairs.read(path)


def test_marks_that_are_no_ends_of_line_are_no_faults(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"a": "I like\u2028tea.", "b": "I like tea."}\r\n', "utf-8-sig")
    assert pairs.read(path).select("line", "first").row(0) == (1, "I like\u2028tea.")


def test_many_bad_lines_are_counted():
    with pytest.raises(ValueError, match="and 5 more lines"):
        pairs.parse(["{}"] * 15)
