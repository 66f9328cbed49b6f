"""Embeddings of texts, and the thesaurus of related words."""
