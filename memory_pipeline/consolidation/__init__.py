"""The decisions of a consolidation run as pure functions: tables and arrays in, tables and arrays out.

Nothing here reads a file, a clock, the environment or a random source, and nothing here knows the orchestrator.
"""
