"""Tables of the association graph."""

import dataframely as dy

from memory_pipeline.schemas._columns import count, instant, profile, share, text


class Edges(dy.Schema):
    """Associations between memories; undirected types are stored once with source < target."""

    profile_id = profile()
    source = text("Memory at the one end.", key=True)
    target = text("Memory at the other end.", key=True)
    edge_type = text(
        "FOLLOWS, CAUSED_BY, SIMILAR_TO, REFERENCES (derived), DISCOVERED, CONTRADICTS, SUMMARIZES, or as asserted.",
        key=True,
    )
    kind = text(
        "Finer kind: explains, shares_theme, parallel_context, contrast, conflict, meta_pattern, compression ...",
        nullable=True,
    )
    origin = text("derived (recomputed by every run), asserted (an agent said so) or decided (by a committed plan).")
    weight = share("Weight at as_of, after decay.")
    base_weight = share("Weight when last strengthened; decay starts from it.")
    confidence = share("Confidence in the edge.", nullable=True)
    similarity = dy.Float32(nullable=True, description="Cosine of the two memories, float64 dot rounded to float32.")
    algorithm = text("What made it, such as creative_association.")
    discovered_at = instant("When it came to be; derived edges date from the later memory.")
    last_strengthened_at = instant("Decay counts from here.")
    co_count = count("Sessions that accessed both; 0 where it does not apply.")
    plan_id = text("Plan that decided it; empty for derived and asserted edges.")


class MemoryImportance(dy.Schema):
    """How central each live memory is in the association graph."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    importance = share("Importance: given, else from hint and rule; raised by centrality where the policy says so.")
    importance_unraised = share("Importance before it was raised: what protects a memory.")
    importance_score = dy.Float64(min=0.0, max=10.0, description="importance x 10, as the reflection trigger sums it.")
    degree = count("Distinct neighbours over all edges.")
    relationship_count = count("Distinct neighbours over asserted and committed edges.")
    in_degree = count("Directed edges that point at it, FOLLOWS and SUMMARIZES not counted.")
    pagerank = share("PageRank (damping .85) within the profile; sums to 1.")
    community = text("Community by label propagation: id of its smallest member.")
