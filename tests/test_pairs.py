"""Labels of pairs of texts, how pairs are read from lines of JSON, and how well hundreds of known pairs are told."""

import json
from datetime import UTC, datetime, timedelta

import change_pairs
import fresh_pairs
import polars as pl
import pytest

from memory_pipeline.evaluation.pair_labels import pairs

MORNING = datetime(2025, 3, 3, 9, tzinfo=UTC)


def labelled(*rows, **columns):
    return pairs.label(pl.DataFrame(rows, schema=["first", "second"], orient="row").with_columns(**columns))


def written(*lines):
    return [json.loads(line) for line in pairs.dumps(pairs.label(pairs.parse(lines)))]


def scores(text):
    rows = pl.DataFrame(list(change_pairs.pairs(text)), schema=["gold", "first", "second", "template"], orient="row")
    found = pairs.label(rows)
    told = {}
    for label in pairs.LABELS:
        right = found.filter((pl.col("gold") == label) & (pl.col("label") == label)).height
        told[label] = (
            right / found.filter(pl.col("gold") == label).height,
            right / found.filter(pl.col("label") == label).height,
        )
    return told


@pytest.mark.parametrize(
    ("text", "updates", "contradictions"),
    [(change_pairs.TUNED, (0.95, 0.99), (0.9, 0.95)), (change_pairs.HELD_OUT, (0.85, 0.95), (0.75, 0.9))],
    ids=["tuned", "held out"],
)
def test_known_pairs_are_told(text, updates, contradictions):
    found = scores(text)
    for label, least in (("update", updates), ("contradiction", contradictions), ("duplicate", (0.95, 0.99))):
        assert all(x >= y for x, y in zip(found[label], least, strict=True)), (label, found)


@pytest.mark.parametrize("given", [fresh_pairs.FRESH, fresh_pairs.LATER], ids=["fresh", "later"])
def test_freely_worded_pairs_are_told(given):
    rows = [(gold, *line.split(" | ")) for gold, text in given.items() for line in text.strip().splitlines()]
    found = pairs.label(pl.DataFrame(rows, schema=["gold", "first", "second"], orient="row"))
    floors = {"duplicate": (0.8, 0.95), "update": (0.7, 0.85), "contradiction": (0.8, 0.95), "unrelated": (0.95, 0.6)}
    for label, least in floors.items():
        gold, said = (found.filter(pl.col(column) == label) for column in ("gold", "label"))
        right = len(gold.filter(pl.col("label") == label))
        assert right / len(gold) >= least[0], label
        assert right / len(said) >= least[1], label


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I never give up on my garden.", "I've been giving my garden my best."),
        ("I can't stop thinking about Lisbon.", "I think about Lisbon a lot."),
        ("[Photo: Ada without a hat]", "Ada wears a hat."),
        ("You've never been to Riga, have you?", "I went to Riga in May."),
        ("See any good films?", "Didn't see any films."),
        ("It's been a while since my first match, hasn't it?", "I had a match on Sunday."),
        ("It's not only cheap but also healthy.", "It's cheap."),
        ('"I have never been to Rome," she said.', "I was in Rome in 2019."),
        ("My house is full of flowers and others have none.", "I want my house to smell of flowers."),
        ("Oh no, not the printer again!", "The printer works."),
    ],
)
def test_idioms_questions_captions_and_quotations_state_nothing(first, second):
    assert labelled((first, second), (second, first))["label"].to_list() == ["unrelated"] * 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My sister hugged my brother.", "My brother hugged my sister."),
        ("I flew from Rome to Paris.", "I flew from Paris to Rome."),
        ("I told Anna a secret.", "Anna told me a secret."),
        ("I bought red shoes at the mall with my sister.", "I bought blue shoes at the mall with my sister."),
        ("The team won 3 to 2.", "The team won 2 to 3."),
        ("I take my coffee with sugar.", "I take my coffee without sugar."),
        ("I'm going to book the hotel.", "I booked the hotel."),
    ],
)
def test_one_different_fact_is_no_duplicate(first, second):
    assert labelled((first, second))["label"][0] != "duplicate"


def test_the_later_text_is_the_newer():
    rows = [("I moved to Quito.", "I live in Riga.")]
    found = labelled(*rows, first_at=pl.lit(MORNING + timedelta(days=9)), second_at=pl.lit(MORNING))
    assert found.select("label", "later").row(0) == ("update", "first")
    assert labelled(("I live in Riga.", "I moved to Quito."))["later"][0] == "second"
    same = labelled(("The launch is on 3 May.", "The launch is on 9 May."), first_at=MORNING, second_at=MORNING)
    assert same.select("label", "later").row(0) == ("update", "second")


def test_what_never_was_may_come_to_be():
    told = ("I've never been to Oslo.", "Yesterday I met a friend in Oslo.")
    assert labelled(told)["label"][0] == "contradiction"
    assert labelled(told, first_at=MORNING, second_at=MORNING + timedelta(days=60))["label"][0] != "contradiction"


def test_other_columns_stay_and_nothing_is_labelled_of_nothing():
    frame = pl.DataFrame({"first": ["a b"], "second": ["c d"], "kept": [7]})
    assert pairs.label(frame).drop("label", "confidence", "reason", "later").equals(frame)
    assert pairs.label(frame.clear()).is_empty()
    with pytest.raises(ValueError, match="second"):
        pairs.label(frame.drop("second"))
    with pytest.raises(ValueError, match="null"):
        pairs.label(frame.with_columns(second=pl.lit(None, pl.String)))


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
def test_pairs_are_read_under_obvious_names_and_fields_pass_through(line):
    (found,) = written(json.dumps(line))
    assert found["label"] == "update"
    assert line.items() <= found.items()


def test_given_labels_are_kept_and_speakers_count():
    (found,) = written('{"a": "I like tea.", "b": "I like tea.", "label": "duplicate", "speakers": ["Ada", "Bo"]}')
    assert (found["label"], found["given_label"]) == ("duplicate", "duplicate")
    told = '{"a": "I live in Riga.", "b": "I moved to Quito.", "a_speaker": "Ada", "b_speaker": "Bo"}'
    assert written(told, "")[0]["label"] == "unrelated"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"a": "x"}', "line 2: field 'b' is missing beside 'a'; give both"),
        ("{", "line 2: no JSON"),
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
