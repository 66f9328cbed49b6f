"""What a policy does to memories, measured before anybody turns it on."""
