"""A plan is told by what it does to memories: what people see as one is one row, with both texts and the difference."""

import json
from datetime import UTC

import frames
import polars as pl
import pytest
from frames import ago
from planned import commit, found, profiles, propose, revert, said, state, superseded

from memory_pipeline.consolidation import core_memory
from memory_pipeline.consolidation.plans import dependants, leaving_out, plan_document, telling
from memory_pipeline.service import report_plan
from memory_pipeline.text.difference import parts

TEA = "Ana drinks tea in the morning."
BEFORE = state(
    {"memory_id": "t1", "content": TEA, "created_at": ago(30)},
    {"memory_id": "t2", "content": TEA, "created_at": ago(20)},
    {"memory_id": "old", "content": "Ada lives in Bath.", "created_at": ago(9)},
    {"memory_id": "new", "content": "Ada lives in Cork.", "created_at": ago(1), "metadata": '{"heading": "Home"}'},
    {"memory_id": "gone", "content": "The bus was late.", "created_at": ago(90)},
)
MERGE = {"summary_id": "sum", "content": TEA, "members": ["t1", "t2"], "kind": "compression"}


def about(source, target, edge_type, **fields):
    """A link that says how the facts of two memories may relate."""
    kind = "conflict" if edge_type == "CONTRADICTS" else None
    return found(source, target, edge_type=edge_type, kind=kind, algorithm="fact_comparison", **fields)


@pytest.fixture(scope="module")
def plan():
    return propose(
        BEFORE,
        summaries=[MERGE],
        leaving=[superseded("t1", "sum"), superseded("t2", "sum"), {"memory_id": "gone"}],
        links=[found("t1", "t2", edge_type="ASSOCIATED"), found("new", "old"), found("gone", "new")],
        changes=[{"memory_id": "old", "other_id": "new"}],
        blocks=[{"members": ["old"]}],
    )


@pytest.fixture(scope="module")
def told(plan):
    return telling.tell(plan, BEFORE.memories)


def row(told, group):
    return told.filter(group=group).row(0, named=True)


def sides(row):
    return [
        (mark, days, "".join(f"[{part.text}]" if part.differs else part.text for part in text))
        for mark, days, text in report_plan.sides(row)
    ]


def test_counts_come_first_and_every_decision_is_in_one_row(plan, told):
    assert telling.headlines(told).select("group", "headline").rows() == [
        ("changed", "1 fact changed"),
        ("merged", "2 repeats -> 1"),
        ("left", "1 leaves, 5 tokens"),
        ("core", "1 part of core memory rewritten"),
        ("related", "1 related pair linked"),
    ]
    assert sorted(told["decision_ids"].explode()) == sorted(plan["decision_id"])
    assert telling.tell(plan.clear(), BEFORE.memories).equals(pl.DataFrame(schema=telling.TOLD))


def test_a_change_shows_both_texts_with_days_confidence_and_reason(told):
    changed = row(told, "changed")
    assert changed["memory_ids"] == ["old", "new"]
    assert changed["confidence"] == 0.9
    assert changed["why"].startswith("The newer says how it is now")
    assert len(changed["decision_ids"]) == 2, "the link of the pair is told with it"
    assert sides(changed) == [
        ("-", f"{ago(9):%Y-%m-%d}", "Ada lives in [Bath]."),
        ("+", f"{ago(1):%Y-%m-%d}", "[Home › ]Ada lives in [Cork]."),
    ]


def test_a_merge_shows_its_words_once_with_every_day_as_what_stays(told):
    merged = row(told, "merged")
    assert merged["memory_ids"] == ["t1", "t2", "sum"]
    assert len(merged["decision_ids"]) == 4
    assert sides(merged) == [("+", f"{ago(30):%Y-%m-%d}, {ago(20):%Y-%m-%d}", TEA)]


def test_of_a_merge_of_several_texts_the_one_that_stands_for_all_is_told_apart(told):
    merged = row(told, "merged")
    other, kept = (
        {"memory_id": name, "day": day, "text": text}
        for name, day, text in (
            ("t1", "2026-01-19", "Tea at four."),
            ("t2", "2026-02-09", "Tea is at four."),
        )
    )
    merged |= {"older": [other, kept], "newer": [kept | {"memory_id": "sum", "day": None}]}
    assert [(mark, days) for mark, days, _ in sides(merged)] == [("-", "2026-01-19"), ("+", "2026-02-09")]
    assert sides(merged | {"older": [kept, other]}) == sides(merged), "whichever was said first"


