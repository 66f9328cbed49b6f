"""Tables of memories: their texts, accesses and tiers, and what is derived from their texts."""

import dataframely as dy

from memory_pipeline.schemas.columns import count, instant, number, profile, share, text, words


class Memories(dy.Schema):
    """Every memory, original or summary, one row each; the fold of the ledger's events."""

    profile_id = profile()
    memory_id = text("Id of the memory, unique within its profile.", key=True)
    kind = text(
        "original, fact (one statement of an original), or the kind of summary: meta_pattern, compression, "
        "consolidation, episode, session, agent, unit."
    )
    content = text("Full text.")
    trimmed = text(
        "Part of the text that recall shows under a token budget; null: all of it. The full text stays searchable.",
        nullable=True,
    )
    content_hash = text("SHA-256 of speaker and text, 32 hex digits; key of everything derived from the text.")
    speaker = text("Who said it.", nullable=True)
    memory_type = text("Decision, Insight, Pattern, Preference, Style, Habit, Context, Memory or MetaPattern.")
    memory_type_inferred = dy.Bool(description="Whether no agent gave the type, and the reader does.")
    category = text("episodic, semantic, procedural, opinion or core.")
    category_inferred = dy.Bool(description="Whether no agent gave the category, and the reader does.")
    importance_given = share("Importance that the agent gave.", nullable=True)
    importance_hint = share("The agent's hint at the importance.", nullable=True)
    importance_read = share(
        "Importance by the reader: the harm if it were forgotten and the worth of being asked for; null where it was "
        "not read.",
        nullable=True,
    )
    refers_back = share(
        "Probability, by the reader, that it gives no value of its own but refers to something said elsewhere; null "
        "where it was not read.",
        nullable=True,
    )
    confidence = share("Confidence, 0..1; 0.5 if none was given.")
    valid_from = instant("Start of the fact's validity.", nullable=True)
    valid_until = instant("End of the fact's validity (exclusive).", nullable=True)
    protected = dy.Bool(description="Whether it is explicitly protected.")
    protected_reason = text("Reason for the explicit protection.", nullable=True)
    tags = words("Tags; a summary that replaces its members has all their tags.")
    metadata = text("Anything else that the agent attached, as JSON.", nullable=True)
    source = text("Where the memory came from.", nullable=True)
    session_id = text(
        "Session that stored it; for a summary that replaces its members, that of the newest.", nullable=True
    )
    agent_id = text("Agent that stored it.", nullable=True)
    user_id = text("Person for whom it was stored.", nullable=True)
    event_id = text("Event that created it; for a summary, the decision.")
    parent_event_id = text("Event that caused this event.", nullable=True)
    seq = count("Ledger position of that event.")
    created_at = instant("When it was said; when it was stored, if nothing says.")
    said_at = instant("For a summary that replaces its members: when the newest of them was stored.", nullable=True)
    updated_at = instant("Last change of content, importance, tags, metadata, validity or protection.", nullable=True)
    access_count = count("Number of accesses; helpful feedback counts as one.")
    last_accessed_at = instant("Last access.", nullable=True)
    access_sessions = count("Number of distinct sessions that accessed it.")
    stability_gain = number(
        "Stability of retention gained by accesses: sum of 0.1 * min(2, days since the previous access / 7)."
    )
    energy_base = number("Energy at `energy_at`, in closed form over all accesses and reinforcements.")
    energy_at = instant("Instant of `energy_base`: the last access, reinforcement, tier change or creation.")
    tier = text("working, short_term or long_term.")
    tier_since = instant("When it entered the tier; each tier has its own decay of energy.")
    reinforcement_count = count("Number of newer memories that reinforced it.")
    last_reinforced_at = instant("Last reinforcement.", nullable=True)
    lifecycle = text("active, warm, cold, stub, archived, expired, deleted or erased.")
    lifecycle_since = instant("When it entered this lifecycle.")
    superseded_by = text("Summary or newer memory that replaces it.", nullable=True)
    superseded_kind = text("What replaces it: summary or update.", nullable=True)
    valid_until_given = instant("End of validity that agents gave.", nullable=True)
    closed_by = text("Newer memory that ended its validity, whether or not that is in force.", nullable=True)
    closed_until = instant("End of validity that the newer memory set.", nullable=True)
    closed_statements = dy.List(
        dy.Struct(
            {
                "sentence": text("Sentence of `content` that no longer holds."),
                "valid_until": instant("End of its validity (exclusive)."),
                "closed_by": text("Newer memory that ended it."),
            }
        ),
        nullable=True,
        description="Sentences of the text that newer memories have outdated, while the rest of it still holds, sorted "
        "by sentence; null: none.",
    )
    members = words("For a summary: ids of its members, sorted.")
    cluster_id = text("For a summary: cluster that it summarises.", nullable=True)
    index_text = text("For a summary: words that are embedded and searched.", nullable=True)
    stability_given = share("For a summary: mean stability of its members when it was written.", nullable=True)
    plan_id = text("Plan of the last decision about it.", nullable=True)


