"""Scores of a text: how important it is, and what each of its clauses is worth."""
