"""Recalled text that comes back: what a turn quotes of stored memories is not stored again, its own words are."""

import json
import time
from datetime import UTC, datetime

import homes
import pytest
import sampling
from serving import bearer, within

from memory_pipeline import MemoryClient
from memory_pipeline.integrations.conversation import before_answering, remember_turns
from memory_pipeline.interop import formats
from memory_pipeline.interop.importing import ONLY_QUOTATIONS, import_events
from memory_pipeline.lake.tables import Lake
from memory_pipeline.ledger.payloads import read_json
from memory_pipeline.recall.client import quotations
from memory_pipeline.service import actions, auth_tokens
from memory_pipeline.service.auth_tokens import Role
from memory_pipeline.settings import load
from memory_pipeline.text import quoting, shown_lines

TOLD = [
    "I am allergic to penicillin.",
    "Always answer in German.",
    "I live in Berlin. My sister Karin lives in Dresden.",
    "Never push to main.",
    "My dentist is Dr. Kern.",
    "I prefer dark mode in every editor.",
    "Ich trinke morgens nur grünen Tee.",
]
SAID = datetime(2026, 3, 1, tzinfo=UTC)
HEADINGS = ("user_profile", "health_and_safety", "standing_instructions")
CORE = """## standing instructions
user: Always answer in German. (2026-03-01)
---
user: Never push to main. (2026-03-01; maybe outdated since 2026-03-04)"""
NEWER = r'"User likes the \"light\" theme (beta) now."'
LINES = f"""- [2026-03-01] user: My dentist is Dr. Kern.
- [2026-03-01] user: I prefer dark mode in every editor. (possibly outdated since 2026-03-09: {NEWER})"""
BLOCK = f"{CORE}\n\n## relevant memories\n{LINES}"


def sources(texts=TOLD, *, by_agent=False):
    found = quoting.Sources()
    for index, text in enumerate(texts):
        found.add(f"m{index}", text, by_agent=by_agent, at=SAID)
    return found


def own(text, *, by_agent=False, known=None):
    """Return what is left of a text, and what it quotes."""
    held = known or sources()
    read = shown_lines.pieces(text, HEADINGS)
    assert "".join(piece.raw for piece in read) == text
    found = quoting.own(read, held.find, by_agent=by_agent)
    return (text, ()) if found is None else (found.text, found.quoted)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"<memories>{BLOCK}Where do I live?", "Where do I live?"),
        (f"<memories>\n{BLOCK}\n</memories>\n\nI moved to Bonn.", "I moved to Bonn."),
        (f"<memories>\n{BLOCK}\n</memories> I moved to Bonn.", "I moved to Bonn."),
        (f"<context source='memory'>\n{BLOCK}\n</context>\nBook the dentist.", "Book the dentist."),
        (f"{quoting.INTRODUCTION}\n\n{BLOCK}\n\nWhat now?", "What now?"),
        (f"What I know so far:\n{LINES}\n\nThe shed is green.", "The shed is green."),
        (f"Before.\n\n{LINES}\n\nAfter.", "Before.\n\nAfter."),
        (f"{' '.join(BLOCK.split())} What is new?", "What is new?"),
        (f"{BLOCK}\n- and 3 more, 120 tokens; a larger token budget shows them\nAnd?", "And?"),
        (f"```\n{LINES}\n```\nAnd?", "And?"),
        ("> - [2026-03-01] user: My dentist is Dr. Kern.\nIs he open?", "Is he open?"),
    ],
)
def test_a_block_that_comes_back_leaves_only_the_words_around_it(text, left):
    rest, quoted = own(text)
    assert rest == left
    assert "m4" in quoted


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("- [2026-03-01] user: My dentist is Dr. Kern", "m4"),
        ("[2026-03-01] My dentist is dr kern.", "m4"),
        ("- [2026-03-01] You prefer **dark mode** in every editor", "m5"),
        ("* [2026-03-01] The user is allergic to penicilin", "m0"),
        ("1. [2026-03-01] My sister Karin lives in Dresden.", "m2"),
        ("user: Never push to main. (2026-03-01)", "m3"),
        ("- [2026-03-01] Ich trinke morgens nur grünen Tee. (archived)", "m6"),
        ("- [2026-03-01] I live in Berlin. [outdated since 2026-04-01] My sister Karin lives in Dresden.", "m2"),
    ],
)
def test_a_line_with_marks_is_recognised_though_slightly_edited(line, source):
    assert own(line) == (None, (source,))


