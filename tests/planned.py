"""Plans for tests: what a run wishes for profile p as rows, what it then proposes, and how that is kept.

No I/O, no randomness.
"""

import frames
import polars as pl
from frames import AS_OF, ago

from memory_pipeline.consolidation.plans import planning
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import TABLES
from memory_pipeline.settings import Policy

POLICY = Policy()
NO_DECISIONS = TABLES["decisions"].empty()
NO_REVERTS = TABLES["reverted"].empty()


def rows(name, given, **defaults):
    """Table `name`: the given rows of profile p, completed with defaults; what neither says is null."""
    table = TABLES[name]
    complete = [{"profile_id": "p", "plan_id": "plan"} | defaults | row for row in given]
    known = table.empty().schema
    return table.conform(pl.DataFrame([{key: row[key] for key in row if key in known} for row in complete], known))


def profiles(*names, as_of=AS_OF, seq=100, **columns):
    """Table `profiles`: who takes part, p unless others are named."""
    row = {
        "preset": "default",
        "policy_hash": POLICY.digest,
        "as_of": as_of,
        "seq": seq,
        "head": 0,
        "plan_id": planning.plan_id("ledger", POLICY.digest, as_of, seq),
        "trigger": "manual",
        "task": "full",
        "scope": "all",
        "since": 0,
        "caught_up": 0,
        "row_limit": 0,
        "max_archived_share": 0.1,
        "retry_reverted": False,
    }
    return rows("profiles", [{"profile_id": name} for name in names or ("p",)], **row | columns)


def archived(given):
    """Table `archived_set`: memories that fell below the archive threshold."""
    return rows(
        "archived_set",
        given,
        action="archive",
        rule="archive_threshold",
        reason="Relevance 0.1 is below the archive threshold 0.2.",
        strength=0.1,
        threshold=0.2,
    )


def superseded(memory_id, target_id, **fields):
    """A row of `archived_set`: a summary takes the place of a memory."""
    return {
        "memory_id": memory_id,
        "action": "supersede",
        "rule": "superseded_by_summary",
        "reason": "A summary takes its place.",
        "target_id": target_id,
        "threshold": None,
        **fields,
    }


def fact_changes(given):
    """Table `fact_changes`: a newer memory gives Ada's home another place since yesterday."""
    return rows(
        "fact_changes",
        given,
        relation="update",
        decided=True,
        confidence=0.9,
        subject="Ada",
        attribute="home",
        value="Bath",
        other_value="Cork",
        similarity=0.75,
        at=ago(1),
        rule="changed_value",
        reason="Ada's home was Bath and is Cork.",
    )


def trims(given):
    """Table `trims`: half of a text of twelve tokens is left."""
    return rows(
        "trims",
        given,
        trimmed="Ada.",
        tokens_before=12,
        tokens_after=6,
        value=0.5,
        reason="One of 2 clauses stays.",
    )


def rising(given):
    """Table `promotions`: memories that rise to short_term at an energy of 2.5, two days ago."""
    risen = {"tier": "short_term", "at": ago(2), "energy": 2.5}
    said = {"rule": "energy", "reason": "It has energy enough to rise."}
    full = [said | (row if {"lifecycle", "category"} & row.keys() else risen | row) for row in given]
    listed = [{"rules": [row["rule"]], "reasons": [row["reason"]]} for row in full]
    return rows("promotions", [lists | row for lists, row in zip(listed, full, strict=True)])


def compiled(given, name="proposed_blocks"):
    """Table `proposed_blocks`: the block user_profile, worded by rules from memory a."""
    return rows(
        name,
        given,
        block="user_profile",
        content="Ada lives in Cork.",
        members=["a"],
        version=1,
        compiled_by="rules",
        compiled_at=AS_OF,
    )


def found(source, target, **fields):
    """An edge as the creative task proposes it."""
    return {
        "source": source,
        "target": target,
        "edge_type": "DISCOVERED",
        "kind": "shares_theme",
        "origin": "decided",
        "base_weight": 0.8,
        "confidence": 0.8,
        "similarity": 0.8,
        "algorithm": "creative_association",
        "discovered_at": AS_OF,
        **fields,
    }


def state(*given, edges=(), **tables):
    """A state of profile p: memories by their ids or rows, edges, and other tables as they are."""
    names = [{"memory_id": row} if isinstance(row, str) else row for row in given]
    return State(frames.memories(names), TABLES["decided_edges"].conform(frames.edges(edges)), **tables)


def propose(
    before,
    *,
    of=None,
    summaries=(),
    leaving=(),
    links=(),
    faded=(),
    retired=(),
    changes=(),
    risen=(),
    cut=(),
    blocks=(),
    late=(),
    **known,
):
    """What a run decides that wishes for these rows; `known` are arguments of `planning.propose` as they are."""
    past = {"committed": NO_DECISIONS, "decisions": NO_DECISIONS, "reverted": NO_REVERTS}
    return planning.propose(
        profiles() if of is None else of,
        before,
        planning.Proposals(
            frames.summaries(summaries),
            archived(leaving),
            fact_changes(changes),
            rising(risen),
            proposed_edges=frames.edges(links),
            pruned_edges=frames.edges(faded),
            retired_links=frames.edges(retired),
            trims=trims(cut),
            proposed_blocks=compiled(blocks),
            deferred=rows("deferred", late),
        ),
        **past | known,
    )


def commit(plan, seq):
    """The plan as the ledger keeps it."""
    return plan.filter(pl.col("status") != "held").with_columns(status=pl.lit("committed"), seq=pl.lit(seq, pl.Int64))


def revert(decisions, seq=1):
    """Table `reverted`: these decisions are undone."""
    return decisions.select("profile_id", "decision_id", seq=pl.lit(seq, pl.Int64))


def said(plan):
    """What a plan decides, in order."""
    return plan.sort("ordinal").select("action", "memory_id", "target_id").rows()


def stands(after):
    """Where each memory stands."""
    return dict(after.memories.select("memory_id", "lifecycle").rows())


def memory(after, memory_id):
    """The row of one memory."""
    return after.memories.row(by_predicate=pl.col("memory_id") == memory_id, named=True)


MERGE = {
    "summaries": [{"summary_id": "S", "members": ["a", "b"]}],
    "leaving": [superseded("a", "S"), superseded("b", "S")],
}
MERGED = [("summarise", "S", None), ("supersede", "a", "S"), ("supersede", "b", "S")]


def merged():
    """A state with a, b and c, the plan that merges a and b into S, and the state after it."""
    before = state("a", "b", "c")
    decided = commit(propose(before, **MERGE), 101)
    return before, decided, projection.apply(before, decided)
