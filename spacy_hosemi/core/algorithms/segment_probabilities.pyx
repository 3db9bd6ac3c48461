"""Probabilities of segments of many documents, four documents at a time.

If a number leaves the range of float64, each document is done again alone, and where
that fails, by `marginals`; so are very long ones.
"""

from functools import partial

import numpy as np

from ..arguments import is_whole
from ..chart.layout cimport Layout
from ..chart.span_lists cimport SpanLists
from ..parallel.coroutines import finish
from ..simd.lanes cimport N_LANES
from .lane_batch cimport LaneBatch
from .path_batch import PathBatch
from .marginals import log_partition, marginal_steps, marginals

# What is known of a path: the path itself, the probabilities of its segments with a
# label but outside, its score, and log Z.
PathAnswer = tuple
# See `PathBatch.found`.
PathsFound = tuple

# Documents for which there would have to be more numbers are done by `marginals`.
LARGE = 4_000_000
# Tables are kept for other documents, for some threads, if they have no more numbers.
N_SPARE, SMALL = 4, 1_000_000


def segment_probabilities(automaton, potentials, segments, constraints):
    """Returns the probability of each of some segments (start, end, label), by
    document. Raises HS021 for a label and HS024 for offsets that do not exist."""
    return finish(probability_steps(automaton, potentials, segments, constraints))[0]


def probability_steps(automaton, potentials, segments, constraints):
    """Returns what `segment_probabilities` does, and log Z of each document, None where
    it has no segments; yields tasks, each to be done before the next step."""
    cdef LaneBatch batch = _batch(automaton)
    asked = [k for k in range(len(potentials)) if segments[k]]
    log_z = [None] * len(potentials)
    batch.ask_for_segments()
    args = potentials, segments, constraints, asked
    found = yield from _side_by_side(batch, *args, log_z)
    alone = [k for k in asked if log_z[k] is None]
    first_end = {k: _first_end(segments[k]) for k in alone}
    args = automaton, potentials, constraints, alone, partial(_probabilities, segments)
    steps = marginal_steps(*args, first_end=first_end)
    for k, answer in zip(alone, (yield from steps)):
        found[k], log_z[k] = answer
    return [probs or [] for probs in found], log_z


def _first_end(segments):
    """Returns the least end of segments; 0 if it is none, as `marginals` says."""
    ends = [segment[1] for segment in segments]
    return min(ends) if all(is_whole(end) and end > 0 for end in ends) else 0


def _probabilities(segments, k, posterior):
    return [posterior.segment(*x) for x in segments[k]], posterior.log_z


def log_partition_as_asked(automaton, potentials, constraints):
    """Returns log Z of a document, the same bits as of `probability_steps`; -inf if no
    segmentation is possible."""
    cdef LaneBatch batch = _batch(automaton)
    log_z = [None]
    batch.ask_for_segments()
    finish(_side_by_side(batch, [potentials], [()], [constraints], [0], log_z))
    if log_z[0] is None:
        return log_partition(automaton, potentials, constraints)
    return log_z[0]


def probable_segments(automaton, potentials, segments, constraints, double p):
    """Returns borders int32 [N + 1], segments int32 [K, 3] (start, end, label, sorted
    by end, start, label) and their scores [K]: those of probability p or more, and
    those in `segments`; p = 0: all that no -inf forbids. Raises HS118 if the automaton
    has observed patterns."""
    cdef SpanLists listing = SpanLists(p)
    cdef LaneBatch batch
    sizes = np.array([len(x.inside) for x in potentials], np.int64)
    asked = np.flatnonzero(sizes).tolist()
    found = [None] * len(potentials)
    if not automaton.observed:
        batch = _batch(automaton)
        batch.ask_for_list(listing)
        args = potentials, segments, constraints, asked
        found = finish(_side_by_side(batch, *args))
    for k in asked:
        if found[k] is None:
            posterior = marginals(automaton, potentials[k], constraints[k])
            listing.add_all(k, posterior, sizes[k], segments[k])
    return listing.sorted(sizes, automaton.n_labels)


def path_steps(automaton, potentials, paths, constraints):
    """Returns a `PathAnswer` for the path of each document, which covers all tokens;
    None where there is no path, or it cannot stand beside others. Yields tasks."""
    cdef LaneBatch batch = _batch(automaton)
    batch.ask_for_paths()
    asked = [k for k in range(len(potentials)) if paths[k]]
    return (yield from _solved(batch, potentials, paths, constraints, asked))


