from ..chart.chart cimport Chart


cdef double add_path(Chart chart, segments, gradient, double times)
