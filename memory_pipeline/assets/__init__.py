"""The assets: one step per stage, made from the stage's signature, and four written by hand.

Written by hand are `events`, `consolidation_plan`, `consolidation_commit` and `snapshot`. Not here: what a stage
computes (`consolidation/`, `text/`); jobs, owners and freshness (`jobs/`, `definitions.py`).
"""
