"""Faces of the pipeline: thin callers of Dagster, the lake and the pure rooms. Nothing imports from here."""
