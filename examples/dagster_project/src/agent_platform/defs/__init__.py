"""Definitions, found by folder."""
