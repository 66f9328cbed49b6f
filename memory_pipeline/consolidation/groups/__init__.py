"""Groups of memories: which belong together by which method, and what their summary inherits."""
