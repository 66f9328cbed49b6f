"""Every table of the pipeline: its columns, types, units and meaning, written once.

Validation, asset checks, the data dictionary and the empty tables of a first run are all made from these classes.
What is not here: how a table is computed (`consolidation/`, `text/`) and where it is kept (`lake/tables.py`).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

import dataframely as dy
import polars as pl

INSTANT: Final = pl.Datetime("us", "UTC")
"""The one type of an instant: UTC, microseconds."""


class EventType(StrEnum):
    """What can be appended to the ledger; `memory.erased` and `run.*` by the pipeline alone."""

    STORED = "memory.stored"
    ACCESSED = "memory.accessed"
    UPDATED = "memory.updated"
    ERASED = "memory.erased"
    LINKED = "link.asserted"
    SESSION_STARTED = "session.started"
    SESSION_ENDED = "session.ended"
    FEEDBACK = "feedback.given"
    RUN_COMMITTED = "run.committed"
    RUN_REVERTED = "run.reverted"


class Lifecycle(StrEnum):
    """Where a memory stands. `active` and `warm` are live."""

    ACTIVE = "active"
    WARM = "warm"
    COLD = "cold"
    STUB = "stub"
    ARCHIVED = "archived"
    EXPIRED = "expired"
    DELETED = "deleted"
    ERASED = "erased"


LIVE: Final = (Lifecycle.ACTIVE.value, Lifecycle.WARM.value)


class Action(StrEnum):
    """What a decision does, in the order in which decisions of one plan are applied."""

    WITHDRAW = "withdraw"
    LINK = "link"
    PRUNE = "prune"
    SUMMARISE = "summarise"
    SUPERSEDE = "supersede"
    CLOSE = "close"
    TRIM = "trim"
    DELETE = "delete"
    ARCHIVE = "archive"
    EXPIRE = "expire"
    COLD = "cold"
    STUB = "stub"
    PROMOTE = "promote"
    COMPILE = "compile"
    DEFER = "defer"


def _text(description: str, *, key: bool = False, nullable: bool = False) -> dy.String:
    return dy.String(primary_key=key, nullable=nullable and not key, description=description)


def _instant(description: str, *, nullable: bool = False) -> dy.Datetime:
    return dy.Datetime(time_zone="UTC", time_unit="us", nullable=nullable, description=description)


def _share(description: str, *, nullable: bool = False) -> dy.Float64:
    return dy.Float64(min=0.0, max=1.0, nullable=nullable, description=description)


def _number(description: str, *, nullable: bool = False) -> dy.Float64:
    return dy.Float64(nullable=nullable, description=description)


def _count(description: str) -> dy.Int64:
    return dy.Int64(min=0, description=description)


def _words(description: str) -> dy.List:
    return dy.List(dy.String(), description=description)


def _profile() -> dy.String:
    return dy.String(primary_key=True, min_length=1, description="Tenant that owns the row.")


class Events(dy.Schema):
    """What agents wrote, one row an event and memory it names; the typed copy of the ledger."""

    seq = dy.Int64(primary_key=True, min=1, description="Position in the ledger.")
    ordinal = dy.Int64(
        primary_key=True, min=0, description="Place of the memory within the event (an access names many)."
    )
    event_id = _text("Idempotency key of the event.")
    profile_id = dy.String(min_length=1, description="Tenant that owns the row.")
    event_type = _text("Type of the event, such as memory.stored.")
    occurred_at = _instant("When it happened (valid time).")
    recorded_at = _instant("When the ledger took it.")
    session_id = _text("Session in which it happened.", nullable=True)
    agent_id = _text("Agent that wrote it.", nullable=True)
    user_id = _text("Person the agent served.", nullable=True)
    instance_id = _text("Process that wrote it.", nullable=True)
    parent_event_id = _text("Event that caused this one.", nullable=True)
    memory_id = _text("Memory concerned.", nullable=True)
    content = _text("Text of a stored or updated memory.", nullable=True)
    speaker = _text("Who said it.", nullable=True)
    memory_type = _text(
        "Type as given: Decision, Insight, Pattern, Preference, Style, Habit, Context, Memory.", nullable=True
    )
    category = _text("Category as given: episodic, semantic, procedural, opinion, core.", nullable=True)
    importance = _share("Importance as given, 0..1.", nullable=True)
    importance_hint = _share("A hint at the importance, 0..1.", nullable=True)
    confidence = _share("Confidence as given, 0..1.", nullable=True)
    valid_from = _instant("Since when the fact holds.", nullable=True)
    valid_until = _instant("Until when the fact holds (exclusive).", nullable=True)
    protected = dy.Bool(nullable=True, description="Explicit protection, as given.")
    protected_reason = _text("Why it is protected.", nullable=True)
    tags = dy.List(dy.String(), nullable=True, description="Tags as given.")
    metadata = _text("Anything else the agent attached, as JSON.", nullable=True)
    source = _text("Where the memory came from.", nullable=True)
    target_id = _text("Other end of an asserted link.", nullable=True)
    edge_type = _text("Type of an asserted link.", nullable=True)
    edge_kind = _text("Kind of an asserted link.", nullable=True)
    weight = _share("Weight of an asserted link, 0..1.", nullable=True)
    query = _text("Query that led to an access.", nullable=True)
    rank = dy.Int64(nullable=True, min=0, description="Rank of the memory in the answer that accessed it, from 1.")
    expanded = dy.Bool(nullable=True, description="The access reached the memory only over an association.")
    helpful = dy.Bool(nullable=True, description="Feedback: helpful counts as an access, wrong lowers the confidence.")
    erased_at = _instant("When what it said was erased for good; a memory stored by it is erased.", nullable=True)


class Payloads(dy.Schema):
    """What events said, word for word, moved here from the ledger's database once they are old."""

    profile_id = _profile()
    seq = dy.Int64(primary_key=True, min=1, description="Position of the event in the ledger.")
    payload = _text("Its payload, as canonical JSON.")


