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

    Spans of a document do not overlap and lie within it.
    """
    cdef Py_ssize_t d, i, start, end, low
    cdef uint64_t number
    cdef list of_doc
    cdef dict number_of
    for i in range(columns.shape[0]):
        columns[i, 0], columns[i, 1] = outside, 0
    for d in range(len(spans)):
        of_doc, number_of, low = spans[d], numbers[d], first[d]
        for start, end, label in of_doc:
            number = number_of[label]
            for i in range(low + start, low + end):
                columns[i, 0], columns[i, 1] = inside, number
            columns[low + start, 0] = begin
