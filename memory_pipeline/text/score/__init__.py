"""Scores of a text: its importance, and the value of each clause."""
