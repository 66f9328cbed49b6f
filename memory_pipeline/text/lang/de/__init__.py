"""German: what is bound to the language."""
