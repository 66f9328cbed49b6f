"""A digest says in a page of Markdown what changed, was merged, is in doubt and left."""

from datetime import UTC, datetime

import polars as pl
import pytest
from frames import AS_OF, ago
from planned import propose, superseded
from test_telling import BEFORE, MERGE, TEA, about

from memory_pipeline import MemoryClient
from memory_pipeline.consolidation.plans import digest, telling
from memory_pipeline.lake.tables import Lake
from memory_pipeline.service import period

DOUBT = {
    "pair_id": "85d733a9",
    "relation": "update",
    "confidence": 0.81,
    "older_day": "2026-01-02",
    "older": "The team has six engineers.",
    "newer_day": "2026-02-03",
    "newer": "The team has\n# eight engineers now.",
}


@pytest.fixture(scope="module")
def changes():
    plan = propose(
        BEFORE,
        summaries=[MERGE],
        leaving=[superseded("t1", "sum"), superseded("t2", "sum"), {"memory_id": "gone"}],
        links=[about("t2", "new", "CONTRADICTS")],
        changes=[{"memory_id": "old", "other_id": "new"}],
    )
    return telling.tell(plan, BEFORE.memories)


RECENT = [AS_OF] * 62


def written(changes, doubts=(DOUBT,), waiting=1, stored=RECENT):
    frame = pl.DataFrame([*doubts], schema=digest.DOUBTS)
    times = {"since": ago(7), "until": AS_OF}
    return digest.write(
        changes,
        frame,
        profile_id="ana",
        stored=stored,
        waiting=waiting,
        review="memory-pipeline review",
        resolve="memory-pipeline resolve PAIR same|both",
        whole="memory-pipeline digest --json",
        **times,
    )


def test_a_digest_has_counts_first_and_one_line_per_change(changes):
    lines = written(changes).splitlines()
    assert lines[0] == "# Memory of ana, 2025-12-25 to 2026-01-01"
    assert lines[2:7] == [
        "- 62 memories stored",
        "- 1 fact changed",
        "- 2 repeats -> 1",
        "- 1 leaves, 5 tokens",
        "- 1 pair waits for an answer",
    ]
    assert f"- “Ada lives in Bath.” -> “Home › Ada lives in Cork.” ({ago(1):%Y-%m-%d})" in lines
    assert f"- “{TEA}” (2 x: {ago(30):%Y-%m-%d}, {ago(20):%Y-%m-%d})" in lines
    assert "Answer them: `memory-pipeline review`; one alone: `memory-pipeline resolve PAIR same|both`" in lines
    assert any(line.startswith("- “The bus was late.”") for line in lines)
    assert [line for line in lines if line.startswith("## ")] == [
        "## Changed", "## Repeats merged", "## In doubt", "## Left"
    ]  # fmt: skip


def test_what_was_said_before_the_time_of_the_digest_says_when(changes):
    assert "- 2 memories stored, said 2025-11-22 to 2025-12-31\n" in written(changes, stored=[ago(1), ago(40)])
    assert "- 1 memory stored, said 2025-11-22\n" in written(changes, stored=[ago(40)])
    assert f"(said {ago(1):%Y-%m-%d})" in "".join(digest.sections(changes, since=AS_OF))


def test_texts_stay_on_their_line(changes):
    text = written(changes)
    assert "- “The team has six engineers.” (2026-01-02) / “The team has # eight engineers now.” (2026-02-03): " in text
    assert "replace the older? 81% likely `85d733a9`\n" in text
    assert "\n# eight" not in text


def test_a_digest_of_nothing_is_short_and_long_ones_are_cut(changes):
    assert written(changes.clear(), (), 0).splitlines()[2:] == ["- 62 memories stored"]
    assert "--json" not in written(changes)
    many = pl.concat([changes.filter(group="left")] * 400)
    text = written(many, [DOUBT] * 10, 300)
    shown = [text.count(one) for one in ("“The bus was late.”", "`85d733a9`")]
    assert min(shown) >= 2
    assert [f"- and {count - one} more\n" in text for count, one in zip((400, 300), shown, strict=True)] == [True] * 2
    assert text.endswith("All changes: `memory-pipeline digest --json`\n")
    assert len(text.split()) < 300


def test_a_digest_of_long_texts_is_still_read_in_a_minute_and_has_a_line_of_each_kind(changes):
    words = " ".join(f"word{number}" for number in range(90))
    sides = [{"memory_id": f"m{side}", "day": "2026-01-02", "text": f"{side} {words}"} for side in range(3)]
    long = changes.with_columns(
        older=pl.lit(pl.Series([sides[:2]], dtype=changes.schema["older"]).first()),
        newer=pl.lit(pl.Series([sides[2:]], dtype=changes.schema["newer"]).first()),
    )
    text = written(pl.concat([long] * 9), [DOUBT | {"older": words, "newer": words}] * 9, 9)
    assert len(text.split()) < 400
    assert text.count("\n## ") == 4
    assert text.count("\n- and ") == 4


def test_a_repeat_whose_words_the_merged_memory_has_is_shown_once(changes):
    def merged(older, newer):
        side = {"memory_id": "m", "day": "2026-01-02"}
        own = pl.DataFrame({"older": [[side | {"text": one} for one in older]], "newer": [[side | {"text": newer}]]})
        row = changes.filter(group="merged").head(1)
        own = own.cast({name: row.schema[name] for name in own.columns})
        return digest.sections(row.with_columns(own), "merged")[-1]

    dated = "2026-01-02: We opened the shop two years ago."
    assert merged([dated[12:], "The shop opened two years ago."], dated) == (
        f"- “The shop opened two years ago.” -> “{dated}” (2 x: 2026-01-02)"
    )
    assert merged([dated[12:]] * 2, dated) == f"- “{dated}” (2 x: 2026-01-02)"


def test_what_counts_is_when_it_was_stored_not_the_day_it_tells_of(tmp_path):
    with MemoryClient(tmp_path) as client:
        start = datetime.now(UTC)
        client.remember("The gate code is 8821.", occurred_at="2024-03-01")
        client.remember("The gate code is 4471 now.", occurred_at="2024-05-01")
        client.consolidate()
        with Lake(tmp_path) as lake:
            since = period.since(lake, client, "default", start)
            later = period.since(lake, client, "default", datetime.now(UTC))
    assert [memory.content for memory in since.stored] == ["The gate code is 4471 now.", "The gate code is 8821."]
    assert since.changes.filter(group="changed").height == 1
    assert (later.stored, later.changes.height) == ([], 0)
