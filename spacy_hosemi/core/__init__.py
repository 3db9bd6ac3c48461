"""Exact inference for high-order semi-Markov models: numpy in, numpy out.

Nothing here calls spaCy; but to import it is to import the package, and so spaCy."""

from .algorithms.entropy import entropy
from .algorithms.kbest import kbest
from .algorithms.many import marginals_many, viterbi_many
from .algorithms.marginals import Marginals, log_partition, marginals
from .algorithms.mbr import mbr
from .algorithms.sampling import sample
from .algorithms.viterbi import add_counts, score, viterbi
from .automaton.automaton import PatternAutomaton
from .automaton.grammar import LabelGrammar, compile_grammar
from .potentials import CELLS, ENTRIES, Constraints, Potentials

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
