"""A run's plan: what it would change, whether the quota allows that, and the state afterwards.

A plan is the desired state less the present one, as decisions. A decision's `signature` says what it does to which
texts, whatever the plan; by it a second run at the same instant finds nothing to do, and what was undone is not
proposed again.
What is not here: what is desired (the stages before), what must never be broken (`invariants`), what the JSON of a
decision holds (`deciding`), what a decision does to a state (`projection`), a plan as a file (`plan_document`), and how
it is committed (`lake/`).
"""

import hashlib
from datetime import datetime
from typing import Final

import polars as pl

from memory_pipeline.consolidation.plans import decision_rows
from memory_pipeline.consolidation.scoring import KEY
from memory_pipeline.consolidation.state import projection
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import LIVE, TABLES, Action

QUOTA_FLOOR: Final = 20
"""So many memories may leave in one run, whatever their share."""

LEAVING: Final = (Action.SUPERSEDE.value, *decision_rows.LEAVES)
"""Actions after which a memory is not live, or less than it was."""

_STAYING: Final = (Action.CLOSE.value, Action.TRIM.value, Action.PROMOTE.value)
"""Actions about memories that stay."""

_SIGNED: Final = ("profile_id", "action", "memory_id", "target_id", "rule", "subject")
_PLAN: Final = TABLES["consolidation_plan"]


def plan_id(ledger_digest: str, policy_digest: str, as_of: datetime, seq: int) -> str:
    """Return the id of the plan that these four determine: 32 hex digits."""
    return _digest(ledger_digest, policy_digest, as_of.isoformat(timespec="microseconds"), str(seq))[:32]


def propose(
    profiles: pl.DataFrame,
    state: State,
    *,
    summaries: pl.DataFrame,
    archived_set: pl.DataFrame,
    proposed_edges: pl.DataFrame,
    pruned_edges: pl.DataFrame,
    fact_changes: pl.DataFrame,
    promotions: pl.DataFrame,
    trims: pl.DataFrame,
    proposed_blocks: pl.DataFrame,
    deferred: pl.DataFrame,
    committed: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    actions: frozenset[Action] = frozenset(Action),
    superseded_lifecycle: str = "archived",
) -> pl.DataFrame:
    """Return what to decide so that the state becomes the desired one.

    Whatever the state already is makes no decision. A memory gets one decision that moves it: supersede before delete
    before archive before expire before cold before stub; one that leaves is neither promoted nor closed nor trimmed.
    What was undone is left out, unless its profile asks for it again, and with a summary all that it would supersede; a
    text that was given back whole is not trimmed otherwise either. A block that tells of a summary which is not made
    keeps its text. What was committed at this very instant is not decided twice, and withdrawn if no longer desired.

    Args:
        profiles: who takes part; a decision belongs to its profile's plan.
        state: the state before anything was decided at this instant.
        summaries: table `summaries`: new memories; those they replace are superseded.
        archived_set: table `archived_set`: memories that leave the live set.
        proposed_edges: table `proposed_edges`: edges to add.
        pruned_edges: rows of `decided_edges` that have faded.
        fact_changes: table `fact_changes`: memories whose validity a newer one ends.
        promotions: table `promotions`: memories that rise.
        trims: table `trims`: what recall shows of memories.
        proposed_blocks: table `proposed_blocks`: core memory blocks with a new text.
        deferred: table `deferred`: memories that the run's time budget left out.
        committed: decisions in force that were committed at exactly this instant.
        decisions: every committed decision of the profiles.
        reverted: table `reverted`.
        actions: what this run may decide; without `withdraw` nothing is withdrawn.
        superseded_lifecycle: where memories go whose place a summary takes.

    Returns:
        Table `consolidation_plan`, every decision `proposed`.

    Cost: joins, and two SHA-256 a decision.
    """
    standing = state.edges.filter(pl.col("origin") == "decided")
    made = summaries.join(profiles.select("profile_id", "seq"), on="profile_id")
    wanted = pl.col("action").is_in([action.value for action in actions])
    changes = pl.concat(
        [
            decision_rows.links(
                proposed_edges.join(state.edges, on=decision_rows.EDGE_KEY, how="anti"), state.memories
            ),
            decision_rows.prunes(pruned_edges.join(standing, on=decision_rows.EDGE_KEY, how="semi")),
            decision_rows.summaries(made, state.memories),
            decision_rows.moves(archived_set, summaries, state.memories, superseded_lifecycle=superseded_lifecycle),
            decision_rows.closings(fact_changes, state.memories),
            decision_rows.trims(trims, state.memories),
            decision_rows.promotions(promotions, state.memories),
            decision_rows.blocks(proposed_blocks, state.blocks),
            decision_rows.deferrals(deferred),
        ]
    ).filter(wanted)
    signature = ["profile_id", "signature"]
    barred = _barred(profiles, decisions, reverted)
    earlier = projection.unmasked(decisions.join(committed, on=["profile_id", "decision_id"], how="anti"), reverted)
    signed = _signed(changes)
    spent = pl.concat([_faded(earlier), _forgotten(signed, earlier), _given_back(signed, barred)])
    permitted = _permitted(signed, pl.concat([barred.select(signature), spent]))
    desired = _consistent(permitted.join(_hollow(permitted, summaries), on=KEY, how="anti"), state)
    present = committed.filter(pl.col("action") != Action.WITHDRAW.value, wanted)
    new = [desired.join(present, on=signature, how="anti")]
    if Action.WITHDRAW in actions:
        gone = _signed(decision_rows.withdrawals(present.join(desired, on=signature, how="anti")))
        new.append(gone.join(barred, on=signature, how="anti"))
    return _numbered(pl.concat(new), profiles)


