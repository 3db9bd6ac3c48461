"""Loops over the weights of active features, in Cython."""