class Profiles(dy.Schema):
    """Who takes part in a run and from which state, one row a profile."""

    profile_id = _profile()
    preset = _text("Preset the profile's policy starts from.")
    policy_hash = _text("Hash of the whole policy.")
    as_of = _instant("The one clock of the run.")
    seq = _count("Ledger position the run reads up to.")
    head = _count("Position of the profile's last commit, revert or update; the commit is refused if it moved.")
    plan_id = _text("Hash of ledger, policy, as_of and seq.")
    trigger = _text("What started the run: schedule, sensor, manual, cli.")
    task = _text("What the run does: full, lightweight, reflect, decay, creative, cluster, forget, promote or tick.")
    scope = _text("all, or recent: only what concerns sessions touched since the last reflection.")
    since = _count("Ledger position of the last committed reflection: what came later is recent.")
    caught_up = _count("Ledger position of the last commit that left no memory for later; 0 without a row limit.")
    row_limit = _count("Most memories that the run compares and groups, from its time budget; 0: all.")
    max_archived_share = _share("Largest share of the live memories that may leave in this run.")
    retry_reverted = dy.Bool(description="Propose again what was undone.")


class Accesses(dy.Schema):
    """Every access that counts: what reconsolidates a memory. A helpful feedback is one."""

    profile_id = _profile()
    seq = dy.Int64(primary_key=True, min=1, description="Position of the event in the ledger.")
    ordinal = dy.Int64(primary_key=True, min=0, description="Place of the memory within the event.")
    memory_id = _text("The memory.")
    at = _instant("When it was accessed.")
    session_id = _text("Session of the access.", nullable=True)
    expanded = dy.Bool(description="Reached only over an association.")


