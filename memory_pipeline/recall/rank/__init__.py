"""Ranking: features of memory and query, the default ranking, the published formulas, and the order of an answer."""
