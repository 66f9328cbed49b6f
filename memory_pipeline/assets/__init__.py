"""The assets: tables that a run publishes, its commit and the snapshot; all are made by one graph of steps.

A step runs a group of stages and hands its tables to the next one. Only the commit materialises assets, and of those
only what it changed. Not here: what a stage computes (`consolidation/`, `text/`); jobs, owners and freshness (`jobs/`,
`definitions.py`).
"""
