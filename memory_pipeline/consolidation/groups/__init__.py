"""Groups of memories: the clustering methods, and what the summary of a group inherits."""
