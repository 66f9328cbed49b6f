"""The ledger: events, decisions and runs in the order of recording, the lake's catalogue, and all SQL."""
