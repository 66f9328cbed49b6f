"""What an answer, and the beginning of a session, would say twice."""

from datetime import UTC, datetime, timedelta

import frames
import pytest
import sampling

from memory_pipeline import MemoryClient
from memory_pipeline.recall.index.memory_index import Index
from memory_pipeline.recall.rank.ranking import rank
from memory_pipeline.text.embed.embedding import embed_texts

pytestmark = pytest.mark.usefixtures("unpublished")

LAUNCH = ("The website launch is on 12 June.", "Actually, the website launch moved to 26 June.")
BOOKED = [f"Room {place} of the hotel is booked for guest {place}." for place in range(12)]


def told(texts, **columns):
    """Originals, one a minute, with other columns as given."""
    return [
        {
            "memory_id": f"m{index:02}",
            "content": text,
            "created_at": frames.ago(9) + timedelta(minutes=index),
            "seq": index,
        }
        | columns
        for index, text in enumerate(texts)
    ]


def summary(memory_id, members, content=None, **columns):
    """A summary that a run made of originals later."""
    said = content or f"2024-01-02: {' '.join(row['content'] for row in members)}"
    made = {"kind": "episode", "created_at": frames.ago(1), "seq": 99}
    return {
        "memory_id": memory_id,
        "content": said,
        "members": [row["memory_id"] for row in members],
        **made,
        **columns,
    }


def garden():
    """An original about the hotel that no summary holds."""
    return {"memory_id": "garden", "content": "The hotel has a garden.", "created_at": frames.ago(3), "seq": 50}


def ids(question, rows, k=10, **given):
    memories = frames.memories(rows)
    index = Index.build(memories, embed_texts(memories.unique("content_hash"), "hashing"), model="hashing")
    return rank(index, question, now=frames.AS_OF, k=k, **given)["memory_id"].to_list()


@pytest.mark.parametrize("speaker", sampling.first(None, "Ana"))
def test_what_holds_now_comes_before_the_old_and_no_summary_says_both(tmp_path, speaker):
    with MemoryClient(tmp_path, profile_id="ana") as memory:
        old, new = (memory.remember(text, session_id="s1", speaker=speaker) for text in LAUNCH)
        memory.consolidate()
        found = memory.recall("When is the website launch?", record=False)
        assert [one.memory_id for one in found] == [new, old]
        assert [one.closed_by for one in found] == [None, new]
        assert memory.recall("When was the website launch at first?", record=False)[0].memory_id == old


def test_a_summary_is_never_the_newest():
    rows = told(["The website launch is on 12 June."])
    rows += told(["The website launch moved to 26 June."], memory_id="new", created_at=frames.ago(5))
    rows += [summary("s", told(["We talked about the launch and much else."]), "The website launch is on 12 June now.")]
    assert ids("When is the website launch?", rows)[0] == "new"


def test_a_summary_comes_behind_its_members_and_those_that_it_does_not_repeat_stay_where_they_were():
    rows = told(BOOKED)
    question = "Which rooms of the hotel were booked for guests 3, 4 and 5?"
    whole = [*rows, summary("s", rows)]
    assert ids(question, whole, k=4) == [*ids(question, rows, k=3), "s"]
    assert sorted(ids(question, whole, k=13)) == sorted(["s", *(row["memory_id"] for row in rows)])


def test_a_summary_whose_members_are_given_is_left_out():
    rows = told(BOOKED[:3])
    found = ids("Which rooms of the hotel are booked for guests?", [*rows, summary("s", rows), garden()], k=4)
    assert sorted(found) == ["garden", "m00", "m01", "m02"]


def test_of_summaries_with_most_members_in_common_one_is_given():
    rows = told(BOOKED, lifecycle="archived")
    near = [summary("s", rows), summary("t", rows[:-1], kind="meta_pattern")]
    found = ids("Which rooms of the hotel are booked?", [*near, garden()])
    assert found[1] == "garden"
    assert {found[0], found[2]} == {"s", "t"}


def test_a_summary_of_summaries_repeats_what_these_repeat():
    rows = told(BOOKED[:4])
    parts = [summary("s", rows[:2]), summary("t", rows[2:])]
    whole = summary("u", parts, f"2024-01-02: {' '.join(BOOKED[:4])}")
    found = ids("Which rooms of the hotel are booked for guests?", [*rows, *parts, whole, garden()])
    assert sorted(found[5:]) == ["s", "t", "u"]


