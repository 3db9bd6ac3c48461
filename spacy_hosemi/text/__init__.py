"""Texts as they come: cut into tokens, and their words without dirt."""
