"""Japanese: what is bound to the language."""
