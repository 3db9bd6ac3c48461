"""Features that a user's Python function gives."""
