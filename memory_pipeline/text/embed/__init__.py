"""Embedding: texts as vectors, and how close words are."""
