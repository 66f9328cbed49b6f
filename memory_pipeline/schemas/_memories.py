"""Tables of the state of memories: their texts, uses and tiers, and what is derived from their texts."""

import dataframely as dy

from memory_pipeline.schemas._columns import count, instant, number, profile, share, text, words


class Memories(dy.Schema):
    """Every memory, original or summary, one row each: the fold of the ledger."""

    profile_id = profile()
    memory_id = text("Id of the memory, unique within its profile.", key=True)
    kind = text(
        "original, or the kind of summary: meta_pattern, compression, consolidation, episode, session, agent, unit."
    )
    content = text("The text.")
    trimmed = text(
        "What recall shows of it instead of the whole text, which stays and is what is searched; null: all of it.",
        nullable=True,
    )
    content_hash = text("SHA-256 of speaker and text, 32 hex digits: the key of everything derived from the text.")
    speaker = text("Who said it.", nullable=True)
    memory_type = text("Decision, Insight, Pattern, Preference, Style, Habit, Context, Memory or MetaPattern.")
    memory_type_inferred = dy.Bool(description="The type was inferred from the text.")
    category = text("episodic, semantic, procedural, opinion or core.")
    category_inferred = dy.Bool(description="The category was inferred from the text.")
    importance_given = share("Importance as the agent gave it.", nullable=True)
    importance_hint = share("The agent's hint.", nullable=True)
    confidence = share("Confidence, 0..1; 0.5 when never given.")
    valid_from = instant("Since when the fact holds.", nullable=True)
    valid_until = instant("Until when the fact holds (exclusive).", nullable=True)
    protected = dy.Bool(description="Explicitly protected.")
    protected_reason = text("Why, if explicitly protected.", nullable=True)
    tags = words("Tags; for a summary that takes its members' place: all of theirs.")
    metadata = text("Anything else attached, as JSON.", nullable=True)
    source = text("Where the memory came from.", nullable=True)
    session_id = text("Session that stored it, or stored the newest of those it takes the place of.", nullable=True)
    agent_id = text("Agent that stored it.", nullable=True)
    user_id = text("Person it was stored for.", nullable=True)
    event_id = text("Event (or, for a summary, decision) that made it.")
    parent_event_id = text("Event that caused that event.", nullable=True)
    seq = count("Ledger position of that event.")
    created_at = instant("When it was stored.")
    said_at = instant("For a summary that takes its members' place: when the newest of them was stored.", nullable=True)
    updated_at = instant("Last change of content, importance, tags, metadata, validity or protection.", nullable=True)
    access_count = count("Accesses so far; a helpful feedback counts as one.")
    last_accessed_at = instant("Last access.", nullable=True)
    access_sessions = count("Distinct sessions with an access.")
    stability_gain = number(
        "What accesses added to the stability of retention: sum of 0.1*min(2, days since the access before/7)."
    )
    energy_base = number("Energy at `energy_at`, in closed form over all accesses and reinforcements.")
    energy_at = instant("Instant of `energy_base`: the last access, reinforcement, tier change or creation.")
    tier = text("working, short_term or long_term.")
    tier_since = instant("Since when; every tier has its own decay of energy.")
    reinforcement_count = count("Newer memories that reinforced it.")
    last_reinforced_at = instant("When one did last.", nullable=True)
    lifecycle = text("active, warm, cold, stub, archived, expired, deleted or erased.")
    lifecycle_since = instant("Since when.")
    superseded_by = text("Summary or newer memory that took its place.", nullable=True)
    superseded_kind = text("summary or update.", nullable=True)
    valid_until_given = instant("Until when the fact holds by what agents said.", nullable=True)
    closed_by = text("Newer memory that ended its validity, in force or not.", nullable=True)
    closed_until = instant("When it did so.", nullable=True)
    members = words("For a summary: its members' ids, sorted.")
    cluster_id = text("For a summary: the cluster it was made from.", nullable=True)
    index_text = text("For a summary: the words to embed and search.", nullable=True)
    stability_given = share("For a summary: mean stability of its members at the time.", nullable=True)
    plan_id = text("Plan of the last decision about it.", nullable=True)


class Accesses(dy.Schema):
    """Every access that counts: what reconsolidates a memory. A helpful feedback is one."""

    profile_id = profile()
    seq = dy.Int64(primary_key=True, min=1, description="Position of the event in the ledger.")
    ordinal = dy.Int64(primary_key=True, min=0, description="Place of the memory within the event.")
    memory_id = text("The memory.")
    at = instant("When it was accessed.")
    session_id = text("Session of the access.", nullable=True)
    expanded = dy.Bool(description="Reached only over an association.")


class TierChanges(dy.Schema):
    """Lineage of tiers: every promotion of a memory, in place."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    at = dy.Datetime(
        time_zone="UTC",
        time_unit="us",
        primary_key=True,
        description="When it took effect, which may lie before the run.",
    )
    from_tier = text("Tier before.")
    to_tier = text("Tier after.")
    edge_type = text("PROMOTED_TO (short_term) or CRYSTALLIZED_INTO (long_term).")
    energy = number("Energy at that instant.")
    plan_id = text("Plan that decided it.")


class CoreMemoryBlocks(dy.Schema):
    """What an agent reads at the start of every session, one row a block."""

    profile_id = profile()
    block = text(
        "user_profile, project_context, behavioral_patterns, active_decisions or learned_preferences.", key=True
    )
    content = text("The text: facts, joined by a line of three dashes.")
    members = words("Memories it was made from, in order.")
    version = count("Rises when the text changes.")
    compiled_by = text("rules, or the model that worded it.")
    compiled_at = instant("Clock of the run that changed it last.")
    plan_id = text("Plan that changed it last.")


class Enrichment(dy.Schema):
    """What was read out of a text, one row a text and profile; depends on the text alone."""

    profile_id = profile()
    content_hash = text("The text, as in memories.", key=True)
    keywords = words("Most telling words, best first.")
    entities = words("Names of people, places and things, sorted.")
    numbers = words("Numbers, amounts and times, normalised, sorted.")
    dates = words("Dates as written, normalised where absolute (YYYY, YYYY-MM, YYYY-MM-DD), sorted.")
    negated = dy.Bool(description="The text denies something.")
    question = dy.Bool(description="The text asks.")
    tokens = count("Length in tokens (words and punctuation).")
    gist = text("One line that stands for a long text; the text itself when short.")
    rule_importance = share("Importance by rule, from the text alone, 0..1.")


class Vectors(dy.Schema):
    """Embeddings, one row a text, profile and model; append-only."""

    profile_id = profile()
    content_hash = text("The text, as in memories.", key=True)
    model = text("Embedder that made the vector.", key=True)
    vector = dy.List(dy.Float32(allow_nan=False, allow_inf=False), description="Unit vector.")


class Completions(dy.Schema):
    """What a language model was asked, and answered; asked once, replayed ever after. Append-only."""

    profile_id = profile()
    request_hash = text(
        "SHA-256 of model, purpose and prompt, 32 hex digits; a try without an answer adds a full stop and its number.",
        key=True,
    )
    model = text("The model.")
    purpose = text("summary or block.")
    content = text("The answer; null if there was none.", nullable=True)
    outcome = text("answered, or why not, such as budget or timeout.")
    input_tokens = count("Tokens asked.")
    output_tokens = count("Tokens answered.")
    cost = dy.Float64(min=0.0, description="Money it cost, by the prices in the settings.")
