"""Viterbi where few observed patterns are active."""
