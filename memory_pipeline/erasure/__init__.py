"""Erasure: removes a memory, a person or a profile from every file, with everything derived from it."""
