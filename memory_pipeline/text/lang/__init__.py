"""Language resources, one package per language."""
