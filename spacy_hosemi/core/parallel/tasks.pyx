"""Worker threads that never take the GIL.

Passing the GIL from thread to thread takes milliseconds, as long as several documents.
So one thread does all work that needs the GIL; the rest is cut into *tasks*, which
*workers* run. Locks of the operating system wake the workers. A thread that waits for a
task runs tasks that no worker has begun.
"""

from os import getpid
from threading import Thread

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.pythread cimport (
    WAIT_LOCK,
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
)
from cpython.ref cimport PyObject
from cpython.sequence cimport PySequence_Fast_ITEMS

from ..arguments import MOST_THREADS, check_whole


cdef class Task:
    """Work that needs no GIL and cannot fail. Its input must not change meanwhile."""

    cdef void run(self) noexcept nogil:
        pass

    def do(self):
        """Run it in this thread."""
        with nogil:
            self.run()
        self.is_done = True


cdef class TaskList(Task):
    """A few tasks, done one after the other: to hand over each would take too long."""

    cdef tuple tasks
    cdef PyObject** items               # of it
    cdef Py_ssize_t n_tasks

    def __init__(self, tasks):
        self.tasks = tuple(tasks)
        self.items, self.n_tasks = PySequence_Fast_ITEMS(self.tasks), len(self.tasks)

    cdef void run(self) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_tasks):
            (<Task>self.items[k]).run()


cdef class Workers:
    """Threads for tasks, in a `with` statement; with 0 the thread that waits runs them.
    Only one other thread may use this object."""

    def __cinit__(self, n_threads):
        cdef Py_ssize_t k
        self.threads, self.tasks = [], set()
        self.n_threads = check_whole("threads", n_threads, 0, MOST_THREADS)
        self.n_working = self.n_asleep = self.first = self.n_waiting = 0
        self.awaited = NULL
        self.is_over = False
        self.lock = PyThread_allocate_lock()
        self.finished = PyThread_allocate_lock()
        self.wake = <PyThread_type_lock*>PyMem_Calloc(
            self.n_threads, sizeof(PyThread_type_lock)
        )
        self.asleep = <Py_ssize_t*>PyMem_Calloc(self.n_threads, sizeof(Py_ssize_t))
        if not self.lock or not self.finished or not self.wake or not self.asleep:
            raise MemoryError
        PyThread_acquire_lock(self.finished, WAIT_LOCK)
        for k in range(self.n_threads):
            self.wake[k] = PyThread_allocate_lock()
            if not self.wake[k]:
                raise MemoryError
            PyThread_acquire_lock(self.wake[k], WAIT_LOCK)
            # A stream that is not read to its end must not keep Python alive.
            thread = Thread(None, self._serve, "hosemi-worker", (k,), daemon=True)
            self.threads.append(thread)

    def __enter__(self):
        self.process = getpid()
        try:
            for thread in self.threads:
                thread.start()
        except RuntimeError:  # the system gives no more: those that began do the work
            pass
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        """Forget tasks that have not begun."""
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
        self.tasks.clear()

    def add(self, Task task not None):
        """Have a task done. Not to be called by two threads at the same time."""
        cdef Py_ssize_t asleep = -1
        task.is_done = False
        if self.n_waiting == MOST_TASKS:
            task.do()
            return
        self.tasks.add(task)
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.waiting[(self.first + self.n_waiting) % MOST_TASKS] = <PyObject*>task
        self.n_waiting += 1
        if self.n_asleep:
            self.n_asleep -= 1
            asleep = self.asleep[self.n_asleep]
        PyThread_release_lock(self.lock)
        if asleep >= 0:
            PyThread_release_lock(self.wake[asleep])

    def forget_if_done(self, Task task not None):
        """RETURNS (bool): Whether a task that was added is done."""
        if not task.is_done:
            return False
        # A thread that takes the lock after the task sees what the task has written.
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        PyThread_release_lock(self.lock)
        self.tasks.discard(task)
        return True

    def finish(self, Task task not None):
        """Return when a task that was added is done; do other tasks meanwhile."""
        with nogil:
            PyThread_acquire_lock(self.lock, WAIT_LOCK)
            self._wait(<PyObject*>task)
            PyThread_release_lock(self.lock)
        self.tasks.discard(task)

    def _serve(self, Py_ssize_t k):
        with nogil:
            self._work(k)

    # with the lock

    cdef void _work(self, Py_ssize_t k) noexcept nogil:
        """The loop of a worker."""
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
        """Run the oldest task not begun, without the lock. Returns whether one was
        left."""
        cdef PyObject* task
        if self.n_waiting == 0:
            return False
        task = self.waiting[self.first]
        self.first = (self.first + 1) % MOST_TASKS
        self.n_waiting -= 1
        PyThread_release_lock(self.lock)
        (<Task>task).run()
        PyThread_acquire_lock(self.lock, WAIT_LOCK)
        (<Task>task).is_done = True
        if self.awaited == task:
            self.awaited = NULL
            PyThread_release_lock(self.finished)
        return True

    cdef void _wait(self, PyObject* task) noexcept nogil:
        while not (<Task>task).is_done:
            if self._do_next():
                continue
            self.awaited = task
            PyThread_release_lock(self.lock)
            PyThread_acquire_lock(self.finished, WAIT_LOCK)
            PyThread_acquire_lock(self.lock, WAIT_LOCK)

    def __dealloc__(self):
        cdef Py_ssize_t k
        for k in range(self.n_threads if self.wake else 0):
            if self.wake[k]:
                PyThread_free_lock(self.wake[k])
        if self.lock:
            PyThread_free_lock(self.lock)
        if self.finished:
            PyThread_free_lock(self.finished)
        PyMem_Free(self.wake)
        PyMem_Free(self.asleep)
