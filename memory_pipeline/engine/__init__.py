"""Engines: where the parts of a run are computed: in this process, in several, or on a Spark cluster."""
