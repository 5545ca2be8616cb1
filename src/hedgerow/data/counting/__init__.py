"""Exact counts of codes in memory, in compiled passes over the records.

`marginals` is the way in: it counts by histograms over blocks of attributes (`blocks`) or, where there are many of few
binary attributes, by packed bits (`bits`). `variables` makes columns of derived attributes, `rows` cuts the records
into pieces and among cores, and modules named kernels are compiled. Of data it may import reading.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
