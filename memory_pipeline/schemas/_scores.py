"""Tables of scores."""

import dataframely as dy

from memory_pipeline.schemas.columns import count, instant, number, profile, share, text


class ScoredMemories(dy.Schema):
    """Scores of each live memory with all their factors, and why it is protected."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    as_of = instant("Instant of the scores.")
    age_days = number("Days since creation.")
    idle_days = number("Days since the last access, else creation.")
    importance = share("Importance used.")
    confidence = share("Confidence used.")
    relationship_count = count("Number of neighbours used.")
    age_factor = share("exp(-base_decay_rate * age_days).")
    access_factor = number("access_base + access_weight * (1 if idle < 1 day else exp(-0.05 * idle_days)).")
    relationship_factor = number("1 + relationship_preservation * ln(1 + relationship_count).")
    importance_factor = number("0.5 + importance.")
    confidence_factor = number("0.7 + 0.3 * confidence.")
    relevance = share("Product of the five factors, at most 1.")
    stability = share("Stability of retention.")
    retention_rate = number("Rate at which retention falls, per day; 0: never.", nullable=True)
    retention_floor = share("Lower bound of retention.", nullable=True)
    retention = share(
        "exp(-retention_rate * idle_days), or (1 + retention_rate * idle_days) ** -1.4427 if retention_curve is power; "
        "at least retention_floor."
    )
    floored_at = instant("When retention reaches its floor if the memory is not accessed; null: never.", nullable=True)
    recency_rate = number(
        "1 / (recency_base_hours + recency_access_hours * accesses), or of ln(1 + accesses) if recency_stability is "
        "log; per hour.",
        nullable=True,
    )
    recency = share("exp(-recency_rate * hours since the last access or creation).")
    energy_rate = number("Rate at which energy falls in the memory's tier, per hour.", nullable=True)
    energy = number("Energy at as_of.")
    age_tier = text("hot, warm, cold or archive, by age.")
    strength = share("Score by which this profile's policy decides.")
    is_protected = dy.Bool(description="Whether it may not be archived or deleted.")
    budget_protected = dy.Bool(
        description="Whether it may not be archived for a token budget either: explicitly protected, core, a summary "
        "that replaces its members, stored with a protecting importance or type, or a cause of others."
    )
    protection_reason = text(
        "First reason for its protection; under a token budget, reasons that hold against the budget come first.",
        nullable=True,
    )
    plan_id = text("Plan the row belongs to.")


class ScoreHistory(dy.Schema):
    """Scores of every memory after each commit: how it faded over time.

    The last seven columns are what the scores of any later instant follow from; they are null in rows of versions that
    did not keep them.
    """

    profile_id = profile()
    plan_id = text("Plan of the commit.", key=True)
    memory_id = text("The memory.", key=True)
    as_of = instant("Clock of the run.")
    strength = share("Score by which the profile's policy decided.")
    relevance = share("Relevance.")
    retention = share("Retention.")
    recency = share("Recency.")
    energy = number("Energy.")
    importance = share("Importance used.")
    idle_days = number("Days since the last access, else creation.")
    is_protected = dy.Bool(description="Whether it may not leave the live set.")
    age_days = number("Days since creation.", nullable=True)
    confidence = share("Confidence used.", nullable=True)
    relationship_count = dy.Int64(min=0, nullable=True, description="Number of neighbours used.")
    retention_rate = number("Rate at which retention falls, per day.", nullable=True)
    retention_floor = share("Lower bound of retention.", nullable=True)
    recency_rate = number("Rate at which recency falls, per hour.", nullable=True)
    energy_rate = number("Rate at which energy falls, per hour.", nullable=True)


class SettledScoredMemories(ScoredMemories):
    """`scored_memories` once the plan is committed."""
