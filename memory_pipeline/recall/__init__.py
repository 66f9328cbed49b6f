"""Recall: finding, reading and changing memories through the client, and explaining their state.

Imports go one way: `closed_statements` ← `models` ← `index` ← `rank` ← `live` ← `client`. Not here: deciding what
happens to a memory (`consolidation`) and committing it (`runs`).
"""
