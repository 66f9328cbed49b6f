"""Cases of the five designs through the command line: events in, consolidations, numbers out of the snapshot.

One store, with one profile per case under the preset of its design. Inputs and numbers are copies of those of the real
systems. Each push tries these cases, and all others, on the functions themselves (the other modules of this folder).
"""

import json
from datetime import UTC, datetime, timedelta

import duckdb
import homes
import pytest
from commands import text

from memory_pipeline.lake.tables import Lake

pytestmark = [pytest.mark.drill, pytest.mark.xdist_group("through_the_command")]

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
RELEASE = {"preset": "automem", "access_base": 0.3, "access_weight": 0.3, "importance_floor_factor": 0.3}
"""Constants of AutoMem's release 0.16.1."""
CASES = {
    "cognitive": ("cogmem-07", "cogmem-08"),
    "engram": ("adr-rec-1", "adr-tier-1"),
    "three_tier": ("tt-decay-4", "tt-access-2", "tt-coact-1"),
    "superlocal": ("slm-comp-1", "slm-promo-2", "slm-block-1"),
}
POLICIES = {
    "automem-02": RELEASE,
    "automem-19": RELEASE | {"delete_threshold": 0.05, "archive_threshold": 0.2, "max_archived_share": 1.0},
    **{case: {"preset": preset} for preset, cases in CASES.items() for case in cases},
}
RELEVANCE = {0.0: 0.20748400482069346, 0.5: 0.20748400482069346, 1.0: 0.20242444765969256, 7.0: 0.17684775591248814}
"""Relevance of a memory of 100 days by the days since its last access."""
BANDS = {
    "del": (400, 0.1, "deleted"),
    "arch": (400, 0.3, "archived"),
    "arch_by_floor": (95, 0.6, "archived"),
    "floor_arch": (3000, 0.17, "archived"),
    "floor_del": (3000, 0.16, "deleted"),
    "floor_keep": (3000, 0.69, "active"),
}
"""Age in days, importance and lifecycle after forgetting."""
RECENCY = {0: 1.0, 24: 0.866878, 168: 0.367879, 116.448726: 0.5}
"""Recency by age in hours."""
TIERS = {0: "hot", 23.99: "hot", 24: "warm", 167.99: "warm", 168: "cold", 719.99: "cold", 720: "archive"}
"""Tier by age in hours."""
SESSIONS = {"s1": "ab", "s2": "abc", "s3": "ab", "s4": "ba"}
"""Memories that each session accessed."""
TRAITS = [1, 5, 3, 4, 2, 0, 6]
"""Accesses of each trait."""


def ago(*, days=0.0, hours=0.0):
    return AS_OF - timedelta(days=days, hours=hours)


def event(case, kind, at, **fields):
    return {"profile_id": case, "event_type": f"memory.{kind}", "occurred_at": at.isoformat(), **fields}


def stored(case, memory_id, at, content=None, **payload):
    payload["content"] = content or f"note {memory_id}"
    return event(case, "stored", at, memory_id=memory_id, payload=payload)


def accessed(case, memory_id, at, **fields):
    return event(case, "accessed", at, payload={"memory_ids": [memory_id]}, **fields)


def automem():
    for number, idle in enumerate(RELEVANCE):
        yield stored("automem-02", f"m{number}", ago(days=100), importance=0.5, confidence=0.8)
        yield accessed("automem-02", f"m{number}", ago(days=idle))
    for name, (days, importance, _) in BANDS.items():
        yield stored("automem-19", name, ago(days=days), importance=importance, memory_type="Context")


def cognitive():
    """The last use of the cases is the creation here: an access would raise the stability as well."""
    fading = {"content": "The meeting was moved.", "importance": 0.2}
    for case, count in (("cogmem-08", 12), ("cogmem-07", 4)):
        for number in range(count):
            at = ago(days=20) + timedelta(microseconds=number)
            yield stored(case, f"a{number:02}", at, category="episodic", **fading)
    yield stored("cogmem-07", "core", ago(days=999), category="core", **fading)
    yield stored("cogmem-07", "fresh", ago(days=1), category="episodic", **fading)
    yield stored("cogmem-07", "proc", ago(days=999), category="procedural", **fading)


def engram():
    for case, hours_of in (("adr-rec-1", RECENCY), ("adr-tier-1", TIERS)):
        yield from (stored(case, f"m{number}", ago(hours=hours)) for number, hours in enumerate(hours_of))


def three_tier():
    yield stored("tt-decay-4", "m", ago(hours=3))
    yield stored("tt-decay-4", "new", AS_OF)  # so that the last run has something to publish
    yield stored("tt-access-2", "m", AS_OF)
    yield from (accessed("tt-access-2", "m", AS_OF, session_id=name) for name in ("s1", "s2"))
    yield from (stored("tt-coact-1", name, ago(hours=1)) for name in "abc")
    for session_id, names in SESSIONS.items():
        yield from (accessed("tt-coact-1", name, ago(hours=1), session_id=session_id) for name in names)


