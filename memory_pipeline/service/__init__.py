"""Interfaces of the pipeline: command line, HTTP, MCP. Thin layers over the other rooms; nothing imports from here."""