class TierChanges(dy.Schema):
    """Lineage of tiers: every promotion of a memory, in place."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    at = dy.Datetime(
        time_zone="UTC",
        time_unit="us",
        primary_key=True,
        description="When it took effect, which may lie before the run.",
    )
    from_tier = _text("Tier before.")
    to_tier = _text("Tier after.")
    edge_type = _text("PROMOTED_TO (short_term) or CRYSTALLIZED_INTO (long_term).")
    energy = _number("Energy at that instant.")
    plan_id = _text("Plan that decided it.")


class CoreMemoryBlocks(dy.Schema):
    """What an agent reads at the start of every session, one row a block."""

    profile_id = _profile()
    block = _text(
        "user_profile, project_context, behavioral_patterns, active_decisions or learned_preferences.", key=True
    )
    content = _text("The text: facts, joined by a line of three dashes.")
    members = _words("Memories it was made from, in order.")
    version = _count("Rises when the text changes.")
    compiled_by = _text("rules, or the model that worded it.")
    compiled_at = _instant("Clock of the run that changed it last.")
    plan_id = _text("Plan that changed it last.")


class Promotions(dy.Schema):
    """What rises in this run, and why; null means unchanged."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    tier = _text("New tier: short_term or long_term.", nullable=True)
    at = _instant("When the tier changes.", nullable=True)
    energy = _number("Energy at that instant.", nullable=True)
    lifecycle = _text("warm.", nullable=True)
    category = _text("core.", nullable=True)
    rule = _text("energy, session_end, used, core; several are joined by a plus sign.")
    reason = _text("One sentence a person can read.")
    plan_id = _text("Plan the row belongs to.")


