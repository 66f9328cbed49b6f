"""What a run would change: decisions as rows, whether they are allowed, and the state after them."""
