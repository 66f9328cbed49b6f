"""Associations between memories: how they arise, decay and are measured as a graph."""