class Deferred(dy.Schema):
    """Memories that a run's time budget left out; they come first in the next one."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    place = _count("Place in the order of work: longest waiting, then most important, then most accessed; from 0.")
    plan_id = _text("Plan the row belongs to.")


class FactChanges(dy.Schema):
    """Pairs of memories of which the newer states another value of the same fact."""

    profile_id = _profile()
    memory_id = _text("The older memory.", key=True)
    other_id = _text("The newer memory.", key=True)
    relation = _text("update (the newer holds from its time on) or conflict (both stand).")
    subject = _text("What the fact is about.", nullable=True)
    attribute = _text("Which fact of it.", nullable=True)
    value = _text("Value that the older states.", nullable=True)
    other_value = _text("Value that the newer states.", nullable=True)
    similarity = dy.Float32(nullable=True, description="Their cosine.")
    at = _instant("Since when the newer holds.")
    rule = _text("What gave it away, such as changed_value, negation or no_longer.")
    reason = _text("One sentence a person can read.")
    plan_id = _text("Plan the row belongs to.")


class Completions(dy.Schema):
    """What a language model was asked, and answered; asked once, replayed ever after. Append-only."""

    profile_id = _profile()
    request_hash = _text(
        "SHA-256 of model, purpose and prompt, 32 hex digits; a try without an answer adds a full stop and its number.",
        key=True,
    )
    model = _text("The model.")
    purpose = _text("summary or block.")
    content = _text("The answer; null if there was none.", nullable=True)
    outcome = _text("answered, or why not, such as budget or timeout.")
    input_tokens = _count("Tokens asked.")
    output_tokens = _count("Tokens answered.")
    cost = dy.Float64(min=0.0, description="Money it cost, by the prices in the settings.")


class Memories(dy.Schema):
    """Every memory, original or summary, one row each: the fold of the ledger."""

    profile_id = _profile()
    memory_id = _text("Id of the memory, unique within its profile.", key=True)
    kind = _text(
        "original, or the kind of summary: meta_pattern, compression, consolidation, episode, session, agent, unit."
    )
    content = _text("The text.")
    trimmed = _text(
        "What recall shows of it instead of the whole text, which stays and is what is searched; null: all of it.",
        nullable=True,
    )
    content_hash = _text("SHA-256 of speaker and text, 32 hex digits: the key of everything derived from the text.")
    speaker = _text("Who said it.", nullable=True)
    memory_type = _text("Decision, Insight, Pattern, Preference, Style, Habit, Context, Memory or MetaPattern.")
    memory_type_inferred = dy.Bool(description="The type was inferred from the text.")
    category = _text("episodic, semantic, procedural, opinion or core.")
    category_inferred = dy.Bool(description="The category was inferred from the text.")
    importance_given = _share("Importance as the agent gave it.", nullable=True)
    importance_hint = _share("The agent's hint.", nullable=True)
    confidence = _share("Confidence, 0..1; 0.5 when never given.")
    valid_from = _instant("Since when the fact holds.", nullable=True)
    valid_until = _instant("Until when the fact holds (exclusive).", nullable=True)
    protected = dy.Bool(description="Explicitly protected.")
    protected_reason = _text("Why, if explicitly protected.", nullable=True)
    tags = _words("Tags; for a summary that takes its members' place: all of theirs.")
    metadata = _text("Anything else attached, as JSON.", nullable=True)
    source = _text("Where the memory came from.", nullable=True)
    session_id = _text("Session that stored it, or stored the newest of those it takes the place of.", nullable=True)
    agent_id = _text("Agent that stored it.", nullable=True)
    user_id = _text("Person it was stored for.", nullable=True)
    event_id = _text("Event (or, for a summary, decision) that made it.")
    parent_event_id = _text("Event that caused that event.", nullable=True)
    seq = _count("Ledger position of that event.")
    created_at = _instant("When it was stored.")
    said_at = _instant(
        "For a summary that takes its members' place: when the newest of them was stored.", nullable=True
    )
    updated_at = _instant("Last change of content, validity or protection.", nullable=True)
    access_count = _count("Accesses so far; a helpful feedback counts as one.")
    last_accessed_at = _instant("Last access.", nullable=True)
    access_sessions = _count("Distinct sessions with an access.")
    stability_gain = _number(
        "What accesses added to the stability of retention: sum of 0.1*min(2, days since the access before/7)."
    )
    energy_base = _number("Energy at `energy_at`, in closed form over all accesses and reinforcements.")
    energy_at = _instant("Instant of `energy_base`: the last access, reinforcement, tier change or creation.")
    tier = _text("working, short_term or long_term.")
    tier_since = _instant("Since when; every tier has its own decay of energy.")
    reinforcement_count = _count("Newer memories that reinforced it.")
    last_reinforced_at = _instant("When one did last.", nullable=True)
    lifecycle = _text("active, warm, cold, stub, archived, expired, deleted or erased.")
    lifecycle_since = _instant("Since when.")
    superseded_by = _text("Summary or newer memory that took its place.", nullable=True)
    superseded_kind = _text("summary or update.", nullable=True)
    valid_until_given = _instant("Until when the fact holds by what agents said.", nullable=True)
    closed_by = _text("Newer memory that ended its validity, in force or not.", nullable=True)
    closed_until = _instant("When it did so.", nullable=True)
    members = _words("For a summary: its members' ids, sorted.")
    cluster_id = _text("For a summary: the cluster it was made from.", nullable=True)
    index_text = _text("For a summary: the words to embed and search.", nullable=True)
    stability_given = _share("For a summary: mean stability of its members at the time.", nullable=True)
    plan_id = _text("Plan of the last decision about it.", nullable=True)


class Enrichment(dy.Schema):
    """What was read out of a text, one row a text and profile; depends on the text alone."""

    profile_id = _profile()
    content_hash = _text("The text, as in memories.", key=True)
    keywords = _words("Most telling words, best first.")
    entities = _words("Names of people, places and things, sorted.")
    numbers = _words("Numbers, amounts and times, normalised, sorted.")
    dates = _words("Dates as written, normalised where absolute (YYYY, YYYY-MM, YYYY-MM-DD), sorted.")
    negated = dy.Bool(description="The text denies something.")
    question = dy.Bool(description="The text asks.")
    tokens = _count("Length in tokens (words and punctuation).")
    gist = _text("One line that stands for a long text; the text itself when short.")
    rule_importance = _share("Importance by rule, from the text alone, 0..1.")


class Vectors(dy.Schema):
    """Embeddings, one row a text, profile and model; append-only."""

    profile_id = _profile()
    content_hash = _text("The text, as in memories.", key=True)
    model = _text("Embedder that made the vector.", key=True)
    vector = dy.List(dy.Float32(allow_nan=False, allow_inf=False), description="Unit vector.")


class Edges(dy.Schema):
    """Associations between memories; undirected types are stored once with source < target."""

    profile_id = _profile()
    source = _text("Memory at the one end.", key=True)
    target = _text("Memory at the other end.", key=True)
    edge_type = _text(
        "FOLLOWS, CAUSED_BY, SIMILAR_TO, REFERENCES (derived), DISCOVERED, CONTRADICTS, SUMMARIZES, or as asserted.",
        key=True,
    )
    kind = _text(
        "Finer kind: explains, shares_theme, parallel_context, contrast, conflict, meta_pattern, compression ...",
        nullable=True,
    )
    origin = _text("derived (recomputed by every run), asserted (an agent said so) or decided (by a committed plan).")
    weight = _share("Weight at as_of, after decay.")
    base_weight = _share("Weight when last strengthened; decay starts from it.")
    confidence = _share("Confidence in the edge.", nullable=True)
    similarity = dy.Float32(nullable=True, description="Cosine of the two memories, float64 dot rounded to float32.")
    algorithm = _text("What made it, such as creative_association.")
    discovered_at = _instant("When it came to be; derived edges date from the later memory.")
    last_strengthened_at = _instant("Decay counts from here.")
    co_count = _count("Sessions that accessed both; 0 where it does not apply.")
    plan_id = _text("Plan that decided it; empty for derived and asserted edges.")


class Reverted(dy.Schema):
    """Decisions that an undo masks."""

    profile_id = _profile()
    decision_id = _text("The decision.", key=True)
    seq = _count("Ledger position of the revert.")


class MemoryImportance(dy.Schema):
    """How central each live memory is in the association graph."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    importance = _share("Importance: given, else from hint and rule; raised by centrality where the policy says so.")
    importance_unraised = _share("Importance before it was raised: what protects a memory.")
    importance_score = dy.Float64(min=0.0, max=10.0, description="importance x 10, as the reflection trigger sums it.")
    degree = _count("Distinct neighbours over all edges.")
    relationship_count = _count("Distinct neighbours over asserted and committed edges.")
    in_degree = _count("Directed edges that point at it, FOLLOWS and SUMMARIZES not counted.")
    pagerank = _share("PageRank (damping .85) within the profile; sums to 1.")
    community = _text("Community by label propagation: id of its smallest member.")


