"""Tasks without the GIL on several threads, in a fixed order."""
