"""The assets: one module a stage, named after its asset; each body is one call into a pure function.

What a stage computes stands in `consolidation/` and `text/`; owners, kinds and freshness in `definitions.py`.
"""
