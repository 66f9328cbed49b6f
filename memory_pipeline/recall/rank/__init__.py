"""Ranking: features of memory and question, the default ranking, the published formulas, and selection."""
