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
from hedgerow.queries import Groups
from hedgerow.release.combinations import Combinations
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

    def factors(self, factor: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """Factors of the sums of `low` and `high`, for the lower and for the upper end of the sum times a factor."""
        ends = (factor, 0.0), (0.0, factor)
        return ends if factor >= 0.0 else (ends[1], ends[0])

    def times(self, factor: float) -> Evidence | None:
        """What is measured beside it, times a factor."""
        return self.beside.times(factor) if self.beside and factor else None


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
        sums = [part.factors(each) for part, each in zip(self.parts, (x, -y), strict=True)]
        told = [part.times(each) for part, each in zip(self.parts, (x, -y), strict=True)]
        found = self._ends([(*sums[0][end], *sums[1][end]) for end in (0, 1)], told, self.risk)
        if found is None and self._alone is not None:
            ends = [sorted(x * end for end in self._alone[0]), sorted(-y * end for end in self._alone[1])]
            low, high = (sum(each) for each in zip(*ends, strict=True))
            found = low, high, Evidence((low + high) / 2.0, lambda _: (high - low) / 2.0, "two sums")
        apart = sum(abs(each) * (part.apart + _LATTICE) for part, each in zip(self.parts, (x, -y), strict=True))
        slack = apart * self.most
        return None if found is None else (found[0] - slack, found[1] + slack, found[2])

    @cached_property
    def _alone(self) -> list[tuple[float, float]] | None:
        """The ends of each sum, with half the risk: from its measurements, or else from the error of the workload."""
        found, risk, value = list[tuple[float, float]](), 1.0 - self.risk / 4.0, self.release.value
        for place, part in enumerate(self.parts):
            own = [(0.0,) * 2 * place + each + (0.0,) * 2 * (1 - place) for each in part.factors(1.0)]
            told = self._ends(own, [part.beside], self.risk / 2.0)
            queries = self._sums.queries[2 * place : 2 * place + 2]
            bounds = [self.release.bound(query, value(query), risk) for query in queries if not told]
            first, last = told[:2] if told else (bounds[0].low, bounds[1].high)
            if first is None or last is None or (part.beside and not told):
                return None
            found.append((first, last))
        return found

    @cached_property
    def _sums(self) -> Combinations:
        """The sums over the group of what records add to each sum at least and at most."""
        each = [(part.name, table) for part in self.parts for table in (part.low, part.high)]
        return self.release.combinations(*(self.groups.sum(self.row, name, table) for name, table in each))

    def _ends(
        self, factors: Sequence[tuple[float, ...]], beside: Sequence[Evidence | None], risk: float
    ) -> _Told | None:
        """The ends of a sum that lies between two combinations of `_sums`, with what is beside it."""
        measured = [each for each in beside if each]
        told = reduce(Evidence.plus, measured) if measured else None
        alike = [np.array_equal(part.low, part.high) for part in self.parts]
        if all(same or not any(factors[0][2 * at : 2 * at + 2]) for at, same in enumerate(alike)):
            factors = factors[:1]
        found = [self._sums.bound(each, told, risk / len(factors)) for each in factors]
        first, last = found[0], found[-1]
        return None if first is None or last is None else (first[0], last[1], first[2])
