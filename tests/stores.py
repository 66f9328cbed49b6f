"""A small store for tests that read what runs have published: its tables, and how to commit them to a real lake."""

from datetime import timedelta

import frames
import polars as pl
from frames import AS_OF, ago

from memory_pipeline.lake import snapshot_tables
from memory_pipeline.lake.tables import Commit
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy


def rows(name, given):
    """A table of rows that say what matters; the rest is zero, empty or null."""
    table = TABLES[name]
    blank = {pl.String: "", pl.Boolean: False, pl.Datetime: AS_OF, pl.List: [], pl.Binary: b""}
    defaults = {
        column: None if definition.nullable else blank.get(type(definition.dtype), 0)
        for column, definition in table.schema.columns().items()
    } | ({} if table.version is None else {"parser": table.version})
    complete = [
        {**defaults, "profile_id": "p", **row} if "profile_id" in defaults else {**defaults, **row} for row in given
    ]
    return table.conform(pl.DataFrame(complete, schema=table.empty().schema))


def decision(decision_id, action, memory_id, **columns):
    plan = {"decision_id": decision_id, "plan_id": "plan1", "action": action, "memory_id": memory_id, "seq": 30}
    document = {"factors": "{}", "before": "{}", "after": "{}", "status": "committed", "as_of": ago(1)}
    return plan | document | columns


def tables():
    """Two profiles: in `p` two notes merged, one archived, one updated; in `q` one note with an id that `p` has too."""
    gone = {"lifecycle": "archived", "lifecycle_since": ago(1)}
    memories = frames.memories(
        [
            {
                "memory_id": "a",
                "content": "We use Postgres",
                **gone,
                "superseded_by": "s",
                "superseded_kind": "summary",
            },
            {
                "memory_id": "b",
                "content": "We use Postgres 16",
                **gone,
                "superseded_by": "s",
                "superseded_kind": "summary",
            },
            {"memory_id": "s", "kind": "compression", "content": "We use Postgres 16.", "members": ["a", "b"]},
            {"memory_id": "c", "content": "Ann's desk is by the window", "valid_from": ago(10), "valid_until": AS_OF},
            {"memory_id": "d", "content": "Ann lives in Rome", "valid_until": ago(5)},
            {"memory_id": "e", "content": "hm", **gone},
            {
                "memory_id": "f",
                "content": "The port is 80",
                "superseded_by": "g",
                "superseded_kind": "update",
                "valid_until": ago(3),
            },
            {"memory_id": "g", "content": "The port is 81", "valid_from": ago(3), "valid_until": AS_OF + timedelta(1)},
            {"memory_id": "a", "profile_id": "q", "content": "Another tenant's note"},
        ]
    )
    asked = {"model": "m", "outcome": "answered", "input_tokens": 90, "output_tokens": 10, "cost": 0.5}
    scored = {"memory_id": "g", "is_protected": True, "protection_reason": "younger than 90 days", "age_factor": 0.9048}
    return {
        "memories": memories,
        "scored_memories": rows("scored_memories", [scored]),
        "memory_importance": rows("memory_importance", [{"memory_id": "g", "pagerank": 0.25, "degree": 3}]),
        "association_edges": frames.edges(
            [
                {"source": "c", "target": "g", "edge_type": "SIMILAR_TO", "base_weight": 0.9},
                {"source": "g", "target": "f", "base_weight": 0.5},
            ]
        ),
        "clusters": rows(
            "clusters",
            [{"cluster_id": "k", "method": "near_duplicates", "label": "postgres", "cluster_size": 2, "cohesion": 0.0}],
        ),
        "cluster_members": rows("cluster_members", [{"cluster_id": "k", "memory_id": name} for name in "ab"]),
        "merge_refusals": rows("merge_refusals", [{"memory_id": "f", "other_id": "g", "reason": "numbers"}]),
        "core_memory_blocks": rows("core_memory_blocks", [{"block": "project_context", "content": "The port is 81"}]),
        "tier_changes": rows("tier_changes", [{"memory_id": "g", "to_tier": "short_term", "energy": 2.5}]),
        "fact_changes": rows(
            "fact_changes", [{"memory_id": "f", "other_id": "g", "relation": "update", "decided": True}]
        ),
        "decisions": rows(
            "decisions",
            [
                decision("1", "summarise", "s", rule="near_duplicates", reason="Two notes say the same."),
                decision("2", "supersede", "a", target_id="s", rule="superseded_by_summary", ordinal=1),
                decision("3", "supersede", "b", target_id="s", rule="superseded_by_summary", ordinal=2),
                decision(
                    "4",
                    "archive",
                    "e",
                    rule="archive_threshold",
                    reason="Relevance 0.01 is below 0.05.",
                    factors='{"strength": 0.01, "threshold": 0.05}',
                    ordinal=3,
                ),
                decision("5", "archive", "g", rule="archive_threshold", ordinal=4),
                decision("6", "archive", "e", plan_id="plan0", rule="withdrawn_since", ordinal=9),
                decision("7", "withdraw", "e", plan_id="plan0", target_id="6", seq=31),
            ],
        ),
        "reverted": rows("reverted", [{"decision_id": "5", "seq": 40}]),
        "consolidation_runs": rows(
            "consolidation_runs",
            [
                {"plan_id": "plan1", "run_id": "run1", "as_of": ago(1), "commit_seq": 30},
                {"plan_id": "plan2", "run_id": "run2", "commit_seq": 41},
                {"plan_id": "plan2", "run_id": "run2", "commit_seq": 42, "profile_id": "q"},
            ],
        ),
        "dead_letters": rows("dead_letters", [{"letter_id": "l", "reason": "no content", "raw": b"\xff{"}]),
        "completions": rows("completions", [asked | {"request_hash": "1", "purpose": "summary", "content": "secret"}]),
        "verdicts": rows(
            "verdicts",
            [
                asked | {"request_hash": "2", "purpose": "relation", "subject": "f:g a:b", "refused": ["unclear"]},
                asked | {"request_hash": "3", "purpose": "relation", "subject": "a:b", "outcome": "timeout"},
            ],
        ),
    }


