"""The assets: one step a stage, made from the stage's signature, and four that are written out.

Written out are `events`, `consolidation_plan`, `consolidation_commit` and `snapshot`. Not here: what a stage computes
(`consolidation/`, `text/`); jobs, owners and freshness (`jobs/`, `definitions.py`).
"""
