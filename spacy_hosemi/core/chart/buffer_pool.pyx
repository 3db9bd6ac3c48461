"""Arrays of finished documents that are used again, by thread: new ones would cost a
page fault each page."""

import threading

import numpy as np

_POOL = threading.local()
_POOL_SIZE = 4
_POOLED = 2_000_000  # entries; larger arrays are given back to the system


class BufferPool:
    """An array that goes back into the pool when its document is forgotten."""

    array = ()  # where memory does not suffice for one

    def __init__(self, size):
        pool = getattr(_POOL, "arrays", ())
        for i, array in enumerate(pool):
            if size <= len(array) <= 4 * size:
                self.array = pool.pop(i)
                return
        self.array = np.empty(size)

    def __del__(self):
        if 1000 < len(self.array) <= _POOLED:
            _POOL.arrays = [self.array, *getattr(_POOL, "arrays", ())][:_POOL_SIZE]
