"""Plans a run: what it would change, and the state afterwards.

A plan is the difference between the desired and the present state, as decisions. A decision's `signature` identifies
its effect on given texts across plans, so that a second run at the same instant proposes nothing and undone decisions
are not proposed again. Not here: what is desired (the stages before), whether so much may leave at once (`quota`),
which decisions build on others (`dependants`), invariants (`invariants`), the JSON of a decision (`decision_rows`), its
effect on a state (`state.projection`), a plan as a document (`plan_document`), and the commit (`runs.commit`).
"""

import hashlib
from datetime import datetime
from typing import Final, NamedTuple

import polars as pl

from memory_pipeline.consolidation import scope
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.edges import edge_rows
from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.state import decision_json, projection
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import LIVE, TABLES, Action, Decisions, Frame, Lifecycle, Reverted

LEAVING: Final = (Action.SUPERSEDE.value, *decision_json.LEAVES)
"""Actions after which a memory is not live, or reduced to a stub."""

_ENDING: Final = (Action.SUPERSEDE.value, Action.DELETE.value)
"""Actions that rule out closing or linking a memory: another replaces it, or it is gone."""

_STAYING: Final = (Action.TRIM.value, Action.PROMOTE.value)
"""Actions on memories that stay."""

TOMBSTONE: Final = "[deleted]"
"""Text that a deleted memory shows."""

_SIGNED: Final = ("profile_id", "action", "memory_id", "target_id", "rule", "subject")
_PLAN: Final = TABLES["consolidation_plan"]
_NOTHING_REVERTED: Final = TABLES["reverted"].empty()


class Proposals(NamedTuple):
    """What the stages of a run propose, each the table of its name; what is not given is empty.

    Attributes:
        summaries: new memories; those they replace are superseded.
        archived_set: memories that leave the live set.
        fact_changes: memories whose validity a newer one ends.
        promotions: memories that rise.
        proposed_edges: edges to add.
        pruned_edges: rows of `decided_edges` that have decayed.
        retired_links: rows of `decided_edges`: links about facts that no longer hold.
        trims: what recall shows of memories.
        proposed_blocks: core memory blocks with a new text.
        deferred: memories that the time budget left out.
    """

    summaries: pl.DataFrame
    archived_set: pl.DataFrame
    fact_changes: pl.DataFrame
    promotions: pl.DataFrame
    proposed_edges: pl.DataFrame = TABLES["proposed_edges"].empty()
    pruned_edges: pl.DataFrame = TABLES["decided_edges"].empty()
    retired_links: pl.DataFrame = TABLES["decided_edges"].empty()
    trims: pl.DataFrame = TABLES["trims"].empty()
    proposed_blocks: pl.DataFrame = TABLES["proposed_blocks"].empty()
    deferred: pl.DataFrame = TABLES["deferred"].empty()


def plan_id(ledger_digest: str, policy_digest: str, as_of: datetime, seq: int) -> str:
    """Return the id of the plan that these four values determine: 32 hex digits."""
    return _digest(ledger_digest, policy_digest, as_of.isoformat(timespec="microseconds"), str(seq))[:32]


