"""The sum over one column divided by that over another, from a release; see `ratios`.

Both sums are one question over the table of both columns, if the measurements of one run tell it. Else each has an
interval of its own, with half the risk, and ``x top - y bottom`` lies between their ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Clique
from hedgerow.queries import Groups
from hedgerow.release.evidence import Evidence
from hedgerow.release.release import Release

_Told = tuple[float, float, Evidence]
_LATTICE = 2.0**-20
"""Bound on the rounding of a position."""


@dataclass(frozen=True, eq=False)
class Summands:
    """What a record adds to a sum over a column, in spans.

    Attributes:
        name: The column.
        low: At least, by its code.
        high: At most.
        beside: What is measured beside it.
        apart: How far the numbers of a record may be from where they are taken to be.
    """

    name: str
    low: Floats
    high: Floats
    beside: Evidence | None
    apart: float

    def times(self, factor: float) -> Summands:
        """The same times any number."""
        low, high = (self.low, self.high) if factor >= 0.0 else (self.high, self.low)
        beside = self.beside.times(factor) if self.beside and factor else None
        return Summands(self.name, factor * low, factor * high, beside, abs(factor) * (self.apart + _LATTICE))


@dataclass(frozen=True, eq=False)
class Quotient:
    """A ratio of sums over a group.

    Attributes:
        release: The release.
        groups: The groups.
        row: Number of the group.
        parts: The sum that is divided, and the other.
        most: Upper bound of the number of records in the group.
        risk: Probability that an interval may miss.
    """

    release: Release
    groups: Groups
    row: int
    parts: tuple[Summands, Summands]
    most: float
    risk: float

    def bound(self, x: float, y: float) -> _Told | None:
        """The ends of x times the first sum less y times the second, and the evidence; None where nothing tells them.

        Args:
            x: A factor from 0 on.
            y: Any factor.
        """
        first, second = self.parts[0].times(x), self.parts[1].times(-y)
        names = self.groups.domain.clique([first.name, second.name])
        tables = [np.add.outer(first.low, second.low), np.add.outer(first.high, second.high)]
        told = [each.beside for each in (first, second) if each.beside]
        beside = reduce(Evidence.plus, told) if told else None
        found = self._ends(names, tables if names[0] == first.name else [each.T for each in tables], beside, self.risk)
        if found is None and self._alone is not None:
            ends = [sorted(x * end for end in self._alone[0]), sorted(-y * end for end in self._alone[1])]
            low, high = (sum(each) for each in zip(*ends, strict=True))
            found = low, high, Evidence((low + high) / 2.0, lambda _: (high - low) / 2.0, "two sums")
        slack = (first.apart + second.apart) * self.most
        return None if found is None else (found[0] - slack, found[1] + slack, found[2])

    @cached_property
    def _alone(self) -> list[tuple[float, float]] | None:
        """The ends of each sum, with half the risk: from its measurements, or else from the error of the workload."""
        found = list[tuple[float, float]]()
        for part in self.parts:
            told = self._ends((part.name,), [part.low, part.high], part.beside, self.risk / 2.0)
            queries = [self.groups.sum(self.row, part.name, each) for each in (part.low, part.high)]
            risk, value = 1.0 - self.risk / 4.0, self.release.value
            bounds = [self.release.bound(query, value(query), risk) for query in queries if not told]
            first, last = told[:2] if told else (bounds[0].low, bounds[1].high)
            if first is None or last is None or (part.beside and not told):
                return None
            found.append((first, last))
        return found

    def _ends(self, names: Clique, tables: Sequence[Floats], beside: Evidence | None, risk: float) -> _Told | None:
        """The ends of a sum over the group whose summands lie between two tables, with what is beside it."""
        if beside and not any(each.any() for each in tables):
            return *beside.ends(risk), beside
        alike = np.array_equal(tables[0], tables[1])
        queries = [self.groups.weighted(self.row, names, each) for each in (tables[:1] if alike else tables)]
        told = [self.release.bound_with(query, beside, risk / len(queries)) for query in queries]
        first, last = told[0], told[-1]
        return None if first is None or last is None else (first[0], last[1], first[2])
