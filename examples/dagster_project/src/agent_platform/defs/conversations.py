"""The project's own assets: what its agents were asked, and a report on what they remember."""

import dagster as dg
import polars as pl


class Conversations(dg.ConfigurableResource[None]):
    """Where the project keeps its conversations."""

    folder: str = "conversations"


@dg.asset(group_name="conversations")
def events(store: Conversations) -> list[str]:
    """Topics of the conversations; an asset that happens to be named like one of the pipeline's."""
    return [f"{store.folder}: launch", f"{store.folder}: travel"]


@dg.asset(
    group_name="conversations",
    ins={"memories": dg.AssetIn(key=["memory", "memories"])},
)
def memory_report(context: dg.AssetExecutionContext, events: list[str], memories: pl.DataFrame) -> None:
    """Count what is remembered; the table comes through the pipeline's own IO manager."""
    context.add_output_metadata({"topics": len(events), "memories": memories.height})


@dg.definitions
def defs() -> dg.Definitions:
    """Name the project's resource and job as the pipeline does, to show that both fit beside each other."""
    return dg.Definitions(
        assets=[events, memory_report],
        resources={"store": Conversations()},
        jobs=[dg.define_asset_job("full", dg.AssetSelection.assets("events"))],
    )
