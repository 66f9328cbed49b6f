"""Spanish: what is bound to the language."""
