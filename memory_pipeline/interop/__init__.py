"""Other formats: importers that read foreign files as events, one module a format, and the sample generator."""