class Accesses(dy.Schema):
    """Accesses that count towards scores, one row per access and memory; helpful feedback is one."""

    profile_id = profile()
    seq = dy.Int64(primary_key=True, min=1, description="Ledger position of the event.")
    ordinal = dy.Int64(primary_key=True, min=0, description="Position of the memory within the event.")
    memory_id = text("The memory.")
    at = instant("When it was accessed.")
    session_id = text("Session of the access.", nullable=True)
    expanded = dy.Bool(description="Whether it was reached only over an association.")
    times = dy.Int64(min=1, description="How many accesses it stands for; only the last one is dated.")


class TierChanges(dy.Schema):
    """History of tiers, one row per promotion of a memory."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    at = dy.Datetime(
        time_zone="UTC",
        time_unit="us",
        primary_key=True,
        description="When the promotion took effect, which may be before the run.",
    )
    from_tier = text("Tier before.")
    to_tier = text("Tier after.")
    edge_type = text("PROMOTED_TO (short_term) or CRYSTALLIZED_INTO (long_term).")
    energy = number("Energy at that instant.")
    plan_id = text("Plan that decided it.")


class CoreMemoryBlocks(dy.Schema):
    """Core memory blocks, which an agent reads at the start of every session, one row per block."""

    profile_id = profile()
    block = text(
        "user_profile, health_and_safety, standing_instructions, preferences or current_projects; with the facts of "
        "SuperLocalMemory user_profile, project_context, behavioral_patterns, active_decisions or learned_preferences.",
        key=True,
    )
    content = text("Text of the block: facts, separated by a line of three dashes.")
    members = words("Memories from which it was compiled, in order.")
    marks = dy.List(
        dy.Struct(
            {
                "by_file": dy.Bool(description="Whether that day is only the day of its file.", nullable=True),
                "disputed_at": instant("When what contradicts it was stated.", nullable=True),
                "disputed_by": text("What contradicts it, on one line.", nullable=True),
                "doubted_by": text("What may outdate it, on one line, if no other fact tells it.", nullable=True),
                "doubted_since": instant("Since when it may be outdated.", nullable=True),
                "said_at": instant("When it was stated.", nullable=True),
            },
            nullable=True,
        ),
        nullable=True,
        description="What stands in brackets behind each fact, one for each of `members`; null where a model worded "
        "the block and where its facts bear no days.",
    )
    version = count("Version, which rises when the text changes.")
    compiled_by = text("rules, or the language model that wrote it.")
    compiled_at = instant("Clock of the run that last changed it.")
    plan_id = text("Plan that last changed it.")


class Foldings(dy.Schema):
    """What the state of each profile was folded from; the next run takes it over if it would fold the same."""

    profile_id = profile()
    read = text("Digest of the events and of the decisions in force, and of the program itself.")
    whole = dy.Bool(description="Whether all of the state is published: no deleted memory, no stub, no emptied block.")


class SettledFoldings(Foldings):
    """`foldings` once the plan is committed."""


class Enrichment(dy.Schema):
    """Features extracted from texts, one row per profile, text and parser version; they depend on the text alone."""

    profile_id = profile()
    content_hash = text("Hash of speaker and text, as in memories.", key=True)
    parser = dy.Int64(primary_key=True, min=1, description="Version of the parser; rows of other versions are ignored.")
    language = text("Language of the text (ISO 639-1); null if the text is too short to identify.", nullable=True)
    keywords = words("Most distinctive words, best first.")
    entities = words("Names of people, places and things, sorted.")
    numbers = words("Numbers, amounts and times, normalised, sorted.")
    dates = words("Dates as written, normalised where absolute (YYYY, YYYY-MM, YYYY-MM-DD), sorted.")
    negated = dy.Bool(description="Whether the text denies something.")
    question = dy.Bool(description="Whether the text asks something.")
    tokens = count("Length in tokens: words and punctuation.")
    gist = text("One line that summarises a long text; a short text itself.")
    rule_importance = share("Importance by rare words, names, numbers and dates, for texts that are not read, 0..1.")


class CoreSentences(dy.Schema):
    """What the reader says of the texts of a profile, and which sentences may be core memory; new texts are read."""

    profile_id = profile()
    read = text("Digest of the program that chose the sentences.")
    model = text("What read the texts, with its version, such as sentences 1.")
    texts = dy.List(
        dy.Struct(
            {
                "content_hash": text("Hash of speaker and text, as in memories."),
                "numbers": dy.List(
                    dy.Float64(),
                    description="Of each of its sentences the probability of each label, in the order of "
                    "`text/score/sentence_kinds`, of what `text/score/state_heads` tells, and what the network's state "
                    "adds to the score of each section of core memory.",
                ),
                "sentences": dy.List(
                    dy.Struct(
                        {
                            "place": count("Place of the sentence in its text, from 1."),
                            "sentence": text("The sentence on one line, as written."),
                            "section": text("The block that it belongs to."),
                            "commands": dy.Bool(description="Whether it instructs or forbids."),
                            "lasting": dy.Bool(description="Whether it holds for years."),
                            "leans": dy.Bool(description="Whether nothing before it says whom its first words mean."),
                            "of_user": dy.Bool(
                                description="Whether it belongs there as read; else only if about the owner."
                            ),
                            "owner": dy.Bool(description="Whether it is about the owner, as read."),
                            "introduces": dy.Bool(
                                description="Whether it says who somebody is, or where they live and work."
                            ),
                            "passing": dy.Bool(description="Whether it holds for days or weeks."),
                            "harm": dy.Float64(min=0.0, description="Harm if it were forgotten, 0..3."),
                        }
                    ),
                    description="Its sentences that state a core fact.",
                ),
            }
        ),
        description="Every text that was read, by content_hash.",
    )


class Vectors(dy.Schema):
    """Embeddings, one row per profile, text and model; append-only."""

    profile_id = profile()
    content_hash = text("Hash of speaker and text, as in memories.", key=True)
    model = text("Embedder that computed the vector.", key=True)
    vector = dy.List(dy.Float32(allow_nan=False, allow_inf=False), description="Unit vector.")


class PairReadings(dy.Schema):
    """What the reader found in pairs of texts, recorded once and never computed again; append-only."""

    profile_id = profile()
    older_hash = text("Hash of speaker and text of the older memory, as in memories.", key=True)
    newer_hash = text("Hash of the newer one's.", key=True)
    model = text("What was read, with its version, such as alignment 1.", key=True)
    numbers = dy.List(
        dy.Float64(allow_nan=False, allow_inf=False),
        description="Features of an alignment, scores of relations, or how surely both are one fact, as first judged.",
    )


class Completions(dy.Schema):
    """Requests to language models with their answers, recorded once and replayed; append-only."""

    profile_id = profile()
    request_hash = text(
        "SHA-256 of model, purpose and prompt, 32 hex digits; a failed attempt adds a full stop and its number.",
        key=True,
    )
    model = text("The model.")
    purpose = text("summary, block, facts or relation.")
    content = text("The answer; null if there is none.", nullable=True)
    outcome = text("answered, or why there is no answer, such as budget or timeout.")
    input_tokens = count("Tokens of the request.")
    output_tokens = count("Tokens of the answer.")
    cost = dy.Float64(min=0.0, description="Cost of the request, at the prices in the settings and in their currency.")


class Verdicts(Completions):
    """Requests to language models about pairs of memories, with their answers, recorded once; append-only."""

    subject = text("Names of the pairs asked about (see `consolidation/model_judge`), separated by spaces.")
    refused = words("Why verdicts of the answer were refused, so that the rules' judgement stands: one per pair.")


class ProposedBlocks(CoreMemoryBlocks):
    """Core memory blocks whose text the plan would change."""


class SettledMemories(Memories):
    """`memories` once the plan is committed."""


class SettledAccesses(Accesses):
    """`accesses` once the plan is committed."""


class SettledTierChanges(TierChanges):
    """`tier_changes` once the plan is committed."""


class SettledCoreMemoryBlocks(CoreMemoryBlocks):
    """`core_memory_blocks` once the plan is committed."""


class SettledEnrichment(Enrichment):
    """Rows that the plan's new summaries add to `enrichment`."""


class SettledVectors(Vectors):
    """Rows that the plan's new summaries add to `vectors`."""
