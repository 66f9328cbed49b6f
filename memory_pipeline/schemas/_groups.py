"""Tables of clusters and their summaries."""

import dataframely as dy

from memory_pipeline.schemas._columns import count, instant, number, profile, share, text, words


class Clusters(dy.Schema):
    """Groups of memories, one row a cluster."""

    profile_id = profile()
    cluster_id = text("Hash of method and sorted member ids.", key=True)
    method = text("near_duplicates, fading_groups, similarity_components, coactivation or episodes.")
    level = text("episode, session or agent, for episodes.", nullable=True)
    parent_id = text("Cluster of the level above, for episodes.", nullable=True)
    strength = number("Largest shared-session count, for coactivation.", nullable=True)
    first_coactivated_at = instant("When two members first shared a session, for coactivation.", nullable=True)
    label = text("Most telling words its members share.")
    dominant_type = text("Most frequent type; ties alphabetical.")
    cluster_size = dy.Int64(min=2, description="Number of members.")
    temporal_span_days = number("Days between the oldest and the newest member.")
    cohesion = dy.Float64(
        min=-1.0, max=1.0, nullable=True, description="Mean cosine between members; null where it is not known."
    )
    plan_id = text("Plan the row belongs to.")


class ClusterMembers(dy.Schema):
    """Who is in which cluster."""

    profile_id = profile()
    cluster_id = text("The cluster.", key=True)
    memory_id = text("The member.", key=True)


class MergeRefusals(dy.Schema):
    """Near duplicates that were not merged, and why."""

    profile_id = profile()
    memory_id = text("The one memory (smaller id).", key=True)
    other_id = text("The other.", key=True)
    similarity = dy.Float32(description="Their cosine.")
    reason = text("numbers, dates, negation, names, validity, words, spelling or conflict: what they disagree in.")
    detail = text("What each of the two says without the other, the smaller id first.")


class Summaries(dy.Schema):
    """Summaries, one row each, with what they inherit from their members."""

    profile_id = profile()
    summary_id = text("Hash of cluster and members' texts; the summary's memory_id.", key=True)
    cluster_id = text("Cluster it stands for.")
    kind = text("meta_pattern, compression, consolidation, episode, session, agent or unit.")
    compiled_by = text("rules, or the model that worded it.")
    fallback = text("Why the model's text was not taken, if one was asked.", nullable=True)
    memory_type = text("MetaPattern, or the members' dominant type.")
    category = text("Category of the members.")
    content = text("Text to read.")
    index_text = text("Words to embed and search.")
    content_hash = text("As in memories.")
    members = words("Member ids, sorted.")
    importance = share("Largest importance of the members.")
    stability = share("Mean stability of the members.")
    access_count = count("Largest access count of the members.")
    confidence = share("Smallest confidence of the members.")
    valid_from = instant("Earliest start of validity of the members.", nullable=True)
    valid_until = instant("Common end of validity of the members.", nullable=True)
    protected = dy.Bool(description="A member is explicitly protected.")
    protected_reason = text("That member's reason.", nullable=True)
    speaker = text("Who said all members, if they leave the live set.", nullable=True)
    session_id = text("Session of the newest member, if they leave.", nullable=True)
    agent_id = text("Agent that stored all members, if they leave.", nullable=True)
    user_id = text("Person all members were stored for, if they leave.", nullable=True)
    tags = words("Tags of the members, if they leave.")
    said_at = instant("When the newest member was stored, if they leave.", nullable=True)
    replaces = words("Live summaries that this one takes the place of.")
    supersedes = dy.Bool(description="Its members leave the live set.")
    plan_id = text("Plan the row belongs to.")
