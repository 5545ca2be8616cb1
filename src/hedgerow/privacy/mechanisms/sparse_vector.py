"""The sparse vector technique: paying for the questions whose answers pass a threshold, and for no others.

One secret noise is added to the threshold and a fresh one to every tested value; only whether the value reached the
threshold is told, and testing ends after ``fires`` times that it did. With sensitivity Delta, scales b1 of the
threshold's noise and b2 of the tests', and c fires (theory.md section 4.1):

- epsilon = Delta / b1 + 2 c Delta / b2. ``fires = 1`` is one epoch of AboveThreshold (Dwork and Roth, algorithm 1);
  ``fires = c`` with one threshold draw is the algorithm of Lyu, Su and Li (2017, algorithm 1).
- rho = Delta^2 max(3 / (4 b1^2), c / b2^2), the bound ``"renyi"``, with Delta one lattice step larger than it is.

Mixing draws of the threshold is not private: neither several fires at the price of one epoch, nor a new threshold after
each fire of a run with several. Values and thresholds live on the lattice of 2^-10 counts, so no comparison is between
floating-point numbers. Between two tests anything else may be asked, other sparse vectors included.
"""

import math
from dataclasses import dataclass
from typing import Literal, Self

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ABOVE, BELOW, Regime, check_amount, check_scale
from hedgerow.privacy.exact import GRID
from hedgerow.privacy.mechanisms.additive_noise import LaplaceNoise

SPARSE_VECTOR = "sparse vector"
"""Name of the mechanism, as the ledger has it."""
RENYI: Literal["renyi"] = "renyi"
"""Name of the bound on a sparse vector's rho that follows from its tests, and not from its epsilon alone."""


@dataclass(frozen=True)
class SparseVector:
    """Noise and charge of one run of the sparse vector technique, from one draw of the threshold noise to the next.

    Attributes:
        threshold_scale: Scale b of the discrete Laplace noise of the threshold, in counts.
        test_scale: Scale of the noise of each tested value, in counts.
        sensitivity: Largest change of a tested value by one record, in counts.
        fires: Number of times that a value may pass the threshold.
        bound: Bound on its rho: ``"renyi"``, or None for that of any mechanism of its epsilon. In pure and Gaussian
            budgets it makes no difference.

    Example:
        >>> epoch = SparseVector.for_charge(Regime.PURE, 0.5, threshold_share=0.5)
        >>> round(epoch.threshold_scale, 6), round(epoch.test_scale, 6), epoch.charge(Regime.PURE) <= 0.5
        (4.0, 8.0, True)
        >>> many = SparseVector.for_charge(Regime.PURE, 0.5, fires=4, threshold_share=0.2)
        >>> round(many.threshold_scale, 6), round(many.test_scale, 6)
        (10.0, 20.0)
        >>> concentrated = SparseVector.for_charge(Regime.ZCDP, 0.01, fires=4)
        >>> round(concentrated.threshold_scale, 2), round(concentrated.test_scale, 2), concentrated.bound
        (8.67, 20.02, 'renyi')
    """

    name = SPARSE_VECTOR
    threshold_scale: float
    test_scale: float
    sensitivity: float = 1.0
    fires: int = 1
    bound: Literal["renyi"] | None = None

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: A scale cannot be drawn, there is no fire, or no such bound.
        """
        check_scale(self.threshold_scale, self.sensitivity, GRID)
        check_scale(self.test_scale, self.sensitivity, GRID)
        if isinstance(self.fires, bool) or not isinstance(self.fires, int) or self.fires < 1:
            raise ConfigError(f"a sparse vector needs at least one fire, not {self.fires!r}")
        if self.bound not in (RENYI, None):
            raise ConfigError(f"there is no bound {self.bound!r} on a sparse vector", remedy="give 'renyi' or None")

    @property
    def scale(self) -> float:
        """Scale of the tests, for the ledger."""
        return self.test_scale

    @property
    def epsilon(self) -> float:
        """Pure epsilon of the whole run, rounded up."""
        tests = 2.0 * self.fires * self.sensitivity / self.test_scale
        return (self.sensitivity / self.threshold_scale + tests) * ABOVE

    def charge(self, regime: Regime) -> float:
        """The cost of the whole run in the unit of the regime, rounded up: by its bound, or of any such epsilon."""
        if regime is Regime.ZCDP and self.bound == RENYI:
            moved = _moved(self.sensitivity)
            threshold, test = moved / self.threshold_scale, moved / self.test_scale
            return max(0.75 * threshold * threshold, self.fires * (test * test)) * ABOVE
        return regime.of_pure(self.epsilon)

    @classmethod
    def for_charge(
        cls,
        regime: Regime,
        amount: float,
        sensitivity: float = 1.0,
        fires: int = 1,
        threshold_share: float | None = None,
    ) -> Self:
        """The scales that cost at most the amount; in zCDP by the bound ``"renyi"``.

        Args:
            regime: Unit of the amount.
            amount: The charge.
            sensitivity: Sensitivity of the tested values, in counts.
            fires: Number of times that a value may pass.
            threshold_share: Share of epsilon for the threshold; a half gives the ratio of Dwork and Roth's scales. By
                default ``1 : (2 fires)^(2/3)``, where the sum of both noises has the smallest variance (Lyu, Su and
                Li); in zCDP the smallest scales of the bound, which are ``sqrt(3 / 4) : sqrt(fires)``.

        Raises:
            ConfigError: The amount is not positive, or a share is not between 0 and 1.
        """
        share = 1.0 / (1.0 + (2.0 * fires) ** (2.0 / 3.0)) if threshold_share is None else threshold_share
        if not 0.0 < share < 1.0:
            raise ConfigError(f"the share of the threshold lies between 0 and 1, not {share}")
        target = check_amount(amount) * BELOW
        if regime is Regime.ZCDP:
            smallest = math.sqrt(0.75 / fires)
            ratio = smallest if threshold_share is None else (1.0 - share) / (2.0 * fires * share)
            unit = _moved(sensitivity) * math.sqrt(fires / target) * max(1.0, smallest / ratio)
            return cls(ratio * unit, unit, sensitivity, fires, RENYI)
        epsilon = regime.pure_epsilon(target)
        return cls(
            sensitivity / (share * epsilon), 2.0 * fires * sensitivity / ((1.0 - share) * epsilon), sensitivity, fires
        )

    def threshold_quantile(self, confidence: float, values: int = 1) -> float:
        """A bound on the absolute noise of so many thresholds at once, in counts."""
        return LaplaceNoise(self.threshold_scale, self.sensitivity, GRID).quantile(confidence, values)

    def test_quantile(self, confidence: float, values: int = 1) -> float:
        """A bound on the absolute noise of so many tests at once, in counts."""
        return LaplaceNoise(self.test_scale, self.sensitivity, GRID).quantile(confidence, values)


def _moved(sensitivity: float) -> float:
    """The sensitivity in whole lattice steps and one more, in counts: shifts of the proof are whole steps."""
    return (1.0 - (-sensitivity // GRID)) * GRID
