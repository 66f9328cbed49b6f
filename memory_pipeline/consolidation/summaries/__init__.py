"""Summaries of groups: their texts by rules or by a language model, and whether these are faithful."""
