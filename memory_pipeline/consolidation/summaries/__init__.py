"""Summaries of groups: texts by rules or by a language model, and whether those are faithful."""
