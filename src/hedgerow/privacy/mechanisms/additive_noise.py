"""Additive noise: sensitivity, noise scale and charge in one frozen object each, so that none can be forgotten.

| mechanism | pure epsilon | zCDP rho | GDP mu^2 / 2 |
|---|---|---|---|
| discrete Laplace, epsilon0 = l1 / scale | epsilon0 | epsilon0 tanh(epsilon0 / 2) | as any epsilon0-DP mechanism |
| the same, of which each value moves by m at most | epsilon0 | epsilon0 tanh(m / (2 scale)) | as any |
| discrete Gaussian | refused | l2^2 / (2 sigma^2) | the same and a little for the lattice |

(theory.md sections 0 and 12; ``charging.py`` and ``gaussian.py`` say how charges are rounded.)

**Lattice.** Noise is drawn on whole numbers of ``step`` counts: 1 for whole-valued answers, ``2^-20`` for explicit
queries (whose values are whole multiples of it), a power of two in any case, so that changing units is exact. The
answer that noise is added to, and the noise, are then integers, and no rounding of a float ever shows which answer it
came from; this serves all answers, and no floating-point Laplace sampler is needed.
"""

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal, Self, get_args

import numpy as np
from scipy.special import ndtri

from hedgerow.arrays import Floats
from hedgerow.errors import ConfigError
from hedgerow.privacy.budgets import ABOVE, BELOW, Regime, check_amount, check_scale
from hedgerow.queries import NoiseKind

HALVES: Literal["halves"] = "halves"
"""Name of the bound on the rho of Laplace noise on values of which two move, by half of the sensitivity each."""
PARITIES: Literal["parities"] = "parities"
"""That on values of which many move, each by 2 at most (theory.md section 13)."""
Apart = Literal["halves", "parities"]
"""Bounds on the rho of Laplace noise on values that each move by less than all of them together."""


class AdditiveNoise(ABC):
    """Independent integer noise, times ``step``, on every value of an answer.

    Attributes:
        scale: In counts: b of Laplace noise, sigma of Gaussian noise. ``scale / step`` is what the sampler receives.
        step: Counts per lattice unit, a power of two.
    """

    scale: float
    step: float

    kind: ClassVar[NoiseKind]
    """Shape of the noise."""

    @property
    def name(self) -> str:
        """Name of the mechanism, for the ledger."""
        return sys.intern(f"discrete {self.kind.value.capitalize()}")  # of very many events one text

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """The L1 (Laplace) or L2 (Gaussian) sensitivity of the answer, in counts."""

    @property
    def units(self) -> float:
        """The scale in lattice units, exact: what the sampler receives."""
        return self.scale / self.step

    @abstractmethod
    def charge(self, regime: Regime) -> float:
        """Cost of one measurement in the unit of the regime, rounded up."""

    @property
    @abstractmethod
    def expected_abs(self) -> float:
        """Expected absolute noise of one value, in counts."""

    @property
    @abstractmethod
    def std(self) -> float:
        """Standard deviation of the noise of one value, in counts."""

    @abstractmethod
    def quantile(self, confidence: float, values: int = 1) -> float:
        """A bound on the absolute noise, in counts, two-sided.

        Args:
            confidence: Probability, between 0 and 1, with which it holds at least ...
            values: ... for so many independent values at the same time.
        """


