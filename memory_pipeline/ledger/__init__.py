"""The ledger: what agents wrote and runs decided, in the order in which it was recorded. All SQL on it stands here."""
