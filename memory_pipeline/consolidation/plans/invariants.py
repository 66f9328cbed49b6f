"""Invariants of a plan: the rows that break one, whatever was decided.

Not here: what a plan proposes and how the quota holds it back (`planning`), and what stops a run (`assets.checks`,
`runs.commit`).
"""

import polars as pl
import polars.selectors as cs

from memory_pipeline import schemas
from memory_pipeline.consolidation import scope, similarity
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.scoring import bars_supersession
from memory_pipeline.consolidation.state import decision_json, projection
from memory_pipeline.consolidation.state.decision_json import does
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.schemas import LIVE, Action, Frame, Lifecycle
from memory_pipeline.settings import Policy


def violations(
    plan: Frame[schemas.ConsolidationPlan],
    state: State,
    profiles: Frame[schemas.Profiles],
    *,
    policy: Policy,
    scored: Frame[schemas.ScoredMemories],
    post: State,
    retrievable: pl.DataFrame,
    within: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the rows that would break an invariant if `plan` were committed.

    - `protected`: a protected memory leaves the live set, or an explicitly protected or core memory is superseded,
      trimmed or cut to a stub. The protection of a summary prevents neither its replacement nor its archival once it is
      stale. A token budget may trim everything that is neither explicitly protected nor core, and archive whatever is
      not `scored_memories.budget_protected`.
    - `isolation`: a decision or an edge names a memory of another profile, or a profile that is not part of the run.
    - `retrievable`: a superseded original has no live summary, or one superseded by this plan has a summary that no
      search finds.
    - `finite`: a number is NaN, infinite, or null although it is required.
    - `conservation`: a memory is lost, duplicated, in no lifecycle, created from nothing, or has no text left.
    - `decided_twice`: two decisions move the same memory.
    - `scope`: a run about a part of a profile changes a memory outside it.

    Args:
        state: the state before the plan; `post` is that after it (see `post_state`), `scored` the scores before it.
        retrievable: `profile_id`, `memory_id` of the memories that a search of `post` finds.
        within: `profile_id`, `memory_id` of the only memories that may change; default: all.

    Returns:
        `profile_id`, `check`, `memory_id`, `detail` (a sentence), one row per violation; empty if there are none.
    """
    effective = plan.filter(pl.col("status") != "held")
    violating = [
        _leaves_protected(effective, state.memories, scored, policy),
        *_foreign(plan, profiles, post),
        *_without_summary(effective, post.memories, retrievable),
        *_not_finite(plan, scored, post),
        *_not_conserved(plan, state.memories, post.memories),
        _decided_twice(plan),
        *([] if within is None else [_beyond(plan, within)]),
    ]
    return pl.concat(violating).sort("profile_id", "check", "memory_id", "detail")


def _bad(rows: pl.DataFrame, check: str, detail: pl.Expr, *, memory_id: str = "memory_id") -> pl.DataFrame:
    return rows.select(
        "profile_id", check=pl.lit(check), memory_id=pl.col(memory_id).fill_null(""), detail=detail.fill_null("")
    )


def retrievable(memories: Frame[schemas.Memories], vectors: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the live summaries that a search for their own words finds: profile_id, memory_id.

    These are the ones whose vector by `model`, the embedder, can be compared with those of the other live memories.
    Nothing has to be searched: the nearest memories of such a summary either include it, or as many others that are at
    least as near to its words as it is itself.
    """
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*KEY, "kind", "content_hash")
    embedded = vectors.filter(pl.col("model") == model).drop("model")
    points = live.join(embedded, on=["profile_id", "content_hash"]).sort(KEY)
    comparable = pl.Series(~similarity.unknown(similarity.matrix(points["vector"])))
    return points.filter(comparable & (pl.col("kind") != "original")).select(KEY)


def _leaves_protected(plan: pl.DataFrame, memories: pl.DataFrame, scored: pl.DataFrame, policy: Policy) -> pl.DataFrame:
    """Return decisions against protected memories."""
    moved = plan.join(memories.select(*KEY, "kind", barred=bars_supersession(policy)), on=KEY).join(
        scored.select(*KEY, "is_protected", "budget_protected", "protection_reason"), on=KEY, how="left"
    )
    original = pl.col("kind") == "original"
    replaced = does(Action.SUPERSEDE)
    lost = pl.col("action").is_in(list(decision_json.LEAVES))
    stale = ~original & (pl.col("rule") == "stale_summary")
    is_protected = pl.col("is_protected").fill_null(value=False) | (original & pl.col("barred"))
    for_room = pl.col("barred") | (lost & pl.col("budget_protected").fill_null(value=False))
    otherwise = (replaced & original & pl.col("barred")) | (lost & ~stale & is_protected)
    bad = moved.filter(pl.when(pl.col("rule") == decision_json.BUDGET).then(for_room).otherwise(otherwise))
    why = pl.coalesce("protection_reason", pl.lit("explicit flag or category core"))
    return _bad(bad, "protected", pl.format("{} by rule {}, but it is protected: {}.", "action", "rule", why))


