"""Parsing: what a text states, as tokens, sentences, dates, quantities, names and statements."""
