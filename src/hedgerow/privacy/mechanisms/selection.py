"""Private choices: sensitivity, scale and charge in one frozen object each, so that none can be forgotten.

| mechanism | epsilon0 | pure epsilon | zCDP rho | GDP mu^2 / 2 |
|---|---|---|---|---|
| exponential, Pr proportional to exp(score / scale) | 2 sensitivity / scale | epsilon0 | r(epsilon0) | g(epsilon0) |
| permute-and-flip | the same | epsilon0 | refused | refused |
| s draws from rounded weights | the same + slack | s epsilon0 | s r(epsilon0) | s g(epsilon0) |

r is `bounded_range_rho`, the least that holds, with the bound ``"exact"``; else epsilon0^2 / 8, which is a little more.
g is the cost of an ``epsilon0 / 2``-DP mechanism, about ``epsilon0^2 / 5.1``.
(theory.md sections 0 and 12; ``charging.py`` and ``gaussian.py`` say how charges are rounded.)

**One choice among very many candidates** is such a draw, s = 1: OpenDP looks at one candidate after the other, and a
round would take longer to choose than to do everything else. The slack (``draws.SLACK``, 2^-38) is what the rounding
of weights may add; it is part of epsilon0, so what is charged covers what is drawn. Which way a choice is made
depends on the number of eligible candidates alone, which is public.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, Self

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ABOVE, BELOW, Regime, check_amount, check_scale, square_range_rho
from hedgerow.privacy.randomness import SLACK

Law = Literal["exponential", "permute-and-flip"]
Exact = Literal["exact"]

EXPONENTIAL = "exponential mechanism"
PERMUTE_AND_FLIP = "permute-and-flip"
ONE_DRAW = "exponential mechanism, one draw"
DRAWS = "exponential mechanism, independent draws"
"""Names of the mechanisms, as the ledger has them."""
EXACT: Exact = "exact"
"""Name of the least bound on the rho of a bounded range; by none it is charged epsilon^2 / 8."""

MANY = 1 << 14
"""Among more candidates than this an exponential mechanism is drawn by integer arithmetic on all weights at once."""


@dataclass(frozen=True)
class Selection(ABC):
    """A private choice of a candidate with a high score.

    Attributes:
        scale: Units of score over which probabilities change by a factor of e; what the sampler receives.
        sensitivity: Largest change of a score by one record.
    """

    scale: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_scale(self.scale, self.sensitivity, 1.0)

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the mechanism, for the ledger."""

    @property
    def epsilon(self) -> float:
        """Pure epsilon of one choice: ``2 sensitivity / scale``, rounded up."""
        return 2.0 * self.sensitivity / self.scale * ABOVE

    @abstractmethod
    def charge(self, regime: Regime) -> float:
        """Cost of one choice in the unit of the regime, rounded up."""


@dataclass(frozen=True)
class ExponentialMechanism(Selection):
    """Choice with probability proportional to ``exp(score / scale)`` (McSherry and Talwar 2007).

    With ``epsilon = 2 sensitivity / scale`` that is ``exp(epsilon * score / (2 sensitivity))``. The data-dependent
    log-weights move within an interval of length epsilon ("bounded range"), hence a rho of at most epsilon^2 / 8, and
    in GDP the cost of an epsilon / 2 that is pure.

    Attributes:
        bound: Bound on its rho: ``"exact"``, or None for epsilon^2 / 8. In other budgets it makes no difference.

    Example:
        >>> mechanism = ExponentialMechanism.for_charge(Regime.ZCDP, 0.5)
        >>> round(mechanism.epsilon, 6), mechanism.bound, mechanism.charge(Regime.ZCDP) <= 0.5
        (2.055967, 'exact', True)
    """

    name = EXPONENTIAL
    bound: Exact | None = None

    def charge(self, regime: Regime) -> float:
        """The cost of any mechanism of this bounded range."""
        return _of_range(self.epsilon, regime, self.bound)

    @classmethod
    def for_charge(cls, regime: Regime, amount: float, sensitivity: float = 1.0) -> Self:
        """The most accurate one that costs at most the amount.

        Args:
            regime: Unit of the amount.
            amount: The charge.
            sensitivity: Sensitivity of the scores.

        Raises:
            ConfigError: The amount is not positive, or so small that the choice would be pure noise.
        """
        return cls(2.0 * sensitivity / _epsilon_of(regime, amount), sensitivity, _bound_in(regime))


@dataclass(frozen=True)
class PermuteAndFlip(Selection):
    """Permute-and-flip (McKenna and Sheldon 2020): never worse than the exponential mechanism at equal pure epsilon.

    Its law is not the exponential mechanism's and has no bounded range: pure budgets only.

    Example:
        >>> round(PermuteAndFlip.for_charge(Regime.PURE, 0.5).scale, 9)
        4.0
    """

    name = PERMUTE_AND_FLIP

    def charge(self, regime: Regime) -> float:
        """Epsilon.

        Raises:
            ConfigError: The regime is not pure.
        """
        _only_pure(regime)
        return self.epsilon

    @classmethod
    def for_charge(cls, regime: Regime, amount: float, sensitivity: float = 1.0) -> Self:
        """The most accurate one that costs at most the amount.

        Raises:
            ConfigError: The regime is not pure, or the amount is not positive.
        """
        _only_pure(regime)
        return cls(2.0 * sensitivity / (check_amount(amount) * BELOW), sensitivity)


