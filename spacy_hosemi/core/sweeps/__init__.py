"""Passes of dynamic programming over a chart."""
