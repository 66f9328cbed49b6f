"""Measures what a policy does to memories and to recall before it is enabled."""