def _foreign(plan: pl.DataFrame, profiles: pl.DataFrame, post: State) -> list[pl.DataFrame]:
    """Return decisions and edges that name an unknown memory, plan or instant."""
    created = plan.filter(does(Action.SUMMARISE))
    existing = pl.concat([post.memories.select(KEY), created.select(KEY)])
    compiled = plan.filter(does(Action.COMPILE))
    listed = decision_json.read("after", {"members": pl.List(pl.String())})
    members = pl.concat([created, compiled]).with_columns(listed).explode("members")
    concerned = plan.filter(~does(Action.WITHDRAW, Action.COMPILE))
    named = pl.concat(
        [
            concerned.select("profile_id", "action", "memory_id"),
            concerned.drop_nulls("target_id").select("profile_id", "action", memory_id="target_id"),
            members.drop_nulls("members").select("profile_id", "action", memory_id="members"),
            *(
                post.edges.select("profile_id", pl.lit("edge").alias("action"), memory_id=end)
                for end in ("source", "target")
            ),
        ]
    ).unique()
    unknown = named.join(existing, on=KEY, how="anti")
    outside = plan.join(profiles, on=["profile_id", "plan_id", "as_of"], how="anti")
    return [
        _bad(unknown, "isolation", pl.format("{} names a memory that the profile does not have.", "action")),
        _bad(
            outside,
            "isolation",
            pl.format("{} belongs to plan {}, which is not a plan of this run.", "action", "plan_id"),
        ),
    ]


def _without_summary(plan: pl.DataFrame, memories: pl.DataFrame, retrievable: pl.DataFrame) -> list[pl.DataFrame]:
    """Return superseded originals whose summary is not live, or not found by any search."""
    named = ["profile_id", "superseded_by"]
    summaries = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", superseded_by="memory_id")
    # A summary that was replaced holds nothing of its own: only what agents stored must be found in some summary.
    superseded = memories.filter((pl.col("superseded_kind") == "summary") & (pl.col("kind") == "original"))
    alone = superseded.join(summaries, on=named, how="anti")
    hidden = (
        superseded.join(plan.filter(does(Action.SUPERSEDE)), on=KEY, how="semi")
        .join(alone, on=KEY, how="anti")
        .join(retrievable.select("profile_id", superseded_by="memory_id"), on=named, how="anti")
    )
    return [
        _bad(alone, "retrievable", pl.format("Its summary {} is not live.", "superseded_by")),
        _bad(hidden, "retrievable", pl.format("No search finds its summary {}.", "superseded_by")),
    ]


def _not_finite(plan: pl.DataFrame, scored: pl.DataFrame, post: State) -> list[pl.DataFrame]:
    """Return numbers that are NaN, infinite or missing, in the plan and in the tables after it."""
    texts = pl.concat_str("factors", "before", "after", separator=" ")
    unwritable = plan.filter(texts.str.contains(r"[:\[,]\s*-?(?:NaN|Infinity)"))
    summaries = post.memories.filter(pl.col("kind") != "original")
    return [
        _bad(unwritable, "finite", pl.format("{} has a number that is NaN or infinite.", "action")),
        _nonfinite(scored, "memory_id", required=(), optional=cs.float()),
        _nonfinite(post.edges, "source", required=("weight", "base_weight"), optional=cs.float()),
        _nonfinite(
            post.memories, "memory_id", required=("confidence", "stability_gain", "energy_base"), optional=cs.float()
        ),
        _nonfinite(summaries, "memory_id", required=("importance_given", "stability_given"), optional=cs.empty()),
    ]


def _nonfinite(rows: pl.DataFrame, memory_id: str, *, required: tuple[str, ...], optional: cs.Selector) -> pl.DataFrame:
    """Return rows with a number that is not finite, or null although it is required."""
    invalid = [~column.is_finite() for column in (pl.col(name) for name in rows.select(optional).columns)]
    invalid += [pl.col(name).is_null() for name in required]
    bad = rows.filter(pl.any_horizontal(pl.lit(value=False), *invalid))
    return _bad(bad, "finite", pl.lit("One of its numbers is NaN, infinite or missing."), memory_id=memory_id)


def _not_conserved(plan: pl.DataFrame, before: pl.DataFrame, after: pl.DataFrame) -> list[pl.DataFrame]:
    """Return memories lost, created from nothing, duplicated, in no lifecycle, or without text."""
    lost = before.join(after, on=KEY, how="anti")
    new = after.filter(pl.col("kind") == "original").join(before, on=KEY, how="anti")
    unplanned = plan.filter(does(Action.SUMMARISE), pl.col("status") != "held").join(after, on=KEY, how="anti")
    nowhere = after.filter(~pl.col("lifecycle").is_in([lifecycle.value for lifecycle in Lifecycle]))
    blank = after.filter(~pl.col("trimmed").str.contains(r"\S"))
    return [
        _bad(lost, "conservation", pl.lit("It is not in the state after the plan.")),
        _bad(new, "conservation", pl.lit("Nobody stored it.")),
        _bad(unplanned, "conservation", pl.lit("It should have been created and is missing.")),
        _bad(nowhere, "conservation", pl.format("Its lifecycle is {}, which does not exist.", "lifecycle")),
        _bad(blank, "conservation", pl.lit("It was trimmed to nothing.")),
        _bad(after.filter(after.select(KEY).is_duplicated()), "conservation", pl.lit("It occurs more than once.")),
    ]


def _decided_twice(plan: pl.DataFrame) -> pl.DataFrame:
    """Return memories moved by more than one decision."""
    moves = plan.filter(pl.col("action").is_in(projection.MOVES)).sort(*KEY, "ordinal")
    twice = moves.group_by(KEY, maintain_order=True).agg("action").filter(pl.col("action").list.len() > 1)
    return _bad(
        twice, "decided_twice", pl.format("It is decided more than once: {}.", pl.col("action").list.join(", "))
    )


def _beyond(plan: pl.DataFrame, within: pl.DataFrame) -> pl.DataFrame:
    """Return decisions that change memories outside the scope of the run."""
    changing = plan.filter(~does(Action.WITHDRAW))
    beyond = changing.join(scope.decided_about(changing, within), on=["profile_id", "decision_id"], how="anti")
    return _bad(beyond, "scope", pl.format("{} by rule {} changes a memory outside the scope.", "action", "rule"))
