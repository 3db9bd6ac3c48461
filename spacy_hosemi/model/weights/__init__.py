"""The weights of a model: their state, and functions that read or change them."""
