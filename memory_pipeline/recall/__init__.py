"""What agents and people ask of the memories: why one stands where it stands.

Everything here reads what a run has published; nothing here decides or changes a memory.
"""
