"""Stores of made-up people and projects, with the relations between their memories and questions: training data."""
