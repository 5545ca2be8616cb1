"""How far apart two laws are, from their probabilities alone: a slow, obvious reference for what is charged."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator

import mpmath
import numpy as np
from scipy.stats import norm

from hedgerow.arrays import Floats

EPSILONS = np.concatenate([np.linspace(0.0, 4.0, 161), np.linspace(4.25, 12.0, 32)])


def hockey_stick(one: Floats, other: Floats, epsilons: Floats = EPSILONS) -> Floats:
    """The least delta for each epsilon: the sum of what one law has beyond e^epsilon times the other."""
    return np.array([np.maximum(0.0, one - math.exp(each) * other).sum() for each in epsilons])


def of_normals(mu: float, epsilons: Floats = EPSILONS) -> Floats:
    """The same of N(0, 1) and N(mu, 1)."""
    return np.asarray(norm.sf(epsilons / mu - mu / 2) - np.exp(epsilons) * norm.sf(epsilons / mu + mu / 2))


def within(one: Floats, other: Floats, mu: float) -> bool:
    """Whether two laws are no further apart than two normal ones, at every epsilon that is looked at."""
    curve = of_normals(mu) + 1e-13
    return bool((hockey_stick(one, other) <= curve).all() and (hockey_stick(other, one) <= curve).all())


def discrete_gaussian(sigma: float, shift: int, reach: int) -> Floats:
    """Probabilities of -reach ... reach under discrete Gaussian noise around a whole number."""
    logs = -0.5 * ((np.arange(-reach, reach + 1) - shift) / sigma) ** 2
    mass = np.exp(logs)
    return np.asarray(mass / mass.sum())


def product(laws: Iterable[Floats]) -> Floats:
    """The law of independent values."""
    joint = np.ones(1)
    for law in laws:
        joint = np.outer(joint, law).ravel()
    return joint


def steps(sigma: float, most: int) -> Iterator[float]:
    """The steps t(k + 1) - t(k) from the middle outwards, Q(t(k)) being the probability of k and more, to 30 digits."""
    with mpmath.workdps(40):
        s = mpmath.mpf(sigma)
        weights = [mpmath.exp(-(k**2) / (2 * s * s)) for k in range(most + int(14 * sigma) + 8)]
        whole = weights[0] + 2 * sum(weights[1:])
        tail, tails = mpmath.mpf(0), []
        for weight in reversed(weights):
            tail += weight
            tails.append(tail / whole)
        quantiles = [_quantile(each) for each in tails[::-1][1 : most + 2]]
        yield float(2 * quantiles[0])
        yield from (float(b - a) for a, b in itertools.pairwise(quantiles))


def _quantile(tail: mpmath.mpf) -> mpmath.mpf:
    start = mpmath.mpf(norm.isf(float(tail)) if tail > 1e-300 else math.sqrt(-2 * float(mpmath.log(tail))))
    wanted = mpmath.log(tail)
    return mpmath.findroot(lambda t: mpmath.log(mpmath.erfc(t / mpmath.sqrt(2)) / 2) - wanted, start)
