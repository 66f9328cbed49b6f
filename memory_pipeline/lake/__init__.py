"""Where the pipeline's data are kept: events, ledger, tables and snapshots. No Dagster, no formulas."""
