from cpython.pythread cimport PyThread_type_lock
from cpython.ref cimport PyObject

cdef enum:
    MOST_TASKS = 256


cdef class Task:
    cdef bint is_done

    cdef void run(self) noexcept nogil


cdef class Workers:
    cdef Py_ssize_t n_threads
    cdef object process                         # that the threads belong to
    cdef list threads
    cdef set tasks                              # keeps alive what others point to
    cdef PyThread_type_lock lock                # for all that follows
    # Released when `awaited` is done, and by the last worker that leaves at the end
    cdef PyThread_type_lock finished
    cdef PyThread_type_lock* wake               # of each thread
    cdef Py_ssize_t* asleep                     # threads that wait for it
    cdef Py_ssize_t n_asleep, n_working
    cdef PyObject* waiting[MOST_TASKS]          # tasks that have not begun, in a ring
    cdef Py_ssize_t first, n_waiting
    cdef PyObject* awaited
    cdef bint is_over

    cdef void _work(self, Py_ssize_t k) noexcept nogil
    cdef bint _do_next(self) noexcept nogil
    cdef void _wait(self, PyObject* task) noexcept nogil
