"""The recall index: the memories of one profile, laid out for ranking."""
