"""Labels of text pairs, and generated pairs with known relations to measure them."""
