"""The sparse vector technique: paying for the questions whose answers pass a threshold, and for no others.

One secret noise is added to the threshold and a fresh one to every tested value; only whether the value reached the
threshold is told, and testing ends after ``fires`` times that it did (theory.md section 4).

*Proof.* Fix the answers "no, ..., no, yes, no, ..., yes" with at most ``fires`` times "yes", and neighbouring tables.
Shift the threshold noise by +Delta, the noise of each value that was told to have passed by +2 Delta, and leave the
others: every "no" stays "no", because its value moved by at most Delta and so did the threshold, and every "yes" stays
"yes". The shifts are whole lattice steps and one-to-one, and discrete Laplace noise at scale b changes its probability
by at most exp(shift / b). Together:

    epsilon = Delta / threshold_scale + 2 fires Delta / test_scale.

It covers both correct families. ``fires = 1`` is one epoch of AboveThreshold (Dwork and Roth, algorithm 1); repeating
it, each time with a new threshold noise, is their algorithm 2. ``fires = c`` with one threshold draw is the algorithm
of Lyu, Su and Li (2017, algorithm 1). Mixing them is not private: neither several fires at the price of one epoch, nor
a new threshold after each fire of the second. Values and thresholds live on the lattice of 2^-10 counts, so no
comparison is between floating-point numbers.

**Between two tests** anything else may be asked, other sparse vectors included. In pure budgets nothing changes: the
shifts above depend on the answers of this sparse vector alone. In zCDP and GDP the charge of any mechanism of that
epsilon at the start covers all later tests because an interactive mechanism of pure epsilon is a post-processing of a
single randomised response of that epsilon (Vadhan and Wang 2021, "Concurrent composition of differential privacy").
"""

from dataclasses import dataclass
from typing import Self

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ABOVE, BELOW, Regime, check_amount, check_scale
from hedgerow.privacy.exact import GRID
from hedgerow.privacy.mechanisms.additive_noise import LaplaceNoise

SPARSE_VECTOR = "sparse vector"
"""Name of the mechanism, as the ledger has it."""


@dataclass(frozen=True)
class SparseVector:
    """Noise and charge of one run of the sparse vector technique, from one draw of the threshold noise to the next.

    Attributes:
        threshold_scale: Scale b of the discrete Laplace noise of the threshold, in counts.
        test_scale: Scale of the noise of each tested value, in counts.
        sensitivity: Largest change of a tested value by one record, in counts.
        fires: Number of times that a value may pass the threshold.

    Example:
        >>> epoch = SparseVector.for_charge(Regime.PURE, 0.5, threshold_share=0.5)
        >>> round(epoch.threshold_scale, 6), round(epoch.test_scale, 6), epoch.charge(Regime.PURE) <= 0.5
        (4.0, 8.0, True)
        >>> many = SparseVector.for_charge(Regime.PURE, 0.5, fires=4, threshold_share=0.2)
        >>> round(many.threshold_scale, 6), round(many.test_scale, 6)
        (10.0, 20.0)
    """

    name = SPARSE_VECTOR
    threshold_scale: float
    test_scale: float
    sensitivity: float = 1.0
    fires: int = 1

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ConfigError: A scale cannot be drawn, or there is no fire.
        """
        check_scale(self.threshold_scale, self.sensitivity, GRID)
        check_scale(self.test_scale, self.sensitivity, GRID)
        if isinstance(self.fires, bool) or not isinstance(self.fires, int) or self.fires < 1:
            raise ConfigError(f"a sparse vector needs at least one fire, not {self.fires!r}")

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
        """The cost of any mechanism of that epsilon."""
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
        """The scales that cost at most the amount.

        Args:
            regime: Unit of the amount.
            amount: The charge.
            sensitivity: Sensitivity of the tested values, in counts.
            fires: Number of times that a value may pass.
            threshold_share: Share of epsilon for the threshold; by default ``1 : (2 fires)^(2/3)``, where the sum of
                both noises has the smallest variance (Lyu, Su and Li). A half gives the scales of Dwork and Roth.

        Raises:
            ConfigError: The amount is not positive, or a share is not between 0 and 1.
        """
        share = 1.0 / (1.0 + (2.0 * fires) ** (2.0 / 3.0)) if threshold_share is None else threshold_share
        if not 0.0 < share < 1.0:
            raise ConfigError(f"the share of the threshold lies between 0 and 1, not {share}")
        epsilon = regime.pure_epsilon(check_amount(amount) * BELOW)
        return cls(
            sensitivity / (share * epsilon), 2.0 * fires * sensitivity / ((1.0 - share) * epsilon), sensitivity, fires
        )

    def threshold_quantile(self, confidence: float, values: int = 1) -> float:
        """A bound on the absolute noise of so many thresholds at once, in counts."""
        return LaplaceNoise(self.threshold_scale, self.sensitivity, GRID).quantile(confidence, values)

    def test_quantile(self, confidence: float, values: int = 1) -> float:
        """A bound on the absolute noise of so many tests at once, in counts."""
        return LaplaceNoise(self.test_scale, self.sensitivity, GRID).quantile(confidence, values)
