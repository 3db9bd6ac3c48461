"""Exact inference for high-order semi-Markov models: numpy in, numpy out, no spaCy."""

from .automaton import PatternAutomaton
from .batches import marginals_many, viterbi_many
from .entropy import entropy
from .grammar import LabelGrammar, compile_grammar
from .inference import Marginals, log_partition, marginals
from .kbest import kbest
from .mbr import mbr
from .potentials import CELLS, ENTRIES, Constraints, Potentials
from .sampling import sample
from .viterbi import add_counts, score, viterbi

__all__ = [
    "CELLS",
    "ENTRIES",
    "Constraints",
    "LabelGrammar",
    "Marginals",
    "PatternAutomaton",
    "Potentials",
    "add_counts",
    "compile_grammar",
    "entropy",
    "kbest",
    "log_partition",
    "marginals",
    "marginals_many",
    "mbr",
    "sample",
    "score",
    "viterbi",
    "viterbi_many",
]