def test_a_summary_without_new_words_adds_nothing():
    rows = told(["I booked the hotel.", "Fine, thanks.", "See you soon.", "Good night then."])
    only = summary("s", rows, "2024-01-02: I booked the hotel.")
    assert ids("Who booked the hotel?", [rows[0], only, garden()], k=3) == ["m00", "garden", "s"]


def test_a_deep_recall_keeps_the_summary_before_what_it_stands_for():
    rows = told(BOOKED[:3], lifecycle="archived")
    assert ids("Which rooms of the hotel are booked for guests?", [*rows, summary("s", rows)], deep=True)[0] == "s"


def test_a_summary_with_a_closed_value_comes_behind_what_closed_it():
    ends = {"closed_by": "new", "closed_until": frames.ago(5), "valid_until": frames.ago(5)}
    rows = told(["The server runs Ubuntu.", "Tom works at Acme."])
    rows[0] |= ends
    new = {"memory_id": "new", "content": "The server runs Debian.", "created_at": frames.ago(5), "seq": 60}
    found = ids("What does the server run?", [*rows, new, summary("s", rows, "The server runs Ubuntu. It runs.")], k=3)
    assert found.index("new") < found.index("s")


RETOLD = (
    ("The invoice service listens on port 8081.", "Its owner is Farid."),
    "Farid owns the invoice service, which is on port 8081.",
)


@pytest.mark.parametrize("question", ["Who owns the invoice service?", "Which port does the invoice service use?"])
def test_what_an_assistant_retells_comes_behind_all_that_it_retells(question):
    sources, retold = RETOLD
    rows = told([*sources, "The kettle is new."], speaker="user")
    rows += told([retold], memory_id="retold", created_at=frames.ago(5), speaker="assistant")
    found = ids(question, rows)
    assert max(found.index(name) for name in ("m00", "m01")) < found.index("retold")


def test_what_an_assistant_adds_or_a_person_says_again_keeps_its_place():
    sources, retold = RETOLD
    rows = told([*sources, "The kettle is new."], speaker="user")
    again = told([retold], memory_id="retold", created_at=frames.ago(5), speaker="user")
    assert ids("Who owns the invoice service?", rows + again)[0] == "retold"
    added = told(["The owner of the invoice service moved it to Lyon, into rack nine."], memory_id="added")
    added = [{**row, "created_at": frames.ago(5), "speaker": "assistant"} for row in added]
    assert ids("Where did the owner of the invoice service move it?", rows + added)[0] == "added"


def test_a_denial_does_not_repeat_what_it_denies():
    others = [f"Ann has {index} cats and is allergic to dust." for index in range(9)]
    said = ["Ann is allergic to cats.", "Ann is not allergic to cats.", *others]
    assert {"m00", "m01"} <= set(ids("Is Ann allergic to cats?", told(said), k=10))


@pytest.mark.drill
def test_a_session_starts_with_every_fact_once(tmp_path):
    facts = ["I am allergic to hazelnuts.", "I prefer tea to coffee.", "My name is Ana and I live in Porto."]
    clock = datetime(2026, 3, 2, 9, tzinfo=UTC)
    with MemoryClient(tmp_path, clock=lambda: clock) as memory:
        for fact in facts:
            memory.remember(fact, session_id="s1", speaker="user")
        moved = memory.remember("The tea for Porto is on shelf 9.", session_id="s2", speaker="user")
        memory.consolidate()
        opening = memory.session_start("Which tea do I prefer in Porto?")
        assert opening.blocks
        assert {one.memory_id for one in opening.answer or ()} >= {moved}, "the answer itself is whole"
        text = opening.text()
        assert [text.count(fact) for fact in facts] == [1, 1, 1]
        assert text.count("shelf 9") == 1


@pytest.mark.drill
def test_what_no_longer_holds_is_said_beside_core_memory(tmp_path):
    clock = [datetime(2026, 3, 2, 9, tzinfo=UTC)]
    with MemoryClient(tmp_path, clock=lambda: clock[0]) as memory:
        memory.remember(LAUNCH[0], session_id="s1", speaker="user")
        memory.consolidate()
        assert memory.session_start("website launch").text().count(LAUNCH[0]) == 1
        clock[0] += timedelta(days=3)
        memory.remember(LAUNCH[1], session_id="s2", speaker="user")
        memory.consolidate()
        assert f"{LAUNCH[0]} (no longer current" in memory.session_start("website launch").text()