def linked(folder):
    """Files of the tables of which a snapshot shows the files themselves."""
    return {
        "vectors": vectors(folder / "vectors"),
        "score_history": history(folder / "score_history"),
        "enrichment": enrichment(folder / "enrichment"),
        "cluster_lineage": lineage(folder / "cluster_lineage"),
    }


def lineage(folder):
    """What became of clusters in a run that stands and in one that nobody committed."""
    folder.mkdir(parents=True)
    formed = {"cluster_id": "k", "method": "near_duplicates", "change": "formed", "size": 2}
    changes = [formed | {"plan_id": plan} for plan in ("plan1", "plan9")]
    rows("cluster_lineage", changes).write_parquet(folder / "0.parquet")
    return sorted(folder.iterdir())


def enrichment(folder):
    """What was read out of the texts of `g` and the archived `b`, and of a text that no memory has."""
    folder.mkdir(parents=True)
    hashes = dict(tables()["memories"].filter(profile_id="p").select("memory_id", "content_hash").iter_rows())
    texts = [
        {"content_hash": hashes["g"], "keywords": ["port", "81"], "entities": [], "tokens": 4},
        {"content_hash": hashes["b"], "keywords": ["postgres"], "entities": ["Postgres"], "tokens": 4},
        {"content_hash": "of no memory", "keywords": ["secret"], "entities": ["Eve"]},
    ]
    rows("enrichment", texts).write_parquet(folder / "0.parquet")
    return sorted(folder.iterdir())


def uses():
    """A recall that returned two memories, feedback on the better one, and feedback that no query precedes."""
    asked = {"event_type": "memory.accessed", "occurred_at": ago(2), "session_id": "t", "query": "which port?"}
    asked |= {"user_id": "ann", "unsure": False}
    said = {"event_type": "feedback.given", "occurred_at": ago(1), "session_id": "t"}
    return rows(
        "events",
        [
            asked | {"seq": 31, "memory_id": "g", "rank": 1, "score": 0.8},
            asked | {"seq": 31, "ordinal": 1, "memory_id": "f", "rank": 2, "score": 0.6},
            said | {"seq": 32, "memory_id": "g", "helpful": False},
            said | {"seq": 33, "memory_id": "g", "helpful": True},
            said | {"seq": 34, "memory_id": "c", "helpful": False},
        ],
    ).select(snapshot_tables.USE_COLUMNS)


def history(folder):
    """What `g` scored after a run that stands and after one that nobody committed."""
    folder.mkdir(parents=True)
    scores = [{"memory_id": "g", "plan_id": plan, "strength": 0.5} for plan in ("plan1", "plan9")]
    rows("score_history", scores).write_parquet(folder / "0.parquet")
    return sorted(folder.iterdir())


def vectors(folder):
    """Two immutable files of vectors, of which `d` is the zero vector: a text without words."""
    directions = {"f": [1, 0, 0], "g": [0.8, 0.6, 0], "c": [0, 1, 0], "d": [0, 0, 0], "e": [1, 0, 0]}
    everything = frames.vectors(directions, of=tables()["memories"])
    folder.mkdir(parents=True)
    for place, part in enumerate((everything.head(2), everything.tail(-2))):
        part.write_parquet(folder / f"{place}.parquet")
    return sorted(folder.iterdir())


def commit(lake, published, *, plan_id="plan1", as_of=AS_OF):
    """Commit tables as a run over all their profiles would, and return the position of each profile's commit."""
    names = published["memories"]["profile_id"].unique().sort().to_list()
    heads, policy = lake.ledger.heads(names), Policy()
    profiles = rows(
        "profiles",
        [
            {"profile_id": name, "plan_id": plan_id, "as_of": as_of, "head": heads[name], "policy_hash": policy.digest}
            for name in names
        ],
    )
    replaced = [name for name, table in TABLES.items() if table.write_mode in ("replaced", "accumulated")]
    decisions = published.get("decisions", TABLES["decisions"].empty()).filter(pl.col("plan_id") == plan_id)
    return lake.commit(
        Commit(
            profiles=profiles,
            decisions=decisions,
            tables={name: published.get(name, TABLES[name].empty()) for name in replaced} | {"profiles": profiles},
            policies={policy.digest: policy},
            live={},
            run_id=f"run of {plan_id}",
            started_at=as_of,
            committed_at=as_of,
        )
    )