def best_path_steps(automaton, potentials, *, bint has_probabilities=True):
    """Returns the best segmentations of documents without constraints as
    `PathBatch.found`, the same bits as `viterbi` and `path_steps`; None if at least one
    has to be done alone. Yields tasks."""
    cdef LaneBatch batch = None
    if not _are_small(automaton, potentials):
        return None
    if has_probabilities:
        batch = _batch(automaton)
        batch.ask_for_paths()
    return (yield from _found_together(automaton, potentials, batch))


def best_decision_steps(
    automaton, potentials, expected_f1, *, bint has_probabilities=True
):
    """Returns the same for the highest expected F1: the bits of `mbr`, `path_steps`."""
    cdef LaneBatch batch
    if not _are_small(automaton, potentials):
        return None
    batch = _batch(automaton)
    batch.ask_for_decisions(expected_f1, has_probabilities)
    return (yield from _found_together(automaton, potentials, batch))


def _found_together(automaton, potentials, LaneBatch batch):
    task = PathBatch(automaton, potentials, batch)
    if task.is_ready:
        yield task
    found = task.found()
    if batch is not None:
        _give_back(batch)
    return found


cdef bint _are_small(automaton, potentials):
    """Whether tables for all documents are small."""
    cdef list borders = potentials.borders
    cdef Py_ssize_t d, longest = 0
    for d in range(len(borders) - 1):
        longest = max(longest, <Py_ssize_t>borders[d + 1] - <Py_ssize_t>borders[d])
    return longest * _n_of_row(automaton, potentials) <= LARGE


def decision_steps(automaton, potentials, constraints, expected_f1):
    """Returns a `PathAnswer` for the segmentation of highest expected F1 of each
    document: empty if no span is probable, None where outside is not possible between
    the best spans, nothing is, or the document cannot stand beside others. Yields
    tasks."""
    cdef LaneBatch batch
    if automaton.observed:
        return [None] * len(potentials)
    batch = _batch(automaton)
    batch.ask_for_decisions(expected_f1)
    args = [()] * len(potentials), constraints, range(len(potentials))
    return (yield from _solved(batch, potentials, *args))


def _solved(batch, potentials, segments, constraints, asked):
    log_z = [None] * len(potentials)
    args = potentials, segments, constraints, asked, log_z
    found = yield from _side_by_side(batch, *args)
    return [(*x, z) if x else x for x, z in zip(found, log_z)]


def _side_by_side(
    LaneBatch batch, potentials, segments, constraints, asked, log_z=None
):
    """Returns for each document what was asked, None for those that have to stand
    alone, and writes log Z into `log_z` if it is a list. Yields tasks."""
    cdef list found = [None] * len(potentials)
    automaton = batch.tables.automaton
    # Those of about the same length stand side by side.
    for size, k in sorted(_sizes(automaton, potentials, asked)):
        if not size:
            continue
        one = potentials[k]
        if not batch.add(k, one, constraints[k], segments[k]):
            if batch.set_up(-1):
                yield batch
            batch.write_down(found, log_z)
            batch.add(k, one, constraints[k], segments[k])
    if batch.numbers:
        if batch.set_up(-1):
            yield batch
        batch.write_down(found, log_z)
    batch.listing = None
    _give_back(batch)
    return found


cdef list _sizes(automaton, potentials, asked):
    """RETURNS (List[Tuple[int, int]]): Of each document that is asked for the tokens,
    if it may stand beside others, else 0; and its number."""
    cdef Py_ssize_t n
    cdef list sizes = []
    for k in asked:
        one = potentials[k]
        n = _n_tokens(one)
        sizes.append((n if n * _n_of_row(automaton, one) <= LARGE else 0, k))
    return sizes


cdef Py_ssize_t _n_tokens(potentials):
    return getattr(potentials.inside, "shape", (0,))[0]


cdef Py_ssize_t _n_of_row(automaton, potentials):
    """Numbers for each boundary."""
    shape = getattr(potentials.length, "shape", ())
    cdef Py_ssize_t n_lengths = shape[1] if len(shape) == 2 else 1
    return N_LANES * (4 * automaton.n_states + (4 + n_lengths) * automaton.n_groups + 2)


cdef LaneBatch _batch(automaton):
    cdef Layout layout
    if automaton.layout is not None:
        layout = automaton.layout
        if layout.spare_batches:
            return layout.spare_batches.pop()
    return LaneBatch(automaton)


cdef _give_back(LaneBatch batch):
    """Keep its tables for others."""
    cdef Layout layout = batch.tables.layout
    if len(layout.spare_batches) < N_SPARE and batch.size() <= SMALL:
        layout.spare_batches.append(batch)
