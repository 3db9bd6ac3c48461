"""Weights, and the Thinc layer that turns documents into potentials."""
