"""The last steps of an optimizer, and passes over vectors as long as all weights.

A vector is cut into portions. Sums are formed portion by portion, in this order, so
that they are the same bits for any number of threads.
"""

import numpy as np

from libc.stdint cimport int32_t
from libc.string cimport memset

from ...core.parallel.team import ALONE
from ...core.parallel.tasks cimport Task
from ...core.simd cimport vectors as kernels

# Numbers in a portion.
PORTION = 65_536

cdef enum Pass:
    DIRECT
    WALK
    SLOPE
    REMEMBER


cdef class History:
    """Steps, and the changes of the gradient that they brought.

    n (int): Numbers of a vector.
    n_slots (int): For the last steps, and for the one that is being made: a direction,
        from which `remember` makes a step.
    portion (int): Numbers in a portion.
    team (Team): Threads that share the portions.
    """

    cdef Py_ssize_t n, portion
    cdef double[:, ::1] steps            # [n_slots, n]
    cdef double[:, ::1] changes          # [n_slots, n]
    cdef double[:, ::1] sums            # [portions, 4 n_slots]
    # of the pass that is being made
    cdef Pass kind
    cdef double times, step
    cdef int32_t[::1] slots
    cdef double[::1] of_steps, of_changes
    cdef const double[::1] g, before, x
    cdef double[::1] out
    cdef Py_ssize_t n_sums
    cdef object team
    cdef list tasks

    def __init__(self, n, n_slots, portion=PORTION, team=ALONE):
        self.n, self.portion, self.team = n, portion, team
        self.tasks = [Portions(k, team.n) for k in range(team.n)]
        self.steps = np.empty((n_slots, n), np.float64)
        self.changes = np.empty((n_slots, n), np.float64)
        self.sums = np.zeros((max(1, -(-n // portion)), 4 * n_slots))
        self.slots = np.zeros(1, np.int32)
        self.of_steps = self.of_changes = np.zeros(1)

    def direct(self, times, g, slots, of_steps, of_changes, x, step, trial):
        """Set the direction, and take a step from x.

            direction = times * g + sum over steps and changes, each times its own

        slots (Sequence[int]): Those of the k last steps, then that of the direction.
        of_steps, of_changes (float64 [k]): What they are multiplied by.
        g, x (float64 [N]): The gradient, and the point. trial (float64 [N]): x + step *
            direction is written there.
        RETURNS (float): The derivative along the direction.
        """
        self.kind, self.times, self.step = DIRECT, times, step
        self._take(slots)
        self.of_steps = np.append(of_steps, 0.0)
        self.of_changes = np.append(of_changes, 0.0)
        self.g, self.x, self.out = g, x, trial
        return self._sum(1)[0]

    def walk(self, x, step, trial):
        """Take another step in the direction."""
        self.kind, self.step, self.x, self.out = WALK, step, x, trial
        self._sum(1)

    def slope(self, g):
        """RETURNS (float): The derivative along the direction, by another gradient."""
        self.kind, self.g = SLOPE, g
        return self._sum(1)[0]

    def remember(self, g, before, step, slots):
        """Make a step of the direction.

        g, before (float64 [N]): The gradients behind and before it.
        slots (Sequence[int]): Of the k - 1 last steps, then of the direction.
        RETURNS (float64 [4, k]): Products of the change, and of g, with the steps and
            the changes: change and steps, change and changes, g and steps, g and
            changes.
        """
        self.kind, self.step = REMEMBER, step
        self._take(slots)
        self.g, self.before = g, before
        return self._sum(4 * len(slots)).reshape(4, -1)

    def read(self, slots):
        """RETURNS (float64 [2, k, N]): The steps and the changes in some slots."""
        steps, changes = np.asarray(self.steps), np.asarray(self.changes)
        return np.stack([steps[slots], changes[slots]])

    def write(self, steps, changes):
        """Put steps and changes (float64 [k, N]) into the first slots."""
        np.asarray(self.steps)[: len(steps)] = steps
        np.asarray(self.changes)[: len(changes)] = changes

    cdef _take(self, slots):
        self.slots = np.array(slots, np.int32)

    cdef _sum(self, Py_ssize_t n_sums):
        """Make a pass. RETURNS: Sums over all portions."""
        self.n_sums = n_sums
        for task in self.tasks:
            (<Portions>task).history = self
        self.team.run(self.tasks)
        for task in self.tasks:  # no circle of references
            (<Portions>task).history = None
        total = np.zeros(n_sums)
        for of_portion in np.asarray(self.sums)[:, :n_sums]:
            total += of_portion
        return total

    cdef void do_portion(self, Py_ssize_t k) noexcept nogil:
        """One portion."""
        cdef Py_ssize_t at = k * self.portion
        cdef Py_ssize_t n = min(self.portion, self.n - at)
        cdef Py_ssize_t last = self.slots.shape[0] - 1
        cdef double* d
        cdef double* sums = &self.sums[k, 0]
        memset(sums, 0, self.n_sums * sizeof(double))
        if n <= 0:
            return
        d = &self.steps[self.slots[last], at]
        if self.kind == DIRECT:
            sums[0] = kernels.direct(
                n,
                self.times,
                &self.g[at],
                &self.steps[0, at],
                &self.changes[0, at],
                self.n,
                &self.slots[0],
                last,
                &self.of_steps[0],
                &self.of_changes[0],
                &self.x[at],
                self.step,
                d,
                &self.out[at],
            )
        elif self.kind == WALK:
            kernels.walk(n, &self.x[at], self.step, d, &self.out[at])
        elif self.kind == SLOPE:
            sums[0] = kernels.slope(n, &self.g[at], d)
        else:
            kernels.remember(
                n,
                &self.g[at],
                &self.before[at],
                self.step,
                &self.steps[0, at],
                &self.changes[0, at],
                self.n,
                &self.slots[0],
                last + 1,
                sums,
            )


cdef class Portions(Task):
    """Every n-th portion, as a task."""

    cdef History history
    cdef Py_ssize_t which, n_tasks

    def __init__(self, which, n_tasks):
        self.which, self.n_tasks = which, n_tasks

    cdef void run(self) noexcept nogil:
        cdef Py_ssize_t k = self.which
        while k < self.history.sums.shape[0]:
            self.history.do_portion(k)
            k += self.n_tasks


def add_penalty(const double[::1] penalty, const double[::1] w, double[::1] gradient):
    """gradient += penalty * w. RETURNS (float): Half the sum of penalty * w^2."""
    cdef Py_ssize_t n = w.shape[0]
    cdef double value = 0.0
    if n:
        with nogil:
            value = kernels.add_penalty(n, &penalty[0], &w[0], &gradient[0])
    return value
