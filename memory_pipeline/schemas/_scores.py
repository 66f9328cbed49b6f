"""Tables of scores."""

import dataframely as dy

from memory_pipeline.schemas._columns import count, instant, number, profile, share, text


class ScoredMemories(dy.Schema):
    """One row a live memory: every score, every factor of it, and why it is protected."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    as_of = instant("Instant of the scores.")
    age_days = number("Days since creation.")
    idle_days = number("Days since the last access, else creation.")
    importance = share("Importance used.")
    confidence = share("Confidence used.")
    relationship_count = count("Neighbours used.")
    age_factor = share("exp(-base_decay_rate * age_days).")
    access_factor = number("access_base + access_weight * (1 if idle < 1 day else exp(-0.05 * idle_days)).")
    relationship_factor = number("1 + relationship_preservation * ln(1 + relationship_count).")
    importance_factor = number("0.5 + importance.")
    confidence_factor = number("0.7 + 0.3 * confidence.")
    relevance = share("Product of the five factors, at most 1.")
    stability = share("Stability of retention.")
    retention = share("Forgetting curve of the category.")
    floored_at = instant("When retention reaches its floor if nothing happens; null: never.", nullable=True)
    recency = share("exp(-hours since last touch / (168 + 24 * accesses)).")
    energy = number("Energy at as_of.")
    age_tier = text("hot, warm, cold or archive, by age.")
    strength = share("The score this profile's decisions use.")
    is_protected = dy.Bool(description="Barred from archive and delete.")
    budget_protected = dy.Bool(
        description="Barred from archive for a token budget too: protected, core or a summary in its members' place, "
        "stored with a protecting importance or type, or a cause of others."
    )
    protection_reason = text(
        "First reason that applies; under a token budget first those that hold against it.", nullable=True
    )
    plan_id = text("Plan the row belongs to.")


class ScoreHistory(dy.Schema):
    """What every memory scored after each commit: how it faded, and by which score."""

    profile_id = profile()
    plan_id = text("Plan of the commit.", key=True)
    memory_id = text("The memory.", key=True)
    as_of = instant("Clock of the run.")
    strength = share("The score its profile's decisions used.")
    relevance = share("Relevance.")
    retention = share("Retention.")
    recency = share("Recency.")
    energy = number("Energy.")
    importance = share("Importance used.")
    idle_days = number("Days since the last access, else creation.")
    is_protected = dy.Bool(description="Barred from leaving the live set.")
