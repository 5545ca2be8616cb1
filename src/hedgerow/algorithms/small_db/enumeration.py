"""All small databases over a tiny domain: how they answer, and how large they need to be (theory.md section 8)."""

import math
from itertools import chain, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from hedgerow.algorithms.shared import RecordAnswers, largest_width
from hedgerow.arrays import Floats
from hedgerow.domain import listed_records
from hedgerow.quantities import human
from hedgerow.queries import Workload

Cells = NDArray[np.intp]


def n_databases(cells: int, size: int) -> int:
    """Exact number of multisets of ``size`` records over ``cells`` cells.

    Example:
        >>> n_databases(4, 17)
        1140
    """
    return math.comb(cells + size - 1, size)


def at_most(most: int, cells: int, size: int) -> bool:
    """Whether there are at most ``most`` multisets; quick however large the numbers.

    ``C(a + b, b) >= 2^min(a, b)`` decides where that number itself would take long to compute.

    Example:
        >>> at_most(1140, 4, 17), at_most(1139, 4, 17), at_most(10**9, 10**40, 10**9)
        (True, False, False)
    """
    if min(cells - 1, size) > most.bit_length():
        return False
    return n_databases(cells, size) <= most


def number_of(cells: int, size: int) -> str:
    """The number of multisets, for people.

    Example:
        >>> number_of(4, 17), number_of(10**12, 2), number_of(10**40, 10**9)
        ('1,140', 'about 10^23', 'more than 10^30')
    """
    return "more than 10^30" if min(cells - 1, size) > 100 else human(n_databases(cells, size))


def databases(cells: int, size: int) -> Cells:
    """All multisets, as numbers of cells (records that can exist) in ascending order, shape ``(n_databases, size)``.

    Example:
        >>> databases(2, 2).tolist()
        [[0, 0], [0, 1], [1, 1]]
    """
    number = n_databases(cells, size)
    flat = chain.from_iterable(combinations_with_replacement(range(cells), size))
    return np.fromiter(flat, dtype=np.intp, count=number * size).reshape(number, size)


def answers_of(workload: Workload, cells: Cells) -> Floats:
    """Answer a workload on many databases.

    Args:
        workload: The queries.
        cells: Databases, as `databases` returns them.

    Returns:
        Counts over the records of the database, shape ``(n_databases, n_queries)``.
    """
    records, adding = listed_records(workload.domain), RecordAnswers(workload)
    values = np.zeros((len(records), workload.n_queries))
    for sums, record in zip(values, records, strict=True):
        adding.add(sums, record)
    answers = np.zeros((len(cells), workload.n_queries))
    for column in cells.T:
        answers += values[column]
    return answers


def size_for(workload: Workload, alpha: float) -> int:
    """The smallest k above ``w^2 ln(2 |Q|) / (2 alpha^2)``, for queries of width w.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> size_for(Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2), alpha=0.25)
        17
    """
    return math.floor(_squared_error(workload) / alpha**2) + 1


def error_of_size(workload: Workload, size: int) -> float:
    """An error, as a fraction, that some database of k records reaches: ``w sqrt(ln(2 |Q|) / (2 k))``.

    Hoeffding's inequality gives one for every larger error; the databases are finitely many, so this one is reached.

    Example:
        >>> from hedgerow import Domain, IntegerRange
        >>> workload = Workload.marginals(Domain(IntegerRange(name, 0, 1) for name in "ab"), 2)
        >>> round(error_of_size(workload, 17), 4)
        0.2473
    """
    return math.sqrt(_squared_error(workload) / size)


def _squared_error(workload: Workload) -> float:
    """``w^2 ln(2 |Q|) / 2``, the squared error of a single record."""
    width = largest_width(workload)
    return width * width * math.log(2.0 * workload.n_queries) / 2.0


def records(size: int) -> str:
    """A number of records, for people.

    Example:
        >>> records(1), records(1200)
        ('1 record', '1,200 records')
    """
    return f"{size:,} record{'s' if size != 1 else ''}"