def superlocal():
    for number, content in enumerate(("We use Postgres", "We use Postgres.", "we use Postgres")):
        yield stored("slm-comp-1", f"m{number}", ago(days=3 - number), content)
    until = (AS_OF + timedelta(days=30)).isoformat()
    yield stored("slm-promo-2", "p6", ago(days=2), valid_until=until)
    yield from (accessed("slm-promo-2", "p6", ago(days=1)) for _ in range(3))
    for number, count in enumerate(TRAITS):
        category, confidence = ("semantic" if number % 2 else "opinion"), (0.9 if number < 4 else 0.6)
        content = f"User trait {number}."
        yield stored("slm-block-1", f"s{number}", ago(days=20), content, category=category, confidence=confidence)
        yield from (accessed("slm-block-1", f"s{number}", ago(days=1)) for _ in range(count))
    for number in range(7):
        content = f"Episode {number} happened."
        yield stored("slm-block-1", f"ep{number}", ago(days=10 - number), content, category="episodic")


@pytest.fixture(scope="module")
def query(tmp_path_factory):
    """A function that queries the snapshot; the profile of hourly decay was consolidated twice before the others."""
    home = tmp_path_factory.mktemp("home")
    text("init", home=home)
    sections = (
        "\n".join([f"[profiles.{case}]", *(f"{name} = {value!r}" for name, value in policy.items())])
        for case, policy in POLICIES.items()
    )
    # A time budget would follow from how long the first runs took.
    (home / "memory_pipeline.toml").write_text("\n".join(["time_budget_seconds = 0", *sections]), "utf-8")
    events = [*automem(), *cognitive(), *engram(), *three_tier(), *superlocal()]
    numbered = (json.dumps({"event_id": f"e{number}"} | fields) for number, fields in enumerate(events))
    (home / "events.jsonl").write_text("\n".join(numbered), "utf-8")
    text("import", "jsonl", home / "events.jsonl", home=home)
    with Lake(home) as lake:
        for hours in (2, 1):
            homes.night(lake, as_of=ago(hours=hours), run_id=f"{hours} hours before", profiles=["tt-decay-4"])
    text("consolidate", "--as-of", AS_OF.isoformat(), home=home)

    def rows(sql, *parameters):
        with duckdb.connect(str(home / "snapshots" / "memories.duckdb"), read_only=True) as connection:
            return connection.execute(sql, parameters).fetchall()

    assert rows("SELECT count(*) FROM dead_letters") == [(0,)]
    return rows


def scores(query, case, column):
    found = query(
        "SELECT {'relevance': relevance, 'recency': recency, 'energy': energy, 'age_tier': age_tier}"
        " FROM scored_memories WHERE profile_id = ? ORDER BY memory_id",
        case,
    )
    return [row[column] for (row,) in found]


def lifecycles(query, case):
    return dict(query("SELECT memory_id, lifecycle FROM memories WHERE profile_id = ? AND kind = 'original'", case))


def test_automem(query):
    assert scores(query, "automem-02", "relevance") == pytest.approx(list(RELEVANCE.values()), abs=1e-9)
    assert lifecycles(query, "automem-19") == {name: lifecycle for name, (*_, lifecycle) in BANDS.items()}


def test_cognitive(query):
    """Twelve alike are two groups of five, and the last two stay; four alike are too few."""
    found = lifecycles(query, "cogmem-08")
    assert {name for name, lifecycle in found.items() if lifecycle == "active"} == {"a10", "a11"}
    groups = query(
        "SELECT list(memory_id ORDER BY memory_id) FROM memories"
        " WHERE profile_id = 'cogmem-08' AND lifecycle = 'cold' GROUP BY superseded_by ORDER BY 1"
    )
    assert [names for (names,) in groups] == [[f"a{n:02}" for n in part] for part in (range(5), range(5, 10))]
    assert set(lifecycles(query, "cogmem-07").values()) == {"active"}


def test_engram(query):
    assert scores(query, "adr-rec-1", "recency") == pytest.approx(list(RECENCY.values()), abs=1e-6)
    assert scores(query, "adr-tier-1", "age_tier") == list(TIERS.values())


def test_three_tier(query):
    """Energy decays once however often runs look, accesses add up, and pairs count the sessions that they share."""
    assert scores(query, "tt-decay-4", "energy") == pytest.approx([0.22313, 1.0], abs=1e-6)
    assert scores(query, "tt-access-2", "energy") == pytest.approx([3.0])
    edges = "SELECT source, target, co_count FROM association_edges WHERE edge_type = 'COACTIVATED' AND profile_id = ?"
    assert sorted(query(edges, "tt-coact-1")) == [("a", "b", 4), ("a", "c", 1), ("b", "c", 1)]


def test_superlocal(query):
    """Three alike are compressed, what ends later is promoted, and blocks take the most used and the newest."""
    assert set(lifecycles(query, "slm-comp-1").values()) == {"archived"}
    summaries = (
        "SELECT source, count(*) FROM association_edges WHERE edge_type = 'SUMMARIZES' AND profile_id = ? GROUP BY 1"
    )
    assert [count for _, count in query(summaries, "slm-comp-1")] == [3]
    assert lifecycles(query, "slm-promo-2") == {"p6": "warm"}
    blocks = dict(query("SELECT block, content FROM core_memory_blocks WHERE profile_id = 'slm-block-1'"))
    assert blocks["user_profile"].split("\n---\n") == [f"User trait {n}." for n in (6, 1, 3, 2, 4)]
    assert blocks["project_context"].split("\n---\n") == [f"Episode {n} happened." for n in (6, 5, 4, 3, 2)]
    assert set(blocks["learned_preferences"].split("\n---\n")) == {"User trait 0.", "User trait 2."}
