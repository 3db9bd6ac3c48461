"""The spaCy component."""
