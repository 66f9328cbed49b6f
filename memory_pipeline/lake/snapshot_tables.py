"""Rows of a snapshot's tables, computed from the lake's tables, the log of accesses and the policies in force."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation import trimming
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.plans.planning import LEAVING
from memory_pipeline.consolidation.state import decision_json, lifecycle, projection
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.consolidation.state.folding import ORIGINAL
from memory_pipeline.lake import dictionary, policies
from memory_pipeline.lake.snapshot_schemas import COPIED, RELATIONS
from memory_pipeline.ledger.commits import VERSION
from memory_pipeline.schemas import INSTANT, LIVE, Action, EventType, Lifecycle
from memory_pipeline.settings import Policy

SOURCES: Final = ("memories", *COPIED, "decisions", "reverted", "completions", "verdicts")
"""Tables of the lake that are copied into a snapshot, whole or as what it shows of them."""

USES: Final = (EventType.ACCESSED.value, EventType.FEEDBACK.value)
"""Types of the events from which the table `accesses` is made."""

USE_COLUMNS: Final = (
    *("profile_id", "seq", "ordinal", "event_type", "occurred_at", "recorded_at", "session_id", "agent_id", "user_id"),
    *("memory_id", "query", "rank", "score", "unsure", "expanded", "times", "helpful"),
)
"""Columns of the table `events` that the table `accesses` needs."""


def relations(
    tables: Mapping[str, pl.DataFrame],
    *,
    uses: pl.DataFrame,
    policies_in_force: Mapping[str, Policy],
    run_policies: Mapping[str, Policy],
    name: str,
    created_at: datetime,
    as_of: datetime | None,
) -> dict[str, pl.DataFrame]:
    """Return the rows of every table of a snapshot, from the tables of `SOURCES`; arguments as of `snapshot.build`.

    Cost: linear in the rows, some 2 µs per memory for counting tokens.
    """
    memories, decisions = tables["memories"], tables["decisions"]
    copied = {
        relation.name: tables[relation.name].rename(dict(relation.renamed))
        for relation in RELATIONS.values()
        if relation.name in tables
    }
    undone = tables["reverted"].select("profile_id", "decision_id", reverted=True).unique()
    in_force = projection.unmasked(decisions, tables["reverted"])
    return copied | {
        "decisions": decisions.join(
            undone, on=["profile_id", "decision_id"], how="left", maintain_order="left"
        ).with_columns(pl.col("reverted").fill_null(value=False)),
        "summaries": _summaries(memories, decisions),
        "archived_set": _archived_set(memories, in_force),
        "lifecycle_history": _lifecycle_history(memories, in_force, uses),
        "accesses": _accesses(uses, memories),
        "model_usage": _model_usage(tables["completions"], tables["verdicts"]),
        "tokens": _tokens(memories),
        "policies": policies.rows(policies_in_force),
        "run_policies": policies.rows(run_policies, key="policy_hash"),
        "snapshot_info": _information(tables, name, created_at, as_of),
        "data_dictionary": dictionary.rows(),
    }


def _summaries(memories: pl.DataFrame, decisions: pl.DataFrame) -> pl.DataFrame:
    """Return every summary from the memories, since a run's own table has only those that it wrote."""
    decided = decisions.filter(does(Action.SUMMARISE)).sort("seq", "ordinal")
    wording = decided.unique(KEY, keep="last", maintain_order=True).select(
        "profile_id", *decision_json.read("factors", decision_json.WORDED), summary_id="memory_id"
    )
    key = ["profile_id", "summary_id"]
    replaced = memories.filter(pl.col("superseded_kind") == "summary").select(
        "profile_id", "memory_id", "kind", summary_id="superseded_by"
    )
    effects = replaced.group_by(key, maintain_order=True).agg(
        replaces=pl.col("memory_id").filter(pl.col("kind") != "original"),
        supersedes=(pl.col("kind") == "original").any(),
    )
    summaries = memories.filter(pl.col("kind") != "original").rename(
        {"memory_id": "summary_id", "importance_given": "importance", "stability_given": "stability"}
    )
    return (
        summaries.join(effects, on=key, how="left", maintain_order="left")
        .join(wording, on=key, how="left", maintain_order="left")
        .with_columns(
            pl.col("replaces").fill_null([]),
            pl.col("supersedes").fill_null(value=False),
            pl.col("compiled_by").fill_null("rules"),
        )
    )


