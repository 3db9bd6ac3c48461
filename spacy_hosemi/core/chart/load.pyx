"""Charts of documents: potentials and constraints, checked and laid out."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, uint8_t

from .cells cimport Cell, CellLists
from .chart cimport Chart
from .checks cimport (
    are_all_numbers,
    are_numbers,
    are_sound,
    checked_cells,
    is_fit,
)
from .columns cimport Entry, entries_of, scores_of_groups
from .layout cimport Layout, edge_weights_of, layout_of
from .prohibitions cimport prohibit
from .prohibitions import forbidden_cells
from ..potentials import CELLS, check_constraints, check_potentials

# Each cell is read, by the group of its column.
cdef const int32_t[::1] _EACH = None


cdef Chart make_chart(automaton, potentials, constraints):
    """The chart of a document. RAISES: As `log_partition`."""
    cdef Chart chart = Chart()
    load_document(chart, automaton, potentials, constraints)
    return chart


cdef load_document(
    Chart chart, automaton, potentials, constraints, bint defer=False
):
    """Take a document into arrays of the last one, of the same automaton, if they are
    large enough. With `defer`, `finish_loading` goes through the scores; until then
    `first` is not known."""
    _use(chart, automaton)
    cdef bint is_read = _read(chart, potentials)
    chart.is_deferred = defer and is_read and _can_defer(chart, potentials, constraints)
    if not chart.is_deferred and not (is_read and _has_numbers(chart)):
        potentials = check_potentials(chart.automaton, potentials)
        _read(chart, potentials)
    _set_document(chart, potentials, constraints)


cdef bint read_together(Chart shared, automaton, potentials):
    """Take what several documents share, for `share` after `finish_loading`. Returns
    whether that is possible; if not, each has to be loaded alone."""
    _use(shared, automaton)
    if not _read(shared, potentials) or not _can_defer(shared, potentials, None):
        return False
    shared.n_tokens, shared.is_deferred = shared.inside.shape[0], True
    _set_labels(shared)
    _set_lengths(shared)
    return True


cdef share(Chart chart, Chart shared, Room room):
    """Make ready for `move_to`, in room for the largest of the documents."""
    _use(chart, shared.automaton)
    chart.length, chart.given_tail = shared.length, shared.given_tail
    chart.pattern_weight = shared.pattern_weight
    chart.n_tokens, chart.is_deferred = room.n_tokens, False
    chart.first, chart.more, chart.end = shared.first, shared.more, shared.end
    _set_lengths(chart)
    chart.cells.n_tokens, chart.cells.n_lengths = room.n_tokens, chart.n_lengths
    chart.cells.reserve(room.n_cells, room.n_long)
    chart.cells.set_none()
    chart.cells.reach = max(chart.cells.reach, room.longest + 1)


cdef bint add_room(
    Chart shared, const Cell[::1] cells, Py_ssize_t n_tokens, Room* room
) noexcept nogil:
    """Make room for a document, too. RETURNS: whether its cells are sound."""
    cdef Py_ssize_t k, size, n_long, n_long_cells = 0
    if not are_sound(cells, n_tokens, shared.n_labels):
        return False
    shared.cells.n_lengths = shared.n_lengths
    n_long = shared.cells.n_long(cells, _EACH, _EACH, shared.tail)
    room.n_tokens = max(room.n_tokens, n_tokens)
    room.n_cells = max(room.n_cells, cells.shape[0])
    room.n_long = max(room.n_long, n_long)
    for k in range(cells.shape[0]):
        size = cells[k].end - cells[k].start
        n_long_cells += size > shared.n_lengths
        room.longest = max(room.longest, size)
    room.n_long_cells = max(room.n_long_cells, n_long_cells)
    return True


cdef void add_chart(Chart chart, Room* room) noexcept nogil:
    """Make room for a document that is loaded, too."""
    room.n_tokens = max(room.n_tokens, chart.n_tokens)
    room.n_cells = max(room.n_cells, chart.cells.n_cells)
    room.n_long = max(room.n_long, chart.cells.long_start.shape[0])
    room.n_long_cells = max(room.n_long_cells, chart.cells.place_start.shape[0])


cdef void move_to(
    Chart chart,
    Chart shared,
    Py_ssize_t start,
    Py_ssize_t end,
    const Cell[::1] cells,
) noexcept nogil:
    """Take a document for which there is room: its tokens among all, and its cells."""
    chart.n_tokens = chart.cells.n_tokens = end - start
    chart.first, chart.more = shared.first[start:end], shared.more[start:end]
    chart.end = shared.end[start:end]
    if cells.shape[0]:
        chart.cells.set(cells, _EACH, _EACH, chart.tail)
        _score_long(chart)
    else:
        chart.cells.set_none()


cdef _use(Chart chart, automaton):
    """The automaton of a chart, which is always the same."""
    cdef Layout layout = layout_of(automaton)
    chart.automaton, chart.layout = automaton, layout
    if chart.cells is None:
        chart.cells = CellLists()
        chart.cells.n_groups = layout.n_groups
        chart.n_labels, chart.n_groups = layout.n_labels, layout.n_groups
        chart.n_states, chart.n_nodes = layout.n_states, layout.n_nodes


cdef bint _can_defer(Chart chart, potentials, constraints):
    """Whether only values remain to be checked, and no score has to be changed."""
    if constraints is not None or len(chart.automaton.observed):
        return False
    return potentials.entries is None


cdef bint finish_loading(Chart chart) noexcept nogil:
    """Add the scores of a deferred document; returns whether all are below +inf."""
    if not chart.is_deferred:
        return True
    if not _has_numbers(chart):
        return False
    _add(chart.inside, chart.start, chart.first)
    if chart.cells.n_cells:
        _score_long(chart)
    chart.is_deferred = False
    return True


cdef bint _read(Chart chart, potentials):
    """Views of the arrays; returns whether shapes are right, nothing to convert."""
    cdef Py_ssize_t n_labels = chart.n_labels, n_columns = chart.automaton.n_columns
    inside, start, end = potentials.inside, potentials.start, potentials.end
    length, tail, pattern = potentials.length, potentials.tail, potentials.pattern
    for array in (inside, start, end, length, tail, pattern):
        if type(array) is not np.ndarray:  # a subclass may mean something else
            return False
    try:
        chart.inside, chart.start, chart.given_end = inside, start, end
        chart.length, chart.given_tail, chart.pattern_weight = length, tail, pattern
    except (TypeError, ValueError, BufferError):
        return False
    cdef Py_ssize_t n_tokens = chart.inside.shape[0]
    if chart.length.shape[0] != n_labels or chart.length.shape[1] < 1:
        return False
    if chart.given_tail.shape[0] != n_labels:
        return False
    if chart.pattern_weight.shape[0] != chart.layout.pattern_length.shape[0]:
        return False
    return (
        is_fit(chart.inside, n_tokens, n_labels, n_columns)
        and is_fit(chart.start, n_tokens, n_labels, n_columns)
        and is_fit(chart.given_end, n_tokens, n_labels, n_columns)
        and are_all_numbers(chart.length)
        and are_numbers(chart.given_tail)
        and are_numbers(chart.pattern_weight)
    )


cdef bint _has_numbers(Chart chart) noexcept nogil:
    """Whether no score of tokens is NaN or +inf."""
    return (
        are_all_numbers(chart.inside)
        and are_all_numbers(chart.start)
        and are_all_numbers(chart.given_end)
    )


cdef _set_document(Chart chart, potentials, constraints):
    automaton = chart.automaton
    cdef Py_ssize_t n_tokens = chart.inside.shape[0]
    cdef Py_ssize_t n_columns = automaton.n_columns
    chart.n_tokens = n_tokens
    chart.cells_as_given = cells = checked_cells(potentials.cells, n_tokens, n_columns)
    cdef const Entry[::1] entries = entries_of(potentials, n_tokens, n_columns)
    if not automaton.observed and not entries.shape[0]:
        _set_labels(chart)
        if not chart.is_deferred:
            _add(chart.inside, chart.start, chart.first)
    else:
        chart.more = scores_of_groups(automaton, chart.inside, entries, 0)
        chart.first = scores_of_groups(automaton, chart.start, entries, 1)
        chart.end = scores_of_groups(automaton, chart.given_end, entries, 2)
        _add(chart.more, chart.first, chart.first)
    if constraints is not None:
        constraints = check_constraints(automaton, constraints, n_tokens)
        _constrain(chart, constraints)
        cells = np.concatenate([cells, forbidden_cells(constraints, chart.n_labels)])
    if not chart.is_deferred:
        chart.inside = chart.start = chart.given_end = None
    _set_lengths(chart)
    _set_cells(chart, cells)
    if not chart.is_deferred:
        _score_long(chart)


cdef _set_labels(Chart chart):
    """Groups are labels; `first` is to be written."""
    if chart.sums is None or chart.sums.shape[0] < chart.n_tokens:
        chart.sums = np.empty((chart.n_tokens, chart.n_groups))
    chart.first, chart.more, chart.end = chart.sums, chart.inside, chart.given_end


cdef _set_lengths(Chart chart):
    """Scores of lengths, weights of edges, and memory for the scores of a row."""
    cdef Py_ssize_t g, d, y, n_groups = chart.n_groups
    cdef Py_ssize_t n_lengths = chart.length.shape[1], n_slots = n_groups * n_lengths
    cdef double[::1] room
    if chart.score is None or chart.n_lengths != n_lengths:
        room = np.empty(2 * n_slots + 2 * n_groups)
        chart.score = room[:n_slots]
        chart.length_backwards = room[n_slots : 2 * n_slots]
        room = room[2 * n_slots :]
        chart.enter_score, chart.tail = room[:n_groups], room[n_groups:]
    chart.n_lengths = n_lengths
    chart.has_tail = False
    for g in range(n_groups):
        y = chart.layout.group_label[g]
        chart.tail[g] = chart.given_tail[y]
        chart.has_tail |= chart.given_tail[y] > -INFINITY
        for d in range(1, n_lengths + 1):
            chart.length_backwards[g * n_lengths + n_lengths - d] = (
                chart.length[y, d - 1]
            )
    chart.are_tokens = n_lengths == 1 and not chart.has_tail
    chart.edge_weights = edge_weights_of(chart.layout, chart.pattern_weight)
    chart.edge_weight = chart.edge_weights.edge


cdef _set_cells(Chart chart, cells):
    chart.cells.n_tokens, chart.cells.n_lengths = chart.n_tokens, chart.n_lengths
    cdef const Cell[::1] records
    cdef const int32_t[::1] given = _EACH, group = _EACH
    cdef Py_ssize_t n = len(cells)
    if not n:
        chart.cells.reserve(0, 0)
        chart.cells.set_none()
        return
    records = rows = np.ascontiguousarray(cells, CELLS)
    if chart.automaton.observed:
        pairs = _groups_of_columns(chart.automaton, rows["column"])
        given, group = (x.astype(np.int32) for x in pairs)
        n = max(1, given.shape[0])
    chart.cells.reserve(n, chart.cells.n_long(records, given, group, chart.tail))
    chart.cells.set(records, given, group, chart.tail)


cdef void _score_long(Chart chart) noexcept nogil:
    """Add all other scores of long segments to their cells."""
    cdef Py_ssize_t p, i, u, g, d, t
    cdef double score
    for p in range(chart.cells.place_start.shape[0]):
        u, g = chart.cells.place_start[p], chart.cells.place_group[p]
        d = chart.n_lengths
        score = chart.first[u, g]
        for i in range(u + 1, u + d):
            score += chart.more[i, g]
        for i in range(chart.cells.place_first[p], chart.cells.place_first[p + 1]):
            t = chart.cells.place_long[i]
            score += chart.more[u + d, g]
            d += 1
            chart.cells.long_score[t] += score + chart.end[u + d - 1, g]
            chart.cells.long_score[t] += chart.length_score(g, d)
        t = chart.cells.place_late[p]
        if t >= 0:
            chart.cells.late_score[t] = score + chart.more[u + d, g]
            chart.cells.late_score[t] += chart.length_score(g, d + 1)


cdef void _add(
    const double[:, ::1] x, const double[:, ::1] y, double[:, ::1] total
) noexcept nogil:
    cdef Py_ssize_t i, g
    for i in range(x.shape[0]):
        for g in range(x.shape[1]):
            total[i, g] = x[i, g] + y[i, g]


def _groups_of_columns(automaton, columns):
    """Pairs of a given column (its place in the list) and a group that reads it."""
    first, group = automaton.readers
    sizes = first[columns + 1] - first[columns]
    ends = np.cumsum(sizes)
    given = np.repeat(np.arange(len(columns)), sizes)
    return given, group[np.arange(len(given)) + (first[columns + 1] - ends)[given]]


cdef _constrain(Chart chart, constraints):
    """Write -inf wherever a constraint is violated."""
    cdef double[:, ::1] more = np.array(chart.more), end = np.array(chart.end)
    cdef const uint8_t[:, ::1] allowed
    cdef const int8_t[::1] boundary
    cdef const uint8_t* labels = NULL
    cdef const int8_t* borders = NULL
    chart.more, chart.end = more, end
    if not chart.n_tokens:
        return
    if constraints.allowed is not None:
        allowed = np.ascontiguousarray(constraints.allowed).view(np.uint8)
        labels = &allowed[0, 0]
    if constraints.boundary is not None:
        boundary = np.ascontiguousarray(constraints.boundary, np.int8)
        borders = &boundary[0]
    prohibit(
        labels,
        borders,
        chart.n_tokens,
        chart.n_labels,
        chart.layout.group_label,
        &chart.first[0, 0],
        &more[0, 0],
        &end[0, 0],
    )
