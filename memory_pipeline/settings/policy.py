"""How the memories of one profile are consolidated: every setting of a policy, its type, default and meaning.

What is not here: what a setting does (`consolidation/`), and which presets change it (`presets/*.toml`).
"""

import hashlib
import json
from functools import cached_property
from typing import Literal

from pydantic import Field

from memory_pipeline.settings.values import EmbedderName, MemoryType, Method, NotNegative, Positive, Share, Values


class Policy(Values):
    """How the memories of one profile are consolidated."""

    preset: str = Field("default", description="Preset these values start from.")
    embedder: EmbedderName = Field(
        "hashing",
        description="What turns texts into vectors: hashing needs no weights; local is a sentence encoder that is "
        "downloaded once; local:FOLDER or local:MODEL names another. Another one embeds every text anew.",
    )
    enrichments: tuple[Literal["keywords", "entities", "embedding", "importance", "gist"], ...] = Field(
        ("keywords", "entities", "embedding", "importance", "gist"), description="What is read out of a text."
    )
    seed: int = Field(0, description="Seed of every sampled choice, together with profile and interval.")

    strength: Literal["relevance", "retention", "recency_importance", "energy"] = Field(
        "relevance", description="The score that decisions use."
    )
    base_decay_rate: NotNegative = Field(0.01, description="Relevance lost to age, per day.")
    access_base: NotNegative = Field(0.0, description="Constant part of the access factor.")
    access_weight: NotNegative = Field(1.0, description="Weight of the decaying part of the access factor.")
    importance_floor_factor: Share = Field(0.0, description="Relevance never falls below this times importance.")
    relationship_preservation: NotNegative = Field(0.3, description="How much neighbours slow the decay.")
    decay_importance_threshold: Share | None = Field(
        None, description="Memories less important than this keep the relevance of their last access; unset: all decay."
    )
    retention_curve: Literal["exponential", "power"] = Field(
        "exponential", description="Shape of the forgetting curve."
    )
    recency_stability: Literal["linear", "log"] = Field(
        "linear", description="How accesses lengthen the lifetime of recency."
    )
    recency_base_hours: Positive = Field(168.0, description="Mean lifetime of recency without an access, in hours.")
    recency_access_hours: NotNegative = Field(24.0, description="What an access adds to it, in hours.")
    centrality_importance: bool = Field(False, description="Central memories are raised to at least .6, .8 or 1.")

    protect_flagged: bool = Field(True, description="Memories flagged by the agent are protected.")
    protected_importance: Share | None = Field(
        0.7, description="Importance from which a memory is protected; unset: none."
    )
    grace_period_days: NotNegative = Field(90.0, description="Memories younger than this many days are protected.")
    protected_types: tuple[MemoryType, ...] = Field(("Decision", "Insight"), description="Types that are protected.")
    protect_core: bool = Field(True, description="Memories of category core are protected.")
    protected_causes: int | None = Field(
        3, ge=1, description="In-degree over CAUSED_BY from which a memory is protected; unset: none."
    )

    similar_to_threshold: Share = Field(
        0.75, description="Cosine above which SIMILAR_TO edges are made; calibrated for the embedder hashing."
    )
    reference_share: Share = Field(
        0.05, description="Entities in a larger share of the memories make no REFERENCES edge."
    )
    similar_edges: bool = Field(True, description="SIMILAR_TO edges are made.")
    reference_edges: bool = Field(True, description="REFERENCES edges are made.")
    associations: tuple[
        Literal["creative", "coactivation", "reinforcement", "auto_link", "co_recall", "shortcut", "cross_session"], ...
    ] = Field(
        ("creative", "coactivation", "reinforcement", "auto_link", "co_recall", "shortcut", "cross_session"),
        description="Associations that are looked for.",
    )
    auto_link_similarity: Share = Field(0.70, description="Cosine from which a new memory is linked to others.")
    auto_link_neighbours: int = Field(10, ge=1, description="Most neighbours that a new memory is linked to.")
    co_recall_gain: Share = Field(0.05, description="Weight that a link gains when both ends are recalled together.")
    reinforcement_similarity: Share = Field(
        0.70, description="Cosine above which a new memory reinforces one of a higher tier."
    )
    shortcut_accesses: int = Field(4, ge=1, description="Sessions that accessed both ends of a shortcut, at least.")
    shortcut_hops: int = Field(2, ge=1, description="Ends of a shortcut are further apart than this.")
    warm_prune_weight: Share | None = Field(
        None,
        description="Similarity edges of memories between a day and a week old are pruned below this; unset: none.",
    )
    creative_sample: int = Field(20, ge=2, le=1000, description="Memories drawn by the creative task.")
    creative_min_relevance: Share = Field(0.0, description="Relevance above which a memory can be drawn.")
    creative_contrast: bool = Field(False, description="Two unlike Decisions are linked as CONTRADICTS/contrast.")
    edge_decay_days: NotNegative = Field(30.0, description="Edges idle for this long start to decay.")
    edge_decay_rate: NotNegative = Field(0.01, description="Edge weight lost per idle day.")
    edge_prune_weight: Share = Field(0.05, description="Edges lighter than this are pruned.")
    link_lifetime_days: Positive | None = Field(
        None, description="Links weigh exp(-days/this) of their base from the first day on; unset: edge_decay applies."
    )
    link_usable_weight: Share = Field(0.30, description="Below this weight such a link is not followed.")

    methods: tuple[Method, ...] = Field(
        ("near_duplicates", "similarity_components", "coactivation", "episodes"),
        description="How memories are grouped; methods whose summaries take the place of memories go first.",
    )
    summarised: tuple[Method, ...] = Field(
        ("near_duplicates", "fading_groups", "similarity_components", "episodes"),
        description="Methods whose groups get a summary.",
    )
    duplicate_similarity: Share = Field(0.85, description="Cosine from which two memories can be near duplicates.")
    duplicate_min_size: int = Field(2, ge=2, description="Smallest group of near duplicates that is merged.")
    cluster_similarity: Share = Field(
        0.5, description="Cosine from which memories join a cluster; calibrated for the embedder hashing."
    )
    cluster_min_size: int = Field(5, ge=2, description="Smallest cluster.")
    cluster_max_size: int | None = Field(30, ge=2, description="Largest cluster; unset: no limit.")
    cluster_min_relevance: Share = Field(0.0, description="Relevance above which a memory can join a cluster.")
    linkage: Literal["single", "average"] = Field(
        "average", description="single: connected components; average: average linkage."
    )
    fading_retention: Share = Field(0.20, description="Retention below which a memory can join a fading group.")
    fading_similarity: Share = Field(0.70, description="Cosine to its seed from which a memory joins a fading group.")
    fading_size: int = Field(5, ge=2, description="Size of a fading group.")
    fading_fill: bool = Field(False, description="A fading group takes every match, not only as many as its size.")
    coactivation_min: int = Field(3, ge=1, description="Shared sessions above which two memories are one unit.")
    episode_gap_minutes: Positive = Field(30.0, description="A longer pause ends an episode.")
    episode_levels: tuple[Literal["episode", "session", "agent"], ...] = Field(
        ("episode",), description="Levels of episodes that are made."
    )
    summary_text: Literal["extractive", "sentence", "concat"] = Field(
        "extractive", description="How cluster summaries are worded."
    )
    llm_model: str | None = Field(
        None, description="Model that words summaries and core memory; unset: rules do. See llm_base_url."
    )
    fact_changes: bool = Field(True, description="Changed and contradicting facts are looked for.")
    fact_confidence: Share = Field(0.70, description="How sure a changed or contradicting fact must be.")

    promote_tiers: bool = Field(True, description="Energy moves memories to higher tiers.")
    short_term_energy: Positive = Field(2.0, description="Energy above which a working memory becomes short-term.")
    long_term_energy: Positive = Field(5.0, description="Energy above which a short-term memory becomes long-term.")
    session_end_energy: Positive = Field(1.5, description="The former, for a session's memories when it ends.")
    promotion_batch: int = Field(
        0, ge=0, description="Most tier changes in one run, highest energy first; 0: no limit."
    )
    promote_warm: bool = Field(True, description="Active memories that are used become warm.")
    promotion_min_access: int = Field(3, ge=0, description="Accesses from which an active memory becomes warm.")
    promotion_min_confidence: Share = Field(0.5, description="Confidence from which an active memory becomes warm.")
    promote_core: bool = Field(True, description="Memories that are used again and again become core.")
    core_min_access: int = Field(10, ge=0, description="Accesses from which a memory can become core.")
    core_min_stability: Share = Field(0.85, description="Stability from which a memory can become core.")
    core_min_sessions: int = Field(3, ge=0, description="Sessions with an access from which a memory can become core.")
    core_blocks: bool = Field(True, description="Core memory blocks are compiled.")
    core_memory_char_limit: int = Field(2000, ge=1, description="Characters of all core memory blocks together.")
    block_char_limit: int = Field(500, ge=1, description="Characters of a core memory block.")

    forgetting: tuple[Literal["relevance", "retention", "age_tiers", "energy"], ...] = Field(
        ("relevance",), description="What may take memories out of the live set."
    )
    superseded_lifecycle: Literal["archived", "cold"] = Field(
        "archived", description="Where memories go whose place a summary takes."
    )
    cold_after_days: NotNegative = Field(7.0, description="Days at the floor of retention until a memory goes cold.")
    stub_after_days: NotNegative = Field(180.0, description="Days in the cold until a memory becomes a stub.")
    cold_keep_importance: Share = Field(0.5, description="Importance from which a memory stays beyond a week of age.")
    cold_keep_access: int = Field(3, ge=0, description="Accesses from which a memory stays beyond a week of age.")
    cold_min_strength: Share = Field(0.0, description="Beyond a week of age, strength below which none stays; 0: off.")
    archive_keep_importance: Share = Field(0.7, description="Importance from which a memory stays beyond 30 days.")
    expire_energy: NotNegative = Field(0.1, description="Energy below which a working memory expires.")
    archive_threshold: Share = Field(0.0, description="Relevance below which a memory is archived; 0: never.")
    delete_threshold: Share = Field(0.0, description="Relevance below which a memory is deleted; 0: never.")
    max_archived_share: Share = Field(0.10, description="Largest share of the live memories that may leave in one run.")

    token_budget: Positive | None = Field(
        None,
        description="Tokens that live memories may have, up to 1 as a share of all that agents stored, above 1 as a "
        "number: texts are trimmed to it; unset: no limit.",
    )

    w_recency: NotNegative = Field(1.0, description="Weight of recency in the score of a recall.")
    w_importance: NotNegative = Field(1.0, description="Weight of importance in it.")
    w_relevance: NotNegative = Field(1.0, description="Weight of the likeness to the query in it.")
    w_affinity: NotNegative = Field(0.5, description="Weight of nearness to the user's own context in it.")

    reflection_threshold: Positive = Field(150.0, description="Summed importance_score that triggers a reflection.")
    reflection: bool = Field(True, description="The reflection trigger is on.")
    nightly_run: bool = Field(True, description="The nightly full run includes this profile.")
    enabled: bool = Field(True, description="Sensors and schedules act on this profile; by hand it can always be run.")
    session_trigger: bool = Field(True, description="The end of a session triggers a full run.")
    scheduled_sessions: int = Field(5, ge=0, description="A full run after so many sessions; 0: never.")
    step_count_trigger: int = Field(50, ge=0, description="A lightweight run after so many new memories; 0: never.")
    idle_timeout_seconds: int = Field(300, ge=0, description="A lightweight run after such a pause; 0: never.")
    ingestion_cycles: int = Field(
        0, ge=0, description="Fading memories are merged and moved after so many batches; 0: never."
    )
    decay_interval_seconds: int = Field(86_400, ge=0, description="How often decay runs; 0: never.")
    creative_interval_seconds: int = Field(604_800, ge=0, description="How often the creative task runs; 0: never.")
    cluster_interval_seconds: int = Field(2_592_000, ge=0, description="How often clustering runs; 0: never.")
    forget_interval_seconds: int = Field(0, ge=0, description="How often forgetting runs; 0: never.")
    promote_interval_seconds: int = Field(0, ge=0, description="How often tiers are looked at; 0: with full runs only.")
    reconsolidate_interval_seconds: int = Field(0, ge=0, description="How often a full run is due; 0: nightly only.")
    history_limit: int = Field(20, ge=1, description="Runs listed by status.")

    @cached_property
    def digest(self) -> str:
        """Hash of every value: two policies with the same digest decide alike."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]
