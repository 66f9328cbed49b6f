"""Defines the settings of a policy: type, default and description of each.

Not here: the behaviour of each setting (`consolidation/`) and the presets (`presets/*.toml`).
"""

import hashlib
import json
from functools import cached_property
from typing import Literal

from pydantic import Field

from memory_pipeline.settings.values import (
    EmbedderName,
    Judge,
    MemoryType,
    Method,
    NotNegative,
    Positive,
    Seconds,
    Share,
    Values,
)


class Policy(Values):
    """Settings for consolidating the memories of one profile."""

    preset: str = Field("default", description="Preset that provides the starting values.")
    embedder: EmbedderName = Field(
        "hashing",
        description="Embedder for texts and queries: `reader` is the sentence encoder that comes with the package and "
        "with which new stores begin; `hashing` needs no weights and is 50 times as fast; `local` is an encoder that "
        "is downloaded once; `local:MODEL` or `local:FOLDER` selects another one. Changing it re-embeds every text.",
    )
    enrichments: tuple[Literal["keywords", "entities", "embedding", "importance", "gist"], ...] = Field(
        ("keywords", "entities", "embedding", "importance", "gist"), description="What is extracted from each text."
    )
    seed: int = Field(0, description="Seed for sampling, combined with the profile and the interval.")

    strength: Literal["relevance", "retention", "recency_importance", "energy"] = Field(
        "relevance", description="Score that decisions use."
    )
    base_decay_rate: NotNegative = Field(0.01, description="Relevance lost per day of age.")
    access_base: NotNegative = Field(0.0, description="Constant part of the access factor.")
    access_weight: NotNegative = Field(1.0, description="Weight of the decaying part of the access factor.")
    importance_floor_factor: Share = Field(0.0, description="Relevance never falls below this factor times importance.")
    relationship_preservation: NotNegative = Field(0.3, description="How much neighbours slow the decay.")
    decay_importance_threshold: Share | None = Field(
        None, description="Memories with lower importance keep the relevance of their last access; unset: all decay."
    )
    retention_curve: Literal["exponential", "power"] = Field(
        "exponential", description="Shape of the forgetting curve."
    )
    recency_stability: Literal["linear", "log"] = Field(
        "linear", description="How accesses extend the lifetime of recency."
    )
    recency_base_hours: Positive = Field(168.0, description="Mean lifetime of recency without access, in hours.")
    recency_access_hours: NotNegative = Field(24.0, description="Hours that each access adds to that lifetime.")
    centrality_importance: bool = Field(
        False, description="Raise the importance of central memories to at least 0.6, 0.8 or 1."
    )

    protect_flagged: bool = Field(True, description="Protect memories that the agent flagged as protected.")
    protected_importance: Share | None = Field(
        0.7, description="Protect memories with at least this importance; unset: none."
    )
    grace_period_days: NotNegative = Field(90.0, description="Protect memories younger than this many days.")
    protected_types: tuple[MemoryType, ...] = Field(
        ("Decision", "Insight"), description="Protect memories of these types."
    )
    protect_core: bool = Field(True, description="Protect memories of the category core.")
    protected_causes: int | None = Field(
        3, ge=1, description="Protect memories with at least this many incoming CAUSED_BY edges; unset: none."
    )

    similar_to_threshold: Share = Field(
        0.75, description="Cosine above which a SIMILAR_TO edge is created; calibrated for the embedder hashing."
    )
    similar_neighbours: int = Field(
        10,
        ge=1,
        description="Each memory keeps this many of its strongest SIMILAR_TO edges, and of those between sessions.",
    )
    reference_share: Share = Field(
        0.05, description="Entities in a larger share of the memories create no REFERENCES edges."
    )
    similar_edges: bool = Field(True, description="Create SIMILAR_TO edges.")
    reference_edges: bool = Field(True, description="Create REFERENCES edges.")
    associations: tuple[
        Literal["creative", "coactivation", "reinforcement", "auto_link", "co_recall", "shortcut", "cross_session"], ...
    ] = Field(
        ("coactivation", "reinforcement", "auto_link", "co_recall", "shortcut", "cross_session"),
        description="Kinds of associations to look for; `creative` links memories of a random sample.",
    )
    auto_link_similarity: Share = Field(0.70, description="Minimum cosine for linking a new memory to existing ones.")
    auto_link_neighbours: int = Field(
        3, ge=1, description="Maximum number of neighbours that a new memory is linked to, the most similar first."
    )
    co_recall_gain: Share = Field(
        0.05, description="Weight that a link gains when both of its memories are recalled together."
    )
    reinforcement_similarity: Share = Field(
        0.70, description="Cosine above which a new memory reinforces a memory of a higher tier."
    )
    shortcut_accesses: int = Field(
        4, ge=1, description="Minimum number of sessions that accessed both memories of a shortcut."
    )
    shortcut_hops: int = Field(
        2, ge=1, description="The memories of a shortcut are further apart than this many edges."
    )
    warm_prune_weight: Share | None = Field(
        None,
        description="Prune lighter similarity edges of memories between one day and one week old; unset: none.",
    )
    creative_sample: int = Field(20, ge=2, le=1000, description="Memories sampled by the creative task.")
    creative_min_relevance: Share = Field(0.0, description="Relevance above which a memory can be sampled.")
    creative_contrast: bool = Field(False, description="Link two dissimilar Decisions as CONTRADICTS/contrast.")
    edge_decay_days: NotNegative = Field(30.0, description="Idle days after which an edge starts to decay.")
    edge_decay_rate: NotNegative = Field(0.01, description="Edge weight lost per idle day.")
    edge_prune_weight: Share = Field(0.05, description="Prune edges below this weight.")
    link_lifetime_days: Positive | None = Field(
        None,
        description="Links decay from the first day as base weight times exp(-days/lifetime); unset: edge_decay "
        "applies.",
    )
    link_usable_weight: Share = Field(0.30, description="Weight below which such a link is not followed.")

    methods: tuple[Method, ...] = Field(
        ("near_duplicates", "similarity_components", "coactivation", "episodes"),
        description="Clustering methods, in order; methods whose summaries supersede their members go first.",
    )
    summarised: tuple[Method, ...] = Field(
        ("near_duplicates", "fading_groups", "similarity_components", "episodes"),
        description="Methods whose groups can get a summary.",
    )
    summaries: Literal["merges", "asked", "all"] = Field(
        "merges",
        description="Which of these groups get one: `merges`, those whose summary replaces its members, and others "
        "only if a language model words them; `asked`, also those that `summaries_asked` names; `all`, every group.",
    )
    summaries_asked: tuple[str, ...] = Field(
        (), description="Ids of clusters, or words of their labels, that get a summary with `summaries` set to `asked`."
    )
    duplicate_similarity: Share = Field(0.85, description="Minimum cosine of near duplicates.")
    duplicate_min_size: int = Field(2, ge=2, description="Smallest group of near duplicates that is merged.")
    cluster_similarity: Share = Field(
        0.5, description="Minimum cosine for joining a cluster; calibrated for the embedder hashing."
    )
    cluster_min_size: int = Field(5, ge=2, description="Smallest cluster.")
    cluster_max_size: int | None = Field(30, ge=2, description="Largest cluster; unset: no limit.")
    cluster_min_relevance: Share = Field(0.0, description="Relevance above which a memory can join a cluster.")
    linkage: Literal["single", "average"] = Field(
        "average", description="`single`: connected components; `average`: average linkage."
    )
    fading_retention: Share = Field(0.20, description="Retention below which a memory can join a fading group.")
    fading_similarity: Share = Field(0.70, description="Minimum cosine to the seed of a fading group.")
    fading_size: int = Field(5, ge=2, description="Size of a fading group.")
    fading_fill: bool = Field(False, description="Let a fading group take every match instead of stopping at its size.")
    coactivation_min: int = Field(
        3, ge=1, description="Two memories form a unit when they share more sessions than this."
    )
    episode_gap_minutes: Positive = Field(30.0, le=525_600_000, description="A longer pause ends an episode.")
    episode_levels: tuple[Literal["episode", "session", "agent"], ...] = Field(
        ("episode",), description="Levels at which episodes are formed."
    )
    summary_text: Literal["extractive", "sentence", "concat"] = Field(
        "extractive", description="How the text of a cluster summary is produced."
    )
    llm_model: str | None = Field(
        None,
        description="Language model that words summaries and core memory and splits entries into facts; unset: rules "
        "word them. See llm_base_url.",
    )
    split_entries: bool = Field(
        True,
        description="Let llm_model split entries of several sentences into single facts, stored as memories beside "
        "them; never under a token budget.",
    )
    llm_pairs: int = Field(
        1,
        ge=0,
        le=20,
        description="Maximum number of pairs of memories that llm_model is asked about, on average for each memory "
        "of a profile, those most worth an answer first; 0: none.",
    )
    llm_precision: Share = Field(
        0.95,
        description="Measured share of llm_model's confident judgements of two memories that are right; from 0.95 on "
        "they close what is outdated without the rules' agreement, below that they only link.",
    )
    fact_changes: bool = Field(True, description="Detect changed and contradicting facts.")
    judge: Judge = Field(
        "reader",
        description="What judges whether a memory updates, contradicts or repeats an older one: reader (trees over "
        "words and the reader's vectors); llm_model answers the questions of review as well (llm_pairs).",
    )
    fact_confidence: Share = Field(0.40, description="Minimum confidence for linking an older memory as outdated.")
    repeat_confidence: Share = Field(0.35, description="Minimum confidence for linking two memories of one fact.")
    conflict_confidence: Share = Field(0.30, description="Minimum confidence for linking contradicting memories.")
    close_confidence: Share = Field(0.9, description="Minimum confidence for closing what an update outdates.")
    merge_confidence: Share = Field(0.80, description="Minimum confidence for merging two memories of one fact.")

    promote_tiers: bool = Field(True, description="Promote memories to higher tiers by energy.")
    short_term_energy: Positive = Field(2.0, description="Energy above which a working memory becomes short-term.")
    long_term_energy: Positive = Field(5.0, description="Energy above which a short-term memory becomes long-term.")
    session_end_energy: Positive = Field(
        1.5, description="Replaces short_term_energy for the memories of a session when it ends."
    )
    promotion_batch: int = Field(
        0, ge=0, description="Maximum number of tier changes per run, highest energy first; 0: no limit."
    )
    promote_warm: bool = Field(True, description="Promote active memories that are used to warm.")
    promotion_min_access: int = Field(3, ge=0, description="Minimum number of accesses for becoming warm.")
    promotion_min_confidence: Share = Field(0.5, description="Minimum confidence for becoming warm.")
    promote_core: bool = Field(True, description="Promote memories that are used repeatedly to core.")
    core_min_access: int = Field(10, ge=0, description="Minimum number of accesses for becoming core.")
    core_min_stability: Share = Field(0.85, description="Minimum stability for becoming core.")
    core_min_sessions: int = Field(3, ge=0, description="Minimum number of sessions with an access for becoming core.")
    core_blocks: bool = Field(True, description="Compile core memory blocks.")
    owner: str | None = Field(
        None,
        min_length=1,
        description="Name of the speaker whose memory the profile is. Unset: the speaker named like the user's id, "
        "else the first speaker that is neither named after a role nor like an agent; after memories without a "
        "speaker only one named like the profile. Only the owner's instructions and preferences reach core memory; in "
        "a profile of several users each has their own owner.",
    )
    core_facts: Literal["profile", "superlocal"] = Field(
        "profile",
        description="Facts of the core memory blocks: `profile`, who the user is, health, standing instructions, "
        "preferences and current projects; `superlocal`, the most accessed or newest memories of five kinds.",
    )
    core_memory_tokens: int = Field(
        600,
        ge=1,
        description="Maximum tokens of all facts in core memory that profile the user, for each of several users; only "
        "what does harm if it is forgotten (health, dangers, secrets) may exceed it. Each block has a quarter, and "
        "full blocks, instructions first, take what others leave.",
    )
    core_memory_char_limit: int = Field(
        2000, ge=1, description="Maximum characters of all core memory blocks together, of the facts of `superlocal`."
    )
    block_char_limit: int = Field(
        500,
        ge=1,
        description="Maximum characters of one core memory block of the facts of `superlocal`, and of any block that a "
        "model words.",
    )

    forgetting: tuple[Literal["relevance", "retention", "age_tiers", "energy"], ...] = Field(
        ("relevance",), description="Forgetting rules that may remove memories from the live set."
    )
    superseded_lifecycle: Literal["archived", "cold"] = Field(
        "archived", description="Lifecycle of memories that a summary supersedes."
    )
    cold_after_days: NotNegative = Field(7.0, description="Days at the retention floor after which a memory goes cold.")
    stub_after_days: NotNegative = Field(180.0, description="Days in cold storage after which a memory becomes a stub.")
    cold_keep_importance: Share = Field(
        0.5, description="Minimum importance for staying live beyond the age of one week."
    )
    cold_keep_access: int = Field(
        3, ge=0, description="Minimum number of accesses for staying live beyond the age of one week."
    )
    cold_min_strength: Share = Field(
        0.0, description="Minimum strength for staying live beyond the age of one week; 0: off."
    )
    archive_keep_importance: Share = Field(
        0.7, description="Minimum importance for staying live beyond the age of 30 days."
    )
    expire_energy: NotNegative = Field(0.1, description="Energy below which a working memory expires.")
    archive_threshold: Share = Field(0.0, description="Relevance below which a memory is archived; 0: never.")
    delete_threshold: Share = Field(0.0, description="Relevance below which a memory is deleted; 0: never.")
    max_archived_share: Share = Field(
        0.10,
        description="Largest share of the live memories that may leave the live set in one run; up to 20 may, unless "
        "they are more than half.",
    )

    token_budget: Positive | None = Field(
        None,
        description="Maximum tokens of the live memories; values up to 1 are a share of everything that agents stored. "
        "Memories and sentences of long texts leave by worth, least first; unset: no limit.",
    )

    w_recency: NotNegative = Field(1.0, description="Weight of recency in the recall score.")
    w_importance: NotNegative = Field(1.0, description="Weight of importance in the recall score.")
    w_relevance: NotNegative = Field(1.0, description="Weight of similarity to the query in the recall score.")
    w_affinity: NotNegative = Field(0.5, description="Weight of affinity to the user's context in the recall score.")

    reflection_threshold: Positive = Field(
        150.0, description="Sum of importance_score since the last reflection that triggers the next one."
    )
    reflection: bool = Field(True, description="Enable the reflection trigger.")
    nightly_run: bool = Field(True, description="Include this profile in the nightly full run.")
    enabled: bool = Field(True, description="Let sensors and schedules act on this profile; manual runs always work.")
    session_trigger: bool = Field(True, description="Trigger a full run at the end of each session.")
    scheduled_sessions: int = Field(5, ge=0, description="Sessions after which a full run is triggered; 0: never.")
    step_count_trigger: int = Field(
        50, ge=0, description="New memories after which a lightweight run is triggered; 0: never."
    )
    idle_timeout_seconds: Seconds = Field(
        300, ge=0, description="Idle seconds after which a lightweight run is triggered; 0: never."
    )
    ingestion_cycles: int = Field(
        0, ge=0, description="Batches after which fading memories are merged and moved; 0: never."
    )
    decay_interval_seconds: Seconds = Field(86_400, ge=0, description="Interval of the decay task; 0: never.")
    creative_interval_seconds: Seconds = Field(604_800, ge=0, description="Interval of the creative task; 0: never.")
    cluster_interval_seconds: Seconds = Field(2_592_000, ge=0, description="Interval of the cluster task; 0: never.")
    forget_interval_seconds: Seconds = Field(0, ge=0, description="Interval of the forget task; 0: never.")
    promote_interval_seconds: Seconds = Field(
        0, ge=0, description="Interval of tier promotion; 0: with full runs only."
    )
    reconsolidate_interval_seconds: Seconds = Field(0, ge=0, description="Interval of full runs; 0: nightly only.")
    history_limit: int = Field(20, ge=1, description="Maximum number of runs listed by status.")

    @cached_property
    def digest(self) -> str:
        """Hash of all values: policies with equal digests make equal decisions."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]
