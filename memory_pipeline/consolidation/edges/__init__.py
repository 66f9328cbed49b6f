"""Associations between memories: how they come to be, fade and are measured as a graph."""