@pytest.mark.parametrize(
    "line",
    [
        "- [2026-03-01] user: My dentist is Dr. Braun.",
        "- [2026-03-01] I prefer light mode in every editor.",
        "- [2026-03-01] push to main",
        "- [2026-03-01] user: I am not allergic to penicillin.",
        "- [2026-03-01] user: I am allergic to penicillin and latex.",
        "- [2026-03-01] Ich trinke morgens nur schwarzen Tee.",
        "- [2026-03-01] My sister Karin lives in Essen.",
        "- [2026-03-02] Ran five kilometres along the canal.",
        "My dentist is Dr. Kern.",
        "I am allergic to penicillin.\nAlways answer in German.",
        "## standing instructions\nNever push to main.",
    ],
)
def test_what_is_new_or_said_again_by_a_person_stays_as_it_is(line):
    assert own(line) == (line, ())


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        ("My dentist is Dr. Kern.", None),
        ("You are allergic to penicillin.\nI have booked a table.", "I have booked a table."),
        (f"Summary of this session: {BLOCK}", None),
        ("Summary: You are allergic to penicillin. Never push to main. I prefer dark mode in every editor.", None),
        ("My dentist is Dr. Kern. I booked him for May.", "I booked him for May."),
        ("What I remember:\n- Always answer in German.\n- I prefer dark mode in every editor.", None),
    ],
)
def test_an_agent_that_repeats_what_others_said_tells_nothing_new(turn, left):
    assert own(turn, by_agent=True)[0] == left


IDA = ("I take 75 micrograms every morning.", "My mother Solveig moved to Birkely in March.", "I can't eat celery.")


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        ("Summary: Ida takes 75 micrograms every morning. Ida's mother Solveig moved to Birkely in March.", None),
        ("So far: you can't eat celery; I take 75 micrograms every morning; the bakery opens at six.", "the bakery"),
        ("Omar takes 75 micrograms every morning.", "Omar takes"),
        ("Ida takes 100 micrograms every morning.", "Ida takes"),
        ("Ida no longer takes 75 micrograms every morning.", "Ida no longer"),
    ],
)
def test_an_agent_that_names_who_spoke_quotes_them(turn, left):
    known = quoting.Sources()
    for index, text in enumerate(IDA):
        known.add(f"m{index}", text, by_agent=False, at=SAID, speaker="Ida")
    rest = own(turn, by_agent=True, known=known)[0]
    assert rest == left or rest.startswith(left)


def test_what_an_agent_once_stored_of_a_source_does_not_hide_the_source():
    known = sources(["Our summer house in Grena has no internet, and the well is dry."], by_agent=True)
    known.add("told", "Our summer house in Grena has no internet.", by_agent=False, at=SAID)
    assert own("The house: our summer house in Grena has no internet.", by_agent=True, known=known) == (None, ("told",))


@pytest.mark.parametrize("turn", ["The build is green on main today.", "Yes, of course.", "Done."])
def test_an_agent_that_says_its_own_words_again_tells_something(turn):
    known = sources(["The build is green on main today.", "Yes, of course.", "Done."], by_agent=True)
    assert own(turn, by_agent=True, known=known) == (turn, ())
    assert own("Yes, of course.", by_agent=True, known=sources(["Yes, of course."])) == ("Yes, of course.", ())


