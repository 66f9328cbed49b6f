"""The client: what an agent calls to store, recall and change memories, and to run and explain consolidation."""
