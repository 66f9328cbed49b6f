"""Projects the state of every memory: a pure fold of what agents wrote and what runs decided.

Events are folded by (occurred_at, ledger position), so the order of arrival does not matter; decisions are applied on
top, by (as_of of the run, ledger position, action, position in the plan). The same `apply` makes the state after a
plan, so a snapshot equals a rebuild. Not here: which events and decisions belong to a state (the caller filters them),
the JSON of a decision (`decision_json`), the fold of events (`folding`), the lifecycle after decisions (`lifecycle`),
energy (`energy`), and edges derived from the memories themselves (`associations`).
"""

from dataclasses import dataclass, field, replace
from typing import Final

import polars as pl

from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.state import answers, decision_json, energy, folding, lifecycle
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.schemas import TABLES, Action

MEMBER_WEIGHT: Final = 0.8
"""Weight of the edge from a summary to each of its members (cognitive-memory)."""

ERASED: Final = '{"erased":'
"""Prefix of the documents of a decision that was erased because it quoted an erased memory."""

MOVES: Final = lifecycle.MOVES
"""Actions that set the lifecycle of a memory."""

_LINEAGE: Final = {"short_term": ("working", "PROMOTED_TO"), "long_term": ("short_term", "CRYSTALLIZED_INTO")}
"""Previous tier, and name of the change, by the tier that a memory rises to (three-tier)."""


@dataclass(frozen=True)
class State:
    """Every memory with its accesses and tier changes, every asserted or decided edge, and the core memory blocks."""

    memories: pl.DataFrame
    """Table `memories`."""
    edges: pl.DataFrame
    """Table `decided_edges`, at the weight last set, undecayed."""
    accesses: pl.DataFrame = field(default_factory=TABLES["accesses"].empty)
    """Table `accesses`."""
    tier_changes: pl.DataFrame = field(default_factory=TABLES["tier_changes"].empty)
    """Table `tier_changes`."""
    blocks: pl.DataFrame = field(default_factory=TABLES["core_memory_blocks"].empty)
    """Table `core_memory_blocks`."""


def fold(events: pl.DataFrame, decisions: pl.DataFrame) -> State:
    """Return the state after these events, of an instant and a ledger position, and these decisions in force.

    Only events of agents have an effect, among them what they answered about pairs of memories.

    Cost: sorts of the accesses, hash joins, and one SHA-256 per memory; a few seconds per million events.
    """
    written = _written(events, lifecycle.made(_ordered(decisions)))
    answered = answers.closings(answers.standing(events, written.memories), written.memories)
    return _applied(written, _ordered(pl.concat([decisions, answered], how="diagonal")))


def project(events: pl.DataFrame) -> State:
    """Return the state after these events alone, as if no run had decided anything."""
    return fold(events, TABLES["decisions"].empty())


def _written(events: pl.DataFrame, summaries: pl.DataFrame) -> State:
    """Return what agents wrote, including what they wrote about summaries."""
    written = folding.fold(events, summaries)
    state = State(lifecycle.unclosed(written.memories), written.edges, written.accesses)
    energies = energy.latest(state.memories, state.accesses, state.edges, state.tier_changes)
    return replace(state, memories=state.memories.with_columns(energies.drop(KEY)))


