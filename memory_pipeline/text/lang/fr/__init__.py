"""French: what is bound to the language."""