class ScoredMemories(dy.Schema):
    """One row a live memory: every score, every factor of it, and why it is protected."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    as_of = _instant("Instant of the scores.")
    age_days = _number("Days since creation.")
    idle_days = _number("Days since the last access, else creation.")
    importance = _share("Importance used.")
    confidence = _share("Confidence used.")
    relationship_count = _count("Neighbours used.")
    age_factor = _share("exp(-base_decay_rate * age_days).")
    access_factor = _number("access_base + access_weight * (1 if idle < 1 day else exp(-0.05 * idle_days)).")
    relationship_factor = _number("1 + relationship_preservation * ln(1 + relationship_count).")
    importance_factor = _number("0.5 + importance.")
    confidence_factor = _number("0.7 + 0.3 * confidence.")
    relevance = _share("Product of the five factors, at most 1.")
    stability = _share("Stability of retention.")
    retention = _share("Forgetting curve of the category.")
    floored_at = _instant("When retention reaches its floor if nothing happens; null: never.", nullable=True)
    recency = _share("exp(-hours since last touch / (168 + 24 * accesses)).")
    energy = _number("Energy at as_of.")
    age_tier = _text("hot, warm, cold or archive, by age.")
    strength = _share("The score this profile's decisions use.")
    is_protected = dy.Bool(description="Barred from archive and delete.")
    budget_protected = dy.Bool(
        description="Barred from archive for a token budget too: protected, core or a summary in its members' place, "
        "stored with a protecting importance or type, or a cause of others."
    )
    protection_reason = _text(
        "First reason that applies; under a token budget first those that hold against it.", nullable=True
    )
    plan_id = _text("Plan the row belongs to.")


class ScoreHistory(dy.Schema):
    """What every memory scored after each commit: how it faded, and by which score."""

    profile_id = _profile()
    plan_id = _text("Plan of the commit.", key=True)
    memory_id = _text("The memory.", key=True)
    as_of = _instant("Clock of the run.")
    strength = _share("The score its profile's decisions used.")
    relevance = _share("Relevance.")
    retention = _share("Retention.")
    recency = _share("Recency.")
    energy = _number("Energy.")
    importance = _share("Importance used.")
    idle_days = _number("Days since the last access, else creation.")
    is_protected = dy.Bool(description="Barred from leaving the live set.")


class Clusters(dy.Schema):
    """Groups of memories, one row a cluster."""

    profile_id = _profile()
    cluster_id = _text("Hash of method and sorted member ids.", key=True)
    method = _text("near_duplicates, fading_groups, similarity_components, coactivation or episodes.")
    level = _text("episode, session or agent, for episodes.", nullable=True)
    parent_id = _text("Cluster of the level above, for episodes.", nullable=True)
    strength = _number("Largest shared-session count, for coactivation.", nullable=True)
    first_coactivated_at = _instant("When two members first shared a session, for coactivation.", nullable=True)
    label = _text("Most telling words its members share.")
    dominant_type = _text("Most frequent type; ties alphabetical.")
    cluster_size = dy.Int64(min=2, description="Number of members.")
    temporal_span_days = _number("Days between the oldest and the newest member.")
    cohesion = dy.Float64(
        min=-1.0, max=1.0, nullable=True, description="Mean cosine between members; null where it is not known."
    )
    plan_id = _text("Plan the row belongs to.")


class ClusterMembers(dy.Schema):
    """Who is in which cluster."""

    profile_id = _profile()
    cluster_id = _text("The cluster.", key=True)
    memory_id = _text("The member.", key=True)


class MergeRefusals(dy.Schema):
    """Near duplicates that were not merged, and why."""

    profile_id = _profile()
    memory_id = _text("The one memory (smaller id).", key=True)
    other_id = _text("The other.", key=True)
    similarity = dy.Float32(description="Their cosine.")
    reason = _text("numbers, dates, negation, names, validity, words, spelling or conflict: what they disagree in.")
    detail = _text("What each of the two says without the other, the smaller id first.")


class Summaries(dy.Schema):
    """Summaries, one row each, with what they inherit from their members."""

    profile_id = _profile()
    summary_id = _text("Hash of cluster and members' texts; the summary's memory_id.", key=True)
    cluster_id = _text("Cluster it stands for.")
    kind = _text("meta_pattern, compression, consolidation, episode, session, agent or unit.")
    compiled_by = _text("rules, or the model that worded it.")
    fallback = _text("Why the model's text was not taken, if one was asked.", nullable=True)
    memory_type = _text("MetaPattern, or the members' dominant type.")
    category = _text("Category of the members.")
    content = _text("Text to read.")
    index_text = _text("Words to embed and search.")
    content_hash = _text("As in memories.")
    members = _words("Member ids, sorted.")
    importance = _share("Largest importance of the members.")
    stability = _share("Mean stability of the members.")
    access_count = _count("Largest access count of the members.")
    confidence = _share("Smallest confidence of the members.")
    valid_from = _instant("Earliest start of validity of the members.", nullable=True)
    valid_until = _instant("Common end of validity of the members.", nullable=True)
    protected = dy.Bool(description="A member is explicitly protected.")
    protected_reason = _text("That member's reason.", nullable=True)
    speaker = _text("Who said all members, if they leave the live set.", nullable=True)
    session_id = _text("Session of the newest member, if they leave.", nullable=True)
    agent_id = _text("Agent that stored all members, if they leave.", nullable=True)
    user_id = _text("Person all members were stored for, if they leave.", nullable=True)
    tags = _words("Tags of the members, if they leave.")
    said_at = _instant("When the newest member was stored, if they leave.", nullable=True)
    replaces = _words("Live summaries that this one takes the place of.")
    supersedes = dy.Bool(description="Its members leave the live set.")
    plan_id = _text("Plan the row belongs to.")


class ArchivedSet(dy.Schema):
    """What leaves the live set in this run, and why."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    action = _text("supersede, delete, archive, expire, cold or stub.")
    rule = _text("Rule that decided, such as archive_threshold.")
    reason = _text("One sentence a person can read.")
    target_id = _text("Summary that takes its place.", nullable=True)
    strength = _share("Its score.", nullable=True)
    threshold = _share("The threshold it fell below.", nullable=True)
    plan_id = _text("Plan the row belongs to.")


