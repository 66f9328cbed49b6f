"""Schemas of the tables and views that only a snapshot has, and the list of everything a snapshot holds."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import dataframely as dy
import polars as pl
from polars.datatypes import DataTypeClass

from memory_pipeline.schemas import INSTANT, TABLES, Decisions, Memories, Summaries
from memory_pipeline.schemas.columns import count, instant, number, profile, share, text


class CurrentMemories(Memories):
    """Live memories that are valid at the profile's `as_of` and have not been replaced by an update."""


class AllSummaries(Summaries):
    """Every summary that was ever committed, live or not."""

    lifecycle = text("active, warm, cold, stub, archived, expired, deleted or erased.")
    created_at = instant("When the summary was created.")


class LeftMemories(dy.Schema):
    """Every memory that is no longer live, with the decision that removed it from the live set."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    lifecycle = text("Its present state: cold, stub, archived, expired, deleted or erased.")
    left_at = instant("When it left the live set.")
    action = text("Action of the decision, such as supersede, delete or archive; null without one.", nullable=True)
    rule = text("Rule behind the decision, such as archive_threshold.", nullable=True)
    reason = text("The decision in one sentence.", nullable=True)
    summary_id = text("Summary or newer memory that replaces it.", nullable=True)
    strength = share("Its strength when the decision was made.", nullable=True)
    threshold = share("Threshold that its strength fell below.", nullable=True)
    decision_id = text("The decision.", nullable=True)
    plan_id = text("Plan of the decision.", nullable=True)


class AllDecisions(Decisions):
    """Every committed decision, including those that were undone."""

    reverted = dy.Bool(description="Whether the decision was undone.")


class SnapshotInfo(dy.Schema):
    """State that the snapshot shows, one row per profile; an empty store has a single row without a profile."""

    name = text("Name of the snapshot.")
    ledger_position = count("Ledger position of the snapshot.")
    created_at = instant("When the snapshot was written.")
    profile_id = text("The tenant.", nullable=True)
    as_of = instant("Instant that the profile's tables describe: the clock of its last run.", nullable=True)
    plan_id = text("Plan of that run.", nullable=True)
    memories = count("Number of memories, live or not.")
    live = count("Number of live memories.")
    remade_by = text(
        "Version of this program that made the tables of a past instant again from the ledger; null: "
        "they are as they were published, by the version in `consolidation_runs`.",
        nullable=True,
    )


class CommittedScores(TABLES["score_history"].schema):  # type: ignore[misc]
    """Scores of every memory after each run that changed something and was not undone: how it faded over time.

    The last seven columns are what the scores of any later instant follow from (see the macro `scores_at`).
    """


class ClusterChanges(TABLES["cluster_lineage"].schema):  # type: ignore[misc]
    """Which cluster became which in each run that was not undone, one row per cluster that changed and its origin."""


class AccessLog(dy.Schema):
    """Recalls and what they returned, one row per access and memory, up to the snapshot's ledger position.

    Feedback is in the row of the last query before it that returned the memory; feedback without such a query has a
    row of its own. Accesses of erased memories are left out, and so are queries that quoted them.
    """

    profile_id = profile()
    seq = dy.Int64(primary_key=True, min=1, description="Ledger position of the access.")
    ordinal = dy.Int64(primary_key=True, min=0, description="Position of the memory within the access.")
    occurred_at = instant("When the memory was accessed.")
    session_id = text("Session that accessed it.", nullable=True)
    agent_id = text("Agent that accessed it.", nullable=True)
    user_id = text("Person who asked.", nullable=True)
    memory_id = text("Memory that was returned.")
    query = text("Query of the recall; null if the agent gave none.", nullable=True)
    rank = dy.Int64(nullable=True, min=0, description="Rank of the memory in the answer, from 1.")
    score = number("Score of the memory by the ranking of the recall; null if it was not recorded.", nullable=True)
    unsure = dy.Bool(
        nullable=True,
        description="Whether the answer said that perhaps none of its memories answers the query; null if it did not "
        "say.",
    )
    expanded = dy.Bool(nullable=True, description="Whether the memory was reached only over an association.")
    times = dy.Int64(nullable=True, min=1, description="Number of accesses that the row represents; null: one.")
    helpful = dy.Bool(nullable=True, description="Latest feedback on the memory for this query; null without any.")


class LifecycleHistory(dy.Schema):
    """Every change of the lifecycle of a memory, from its creation on; changes that were undone are left out."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    ordinal = dy.Int64(primary_key=True, min=0, description="Place of the change among those of the memory.")
    changed_at = instant(
        "When it changed: the clock of the run that decided it. For a change by an agent that a decision "
        "followed, the first use after the change before, else the clock of that decision."
    )
    from_lifecycle = text("Lifecycle before; null: the memory was created.", nullable=True)
    to_lifecycle = text("Lifecycle after.")
    action = text("Action of the decision; null: no decision, an agent created, used or changed it.", nullable=True)
    rule = text("Rule behind the decision.", nullable=True)
    reason = text("The decision in one sentence.", nullable=True)
    target_id = text("Summary or newer memory that replaces it.", nullable=True)
    decision_id = text("The decision.", nullable=True)
    plan_id = text("Plan of the decision.", nullable=True)