def unmasked(decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions in force: not undone, withdrawn or erased, and not about a summary that is not in force.

    The decisions that table `reverted` names are undone. An undone withdrawal withdraws nothing.
    """
    if decisions.is_empty():
        return decisions
    readable = decisions.filter(~pl.col("after").str.starts_with(ERASED))
    in_force = readable.join(reverted, on=["profile_id", "decision_id"], how="anti")
    withdrawals = in_force.filter(does(Action.WITHDRAW)).select("profile_id", decision_id="target_id")
    in_force = in_force.join(withdrawals, on=["profile_id", "decision_id"], how="anti")
    if in_force.height == decisions.height:  # no summary is missing
        return in_force
    summaries = decisions.filter(does(Action.SUMMARISE)).select("profile_id", target_id="memory_id").unique()
    since = (
        in_force.filter(does(Action.SUMMARISE))
        .group_by("profile_id", target_id="memory_id")
        .agg(since=pl.col("seq").min())
    )
    orphans = (
        in_force.filter(does(Action.SUPERSEDE, Action.ARCHIVE))
        .join(summaries, on=["profile_id", "target_id"], how="semi")
        .join(since, on=["profile_id", "target_id"], how="left")
        .filter(pl.col("since").is_null() | (pl.col("since") > pl.col("seq")))
    )
    return in_force.join(orphans, on=["profile_id", "decision_id"], how="anti")


def apply(state: State, decisions: pl.DataFrame) -> State:
    """Return the state after these decisions, which must all be in force (see `unmasked`).

    - summarise makes a memory, or restores it, with an edge to each member;
    - link adds an edge; prune removes a decided edge, never one that an agent asserted;
    - supersede, delete, archive, expire, cold and stub move a memory; the last decision about it counts. A deleted
      memory loses its edges; a superseded one comes back once it is changed or its summary leaves the live set; an
      expired, cold or stub one once an agent uses or changes it;
    - close ends the validity of a memory whose fact a newer one updates, or that of single sentences of it;
    - promote raises tier, lifecycle or category; a tier holds from its instant on, one step at a time;
    - compile sets the text of a core memory block, possibly to the empty text.

    Applying decisions in two batches, in order, equals applying them at once.
    """
    return _applied(state, _ordered(decisions))


def _applied(state: State, ordered: pl.DataFrame) -> State:
    """Return the state after decisions that are ordered already."""
    if ordered.is_empty():
        return replace(state, memories=TABLES["memories"].conform(state.memories))
    new = lifecycle.made(ordered).join(state.memories, on=KEY, how="anti")
    existing = pl.concat([state.memories, lifecycle.unclosed(new)])
    memories = lifecycle.settled(existing, ordered, state.accesses)
    edges = _connected(state.edges, memories, ordered)
    tier_changes = _raised(state.tier_changes, memories, ordered)
    after = State(memories, edges, state.accesses, tier_changes, _compiled(state.blocks, ordered))
    return replace(after, memories=TABLES["memories"].conform(_charged(after, state)))


def _ordered(decisions: pl.DataFrame) -> pl.DataFrame:
    """Return decisions in order of application, numbered by `position` from 0."""
    place = pl.col("action").replace_strict(decision_json.ORDER, return_dtype=pl.Int64)
    return (
        decisions.sort("as_of", "seq", place, "ordinal", "profile_id", "decision_id")
        .with_row_index("position")
        .with_columns(pl.col("position").cast(pl.Int64))
    )


def _connected(edges: pl.DataFrame, memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Add the decided edges, and remove pruned ones and those of deleted memories.

    Earlier edges have position -1. An edge is kept unless a later decision pruned it or deleted one of its ends. Of
    equal edges, an asserted one wins over a decided one, and a later one over an earlier one.
    """
    earlier = edges.with_columns(position=pl.lit(-1, pl.Int64))
    candidates = pl.concat([earlier, _decided(memories, ordered).select(earlier.columns)])
    by_agent = pl.col("origin") == "asserted"
    pruned = (
        ordered.filter(does(Action.PRUNE))
        .with_columns(*decision_json.read("after", {"edge_type": pl.String()}))
        .group_by("profile_id", "edge_type", source="memory_id", target="target_id")
        .agg(pruned=pl.col("position").max())
    )
    deleted = ordered.filter(does(Action.DELETE)).group_by(KEY).agg(deleted=pl.col("position").max())
    remaining = candidates.join(pruned, on=decision_json.EDGE_KEY, how="left", maintain_order="left").filter(
        by_agent | pl.col("pruned").is_null() | (pl.col("pruned") < pl.col("position"))
    )
    for end in ("source", "target"):
        remaining = (
            remaining.join(
                deleted.rename({"memory_id": end}), on=["profile_id", end], how="left", maintain_order="left"
            )
            .filter(pl.col("deleted").is_null() | (pl.col("deleted") < pl.col("position")))
            .drop("deleted")
        )
    return TABLES["decided_edges"].conform(
        remaining.sort(by_agent, "position").unique(decision_json.EDGE_KEY, keep="last", maintain_order=True)
    )


def _decided(memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Return edges that decisions make between memories that existed by then, with their `position`."""
    links = ordered.filter(does(Action.LINK)).select(
        "profile_id", "plan_id", "position", "as_of", *decision_json.read("after", decision_json.EDGE)
    )
    summaries = ordered.filter(does(Action.SUMMARISE)).with_columns(
        *decision_json.read("after", {name: decision_json.SUMMARY[name] for name in ("kind", "members")})
    )
    memberships = summaries.explode("members").select(
        *("profile_id", "plan_id", "position", "as_of", "kind"),
        source="memory_id",
        target="members",
        edge_type=pl.lit("SUMMARIZES"),
        weight=pl.lit(MEMBER_WEIGHT),
        base_weight=pl.lit(MEMBER_WEIGHT),
        algorithm=pl.lit("summary"),
        discovered_at="as_of",
        last_strengthened_at="as_of",
        co_count=pl.lit(0, pl.Int64),
    )
    edges = pl.concat([links, memberships], how="diagonal").with_columns(origin=pl.lit("decided"))
    for end in ("source", "target"):
        created = memories.select("profile_id", "created_at", memory_id="memory_id").rename({"memory_id": end})
        edges = (
            edges.join(created, on=["profile_id", end], maintain_order="left")
            .filter(pl.col("created_at") <= pl.col("as_of"))
            .drop("created_at")
        )
    return edges


def _raised(tier_changes: pl.DataFrame, memories: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Add the first promotion of each memory to each tier, among those that raise it from the tier below.

    A change takes effect at least a microsecond after the previous one: a promotion by one touch after another.
    """
    requested = (
        ordered.filter(does(Action.PROMOTE))
        .select(
            *(*KEY, "position", "plan_id", "as_of"),
            *decision_json.read("after", {name: decision_json.PROMOTED[name] for name in ("tier", "at", "energy")}),
        )
        .join(memories.select(*KEY, "created_at"), on=KEY)
        .filter(pl.col("as_of") >= pl.col("created_at"))
        .with_columns(at=pl.max_horizontal(pl.coalesce("at", "as_of"), "created_at"))
    )
    if requested.is_empty():
        return TABLES["tier_changes"].conform(tier_changes)
    changes = tier_changes.with_columns(position=pl.lit(-1, pl.Int64))
    for tier, (below, edge_type) in _LINEAGE.items():
        start = changes.filter(pl.col("to_tier") == below).select(*KEY, since="at", from_position="position")
        steps = requested.filter(pl.col("tier") == tier).join(start, on=KEY, how="left")
        if below in _LINEAGE:
            steps = steps.filter(pl.col("position") > pl.col("from_position"))
        new = (
            steps.join(changes.filter(pl.col("to_tier") == tier), on=KEY, how="anti")
            .sort("position")
            .unique(KEY, keep="first", maintain_order=True)
            .with_columns(
                at=pl.max_horizontal("at", pl.col("since") + pl.duration(microseconds=1)),
                from_tier=pl.lit(below),
                to_tier=pl.lit(tier),
                edge_type=pl.lit(edge_type),
            )
        )
        changes = pl.concat([changes, new.select(changes.columns)])
    return TABLES["tier_changes"].conform(changes)


def _charged(after: State, before: State) -> pl.DataFrame:
    """Return the memories of `after`, with new energy where reinforcements or tier changes differ from `before`."""
    previous, current = _reinforcements(before.edges), _reinforcements(after.edges)
    affected = pl.concat(
        [
            after.tier_changes.join(before.tier_changes, on=[*KEY, "to_tier"], how="anti").select(KEY),
            previous.join(current, on=previous.columns, how="anti").select(KEY),
            current.join(previous, on=previous.columns, how="anti").select(KEY),
        ]
    ).unique()
    affected_memories = after.memories.join(affected, on=KEY, how="semi")
    counts = current.group_by(KEY).agg(
        reinforcement_count=pl.len().cast(pl.Int64), last_reinforced_at=pl.col("discovered_at").max()
    )
    updated = (
        energy.latest(affected_memories, after.accesses, after.edges, after.tier_changes)
        .join(counts, on=KEY, how="left")
        .with_columns(pl.col("reinforcement_count").fill_null(0), anew=pl.lit(value=True))
    )
    columns = [name for name in updated.columns if name not in {*KEY, "anew"}]
    return after.memories.join(updated, on=KEY, how="left", suffix="_news", maintain_order="left").with_columns(
        pl.when("anew").then(f"{name}_news").otherwise(name).alias(name) for name in columns
    )


def _reinforcements(edges: pl.DataFrame) -> pl.DataFrame:
    """Return which memory reinforced which, when and how much."""
    reinforcing = edges.filter(pl.col("edge_type") == "REINFORCES", pl.col("similarity").is_finite())
    return reinforcing.select("profile_id", "source", "discovered_at", "similarity", memory_id="target")


def _compiled(blocks: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Set each core memory block to the text decided last; an emptied block keeps its version."""
    texts = (
        ordered.filter(does(Action.COMPILE))
        .unique(KEY, keep="last", maintain_order=True)
        .select(
            "profile_id",
            "plan_id",
            *decision_json.read("after", decision_json.BLOCK),
            block="memory_id",
            compiled_at="as_of",
        )
    )
    unchanged = blocks.join(texts, on=["profile_id", "block"], how="anti")
    return TABLES["core_memory_blocks"].conform(pl.concat([unchanged, texts.select(unchanged.columns)]))
