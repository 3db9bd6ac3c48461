"""Label patterns and rules, compiled to states and arcs."""
