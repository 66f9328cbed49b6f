"""The index of recall: the memories of one profile, laid out for ranking."""