ID = "01a2292e-7502-7528-bc00-da1c92040843"
DAY = "2026-03-01"
PRINTED = f"""1. [{DAY}] user: My dentist is Dr. Kern.
   0.48 \u00b7 {ID}

1 memory, 9 tokens, as of 2026-11-29 21:22 UTC
Scores do not always fall: what holds comes before what it replaces, and what belongs together stands together.
why the first one: memory-pipeline --home data explain {ID} --profile u --query dentist
"""
FIELDS = f"user: My dentist is Dr. Kern.\n  id: {ID}\n  what it is: fact\n  stored: {DAY} 00:00 UTC\n  session: s\n"
JSON = json.dumps({"recalled": [{"memory_id": ID, "content": "My dentist is Dr. Kern."}], "tokens": 9}, indent=2)


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        FIELDS,
        JSON,
        f"{ID}  {DAY} 00:00  user: My dentist is [...]\n",
        f"- [{DAY}] user: My dentist is Dr. Kern. 0.50 {ID}\n",
        f"| date | memory |\n|---|---|\n| {DAY} | My dentist is Dr. Kern. |\n",
        f'<memory id="1" date="{DAY}">My dentist is Dr. Kern.</memory>\n',
        f'[{{"date": "{DAY}", "text": "My dentist is Dr. Kern."}}]\n',
        f"- date: {DAY}\n  text: My dentist is Dr. Kern.\n",
        f"- memory_id: {ID}\n  text: My dentist is Dr. Kern.\n  created_at: {DAY}T09:30:00.123+00:00\n  score: 0.5\n",
        f"- text: My dentist is Dr. Kern.\n  id: {ID}\n  created_at: '{DAY} 09:30:00.123+00:00'\n",
        f'memory_id,created_at,text\n{ID},{DAY}T09:30:00.123456+00:00,"My dentist is Dr. Kern."\n',
        f"1) - [{DAY}] user: My dentist is Dr. Kern. (memory_id {ID})\n",
        "- [01.03.2026] user: My dentist is Dr. Kern.\n",
        "* Mar 1, 2026: My dentist is Dr. Kern.\n",
        f"- [{DAY}] user: My\n  dentist is\n  Dr. Kern.\n",
        f"## Gesundheit\n- [{DAY}] user: My dentist is Dr. Kern.\n",
        f"- [{DAY}] My dentist is Dr\u2026\n",
        json.dumps({"role": "system", "content": f"## relevant memories\n- [{DAY}] user: My dentist is Dr. Kern.\n"}),
        json.dumps(f"- [{DAY}] user: My dentist is Dr. Kern.\n- [{DAY}] user: I live in Berlin.\n"),
        json.dumps(json.dumps({"memories": f"- [{DAY}] user: My dentist is Dr. Kern.\n"})),
        json.dumps(
            {"type": "tool_result", "content": [{"type": "text", "text": f"[{DAY}] My dentist is Dr. Kern.\n"}]}
        ),
        json.dumps(["My dentist is Dr. Kern.", "Never push to main."]),
        '{"text": "My dentist is Dr. Kern.", "score": 0.5}\n',
        '["My dentist is Dr. Kern.", 1]\n',
        f'<memory text="My dentist is Dr. Kern." date="{DAY}"/>\n',
        "<context>\n  <item value='My dentist is Dr. Kern.' />\n  <item value='I live in Berlin.'/>\n</context>\n",
        '<fact says="My dentist is Dr&#46; Kern."></fact>\n',
    ],
)
def test_a_memory_with_its_id_or_date_is_known_in_any_layout(shown):
    known = sources()
    known.add(ID, "My dentist is Dr. Kern.", by_agent=False, at=SAID)
    said = f"{shown}\nWho waters the plants?"
    assert quoting.may_quote(said, by_agent=False)
    rest, quoted = own(said, known=known)
    assert rest == "Who waters the plants?"
    others = {name for name, words in (("m2", "in Berlin"), ("m3", "push to main")) if words in shown}
    assert set(quoted) <= {ID, "m4", *others}


def test_marks_of_quotation_hide_no_document_behind_them():
    known = sources()
    known.add(ID, "My dentist is Dr. Kern.", by_agent=False, at=SAID)
    said = 'See "C:\\tmp" here. ' * 20
    assert own(f'{said}\n{{"recalled": [{{"memory_id": "{ID}"}}]}}\n', known=known) == (said.strip(), (ID,))


