"""The stages of a run: the one declaration of the graph.

A stage is a function decorated with `stage`. Its parameters after the context are the tables it takes, by name and
schema; its return type says which tables it gives. The order of a run, the assets, the rebuild, the undo and the docs
are all made from these signatures. A stage passes the policy's values to the module that does the work (`scoring`,
`clustering`, ...). Not here: what a signature declares (`stage`), the order of stages, and several policies in one run
(`pipeline`).
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import polars as pl

from memory_pipeline.consolidation import (
    atomic_facts,
    change_detection,
    core_memory,
    core_profile,
    currency,
    deferral,
    forgetting,
    judging,
    keeping,
    model_judge,
    model_requests,
    promotion,
    scope,
    scoring,
    trimming,
    worth,
)
from memory_pipeline.consolidation.columns import KEY
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations, centrality, links
from memory_pipeline.consolidation.edges import neighbours as near
from memory_pipeline.consolidation.groups import clustering
from memory_pipeline.consolidation.groups.strategies import SUPERSEDING
from memory_pipeline.consolidation.plans import invariants, planning
from memory_pipeline.consolidation.stage import DECLARED, Stage, stage
from memory_pipeline.consolidation.state import answers, decision_json, projection
from memory_pipeline.consolidation.state import foldings as folded
from memory_pipeline.consolidation.state.projection import State
from memory_pipeline.consolidation.summaries import summarising
from memory_pipeline.schemas import (
    INSTANT,
    LIVE,
    TABLES,
    Accesses,
    Action,
    ArchivedSet,
    AssociationEdges,
    ChangeOdds,
    ClusterMembers,
    Clusters,
    Comparisons,
    Completions,
    ConsolidationPlan,
    CoreMemoryBlocks,
    CoreSentences,
    DecidedEdges,
    Decisions,
    Deferred,
    DerivedEdges,
    Enrichment,
    Events,
    FactChanges,
    Foldings,
    Frame,
    Groupings,
    Judgements,
    Memories,
    MemoryImportance,
    MergeRefusals,
    Neighbours,
    PairReadings,
    Profiles,
    Promotions,
    ProposedBlocks,
    ProposedEdges,
    Reverted,
    ScoredMemories,
    SettledAccesses,
    SettledAssociationEdges,
    SettledCoreMemoryBlocks,
    SettledDecidedEdges,
    SettledDerivedEdges,
    SettledEnrichment,
    SettledFoldings,
    SettledMemories,
    SettledMemoryImportance,
    SettledScoredMemories,
    SettledTierChanges,
    SettledVectors,
    Summaries,
    TierChanges,
    Trims,
    Vectors,
    Verdicts,
    conform,
    empty,
)
from memory_pipeline.settings import Policy
from memory_pipeline.text import enrich
from memory_pipeline.text.compare.judges import JUDGES
from memory_pipeline.text.embed import embedding, encoder
from memory_pipeline.text.score import importance

EDGES: Final = frozenset(Action) - {Action.PRUNE, Action.COMPILE}
"""Actions that read or change derived edges; a run that may decide none of them keeps the edges of the last one."""


# --- the state of every memory


class StateTables(NamedTuple):
    """The tables that a state consists of, and what they were folded from."""

    memories: Frame[Memories]
    decided_edges: Frame[DecidedEdges]
    accesses: Frame[Accesses]
    tier_changes: Frame[TierChanges]
    core_memory_blocks: Frame[CoreMemoryBlocks]
    foldings: Frame[Foldings]


STATE: Final = StateTables._fields
"""Names of the tables that a state consists of."""


@stage()
def project(
    context: Context,
    events: Frame[Events],
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    memories: Frame[Memories],
    decided_edges: Frame[DecidedEdges],
    tier_changes: Frame[TierChanges],
    core_memory_blocks: Frame[CoreMemoryBlocks],
    foldings: Frame[Foldings],
) -> StateTables:
    """Fold the ledger into the state before anything was decided at this instant.

    Profiles in which nothing was written or decided since the last run have the state that it left.
    """
    before = projection.unmasked(decisions, reverted).filter(pl.col("as_of") < context.as_of)
    read = folded.digests(events, before)
    published = State(memories, decided_edges, tier_changes=tier_changes, blocks=core_memory_blocks)
    state = folded.state(events, before, read=read, published=published, foldings=foldings)
    return StateTables(
        memories=conform(Memories, state.memories),
        decided_edges=conform(DecidedEdges, state.edges),
        accesses=conform(Accesses, state.accesses),
        tier_changes=conform(TierChanges, state.tier_changes),
        core_memory_blocks=conform(CoreMemoryBlocks, state.blocks),
        foldings=conform(Foldings, folded.whole(read, state.memories, state.blocks)),
    )


# --- what follows from texts


class Added(NamedTuple):
    """What is extracted from new texts, for good."""

    enrichment: Frame[Enrichment]
    vectors: Frame[Vectors]


class Enriched(NamedTuple):
    """What is extracted from texts."""

    enrichment: Frame[Enrichment]
    vectors: Frame[Vectors]
    core_sentences: Frame[CoreSentences]


@stage()
def enrich_texts(
    context: Context,
    memories: Frame[Memories],
    enrichment: Frame[Enrichment],
    vectors: Frame[Vectors],
    core_sentences: Frame[CoreSentences],
) -> Enriched:
    """Extract words from, and embed, texts that have no row in `enrichment` or `vectors` yet; find core sentences."""
    added = new_texts(context=context, memories=memories, enrichment=enrichment, vectors=vectors)
    live = memories.filter(pl.col("lifecycle").is_in(LIVE) & _reads_sentences(context.policy))
    return Enriched(
        added.enrichment, added.vectors, conform(CoreSentences, core_profile.sentences(live, core_sentences))
    )


def _reads_sentences(policy: Policy) -> bool:
    """Return whether anything in a policy reads sentences: a profile of the user, a judge, or a token budget."""
    profiles_user = policy.core_blocks and policy.core_facts == core_memory.PROFILE
    judged = policy.fact_changes and JUDGES[policy.judge].reads
    return profiles_user or judged or policy.token_budget is not None


def new_texts(
    context: Context, memories: Frame[Memories], enrichment: Frame[Enrichment], vectors: Frame[Vectors]
) -> Added:
    """Return the rows that the texts of memories lack in `enrichment` and `vectors`.

    The judge reads vectors of its own where the policy's embedder is another one.
    """
    keys = ["profile_id", "content_hash"]
    texts = enrich.texts(memories)
    models = {context.policy.embedder} if "embedding" in context.policy.enrichments else set[str]()
    if context.policy.fact_changes and JUDGES[context.policy.judge].reads:
        models.add(encoder.NAME)
    added = [empty(Vectors)]
    for model in sorted(models):
        embedded = vectors.filter(pl.col("model") == model)
        missing = texts.join(embedded, on=keys, how="anti").with_columns(content="embedded")
        added.append(conform(Vectors, embedding.embed_texts(missing, model)))
    return Added(
        conform(Enrichment, enrich.enrich(texts.join(enrichment, on=keys, how="anti"))),
        conform(Vectors, pl.concat(added)),
    )


def mask_disabled(context: Context, enrichment: pl.DataFrame) -> pl.DataFrame:
    """Replace the enrichments that the policy disables by those of a text without any."""
    enabled = context.policy.enrichments
    nothing = {
        "keywords": pl.lit([], pl.List(pl.String)),
        "entities": pl.lit([], pl.List(pl.String)),
        "importance": pl.lit(centrality.UNKNOWN_IMPORTANCE),
        "gist": pl.lit(None, pl.String),
    }
    columns = {"importance": "rule_importance"}
    return enrichment.with_columns(
        value.alias(columns.get(name, name)) for name, value in nothing.items() if name not in enabled
    )


# --- the association graph and the scores


class Similar(NamedTuple):
    """Pairs of memories that say nearly the same, and what was compared to find them."""

    neighbours: Frame[Neighbours]
    comparisons: Frame[Comparisons]


@stage(serves=EDGES)
def find_neighbours(
    context: Context, memories: Frame[Memories], vectors: Frame[Vectors], comparisons: Frame[Comparisons]
) -> Similar:
    """Find the pairs of live memories that say nearly the same: compared once, for all edges of the run.

    Profiles whose live memories have not changed since the last run are not compared again.
    """
    found = near.compare(memories, vectors, context.policy, kept=comparisons)
    return Similar(conform(Neighbours, found.neighbours), conform(Comparisons, found.comparisons))


@stage(serves=EDGES)
def derive_edges(
    context: Context,
    memories: Frame[Memories],
    enrichment: Frame[Enrichment],
    neighbours: Frame[Neighbours],
    accesses: Frame[Accesses],
    decided_edges: Frame[DecidedEdges],
) -> Frame[DerivedEdges]:
    """Derive the edges that follow from the memories and from how they are used: never decided, always recomputed."""
    enabled = mask_disabled(context, enrichment)
    edges = associations.derive(
        memories=memories,
        enrichment=enabled,
        neighbours=neighbours,
        accesses=accesses,
        decided=decided_edges,
        policy=context.policy,
        as_of=context.as_of,
    )
    return conform(DerivedEdges, edges)


@stage()
def measure_importance(
    context: Context,
    memories: Frame[Memories],
    enrichment: Frame[Enrichment],
    derived_edges: Frame[DerivedEdges],
    decided_edges: Frame[DecidedEdges],
    accesses: Frame[Accesses],
) -> Frame[MemoryImportance]:
    """Measure how important and how central each live memory is, over edges at their present weight."""
    edges = _weighted(context, accesses, [decided_edges, derived_edges])
    given = importance.effective(memories, mask_disabled(context, enrichment))
    return conform(
        MemoryImportance,
        centrality.measure(
            memories=memories, importance=given, edges=edges, policy=context.policy, as_of=context.as_of
        ),
    )


@stage()
def score(
    context: Context,
    memories: Frame[Memories],
    memory_importance: Frame[MemoryImportance],
    decided_edges: Frame[DecidedEdges],
    derived_edges: Frame[DerivedEdges],
) -> Frame[ScoredMemories]:
    """Score every live memory by every design, each factor in its own column."""
    caused = pl.col("edge_type") == "CAUSED_BY"
    edges = associations.union(decided_edges.filter(caused), derived_edges.filter(caused))
    scores = scoring.score(
        memories=memories,
        importance=memory_importance,
        edges=edges,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return conform(ScoredMemories, scores)


@stage()
def defer(
    context: Context,
    profiles: Frame[Profiles],
    memories: Frame[Memories],
    memory_importance: Frame[MemoryImportance],
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
) -> Frame[Deferred]:
    """Defer live originals beyond the run's row limit: not compared or grouped now, first in the next run."""
    in_force = projection.unmasked(decisions, reverted).filter(pl.col("as_of") < context.as_of)
    rows = deferral.deferred(
        profiles=profiles, memories=memories, measured=memory_importance, decisions=in_force, plan_id=context.plan_id
    )
    return conform(Deferred, rows)


