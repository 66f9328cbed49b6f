"""Everything below `defs/`: the project's own assets, and the component of the memory pipeline."""

from pathlib import Path

import dagster as dg


@dg.definitions
def defs() -> dg.Definitions:
    """Load the project; its names may be the pipeline's, since those carry a prefix."""
    return dg.Definitions.merge(
        dg.load_from_defs_folder(path_within_project=Path(__file__).parent),
        dg.Definitions(executor=dg.multiprocess_executor),
    )