def test_half_of_a_character_in_json_is_stored(tmp_path):
    said = '{"a": ["Call Bo about the \\ud83d shed.", "The hedge is 90 cm."]}'
    recalled = json.dumps([f"- [{DAY}] user: My dentist is Dr. Kern.\n", "Call Bo about the \ud83d shed."])
    with MemoryClient(tmp_path) as memory:
        memory.remember("My dentist is Dr. Kern.", speaker="user", occurred_at=SAID)
        assert memory.get(memory.remember(said)).content == said
        assert memory.get(memory.remember(recalled)).content == "Call Bo about the \ufffd shed."


def test_of_a_chat_in_json_the_words_of_its_own_are_left():
    recalled = f"You know:\n- [{DAY}] user: My dentist is Dr. Kern.\n"
    chat = [
        {"role": "system", "content": recalled},
        {"role": "user", "content": "Who waters the \u201cbig\u201d plants?"},
    ]
    assert own(json.dumps(chat)) == ("Who waters the \u201cbig\u201d plants?", ("m4",))


@pytest.mark.parametrize(
    "said",
    [
        "2026-03-01: I lost my keys near the bridge.",
        "On 1 March 2026 I wrote that my dentist is Dr. Kern; he has moved.",
        "[2026-04-09] My dentist is Dr. Kern again.",
        "In 2026 my dentist is Dr. Kern.",
        "<note>\nThe hedge is 90 cm.\nMy dentist is Dr. Kern.\n</note>",
        '{"memory_id": "unknown", "content": "My dentist is Dr. Kern."}',
        '{"name": "shed", "lines": ["My dentist is Dr. Kern.", "The hedge is 90 cm."]}',
        '<memory text="I moved to Sorrento in May." date="2026-03-01"/>',
        "[" * 2_000 + '"' + "<a b='" * 2_000,
    ],
)
def test_a_date_or_a_tag_alone_makes_no_quotation(said):
    assert own(said) == (said, ())


@pytest.mark.parametrize(
    ("turn", "left"),
    [
        ('As you told me: "I prefer dark mode in every editor."', None),
        ("Du sagtest: \u201eIch trinke morgens nur grünen Tee.\u201c", None),
        ("Tu m'as dit \u00ab I am allergic to penicillin. \u00bb", None),
        ("**Diet:** You are allergic to penicillin.", None),
        ("You told me that you are allergic to penicillin.", None),
        ("As you mentioned, you prefer dark mode in every editor.", None),
        (
            "I remember that your sister Karin lives in Dresden. The train takes two hours.",
            "The train takes two hours.",
        ),
        ("I remember that you are allergic to penicillin, and that your sister Karin lives in Dresden.", None),
        ("I recall you said you are allergic to penicillin and that your sister Karin lives in Dresden.", None),
        ("You told me that your sister Karin lives in Dresden and you prefer dark mode in every editor.", None),
        ("I remember that you are allergic to penicillin, and that you play the cello.",) * 2,
        ("I remember that you are allergic to penicillin, and that your sister Karin left Dresden.",) * 2,
        ("Omar said Nora told Lea that you are allergic to penicillin.",) * 2,
        ("You told me that you are allergic to latex.",) * 2,
        ("You said that you are no longer allergic to penicillin.",) * 2,
        ("You should tell me if you are allergic to penicillin.",) * 2,
        ("Did you say that you are allergic to penicillin?",) * 2,
        ("(Did you say that you are allergic to penicillin?)",) * 2,
        ("Omar told Nora that you are allergic to penicillin.",) * 2,
        ("\u6211\u5bf9\u82b1\u751f\u8fc7\u654f\uff0c\u6bcf\u5929\u559d\u8336\u3002", None),
        ('I read "My dentist is Dr. Kern." and booked him for Friday at nine, as you wished.',) * 2,
        ("I live in Berlin, and my dentist Dr. Kern sees you there.",) * 2,
    ],
)
def test_an_agent_that_quotes_within_a_sentence_tells_nothing_new(turn, left):
    known = sources([*TOLD, "\u6211\u5bf9\u82b1\u751f\u8fc7\u654f\uff0c\u6bcf\u5929\u559d\u8336\u3002"])
    assert own(turn, by_agent=True, known=known)[0] == left


