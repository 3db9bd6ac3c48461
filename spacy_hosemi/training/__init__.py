"""From annotated documents to weights: feature selection, objectives, optimizers."""
