"""Viterbi decoding with fewer arcs, where patterns of three or more names only add.

Let no pattern of three or more symbols have a negative weight, nor any observed pattern
of three or more a negative column. Then whatever can follow a state p of two or more
labels is worth no less than behind its longest proper suffix, so that beta[p] needs the
edges that p owns and one number more, instead of an arc for each label:

    beta[j, p] = max(beta[j, fail(p)],
                     max over edges (p, y) that p owns of weight[p y] + B[j, q(p, y)])

A label alone, and ^, have no such suffix: they go through all L labels, whose pairs may
have weights of any sign, -inf too. This is the decoder of Qian and Liu ("Sequence
Labeling with Non-Negative Weighted Higher Order Features"), from the right instead of
from the left, and for segments.

Proof, by induction from the right, that beta[j, p] >= beta[j, fail(p)]. Both states end
in the same label. For a label y for which p owns no edge both take the same edge to the
same state. Where it owns one, that edge has the weights of the other one and those of
longer patterns, which are >= 0; and it leads to a state q of which the other state q'
is a suffix. A segment in q reads the columns that it would read in q': the label's, and
of observed pairs, since the last label before it is the same; and further ones that are
>= 0. After it, beta of q >= beta of q' at every end. So B[j, q] >= B[j, q']; at j = n,
$ completes the same patterns and more. Hence the maximum over all labels, which is what
beta is, is attained on an edge of p's own or is that of fail(p); and beta is exact in
every state, so that the walk from the left breaks ties as ever. A grammar, which allows
both states the same labels, changes nothing: its part of the state stays the same.

Rounded addition is monotonic, so the proof holds for rounded numbers, but for segments
whose scores are added up in another order because of long cells.
"""

import numpy as np

from ...errors import Errors
from ..chart.chart cimport Chart
from ..chart.layout cimport Layout, sums_of
from ..potentials import ROLES
from ..automaton.sum_schedule import SumSchedule


cdef class SuffixChain:
    """For each state the edges that it owns, and the step to its longest suffix."""


cdef SuffixChain chain_of(Chart chart, potentials, method):
    """Returns the last document's chain if the weights are the same; None where "auto"
    finds it invalid or too dear. Raises HS104 where it is not valid, for
    "nonnegative"."""
    cdef Layout layout = chart.layout
    cdef SuffixChain chain = layout.chain
    if chain is None or chain.edge_weights is not chart.edge_weights:
        layout.chain = chain = _make_chain(chart, chain)
    if method == "nonnegative":
        _check(chart.automaton, potentials, chain)
    elif not chain.pays or chain.negative is not None:
        return None
    elif next(_negative_columns(potentials, chain.columns), None) is not None:
        return None
    if chain.weight is None:
        # Another thread may read the present chain without the GIL, so it is not
        # completed in place but replaced by a complete one.
        layout.chain = chain = _with_weights(chart, chain)
    return chain


cdef SuffixChain _make_chain(Chart chart, SuffixChain known):
    """Of new weights; the schedule is the same for all."""
    cdef SuffixChain made = SuffixChain()
    automaton = chart.automaton
    made.weight = None
    made.edge_weights = chart.edge_weights
    weight = np.asarray(chart.pattern_weight)
    bad = (automaton.pattern_length > 2) & (weight < 0.0)
    made.negative = int(np.argmax(bad)) if bad.any() else None
    if known is not None:
        made.schedule, made.pays = known.schedule, known.pays
        made.columns = known.columns
        return made
    made.pays = _n_terms(automaton) < len(automaton.arcs_out.arc)
    made.columns = [
        automaton.n_labels + c for c, z in enumerate(automaton.observed) if len(z) > 2
    ]
    return made


cdef SuffixChain _with_weights(Chart chart, SuffixChain known):
    """The same chain with its schedule and weights."""
    cdef SuffixChain made = SuffixChain()
    made.edge_weights, made.negative = known.edge_weights, known.negative
    made.pays, made.columns = known.pays, known.columns
    made.schedule = known.schedule or _make_schedule(chart)
    made.sums = sums_of(made.schedule)
    weights = np.append(chart.edge_weights.edge, [0.0, -np.inf])
    made.weight = weights[made.schedule.arc]
    return made


def _n_terms(automaton):
    """About how many arcs and rungs there are."""
    n_keys = len(automaton.suffix_key)
    is_label = automaton.suffix_key == n_keys
    owned = np.diff(automaton.first_owned)[:n_keys]
    terms = np.where(is_label, automaton.n_labels, 1 + owned)
    return terms[automaton.state_key].sum()


def _make_schedule(Chart chart):
    """beta of all states from B, in the slots of `arcs_out`; suffixes come first."""
    cdef Py_ssize_t n_states = chart.n_states
    cdef list first = [0], slots = [], edges = []
    states = np.argsort(chart.layout.state_key, kind="stable")
    for q in states.tolist():
        _add_terms(chart, q, slots, edges)
        first.append(len(slots))
    return SumSchedule(
        n_states + states,
        first,
        slots,
        edges,
        chart.n_nodes + n_states,
        chart.layout.edge_suffix.shape[0],
    )


cdef _add_terms(Chart chart, Py_ssize_t q, list slots, list edges):
    """Add the edges of a state down to the first suffix that is a state, the longest
    unless the grammar cannot be there with it."""
    cdef Layout layout = chart.layout
    cdef Py_ssize_t k, y, edge, target, n_keys = layout.suffix_key.shape[0]
    cdef Py_ssize_t key = layout.state_key[q], rule = layout.state_rule[q]
    cdef set seen = set()
    while True:
        for k in range(layout.first_owned[key], layout.first_owned[key + 1]):
            y, edge = layout.owned_label[k], layout.owned_edge[k]
            target = chart.state_behind(edge, q, y)
            if y not in seen and target >= 0:
                slots.append(target)
                edges.append(edge)
            seen.add(y)
        if key == n_keys:
            return
        key = layout.suffix_key[key]
        if key < n_keys and layout.state_of[key, rule] >= 0:
            slots.append(chart.n_states + layout.state_of[key, rule])
            edges.append(layout.edge_suffix.shape[0])
            return


def _check(automaton, potentials, SuffixChain chain):
    """RAISES (ValueError): HS104 for the first negative weight or score."""
    if chain.negative is not None:
        name, pattern = "pattern", automaton.patterns[chain.negative]
        found = chain.edge_weights.pattern[<Py_ssize_t>chain.negative]
    else:
        bad = next(_negative_columns(potentials, chain.columns), None)
        if bad is None:
            return
        name, column, found = bad
        pattern = automaton.observed[column - automaton.n_labels]
    raise ValueError(Errors.HS104.format(name=name, pattern=pattern, found=found))


def _negative_columns(potentials, columns):
    """YIELDS (Tuple[str, int, float]): Which scores, the column, the first one < 0."""
    if not columns:
        return
    for name in ROLES:
        dense = np.asarray(getattr(potentials, name))
        for c in columns if dense.shape[1] > columns[0] else ():
            negative = dense[:, c] < 0.0
            if negative.any():
                yield name, c, float(dense[negative, c][0])
    for name in ("entries", "cells"):
        if getattr(potentials, name) is not None:
            records = np.asarray(getattr(potentials, name))
            bad = np.isin(records["column"], columns) & (records["score"] < 0.0)
            for record in records[bad]:
                yield name, int(record["column"]), float(record["score"])
