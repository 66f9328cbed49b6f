"""Comparison of two texts: judges of relations, merge guard."""
