"""The state of every memory: what agents wrote, folded, and what runs decided, applied to it."""
