"""Potentials grouped as the sweeps read them."""
