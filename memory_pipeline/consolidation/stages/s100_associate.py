"""Unites all edges at their present weight. Not here: strengthening and decay (`edges.associations`)."""

from typing import NamedTuple

from memory_pipeline import schemas
from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import Frame, conform


class Inputs(NamedTuple):
    decided_edges: Frame[schemas.DecidedEdges]
    derived_edges: Frame[schemas.DerivedEdges]
    proposed_edges: Frame[schemas.ProposedEdges]
    accesses: Frame[schemas.Accesses]


class Outputs(NamedTuple):
    association_edges: Frame[schemas.AssociationEdges]


@stage()
def associate(inputs: Inputs, context: Context) -> Outputs:
    """Unite all edges at their present weight; of two rows for one edge, the decided one wins."""
    return Outputs(
        conform(
            schemas.AssociationEdges,
            associations.at_present(
                [inputs.decided_edges, inputs.proposed_edges, inputs.derived_edges],
                inputs.accesses,
                context.policy,
                as_of=context.as_of,
            ),
        )
    )
