"""Parsing: tokens, lemmas, clauses, facts and statements of a text."""
