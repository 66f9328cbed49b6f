"""English: word lists and expressions."""
