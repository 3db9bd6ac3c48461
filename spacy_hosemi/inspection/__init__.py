"""What a training corpus says before anything is trained on it."""
