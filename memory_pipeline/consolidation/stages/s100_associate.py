"""Unites all edges at their present weight.

Not here: strengthening and decay (`edges.associations`).
"""

from typing import NamedTuple

from memory_pipeline.consolidation.context import Context
from memory_pipeline.consolidation.edges import associations
from memory_pipeline.consolidation.stage import stage
from memory_pipeline.schemas import (
    Accesses,
    AssociationEdges,
    DecidedEdges,
    DerivedEdges,
    Frame,
    ProposedEdges,
    conform,
)


class Inputs(NamedTuple):
    """Tables that the stage takes."""

    decided_edges: Frame[DecidedEdges]
    derived_edges: Frame[DerivedEdges]
    proposed_edges: Frame[ProposedEdges]
    accesses: Frame[Accesses]


class Outputs(NamedTuple):
    """Table that the stage gives."""

    association_edges: Frame[AssociationEdges]


@stage()
def associate(inputs: Inputs, context: Context) -> Outputs:
    """Unite all edges at their present weight; of two rows for one edge, the decided one wins."""
    return Outputs(
        conform(
            AssociationEdges,
            associations.at_present(
                [inputs.decided_edges, inputs.proposed_edges, inputs.derived_edges],
                inputs.accesses,
                context.policy,
                as_of=context.as_of,
            ),
        )
    )
