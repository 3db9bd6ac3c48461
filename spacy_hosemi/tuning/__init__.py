"""Chooses settings by cross-validation, in a time that is given."""