def propose(
    profiles: pl.DataFrame,
    state: State,
    proposed: Proposals,
    *,
    committed: pl.DataFrame,
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    actions: frozenset[Action] = frozenset(Action),
    superseded_lifecycle: str = "archived",
    within: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the decisions that turn the state into the desired one.

    What already holds needs no decision. A memory gets at most one move, by the first of supersede, delete, archive,
    expire, cold and stub; a memory that leaves is neither promoted nor trimmed. A summary that would supersede what is
    closed is not made: its text would hold what no longer does. A memory that is deleted is not closed
    either, and links about its facts are dropped, as are those of a closed memory and of one that a summary supersedes.
    Those of a memory that leaves in another way are kept, and show what remains the newest. Undone decisions are not
    proposed again unless the profile asks for it; with an undone summary all its supersessions are left out, and a text
    that was restored whole is not trimmed in any other way. A block compiled from a summary that is not created keeps
    its text. Decisions committed at this very instant are not repeated, and are withdrawn if no longer desired.

    Args:
        state: the state before anything was decided at this instant.
        committed: decisions in force that were committed at exactly this instant.
        actions: what this run may decide; without `withdraw` nothing is withdrawn.
        superseded_lifecycle: lifecycle of memories superseded by a summary.
        within: `profile_id` and `memory_id` of the only memories that may change; default: all.

    Returns:
        Table `consolidation_plan`, every decision with status `proposed`.

    Cost: joins, and two SHA-256 per decision.
    """
    decided_edges = state.edges.filter(pl.col("origin") == "decided")
    fact_links = decided_edges.filter(edge_rows.is_fact_link())
    summaries, fact_changes = proposed.summaries, proposed.fact_changes
    sequenced = summaries.join(profiles.select("profile_id", "seq"), on="profile_id")
    allowed = pl.col("action").is_in([action.value for action in actions])
    changes = pl.concat(
        [
            decision_rows.links(
                proposed.proposed_edges.join(state.edges, on=decision_json.EDGE_KEY, how="anti"),
                state.memories,
                fact_changes,
            ),
            decision_rows.prunes(proposed.pruned_edges.join(decided_edges, on=decision_json.EDGE_KEY, how="semi")),
            decision_rows.summaries(sequenced, state.memories),
            decision_rows.moves(
                proposed.archived_set, summaries, state.memories, superseded_lifecycle=superseded_lifecycle
            ),
            decision_rows.closings(fact_changes, state.memories),
            decision_rows.trims(proposed.trims, state.memories),
            decision_rows.promotions(proposed.promotions, state.memories),
            decision_rows.blocks(proposed.proposed_blocks, state.blocks),
            decision_rows.deferrals(proposed.deferred),
        ]
    ).filter(allowed)
    if proposed.retired_links.height or changes.height:
        retirable = _retirable(fact_links, proposed.retired_links, changes)
        changes = pl.concat([changes, decision_rows.retirements(retirable).filter(allowed)])
    if changes.is_empty() and committed.is_empty():
        return _PLAN.empty()
    if within is not None:
        changes, committed = scope.decided_about(changes, within), scope.decided_about(committed, within)
    signature = ["profile_id", "signature"]
    barred = _barred(profiles, decisions, reverted)
    earlier = projection.unmasked(decisions.join(committed, on=["profile_id", "decision_id"], how="anti"), reverted)
    permitted = _closings_first(_not_undone(_signed(changes), barred, earlier))
    possible = permitted.join(_without_members(permitted, summaries), on=KEY, how="anti")
    desired = _consistent(_without_needless_links(possible, proposed.retired_links), state, summaries)
    present = committed.filter(~does(Action.WITHDRAW), allowed)
    new = [desired.join(present, on=signature, how="anti")]
    if Action.WITHDRAW in actions:
        withdrawn = _signed(decision_rows.withdrawals(present.join(desired, on=signature, how="anti")))
        new.append(withdrawn.join(barred, on=signature, how="anti"))
    return numbered(pl.concat(new), profiles)


def _without_needless_links(permitted: pl.DataFrame, retired_links: pl.DataFrame) -> pl.DataFrame:
    """Drop links about facts of memories that are merged, deleted or closed, and retirements that nothing calls for.

    A link is retired if `retired_links` names it, or if one of its memories is merged, deleted or closed.
    """
    ended, ends = _ended(permitted), ("memory_id", "target_id")
    about = permitted.filter(_is_about_facts())
    touched = pl.concat(
        [about.join(ended.rename({"memory_id": end}), on=["profile_id", end], how="semi") for end in ends]
    )
    named = retired_links.select("profile_id", "edge_type", memory_id="source", target_id="target")
    types = about.with_columns(decision_json.read("after", {"edge_type": pl.String()}))
    retired = pl.concat(
        [types.join(named, on=["profile_id", *ends, "edge_type"], how="semi").drop("edge_type"), touched]
    )
    signature = ["profile_id", "signature"]
    added = about.filter(does(Action.LINK)).join(touched, on=signature, how="anti")
    removed = about.filter(does(Action.PRUNE)).join(retired, on=signature, how="semi")
    return pl.concat([permitted.filter(~_is_about_facts()), added, removed])


def _ended(changes: pl.DataFrame) -> pl.DataFrame:
    """Return the memories that changes merge, delete or close as a whole."""
    moved = pl.col("action").is_in(_ENDING)
    closed = changes.filter(does(Action.CLOSE))
    whole = decision_json.read("after", {"superseded_by": pl.String()})[0].is_not_null()
    return pl.concat([changes.filter(moved).select(KEY), closed.filter(whole).select(KEY)]).unique()


def _retirable(fact_links: pl.DataFrame, retired_links: pl.DataFrame, changes: pl.DataFrame) -> pl.DataFrame:
    """Return the links about facts that may be retired: those named, and those of memories that may end.

    Most links are neither; their retirement would only be described, signed and dropped again.
    """
    ended = _ended(changes)
    touched = [
        fact_links.join(ended.rename({"memory_id": end}), on=["profile_id", end], how="semi").select(
            decision_json.EDGE_KEY
        )
        for end in ("source", "target")
    ]
    chosen = pl.concat([retired_links.select(decision_json.EDGE_KEY), *touched])
    return fact_links.join(chosen, on=decision_json.EDGE_KEY, how="semi", maintain_order="left")


def _is_about_facts() -> pl.Expr:
    """Return whether a decision makes or retires a link about facts."""
    made = decision_json.link_algorithm() == edge_rows.FACT_COMPARISON
    return made.fill_null(value=False) | (pl.col("rule") == decision_rows.RETIRED)


def _consistent(permitted: pl.DataFrame, state: State, summaries: pl.DataFrame) -> pl.DataFrame:
    """Drop what rests on summaries that will not exist, and actions that make no sense for memories that leave.

    A memory that leaves is neither trimmed nor promoted; it is still closed unless it is deleted or a summary replaces
    it.
    """
    leaving = permitted.filter(pl.col("action").is_in(LEAVING)).select(*KEY, leaves="action").unique(KEY)
    gone = pl.col("leaves").is_in(_ENDING)
    needless = pl.col("action").is_in(_STAYING) | (does(Action.CLOSE) & gone)
    return (
        permitted.join(_unfounded(permitted, state, summaries), on=["profile_id", "signature"], how="anti")
        .join(leaving, on=KEY, how="left")
        .filter(pl.col("leaves").is_null() | ~needless)
        .drop("leaves")
    )


def _barred(profiles: pl.DataFrame, decisions: Frame[Decisions], reverted: Frame[Reverted]) -> pl.DataFrame:
    """Return undone decisions that were not made again since, in profiles that do not retry reverted decisions."""
    undone = decisions.join(reverted, on=["profile_id", "decision_id"], how="semi")
    if undone.is_empty():
        return undone
    again = profiles.filter("retry_reverted")
    in_force = projection.unmasked(decisions, reverted)
    return undone.join(in_force, on=["profile_id", "signature"], how="anti").join(again, on="profile_id", how="anti")


def _pruned_before(earlier: pl.DataFrame) -> pl.DataFrame:
    """Return links decided by earlier runs: one proposed again was pruned since, and may return only for a new text.

    Auto-links are exempt: they are proposed again only after both memories were recalled together again. So are links
    about facts, which depend on the present texts of the memories and on whether they are live.
    """
    returning = decision_json.link_algorithm().is_in(["auto_link", edge_rows.FACT_COMPARISON]).fill_null(value=False)
    links = earlier.filter(does(Action.LINK) & ~returning)
    return links.select("profile_id", "signature")


def _forgotten_summaries(desired: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Return summaries that were forgotten earlier: made again, they would be forgotten again by the next run."""
    moves = earlier.filter(pl.col("action").is_in(projection.MOVES)).sort("as_of", "seq", "ordinal")
    forgotten = moves.unique(KEY, keep="last").filter(
        pl.col("action").is_in(list(decision_json.LEAVES)), pl.col("rule") != "stale_summary"
    )
    proposed = desired.filter(does(Action.SUMMARISE))
    return proposed.join(forgotten, on=KEY, how="semi").select("profile_id", "signature")


def _restored_texts(desired: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    """Return the trims of texts of which a trim was undone, whatever the new trim would leave."""
    text = decision_json.read("after", {"content_hash": pl.String()})
    restored = barred.filter(does(Action.TRIM)).select(*KEY, *text)
    cut = desired.filter(does(Action.TRIM)).select(*KEY, *text, "signature")
    return cut.join(restored, on=[*KEY, "content_hash"], how="semi").select("profile_id", "signature")


def _not_undone(desired: pl.DataFrame, barred: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Drop decisions that were undone, and those that earlier runs made and reversed."""
    obsolete = [_pruned_before(earlier), _forgotten_summaries(desired, earlier), _restored_texts(desired, barred)]
    return _permitted(desired, pl.concat([barred.select("profile_id", "signature"), *obsolete]))


def _closings_first(permitted: pl.DataFrame) -> pl.DataFrame:
    """Drop the summaries that would supersede a memory that is closed, as a whole or in part."""
    closed = permitted.filter(does(Action.CLOSE)).select(KEY)
    merged = permitted.filter(does(Action.SUPERSEDE)).join(closed, on=KEY, how="semi")
    named = merged.select("profile_id", memory_id="target_id").unique()
    created = permitted.filter(does(Action.SUMMARISE)).join(named, on=KEY, how="semi")
    return _permitted(permitted, created.select("profile_id", "signature"))


def _permitted(desired: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    """Drop barred decisions, and supersessions by a barred summary."""
    permitted = desired.join(barred, on=["profile_id", "signature"], how="anti")
    summaries = (
        desired.filter(does(Action.SUMMARISE))
        .join(permitted, on=["profile_id", "signature"], how="anti")
        .select("profile_id", target_id="memory_id")
    )
    return permitted.join(summaries, on=["profile_id", "target_id"], how="anti")


def _without_members(permitted: pl.DataFrame, summaries: pl.DataFrame) -> pl.DataFrame:
    """Return the superseding summaries that may supersede none of their members."""
    superseded = permitted.filter(does(Action.SUPERSEDE)).select("profile_id", summary_id="target_id")
    superseding = summaries.filter("supersedes").join(superseded, on=["profile_id", "summary_id"], how="anti")
    return superseding.select("profile_id", memory_id="summary_id")


def _unfounded(permitted: pl.DataFrame, state: State, summaries: pl.DataFrame) -> pl.DataFrame:
    """Return blocks compiled from a summary that is not created, trims of it, and what leaves since it covers that."""
    existing = pl.concat([state.memories.select(KEY), permitted.filter(does(Action.SUMMARISE)).select(KEY)])
    compiled = permitted.filter(does(Action.COMPILE)).select(
        "profile_id", "signature", *decision_json.read("after", {"members": decision_json.BLOCK["members"]})
    )
    mentioned = compiled.explode("members").drop_nulls("members").rename({"members": "memory_id"})
    cut = permitted.filter(does(Action.TRIM)).select("profile_id", "signature", "memory_id")
    proposed = summaries.select("profile_id", target_id="summary_id")
    covered = permitted.join(proposed, on=["profile_id", "target_id"], how="semi").select(
        "profile_id", "signature", memory_id="target_id"
    )
    rows = pl.concat([mentioned, cut, covered], how="diagonal")
    return rows.join(existing, on=KEY, how="anti").select("profile_id", "signature")


def _signed(changes: pl.DataFrame) -> pl.DataFrame:
    """Add the signature of each decision."""
    return changes.with_columns(_digests(changes, _SIGNED).alias("signature"))


def numbered(changes: pl.DataFrame, profiles: pl.DataFrame) -> pl.DataFrame:
    """Turn signed changes, or decisions, into proposed ones of their profile's plan, in order of application."""
    place = pl.col("action").replace_strict(decision_json.ORDER, return_dtype=pl.Int64)
    rows = (
        changes.drop("plan_id", "as_of", strict=False)
        .join(profiles.select("profile_id", "plan_id", "as_of"), on="profile_id")
        .sort("profile_id", place, "memory_id", "target_id", "rule", "signature")
        .with_columns(
            ordinal=pl.int_range(pl.len()).over("profile_id"), status=pl.lit("proposed"), seq=pl.lit(0, pl.Int64)
        )
    )
    return _PLAN.conform(rows.with_columns(_digests(rows, ("plan_id", "signature")).str.head(32).alias("decision_id")))


def _digests(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.Series:
    """Return the SHA-256 of the given columns, one per row."""
    return pl.Series(
        [_digest(*("" if value is None else value for value in row)) for row in rows.select(columns).iter_rows()],
        dtype=pl.String,
    )


def _digest(*parts: str) -> str:
    """Return the SHA-256 of parts joined by the unit separator, which no id or name contains."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def in_force_after(
    plan: pl.DataFrame, decisions: pl.DataFrame, *, reverted: pl.DataFrame = _NOTHING_REVERTED
) -> pl.DataFrame:
    """Return which of some decisions, and of those of a plan that is not held, are in force once it is committed."""
    last = decisions.select(pl.col("seq").max()).item() or 0
    proposed = plan.filter(pl.col("status") != "held").with_columns(seq=pl.lit(1 + last, pl.Int64))
    return projection.unmasked(pl.concat([decisions, proposed]), reverted)


def post_state(state: State, plan: pl.DataFrame, committed: pl.DataFrame) -> State:
    """Return the state once `plan` is committed; equal to a fold of the ledger after it.

    `state` is that before anything was decided at the plan's instant, `committed` the decisions in force that were
    committed then.
    """
    return projection.apply(state, in_force_after(plan, committed))


def with_tombstones(memories: pl.DataFrame) -> pl.DataFrame:
    """Replace the text of deleted memories by `TOMBSTONE`: their text stays in the ledger alone.

    A stub shows its own text, so its trim is dropped.
    """
    deleted = pl.col("lifecycle") == Lifecycle.DELETED.value
    return memories.with_columns(
        content=pl.when(deleted).then(pl.lit(TOMBSTONE)).otherwise("content"),
        trimmed=pl.when(~deleted & (pl.col("lifecycle") != Lifecycle.STUB.value)).then("trimmed"),
        **{name: pl.when(~deleted).then(name) for name in ("index_text", "metadata", "protected_reason")},
    )


def live(memories: pl.DataFrame) -> dict[str, int]:
    """Return the number of live memories per profile."""
    counts = memories.filter(pl.col("lifecycle").is_in(LIVE)).group_by("profile_id").len().sort("profile_id")
    return dict(counts.iter_rows())