def _consistent(permitted: pl.DataFrame, state: State) -> pl.DataFrame:
    """Leave out blocks about memories that will not be there, and what would raise or close a memory that leaves."""
    leaving = permitted.filter(pl.col("action").is_in(LEAVING)).select(*KEY, leaves=pl.lit(value=True)).unique()
    return (
        permitted.join(_unfounded(permitted, state), on=["profile_id", "signature"], how="anti")
        .join(leaving, on=KEY, how="left")
        .filter(pl.col("leaves").is_null() | ~pl.col("action").is_in(_STAYING))
        .drop("leaves")
    )


def _barred(profiles: pl.DataFrame, decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """Undone decisions that were not made again since, and that their profile does not ask for again."""
    undone = decisions.join(reverted, on=["profile_id", "decision_id"], how="semi")
    again = profiles.filter("retry_reverted")
    in_force = projection.unmasked(decisions, reverted)
    return undone.join(in_force, on=["profile_id", "signature"], how="anti").join(again, on="profile_id", how="anti")


def _faded(earlier: pl.DataFrame) -> pl.DataFrame:
    """Links of earlier runs: what is proposed again has been pruned since, and comes back only for a new text.

    An auto-link comes back when both memories are recalled together again; who proposes it has seen to that.
    """
    links = earlier.filter((pl.col("action") == Action.LINK.value) & ~pl.col("rule").str.starts_with("auto_link"))
    return links.select("profile_id", "signature")


def _forgotten(desired: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Summaries that were let go for their low relevance: made again, they would be let go again the next night."""
    moves = earlier.filter(pl.col("action").is_in(projection.MOVES)).sort("as_of", "seq", "ordinal")
    gone = moves.unique(KEY, keep="last").filter(
        pl.col("action").is_in(list(decision_rows.LEAVES)), pl.col("rule") != "stale_summary"
    )
    made = desired.filter(pl.col("action") == Action.SUMMARISE.value)
    return made.join(gone, on=KEY, how="semi").select("profile_id", "signature")


def _given_back(desired: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    """Trims of texts that somebody has given back whole, whatever would be left of them now."""
    text = decision_rows.read("after", {"content_hash": pl.String()})
    whole = barred.filter(pl.col("action") == Action.TRIM.value).select(*KEY, *text)
    cut = desired.filter(pl.col("action") == Action.TRIM.value).select(*KEY, *text, "signature")
    return cut.join(whole, on=[*KEY, "content_hash"], how="semi").select("profile_id", "signature")


def _permitted(desired: pl.DataFrame, barred: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is barred, and what a barred summary would have superseded."""
    permitted = desired.join(barred, on=["profile_id", "signature"], how="anti")
    summaries = (
        desired.filter(pl.col("action") == Action.SUMMARISE.value)
        .join(permitted, on=["profile_id", "signature"], how="anti")
        .select("profile_id", target_id="memory_id")
    )
    return permitted.join(summaries, on=["profile_id", "target_id"], how="anti")


def _hollow(permitted: pl.DataFrame, summaries: pl.DataFrame) -> pl.DataFrame:
    """Summaries that were to take the place of their members, and may take nobody's."""
    stands = permitted.filter(pl.col("action") == Action.SUPERSEDE.value).select("profile_id", summary_id="target_id")
    made = summaries.filter("supersedes").join(stands, on=["profile_id", "summary_id"], how="anti")
    return made.select("profile_id", memory_id="summary_id")


def _unfounded(full: pl.DataFrame, state: State) -> pl.DataFrame:
    """Blocks that were compiled from a summary which is not to be made, and what would be left of its text."""
    known = pl.concat([state.memories.select(KEY), full.filter(pl.col("action") == Action.SUMMARISE.value).select(KEY)])
    compiled = full.filter(pl.col("action") == Action.COMPILE.value).select(
        "profile_id", "signature", *decision_rows.read("after", {"members": decision_rows.BLOCK["members"]})
    )
    named = compiled.explode("members").drop_nulls("members").rename({"members": "memory_id"})
    cut = full.filter(pl.col("action") == Action.TRIM.value).select("profile_id", "signature", "memory_id")
    return pl.concat([named, cut], how="diagonal").join(known, on=KEY, how="anti").select("profile_id", "signature")


def _signed(changes: pl.DataFrame) -> pl.DataFrame:
    return changes.with_columns(_digests(changes, _SIGNED).alias("signature"))


def _numbered(changes: pl.DataFrame, profiles: pl.DataFrame) -> pl.DataFrame:
    """Make changes decisions of their profile's plan, numbered in order of application."""
    place = pl.col("action").replace_strict(decision_rows.ORDER, return_dtype=pl.Int64)
    rows = (
        changes.join(profiles.select("profile_id", "plan_id", "as_of"), on="profile_id")
        .sort("profile_id", place, "memory_id", "target_id", "rule", "signature")
        .with_columns(
            ordinal=pl.int_range(pl.len()).over("profile_id"), status=pl.lit("proposed"), seq=pl.lit(0, pl.Int64)
        )
    )
    return _PLAN.conform(rows.with_columns(_digests(rows, ("plan_id", "signature")).str.head(32).alias("decision_id")))


def _digests(rows: pl.DataFrame, columns: tuple[str, ...]) -> pl.Series:
    """SHA-256 of columns, one a row."""
    return pl.Series(
        [_digest(*("" if value is None else value for value in row)) for row in rows.select(columns).iter_rows()],
        dtype=pl.String,
    )


def _digest(*parts: str) -> str:
    """SHA-256 of parts, told apart by a character that no id or name contains."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def effective(plan: pl.DataFrame, committed: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions that a plan leaves in force at its instant: its own, not held, and those committed before.

    Args:
        plan: table `consolidation_plan`.
        committed: decisions in force that were committed at the plan's instant.
    """
    own = plan.filter(pl.col("status") != "held").with_columns(
        seq=pl.lit(1 + (committed.select(pl.col("seq").max()).item() or 0), pl.Int64)
    )
    return projection.unmasked(pl.concat([committed, own]), TABLES["reverted"].empty())


def post_state(state: State, plan: pl.DataFrame, committed: pl.DataFrame) -> State:
    """Return the state once `plan` is committed; equal to a fold of the ledger after it.

    Args:
        state: the state before anything was decided at the plan's instant.
        plan: table `consolidation_plan`.
        committed: decisions in force that were committed at the plan's instant.
    """
    return projection.apply(state, effective(plan, committed))


def live(memories: pl.DataFrame) -> dict[str, int]:
    """Return how many live memories each profile has."""
    counts = memories.filter(pl.col("lifecycle").is_in(LIVE)).group_by("profile_id").len().sort("profile_id")
    return dict(counts.iter_rows())


def quota(plan: pl.DataFrame, state: State) -> pl.DataFrame:
    """Return how many live originals each profile has, and how many of them a plan takes away without a summary.

    What has a summary is not lost, and a summary that goes away leaves its members.

    Returns:
        `profile_id`, `live`, `leaving`, `share` (0..1), one row a profile with live originals.
    """
    originals = state.memories.filter(pl.col("lifecycle").is_in(LIVE), pl.col("kind") == "original").select(KEY)
    lost = plan.filter(pl.col("action").is_in(list(decision_rows.LEAVES)) & pl.col("target_id").is_null())
    leaving = originals.join(lost, on=KEY, how="semi").group_by("profile_id").agg(leaving=pl.len().cast(pl.Int64))
    return (
        originals.group_by("profile_id")
        .agg(live=pl.len().cast(pl.Int64))
        .join(leaving, on="profile_id", how="left")
        .with_columns(pl.col("leaving").fill_null(0))
        .with_columns(share=pl.col("leaving") / pl.col("live"))
        .sort("profile_id")
    )


def hold(plan: pl.DataFrame, profiles: pl.DataFrame, state: State, *, floor: int = QUOTA_FLOOR) -> pl.DataFrame:
    """Hold back every decision of a profile that would lose too many memories at once; others are not affected.

    Args:
        plan: table `consolidation_plan`.
        profiles: `max_archived_share`, the share of live originals that may leave without a summary.
        state: the state before the plan.
        floor: so many may leave, whatever their share.

    Returns:
        The plan, those decisions with status `held`.
    """
    over = quota(plan, state).join(profiles, on="profile_id").filter(pl.col("leaving") > _most(floor))
    held = pl.col("profile_id").is_in(over["profile_id"].implode())
    return plan.with_columns(status=pl.when(held).then(pl.lit("held")).otherwise("status"))


def spare(decided: pl.DataFrame, profiles: pl.DataFrame, state: State, *, floor: int = QUOTA_FLOOR) -> pl.DataFrame:
    """Return how many more originals each profile may lose before it is held: what a token budget may take.

    Args:
        decided: what else is decided, at the same instant.
        profiles: `max_archived_share`, as for `hold`.
        state: the state before it.
        floor: as for `hold`.

    Returns:
        `profile_id`, `spare`, one row a profile with live originals.
    """
    counted = quota(decided, state).join(profiles.select("profile_id", "max_archived_share"), on="profile_id")
    return counted.select("profile_id", spare=(_most(floor) - pl.col("leaving")).clip(0))


def _most(floor: int) -> pl.Expr:
    """Most originals that may leave; a share that comes to a whole number but for its last bit counts as that."""
    share = (pl.col("live") * pl.col("max_archived_share") + 1e-9).floor().cast(pl.Int64)
    return pl.max_horizontal(share, pl.lit(floor, pl.Int64))


def dependants(decisions: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions that build on others.

    On a summary builds whatever concerns it; on an edge, that it was pruned; on a promotion or a trim the next one; on
    the cold, that a memory became a stub.

    Args:
        decisions: decisions in force.
        chosen: those of them to build on.

    Returns:
        Rows of `decisions`, also those that build on dependants; none of `chosen`.
    """
    key = ["profile_id", "decision_id"]
    found = chosen
    while True:
        built = _built_on(decisions.join(found, on=key, how="anti"), found)
        if built.is_empty():
            return decisions.join(found, on=key, how="semi").join(chosen, on=key, how="anti")
        found = pl.concat([found, built.select(found.columns)])


def _built_on(decisions: pl.DataFrame, base: pl.DataFrame) -> pl.DataFrame:
    summaries = base.filter(pl.col("action") == Action.SUMMARISE.value).select("profile_id", "memory_id", since="seq")
    named = [
        decisions.join(summaries.rename({"memory_id": end}), on=["profile_id", end]).filter(
            pl.col("seq") >= pl.col("since")
        )
        for end in ("memory_id", "target_id")
    ]
    edge = ["profile_id", "memory_id", "target_id", "edge_type"]
    typed = decision_rows.read("after", {"edge_type": pl.String()})
    links = base.filter(pl.col("action") == Action.LINK.value).with_columns(typed).select(*edge, since="seq")
    pruned = decisions.filter(pl.col("action") == Action.PRUNE.value).with_columns(typed).join(links, on=edge)
    named.append(pruned.filter(pl.col("seq") >= pl.col("since")).drop("edge_type"))
    for first, then in ((Action.PROMOTE, Action.PROMOTE), (Action.TRIM, Action.TRIM), (Action.COLD, Action.STUB)):
        earlier = base.filter(pl.col("action") == first.value).group_by(KEY).agg(since=pl.col("seq").min())
        later = decisions.filter(pl.col("action") == then.value).join(earlier, on=KEY)
        named.append(later.filter(pl.col("seq") > pl.col("since")))
    return pl.concat(named).drop("since").unique(["profile_id", "decision_id"])
