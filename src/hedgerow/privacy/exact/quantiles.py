"""Scores of places to cut an ordered attribute at a quantile: whole numbers, so that their sensitivity holds exactly.

A run of cells that is to become w bins is cut where j of them are on the left, ``j = floor(w / 2)``. A cut that leaves
L records on its left and R on its right is scored ``-|(w - j) L - j R|``: 0 where the share j / w of the run is on the
left, and the number of records need not be known. A record on the left moves it by w - j, one on the right by j, hence
by at most ``w - j``, as j is no more than half of w. Runs of other w are brought to a common unit, the least common
multiple U of all w - j: multiplied by ``U / (w - j)`` all scores have sensitivity U. They are whole numbers below 2^53.

The runs are disjoint. One record is in one of them at most, and moves the law of that one choice alone: all of them
together cost what one does (theory.md section 14).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.errors import QueryError

MOST_CELLS_OF_RUN = 1 << 13
"""Most cells of a run, as the sampler looks at one candidate after the other."""
_LARGEST_UNIT = 1 << 21
"""With counts up to 2^31 scores stay below 2^53."""


@dataclass(frozen=True)
class Run:
    """A run of neighbouring cells of an ordered attribute, to be cut into bins.

    Attributes:
        low: Code of its first cell.
        high: Code behind its last cell.
        bins: Number of bins that it is to become, at least 2.

    Example:
        >>> run = Run(0, 100, 5)
        >>> run.left, run.halves(40)
        (2, (Run(low=0, high=40, bins=2), Run(low=40, high=100, bins=3)))
    """

    low: int
    high: int
    bins: int

    @property
    def left(self) -> int:
        """Number of bins on the left of the cut."""
        return self.bins // 2

    @property
    def weight(self) -> int:
        """Largest change of the unscaled score by one record."""
        return self.bins - self.left

    @property
    def divisible(self) -> bool:
        """Whether there is anything to be cut."""
        return self.bins > 1 and self.high - self.low > 1

    def halves(self, cut: int) -> tuple["Run", "Run"]:
        """The runs on both sides of a cut.

        Args:
            cut: Code of the first cell on the right.
        """
        return Run(self.low, cut, self.left), Run(cut, self.high, self.weight)


def quantile_sensitivity(runs: Sequence[Run], cells: int) -> int:
    """Largest change of a score by one record that is there or not, the same for all runs.

    Args:
        runs: The runs.
        cells: Number of cells of the attribute that are in order.

    Raises:
        QueryError: The runs overlap, one cannot be cut, or has too many cells or bins.

    Example:
        >>> quantile_sensitivity([Run(0, 10, 5), Run(10, 20, 4)], 20)
        6
    """
    ends = [0, *(end for run in runs for end in (run.low, run.high)), cells]
    if not runs or any(a > b for a, b in pairwise(ends)) or not all(run.divisible for run in runs):
        raise QueryError("runs of cells must be disjoint, in order, and leave something to be cut")
    if max(run.high - run.low for run in runs) > MOST_CELLS_OF_RUN:
        raise QueryError(f"a run has more than {MOST_CELLS_OF_RUN:,} cells", remedy="give a coarser attribute")
    unit = math.lcm(*{run.weight for run in runs})
    if unit > _LARGEST_UNIT:
        raise QueryError("the runs have too many different numbers of bins", remedy="ask for fewer bins")
    return unit


def quantile_scores(counts: Ints, run: Run, unit: int) -> Floats:
    """Scores of the cuts of a run. Private.

    Args:
        counts: Records in each cell of the attribute, whole numbers, at most 2^31 in all.
        run: The run.
        unit: Sensitivity that the score is to have.

    Returns:
        Shape ``(run.high - run.low - 1,)``: of the cuts before the second, ..., the last cell.

    Example:
        >>> quantile_scores(np.array([4, 1, 1, 2]), Run(0, 4, 2), 1).tolist()
        [-0.0, -2.0, -4.0]
    """
    reached = np.cumsum(counts[run.low : run.high], dtype=np.int64)
    left, right = reached[:-1], reached[-1] - reached[:-1]
    factor = unit // run.weight
    scores: Floats = -(factor * np.abs(run.weight * left - run.left * right)).astype(np.float64)
    return scores
