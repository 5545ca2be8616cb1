"""The cost of a run of DualQuery, by every composition theorem that applies (theory.md section 5).

In round t each of s samples is an exponential mechanism with ``epsilon_t = 2 eta (t - 1) D / n``, D being the
sensitivity of a query scaled to width 1, in counts (1, or less for signed queries under "add-remove"); round 1 is free.

| name | statement for (epsilon, delta) |
|---|---|
| pure | sum of s epsilon_t = s eta T (T - 1) D / n; delta = 0 |
| paper | epsilon_T (sqrt(2 s (T - 1) ln(1/delta)) + s (T - 1) (e^epsilon_T - 1)) |
| heterogeneous | sqrt(2 ln(1/delta) sum of s epsilon_t^2) + sum of s epsilon_t (e^epsilon_t - 1) |
| zCDP, any mechanism | rho = sum of s epsilon_t^2 / 2, then rho + 2 sqrt(rho ln(1/delta)) |
| zCDP, bounded range | rho = sum of s epsilon_t^2 / 8 = s eta^2 T (T-1) (2T-1) D^2 / (12 n^2), then the same |
| zCDP, tight | the rho of bounded range, then the conversion of ``privacy/conversion.py`` |

All are valid at once; the smallest may be claimed. The paper's "improvement by 6" holds for the summands of order rho
only: where the roots dominate it is sqrt(3) for the heterogeneous sum, and 2 sqrt(3) with bounded range.
"""

import math
from dataclasses import dataclass
from functools import cached_property

from hedgerow.errors import ConfigError
from hedgerow.privacy import ApproxDP, Budget, Subsampled, epsilon_of

PURE, PAPER, HETEROGENEOUS = "pure", "paper", "heterogeneous"
ANY_ZCDP, BOUNDED_ZCDP, TIGHT_ZCDP = "zcdp any", "zcdp bounded range", "zcdp tight"

COMPOSITIONS = {
    PURE: "pure",
    PAPER: "the paper's",
    HETEROGENEOUS: "heterogeneous",
    ANY_ZCDP: "zCDP",
    BOUNDED_ZCDP: "zCDP of bounded range",
    TIGHT_ZCDP: "zCDP of bounded range at its tightest",
}
"""The composition theorems, by name, in words."""

TABLE_DELTA = 1e-6
"""The delta of the table where the budget has none."""


@dataclass(frozen=True)
class Accounting:
    """The cost of a run with given parameters.

    Attributes:
        rounds: T.
        step: eta.
        samples: s, draws in each round.
        total: n, the (noisy) number of records that queries are divided by.
        sensitivity: D, of a query scaled to width 1, in counts.
        delta: The delta of the statements that have one.

    Example:
        >>> cost = Accounting(rounds=30, step=0.5, samples=40, total=50_000, delta=1e-6)
        >>> round(cost.pure, 4), round(cost.rho, 6), cost.best
        (0.348, 1.7e-05, 'zcdp tight')
    """

    rounds: int
    step: float
    samples: int
    total: float
    sensitivity: float = 1.0
    delta: float = TABLE_DELTA

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: One is out of its range.
        """
        amounts = (self.step, self.total, self.sensitivity)
        if self.rounds < 1 or self.samples < 1 or not all(0.0 < amount < math.inf for amount in amounts):
            raise ConfigError("rounds, samples, step, number of records and sensitivity must be positive")
        if not 0.0 < self.delta < 1.0:
            raise ConfigError(f"delta must lie between 0 and 1, not {self.delta}")

    @property
    def unit(self) -> float:
        """The epsilon of one sample in round 2."""
        return 2.0 * self.step * self.sensitivity / self.total

    @property
    def last(self) -> float:
        """The epsilon of one sample in the last round."""
        return self.unit * (self.rounds - 1)

    @property
    def pure(self) -> float:
        """Epsilon of pure differential privacy: ``s eta T (T - 1) D / n``."""
        return self.samples * self.unit * self.rounds * (self.rounds - 1) / 2.0

    @property
    def squares(self) -> float:
        """Sum of the squares of the epsilons of all samples."""
        return self.samples * self.unit**2 * self.rounds * (self.rounds - 1) * (2 * self.rounds - 1) / 6.0

    @property
    def rho(self) -> float:
        """Rho of zero-concentrated differential privacy, by bounded range."""
        return self.squares / 8.0

    @cached_property
    def epsilons(self) -> dict[str, float]:
        """Epsilon at delta by every statement, by name; infinite where a number is beyond floating point."""
        return {
            PURE: self.pure,
            PAPER: self._paper(),
            HETEROGENEOUS: self._heterogeneous(),
            ANY_ZCDP: self._closed_form(self.squares / 2.0),
            BOUNDED_ZCDP: self._closed_form(self.rho),
            TIGHT_ZCDP: epsilon_of(self.rho, self.delta) if self.rounds > 1 else 0.0,
        }

    @property
    def best(self) -> str:
        """Name of the statement with the smallest epsilon."""
        return min(self.epsilons, key=self.epsilons.__getitem__)

    def to_dict(self) -> dict[str, float | str]:
        """All figures, for the release."""
        return {"rho": self.rho, "delta": self.delta, "best": self.best, **self.epsilons}

    def _paper(self) -> float:
        """Advanced composition of equal mechanisms, each charged as the last one."""
        count = self.samples * (self.rounds - 1)
        return self.last * (math.sqrt(2.0 * count * -math.log(self.delta)) + count * _growth(self.last))

    def _heterogeneous(self) -> float:
        drift = math.fsum(self.unit * t * _growth(self.unit * t) for t in range(1, self.rounds))
        return math.sqrt(2.0 * -math.log(self.delta) * self.squares) + self.samples * drift

    def _closed_form(self, rho: float) -> float:
        return rho + 2.0 * math.sqrt(rho * -math.log(self.delta))


def _growth(epsilon: float) -> float:
    """``e^epsilon - 1``."""
    return math.expm1(epsilon) if epsilon < 700.0 else math.inf


def stated_delta(budget: Budget) -> float:
    """The delta of the budget, or the one that tables use in its place.

    Example:
        >>> from hedgerow import PureDP
        >>> stated_delta(PureDP(1.0)), stated_delta(ApproxDP(1.0, 1e-9))
        (1e-06, 1e-09)
    """
    inner = budget.inner if isinstance(budget, Subsampled) else budget
    return inner.delta if isinstance(inner, ApproxDP) else TABLE_DELTA
