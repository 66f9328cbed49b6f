"""Tables of the association graph."""

import dataframely as dy

from memory_pipeline.schemas.columns import count, instant, profile, share, text


class Edges(dy.Schema):
    """Associations between memories; undirected types are stored once, with source < target."""

    profile_id = profile()
    source = text("Memory at which the edge starts.", key=True)
    target = text("Memory at which the edge ends.", key=True)
    edge_type = text(
        "Derived: FOLLOWS, CAUSED_BY, SIMILAR_TO, REFERENCES, COACTIVATED, SHORTCUT. Decided: DISCOVERED, CONTRADICTS, "
        "SUMMARIZES and others, and MAY_UPDATE (newer to older) and MAY_REPEAT, which only change what recall shows. "
        "Asserted: any type that an agent gave.",
        key=True,
    )
    kind = text(
        "Subtype: explains, shares_theme, parallel_context, contrast, conflict, meta_pattern, compression and others.",
        nullable=True,
    )
    origin = text("derived (recomputed by every run), asserted (by an agent) or decided (by a committed plan).")
    weight = share("Weight at as_of, after decay.")
    base_weight = share("Weight when last strengthened, from which it decays.")
    confidence = share(
        "Confidence in the edge; null for a link about facts: its present confidence is in fact_changes, "
        "the one it was decided with in the factors of the decision.",
        nullable=True,
    )
    similarity = dy.Float32(nullable=True, description="Cosine of the two memories, float64 dot rounded to float32.")
    algorithm = text("Algorithm that created it, such as creative_association.")
    discovered_at = instant("When it was created; for a derived edge, when the later memory was.")
    last_strengthened_at = instant("Instant from which the weight decays.")
    co_count = count("Number of sessions that accessed both memories; 0 where it does not apply.")
    plan_id = text("Plan that decided it; empty for derived and asserted edges.")


class Neighbours(dy.Schema):
    """Pairs of live memories that say nearly the same, where an edge rule needs them; found once per run."""

    profile_id = profile()
    memory_id = text("The memory with the smaller id.", key=True)
    other_id = text("The other memory.", key=True)
    similarity = dy.Float32(description="Cosine of the two, float64 dot rounded to float32.")


class Comparisons(dy.Schema):
    """What comparing all vectors of a profile found; the next run takes it over if it would compare the same."""

    profile_id = profile()
    read = text("Digest of all that was compared: memories, vectors, the lowest cosine, and the program itself.")
    made_by = text("Digest of the lowest cosine and the program itself.")
    members = dy.List(
        dy.Struct(
            {
                "memory_id": text("The memory."),
                "vector": dy.Int64(description="Fingerprint of its vector."),
            }
        ),
        description="The live memories that were compared, by place; later only others are compared with them.",
    )
    pairs = dy.List(
        dy.Struct(
            {
                "one": count("Place of a memory among the live ones, by id, from 0."),
                "other": count("Place of the other memory, the higher one."),
                "similarity": dy.Float32(description="Cosine of the two."),
            }
        ),
        description="The pairs of neighbours, by place.",
    )


class DecidedEdges(Edges):
    """Edges that agents asserted or earlier runs decided, at the weight last given."""


class DerivedEdges(Edges):
    """Edges that follow from the memories and from how they are used; recomputed by every run."""


class ProposedEdges(Edges):
    """Edges that the plan would add."""


class AssociationEdges(Edges):
    """Derived, decided and proposed edges at their present weight."""


class MemoryImportance(dy.Schema):
    """Importance and centrality of each live memory in the association graph."""

    profile_id = profile()
    memory_id = text("The memory.", key=True)
    importance = share(
        "Importance in use: the agent's value, else from its hint and the text; raised for central memories if the "
        "policy says so."
    )
    importance_unraised = share("Importance before centrality raised it; protection uses this one.")
    importance_score = dy.Float64(min=0.0, max=10.0, description="importance x 10, as the reflection trigger sums it.")
    degree = count("Number of distinct neighbours over all edges.")
    relationship_count = count("Number of distinct neighbours over asserted and committed edges.")
    in_degree = count("Number of directed edges that point at it, without FOLLOWS and SUMMARIZES.")
    pagerank = share("PageRank (damping .85) within the profile; sums to 1.")
    community = text("Community found by label propagation, named for its smallest member id.")


class SettledDecidedEdges(DecidedEdges):
    """`decided_edges` once the plan is committed."""


class SettledDerivedEdges(DerivedEdges):
    """`derived_edges` once the plan is committed."""


class SettledAssociationEdges(AssociationEdges):
    """`association_edges` once the plan is committed."""


class SettledMemoryImportance(MemoryImportance):
    """`memory_importance` once the plan is committed."""
