"""How far a weighted sum of independent noises strays from 0, at a stated risk.

The noise of a measurement is discrete Laplace or Gaussian on a lattice. Its sums are bounded through the
continuous law of the same scale, whose moment generating function dominates the discrete one (for Laplace:
``(cosh(1/b) - 1) / (cosh(1/b) - cosh(s)) <= 1 / (1 - b^2 s^2)``; for Gaussian: Canonne, Kamath, Steinke 2020,
"The Discrete Gaussian for Differential Privacy", Corollary 17), and half a lattice step is added for
the jumps of the discrete tail. The tests compare with the exact discrete law.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from hedgerow.arrays import Floats
from hedgerow.queries import NoiseKind


def sum_bound(kind: NoiseKind, scale: float, weights: Floats, *, copies: int, risk: float, step: float = 1.0) -> float:
    """A bound t with ``P(|sum_i weights_i z_i| > t) <= risk`` for independent noises z_i of one scale.

    Equal weights: the quantile of the exact law of the continuous sum. Unequal weights: the exact law for
    Gaussian noise, the Chernoff bound for Laplace noise.

    Args:
        kind: Shape of the noise.
        scale: In counts: b of Laplace noise, sigma of Gaussian noise.
        weights: What the noises are multiplied with, any shape; zeros do not matter.
        copies: How often each weight occurs.
        risk: Probability that the bound may fail, ``0 < risk < 1``.
        step: Lattice of the noise, in counts.

    Example:
        >>> round(sum_bound(NoiseKind.GAUSSIAN, 10.0, np.ones(4), copies=1, risk=0.05), 1)
        39.7
    """
    sizes = np.abs(weights[weights != 0.0])
    if not sizes.size or scale == 0.0:
        return 0.0
    slack = 0.5 * step * float(sizes.max())
    if kind is NoiseKind.GAUSSIAN:
        norm = math.sqrt(copies * float(sizes @ sizes))
        return -float(special.ndtri(risk / 2.0)) * scale * norm + slack
    if sizes.min() == sizes.max():
        return float(sizes[0]) * scale * laplace_sum_quantile(sizes.size * copies, risk) + slack
    return scale * _chernoff(sizes, copies, risk) + slack


def laplace_sum_quantile(count: int, risk: float) -> float:
    """The t with ``P(|S| > t) = risk`` for a sum S of independent continuous Laplace variables of scale 1.

    Example:
        >>> abs(laplace_sum_quantile(1, 0.05) - math.log(20)) < 1e-9
        True
    """
    from scipy.optimize import brentq  # scipy.optimize is slow to import

    high = 2.0 * math.sqrt(2.0 * count * math.log(2.0 / risk)) + 4.0 * math.log(2.0 / risk)
    return float(brentq(lambda t: laplace_sum_tail(count, t) - risk, 0.0, high, xtol=1e-9))


def laplace_sum_tail(count: int, threshold: float) -> float:
    """``P(|S| > threshold)`` for a sum S of ``count`` independent continuous Laplace variables of scale 1.

    S is the difference of two waiting times for the ``count``-th event of two unit Poisson processes. When one
    of them ends, j events of the other have happened, j being negative binomial, and the rest of the waiting
    time is Gamma(count - j), because the process has no memory.

    Example:
        >>> round(laplace_sum_tail(1, math.log(20)), 6)
        0.05
    """
    if count > _NORMAL_BEYOND:  # Edgeworth: the excess kurtosis 3 / count moves the tail by less than 1e-4 of itself
        return float(2.0 * special.ndtr(-threshold / math.sqrt(2.0 * count)))
    done = np.arange(count)
    log_odds = special.gammaln(count + done) - special.gammaln(done + 1.0) - special.gammaln(count)
    odds = np.exp(log_odds - (count + done) * math.log(2.0))
    return float(2.0 * np.sum(odds * special.gammaincc(count - done, threshold)))


_NORMAL_BEYOND = 100_000


def _chernoff(sizes: Floats, copies: int, risk: float) -> float:
    def bound(rate: float) -> float:
        return float(-copies * np.log1p(-np.square(rate * sizes)).sum() + math.log(2.0 / risk)) / rate

    from scipy.optimize import minimize_scalar

    pole = 1.0 / float(sizes.max())
    return float(minimize_scalar(bound, bounds=(1e-6 * pole, pole * (1.0 - 1e-9)), method="bounded").fun)