@dataclass(frozen=True)
class IndependentDraws(Selection):
    """One or more independent draws of the exponential mechanism from the same scores, by `draws.softmax_draws`.

    What the rounding of weights may add (``draws.SLACK``) is part of epsilon, and of the range within which
    log-weights move.

    Attributes:
        scale: Units of score over which probabilities change by a factor of e; what the sampler receives.
        sensitivity: Largest change of a score by one record.
        draws: Number of draws.
        bound: Bound on the rho of each: ``"exact"``, or None for epsilon^2 / 8.

    Example:
        >>> mechanism = IndependentDraws(scale=100.0, sensitivity=1.0, draws=50)
        >>> round(mechanism.charge(Regime.PURE), 6), round(mechanism.charge(Regime.ZCDP), 6)
        (1.0, 0.0025)
    """

    draws: int = 1
    bound: Exact | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        if isinstance(self.draws, bool) or not isinstance(self.draws, int) or self.draws < 1:
            raise ConfigError(f"at least one draw is needed, not {self.draws!r}")

    @property
    def name(self) -> str:
        """Name of the mechanism, for the ledger."""
        return DRAWS if self.draws > 1 else ONE_DRAW

    @property
    def epsilon(self) -> float:
        """Pure epsilon of one draw: ``2 sensitivity / scale`` and the slack, rounded up."""
        return (2.0 * self.sensitivity / self.scale + SLACK) * ABOVE

    def charge(self, regime: Regime) -> float:
        """Cost of all draws together in the unit of the regime, rounded up."""
        return self.draws * _of_range(self.epsilon, regime, self.bound) * ABOVE

    @classmethod
    def for_charge(cls, regime: Regime, amount: float, sensitivity: float = 1.0) -> Self:
        """The most accurate single draw that costs at most the amount.

        The slack is taken off epsilon before the scale is computed. That subtraction is rounded by less than 2^-53 of
        epsilon, and the quotient by as little of a number below epsilon: with the two roundings upwards in `charge`
        they stay within the 2^-45 that ``charging.BELOW`` leaves.

        Args:
            regime: Unit of the amount.
            amount: The charge.
            sensitivity: Sensitivity of the scores.

        Raises:
            ConfigError: The amount is not positive, or so small that the choice would be pure noise.

        Example:
            >>> mechanism = IndependentDraws.for_charge(Regime.ZCDP, 0.5)
            >>> round(mechanism.scale, 6), mechanism.draws, mechanism.charge(Regime.ZCDP) <= 0.5
            (0.972778, 1, True)
        """
        epsilon = _epsilon_of(regime, amount) - SLACK
        if not epsilon > 0.0:
            raise ConfigError(
                f"a charge of {amount:.3g} would buy no more than the rounding of weights",
                remedy="spend more on each step: fewer rounds, or a larger budget",
            )
        return cls(2.0 * sensitivity / epsilon, sensitivity, bound=_bound_in(regime))


def selection_by(law: Law, regime: Regime, amount: float, sensitivity: float, candidates: int = 1) -> Selection:
    """The most accurate selection by a law that costs at most the amount.

    Args:
        law: Name of the law.
        regime: Unit of the amount.
        amount: The charge.
        sensitivity: Sensitivity of the scores.
        candidates: Number of eligible candidates; among more than `MANY` the exponential mechanism is one draw by
            integer arithmetic. It is public, as it must be.

    Raises:
        ConfigError: There is no such law, it does not fit the regime, or the amount is not positive.

    Example:
        >>> selection_by("permute-and-flip", Regime.PURE, 0.5, 1.0).name
        'permute-and-flip'
        >>> selection_by("exponential", Regime.PURE, 0.5, 1.0, candidates=500_500).name
        'exponential mechanism, one draw'
    """
    if law == "exponential" and candidates > MANY:
        return IndependentDraws.for_charge(regime, amount, sensitivity)
    if law == "exponential":
        return ExponentialMechanism.for_charge(regime, amount, sensitivity)
    if law == "permute-and-flip":
        return PermuteAndFlip.for_charge(regime, amount, sensitivity)
    raise ConfigError(f"there is no law of selection {law!r}", remedy="give 'exponential' or 'permute-and-flip'")


def _bound_in(regime: Regime) -> Exact | None:
    return EXACT if regime is Regime.ZCDP else None


def _of_range(epsilon: float, regime: Regime, bound: Exact | None) -> float:
    """The cost of a bounded range by a bound, rounded up."""
    if bound not in (EXACT, None):
        raise ConfigError(f"there is no bound {bound!r} on a bounded range", remedy="give 'exact' or None")
    if bound is None and regime is Regime.ZCDP:
        return square_range_rho(epsilon) * ABOVE
    return regime.of_bounded_range(epsilon)


def _epsilon_of(regime: Regime, amount: float) -> float:
    """The epsilon of an exponential mechanism that costs a little less than the amount."""
    return regime.bounded_range_epsilon(check_amount(amount) * BELOW)


def _only_pure(regime: Regime) -> None:
    if regime is not Regime.PURE:
        raise ConfigError(
            "permute-and-flip is for pure budgets only; in others it costs nearly four times the exponential mechanism",
            remedy="select by the exponential mechanism",
        )
