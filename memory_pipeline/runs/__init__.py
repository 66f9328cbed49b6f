"""Runs: what they read, when they are due, how they are committed, undone and reported. No Dagster."""
