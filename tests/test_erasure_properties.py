"""Whatever a store holds, what is erased is nowhere and everything else is as it was."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from example_counts import examples
from hypothesis import Phase, given
from hypothesis import strategies as st
from leftovers import found

from memory_pipeline.erasure.erase import erase_memories
from memory_pipeline.erasure.quotes import Quotes, readable
from memory_pipeline.erasure.redact_files import mask_logs
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.event import parse
from memory_pipeline.runs import commit, consolidate, inputs, rebuild
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import load

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PLACES = ("Lyon", "Rome", "Oslo")
RARE = ("zwirbl", "quaxolo", "brimfetz", "dorkumel", "fenzibar", "golmadur")
"""The n-th memory has the n-th of these words, which nobody else says."""

memories = st.lists(
    st.tuples(st.sampled_from(PLACES), st.sampled_from(["ana", "bo"]), st.booleans()), min_size=2, max_size=len(RARE)
)


def store(lake: Lake, given: list[tuple[str, str, bool]], recalls: list[list[int]]) -> None:
    """Remember texts that are alike but for a word, and recall them by it."""
    for number, (place, user, protected) in enumerate(given):
        at = NOW - timedelta(days=20, minutes=-number)
        text = f"Doctor Smith in {place} said that the {RARE[number]} of the left knee is fine"
        raw = {
            "event_type": "memory.stored",
            "event_id": f"e{number}",
            "memory_id": f"m{number}",
            "user_id": user,
            "session_id": "s",
            "payload": {"content": text, "protected": protected},
        }
        lake.ledger.append([parse(raw, recorded_at=at, origin="test")])
    for turn, wanted in enumerate(recalls):
        ids = sorted({f"m{number % len(given)}" for number in wanted})
        payload = {"memory_ids": ids, "query": f"which {RARE[wanted[0] % len(given)]}?"}
        raw = {"event_type": "memory.accessed", "event_id": f"x{turn}", "payload": payload}
        lake.ledger.append([parse(raw, recorded_at=NOW - timedelta(days=10 - turn), origin="test")])
    profiles = inputs.select_profiles(lake, load(lake.home, environment={}), as_of=NOW)
    consolidate.consolidate(lake, load(lake.home, environment={}), profiles, run_id="run")


@pytest.mark.drill
@examples(1, drill=80, phases=[Phase.generate])  # a store an example: shrinking would take minutes
@given(memories, st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), max_size=3), st.data())
def test_what_is_erased_is_nowhere_and_all_else_is_as_it_was(said, recalls, data):
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(len(said))), min_size=1)))
    gone, kept = [f"m{number}" for number in chosen], pl.col("kind") == "original"
    with TemporaryDirectory() as home, Lake(Path(home) / "home") as lake:
        store(lake, said, recalls)
        before = lake.read("memories").filter(kept, ~pl.col("memory_id").is_in(gone))
        receipt = erase_memories(lake, memory_ids=gone, now=NOW + timedelta(hours=1))
        after = lake.read("memories")
        own = ["memory_id", "content", "content_hash", "speaker", "user_id", "protected", "created_at", "access_count"]
        assert after.filter(kept, ~pl.col("memory_id").is_in(gone)).select(own).equals(before.select(own))
        assert after.filter(pl.col("lifecycle") == "erased")["memory_id"].to_list() == gone
        assert receipt.erased == tuple(gone)
        again = rebuild.rebuild(lake, "default")
        named = {name: lake.read(name) for name in commit.PUBLISHED}
        assert [name for name, rows in named.items() if not rows.equals(again[name].sort(TABLES[name].key))] == []
        assert not named_in(named) & set(gone)
        lake.close()
        assert found(lake.home, *(RARE[number] for number in chosen)) == []
        everywhere = " ".join(found(lake.home, *(RARE[number] for number in range(len(said)) if number not in chosen)))
        assert ("lake/memories" in everywhere) == (len(gone) < len(said))


def named_in(tables):
    """Memories that tables name, but for the one with the tombstones."""
    columns = {"memory_id", "source", "target", "other_id", "summary_id", "target_id"}
    return {
        value
        for table, rows in tables.items()
        if table != "memories"
        for name in columns & set(rows.columns)
        for value in rows[name]
    }


texts = st.text(st.characters(categories=("L", "N", "P", "Z")), max_size=60)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=3))
def test_a_text_that_stays_has_no_trace_and_a_masked_one_none_in_a_row(erased, kept):
    quotes = Quotes.of(erased, kept)
    assert not any(quotes.in_text(text) for text in kept)
    assert not any(quotes.verbatim(quotes.masked(text)) for text in erased)


def test_quotes_are_rare_words_and_runs_of_words_that_nobody_else_says():
    quotes = Quotes.of(["The green kiosk opens at noon on Sunday"], ["A green car at noon"])
    assert quotes.in_text("any KIOSK?")
    assert not quotes.in_text("what is green?")
    assert not quotes.verbatim("any kiosk?")
    assert quotes.verbatim("it opens at noon, on Sunday")
    assert quotes.masked("now: it opens at noon, on Sunday!") == "now: it [erased]!"
    assert not Quotes.of([""], []).in_text("anything")


def test_a_question_may_inflect_a_rare_word_but_not_a_common_one():
    quotes = Quotes.of(["Quorgelinde wanted to plan planting at home"], ["Planters talk"])
    assert all(quotes.in_question(text) for text in ("Quorgelindes knee?", "who is quorgelinden", "Quorgelind?"))
    assert not quotes.in_text("Quorgelindes knee?"), "an inflected word changes no decision"
    for text in ("what did she want to plan at home?", "when are plants watered?", "the quorge", ""):
        assert not quotes.in_question(text), text
    asked = pl.Series(["Quorgelindes?", None, "wanted?"])
    assert quotes.in_questions(asked).to_list() == [True, False, False]


def test_letters_stand_for_words_where_there_are_no_spaces(tmp_path):
    quotes = Quotes.of(["昨天王小明在医院见了张医生，星期三去做膝盖手术。"], ["我星期三在公司开会。"])
    assert all(quotes.in_question(text) for text in ("王小明是谁？", "膝盖手术怎么样", "Who is 王小明?"))
    for text in ("什么时候去医院？", "星期三在哪里开会？", "我现在住在哪里？", "昨天见了谁？"):
        assert not quotes.in_question(text), text
    log = tmp_path / "logs" / "agent.log"
    log.parent.mkdir()
    log.write_text("said: 昨天王小明在医院 (1)", "utf-8")
    assert mask_logs(tmp_path, quotes) == [log]
    assert log.read_text("utf-8") == "said: [erased] (1)"
    japanese = Quotes.of(["田中太郎さんは昨日京都の病院に行きました。"], [])
    assert japanese.in_question("田中太郎は誰？")
    assert not japanese.in_question("どこに行きましたか？")


@pytest.mark.parametrize(
    ("erased", "kept", "asked", "others"),
    [
        ("昨天李明在医院。", "我星期三在公司开会。", "李明住哪里？", "星期三在公司开会吗？"),
        ("ミロは掃除機が怖い。", "コーヒーが好き。", "ミロはどこ？", "コーヒーは？"),
        ("สมชายแพ้ถั่วลิสง", "ฉันชอบกาแฟ", "สมชายอยู่ที่ไหน", "ฉันชอบกาแฟไหม"),
        ("राहुल को मूंगफली से एलर्जी है", "मुझे कॉफी पसंद है", "राहुल कहाँ है?", "कॉफी पसंद है?"),
    ],
)
def test_a_question_names_somebody_in_two_letters_and_in_any_script(erased, kept, asked, others):
    quotes = Quotes.of([erased], [kept])
    assert quotes.in_question(asked)
    assert not quotes.in_question(others)


def test_bytes_are_read_with_and_without_their_escapes():
    assert "Köppel" in readable(b'{"a": ["K\\u00f6ppel"]}')
    assert "Köppel" in readable(b'{"a": ["K\\u00f6ppel')
    assert "a b" in readable(b'{"x": "a\\nb')
