"""Groups of memories: which belong together, by which method, and which group continues which."""
