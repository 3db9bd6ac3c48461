"""Lists of names, exact and fuzzy, as features or as hard constraints."""
