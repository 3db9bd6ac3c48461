"""Labels of spans, token by token."""

from libc.stdint cimport uint64_t


def cover(
    list spans,                         # IN  [D] of each document (start, end, label)
    list numbers,                       # IN  [D] dict: the number of each label
    list first,                         # IN  [D + 1] first token of each, and n
    uint64_t begin,
    uint64_t inside,
    uint64_t outside,
    uint64_t[:, ::1] columns,           # OUT [n, 2]
):
    """Begin, inside or outside, and the number of the label (outside 0), of each token.

    Spans of a document do not overlap.

    RAISES (IndexError): A span is not within its document.
    """
    cdef Py_ssize_t d, i, start, end, low, n_tokens
    cdef uint64_t number
    cdef dict number_of
    for i in range(columns.shape[0]):
        columns[i, 0], columns[i, 1] = outside, 0
    for d in range(len(spans)):
        number_of, low = numbers[d], first[d]
        n_tokens = <Py_ssize_t>first[d + 1] - low
        for start, end, label in spans[d]:
            if not 0 <= start < end <= n_tokens:
                raise IndexError(f"span {start} to {end} of {n_tokens} tokens")
            number = number_of[label]
            for i in range(low + start, low + end):
                columns[i, 0], columns[i, 1] = inside, number
            columns[low + start, 0] = begin