class Trims(dy.Schema):
    """What recall shows of memories from this run on, so that they fit the token budget."""

    profile_id = _profile()
    memory_id = _text("The memory.", key=True)
    trimmed = _text("The clauses that are left; null gives the whole text back.", nullable=True)
    content_hash = _text("The whole text, as in memories: for another text the row says nothing.")
    tokens_before = _count("Tokens that recall showed before, with the speaker's name.")
    tokens_after = _count("Tokens that it shows from now on.")
    value = _share("What the words that are left are worth, 0..1.")
    reason = _text("One sentence a person can read.")
    plan_id = _text("Plan the row belongs to.")


class Decisions(dy.Schema):
    """Proposed or committed changes, one row each; a plan is the rows of one plan_id."""

    profile_id = _profile()
    decision_id = _text("Hash of plan and signature.", key=True)
    plan_id = _text("Plan it belongs to.")
    ordinal = _count("Order of application within the plan.")
    action = _text(
        "withdraw, link, prune, summarise, supersede, close, trim, delete, archive, expire, cold, stub, promote, "
        "compile or defer."
    )
    memory_id = _text("Memory concerned; the source of a link; the id of a new summary; the name of a block.")
    target_id = _text(
        "Other end: target of a link, summary that supersedes, decision that is withdrawn.", nullable=True
    )
    rule = _text("Rule that decided.")
    reason = _text("One sentence a person can read.")
    factors = _text("Numbers behind it, as JSON.")
    before = _text("What it changes, before, as JSON.")
    after = _text("What it changes, after, as JSON: all that applying it needs.")
    signature = _text("Hash of profile, action, memories, rule and texts: the same proposal, whatever the plan.")
    status = _text("proposed, held (the quota holds it back) or committed.")
    as_of = _instant("Clock of its run.")
    seq = _count("Ledger position of the commit; 0 while it is only proposed.")