def _archived_set(memories: pl.DataFrame, decisions_in_force: pl.DataFrame) -> pl.DataFrame:
    """Return memories that are not live, each with the last decision in force that removed it."""
    leaving = decisions_in_force.filter(pl.col("action").is_in(list(LEAVING)))
    last = (
        leaving.sort("seq", "ordinal")
        .unique(KEY, keep="last", maintain_order=True)
        .select(
            *KEY,
            *("action", "rule", "reason", "decision_id", "plan_id"),
            *(
                pl.col("factors").str.json_path_match(f"$.{factor}").cast(pl.Float64, strict=False).alias(factor)
                for factor in ("strength", "threshold")
            ),
        )
    )
    not_live = memories.filter(~pl.col("lifecycle").is_in(LIVE)).select(
        *KEY, "lifecycle", left_at="lifecycle_since", summary_id="superseded_by"
    )
    return not_live.join(last, on=KEY, how="left", maintain_order="left")


def _lifecycle_history(memories: pl.DataFrame, decisions_in_force: pl.DataFrame, uses: pl.DataFrame) -> pl.DataFrame:
    """Return every change of lifecycle: creations, decisions in force, and what agents did between and after them.

    A decision tells the lifecycle that it found; where that is not what the one before it left, an agent used or
    changed the memory in between.
    """
    moves = (
        decisions_in_force.filter(pl.col("action").is_in([*lifecycle.MOVES, Action.PROMOTE.value]))
        .select(
            *KEY,
            *("seq", "ordinal", "action", "rule", "reason", "target_id", "decision_id", "plan_id"),
            at="as_of",
            from_lifecycle=pl.col("before").str.json_path_match("$.lifecycle"),
            to_lifecycle=pl.col("after").str.json_path_match("$.lifecycle"),
        )
        .filter(pl.col("to_lifecycle").is_not_null())
        .join(memories, on=KEY, how="semi")
    )
    born = memories.filter(pl.col("kind") == ORIGINAL).select(
        *KEY, seq=pl.lit(0, pl.Int64), at="created_at", to_lifecycle=pl.lit(Lifecycle.ACTIVE.value)
    )
    now = memories.select(*KEY, seq=pl.lit(2**62, pl.Int64), at="lifecycle_since", found="lifecycle")
    steps = (
        pl.concat([born, moves.with_columns(found="from_lifecycle"), now], how="diagonal_relaxed")
        .sort(*KEY, "seq", "ordinal")
        .with_columns(left=pl.col("to_lifecycle").shift().over(KEY), left_at=pl.col("at").shift().over(KEY))
    )
    by_agents = steps.filter(pl.col("found") != pl.col("left")).select(
        *KEY,
        *("seq", "left_at"),
        ordinal=pl.lit(-1, pl.Int64),
        at=pl.when(pl.col("action").is_null()).then("at"),
        until="at",
        from_lifecycle="left",
        to_lifecycle="found",
    )
    used = (
        by_agents.filter(pl.col("at").is_null())
        .join(uses.select(*KEY, used_at="occurred_at"), on=KEY)
        .filter(pl.col("used_at") > pl.col("left_at"), pl.col("used_at") <= pl.col("until"))
        .group_by(*KEY, "seq")
        .agg(pl.col("used_at").min())
    )
    waking = by_agents.join(used, on=[*KEY, "seq"], how="left").with_columns(at=pl.coalesce("at", "used_at", "until"))
    changes = pl.concat([steps.filter(pl.col("to_lifecycle").is_not_null()), waking], how="diagonal_relaxed")
    return (
        changes.rename({"at": "changed_at"})
        .filter(pl.col("from_lifecycle").ne_missing(pl.col("to_lifecycle")))
        .sort(*KEY, "seq", "ordinal")
        .with_columns(ordinal=pl.int_range(pl.len()).over(KEY))
        .select(list(RELATIONS["lifecycle_history"].types))
    )


