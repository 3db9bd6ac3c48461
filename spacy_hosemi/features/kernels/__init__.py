"""Feature keys, dictionaries and tries in Cython."""