class Runs(dy.Schema):
    """What each run did for each profile."""

    profile_id = _profile()
    plan_id = _text("Plan.", key=True)
    run_id = _text("Run that computed it.")
    task = _text("full, lightweight, reflect, decay, creative, cluster, forget, promote or tick.")
    scope = _text("all, or recent: only what concerned sessions touched since the last reflection.")
    trigger = _text("schedule, sensor, manual or cli.")
    preset = _text("Preset of the profile.")
    policy_hash = _text("Hash of the policy.")
    as_of = _instant("Clock of the run.")
    base_seq = _count("Ledger position it read up to.")
    commit_seq = _count("Position of its commit.")
    committed_at = _instant("When it was committed.")
    outcome = _text("committed, held or reverted.")
    memories = _count("Live memories before.")
    decisions = _count("Decisions committed.")
    held = _count("Decisions held back by the quota.")
    duration_seconds = _number("Wall time from start of the run to the commit.")


class DeadLetters(dy.Schema):
    """Events that were refused, with the reason and the bytes as they came."""

    letter_id = _text("SHA-256 of source and bytes.", key=True)
    received_at = _instant("When it was refused.")
    origin = _text("Where it came from: a file and line, an API call.")
    reason = _text("What is wrong with it and how to mend it.")
    raw = dy.Binary(description="The bytes as they came.")


