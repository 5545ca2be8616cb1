"""Trees of noisy counts over one attribute: best linear unbiased estimates, and what is not negative near them.

W. Qardaji, W. Yang, N. Li, "Understanding Hierarchical Methods for Differentially Private Histograms", VLDB 2013 (Hb:
the branching that minimises the average variance of a range); M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the
Accuracy of Differentially Private Histograms Through Consistency", VLDB 2010 (the two passes).
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.regret.estimates import Noise, on_simplex
from hedgerow.arrays import Floats

_MOST = 64
"""Largest branching that is looked at."""


def height_of(size: int, branching: int) -> int:
    """Levels below the root.

    Example:
        >>> height_of(4096, 16), height_of(17, 16)
        (3, 2)
    """
    return max(1, next(h for h in range(size) if branching**h >= size)) if size > 1 else 1


def best_branching(size: int, noise: Noise) -> int:
    """The branching with the smallest average variance of ranges, for noise that is divided equally among the levels.

    Section 4 of the paper: ``(b - 1) h - 2 (b + 1) / 3`` times the variance of one level, before averaging, which grows
    with the height h, as h^2 for Laplace and as h for Gaussian noise.

    Example:
        >>> best_branching(4096, Noise("laplace", 1.0, np.random.default_rng(0)))
        16
    """

    def variance(branching: int) -> float:
        h = height_of(size, branching)
        level = h**2 if noise.kind == "laplace" else h
        return level * ((branching - 1) * h - 2.0 * (branching + 1) / 3.0)

    return min(range(2, min(_MOST, max(2, size)) + 1), key=variance)


def levels_of(exact: Floats, noise: Noise, branching: int) -> tuple[list[Floats], list[Floats]]:
    """Noisy counts of every level, coarsest first, padded to full blocks, and their variances; 0 where nothing can be.

    Args:
        exact: Exact counts.
        noise: Noise of all levels together.
        branching: Children of each node.
    """
    height = height_of(len(exact), branching)
    counts = np.zeros(branching**height)
    counts[: len(exact)] = exact
    there = np.asarray(np.arange(branching**height) < len(exact))
    values, variances = [], []
    for _ in range(height):
        each = noise.share(1.0 / height)
        values.append(np.where(there, each.added(counts), 0.0))
        variances.append(np.where(there, each.variance, 0.0))
        counts, there = counts.reshape(-1, branching).sum(axis=1), np.asarray(there.reshape(-1, branching).any(axis=1))
    return values[::-1], variances[::-1]


def consistent(values: list[Floats], variances: list[Floats], branching: int) -> list[Floats]:
    """Best linear unbiased estimates of every level: weighted averages upwards, then differences spread downwards.

    Args:
        values: Noisy counts of every level, coarsest first.
        variances: Their variances; 0 where a count is known to be 0.
        branching: Children of each node.
    """
    better, spread = [values[-1]], [variances[-1]]
    for value, variance in zip(values[-2::-1], variances[-2::-1], strict=True):
        sums, summed = (each[0].reshape(-1, branching).sum(axis=1) for each in (better, spread))
        share = np.divide(summed, summed + variance, out=np.zeros_like(summed), where=variance > 0)
        better.insert(0, share * value + (1.0 - share) * sums)
        spread.insert(0, share * variance)
    found = [better[0]]
    for value, variance in zip(better[1:], spread[1:], strict=True):
        blocks, weights = value.reshape(-1, branching), variance.reshape(-1, branching)
        whole = weights.sum(axis=1, keepdims=True)
        part = np.divide(weights, whole, out=np.zeros_like(weights), where=whole > 0)
        found.append((blocks + part * (found[-1] - blocks.sum(axis=1))[:, None]).reshape(-1))
    return found


def hb(exact: Floats, noise: Noise, *, projected: bool = False) -> tuple[Floats, float]:
    """A tree of counts with equal shares, averaged, and if wanted made non-negative from the top down.

    Args:
        exact: Exact counts, shape ``(size,)``.
        noise: Noise of the whole budget.
        projected: Whether each block of children is projected on what is not negative and sums to its parent.

    Returns:
        Estimated counts, and the number of records.
    """
    branching = best_branching(len(exact), noise)
    total, noise = noise.number(int(exact.sum()))
    values, variances = levels_of(exact, noise, branching)
    found = consistent(values, variances, branching)
    if not projected:
        return found[-1][: len(exact)], total
    masses = np.array([total])
    for estimates, variance in zip(found, variances, strict=True):
        there = np.where(variance > 0, estimates, -math.inf).reshape(-1, branching)
        empty = ~np.isfinite(there).any(axis=1)
        there[empty] = 0.0  # its mass is 0
        masses = on_simplex(there, masses).reshape(-1)
    return masses[: len(exact)], total
