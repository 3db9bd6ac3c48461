"""Exact inference for high-order semi-Markov models: numpy in, numpy out, no spaCy."""

from .automaton import PatternAutomaton
from .grammar import LabelGrammar, compile_grammar
from .inference import Marginals, log_partition, marginals
from .potentials import CELLS, ENTRIES, Constraints, Potentials
from .viterbi import score, viterbi

__all__ = [
    "CELLS",
    "ENTRIES",
    "Constraints",
    "LabelGrammar",
    "Marginals",
    "PatternAutomaton",
    "Potentials",
    "compile_grammar",
    "log_partition",
    "marginals",
    "score",
    "viterbi",
]
