"""The division of a budget among measurements that lowers the error of what is asked most.

Let V_T be the variance of question T, a function of the precisions x_S of the measurements, and the aim the sum of
``(u_T V_T)^p``. A measurement that gets the share y of the budget has precision ``kappa y^q``: q = 1 for Gaussian
noise, q = 2 for Laplace noise in pure budgets. The variance of the best estimate is the least that any fixed linear
estimate has, ``min over z of sum of |z_S|^2 / x_S``. So, holding the z of the present division, and with
``D_S = - x_S dF / dx_S`` the part of the aim F that measurement S bears (for p > 1 also by Jensen's inequality),

    F(y') <= constant + sum over S of D_S / r (y_S / y'_S)^(q r),    r = max(p, 1),

with equality at y' = y. The right side is least at ``y'_S ~ (y_S^(q r) D_S)^(1 / (q r + 1))``: a step that never makes
the aim worse, and ends where D is proportional to y. For parities and residuals and p = 1 the first step is the exact
optimum (the closed form of ResidualPlanner); for plain marginals it is the multiplicative algorithm of optimal design
(Y. Yu, "Monotonic convergence of a general algorithm for computing optimal designs", Annals of Statistics 2010). For
q = 1 the aim is convex, and the largest ratio of D and y to those of their sums, less 1, bounds what is left to win.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Protocol

import numpy as np

from hedgerow.arrays import Floats

_STEPS = 400
"""Most steps."""
_CLOSE = 2e-3
"""Relative gap at which they stop."""
_EXACT = 1e-12
"""Variance of what is known, as a fraction of the largest."""
_LEAST = 1e-9
"""Least share of the mean share that a measurement keeps."""


class Variances(Protocol):
    """Variances of what is asked, as a function of the precision of what is measured."""

    def variances(self, inverse_variances: Floats) -> Floats:
        """Variance of one value of each question.

        Args:
            inverse_variances: 1 over the variance of one value of each measurement.
        """


class Estimate(Variances, Protocol):
    """Variances with derivatives."""

    def variances_and_slopes(self, inverse_variances: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """The variances, and a function from weights of these to their derivatives by the precisions, with sign -1."""


def divided(
    estimate: Estimate,
    precisions: Floats,
    weights: Floats,
    *,
    power: float,
    growth: float,
    starts: Sequence[Floats] = (),
) -> Floats:
    """Shares of a budget for the measurements.

    Args:
        estimate: Variances of what is asked.
        precisions: Precision of each measurement, if it got the whole budget.
        weights: u_T, shape ``(questions,)``.
        power: p: 1 for the sum of variances, 1/2 for that of standard deviations, more for the largest.
        growth: q: 2 for Laplace noise in pure budgets, else 1.
        starts: Shares to start from beside equal ones, for q = 2 alone, where there are several optima: it pays to
            leave measurements out.

    Returns:
        Shares that sum to 1, shape ``(measurements,)``.

    Example:
        >>> from hedgerow.algorithms.strategies.components import Components, single
        >>> alone = single(2, np.arange(2))
        >>> estimate = Components(alone, alone)
        >>> divided(estimate, np.ones(2), np.array([1.0, 4.0]), power=1.0, growth=1.0).round(6)
        array([0.333333, 0.666667])
    """
    equal = np.ones(len(precisions))
    descended = partial(_descended, estimate, precisions, weights, power=power, growth=growth)
    shares = [descended(start) for start in (equal, *(starts if growth > 1.0 else ()))]
    return min(shares, key=itemgetter(0))[1]


def _descended(
    estimate: Estimate, precisions: Floats, weights: Floats, start: Floats, *, power: float, growth: float
) -> tuple[float, Floats]:
    """The aim and the shares where the steps end."""
    damped = growth * max(power, 1.0)
    shares = start / start.sum()
    for _ in range(_STEPS):
        given = precisions * shares**growth
        variances, slopes = estimate.variances_and_slopes(given)
        scaled = weights * variances
        if not scaled.any():  # all is known without measuring
            return 0.0, shares
        scaled = np.maximum(scaled / scaled.max(), _EXACT)
        borne = given * slopes(weights * scaled ** (power - 1.0))
        borne /= borne.sum()
        if (borne <= (1.0 + _CLOSE) * shares).all():
            break
        shares = (shares**damped * borne) ** (1.0 / (damped + 1.0))
        shares = np.maximum(shares / shares.sum(), _LEAST / len(shares))
        shares /= shares.sum()
    scaled = weights * estimate.variances(precisions * shares**growth)
    largest = float(scaled.max())
    return largest * float(((scaled / largest) ** power).sum()) ** (1.0 / power), shares
