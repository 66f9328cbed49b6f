"""Comparison of two texts: merge guard, paraphrases, changed facts."""
