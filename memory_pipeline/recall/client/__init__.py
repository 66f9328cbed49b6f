"""The client: what an agent does with its memory."""
