"""Tables of clusters and their summaries."""

import dataframely as dy

from memory_pipeline.schemas.columns import count, instant, number, profile, share, text, words


class Clusters(dy.Schema):
    """Groups of memories, one row per cluster."""

    profile_id = profile()
    cluster_id = text("Hash of the method and the sorted member ids.", key=True)
    method = text("near_duplicates, fading_groups, similarity_components, coactivation or episodes.")
    level = text("episode, session or agent, for method episodes.", nullable=True)
    parent_id = text("Cluster of the next higher level, for method episodes.", nullable=True)
    strength = number("Largest number of sessions that two members share, for method coactivation.", nullable=True)
    first_coactivated_at = instant("When two members first shared a session, for method coactivation.", nullable=True)
    label = text("Up to three topic words that most members share, names capitalised.")
    dominant_type = text("Most frequent memory type; the first in the alphabet if several are.")
    cluster_size = dy.Int64(min=2, description="Number of members.")
    temporal_span_days = number("Days between the oldest and the newest member.")
    cohesion = dy.Float64(min=-1.0, max=1.0, nullable=True, description="Mean cosine between members; null if unknown.")
    plan_id = text("Plan the row belongs to.")


class ClusterMembers(dy.Schema):
    """Members of each cluster, one row per cluster and memory."""

    profile_id = profile()
    cluster_id = text("The cluster.", key=True)
    memory_id = text("The member.", key=True)


class ClusterLineage(dy.Schema):
    """Which cluster became which in a commit: one row per cluster that changed, and cluster that it came from.

    A cluster with the same members as before has no row. The ids are those of `clusters` after and before the commit.
    """

    profile_id = profile()
    plan_id = text("Plan of the commit.", key=True)
    ordinal = dy.Int64(primary_key=True, min=0, description="Place of the row in the commit.")
    as_of = instant("Clock of the run.")
    method = text("Method that found both, as in clusters.")
    level = text("episode, session or agent, for method episodes.", nullable=True)
    previous_id = text("The cluster before; null: none of its members was in a cluster that ended.", nullable=True)
    cluster_id = text("The cluster after; null: none of its members is in a new cluster.", nullable=True)
    change = text(
        "formed, dissolved, grown, shrunk, exchanged (as many members, others), merged (of several), split (into "
        "several) or regrouped (both)."
    )
    shared_members = count("Members of both.")
    previous_size = count("Members of the cluster before; 0 without one.")
    size = count("Members of the cluster after; 0 without one.")


class MergeRefusals(dy.Schema):
    """Near duplicates that the merge guard kept apart, with the reason."""

    profile_id = profile()
    memory_id = text("The memory with the smaller id.", key=True)
    other_id = text("The other memory.", key=True)
    similarity = dy.Float32(description="Cosine of the two.")
    reason = text("What they differ in: numbers, dates, negation, names, validity, words, spelling or conflict.")
    detail = text("What each of the two says and the other does not, the smaller id first.")


class Groupings(dy.Schema):
    """What a clustering method found in a profile; the next run takes it over if the method would read the same."""

    profile_id = profile()
    method = text("The method, such as near_duplicates.", key=True)
    read = text(
        "Digest of all that the method read: memories, vectors, what keeps two apart, policy, and the program itself."
    )
    groups = dy.List(
        dy.List(count("Place of a member.")),
        description="Places of the members of each group among the memories that it read, by age, from 0.",
    )
    refusals = dy.List(
        dy.Struct(
            {
                "memory_id": text("As in merge_refusals."),
                "other_id": text("As in merge_refusals."),
                "similarity": dy.Float32(description="Cosine of the two."),
                "reason": text("As in merge_refusals."),
                "detail": text("As in merge_refusals."),
            }
        ),
        description="Near duplicates that it kept apart.",
    )
    made_by = text(
        "Digest of the method's name and the program itself; null if an earlier version made the row.", nullable=True
    )
    asked = dy.List(
        dy.Int64(),
        description="Fingerprints of what the merge guard was asked of pairs, in ascending order, each once.",
    )
    answered = dy.List(
        dy.Struct(
            {
                "reason": text("As in merge_refusals; null where the two may be merged.", nullable=True),
                "detail": text("As in merge_refusals.", nullable=True),
            }
        ),
        description="The answers, in the same order.",
    )


class Summaries(dy.Schema):
    """Summaries, and facts that a model took from an entry: one row each, with what they inherit from their members."""

    profile_id = profile()
    summary_id = text("Hash of the cluster and the members' texts, or of the fact; also its memory_id.", key=True)
    cluster_id = text("Cluster that it summarises; for a fact, hash of its entry and the entry's text.")
    kind = text("meta_pattern, compression, consolidation, episode, session, agent, unit or fact.")
    compiled_by = text("rules, or the language model that wrote it.")
    fallback = text("Why a language model's text was rejected, if a model was asked.", nullable=True)
    memory_type = text("MetaPattern, or the members' dominant type.")
    category = text("Category of the members.")
    content = text("Text to read.")
    index_text = text("Words that are embedded and searched.")
    content_hash = text("Hash of the speaker and the content, as in memories.")
    members = words("Member ids, sorted.")
    importance = share("Largest importance of the members.")
    stability = share("Mean stability of the members.")
    access_count = count("Largest access count of the members.")
    confidence = share("Smallest confidence of the members.")
    valid_from = instant("Earliest start of the members' validity.", nullable=True)
    valid_until = instant("End of validity, if the members share one.", nullable=True)
    protected = dy.Bool(description="Whether a member is explicitly protected.")
    protected_reason = text("Reason given for that member.", nullable=True)
    speaker = text("Speaker of all members, if it replaces them.", nullable=True)
    session_id = text("Session of the newest member, if it replaces them.", nullable=True)
    agent_id = text("Agent that stored all members, if it replaces them.", nullable=True)
    user_id = text("Person for whom all members were stored, if it replaces them.", nullable=True)
    tags = words("Tags of the members, if it replaces them.")
    said_at = instant("When the newest member was stored, if it replaces them.", nullable=True)
    metadata = text("Project, file and headings of all members, and what dates the newest, as JSON.", nullable=True)
    replaces = words("Live summaries that it replaces.")
    supersedes = dy.Bool(description="Whether it replaces its members, which then leave the live set.")
    plan_id = text("Plan the row belongs to.")
