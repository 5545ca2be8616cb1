"""A workload on one record at a time: sums over records that grow by one, in time linear in the number of scopes.

The tables of a hypothesis with a single record would hold a million zeros for a few ones; here the ones are looked up.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Clique, Domain
from hedgerow.models import Empirical
from hedgerow.queries import Boxes, Cells, Conjunctions, ExplicitMatrix, Family, Marginals, Parities, Workload

Adder = Callable[[Floats, Ints], None]
"""Adds the values of a family's queries at a record to an array of shape ``(n_queries,)``.

The record has a code for each variable of the domain: attributes, and derived ones that a query is about.
"""


class RecordAnswers:
    """Adds the answers on single records to sums; what does not depend on the record is computed once.

    Example:
        >>> from hedgerow import IntegerRange
        >>> domain = Domain(IntegerRange(name, 0, 1) for name in "ab")
        >>> workload = Workload.parse("cells:1; parities:a*b", domain)
        >>> sums = np.zeros(workload.n_queries)
        >>> adding = RecordAnswers(workload)
        >>> adding.add(sums, [0, 1])
        >>> adding.add(sums, [1, 1])
        >>> sums
        array([1., 1., 0., 2., 0.])
    """

    def __init__(self, workload: Workload) -> None:
        """Look at the scopes of all families."""
        domain, names = workload.domain, {name for scope in workload.scopes for name in scope}
        functions = [each for name in names if (each := domain.function(name)) is not None]
        self._derived = [(domain.index(each.name), each, list(domain.axes(each.sources))) for each in functions]
        self._length = max((place + 1 for place, _, _ in self._derived), default=len(domain))
        ends = np.cumsum([family.n_queries for family in workload.families]).tolist()
        self._adders = [_adder(family) for family in workload.families]
        self._slices = [slice(low, high) for low, high in zip([0, *ends[:-1]], ends, strict=True)]

    def add(self, sums: Floats, record: Sequence[int] | NDArray[np.integer]) -> None:
        """Add the value of every query at a record.

        Args:
            sums: Changed in place, shape ``(n_queries,)``.
            record: One code per attribute, in the order of the domain.
        """
        codes = np.zeros(self._length, dtype=np.int64)
        codes[: len(record)] = record
        for place, function, sources in self._derived:
            codes[place] = function.at([codes[source] for source in sources])
        for adder, part in zip(self._adders, self._slices, strict=True):
            adder(sums[part], codes)


def _adder(family: Family) -> Adder:
    match family:
        case Marginals() | Cells():
            return _cells(family.domain, family.scopes)
        case Parities():
            return _parities(family.domain, family.scopes)
        case Boxes():
            return _boxes(family)
        case Conjunctions():
            return _conditions(family)
        case ExplicitMatrix():
            return _explicit(family)
        case _:
            return _by_tables(family)


def _cells(domain: Domain, scopes: Sequence[Clique]) -> Adder:
    """One cell of each marginal: its place is a sum of code times stride over the attributes."""
    shapes = [domain.shape_of(scope) for scope in scopes]
    sizes = np.array([math.prod(shape) for shape in shapes], dtype=np.int64)
    axes, starts = _flat(domain, scopes)
    strides = np.array([math.prod(shape[i + 1 :]) for shape in shapes for i in range(len(shape))], dtype=np.int64)
    first = np.cumsum(sizes) - sizes

    def add(sums: Floats, record: Ints) -> None:
        sums[first + np.add.reduceat(record[axes] * strides, starts)] += 1.0

    return add


def _parities(domain: Domain, scopes: Sequence[Clique]) -> Adder:
    axes, starts = _flat(domain, scopes)

    def add(sums: Floats, record: Ints) -> None:
        sums += 1.0 - 2.0 * (np.add.reduceat(record[axes], starts) & 1)

    return add


def _flat(domain: Domain, scopes: Sequence[Clique]) -> tuple[Ints, Ints]:
    """Axes of all scopes (none of them empty), one after the other, and where each scope begins."""
    lengths = np.array([len(scope) for scope in scopes], dtype=np.int64)
    return np.array([axis for scope in scopes for axis in domain.axes(scope)]), np.cumsum(lengths) - lengths


def _boxes(family: Boxes) -> Adder:
    axes = list(family.domain.axes(family.clique))

    def add(sums: Floats, record: Ints) -> None:
        codes = record[axes]
        sums += ((family.lows <= codes) & (codes <= family.highs)).all(axis=1)

    return add


def _conditions(family: Conjunctions) -> Adder:
    """A literal is met if the code lies in one of its runs, which are disjoint; a condition if all its literals are."""
    runs = [
        (number, axis, run.start, run.stop)
        for number, query in enumerate(family.queries)
        for axis, codes in zip(family.domain.axes(query.scope), query.codes, strict=True)
        for run in codes.runs
    ]
    owners, axes, lows, stops = (np.array([run[i] for run in runs], dtype=np.int64) for i in range(4))
    literals = np.array([len(query.scope) for query in family.queries])

    def add(sums: Floats, record: Ints) -> None:
        codes = record[axes]
        met = np.bincount(owners[(lows <= codes) & (codes < stops)], minlength=family.n_queries)
        sums += met == literals

    return add


def _explicit(family: ExplicitMatrix) -> Adder:
    shape, axes = family.domain.shape_of(family.scope), list(family.domain.axes(family.scope))

    def add(sums: Floats, record: Ints) -> None:
        sums += family.matrix[:, np.ravel_multi_index(tuple(record[axes].tolist()), shape)]

    return add


def _by_tables(family: Family) -> Adder:
    """For families of one's own."""

    def add(sums: Floats, record: Ints) -> None:
        sums += family.answers(Empirical(family.domain, 1.0, record[None, : len(family.domain)]))

    return add
