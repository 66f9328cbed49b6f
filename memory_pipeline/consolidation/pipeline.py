"""One run as a chain of stages: each takes tables of several profiles and returns tables.

A stage here only hands a policy's values to the module that knows how (`scoring`, `clustering`, ...). The same
functions are the bodies of the assets, of a rebuild and of an undo, so that all three give the same tables.
What is not here: reading or keeping tables (`lake/`), and what starts a run (`jobs/`, `sensors/`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeVar, cast

import numpy as np
import polars as pl

from memory_pipeline.consolidation import (
    associations,
    centrality,
    clustering,
    forgetting,
    planning,
    projection,
    scoring,
    similarity,
    summarising,
)
from memory_pipeline.lake.schemas import LIVE, TABLES, Action
from memory_pipeline.settings import Policy
from memory_pipeline.text import embedding, enriching, importance

Frames = tuple[pl.DataFrame, ...]
Two = tuple[pl.DataFrame, pl.DataFrame]
Three = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
R = TypeVar("R", bound=pl.DataFrame | Frames)

TASKS: Final[dict[str, frozenset[Action]]] = {
    "full": frozenset(Action),
    "reflect": frozenset({Action.LINK, Action.SUMMARISE, Action.SUPERSEDE}),
    "lightweight": frozenset({Action.PRUNE}),
    "decay": frozenset({Action.PRUNE}),
    "creative": frozenset({Action.LINK}),
    "cluster": frozenset({Action.SUMMARISE, Action.SUPERSEDE}),
    "forget": frozenset({Action.DELETE, Action.ARCHIVE}),
}
"""What each task may decide; every task scores, links and clusters, so that its decisions see the whole picture."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """What the profiles of one policy share in a run."""

    policy: Policy
    as_of: datetime
    plan_id: str
    task: str = "full"


def each(
    profiles: pl.DataFrame,
    policies: Mapping[str, Policy],
    stage: Callable[..., R],
    *frames: pl.DataFrame,
) -> R:
    """Apply `stage` once for each policy in play and put the results together.

    Args:
        profiles: who takes part; `policy_hash` says under which policy.
        policies: the policies by hash.
        stage: takes a turn and `frames`, and returns one table or several.
        frames: tables with a `profile_id`; a stage sees only the rows of its own profiles.
    """
    results = []
    for (policy_hash, plan_id, as_of, task), group in profiles.group_by(
        ["policy_hash", "plan_id", "as_of", "task"], maintain_order=True
    ):
        turn = Turn(policy=policies[str(policy_hash)], as_of=as_of, plan_id=str(plan_id), task=str(task))
        own = group.select("profile_id")
        results.append(stage(turn, *(frame.join(own, on="profile_id", how="semi") for frame in frames)))
    if not results:
        turn = Turn(policy=Policy(), as_of=datetime.min.replace(tzinfo=UTC), plan_id="")
        return stage(turn, *(frame.clear() for frame in frames))
    parts = [(result,) if isinstance(result, pl.DataFrame) else result for result in results]
    whole = tuple(pl.concat(part) for part in zip(*parts, strict=True))
    return cast("R", whole[0] if isinstance(results[0], pl.DataFrame) else whole)


def project(turn: Turn, events: pl.DataFrame, decisions: pl.DataFrame, reverted: pl.DataFrame) -> Two:
    """Fold the ledger: `memories` and `decided_edges` before anything was decided at this very instant."""
    before = projection.unmasked(decisions, reverted).filter(pl.col("as_of") < turn.as_of)
    state = projection.fold(events, before)
    return state.memories, state.edges


def enrich(turn: Turn, memories: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame) -> Two:
    """Words and vectors of texts that have none yet: the rows to add to `enrichment` and `vectors`."""
    known = vectors.filter(pl.col("model") == turn.policy.embedder)
    keys = ["profile_id", "content_hash"]
    own = enriching.texts(memories)
    bare = own.join(known, on=keys, how="anti").with_columns(content="embedded")
    return (
        enriching.enrich(own.join(enrichment, on=keys, how="anti")),
        embedding.embed_texts(bare, turn.policy.embedder),
    )


def derive(turn: Turn, memories: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """Edges that follow from the memories themselves."""
    return associations.derive(memories, enrichment, vectors, turn.policy, as_of=turn.as_of)


def measure(
    turn: Turn, memories: pl.DataFrame, enrichment: pl.DataFrame, derived: pl.DataFrame, decided: pl.DataFrame
) -> pl.DataFrame:
    """How central each live memory is, over edges at their present weight."""
    edges = associations.decay(associations.union(decided, derived), turn.policy, as_of=turn.as_of)
    return centrality.measure(memories, importance.effective(memories, enrichment), edges, turn.policy)


def score(
    turn: Turn, memories: pl.DataFrame, measured: pl.DataFrame, decided: pl.DataFrame, derived: pl.DataFrame
) -> pl.DataFrame:
    """Every score of every live memory."""
    edges = associations.union(decided, derived)
    return scoring.score(memories, measured, edges, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id)


def discover(
    turn: Turn,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    decided: pl.DataFrame,
    derived: pl.DataFrame,
    vectors: pl.DataFrame,
) -> pl.DataFrame:
    """Edges that a plan would decide."""
    edges = associations.union(decided, derived)
    return associations.discover(memories, scored, edges, vectors, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id)


def associate(turn: Turn, decided: pl.DataFrame, derived: pl.DataFrame, proposed: pl.DataFrame) -> pl.DataFrame:
    """All edges at their present weight; where two say the same, what was decided stands."""
    edges = associations.union(decided, proposed, derived)
    return associations.decay(edges, turn.policy, as_of=turn.as_of)


def cluster(
    turn: Turn, memories: pl.DataFrame, scored: pl.DataFrame, enrichment: pl.DataFrame, vectors: pl.DataFrame
) -> Three:
    """Groups of memories: `clusters`, `cluster_members`, `merge_refusals`."""
    found = clustering.cluster(
        memories, scored, enrichment, vectors, turn.policy, as_of=turn.as_of, plan_id=turn.plan_id
    )
    return found.clusters, found.cluster_members, found.merge_refusals


def summarise(
    turn: Turn,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
    memories: pl.DataFrame,
    scored: pl.DataFrame,
    enrichment: pl.DataFrame,
) -> pl.DataFrame:
    """New summaries of the clusters that have none yet."""
    return summarising.summarise(clusters, members, memories, scored, enrichment, turn.policy, plan_id=turn.plan_id)


def forget(
    turn: Turn,
    scored: pl.DataFrame,
    memories: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    members: pl.DataFrame,
) -> pl.DataFrame:
    """What leaves the live set, and why: what the policy forgets, and summaries whose cluster is gone."""
    standing = pl.concat([summaries, _standing(memories, summaries, clusters)], how="diagonal")
    chosen = forgetting.select(scored, memories, standing, turn.policy, plan_id=turn.plan_id)
    key = ["profile_id", "memory_id"]
    replaced = summaries.select("profile_id", memory_id="replaces").explode("memory_id")
    stale = (
        summarising.stale(memories, clusters, members)
        .join(replaced, on=key, how="anti")
        .join(chosen, on=key, how="anti")
        .join(scored.select(*key, "strength"), on=key, how="left")
        .with_columns(action=pl.lit(Action.ARCHIVE.value), rule=pl.lit("stale_summary"), plan_id=pl.lit(turn.plan_id))
    )
    return TABLES["archived_set"].conform(pl.concat([chosen, stale], how="diagonal"))


def _standing(memories: pl.DataFrame, summaries: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Live summaries of clusters that get no new one: a member that came back live is theirs again."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", "cluster_id", "memory_id", "members")
    return (
        live.rename({"memory_id": "summary_id"})
        .join(clusters, on=["profile_id", "cluster_id"])
        .join(summaries, on=["profile_id", "cluster_id"], how="anti")
        .select("profile_id", "summary_id", "members", supersedes=pl.col("method").is_in(clustering.SUPERSEDING))
    )


def plan(
    turn: Turn,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    summaries: pl.DataFrame,
    archived: pl.DataFrame,
    proposed: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
) -> pl.DataFrame:
    """What to change: the desired state less the present one, held back where it exceeds the quota."""
    state = projection.State(memories, decided)
    if turn.task == "reflect":
        summaries, archived, proposed = _recent(profiles, memories, summaries, archived, proposed)
    faded = associations.faded(associations.decay(decided, turn.policy, as_of=turn.as_of), turn.policy)
    proposal = planning.propose(
        profiles,
        state,
        summaries=summaries,
        archived_set=archived,
        proposed_edges=proposed,
        pruned_edges=faded,
        committed=present(turn, decisions, reverted),
        decisions=decisions,
        reverted=reverted,
        actions=TASKS[turn.task],
    )
    return planning.hold(proposal, profiles, state)


def _recent(profiles: pl.DataFrame, memories: pl.DataFrame, *tables: pl.DataFrame) -> Three:
    """Keep the rows about sessions in which something was stored since the last reflection."""
    originals = memories.filter(pl.col("kind") == "original").join(profiles, on="profile_id", suffix="_profile")
    new = originals.filter(pl.col("seq") > pl.col("since")).select("profile_id", "memory_id", "session_id")
    touched = originals.join(new, on=["profile_id", "session_id"], how="semi")
    recent = pl.concat([touched.select("profile_id", "memory_id"), new.select("profile_id", "memory_id")]).unique()
    summaries, archived, proposed = tables
    about = (
        summaries.explode("members")
        .join(recent, left_on=["profile_id", "members"], right_on=["profile_id", "memory_id"], how="semi")
        .select("profile_id", "summary_id")
        .unique()
    )
    ends = [
        proposed.join(recent, left_on=["profile_id", end], right_on=["profile_id", "memory_id"], how="semi")
        for end in ("source", "target")
    ]
    return (
        summaries.join(about, on=["profile_id", "summary_id"], how="semi"),
        archived.join(about, left_on=["profile_id", "target_id"], right_on=["profile_id", "summary_id"], how="semi"),
        pl.concat(ends).unique(TABLES["proposed_edges"].key, keep="first"),
    )


def present(turn: Turn, decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """What earlier runs at this very instant decided and nothing has undone."""
    return projection.unmasked(decisions, reverted).filter(pl.col("as_of") == turn.as_of)


def settle(
    turn: Turn,
    plan: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    enrichment: pl.DataFrame,
    vectors: pl.DataFrame,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    derived: pl.DataFrame,
) -> Frames:
    """Apply a plan and describe the state after it; `derived` edges are made anew if the memories change.

    Returns:
        `memories`, `decided_edges`, `derived_edges`, `memory_importance`, `scored_memories`, `association_edges` once
        the plan is committed, then the rows that new summaries add to `enrichment` and `vectors`.
    """
    state = planning.post_state(projection.State(memories, decided), plan, present(turn, decisions, reverted))
    words, points = enrich(turn, state.memories, enrichment, vectors)
    enrichment, vectors = pl.concat([enrichment, words]), pl.concat([vectors, points])
    if not state.memories.equals(TABLES["memories"].conform(memories)):
        derived = derive(turn, state.memories, enrichment, vectors)
    measured = measure(turn, state.memories, enrichment, state.edges, derived)
    scored = score(turn, state.memories, measured, state.edges, derived)
    edges = associate(turn, state.edges, derived, state.edges.clear())
    return state.memories, state.edges, derived, measured, scored, edges, words, points


SETTLED: Final = (
    "memories",
    "decided_edges",
    "derived_edges",
    "memory_importance",
    "scored_memories",
    "association_edges",
    "enrichment",
    "vectors",
)
"""What `settle` returns, in order."""


def inspect(
    turn: Turn,
    plan: pl.DataFrame,
    profiles: pl.DataFrame,
    memories: pl.DataFrame,
    decided: pl.DataFrame,
    scored: pl.DataFrame,
    after: pl.DataFrame,
    after_edges: pl.DataFrame,
    vectors: pl.DataFrame,
) -> pl.DataFrame:
    """Rows of a plan that break an invariant: `profile_id`, `check`, `memory_id`, `detail`; none if all is well."""
    post = projection.State(after, after_edges)
    return planning.violations(
        plan,
        projection.State(memories, decided),
        profiles,
        policy=turn.policy,
        scored=scored,
        post=post,
        retrievable=retrievable(turn, after, vectors),
    )


def retrievable(turn: Turn, memories: pl.DataFrame, vectors: pl.DataFrame) -> pl.DataFrame:
    """Live summaries that a search for their own words finds among the ten nearest live memories."""
    keys = ["profile_id", "memory_id"]
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select(*keys, "kind", "content_hash")
    own = vectors.filter(pl.col("model") == turn.policy.embedder).drop("model")
    points = live.join(own, on=["profile_id", "content_hash"]).sort(keys)
    summaries = points.filter(pl.col("kind") != "original")
    if summaries.is_empty():
        return summaries.select(keys)
    space = similarity.matrix(points["vector"])
    places = points.with_row_index("place").join(summaries, on=keys, how="semi")["place"].to_numpy()
    groups = points["profile_id"].rank("dense").cast(pl.Int64).to_numpy()
    found = similarity.top_k(space[places], space, groups[places], groups, 10)
    hit = places[found.left[places[found.left] == found.right]]
    return points[np.unique(hit)].select(keys)


def participants(
    policies: Mapping[str, Policy],
    *,
    ledger_digest: str,
    as_of: datetime,
    seq: int,
    heads: Mapping[str, int],
    since: Mapping[str, int],
    task: str = "full",
    trigger: str = "manual",
    max_archived_share: float | None = None,
    retry_reverted: bool = False,
) -> pl.DataFrame:
    """Return the table `profiles`: who takes part, from which state, under which policy.

    Args:
        policies: policy of each profile that takes part.
        ledger_digest: digest of what agents wrote up to `seq`.
        as_of: the one clock.
        seq: ledger position to read up to.
        heads: last commit of each profile.
        since: position up to which each profile was reflected on.
        task: what may be decided.
        trigger: what started the run.
        max_archived_share: quota instead of the policy's.
        retry_reverted: propose again what was undone.
    """
    rows = [
        {
            "profile_id": profile_id,
            "preset": policy.preset,
            "policy_hash": policy.digest,
            "as_of": as_of,
            "seq": seq,
            "head": heads.get(profile_id, 0),
            "plan_id": planning.plan_id(ledger_digest, policy.digest, as_of, seq),
            "trigger": trigger,
            "task": task,
            "since": since.get(profile_id, 0) if task == "reflect" else 0,
            "max_archived_share": policy.max_archived_share if max_archived_share is None else max_archived_share,
            "retry_reverted": retry_reverted,
        }
        for profile_id, policy in sorted(policies.items())
    ]
    return TABLES["profiles"].conform(pl.DataFrame(rows, schema=TABLES["profiles"].empty().schema))


@dataclass(frozen=True)
class Stage:
    """One stage of a run: its function and the tables it takes and gives."""

    function: Callable[..., pl.DataFrame | Frames]
    takes: tuple[str, ...]
    gives: tuple[str, ...]


STAGES: Final = (
    Stage(project, ("events", "decisions", "reverted"), ("memories", "decided_edges")),
    Stage(enrich, ("memories", "enrichment", "vectors"), ("enrichment", "vectors")),
    Stage(derive, ("memories", "enrichment", "vectors"), ("derived_edges",)),
    Stage(measure, ("memories", "enrichment", "decided_edges", "derived_edges"), ("memory_importance",)),
    Stage(score, ("memories", "memory_importance", "decided_edges", "derived_edges"), ("scored_memories",)),
    Stage(
        discover,
        ("memories", "scored_memories", "decided_edges", "derived_edges", "vectors"),
        ("proposed_edges",),
    ),
    Stage(associate, ("decided_edges", "derived_edges", "proposed_edges"), ("association_edges",)),
    Stage(
        cluster,
        ("memories", "scored_memories", "enrichment", "vectors"),
        ("clusters", "cluster_members", "merge_refusals"),
    ),
    Stage(
        summarise,
        ("clusters", "cluster_members", "memories", "scored_memories", "enrichment"),
        ("summaries",),
    ),
    Stage(
        forget,
        ("scored_memories", "memories", "summaries", "clusters", "cluster_members"),
        ("archived_set",),
    ),
    Stage(
        plan,
        (
            "profiles",
            "memories",
            "decided_edges",
            "summaries",
            "archived_set",
            "proposed_edges",
            "decisions",
            "reverted",
        ),
        ("consolidation_plan",),
    ),
)
"""The order of a run. The asset graph says the same; a test holds the two together."""


def run(tables: Mapping[str, pl.DataFrame], policies: Mapping[str, Policy]) -> dict[str, pl.DataFrame]:
    """Run every stage without Dagster: what a rebuild, an undo and a look at a past state do.

    Args:
        tables: `profiles`, `events`, `decisions`, `reverted`, `enrichment`, `vectors`.
        policies: the policies in play, by hash.

    Returns:
        All tables up to `consolidation_plan`.
    """
    made = dict(tables)
    for stage in STAGES:
        results = each(made["profiles"], policies, stage.function, *(made[name] for name in stage.takes))
        frames = (results,) if isinstance(results, pl.DataFrame) else results
        for name, frame in zip(stage.gives, frames, strict=True):
            table = TABLES[name]
            new = frame if table.kept == "replaced" else pl.concat([made[name], frame])
            made[name] = table.conform(new)
    return made