class ModelUsage(dy.Schema):
    """Requests to language models, with their tokens and cost; their texts are not in the snapshot."""

    profile_id = profile()
    request_hash = text(
        "Hash of model, purpose and prompt; a failed attempt adds a full stop and its number.", key=True
    )
    model = text("The model.")
    purpose = text("What was asked for: summary, block, facts or relation.")
    outcome = text("answered, or why there is no answer, such as budget or timeout.")
    input_tokens = count("Tokens of the request.")
    output_tokens = count("Tokens of the answer.")
    tokens = count("Tokens of both.")
    cost = dy.Float64(min=0.0, description="Cost, at the prices in the settings and in their currency.")
    pairs = dy.Int64(nullable=True, min=1, description="Pairs of memories asked about; null for other purposes.")
    refused = dy.Int64(
        nullable=True, min=0, description="Pairs for which the answer was refused, so that the rules decided."
    )


class Keywords(dy.Schema):
    """Keywords of each memory, one per row; memories that were deleted or erased have none."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    rank = dy.Int64(min=1, description="Rank of the keyword by how distinctive it is, from 1.")
    keyword = text("The keyword, in lower case.", key=True)


class Names(dy.Schema):
    """Names of people, places and things in each memory, one per row; deleted or erased memories have none."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    name = text("The name.", key=True)


class Tokens(dy.Schema):
    """Tokens of each profile's memories, by lifecycle; tokens are words and punctuation, with the speaker's name.

    `shown_tokens` summed over a profile is what its `token_budget` limits; a budget up to 1 is a share of the sum of
    `stored_tokens`.
    """

    profile_id = profile()
    lifecycle = text("Lifecycle of the memories that the row counts.", key=True)
    memories = count("Number of memories, summaries included.")
    stored_tokens = count("Tokens of the full texts that agents stored, without summaries.")
    live_tokens = count("Tokens of the full texts of live memories, summaries included.")
    shown_tokens = count("Tokens that recall shows of live memories, after trimming.")


class PolicySettings(dy.Schema):
    """Policy of each profile's last run, one row per setting; `docs/settings.md` explains the settings."""

    profile_id = profile()
    setting = text("Name of the setting, such as archive_threshold.", key=True)
    value = text("Its value: text as it is, anything else as JSON; null: unset.", nullable=True)
    origin = text(
        "Where the value comes from: default, preset NAME or embedder NAME, as this version ships them, or "
        "configured, if it differs from these."
    )


class RunPolicies(dy.Schema):
    """Every policy that a run used, one row per setting; `consolidation_runs` has the hash of each run's policy."""

    policy_hash = text("Hash of the policy.", key=True)
    setting = text("Name of the setting.", key=True)
    value = text("Its value, as in `policies`.", nullable=True)
    origin = text("Where the value comes from, as in `policies`.")


class AllRecalls(dy.Schema):
    """Raw accesses and feedback up to the moment of the export rather than the last run.

    Only exported files have this table; `evaluate` replays its queries.
    """

    profile_id = profile()
    seq = dy.Int64(primary_key=True, min=1, description="Ledger position of the event.")
    ordinal = dy.Int64(primary_key=True, min=0, description="Position of the memory within the event.")
    occurred_at = instant("When the access or the feedback happened.")
    session_id = text("Session of the event.", nullable=True)
    memory_id = text("Memory that was returned, or that the feedback is about.")
    query = text("Query of the recall.", nullable=True)
    rank = dy.Int64(nullable=True, min=0, description="Rank of the memory in the answer, from 1.")
    helpful = dy.Bool(nullable=True, description="Feedback: whether the memory helped; null in rows of accesses.")