@dataclass(frozen=True)
class LaplaceNoise(AdditiveNoise):
    """Discrete Laplace noise: Pr(k steps) proportional to ``exp(-|k| step / scale)``.

    Attributes:
        scale: b, in counts.
        l1: L1 sensitivity, in counts.
        step: Counts per lattice unit.
        bound: Bound on its rho: ``"halves"`` where one record moves two values at most, each by half of ``l1``, so
            that it is that of two mechanisms of half the epsilon (theory.md section 0); ``"parities"`` where it moves
            each by 2 at most; None for that of any mechanism of its epsilon. In other budgets it makes no difference.

    Example:
        >>> noise = LaplaceNoise.for_charge(Regime.PURE, 0.5, l1=1.0)
        >>> round(noise.scale, 9), round(noise.expected_abs, 4), noise.quantile(0.95)
        (2.0, 1.919, 6.0)
        >>> [round(LaplaceNoise(1.0, 2.0, bound=bound).charge(Regime.ZCDP), 3) for bound in (None, "halves")]
        [1.523, 0.924]
    """

    kind = NoiseKind.LAPLACE
    scale: float
    l1: float = 1.0
    step: float = 1.0
    bound: Apart | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_scale(self.scale, self.l1, self.step)
        if self.bound not in (*get_args(Apart), None):
            remedy = f"give {HALVES!r}, {PARITIES!r} or None"
            raise ConfigError(f"there is no bound {self.bound!r} on Laplace noise", remedy=remedy)

    @property
    def sensitivity(self) -> float:
        """L1, in counts."""
        return self.l1

    @property
    def epsilon(self) -> float:
        """Pure epsilon of one measurement: ``l1 / scale``, rounded up."""
        return self.l1 / self.scale * ABOVE

    @property
    def moved(self) -> float:
        """Number of values that move as far as one of them may, if that makes up all of ``l1``."""
        return self.l1 / _most(self.l1, self.bound)

    def charge(self, regime: Regime) -> float:
        """The cost of any mechanism of this epsilon; in zCDP of as many smaller ones as values move, by the bound."""
        if regime is Regime.ZCDP and self.bound is not None:
            return self.moved * regime.of_pure(self.epsilon / self.moved)
        return regime.of_pure(self.epsilon)

    @classmethod
    def for_charge(
        cls, regime: Regime, amount: float, l1: float = 1.0, step: float = 1.0, bound: Apart | None = None
    ) -> Self:
        """The least noise that costs at most the amount.

        Args:
            regime: Unit of the amount.
            amount: The charge.
            l1: L1 sensitivity, in counts.
            step: Counts per lattice unit.
            bound: See the class; of zCDP alone.

        Raises:
            ConfigError: The amount is not positive, or so small that the noise cannot be drawn.
        """
        target = check_amount(amount) * BELOW
        kept = bound if regime is Regime.ZCDP else None
        most = _most(l1, kept)
        return cls(most / regime.pure_epsilon(target * most / l1), l1, step, kept)

    @property
    def expected_abs(self) -> float:
        """``step / sinh(step / scale)``."""
        rate = 1.0 / self.units
        return self.step / math.sinh(rate) if rate < 700.0 else 0.0

    @property
    def std(self) -> float:
        """``step / (sqrt(2) sinh(step / (2 scale)))``."""
        rate = 0.5 / self.units
        return self.step / (math.sqrt(2.0) * math.sinh(rate)) if rate < 700.0 else 0.0

    def quantile(self, confidence: float, values: int = 1) -> float:
        """From the exact tail ``Pr(|noise| > k steps) = 2 p^(k+1) / (1 + p)``, ``p = exp(-step / scale)``."""
        tail = _tail(confidence, values)
        rate = 1.0 / self.units
        beyond = (math.log(2.0) - math.log1p(math.exp(-rate)) - math.log(tail)) / rate
        return self.step * max(0, math.ceil(beyond * (1.0 - 1e-12)) - 1)


@dataclass(frozen=True)
class GaussianNoise(AdditiveNoise):
    """Discrete Gaussian noise: Pr(k steps) proportional to ``exp(-(k step)^2 / (2 sigma^2))``.

    See Canonne, Kamath and Steinke (2020): its rho is that of continuous Gaussian noise, for vectors too.

    Example:
        >>> noise = GaussianNoise.for_charge(Regime.ZCDP, 0.5, l2=1.0)
        >>> round(noise.sigma, 9), round(noise.std, 4), noise.quantile(0.95)
        (1.0, 1.0, 2.0)
    """

    kind = NoiseKind.GAUSSIAN
    sigma: float
    l2: float = 1.0
    step: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_scale(self.sigma, self.l2, self.step)

    @property
    def scale(self) -> float:  # type: ignore[override]
        """Sigma, in counts."""
        return self.sigma

    @property
    def sensitivity(self) -> float:
        """L2, in counts."""
        return self.l2

    def charge(self, regime: Regime) -> float:
        """``l2^2 / (2 sigma^2)``; under GDP with what the lattice adds.

        An event of the ledger says nothing of the lattice, so that of whole counts is taken, the coarsest one.

        Raises:
            ConfigError: The regime is pure.
        """
        return regime.of_gaussian(self.l2, self.sigma)

    @classmethod
    def for_charge(cls, regime: Regime, amount: float, l2: float = 1.0, step: float = 1.0) -> Self:
        """The least noise that costs at most the amount.

        Args:
            regime: zCDP or GDP.
            amount: The charge.
            l2: L2 sensitivity, in counts.
            step: Counts per lattice unit.

        Raises:
            ConfigError: The regime is pure, the amount is not positive, or so small that the noise cannot be drawn.
        """
        return cls(regime.gaussian_sigma(l2, check_amount(amount) * BELOW), l2, step)

    @property
    def expected_abs(self) -> float:
        """Exact for narrow noise, by Euler and Maclaurin to 1e-8 for wide noise."""
        return self.step * _gaussian_moments(self.units)[0]

    @property
    def std(self) -> float:
        """Slightly below sigma for very narrow noise."""
        return self.step * _gaussian_moments(self.units)[1]

    def quantile(self, confidence: float, values: int = 1) -> float:
        """Exact for narrow noise; for wide noise from ``Pr(X >= m) <= Pr(N(0, sigma^2) >= m - 1)``."""
        tail = _tail(confidence, values)
        if self.units >= _WIDE:
            return self.step * math.ceil(-self.units * float(ndtri(tail / 2.0)))
        return self.step * _gaussian_quantile(self.units, tail)


