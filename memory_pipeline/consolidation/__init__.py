"""Decides what a consolidation run changes: pure functions from tables and arrays to tables and arrays.

Nothing here reads a file, a clock, the environment or a random source, and nothing knows about Dagster.
"""