class DataDictionary(dy.Schema):
    """Description of every column of the snapshot."""

    table_name = text("Table or view.", key=True)
    column_name = text("The column.", key=True)
    type = text("SQL type.")
    unit = text("Unit or range of the values; instants are UTC.", nullable=True)
    key = dy.Int64(
        nullable=True, min=1, description="Place of the column in the key of its rows; null: it is not part of the key."
    )
    nullable = dy.Bool(description="Whether the column may be null.")
    description = text("Meaning of the column.")


_SQL_TYPES: Final[dict[pl.DataType, str]] = {
    pl.String(): "VARCHAR",
    pl.Boolean(): "BOOLEAN",
    pl.Int64(): "BIGINT",
    pl.Float64(): "DOUBLE",
    pl.Float32(): "FLOAT",
    pl.Binary(): "BLOB",
    INSTANT: "TIMESTAMP WITH TIME ZONE",
}


def sql_type(dtype: pl.DataType) -> str:
    """Return the SQL type of a column."""
    if isinstance(dtype, pl.Struct):
        fields = (f"{field.name} {sql_type(_instance(field.dtype))}" for field in dtype.fields)
        return f"STRUCT({', '.join(fields)})"
    if not isinstance(dtype, pl.List):
        return _SQL_TYPES[dtype]
    return f"{sql_type(_instance(dtype.inner))}[]"


def _instance(dtype: pl.DataType | DataTypeClass) -> pl.DataType:
    return dtype if isinstance(dtype, pl.DataType) else dtype()


@dataclass(frozen=True)
class Relation:
    """One table or view of a snapshot."""

    name: str
    schema: type[dy.Schema]
    is_view: bool = False
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Columns that have another name in the snapshot, by their name in the schema."""

    @property
    def description(self) -> str:
        """Docstring of the schema, as one paragraph."""
        return " ".join((inspect.getdoc(self.schema) or "").split())

    @property
    def columns(self) -> dict[str, dy.Column]:
        """Columns by their names in the snapshot, in order."""
        return {self.renamed.get(name, name): column for name, column in self.schema.columns().items()}

    @property
    def key(self) -> list[str]:
        """Columns that identify a row, by their names in the snapshot; none if nothing does."""
        return [self.renamed.get(name, name) for name in self.schema.primary_key()]

    @property
    def types(self) -> dict[str, str]:
        """SQL type of each column, in order."""
        return {name: sql_type(column.dtype) for name, column in self.columns.items()}


_SUMMARY_CLUSTER: Final = {"cluster_id": "summarises_cluster_id"}
"""A memory's `cluster_id` is the cluster that a summary was made from, not the one the memory belongs to. Under its own
name it does not clash with `cluster_members.cluster_id` in a join of the three."""

_RESERVED: Final = {"tier_changes": {"at": "promoted_at"}, "fact_changes": {"at": "holds_from"}}
"""Columns whose names are words of DuckDB's SQL from version 2 on."""

COPIED: Final = (
    *("scored_memories", "association_edges", "clusters", "cluster_members", "merge_refusals", "memory_importance"),
    *("core_memory_blocks", "tier_changes", "fact_changes", "consolidation_runs", "dead_letters"),
)
"""Tables of the lake that a snapshot holds as they are."""

RELATIONS: Final[dict[str, Relation]] = {
    relation.name: relation
    for relation in (
        Relation("memories", Memories, renamed=_SUMMARY_CLUSTER),
        Relation("current_memories", CurrentMemories, is_view=True, renamed=_SUMMARY_CLUSTER),
        *(Relation(name, TABLES[name].schema, renamed=_RESERVED.get(name, {})) for name in COPIED),
        Relation("summaries", AllSummaries),
        Relation("archived_set", LeftMemories),
        Relation("decisions", AllDecisions),
        Relation("lifecycle_history", LifecycleHistory),
        Relation("accesses", AccessLog),
        Relation("model_usage", ModelUsage),
        Relation("tokens", Tokens),
        Relation("policies", PolicySettings),
        Relation("run_policies", RunPolicies),
        Relation("vectors", TABLES["vectors"].schema, is_view=True),
        Relation("score_history", CommittedScores, is_view=True),
        Relation("cluster_lineage", ClusterChanges, is_view=True),
        Relation("enrichment", TABLES["enrichment"].schema, is_view=True),
        Relation("keywords", Keywords, is_view=True),
        Relation("names", Names, is_view=True),
        Relation("snapshot_info", SnapshotInfo),
        Relation("data_dictionary", DataDictionary),
    )
}
"""Every table and view of a snapshot."""

RECALLS: Final = Relation("recalls", AllRecalls)
"""Table that only exported files have."""
