"""Italian: what is bound to the language."""
