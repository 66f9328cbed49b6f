"""Comparison: what two texts are to each other: the same, a change, a contradiction, or different facts."""
