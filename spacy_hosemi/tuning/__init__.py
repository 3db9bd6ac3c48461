"""Chooses by cross-validation what `init` cannot know."""
