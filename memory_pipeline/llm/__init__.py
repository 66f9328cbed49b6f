"""Language models: one protocol, and the clients that speak it."""
