"""Exact inference for high-order semi-Markov models: numpy in, numpy out, no spaCy."""

from .automaton import PatternAutomaton
from .inference import Marginals, log_partition, marginals
from .potentials import CELLS, Constraints, Potentials
from .viterbi import score, viterbi

__all__ = [
    "CELLS",
    "Constraints",
    "Marginals",
    "PatternAutomaton",
    "Potentials",
    "log_partition",
    "marginals",
    "score",
    "viterbi",
]
