"""From documents and weights to spans, posteriors and alternatives."""