def _most(l1: float, bound: Apart | None) -> float:
    """How far one value may move: half of ``l1`` or 2, by the bound, and never more than ``l1``."""
    return {HALVES: l1 / 2.0, PARITIES: min(2.0, l1), None: l1}[bound]


def laplace_reach(scale: float, risk: float) -> float:
    """A t that discrete Laplace noise passes with probability ``risk`` at most, in steps of any size up to 1 count.

    ``Pr(|noise| > t) <= 2 exp(-t / b) / (1 + exp(-1 / b))``: more than the ``exp(-t / b)`` of continuous noise by a
    factor of up to 2, as noise beyond t lies on the next step of the lattice (theory.md section 0).

    Args:
        scale: b, in counts.
        risk: The probability.

    Example:
        >>> round(laplace_reach(2.0, 0.05), 3), LaplaceNoise(2.0).quantile(0.95)
        (6.43, 6.0)
    """
    return scale * (math.log(1.0 / risk) + math.log(2.0 / (1.0 + math.exp(-1.0 / scale))))


def laplace_scale(reach: float, risk: float) -> float:
    """The largest scale whose `laplace_reach` is at most so much, or a little less.

    Example:
        >>> scale = laplace_scale(6.0, 0.05)
        >>> round(scale, 3), laplace_reach(scale, 0.05) <= 6.0
        (1.858, True)
    """
    rate = math.log(2.0 / risk) / reach  # 1 / b; it falls to the solution, and every step before is enough
    for _ in range(60):
        rate = (math.log(1.0 / risk) + math.log(2.0 / (1.0 + math.exp(-rate)))) / reach
    return (1.0 - 1e-12) / rate


def additive_noise(
    regime: Regime,
    charge: float,
    *,
    l1: float,
    l2: float,
    step: float,
    kind: NoiseKind | None,
    bound: Apart | None = None,
) -> LaplaceNoise | GaussianNoise:
    """The least noise that a charge pays for.

    Args:
        regime: Unit of the charge.
        charge: The amount to be spent.
        l1: L1 sensitivity, in counts.
        l2: L2 sensitivity, in counts.
        step: Counts per lattice unit.
        kind: Laplace unless given in pure budgets, Gaussian in others.
        bound: See `LaplaceNoise`.

    Raises:
        ConfigError: The charge is not positive, or the kind does not fit the regime.

    Example:
        >>> additive_noise(Regime.ZCDP, 0.5, l1=2.0, l2=2.0**0.5, step=1.0, kind=None).kind
        <NoiseKind.GAUSSIAN: 'gaussian'>
    """
    default = NoiseKind.LAPLACE if regime is Regime.PURE else NoiseKind.GAUSSIAN
    if (kind or default) is NoiseKind.LAPLACE:
        return LaplaceNoise.for_charge(regime, charge, l1, step, bound)
    return GaussianNoise.for_charge(regime, charge, l2, step)


def _tail(confidence: float, values: int) -> float:
    """Probability left to one value so that all hold with the confidence."""
    if not 0.0 < confidence < 1.0 or values < 1:
        raise ConfigError(f"a confidence lies between 0 and 1, for at least one value; not {confidence}, {values}")
    return -math.expm1(math.log(confidence) / values)


_WIDE = 32.0
"""In lattice units: from here on the discrete Gaussian's moments follow closed forms to 1e-8."""


def _gaussian_law(sigma: float) -> tuple[Floats, Floats]:
    """Magnitudes 0, 1, ... and their probabilities (both signs together)."""
    magnitudes = np.arange(math.ceil(40.0 * sigma) + 2, dtype=np.float64)
    mass = np.exp(-0.5 * (magnitudes / sigma) ** 2)
    mass[1:] *= 2.0
    return magnitudes, mass / mass.sum()


@lru_cache(maxsize=256)
def _gaussian_quantile(sigma: float, tail: float) -> float:
    """The least magnitude that the discrete Gaussian passes with at most so much probability, in lattice units."""
    magnitudes, mass = _gaussian_law(sigma)
    beyond = np.cumsum(mass[::-1])[::-1] - mass  # Pr(|noise| > magnitude), summed from the small end
    return float(magnitudes[int(np.argmax(beyond <= tail))])


@lru_cache(maxsize=256)
def _gaussian_moments(sigma: float) -> tuple[float, float]:
    """E|X| and the standard deviation of the discrete Gaussian, in lattice units."""
    if sigma >= _WIDE:
        return (2.0 * sigma * sigma - 1.0 / 6.0) / (sigma * math.sqrt(2.0 * math.pi)), sigma
    magnitudes, mass = _gaussian_law(sigma)
    return float(magnitudes @ mass), math.sqrt(float(magnitudes**2 @ mass))
