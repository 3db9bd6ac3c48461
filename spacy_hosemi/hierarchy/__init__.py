"""Labels in a tree: everything that exists only because labels have parents."""
