"""Private selection among runs: the first run that passes a noisy test, with a random end (theory.md, section 23).

A run is drawn, made and tested. If it passes, it is released and nothing of the runs before it. If it fails, all ends
without a release with probability ``1 / tries``; else another run is made. Where each run with its test is
epsilon-differentially private, the whole is private with

    epsilon + ln((1 + tries e^epsilon) / (tries + e^epsilon)),

less than two runs cost, however many are made (Liu and Talwar 2019, theorem 3.1; the constant is exact).
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import Regime

RUN_SELECTION = "selection among runs"
"""Name of the mechanism, as the ledger has it."""
MOST_TRIES = 1 << 20
"""The largest mean number of runs."""
_ABOVE = 1.0 + 2.0**-46
_HALVINGS = 80


@dataclass(frozen=True)
class RunSelection:
    """What the selection of a run costs beside the run itself.

    Attributes:
        limit: Epsilon of each run with its test.
        tries: The mean number of runs that are made where none passes: all ends with probability ``1 / tries`` after
            each that fails.

    Example:
        >>> round(RunSelection(1.0, 10).charge(Regime.PURE), 6)
        0.795672
    """

    limit: float
    tries: float

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: The limit is not positive, or the tries are no whole number from 2 on.
        """
        if not 0.0 < self.limit < math.inf:
            raise ConfigError(f"a run with an epsilon of {self.limit!r}", remedy="give a larger budget")
        if isinstance(self.tries, bool) or self.tries != int(self.tries) or not 2 <= self.tries <= MOST_TRIES:
            remedy = f"give a whole number from 2 to {MOST_TRIES:,}"
            raise ConfigError(f"{self.tries!r} tries among which a run is selected", remedy=remedy)

    @property
    def name(self) -> str:
        """Name of the mechanism, for the ledger."""
        return RUN_SELECTION

    @property
    def sensitivity(self) -> float:
        """The limit, as the ledger holds it."""
        return self.limit

    @property
    def scale(self) -> float:
        """The tries, as the ledger holds them."""
        return float(self.tries)

    def charge(self, regime: Regime) -> float:
        """Cost beside that of a run, rounded up.

        Raises:
            ConfigError: The regime is not pure: runs whose losses have no bound have no such price.
        """
        check_selects_runs(regime)
        kept = math.exp(-self.limit)
        return math.log1p((self.tries - 1.0) * -math.expm1(-self.limit) / (self.tries * kept + 1.0)) * _ABOVE

    @classmethod
    def of_rest(cls, rest: Fraction, tries: float) -> tuple[Self, float]:
        """The selection among runs that together with one of them spends what is left of a budget.

        Args:
            rest: What is left, in epsilon.
            tries: The mean number of runs, at most.

        Returns:
            The selection, and its charge: ``rest`` less the charge is at most the limit of a run.

        Example:
            >>> selection, charge = RunSelection.of_rest(Fraction(2), 10)
            >>> round(selection.limit, 3), round(charge, 3)
            (1.117, 0.883)
        """
        low, high = 0.0, float(rest / 2) * _ABOVE
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            enough = cls._leaving(rest, middle, tries).charge(Regime.PURE) <= middle
            low, high = (low, middle) if enough else (middle, high)
        return cls._leaving(rest, high, tries), high

    @classmethod
    def _leaving(cls, rest: Fraction, charge: float, tries: float) -> Self:
        """That whose runs have what a charge leaves, rounded up."""
        return cls(math.nextafter(float(rest - Fraction(charge)), math.inf), tries)


def check_selects_runs(regime: Regime) -> None:
    """Refuse a regime in which runs are not selected.

    Args:
        regime: Regime of the charges.

    Raises:
        ConfigError: It is not pure.
    """
    if regime is not Regime.PURE:
        raise ConfigError(
            f"a selection among runs is charged in epsilon, and this budget is counted in {regime.unit}",
            remedy="give an epsilon without a delta",
        )
