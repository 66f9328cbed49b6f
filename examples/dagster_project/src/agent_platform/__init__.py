"""A Dagster project of its own."""
