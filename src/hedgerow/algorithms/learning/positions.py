"""Where in their bins the records of columns lie, measured under a part of the budget (theory.md section 14.1).

With the counts of the bins they tell sums and means without a guess, and where in its bin a synthetic number is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from hedgerow.algorithms.shared import check_fraction
from hedgerow.domain import Domain, bin_cells
from hedgerow.privacy import Budget, Curator, Subsampled
from hedgerow.queries import Measurement, Positions, correlated_columns, summed_columns

POSITIONS_SHARE = 0.05
"""Unit of the shares of a budget for positions and moments."""
_OF_ASKED = 2.0
"""Units for moments that are asked for, each as many as a direct measurement is compared with, ..."""
_MOST_SHARES = 5.0
"""... up to so many for all of these."""
_OF_BINS = (0.6, 0.8)
"""Units for positions in bins and for moments of all columns with bins; of one that is asked for in these ratios."""


@dataclass(frozen=True)
class PositionTargets:
    """The positions and moments that a run measures.

    They are not measured of a sample, nor where a bounded number of records of each person counts: which ones do
    depends on the codes of their columns, so that other records would be counted.

    Attributes:
        inside: Positions in the bins of all columns with bins.
        columns: Moments of the same columns.
        asked: What a workload asks for: moments by the values of other columns, or of columns without bins; where
            there are bins positions in these too. Products of pairs whose correlations it asks for, of which one at
            least has no bins.

    Example:
        >>> from hedgerow import Binned, Categorical, PureDP
        >>> domain = Domain([Categorical("sex", ("F", "M")), Binned("pay", [0, 1000, 5000])])
        >>> targets = PositionTargets.of(domain, PureDP(1.0), "means: pay by sex")
        >>> [target.text for target in targets][:3]
        ['positions in the bins of pay', 'moments of pay', 'positions in the bins of sex * pay']
        >>> targets.counted.shape, round(targets.share(0.05), 3)
        ((2, 32768), 0.21)
    """

    inside: tuple[Positions, ...] = ()
    columns: tuple[Positions, ...] = ()
    asked: tuple[tuple[Positions, ...], ...] = ()

    @classmethod
    def of(cls, domain: Domain, budget: Budget, workload: str | None = None) -> PositionTargets:
        """The positions that are measured where nothing else is said.

        Args:
            domain: The domain, with its bins.
            budget: Budget of the release, with the persons whose records count.
            workload: Text of the workload.

        Raises:
            QueryError: The text asks for sums of columns whose positions are not measured.
        """
        persons, cells = budget.neighbours.persons, bin_cells(domain)
        if isinstance(budget, Subsampled) or (persons is not None and persons.column is not None):
            return cls()
        summed = [] if workload is None else summed_columns(workload, domain)
        wanted = [(name, by) for name, by in summed if by or name not in cells]
        beside = domain.clique({each for name, by in wanted for each in (name, *by)} - set(cells))
        inside, columns = (
            tuple(Positions(domain, (name,), name, beside, whole) for name in cells) for whole in (False, True)
        )
        asked = (
            tuple(Positions(domain, (*by, name), name, beside, whole) for whole in (False, True)[name not in cells :])
            for name, by in wanted
        )
        pairs = [] if workload is None else correlated_columns(workload, domain)
        products = (
            Positions(domain, pair, pair[0], beside, other=pair[1]) for pair in pairs if not set(pair) <= set(cells)
        )
        return cls(inside, columns, (*asked, *((each,) for each in products)))

    def __iter__(self) -> Iterator[Positions]:
        """All of them, in the order in which they are measured."""
        return (target for target, _ in self._parts())

    @property
    def counted(self) -> Domain | None:
        """The domain that a table is read in once more, for the counts that tell them; None where there are none."""
        return next((target.counted for target in self), None)

    def share(self, share: float = POSITIONS_SHARE) -> float:
        """The share of the budget that all of them cost.

        Args:
            share: The unit.
        """
        return share * math.fsum(part for _, part in self._parts())

    def _parts(self) -> Iterator[tuple[Positions, float]]:
        """The targets with their shares, in units."""
        for wanted, part in zip((self.inside, self.columns), _OF_BINS, strict=True):
            yield from ((target, part / len(wanted)) for target in wanted)
        parts = [[_OF_ASKED * part for part in ((1.0,) if len(wanted) == 1 else _OF_BINS)] for wanted in self.asked]
        factor = min(1.0, _MOST_SHARES / max(1.0, math.fsum(chain(*parts))))
        for wanted, each in zip(self.asked, parts, strict=True):
            yield from ((target, factor * part) for target, part in zip(wanted, each, strict=True))

    def measure(self, curator: Curator, share: float = POSITIONS_SHARE) -> Sequence[Measurement]:
        """Measure them.

        Args:
            curator: Curator before the private table, read in `counted`.
            share: See `share`.

        Returns:
            The noisy sums of each.

        Raises:
            ConfigError: The share is not between 0 and 1.
            BudgetExceededError: The budget does not cover it.

        Example:
            >>> import numpy as np
            >>> from hedgerow import Binned, PureDP, SeededNoise, Table
            >>> domain, budget = Domain([Binned("pay", [0, 4, 8], whole=True)]), PureDP(10_000.0)
            >>> targets = PositionTargets.of(domain, budget)
            >>> table = Table(targets.counted, [np.array([0, 0, 3, 4, 7, 7])])
            >>> inside, moments = targets.measure(Curator(table, budget, noise=SeededNoise(0)))
            >>> inside.values.round(1), moments.values.round(1)
            (array([-0.5,  0. ]), array([-0.4, -1.4]))
        """
        check_fraction("share", share)
        limit = share * curator.ledger.limit
        return curator.measure_all([(target, part * limit) for target, part in self._parts()], label="positions")
