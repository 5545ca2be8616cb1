"""Tables for theorems: public ones whose records count many times over, and one on which every record is alike."""

from __future__ import annotations

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Domain
from hedgerow.privacy import exact_answers, exact_errors
from hedgerow.queries import Workload


def repeated(table: Table, times: int) -> Table:
    """Every record so many times: the same distribution, as theorems that ask for many records need it.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> repeated(Table(Domain((IntegerRange("a", 0, 1),)), [np.array([0, 1, 1])]), 100).total()
        300
    """
    domain = table.domain
    counts = np.rint(exact_answers(table, Workload.marginals(domain, len(domain)))).astype(np.int64)
    held = np.flatnonzero(counts)
    return Table(domain, np.unravel_index(held, domain.shape), counts[held] * times)


def alike(domain: Domain, records: int) -> Table:
    """All records in one cell: as far from the uniform hypothesis as a distribution can be.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> alike(Domain((IntegerRange("a", 0, 1),)), 5).marginals([("a",)])
        [array([5., 0.])]
    """
    return Table(domain, [np.zeros(1, dtype=np.int64) for _ in domain], np.array([records]))


def cells_of(table: Table) -> Workload:
    """All cells of all marginals of three attributes: the queries of most studies.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> cells_of(alike(Domain(IntegerRange(name, 0, 1) for name in "abcd"), 5)).n_queries
        32
    """
    return Workload.marginals(table.domain, 3, whole=False)


def largest_error(table: Table, workload: Workload, answers: Floats) -> float:
    """Errors of single queries, as a share of the records; not private.

    Args:
        table: Public.
        workload: Single queries.
        answers: In counts.

    Example:
        >>> from hedgerow.domain.attribute import IntegerRange
        >>> table = Table(Domain((IntegerRange("a", 0, 1),)), [np.array([0, 1, 1, 1])])
        >>> largest_error(table, Workload.marginals(table.domain, 1, whole=False), np.array([2.0, 2.0]))
        0.25
    """
    found = exact_errors(table, workload, answers)
    return found.maximum / found.total
