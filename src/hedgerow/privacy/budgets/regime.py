"""Regimes: the currency of charges, and what the generic kinds of mechanism cost in each."""

import math
from enum import StrEnum

from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets.charging import (
    ABOVE,
    bounded_range_rho,
    epsilon_of_bounded_range,
    epsilon_of_pure_rho,
    pure_rho,
)
from hedgerow.privacy.budgets.gaussian import (
    bounded_range_gdp,
    discrete_gdp,
    epsilon_of_bounded_range_gdp,
    epsilon_of_pure_gdp,
    pure_gdp,
    sigma_of_discrete_gdp,
)


class Regime(StrEnum):
    """Currency of the charges: how they are measured, and add up."""

    PURE = "pure"
    ZCDP = "zcdp"
    GDP = "gdp"

    @property
    def unit(self) -> str:
        """Unit of a charge: ``"epsilon"``, ``"rho"`` or ``"mu^2/2"``.

        Example:
            >>> [regime.unit for regime in Regime]
            ['epsilon', 'rho', 'mu^2/2']
        """
        return _UNITS[self]

    @classmethod
    def of_unit(cls, unit: str) -> "Regime":
        """The regime that counts in a unit.

        Raises:
            KeyError: None does.

        Example:
            >>> Regime.of_unit("rho")
            <Regime.ZCDP: 'zcdp'>
        """
        return {regime.unit: regime for regime in cls}[unit]

    def of_pure(self, epsilon: float) -> float:
        """Cost of any epsilon-DP mechanism, rounded up.

        Example:
            >>> [round(regime.of_pure(1.0), 6) for regime in Regime]
            [1.0, 0.462117, 0.758956]
        """
        match self:
            case Regime.PURE:
                return epsilon
            case Regime.ZCDP:
                return pure_rho(epsilon) * ABOVE
            case Regime.GDP:
                return pure_gdp(epsilon)

    def pure_epsilon(self, amount: float) -> float:
        """The largest epsilon for which `of_pure` is the amount, but for rounding.

        Example:
            >>> [round(regime.pure_epsilon(0.5), 6) for regime in Regime]
            [0.5, 1.043627, 0.806965]
        """
        match self:
            case Regime.PURE:
                return amount
            case Regime.ZCDP:
                return epsilon_of_pure_rho(amount)
            case Regime.GDP:
                return epsilon_of_pure_gdp(amount)

    def of_bounded_range(self, epsilon: float) -> float:
        """Cost of a mechanism whose log-probabilities move within an interval of length epsilon, rounded up.

        Example:
            >>> [round(regime.of_bounded_range(1.0), 6) for regime in Regime]
            [1.0, 0.123302, 0.194621]
        """
        match self:
            case Regime.PURE:
                return epsilon
            case Regime.ZCDP:
                return bounded_range_rho(epsilon) * ABOVE * ABOVE
            case Regime.GDP:
                return bounded_range_gdp(epsilon)

    def bounded_range_epsilon(self, amount: float) -> float:
        """The largest epsilon for which `of_bounded_range` is the amount, but for rounding.

        Example:
            >>> [round(regime.bounded_range_epsilon(0.5), 6) for regime in Regime]
            [0.5, 2.055967, 1.613931]
        """
        match self:
            case Regime.PURE:
                return amount
            case Regime.ZCDP:
                return epsilon_of_bounded_range(amount)
            case Regime.GDP:
                return epsilon_of_bounded_range_gdp(amount)

    def of_gaussian(self, l2: float, sigma: float) -> float:
        """Cost of discrete Gaussian noise on whole numbers, rounded up.

        Args:
            l2: L2 sensitivity.
            sigma: Parameter of the noise.

        Raises:
            ConfigError: The regime is pure.

        Example:
            >>> [round(regime.of_gaussian(1.0, 4.0), 6) for regime in (Regime.ZCDP, Regime.GDP)]
            [0.03125, 0.031414]
        """
        self._check_gaussian()
        if self is Regime.GDP:
            return discrete_gdp(l2, sigma)
        ratio = l2 / sigma
        return ratio * ratio / 2.0 * ABOVE

    def gaussian_sigma(self, l2: float, amount: float) -> float:
        """The least sigma for which `of_gaussian` is the amount, but for rounding.

        Raises:
            ConfigError: The regime is pure.

        Example:
            >>> [round(regime.gaussian_sigma(1.0, 0.03125), 6) for regime in (Regime.ZCDP, Regime.GDP)]
            [4.0, 4.010458]
        """
        self._check_gaussian()
        return sigma_of_discrete_gdp(l2, amount) if self is Regime.GDP else l2 / math.sqrt(2.0 * amount)

    def _check_gaussian(self) -> None:
        if self is Regime.PURE:
            raise ConfigError(
                "Gaussian noise has no pure epsilon",
                remedy="measure with Laplace noise, or give a ZCDP, GDP or ApproxDP budget",
            )


_UNITS = {Regime.PURE: "epsilon", Regime.ZCDP: "rho", Regime.GDP: "mu^2/2"}
