"""The state of every memory: what agents wrote, folded, and the decisions of runs applied to it."""
