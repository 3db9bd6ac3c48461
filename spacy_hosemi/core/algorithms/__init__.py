"""Algorithms that combine sweeps: marginals, Viterbi, k-best, sampling."""
