"""Pairs of texts with known relations, and how well they are judged."""
