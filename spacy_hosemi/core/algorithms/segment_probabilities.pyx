"""Probabilities of segments of many documents, four documents at a time.

If a number leaves the range of float64, each document is done again alone, and where
that fails, in logs.
"""

import numpy as np

from ...errors import Errors
from ..chart.layout cimport Layout, layout_of
from ..chart.span_lists cimport SpanLists
from ..parallel.coroutines import finish
from .posteriors import Posteriors

# What is known of a path: the path itself, the probabilities of its segments with a
# label but outside, its score, and log Z.
PathAnswer = tuple
# See `best_path_steps`.
PathsFound = tuple

# Documents for which there would have to be more numbers are done alone.
LARGE = 4_000_000


def segment_probabilities(automaton, potentials, segments, constraints):
    """Returns the probability of each of some segments (start, end, label), by
    document. Raises HS021 for a label and HS024 for offsets that do not exist."""
    return finish(probability_steps(automaton, potentials, segments, constraints))[0]


def probability_steps(automaton, potentials, segments, constraints):
    """Returns what `segment_probabilities` does, and log Z of each document, None where
    it has no segments; yields tasks, each to be done before the next step."""
    batch = _batch(automaton)
    asked = [k for k in range(len(potentials)) if segments[k]]
    log_z = [None] * len(potentials)
    batch.ask_for_segments()
    args = potentials, segments, constraints, asked
    found = yield from _in_fours(batch, *args, log_z)
    return [probs or [] for probs in found], log_z


def log_partition_as_asked(automaton, potentials, constraints):
    """Returns log Z of a document, the same bits as of `probability_steps`; -inf if no
    segmentation is possible."""
    batch = _batch(automaton)
    log_z = [None]
    batch.ask_for_segments()
    finish(_in_fours(batch, [potentials], [()], [constraints], [0], log_z))
    return log_z[0]


def probable_segments(automaton, potentials, segments, constraints, double p):
    """Returns borders int32 [N + 1], segments int32 [K, 3] (start, end, label, sorted
    by end, start, label) and their scores [K]: those of probability p or more, and
    those in `segments`; p = 0: all that no -inf forbids. Raises HS118 if the automaton
    has observed patterns."""
    cdef SpanLists listing = SpanLists(p, has_scores=True)
    if automaton.observed:
        found, expected = "observed patterns", "no observed patterns"
        raise ValueError(Errors.HS118.format(expected=expected, found=found))
    batch = _batch(automaton)
    sizes = np.array([len(x.inside) for x in potentials], np.int64)
    batch.ask_for_list(listing)
    asked = np.flatnonzero(sizes).tolist()
    finish(_in_fours(batch, potentials, segments, constraints, asked))
    return listing.sorted(sizes, automaton.n_labels)


def path_steps(automaton, potentials, paths, constraints):
    """Returns a `PathAnswer` for the path of each document, which covers all tokens;
    None where there is no path. Yields tasks."""
    batch = _batch(automaton)
    batch.ask_for_paths()
    asked = [k for k in range(len(potentials)) if paths[k]]
    return (yield from _paths(batch, potentials, paths, constraints, asked))


def best_path_steps(automaton, potentials, *, bint has_probabilities=True):
    """Returns the best segmentations of D documents without constraints, the same bits
    as `viterbi` and `path_steps`; None if at least one has to be done alone. Yields
    tasks.

    n_spans (int32 [D]), spans (int32 [K, 3]) Start, end and label of each span,
        document by document, in tokens of the document; none has label 0.
    probability (float64 [K]), whole (float64 [D]) Of each span, and segmentation; None
        without `has_probabilities`.
    """
    batch = _batch(automaton)
    batch.ask_for_paths(has_probabilities)
    return (yield from _arrays(batch, potentials))


def best_decision_steps(
    automaton, potentials, expected_f1, *, bint has_probabilities=True
):
    """Returns the same for the highest expected F1: the bits of `mbr`, `path_steps`."""
    batch = _batch(automaton)
    batch.ask_for_decisions(expected_f1, has_probabilities)
    return (yield from _arrays(batch, potentials))


def _arrays(batch, potentials):
    found = None
    if batch.read(potentials, LARGE // batch.n_of_row(potentials)):
        if batch.set_up():
            yield batch
        found = batch.arrays()
    batch.give_back()
    return found


def decision_steps(automaton, potentials, constraints, expected_f1):
    """Returns a `PathAnswer` for the segmentation of highest expected F1 of each
    document: empty if no span is probable, None where outside is not possible between
    the best spans, nothing is, or there are observed patterns. Yields tasks."""
    if automaton.observed:
        return [None] * len(potentials)
    batch = _batch(automaton)
    batch.ask_for_decisions(expected_f1)
    args = [()] * len(potentials), constraints, range(len(potentials))
    return (yield from _paths(batch, potentials, *args))


def _paths(batch, potentials, segments, constraints, asked):
    log_z = [None] * len(potentials)
    args = potentials, segments, constraints, asked, log_z
    found = yield from _in_fours(batch, *args)
    return [(*x, z) if x else x for x, z in zip(found, log_z)]


def _in_fours(batch, potentials, segments, constraints, numbers, log_z=None):
    """Returns for each document what was asked, None but for those with these numbers,
    and writes log Z into `log_z` if it is a list. Yields tasks."""
    cdef list found = [None] * len(potentials)
    cdef bint is_large
    # Those of about the same length are solved together, very long ones alone.
    for n_tokens, k in sorted([(len(potentials[k].inside), k) for k in numbers]):
        given, limits, asked = potentials[k], constraints[k], segments[k]
        is_large = n_tokens * batch.n_of_row(given) > LARGE
        if is_large and batch.n_docs or not batch.add(k, given, limits, asked):
            yield from _solve(batch, potentials, found, log_z)
            batch.add(k, given, limits, asked)
    if batch.n_docs:
        yield from _solve(batch, potentials, found, log_z)
    batch.give_back()
    return found


def _solve(batch, potentials, found, log_z):
    if batch.set_up():
        yield batch
    batch.write_down(found, log_z, potentials)


def _batch(automaton):
    cdef Layout layout = layout_of(automaton)
    return layout.spare_batches.pop() if layout.spare_batches else Posteriors(automaton)
