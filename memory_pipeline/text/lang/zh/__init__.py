"""Chinese: what is bound to the language."""
