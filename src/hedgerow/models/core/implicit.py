"""Implicit (proximal) steps of multiplicative weights: stable for every length of the step.

An explicit step multiplies by ``exp(dt (y - mu))`` with the answers mu from before the step; the implicit one takes
the answers p from after it. It is the p that minimises ``KL(p || mu) / dt + |y - p|**2 / 2``, and needs no bound on dt
and no feasible target y: noisy targets that are negative or do not sum to 1 are fine. All values here are fractions.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import wrightomega

from hedgerow.arrays import Floats

FLOOR = 1e-30
"""Smallest probability that a step leaves to a cell, so that a later one can raise it again."""
_TINY = 1e-195
_ITERATIONS = 100


def marginal_step(mu: Floats, target: Floats, dt: float) -> Floats:
    """Log-factors of the implicit step of a whole marginal.

    The new marginal is ``p = omega(dt (y - nu) + ln(mu dt)) / dt``, where omega is the Wright omega function and the
    number nu makes p sum to 1.

    Args:
        mu: Current marginal, sums to 1, shape ``(cells,)``.
        target: y, any finite values, shape ``(cells,)``.
        dt: Length of the step, positive.

    Returns:
        ``ln(p / mu)``, shape ``(cells,)``.

    Example:
        >>> mu, y = np.array([0.5, 0.5]), np.array([1.0, 0.0])
        >>> p = mu * np.exp(marginal_step(mu, y, dt=1e9))
        >>> p.round(6)
        array([1., 0.])
    """
    log_mu = np.log(np.maximum(mu, _TINY))
    # At this nu one cell alone has p = 1. The sum is convex and falls with nu: Newton's method comes from the left.
    nu = float(np.max(target + log_mu / dt)) - 1.0
    start = log_mu + math.log(dt)
    for _ in range(_ITERATIONS):
        omega = wrightomega(dt * (target - nu) + start)
        excess = float(omega.sum()) / dt - 1.0
        following = nu + excess / float((omega / (1.0 + omega)).sum())
        if excess <= 1e-14 or following <= nu:
            break
        nu = following
    p = np.maximum(omega / float(omega.sum()), FLOOR)
    return np.asarray(np.log(p) - log_mu)


def query_step(values: Floats, masses: Floats, target: float, dt: float) -> float:
    """The step s of the implicit update ``exp(s q)``, with ``s = dt (y - q(p))`` for the p after the update.

    Args:
        values: Values of the query, shape ``(k,)``.
        masses: Probability of each value, sums to 1, shape ``(k,)``.
        target: y.
        dt: Length of the step, positive.

    Example:
        >>> step = query_step(np.array([0.0, 1.0]), np.array([0.5, 0.5]), target=0.9, dt=2.0)
        >>> after = 1.0 / (1.0 + np.exp(-step))
        >>> bool(abs(step - 2.0 * (0.9 - after)) < 1e-9)
        True
    """
    logs = np.log(np.maximum(masses, _TINY))
    low, high = dt * (target - float(values.max())), dt * (target - float(values.min()))
    step = min(max(0.0, low), high)
    for _ in range(2 * _ITERATIONS):
        exponent = step * values + logs
        p = np.exp(exponent - exponent.max())
        p /= p.sum()
        answer = float(p @ values)
        gap = step - dt * (target - answer)
        low, high = (low, step) if gap > 0 else (step, high)
        newton = step - gap / (1.0 + dt * float(p @ (values - answer) ** 2))
        following = newton if low < newton < high else 0.5 * (low + high)
        if abs(following - step) <= 1e-13 * (1.0 + abs(step)):
            return _bounded(following, values)
        step = following
    return _bounded(step, values)


def _bounded(step: float, values: Floats) -> float:
    """Keep the factor by which one step moves two cells apart within ``FLOOR**-2``."""
    width = float(values.max() - values.min())
    limit = -2.0 * math.log(FLOOR) / width if width > 0 else 0.0
    return min(max(step, -limit), limit)
