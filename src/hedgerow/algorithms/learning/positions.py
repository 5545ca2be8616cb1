"""Where in their bins the records of columns lie, measured under a part of the budget (theory.md section 14.1).

With the counts of the bins they tell sums and means without a guess, and where in its bin a synthetic number is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hedgerow.algorithms.shared import check_fraction
from hedgerow.domain import Domain, bin_cells
from hedgerow.privacy import Budget, Curator, Subsampled
from hedgerow.queries import Measurement, Positions, summed_columns

POSITIONS_SHARE = 0.05
"""Share of a budget that the positions of all columns are measured with."""


@dataclass(frozen=True)
class PositionTargets:
    """The positions that a run measures.

    They are not measured of a sample, nor where a bounded number of records of each person counts: which ones do
    depends on the codes of their columns, so that other records would be counted.

    Attributes:
        columns: Those of all columns with bins.
        asked: Those that a workload asks for: by the values of other columns, of columns without bins, or of squares.

    Example:
        >>> from hedgerow import Binned, Categorical, PureDP
        >>> domain = Domain([Categorical("sex", ("F", "M")), Binned("pay", [0, 1000, 5000])])
        >>> targets = PositionTargets.of(domain, PureDP(1.0), "means: pay by sex")
        >>> [target.text for target in targets], targets.counted.shape, targets.share(0.05)
        (['positions in the bins of pay', 'positions in the bins of sex * pay'], (2, 32768), 0.1)
    """

    columns: tuple[Positions, ...] = ()
    asked: tuple[Positions, ...] = ()

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
        wanted = [(name, by, squares) for name, by, squares in summed if by or squares or name not in cells]
        beside = domain.clique({each for name, by, _ in wanted for each in (name, *by)} - set(cells))
        columns = tuple(Positions(domain, (name,), name, beside) for name in cells)
        asked = (Positions(domain, (*by, name), name, beside, squares) for name, by, squares in wanted)
        return cls(columns, tuple(asked))

    def __iter__(self) -> Iterator[Positions]:
        """All of them, in the order in which they are measured."""
        return iter((*self.columns, *self.asked))

    @property
    def counted(self) -> Domain | None:
        """The domain that a table is read in once more, for the counts that tell them; None where there are none."""
        return next((target.counted for target in self), None)

    def share(self, share: float = POSITIONS_SHARE) -> float:
        """The share of the budget that all of them cost.

        Args:
            share: That of the columns together, and again of those that are asked for.
        """
        return share * (bool(self.columns) + bool(self.asked))

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
            >>> (measured,) = targets.measure(Curator(table, budget, noise=SeededNoise(0)))
            >>> measured.values.round(1)
            array([-0.5,  0. ])
        """
        check_fraction("share", share)
        steps = [
            (target, share * curator.ledger.limit / len(wanted))
            for wanted in (self.columns, self.asked)
            for target in wanted
        ]
        return curator.measure_all(steps, label="positions")