def test_what_is_told_together_names_each_memory():
    told = "I remember that you are allergic to penicillin, and that your sister Karin lives in Dresden."
    known = sources(TOLD)
    assert len(own(told, by_agent=True, known=known)[1]) == 2


def test_a_passage_names_its_memory():
    minutes = " ".join(f"Point {index} was discussed at length by the board." for index in range(400))
    known = sources([f"{minutes} The spare key hangs behind the boiler. {minutes}"])
    line = (
        "- [2026-03-01] Minutes \u203a Keys: \u2026 Point 399 was discussed at length by the board. The spare key "
        "hangs behind the boiler. \u2026 (passage at character 20,500 of a text of 8,010 tokens; all of it: memory m0)"
    )
    assert own(line, known=known) == (None, ("m0",))


@pytest.mark.drill
def test_the_cost_grows_with_the_length():
    told = [f"Item {index} of the stock list costs {index * 7} crowns in shop {index % 13}." for index in range(4_000)]
    known = sources(told)

    def seconds(count):
        text = "\n".join(f"- [2026-03-01] {line}" for line in told[:count])
        begun = time.process_time()
        assert own(text, known=known)[0] is None
        return time.process_time() - begun

    seconds(100)
    assert seconds(2_000) < 8 * max(seconds(500), 0.02)


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """A profile after a night."""
    home = tmp_path_factory.mktemp("quoting") / "data"
    with MemoryClient(home, profile_id="u", session_id="s") as memory:
        for text in TOLD:
            memory.remember(text, speaker="user", occurred_at=SAID)
        memory.consolidate()
    return home


@pytest.fixture
def memory(night):
    with MemoryClient(night, profile_id="u", session_id="s") as opened:
        yield opened


def characters(memory):
    return sum(len(one.content) for one in memory.list(limit=1_000, deep=True))


@pytest.mark.parametrize("closed", sampling.first("</memories>\n", "\n", ""))
@pytest.mark.parametrize("speaker", sampling.first("user", None, "assistant"))
@pytest.mark.parametrize("turns", sampling.first(5, 20))
def test_each_turn_of_recalled_text_stores_one_question(memory, closed, speaker, turns):
    before, question = characters(memory), "Where do I live?"
    for _ in range(turns):
        opening = memory.session_start(question).text()
        memory.remember(f"<memories>{opening}{closed}{question}", **({"speaker": speaker} if speaker else {}))
    assert characters(memory) - before <= turns * len(question)


def test_an_answer_stored_as_it_is_stores_nothing_and_names_its_source(memory):
    answer = memory.recall("dentist", k=1)
    before = characters(memory)
    assert memory.remember(answer.text()) == answer[0].memory_id
    checked = memory.remember_checked(answer.text(), speaker="user")
    assert (checked.memory_id, checked.quoted, checked.stored) == (answer[0].memory_id, (answer[0].memory_id,), False)
    assert memory.remember_many([answer.text(), answer.text()]) == [answer[0].memory_id] * 2
    assert characters(memory) == before


def test_own_words_keep_the_ids_of_what_they_quote_and_their_metadata(memory):
    answer = memory.recall("dentist", k=1)
    (stored,) = memory.store([{"text": f"{answer.text()}\nHe moved to Bonn.", "metadata": {"a": 1}}])
    kept = memory.get(stored.memory_id)
    assert kept.content == "He moved to Bonn."
    assert kept.metadata == {"a": 1, quotations.QUOTED: [answer[0].memory_id]}
    assert stored.stored


