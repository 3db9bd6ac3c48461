"""Loops over the features of training documents, in Cython."""
