"""Inner loops in C, with a version for each instruction set."""
