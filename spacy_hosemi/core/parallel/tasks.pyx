"""Work without the GIL, by threads that never take it.

A thread that has the GIL keeps it for milliseconds while others wait, and each change
costs as much as some documents do. So one thread does all that needs the GIL; what does
not is a *job*, and helpers do jobs alone: they learn of them by locks of the operating
system. Whoever waits for a job does those that nobody has begun meanwhile.
"""

from os import getpid
from threading import Thread

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pythread cimport (
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
)
from cpython.ref cimport PyObject


cdef class Job:
    """Something that needs no GIL and fails never; what it reads stands still."""

    cdef void run(self) noexcept nogil:
        pass

    def do(self):
        """Run it in this thread."""
        with nogil:
            self.run()
        self.is_done = True


cdef class Helpers:
    """Threads for jobs, in a `with` statement.

    n_threads (int): How many; 0: jobs are run by whoever waits for them. One thread
        beside them may use this object.
    """

    def __cinit__(self, Py_ssize_t n_threads):
        cdef Py_ssize_t k
        self.threads, self.jobs = [], set()
        self.n_threads = n_threads
        self.n_working = self.n_asleep = self.first = self.n_waiting = 0
        self.awaited = NULL
        self.is_over = False
        self.lock = PyThread_allocate_lock()
        self.finished = PyThread_allocate_lock()
        self.wake = <PyThread_type_lock*>PyMem_Malloc(
            n_threads * sizeof(PyThread_type_lock)
        )
        self.asleep = <Py_ssize_t*>PyMem_Malloc(n_threads * sizeof(Py_ssize_t))
        if not self.lock or not self.finished or not self.wake or not self.asleep:
            raise MemoryError
        PyThread_acquire_lock(self.finished, WAIT_LOCK)
        for k in range(n_threads):
            self.wake[k] = PyThread_allocate_lock()
            if not self.wake[k]:
                raise MemoryError
            PyThread_acquire_lock(self.wake[k], WAIT_LOCK)
            # Of a stream that nobody reads to its end they must not keep Python alive.
            thread = Thread(None, self._serve, "hosemi-helper", (k,), daemon=True)
            self.threads.append(thread)

    def __enter__(self):
        self.process = getpid()
        try:
            for thread in self.threads:
                thread.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        """Jobs that nobody has begun are forgotten."""
        cdef Py_ssize_t k
        if getpid() != self.process:  # a copy by `fork` has no such threads
            return
        with nogil:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self.is_over = True
            for k in range(self.n_asleep):
                PyThread_release_lock(self.wake[self.asleep[k]])
            # Not by `join`: while Python ends, that would wait for ever.
            k = self.n_working
            PyThread_release_lock(self.lock)
            if k:
                PyThread_acquire_lock(self.finished, WAIT_LOCK)
        self.jobs.clear()

    def add(self, Job job not None):
        """A job that is to be done; nobody else adds one meanwhile."""
        cdef Py_ssize_t asleep = -1
        job.is_done = False
        if self.n_waiting == MOST_JOBS:
            job.do()
            return
        self.jobs.add(job)
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.waiting[(self.first + self.n_waiting) % MOST_JOBS] = <PyObject*>job
        self.n_waiting += 1
        if self.n_asleep:
            self.n_asleep -= 1
            asleep = self.asleep[self.n_asleep]
        PyThread_release_lock(self.lock)
        if asleep >= 0:
            PyThread_release_lock(self.wake[asleep])

    def forget_if_done(self, Job job not None):
        """RETURNS (bool): Whether a job that was added is done."""
        if not job.is_done:
            return False
        # What it has written is seen by whoever takes the lock behind it.
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        PyThread_release_lock(self.lock)
        self.jobs.discard(job)
        return True

    def finish(self, Job job not None):
        """Return when a job that was added is done; do others meanwhile."""
        with nogil:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self._wait(<PyObject*>job)
            PyThread_release_lock(self.lock)
        self.jobs.discard(job)

    def _serve(self, Py_ssize_t k):
        with nogil:
            self._work(k)

    # with the lock

    cdef void _work(self, Py_ssize_t k) noexcept nogil:
        """What a helper does until all is over."""
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        if self.is_over:
            PyThread_release_lock(self.lock)
            return
        self.n_working += 1
        while not self.is_over:
            if self._do_next():
                continue
            self.asleep[self.n_asleep] = k
            self.n_asleep += 1
            PyThread_release_lock(self.lock)
            PyThread_acquire_lock(self.wake[k], WAIT_LOCK)
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.n_working -= 1
        if self.n_working == 0:
            PyThread_release_lock(self.finished)
        PyThread_release_lock(self.lock)

    cdef bint _do_next(self) noexcept nogil:
        """Run the oldest job that nobody has begun, without the lock. RETURNS: whether
        there was one."""
        cdef PyObject* job
        if self.n_waiting == 0:
            return False
        job = self.waiting[self.first]
        self.first = (self.first + 1) % MOST_JOBS
        self.n_waiting -= 1
        PyThread_release_lock(self.lock)
        (<Job>job).run()
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        (<Job>job).is_done = True
        if self.awaited == job:
            self.awaited = NULL
            PyThread_release_lock(self.finished)
        return True

    cdef void _wait(self, PyObject* job) noexcept nogil:
        while not (<Job>job).is_done:
            if self._do_next():
                continue
            self.awaited = job
            PyThread_release_lock(self.lock)
            PyThread_acquire_lock(self.finished, WAIT_LOCK)
            PyThread_acquire_lock(self.lock, WAIT_LOCK)

    def __dealloc__(self):
        cdef Py_ssize_t k
        for k in range(self.n_threads):
            PyThread_free_lock(self.wake[k])
        PyThread_free_lock(self.lock)
        PyThread_free_lock(self.finished)
        PyMem_Free(self.wake)
        PyMem_Free(self.asleep)
