"""Language models: the completion protocol and its clients."""