def test_a_merge_of_a_profile_with_several_speakers_shows_its_words_once_too(plan):
    speaker = pl.col("memory_id").replace_strict({"t1": "Nora", "t2": "Nora"}, default="Ben")
    told = telling.tell(plan, BEFORE.memories.with_columns(speaker=speaker))
    assert [text for *_, text in sides(row(told, "merged"))] == [f"Nora: {TEA}"]


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ("Choir is on Thursdays.", "Choir is on Thursdays."),
        ("at 19:30", "It begins at 19:30 in the hall."),
        ("on Thursdays\nat 19:30", "Choir is on Thursdays. It begins at 19:30 in the hall."),
    ],
)
def test_of_words_that_ended_the_sentence_around_them_is_told(ended, told):
    memories = state(
        {"memory_id": "old", "content": "Choir is on Thursdays. It begins at 19:30 in the hall."},
        {"memory_id": "new", "content": "Choir begins at 19:00."},
    ).memories
    (profile,) = memories["profile_id"].unique()
    answer = {"profile_id": profile, "memory_id": "old", "other_id": "new", "relation": "partial", "event_id": "e"}
    (row,) = telling.tell_answers(pl.DataFrame([answer | {"statement": ended, "at": ago(1)}]), memories, UTC).to_dicts()
    assert [side["text"] for side in row["older"]] == [told]


def test_core_memory_is_told_by_the_lines_that_go_and_those_that_come(plan):
    nights = [("Lives in Bath.", "Keeps bees."), ("Keeps bees.", "Lives in Cork.")]
    before, after = (json.dumps({"content": core_memory.SEPARATOR.join(facts)}) for facts in nights)
    block = plan.filter(action="compile").with_columns(before=pl.lit(before), after=pl.lit(after))
    told = telling.tell(block, BEFORE.memories)
    assert sides(row(told, "core")) == [("-", "", "Lives in Bath."), ("+", "", "Lives in Cork.")]
    (change,) = plan_document.write(block, profiles(), None, told)["changes"]
    assert [[one["text"] for one in change[side]] for side in ("older", "newer")] == [
        ["Lives in Bath."],
        ["Lives in Cork."],
    ]


@pytest.mark.parametrize(
    ("kinds", "group"),
    [
        (["ASSOCIATED", "MAY_REPEAT"], "may_repeat"),
        (["MAY_REPEAT", "MAY_UPDATE"], "may_have_changed"),
        (["MAY_UPDATE", "CONTRADICTS"], "conflicts"),
        (["ASSOCIATED"], "related"),
    ],
)
def test_links_of_several_kinds_between_two_memories_are_one_row(kinds, group):
    links = [
        found("old", "new", edge_type=kind) if kind == "ASSOCIATED" else about("new", "old", kind) for kind in kinds
    ]
    told = telling.tell(propose(BEFORE, links=links), BEFORE.memories)
    assert told["group"].to_list() == [group]
    assert told["memory_ids"].to_list() == [["old", "new"]]
    assert len(told["decision_ids"][0]) == len(kinds)


@pytest.mark.parametrize(("confidence", "sure"), [(0.59, "59% likely"), (1.0, "100% sure")])
def test_what_may_be_so_is_likely_and_what_somebody_said_has_their_reason(confidence, sure):
    plan = propose(BEFORE, links=[about("new", "old", "MAY_REPEAT", confidence=confidence)])
    (row,) = telling.tell(plan, BEFORE.memories).to_dicts()
    assert telling.confidence(row) == sure
    assert (row["why"] in plan["reason"].to_list()) == (confidence == 1)


def test_a_link_between_memories_in_the_same_words_is_no_possible_repeat_and_asks_nobody():
    links = [about("t1", "t2", "MAY_REPEAT", confidence=0.9), about("new", "old", "MAY_REPEAT", confidence=0.9)]
    told = telling.tell(propose(BEFORE, links=links), BEFORE.memories)
    assert telling.headlines(told)["headline"].to_list() == [
        "1 possible repeat",
        "1 memory in the words of another stays",
    ]
    alike = row(told, "same_words")
    assert sides(alike) == [("+", f"{ago(30).date()}, {ago(20).date()}", TEA)]
    assert telling.confidence(alike) is None
    assert "until somebody" not in alike["why"]


def test_two_decisions_that_stand_in_contrast_are_no_conflict():
    links = [found("old", "new", edge_type="CONTRADICTS", kind="contrast")]
    assert telling.tell(propose(BEFORE, links=links), BEFORE.memories)["group"].to_list() == ["related"]


