"""Exports: what a profile remembers as the files of other tools; each a pure function from tables to texts."""