def _not_deferred(memories: pl.DataFrame, deferred: pl.DataFrame) -> pl.DataFrame:
    return memories.join(deferred, on=KEY, how="anti", maintain_order="left")


class Changes(NamedTuple):
    """Facts that newer memories change, what was judged to find them, and what a model was asked about them."""

    fact_changes: Frame[FactChanges]
    judgements: Frame[Judgements]
    verdicts: Frame[Verdicts]
    change_odds: Frame[ChangeOdds]
    pair_readings: Frame[PairReadings]


@stage(serves=frozenset({Action.LINK, Action.CLOSE}))
def detect_changes(
    context: Context,
    memories: Frame[Memories],
    deferred: Frame[Deferred],
    enrichment: Frame[Enrichment],
    vectors: Frame[Vectors],
    decided_edges: Frame[DecidedEdges],
    derived_edges: Frame[DerivedEdges],
    judgements: Frame[Judgements],
    pair_readings: Frame[PairReadings],
    verdicts: Frame[Verdicts],
    events: Frame[Events],
    core_sentences: Frame[CoreSentences],
) -> Changes:
    """Detect facts that a newer memory updates, contradicts or repeats; a model, if set, answers what is worth asking.

    Profiles whose memories have not changed since the last run are not judged again. What somebody has answered about
    a pair stands instead of any judgement.
    """
    compared, enabled = _not_deferred(memories, deferred), mask_disabled(context, enrichment)
    similar = pl.col("edge_type") == "SIMILAR_TO"
    changes, judged, odds, readings, possible = change_detection.compare(
        memories=compared,
        enrichment=enabled,
        vectors=vectors,
        edges=associations.union(decided_edges.filter(similar), derived_edges.filter(similar)),
        kept=judgements,
        recorded=pair_readings,
        sentences=core_sentences,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    answered = answers.standing(events, memories)
    pairs = model_judge.pairs(change_detection.unanswered(possible, answered), compared, core_sentences)
    combined, asked = model_requests.judged(
        changes=changes, pairs=pairs, verdicts=verdicts, context=context, within=scope.inside(context.scope, memories)
    )
    return Changes(
        conform(
            FactChanges,
            change_detection.with_answers(
                changes=combined, answered=answered, memories=compared, plan_id=context.plan_id
            ),
        ),
        conform(Judgements, judged),
        conform(Verdicts, asked),
        conform(ChangeOdds, odds),
        conform(PairReadings, readings),
    )


@stage()
def propose_edges(
    context: Context,
    memories: Frame[Memories],
    deferred: Frame[Deferred],
    scored_memories: Frame[ScoredMemories],
    decided_edges: Frame[DecidedEdges],
    derived_edges: Frame[DerivedEdges],
    vectors: Frame[Vectors],
    neighbours: Frame[Neighbours],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    fact_changes: Frame[FactChanges],
) -> Frame[ProposedEdges]:
    """Propose new edges; none if the run may decide no links."""
    if Action.LINK not in context.actions:
        return empty(ProposedEdges)
    edges = associations.discover(
        memories=_not_deferred(memories, deferred),
        scored=scored_memories,
        edges=associations.union(decided_edges, derived_edges),
        vectors=vectors,
        neighbours=neighbours,
        accesses=accesses,
        tier_changes=tier_changes,
        fact_changes=fact_changes,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return conform(ProposedEdges, edges)


@stage()
def associate(
    context: Context,
    decided_edges: Frame[DecidedEdges],
    derived_edges: Frame[DerivedEdges],
    proposed_edges: Frame[ProposedEdges],
    accesses: Frame[Accesses],
) -> Frame[AssociationEdges]:
    """Unite all edges at their present weight; of two rows for one edge, the decided one wins."""
    return conform(AssociationEdges, _weighted(context, accesses, [decided_edges, proposed_edges, derived_edges]))


def _weighted(context: Context, accesses: pl.DataFrame, edges: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Unite tables of edges (the first one wins), and strengthen and decay them up to `as_of`."""
    strengthened = associations.strengthen(
        edges=associations.union(*edges), accesses=accesses, policy=context.policy, as_of=context.as_of
    )
    return associations.decay(strengthened, context.policy, as_of=context.as_of)


# --- groups and their summaries


class Groups(NamedTuple):
    """Groups of memories, near duplicates that were not grouped, and what methods read to find them."""

    clusters: Frame[Clusters]
    cluster_members: Frame[ClusterMembers]
    merge_refusals: Frame[MergeRefusals]
    groupings: Frame[Groupings]


@stage(serves=frozenset({Action.SUMMARISE, Action.SUPERSEDE, Action.ARCHIVE}))
def cluster(
    context: Context,
    memories: Frame[Memories],
    deferred: Frame[Deferred],
    scored_memories: Frame[ScoredMemories],
    enrichment: Frame[Enrichment],
    vectors: Frame[Vectors],
    neighbours: Frame[Neighbours],
    association_edges: Frame[AssociationEdges],
    groupings: Frame[Groupings],
    events: Frame[Events],
    pair_readings: Frame[PairReadings],
) -> Groups:
    """Group memories by each method of the policy.

    A method that reads the same in a profile as in the last run does not group it again; nothing of a run about a part
    of a profile is kept.
    """
    enabled = mask_disabled(context, enrichment)
    answered = answers.standing(events, memories)
    sides = scope.sides(context.scope, _not_deferred(memories, deferred))
    groups = [
        clustering.cluster(
            memories=side,
            scored=scored_memories,
            enrichment=enabled,
            vectors=vectors,
            edges=association_edges,
            policy=context.policy,
            as_of=context.as_of,
            plan_id=context.plan_id,
            kept=groupings if len(sides) == 1 else None,
            neighbours=neighbours if near.hold_all(context.policy, context.policy.duplicate_similarity) else None,
            answered=answered,
            read=pair_readings.filter(pl.col("model") == judging.REPEATS),
        )
        for side in sides
    ]
    return Groups(
        clusters=conform(Clusters, pl.concat([one.clusters for one in groups])),
        cluster_members=conform(ClusterMembers, pl.concat([one.cluster_members for one in groups])),
        merge_refusals=conform(MergeRefusals, pl.concat([one.merge_refusals for one in groups])),
        groupings=conform(Groupings, groups[0].groupings) if len(sides) == 1 else empty(Groupings),
    )


@stage()
def complete(
    context: Context,
    clusters: Frame[Clusters],
    cluster_members: Frame[ClusterMembers],
    memories: Frame[Memories],
    scored_memories: Frame[ScoredMemories],
    enrichment: Frame[Enrichment],
    association_edges: Frame[AssociationEdges],
    fact_changes: Frame[FactChanges],
    completions: Frame[Completions],
) -> Frame[Completions]:
    """Ask a language model for the wording of summaries and blocks and the facts of entries not recorded yet.

    Nothing is asked where the policy names no model.
    """
    requests = model_requests.requests(
        clusters=clusters,
        cluster_members=cluster_members,
        memories=memories,
        scored=scored_memories,
        enrichment=mask_disabled(context, enrichment),
        policy=context.policy,
        as_of=context.as_of,
        actions=context.actions,
        edges=association_edges,
        outdated=_outdated(context=context, memories=memories, edges=association_edges, fact_changes=fact_changes),
        changes=fact_changes,
    )
    within = scope.inside(context.scope, memories)
    if within is not None:
        requests = scope.requested(within, requests, memories=memories, cluster_members=cluster_members)
    if requests.is_empty():
        return empty(Completions)
    share = model_requests.texts_share(context.policy)
    return conform(Completions, context.complete(requests, completions, share))


@stage()
def summarise(
    context: Context,
    clusters: Frame[Clusters],
    cluster_members: Frame[ClusterMembers],
    memories: Frame[Memories],
    scored_memories: Frame[ScoredMemories],
    enrichment: Frame[Enrichment],
    association_edges: Frame[AssociationEdges],
    fact_changes: Frame[FactChanges],
    completions: Frame[Completions],
) -> Frame[Summaries]:
    """Summarise the clusters that get a summary and have none yet, and state the facts of entries one by one."""
    enabled = mask_disabled(context, enrichment)
    rows = summarising.summarise(
        clusters=clusters,
        cluster_members=cluster_members,
        memories=memories,
        scored=scored_memories,
        enrichment=enabled,
        completions=completions,
        policy=context.policy,
        plan_id=context.plan_id,
        outdated=_outdated(context=context, memories=memories, edges=association_edges, fact_changes=fact_changes),
    )
    stated = atomic_facts.split(
        candidates=atomic_facts.entries(memories, context.policy), recorded=completions, policy=context.policy
    )
    facts = atomic_facts.summaries(
        accepted=stated,
        memories=memories,
        scored=scored_memories,
        enrichment=enabled,
        changes=fact_changes,
        policy=context.policy,
        plan_id=context.plan_id,
    )
    return conform(Summaries, pl.concat([rows, facts]))


def _outdated(
    context: Context, memories: pl.DataFrame, edges: pl.DataFrame, fact_changes: pl.DataFrame
) -> pl.DataFrame:
    """Return memories that no longer speak for the present, including by changes and links that this run proposes."""
    parts = [currency.closed(memories, fact_changes), currency.outdated(memories, edges)]
    if context.policy.summaries != "all":
        parts.append(memories.filter(~promotion.holds(context.as_of)).select(KEY))
    return pl.concat(parts).unique(maintain_order=True)


# --- what rises, leaves and is read at every start


@stage()
def promote(
    context: Context,
    memories: Frame[Memories],
    scored_memories: Frame[ScoredMemories],
    events: Frame[Events],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    association_edges: Frame[AssociationEdges],
    fact_changes: Frame[FactChanges],
) -> Frame[Promotions]:
    """Promote memories to a higher tier, to warm, or to core."""
    rows = promotion.promote(
        memories=memories,
        scored=scored_memories,
        events=events,
        accesses=accesses,
        tier_changes=tier_changes,
        edges=association_edges,
        fact_changes=fact_changes,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
    )
    return conform(Promotions, rows)


class Forgotten(NamedTuple):
    """What leaves the live set, and what recall shows of the rest."""

    archived_set: Frame[ArchivedSet]
    trims: Frame[Trims]


@stage()
def forget(
    context: Context,
    profiles: Frame[Profiles],
    memories: Frame[Memories],
    decided_edges: Frame[DecidedEdges],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    scored_memories: Frame[ScoredMemories],
    enrichment: Frame[Enrichment],
    completions: Frame[Completions],
    summaries: Frame[Summaries],
    clusters: Frame[Clusters],
    cluster_members: Frame[ClusterMembers],
    change_odds: Frame[ChangeOdds],
    fact_changes: Frame[FactChanges],
    association_edges: Frame[AssociationEdges],
    promotions: Frame[Promotions],
    deferred: Frame[Deferred],
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    core_sentences: Frame[CoreSentences],
) -> Forgotten:
    """Select what leaves the live set, and trim texts to the token budget.

    What the policy forgets and stale summaries come first; then, of the remaining memories, those that do not fit the
    token budget, as far as the quota permits.
    """
    leaving = _leaving(
        context,
        scored_memories=scored_memories,
        memories=memories,
        completions=completions,
        summaries=summaries,
        clusters=clusters,
        cluster_members=cluster_members,
        fact_changes=fact_changes,
        outdated=_outdated(context=context, memories=memories, edges=association_edges, fact_changes=fact_changes),
        promotions=promotions,
        deferred=deferred,
    )
    if context.policy.token_budget is None or Action.TRIM not in context.actions or context.scope != "all":
        return Forgotten(leaving, empty(Trims))
    state = State(memories=memories, edges=decided_edges, accesses=accesses, tier_changes=tier_changes)
    decided, remaining = _decided(
        context=context,
        profiles=profiles,
        state=state,
        decisions=decisions,
        reverted=reverted,
        summaries=summaries,
        archived_set=leaving,
        fact_changes=fact_changes,
        promotions=promotions,
    )
    said = worth.of_sentences(remaining, core_sentences)
    trims, dropped = trimming.select(
        memories=remaining,
        scored=scored_memories,
        enrichment=_enriched(context=context, memories=remaining, enrichment=enrichment),
        ranks=keeping.ranked(
            memories=remaining,
            edges=association_edges,
            fact_changes=fact_changes,
            accesses=accesses,
            odds=change_odds,
            said=said,
            as_of=context.as_of,
        ),
        said=said,
        spare=planning.spare(decided=decided, profiles=profiles, state=state),
        policy=context.policy,
        plan_id=context.plan_id,
    )
    dropped = dropped.join(memories, on=KEY, how="semi")
    staying = leaving.join(dropped, on=KEY, how="anti")
    return Forgotten(conform(ArchivedSet, pl.concat([staying, dropped])), conform(Trims, trims))


def _leaving(
    context: Context,
    *,
    scored_memories: pl.DataFrame,
    memories: pl.DataFrame,
    completions: pl.DataFrame,
    summaries: pl.DataFrame,
    clusters: pl.DataFrame,
    cluster_members: pl.DataFrame,
    fact_changes: pl.DataFrame,
    outdated: pl.DataFrame,
    promotions: pl.DataFrame,
    deferred: pl.DataFrame,
) -> Frame[ArchivedSet]:
    """Select what the policy forgets, stale summaries, and facts that their entry no longer states.

    Where memories were deferred, it is unknown which clusters are gone.
    """
    lasting = pl.concat(
        [summaries, _remaining_summaries(memories=memories, summaries=summaries, clusters=clusters)], how="diagonal"
    )
    selected = forgetting.select(
        scored=scored_memories,
        memories=memories,
        summaries=lasting,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
        promotions=promotions,
    )
    successors = selected.select("profile_id", memory_id="target_id").drop_nulls().unique()
    replaced = summaries.select("profile_id", memory_id="replaces").explode("memory_id")
    stated = atomic_facts.split(
        candidates=atomic_facts.entries(memories, context.policy), recorded=completions, policy=context.policy
    )
    withdrawn = atomic_facts.withdrawn(accepted=stated, memories=memories, changes=fact_changes)
    untold = summarising.stale(
        memories=memories, clusters=clusters, cluster_members=cluster_members, policy=context.policy, outdated=outdated
    )
    stale = (
        pl.concat([untold, withdrawn])
        .join(deferred, on="profile_id", how="anti")
        .join(successors, on=KEY, how="anti")
        .join(replaced, on=KEY, how="anti")
        .join(selected, on=KEY, how="anti")
        .join(scored_memories.select(*KEY, "strength"), on=KEY, how="left")
        .with_columns(
            action=pl.lit(Action.ARCHIVE.value), rule=pl.lit("stale_summary"), plan_id=pl.lit(context.plan_id)
        )
    )
    return conform(ArchivedSet, pl.concat([selected, stale], how="diagonal"))


def _remaining_summaries(memories: pl.DataFrame, summaries: pl.DataFrame, clusters: pl.DataFrame) -> pl.DataFrame:
    """Return live summaries whose cluster gets no new one; they supersede again members that became live again."""
    live = memories.filter(pl.col("lifecycle").is_in(LIVE)).select("profile_id", "cluster_id", "memory_id", "members")
    return (
        live.rename({"memory_id": "summary_id"})
        .join(clusters, on=["profile_id", "cluster_id"])
        .join(summaries, on=["profile_id", "cluster_id"], how="anti")
        .select("profile_id", "summary_id", "members", supersedes=pl.col("method").is_in(SUPERSEDING))
    )


@stage()
def compile_blocks(
    context: Context,
    profiles: Frame[Profiles],
    memories: Frame[Memories],
    decided_edges: Frame[DecidedEdges],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    core_memory_blocks: Frame[CoreMemoryBlocks],
    scored_memories: Frame[ScoredMemories],
    enrichment: Frame[Enrichment],
    core_sentences: Frame[CoreSentences],
    completions: Frame[Completions],
    summaries: Frame[Summaries],
    archived_set: Frame[ArchivedSet],
    proposed_edges: Frame[ProposedEdges],
    fact_changes: Frame[FactChanges],
    promotions: Frame[Promotions],
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
) -> Frame[ProposedBlocks]:
    """Compile the core memory blocks whose text changes, from the memories as the rest of the plan leaves them."""
    if not context.policy.core_blocks or Action.COMPILE not in context.actions:
        return empty(ProposedBlocks)
    state = State(memories=memories, edges=decided_edges, accesses=accesses, tier_changes=tier_changes)
    _, remaining = _decided(
        context=context,
        profiles=profiles,
        state=state,
        decisions=decisions,
        reverted=reverted,
        summaries=summaries,
        archived_set=archived_set,
        fact_changes=fact_changes,
        promotions=promotions,
    )
    compiled = decisions.filter(
        pl.col("action") == Action.COMPILE.value, pl.col("as_of") < pl.lit(context.as_of, INSTANT)
    )
    versions = compiled.select("profile_id", *decision_json.read("after", {"version": pl.Int64()}), block="memory_id")
    blocks = core_memory.compile_blocks(
        memories=remaining,
        scored=scored_memories,
        enrichment=_enriched(context=context, memories=remaining, enrichment=enrichment),
        blocks=core_memory.numbered(core_memory_blocks, versions),
        completions=completions,
        policy=context.policy,
        as_of=context.as_of,
        plan_id=context.plan_id,
        edges=associations.union(decided_edges, proposed_edges),
        changes=fact_changes,
        known=core_sentences,
    )
    return conform(ProposedBlocks, blocks)


def _enriched(context: Context, memories: pl.DataFrame, enrichment: pl.DataFrame) -> pl.DataFrame:
    """Return the enrichment of memories, including texts that the run itself writes."""
    missing = enrich.texts(memories).join(enrichment, on=["profile_id", "content_hash"], how="anti")
    return mask_disabled(context, pl.concat([enrichment, enrich.enrich(missing)]))


# --- the plan, and the state after it


@stage()
def plan(
    context: Context,
    profiles: Frame[Profiles],
    memories: Frame[Memories],
    decided_edges: Frame[DecidedEdges],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    core_memory_blocks: Frame[CoreMemoryBlocks],
    summaries: Frame[Summaries],
    archived_set: Frame[ArchivedSet],
    trims: Frame[Trims],
    proposed_edges: Frame[ProposedEdges],
    fact_changes: Frame[FactChanges],
    promotions: Frame[Promotions],
    proposed_blocks: Frame[ProposedBlocks],
    deferred: Frame[Deferred],
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
) -> Frame[ConsolidationPlan]:
    """Plan the run: the desired state less the present one, held back for a profile that exceeds its quota."""
    state = State(
        memories=memories, edges=decided_edges, accesses=accesses, tier_changes=tier_changes, blocks=core_memory_blocks
    )
    faded = associations.faded(_weighted(context, accesses, [decided_edges]), context.policy)
    proposal = _proposal(
        context=context,
        profiles=profiles,
        state=state,
        decisions=decisions,
        reverted=reverted,
        summaries=summaries,
        archived_set=archived_set,
        trims=trims,
        proposed_edges=proposed_edges,
        pruned_edges=faded,
        retired_links=_retired(
            context=context,
            memories=memories,
            decided_edges=decided_edges,
            fact_changes=fact_changes,
            deferred=deferred,
        ),
        fact_changes=fact_changes,
        promotions=promotions,
        proposed_blocks=proposed_blocks,
        deferred=deferred,
    )
    return conform(ConsolidationPlan, planning.hold(plan=proposal, profiles=profiles, state=state))


def _retired(
    context: Context,
    memories: pl.DataFrame,
    decided_edges: pl.DataFrame,
    fact_changes: pl.DataFrame,
    deferred: pl.DataFrame,
) -> pl.DataFrame:
    """Return links about facts that no longer hold; none where this run has not compared the facts."""
    if not context.policy.fact_changes or Action.LINK not in context.actions:
        return decided_edges.clear()
    return links.no_longer_held(
        decided=decided_edges, fact_changes=fact_changes, memories=memories, deferred=deferred, as_of=context.as_of
    )


def _proposal(
    context: Context,
    profiles: pl.DataFrame,
    state: State,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    **proposals: pl.DataFrame,
) -> pl.DataFrame:
    """Return the decisions that follow from the proposals of a run (arguments of `planning.propose`)."""
    within = scope.inside(context.scope, state.memories, proposals["summaries"])
    if within is not None:
        proposals["summaries"], proposals["archived_set"] = scope.without_partial(
            within, summaries=proposals["summaries"], archived=proposals["archived_set"]
        )
    elif context.scope == "recent":
        recent = scope.recent(profiles, state.memories)
        proposals["summaries"], proposals["archived_set"] = scope.about(
            recent_memories=recent, summaries=proposals["summaries"], archived=proposals["archived_set"]
        )
        for edges in ("proposed_edges", "retired_links"):
            proposals[edges] = scope.touching(recent, proposals[edges], "source", "target")
        proposals["fact_changes"] = scope.touching(recent, proposals["fact_changes"], "memory_id", "other_id")
    return planning.propose(
        profiles,
        state,
        **proposals,
        committed=_committed_now(context=context, decisions=decisions, reverted=reverted),
        decisions=decisions,
        reverted=reverted,
        actions=context.actions,
        superseded_lifecycle=context.policy.superseded_lifecycle,
        within=within,
    )


def _decided(
    context: Context,
    profiles: pl.DataFrame,
    state: State,
    decisions: pl.DataFrame,
    reverted: pl.DataFrame,
    **proposals: pl.DataFrame,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the decisions in force at this instant if a run decided these proposals alone, and the memories then."""
    others = ("proposed_edges", "trims", "proposed_blocks", "deferred")
    nothing = {name: TABLES[name].empty() for name in others}
    nothing |= dict.fromkeys(("pruned_edges", "retired_links"), TABLES["decided_edges"].empty())
    proposal = _proposal(
        context=context, profiles=profiles, state=state, decisions=decisions, reverted=reverted, **(nothing | proposals)
    )
    decided = planning.effective(proposal, _committed_now(context=context, decisions=decisions, reverted=reverted))
    return decided, projection.apply(state, decided).memories


def _committed_now(context: Context, decisions: pl.DataFrame, reverted: pl.DataFrame) -> pl.DataFrame:
    """Return the decisions that earlier runs committed at this very instant and nothing has undone."""
    return projection.unmasked(decisions, reverted).filter(pl.col("as_of") == context.as_of)


class Settled(NamedTuple):
    """The state once the plan is committed, what describes it, and the rows that new summaries add."""

    settled_memories: Frame[SettledMemories]
    settled_decided_edges: Frame[SettledDecidedEdges]
    settled_accesses: Frame[SettledAccesses]
    settled_tier_changes: Frame[SettledTierChanges]
    settled_core_memory_blocks: Frame[SettledCoreMemoryBlocks]
    settled_foldings: Frame[SettledFoldings]
    settled_derived_edges: Frame[SettledDerivedEdges]
    settled_memory_importance: Frame[SettledMemoryImportance]
    settled_scored_memories: Frame[SettledScoredMemories]
    settled_association_edges: Frame[SettledAssociationEdges]
    settled_enrichment: Frame[SettledEnrichment]
    settled_vectors: Frame[SettledVectors]


@stage()
def settle(
    context: Context,
    consolidation_plan: Frame[ConsolidationPlan],
    events: Frame[Events],
    memories: Frame[Memories],
    decided_edges: Frame[DecidedEdges],
    accesses: Frame[Accesses],
    tier_changes: Frame[TierChanges],
    core_memory_blocks: Frame[CoreMemoryBlocks],
    foldings: Frame[Foldings],
    enrichment: Frame[Enrichment],
    vectors: Frame[Vectors],
    decisions: Frame[Decisions],
    reverted: Frame[Reverted],
    neighbours: Frame[Neighbours],
    derived_edges: Frame[DerivedEdges],
    memory_importance: Frame[MemoryImportance],
    scored_memories: Frame[ScoredMemories],
) -> Settled:
    """Apply the plan, and describe the state after it by the same stages; a profile without a decision stays as it is.

    Derived edges are recomputed only if the plan changes what they derive from; then only new texts are compared.
    """
    committed = _committed_now(context=context, decisions=decisions, reverted=reverted)
    decided = pl.concat([rows.select("profile_id") for rows in (consolidation_plan, committed)]).unique()
    before: dict[str, pl.DataFrame] = {
        "memories": memories,
        "decided_edges": decided_edges,
        "accesses": accesses,
        "tier_changes": tier_changes,
        "core_memory_blocks": core_memory_blocks,
        "derived_edges": derived_edges,
        "memory_importance": memory_importance,
        "scored_memories": scored_memories,
    }
    texts = {"enrichment": enrichment, "vectors": vectors, "neighbours": neighbours}
    after, added, read = before, Added(empty(Enrichment), empty(Vectors)), foldings.select("profile_id", "read")
    if decided.height:
        touched = {
            name: rows.join(decided, on="profile_id", how="semi", maintain_order="left")
            for name, rows in (before | texts).items()
        }
        changed, added = _after(context, touched, plan=consolidation_plan, committed=committed)
        after = {
            name: pl.concat([rows.join(decided, on="profile_id", how="anti", maintain_order="left"), changed[name]])
            for name, rows in before.items()
        }
        in_force = planning.in_force_after(plan=consolidation_plan, decisions=decisions, reverted=reverted)
        reread = folded.digests(events, in_force).join(decided, on="profile_id", how="semi")
        read = pl.concat([read.join(decided, on="profile_id", how="anti"), reread])
    settled_edges, settled_accesses = (
        conform(DecidedEdges, after["decided_edges"]),
        conform(Accesses, after["accesses"]),
    )
    settled_derived = conform(DerivedEdges, after["derived_edges"])
    edges = associate(
        context=context,
        decided_edges=settled_edges,
        derived_edges=settled_derived,
        proposed_edges=empty(ProposedEdges),
        accesses=settled_accesses,
    )
    blocks = after["core_memory_blocks"].filter(pl.col("content") != "")
    return Settled(
        settled_memories=conform(SettledMemories, planning.with_tombstones(after["memories"])),
        settled_decided_edges=conform(SettledDecidedEdges, settled_edges),
        settled_accesses=conform(SettledAccesses, settled_accesses),
        settled_tier_changes=conform(SettledTierChanges, after["tier_changes"]),
        settled_core_memory_blocks=conform(SettledCoreMemoryBlocks, blocks),
        settled_foldings=conform(SettledFoldings, folded.whole(read, after["memories"], after["core_memory_blocks"])),
        settled_derived_edges=conform(SettledDerivedEdges, settled_derived),
        settled_memory_importance=conform(SettledMemoryImportance, after["memory_importance"]),
        settled_scored_memories=conform(SettledScoredMemories, after["scored_memories"]),
        settled_association_edges=conform(SettledAssociationEdges, edges),
        settled_enrichment=conform(SettledEnrichment, added.enrichment),
        settled_vectors=conform(SettledVectors, added.vectors),
    )


def _after(
    context: Context, before: Mapping[str, pl.DataFrame], *, plan: pl.DataFrame, committed: pl.DataFrame
) -> tuple[dict[str, pl.DataFrame], Added]:
    """Return the tables of a state, and what describes it, after decisions; and the rows that new summaries add.

    Args:
        context: of the run.
        before: tables of profiles about which something was decided, by name.
        plan: table `consolidation_plan`.
        committed: decisions in force that were committed at the plan's instant.
    """
    after = planning.post_state(
        state=State(
            memories=before["memories"],
            edges=before["decided_edges"],
            accesses=before["accesses"],
            tier_changes=before["tier_changes"],
            blocks=before["core_memory_blocks"],
        ),
        plan=plan,
        committed=committed,
    )
    memories, edges, accesses = (
        conform(Memories, after.memories),
        conform(DecidedEdges, after.edges),
        conform(Accesses, after.accesses),
    )
    known, points = conform(Enrichment, before["enrichment"]), conform(Vectors, before["vectors"])
    added = new_texts(context=context, memories=memories, enrichment=known, vectors=points)
    words = conform(Enrichment, pl.concat([known, added.enrichment]))
    derived = conform(DerivedEdges, before["derived_edges"])
    unchanged = memories.equals(before["memories"]) and edges.equals(before["decided_edges"])
    if context.actions & EDGES and not unchanged:
        near_pairs = near.brought_up_to(
            memories,
            before["neighbours"],
            before=before["memories"],
            vectors=pl.concat([points, added.vectors]),
            policy=context.policy,
        )
        derived = derive_edges(
            context=context,
            memories=memories,
            enrichment=words,
            neighbours=conform(Neighbours, near_pairs),
            accesses=accesses,
            decided_edges=edges,
        )
    measured = measure_importance(
        context=context,
        memories=memories,
        enrichment=words,
        derived_edges=derived,
        decided_edges=edges,
        accesses=accesses,
    )
    scored = score(
        context=context, memories=memories, memory_importance=measured, decided_edges=edges, derived_edges=derived
    )
    tables = {
        "memories": memories,
        "decided_edges": edges,
        "accesses": accesses,
        "tier_changes": after.tier_changes,
        "core_memory_blocks": after.blocks,
        "derived_edges": derived,
        "memory_importance": measured,
        "scored_memories": scored,
    }
    return tables, added


STAGES: Final[Mapping[str, Stage]] = {one.name: one for one in DECLARED}
"""Every stage by name, in the order of their declaration."""


def violations(
    context: Context,
    consolidation_plan: Frame[ConsolidationPlan],
    profiles: Frame[Profiles],
    memories: Frame[Memories],
    decided_edges: Frame[DecidedEdges],
    scored_memories: Frame[ScoredMemories],
    vectors: Frame[Vectors],
    settled_memories: Frame[SettledMemories],
    settled_decided_edges: Frame[SettledDecidedEdges],
    settled_vectors: Frame[SettledVectors],
) -> pl.DataFrame:
    """Return the rows of a plan that break an invariant: `profile_id`, `check`, `memory_id`, `detail`."""
    return invariants.violations(
        plan=consolidation_plan,
        state=State(memories, decided_edges),
        profiles=profiles,
        policy=context.policy,
        scored=scored_memories,
        post=State(settled_memories, settled_decided_edges),
        within=scope.inside(context.scope, settled_memories),
        retrievable=invariants.retrievable(
            memories=settled_memories, vectors=pl.concat([vectors, settled_vectors]), model=context.policy.embedder
        ),
    )