def test_a_plan_document_has_the_changes(plan, told):
    document = json.loads(json.dumps(plan_document.write(plan, profiles(), None, told)))
    assert plan_document.changes(document).equals(told)
    assert plan_document.read(document)[0].height == plan.height
    assert plan_document.changes(plan_document.write(plan, profiles())).is_empty()


@pytest.mark.parametrize(
    ("older", "newer", "shown"),
    [
        ("The code is 5518.", "The code is 5520.", ("The code is [5518].", "The code is [5520].")),
        ("One\ntwo", "one two", ("[One ]two", "[one ]two")),
        ("Tea", "Tea and milk", ("Tea", "Tea [and milk]")),
        ("", "Tea", ("", "[Tea]")),
    ],
)
def test_the_difference_of_two_texts_is_found(older, newer, shown):
    pair = parts(older, newer)
    assert tuple("".join(f"[{part.text}]" if part.differs else part.text for part in side) for side in pair) == shown


def test_long_texts_are_cut_beside_their_difference_and_never_before_it():
    before, after = "very " * 400, "quite " * 400
    older, newer = parts(f"{before}red{' '}{after}", f"{before}blue {after}")
    for side, word in ((older, "red"), (newer, "blue")):
        text = "".join(part.text for part in side)
        assert text.startswith("… very")
        assert text.endswith("quite …")
        assert len(text.split()) < 40
        assert [part.text.strip() for part in side if part.differs] == [word]


def test_wholly_different_long_texts_are_begun():
    older, _ = parts("tea " * 2_000, "milk " * 2_000)
    assert [part.differs for part in older] == [True]
    assert len(older[0].text.split()) < 70


# --- leaving rows out


def test_a_row_is_left_out_by_the_beginning_of_any_of_its_ids(plan, told):
    merged = row(told, "merged")
    kept = {"summarise", "supersede"}
    for decision_id in merged["decision_ids"]:
        left = leaving_out.left_out(plan, [decision_id[:12]])
        assert set(left["action"]) == kept, "that two memories are related holds all the same"
        assert left.height == 3
    assert leaving_out.left_out(plan, []).is_empty()


@pytest.mark.parametrize("asked", ["nothing", "", "f"])
def test_an_id_that_names_no_row_is_refused(plan, asked):
    with pytest.raises(ValueError, match="names no row of the plan"):
        leaving_out.left_out(plan, [asked])


def test_what_builds_on_a_row_is_left_out_with_it():
    trimmed = {"memory_id": "sum", "content_hash": frames.summaries([MERGE])["content_hash"][0]}
    plan = propose(BEFORE, summaries=[MERGE], leaving=[superseded("t1", "sum")], cut=[trimmed])
    left = leaving_out.left_out(plan, plan.filter(action="summarise")["decision_id"])
    assert set(left["action"]) == {"summarise", "supersede", "trim"}


def test_the_rest_of_a_plan_stays_and_core_memory_is_that_of_the_rest(plan):
    left = leaving_out.left_out(plan, plan.filter(action="close")["decision_id"])
    again = propose(BEFORE, blocks=[{"content": "Ada lives in Bath.", "members": ["old"]}], links=[found("t2", "new")])
    rest = leaving_out.remaining(plan, left, again, profiles())
    assert set(plan["decision_id"]) - set(rest["decision_id"]) >= set(left["decision_id"])
    (block,) = rest.filter(action="compile")["after"]
    assert json.loads(block)["content"] == "Ada lives in Bath."
    assert ("link", "t2", "new") not in said(rest), "nobody was shown it"
    assert sorted(rest["ordinal"]) == [*range(rest.height)]
    without = leaving_out.left_out(plan, plan.filter(action="compile")["decision_id"])
    assert "compile" not in set(leaving_out.remaining(plan, without, again, profiles())["action"])


def test_what_is_left_out_is_not_proposed_again(plan):
    left = leaving_out.left_out(plan, plan.filter(action="close")["decision_id"])
    decisions, reverted = leaving_out.as_undone(left)
    later = {"decisions": commit(decisions, 1), "reverted": revert(decisions)}
    changes = [{"memory_id": "old", "other_id": "new"}]
    assert "close" not in {action for action, _, _ in said(propose(BEFORE, changes=changes, **later))}
    retried = profiles(retry_reverted=True)
    assert "close" in {action for action, _, _ in said(propose(BEFORE, of=retried, changes=changes, **later))}
    assert reverted.height == decisions.height == 1
    assert dependants.of(plan, left).is_empty()
