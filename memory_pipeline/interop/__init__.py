"""Importers that read other formats as events, one module per format, and the sample generator."""
