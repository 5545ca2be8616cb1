"""Compiled steps of a fit from coarse tables to fine ones."""

import math

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.system import inlined, kernel

_TURNS = 60
"""Most steps of Newton's method for the multiplier of a sum; a few are enough."""

_CLOSE = 1e-12
"""Difference of a sum from what it should be, as a part of that, with which the search is done."""

_LEAST = 1e-9
"""Least dispersion."""

_GUESSES = 8
"""Times that the two parts of a dispersion are estimated, each time with the weights that follow from the last."""


@kernel()
def dispersion(values: Floats, means: Floats, variances: Floats) -> tuple[float, float]:
    """Parts a and b of the variance ``a m + b m^2`` of counts about their means m, from noisy counts.

    By least squares of the squared differences less the variances of the noise, weighted by what these vary by
    themselves; neither part is negative.

    Args:
        values: Noisy counts.
        means: What they should be; cells of mean 0 say nothing.
        variances: Those of the noise.
    """
    a, b = 1.0, 0.0
    for _ in range(_GUESSES):
        m2, m3, m4, e1, e2 = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(values.size):
            m = means[i]
            if m > 0.0:
                weight = m / (a * m + b * m * m + variances[i])
                weight *= weight
                excess = (values[i] - m) * (values[i] - m) - variances[i]
                m2 += weight
                m3 += weight * m
                m4 += weight * m * m
                e1 += weight * excess / m
                e2 += weight * excess
        if m2 == 0.0:
            return 0.0, 0.0
        determinant = m2 * m4 - m3 * m3
        a = (e1 * m4 - e2 * m3) / determinant if determinant > 1e-9 * m2 * m4 else -1.0
        b = (e2 * m2 - e1 * m3) / determinant if a >= 0.0 else -1.0
        if a < 0.0:
            a, b = 0.0, max(0.0, e2 / m4)
        elif b < 0.0:
            a, b = max(0.0, e1 / m2), 0.0
        if a == 0.0 and b == 0.0:
            return 0.0, 0.0
    return a, b


@kernel()
def children_of(parents: Ints, count: int) -> tuple[Ints, Ints]:
    """For each of so many parents the place of its first child in a list, with the end of the last; and that list."""
    firsts = np.zeros(count + 1, dtype=np.int64)
    for parent in parents:
        firsts[parent + 1] += 1
    for j in range(count):
        firsts[j + 1] += firsts[j]
    ends, members = firsts[:-1].copy(), np.empty(parents.size, dtype=np.int64)
    for i in range(parents.size):
        members[ends[parents[i]]] = i
        ends[parents[i]] += 1
    return firsts, members


@kernel()
def subtrees(parents: Ints, count: int, least: int) -> Ints:
    """Where a list of children can be cut: after how many all children of the parents so far have been listed.

    Args:
        parents: The parent of each child.
        count: Number of parents.
        least: Least number of children of a part, but of the last.

    Returns:
        The ends of the parts; the last is the number of children.
    """
    last = np.zeros(count, dtype=np.int64)
    for i in range(parents.size):
        last[parents[i]] = i
    ends = np.empty(parents.size // least + 1, dtype=np.int64)
    parts, start, reached = 0, 0, 0
    for i in range(parents.size):
        reached = max(reached, last[parents[i]])
        if (reached == i and i + 1 - start >= least) or i + 1 == parents.size:
            ends[parts] = i + 1
            parts, start = parts + 1, i + 1
    return ends[:parts]


@inlined()
def _omega(z: float) -> float:
    """The solution w of ``w + ln w = z`` (Wright's omega function), to some 14 digits.

    Two steps of Fritsch, Shafer and Crowley (CACM 1973) from the ends of its series.
    """
    if z < -30.0:
        return math.exp(z)
    if z < -1.5:
        x = math.exp(z)
        w = x * (1.0 - x * (1.0 - 1.5 * x))
    elif z < 3.5:
        y = z - 1.0
        w = 1.0 + y * (0.5 + y * (0.0625 - y / 192.0))
    else:
        w = z - math.log(z) * (1.0 - 1.0 / z)
    for _ in range(2):
        r = z - w - math.log(w)
        t = (1.0 + w) * (1.0 + w + 2.0 * r / 3.0)
        w *= 1.0 + r / (1.0 + w) * (t - 0.5 * r) / (t - r)
    return w


@kernel()
def spread(
    start: int,
    stop: int,
    children: tuple[Ints, Ints],
    sums: Floats,
    means: Floats,
    told: tuple[Floats, Floats, Floats],
    found: Floats,
) -> None:
    """Counts of the children of some parents that add up to the parents' counts, into ``found``.

    They minimise ``sum of (p ln(p / m) - p) / g + (p - y)^2 / (2 v)``: by ``ln(p / m) = g ((y - p) / v - t)``, t the
    multiplier of the sum, each is an omega function of t, and their sum falls with t and is convex. A count of at most
    its parent's count c has a variance of at most ``m (c - m)``: no g is above ``c - m``.

    Args:
        start: First parent.
        stop: After the last.
        children: See `children_of`.
        sums: Counts of all parents.
        means: m of each child, in any unit.
        told: Noisy counts y, variances v of their noise, positive, and dispersions g.
        found: Counts of all children.
    """
    firsts, members = children
    values, variances, spreads = told
    for j in range(start, stop):
        inside, wanted, mass = members[firsts[j] : firsts[j + 1]], sums[j], 0.0
        for i in inside:
            mass += means[i]
        if wanted <= 0.0 or mass <= 0.0:
            for i in inside:
                found[i] = 0.0
            continue
        t, total = 0.0, 0.0
        for _ in range(_TURNS):
            total, slope = 0.0, 0.0
            for i in inside:
                if means[i] > 0.0:
                    mean = means[i] * wanted / mass
                    g = max(_LEAST, min(spreads[i], wanted - mean))
                    ratio = g / variances[i]
                    w = _omega(math.log(ratio * mean) + ratio * values[i] - g * t)
                    found[i] = w / ratio
                    total += found[i]
                    slope += g * found[i] / (1.0 + w)
                else:
                    found[i] = 0.0
            if abs(total - wanted) <= _CLOSE * wanted or slope <= 0.0:
                break
            if total > wanted:  # from here on the steps end at the solution without passing it
                t += (total - wanted) / slope
            else:
                t += math.log(total / wanted) * total / slope
        for i in inside:
            found[i] = found[i] * wanted / total if total > 0.0 else means[i] * wanted / mass