def test_appended_memories_and_changed_texts_leave_out_what_they_quote(memory):
    answer = memory.recall("dentist", k=1)
    rows = [
        {"event_type": "memory.stored", "memory_id": name, "payload": {"content": text}}
        for name, text in (("own", f"{answer.text()}\nThe roof leaks."), ("none", answer.text()))
    ]
    own, none = memory.append(rows)
    assert (own.memory_id, own.quoted, own.stored) == ("own", (answer[0].memory_id,), True)
    assert (none.memory_id, none.stored) == (answer[0].memory_id, False)
    assert memory.get("own").content == "The roof leaks."

    changed = memory.update("own", content=f"{answer.text()}\nThe roof is mended.", tags=["roof"])
    assert (changed.content, changed.tags) == ("The roof is mended.", ("roof",))
    assert changed.metadata == {quotations.QUOTED: [answer[0].memory_id]}
    with pytest.raises(ValueError, match=f"content only quotes '{answer[0].memory_id}'; give"):
        memory.update("own", content=answer.text())
    memory.remember("The attic has a skylight.", speaker="user")
    quoting = rows[1] | {"payload": {"content": "- [2026-03-01] The attic has a skylight."}}
    assert memory.append(lambda: [quoting])[0].memory_id == "none", "a function's events are taken as they are"


def test_a_text_that_replaces_a_memory_is_stored_as_it_is(memory):
    old = memory.remember("The shed is painted green.", speaker="user")
    new = memory.correct(old, "- [2026-03-01] The shed is painted green.")
    assert memory.get(new).content == "- [2026-03-01] The shed is painted green."


def test_a_refused_row_keeps_its_place_behind_a_quotation(memory):
    memory.remember("The gate is brown.", memory_id="gate")
    answer = memory.recall("dentist", k=1).text()
    with pytest.raises(ValueError, match=r"\b1\b.*gate"):
        memory.remember_many([answer, {"text": "The gate is black.", "memory_id": "gate"}])


def test_turns_of_an_integration_keep_the_words_of_the_user(memory):
    shown = before_answering(memory, "Who is my dentist?", k=3)
    (stored,) = remember_turns(memory, [f"{shown}\n\nWho cleans the gutters?"], session_id="s")
    assert memory.get(stored).content == "Who cleans the gutters?"


def test_http_says_what_was_quoted(night, memory):
    answer = memory.recall("dentist", k=1)
    token = auth_tokens.create(night, Role.AGENT, profile_id="u")[0]
    with within(night) as client:
        rows = [{"text": answer.text()}, {"text": "The lamp is broken."}]
        told = client.post("/memories", json=rows, headers=bearer(token)).json()
    assert told["memory_ids"][0] == answer[0].memory_id
    assert told["quoted"] == {"0": [answer[0].memory_id]}


def test_the_command_says_what_was_quoted(night, memory):
    answer = memory.recall("dentist", k=1)
    _, own = actions.remember(night, answer.text(), profile_id="u")
    assert (own.event, own.quoted) == (None, (answer[0].memory_id,))
    _, own = actions.remember(night, f"{answer.text()}\nThe bell rings.", profile_id="u")
    event, quoted = own.event, own.quoted
    assert (event.payload.content, quoted) == ("The bell rings.", (answer[0].memory_id,))


def test_an_imported_turn_keeps_its_own_words_and_twice_is_once(night, tmp_path):
    turns = [
        {"event_id": "q1", "session_id": "t", "payload": {"content": f"{LINES}\nWho digs?", "speaker": "user"}},
        {"event_id": "q2", "session_id": "t", "payload": {"content": LINES, "speaker": "assistant"}},
        {"event_id": "q3", "payload": {"content": "- [2026-03-01] My dentist is Dr. Kern."}},
    ]
    path = tmp_path / "turns.jsonl"
    path.write_text("\n".join(json.dumps(turn | {"event_type": "memory.stored"}) for turn in turns))
    settings = load(night)
    with Lake(night) as lake:
        events = [
            [*formats.events(formats.FORMATS["jsonl"], path, recorded_at=homes.RECORDED, profile="u")] for _ in "12"
        ]
        separate = quotations.of_store(lake, settings)
        first, again = (import_events(lake.ledger, each, separate=separate) for each in events)
    assert (first.memories, first.skipped[ONLY_QUOTATIONS]) == (2, 1)
    assert (again.accepted, again.duplicates) == (0, 2)
    with MemoryClient(night, profile_id="u") as memory:
        assert memory.get("q1").content == "Who digs?"
        assert memory.get("q3").content == "- [2026-03-01] My dentist is Dr. Kern."
        assert read_json(json.dumps(memory.get("q1").metadata))[quotations.QUOTED]
