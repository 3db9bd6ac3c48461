from libc.stdint cimport int32_t

from ..chart.dp_tables cimport Tables


cdef class Expectations(Tables):
    cdef readonly object gradient
    cdef readonly object tokens
    cdef dict counts                    # the arrays of some that follow
    cdef double[:, ::1] inside_count    # [G, n]
    cdef double[:, ::1] end_count       # [n, G]
    cdef double[::1] slot_count         # [G D] by group and length, as scores
    cdef double[::1] tail_count         # [G]
    cdef double[::1] cell_count         # [K] merged cells
    # Arcs at four boundaries side by side; in log domain at one, and one lane
    cdef double[::1] arc_count          # [A] linear domain: but for the arc's weight
    cdef double[::1] arc_prob           # [A] log domain: what was added to it last
    cdef double[::1] arc_more           # [A lanes] what entries make of the weight
    cdef double[:, ::1] lane_node       # [N + P + 2, lanes] linear domain
    cdef Py_ssize_t n_lanes
    cdef double[::1] edge_count         # [E]
    cdef double[::1] pattern_count      # [M]
    cdef double[::1] start_count        # [F] of what fires, see `Starts`
    cdef double[::1] prob               # [G D] of the explicit segments of a row
    cdef double[::1] long_prob          # [G] of those that run on
    cdef double[::1] one                # [G] the weight 1
    cdef double[:, ::1] betas           # [n + 1, P] without counts, if that is not much
    cdef bint has_counts
    cdef object _lane_lease

    cdef clear_counts(self)
    cdef _keep_betas(self)
    cdef _clear_lanes(self, Py_ssize_t n_arcs)
    cdef bint backward(self) noexcept nogil
    cdef void _count_arcs(self, Py_ssize_t j) noexcept nogil
    cdef void _count_arcs_at(self, Py_ssize_t j, Py_ssize_t end) noexcept nogil
    cdef void _count_starts_at(self, Py_ssize_t j, Py_ssize_t a) noexcept nogil
    cdef double _arc_probs(
        self, const int32_t* arc, Py_ssize_t n, Py_ssize_t a
    ) noexcept nogil
    cdef bint _refill(self, Py_ssize_t j) noexcept nogil
    cdef bint _end(self) noexcept nogil
    cdef void _count_row(self, Py_ssize_t j) noexcept nogil
    cdef void _set_rest(self, Py_ssize_t j) noexcept nogil
    cdef double _product(
        self,
        Py_ssize_t g,
        double weight,
        const double* x,
        const double* y,
    ) noexcept nogil
    cdef void _products(
        self,
        const double* weight,
        const double* x,
        const double* y,
        double* found,
    ) noexcept nogil
    cdef void count_starts(self, double[:, ::1] start_count) noexcept nogil
    cdef void _count_ends(self, Py_ssize_t j) noexcept nogil
    cdef void _count_running(self, Py_ssize_t j) noexcept nogil
    cdef void _count_entering(self, Py_ssize_t j) noexcept nogil
    cdef double _count_one(
        self,
        Py_ssize_t g,
        Py_ssize_t u,
        Py_ssize_t j,
        double weight,
        const double* follows,
    ) noexcept nogil
    cdef void _count_long(
        self, Py_ssize_t g, Py_ssize_t u, Py_ssize_t j, double prob
    ) noexcept nogil
    cdef void _count_explicit(self, Py_ssize_t j) noexcept nogil
    cdef void _set_probs(self, Py_ssize_t j) noexcept nogil
    cdef void _collect_patterns(self) noexcept nogil
    cdef set_gradient(self, potentials)
    cdef _entries(self, potentials)
    cdef _take_counts(self, role)