@dataclass(frozen=True)
class Table:
    """One table of the lake."""

    name: str
    schema: type[dy.Schema]
    kept: Literal["replaced", "accrued", "appended", "moved", "ledger", "passing"] = "replaced"
    """replaced: a commit puts new rows in the place of a profile's old ones; accrued: it adds rows; appended: rows are
    only ever added, by the stage that makes them; moved: maintenance adds rows that stood in the ledger's database;
    ledger: the rows stand there; passing: kept within a run only."""

    @property
    def key(self) -> list[str]:
        """Columns that identify a row; also the canonical sort order."""
        return self.schema.primary_key()

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return `frame` with this table's columns, order, types and canonical row order.

        Raises:
            ValueError: a column is missing or cannot be cast without loss; names table and column.
        """
        types = pl.Schema({name: column.dtype for name, column in self.schema.columns().items()})
        if missing := [column for column in types if column not in frame.columns]:
            raise ValueError(
                f"table {self.name}: column {missing[0]!r} is missing; a stage gives every column of the schema"
            )
        try:
            return frame.select(pl.col(column).cast(kind) for column, kind in types.items()).sort(self.key)
        except pl.exceptions.InvalidOperationError as error:
            raise ValueError(f"table {self.name}: {error}") from error

    def violations(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rules that rows of `frame` break: `rule`, `rows` (how many) and `keys` (the first twenty)."""
        _, failure = self.schema.filter(frame)
        counts = failure.counts()
        details = failure.details() if counts else frame.clear()
        keys = pl.struct(self.key).cast(pl.String).head(20)
        return pl.DataFrame(
            [
                (rule, rows, details.filter(pl.col(rule) == "invalid").select(keys).to_series().to_list())
                for rule, rows in counts.items()
            ],
            schema={"rule": pl.String, "rows": pl.Int64, "keys": pl.List(pl.String)},
            orient="row",
        )

    def empty(self) -> pl.DataFrame:
        """Return the table without rows, with its types."""
        return self.schema.create_empty()


TABLES: Final[dict[str, Table]] = {
    table.name: table
    for table in (
        Table("events", Events, kept="appended"),
        Table("payloads", Payloads, kept="moved"),
        Table("enrichment", Enrichment, kept="appended"),
        Table("vectors", Vectors, kept="appended"),
        Table("completions", Completions, kept="appended"),
        Table("decisions", Decisions, kept="ledger"),
        Table("consolidation_runs", Runs, kept="ledger"),
        Table("dead_letters", DeadLetters, kept="ledger"),
        Table("reverted", Reverted, kept="ledger"),
        Table("profiles", Profiles),
        Table("memories", Memories),
        Table("decided_edges", Edges),
        Table("accesses", Accesses, kept="passing"),
        Table("tier_changes", TierChanges),
        Table("core_memory_blocks", CoreMemoryBlocks),
        Table("derived_edges", Edges),
        Table("memory_importance", MemoryImportance),
        Table("scored_memories", ScoredMemories),
        Table("score_history", ScoreHistory, kept="accrued"),
        Table("deferred", Deferred),
        Table("fact_changes", FactChanges),
        Table("proposed_edges", Edges),
        Table("association_edges", Edges),
        Table("clusters", Clusters),
        Table("cluster_members", ClusterMembers),
        Table("merge_refusals", MergeRefusals),
        Table("summaries", Summaries),
        Table("promotions", Promotions),
        Table("proposed_blocks", CoreMemoryBlocks),
        Table("archived_set", ArchivedSet),
        Table("trims", Trims),
        Table("consolidation_plan", Decisions),
    )
}
"""Every table, in the order in which a run makes them."""
