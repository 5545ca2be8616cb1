"""The laws of all mechanisms, written out independently of the code under test."""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from hedgerow.arrays import Floats


def laplace_log_pmf(noise: ArrayLike, scale: float) -> Floats:
    """ln Pr(k) of discrete Laplace noise: tanh(1 / (2 scale)) exp(-|k| / scale)."""
    return math.log(math.tanh(0.5 / scale)) - np.abs(np.asarray(noise, dtype=np.float64)) / scale


def gaussian_log_pmf(noise: ArrayLike, sigma: float) -> Floats:
    """ln Pr(k) of discrete Gaussian noise, normalised by its sum (by its integral where they agree to 1e-16)."""
    if sigma > 50:
        log_sum = math.log(sigma) + 0.5 * math.log(2 * math.pi)
    else:
        support = np.arange(-math.ceil(40 * sigma) - 2, math.ceil(40 * sigma) + 3)
        log_sum = float(logsumexp(-0.5 * (support / sigma) ** 2))
    return -0.5 * (np.asarray(noise, dtype=np.float64) / sigma) ** 2 - log_sum


def exponential_log_law(scores: ArrayLike, scale: float) -> Floats:
    """ln Pr(index) of the exponential mechanism: Pr proportional to exp(score / scale)."""
    weights = np.asarray(scores, dtype=np.float64) / scale
    return np.asarray(weights - logsumexp(weights))


def permute_and_flip_log_law(scores: ArrayLike, scale: float) -> Floats:
    """ln Pr(index) of permute-and-flip.

    With independent uniform arrival times, index i is chosen at time t if its coin q_i shows heads and everybody who
    came before showed tails: Pr(i) = q_i times the integral over t in [0, 1] of prod_{j != i} (1 - t q_j), a
    polynomial that Gauss-Legendre quadrature integrates exactly.
    """
    given = np.asarray(scores, dtype=np.float64)
    coins = np.exp((given - given.max()) / scale)
    nodes, weights = leggauss(len(coins) // 2 + 1)
    tails = 1.0 - np.multiply.outer(0.5 * (nodes + 1.0), coins)
    others = np.array([np.delete(tails, i, axis=1).prod(axis=1) for i in range(len(coins))])
    return np.log(coins * (others @ (0.5 * weights)))
