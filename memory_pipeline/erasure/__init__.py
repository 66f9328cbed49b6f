"""Erasure: removes a memory, a person or a profile from every file, with all that was derived from it."""