def _model_usage(completions: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """Return requests to language models with what they cost, without the texts."""
    asked = verdicts.with_columns(
        pairs=pl.col("subject").str.split(" ").list.len(), refused=pl.col("refused").list.len()
    )
    return (
        pl.concat([completions, asked], how="diagonal_relaxed")
        .with_columns(tokens=pl.col("input_tokens") + pl.col("output_tokens"))
        .select(list(RELATIONS["model_usage"].types))
        .sort("profile_id", "request_hash")
    )


def _accesses(uses: pl.DataFrame, memories: pl.DataFrame) -> pl.DataFrame:
    """Return accesses with the feedback that followed, and feedback that no query precedes; none of erased memories.

    Feedback counts for the last query before it that returned the memory, and the latest feedback wins.
    """
    erased = memories.filter(pl.col("lifecycle") == Lifecycle.ERASED.value)
    # A recall is written after its answer was given: at the same instant it precedes feedback on the answer.
    ordered = (
        uses.join(erased, on=KEY, how="anti")
        .with_columns(occurred_at=pl.min_horizontal("occurred_at", "recorded_at"))
        .sort("occurred_at", pl.col("query").is_null(), "seq", "ordinal")
        .with_row_index("place")
    )
    is_feedback = pl.col("event_type") == EventType.FEEDBACK.value
    queries = ordered.filter(~is_feedback, pl.col("query").is_not_null())
    feedback = ordered.filter(is_feedback).join_asof(
        queries.select(*KEY, "place", answered="place"),
        on="place",
        by=KEY,
        strategy="backward",
        check_sortedness=False,
    )
    latest = feedback.drop_nulls("answered").group_by("answered").agg(pl.col("helpful").last())
    accesses = (
        ordered.filter(~is_feedback).drop("helpful").join(latest, left_on="place", right_on="answered", how="left")
    )
    unprompted = feedback.filter(pl.col("answered").is_null())
    columns = list(RELATIONS["accesses"].types)
    return pl.concat([accesses.select(columns), unprompted.select(columns)]).sort("profile_id", "seq", "ordinal")


def _tokens(memories: pl.DataFrame) -> pl.DataFrame:
    """Return the tokens of each profile's memories by lifecycle, counted as `token_budget` counts them."""
    full = pl.col("whole_cost")
    return (
        trimming.priced(memories)
        .group_by("profile_id", "lifecycle")
        .agg(
            memories=pl.len(),
            stored_tokens=full.filter(pl.col("kind") == "original").sum(),
            live_tokens=full.filter("live").sum(),
            shown_tokens=pl.col("tokens_before").filter("live").sum(),
        )
        .sort("profile_id", "lifecycle")
    )


def _information(
    tables: Mapping[str, pl.DataFrame], name: str, created_at: datetime, as_of: datetime | None
) -> pl.DataFrame:
    """Return the table `snapshot_info`: one row per profile, or a single row without a profile."""
    counts = (
        tables["memories"].group_by("profile_id").agg(memories=pl.len(), live=pl.col("lifecycle").is_in(LIVE).sum())
    )
    published = tables["consolidation_runs"].filter(pl.col("outcome") != "unchanged")
    last_runs = published.sort("commit_seq").unique("profile_id", keep="last")
    instant = pl.col("as_of") if as_of is None else pl.lit(as_of, INSTANT)
    profiles = counts.join(
        last_runs.select("profile_id", "plan_id", "as_of"), on="profile_id", how="full", coalesce=True
    )
    if profiles.is_empty():
        profiles = profiles.clear(1)
    return profiles.sort("profile_id").select(
        "profile_id",
        "plan_id",
        pl.col("memories", "live").fill_null(0),
        as_of=instant,
        name=pl.lit(name),
        ledger_position=pl.lit(int(name.partition("-")[0])),
        created_at=pl.lit(created_at, INSTANT),
        remade_by=pl.lit(None if as_of is None else VERSION, pl.String),
    )
