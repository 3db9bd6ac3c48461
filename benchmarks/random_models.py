"""Random automata and potentials, on which `spacy_hosemi.core` is measured alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from harness import SEED, read_docs  # before numpy: sets the number of threads

# isort: split
import numpy as np
import spacy

from spacy_hosemi import core

Pattern = tuple[str, ...]


def label_names(n_labels: int) -> list[str]:
    """Names of labels; the first is outside."""
    return ["O", *(f"l{i}" for i in range(1, n_labels))]


def all_pairs(labels: Sequence[str]) -> list[Pattern]:
    """All patterns of two labels."""
    return [(a, b) for a in labels for b in labels]


def prefixes(pattern: Pattern) -> set[Pattern]:
    """The states that a pattern needs besides those of the labels."""
    return {pattern[:k] for k in range(2, len(pattern))}


def random_automaton(
    n_labels: int, length: int, n_states: int
) -> core.PatternAutomaton:
    """All pairs, and random patterns of a length until there are exactly n_states
    states; the same ones for the same numbers."""
    rng = np.random.default_rng(SEED)
    labels = label_names(n_labels)
    patterns = all_pairs(labels)
    seen, states = set(patterns), set[Pattern]()
    while (n_more := n_states - (1 + n_labels + len(states))) > 0:
        pattern = tuple(labels[y] for y in rng.integers(n_labels, size=length))
        if pattern not in seen and len(prefixes(pattern) - states) <= n_more:
            seen.add(pattern)
            patterns.append(pattern)
            states |= prefixes(pattern)
    return core.PatternAutomaton(labels, patterns)


def random_patterns(n_labels: int, n_patterns: int) -> core.PatternAutomaton:
    """Random patterns of three and of four labels, and no pairs."""
    rng = np.random.default_rng(SEED)
    labels = label_names(n_labels)
    patterns: dict[Pattern, None] = {}
    while len(patterns) < n_patterns:
        chosen = rng.integers(n_labels, size=3 + len(patterns) % 2)
        patterns[tuple(labels[y] for y in chosen)] = None
    return core.PatternAutomaton(labels, patterns)


def label_sequences(path: Path) -> list[Pattern]:
    """Read the labels of the segments of each document, outside ones included."""
    found = []
    for doc in read_docs(path, spacy.blank("xx")):
        sequence, at = ["^"], 0
        for ent in doc.ents:
            sequence += ["O"] * (ent.start > at) + [ent.label_]
            at = ent.end
        found.append((*sequence, *["O"] * (at < len(doc)), "$"))
    return found


def seen_automaton(path: Path, order: int, n_states: int) -> core.PatternAutomaton:
    """All pairs, and the most frequent n-grams of up to order + 1 labels of a file of
    JSON lines, as long as n_states suffice."""
    sequences = label_sequences(path)
    labels = ["O", *sorted({y for z in sequences for y in z} - {"^", "O", "$"})]
    counts = Counter(
        sequence[i : i + length]
        for sequence in sequences
        for length in range(3, order + 2)
        for i in range(len(sequence) - length + 1)
    )
    patterns, states = all_pairs(labels), set[Pattern]()
    for pattern, _ in counts.most_common():
        states |= prefixes(pattern)
        if 1 + len(labels) + len(states) > n_states:
            break
        patterns.append(pattern)
    return core.PatternAutomaton(labels, patterns)


def first_order() -> core.PatternAutomaton:
    """14 labels and all their pairs."""
    labels = label_names(14)
    return core.PatternAutomaton(labels, all_pairs(labels))


def random_potentials(
    automaton: core.PatternAutomaton,
    n_tokens: int,
    max_length: int = 1,
    tail: float = 0.0,
    seed: int = SEED,
) -> core.Potentials:
    """Potentials from the normal distribution, the same for the same numbers; the tail
    is for each token above max_length, -inf: at most so many."""
    rng = np.random.default_rng(seed)
    potentials = core.Potentials.zeros(automaton, n_tokens, max_length)
    for name in ("inside", "start", "end", "length", "pattern"):
        array = getattr(potentials, name)
        array[...] = rng.normal(size=array.shape)
    potentials.tail[:] = tail
    return potentials


def long_segments(
    automaton: core.PatternAutomaton, n_tokens: int, length: int
) -> core.Potentials:
    """Potentials with which segments of one length are by far the likeliest."""
    rng = np.random.default_rng(SEED)
    potentials = random_potentials(automaton, n_tokens)
    potentials.inside[...] = rng.normal(size=(n_tokens, 1))  # no label wins with time
    potentials.start -= 30.0
    potentials.start[::length] += 40.0
    return potentials
