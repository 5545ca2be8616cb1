"""The exact probability of what one sparse vector told: an integral over its secret threshold noise.

Given the noise z of the threshold the tests are independent, and test j, with margin m_j, says yes with probability
Pr(m_j - z + fresh noise >= 0). So the answers b have probability

    sum over all integers z of  Pr(z) * prod_j Pr(b_j | m_j - z).

The logarithm of the summand is concave in z (discrete Laplace noise is log-concave, and so are its tails), which makes
the sum easy to confine: only where the summand is within exp(-45) of its largest value does it count. That range is cut
into blocks of integers on each of which the summand is one analytic function, and every block is summed by Gauss
quadrature *of the uniform measure on its integers* (discrete Chebyshev polynomials): exact where a block has no more
integers than there are nodes, and of error far below 1e-12 where halving a block does not change its sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from hedgerow.arrays import Floats

_NODES = 16
_NEGLIGIBLE = 45.0
_CLOSE = 1e-13
_AT_ONCE = 2**21

LogSummand = Callable[[Floats], Floats]


def exceeds_log_law(margins: ArrayLike, scale: float, answers: ArrayLike) -> Floats:
    """ln Pr(answer) where the answer says whether a margin plus discrete Laplace noise is at least 0.

    Args:
        margins: Whole numbers (or anything between, where the law is continued analytically on either side of 0).
        scale: Of the noise.
        answers: Yes or no.
    """
    gaps = np.where(answers, -np.asarray(margins, dtype=np.float64), np.asarray(margins, dtype=np.float64) + 1.0)
    both = math.log1p(math.exp(-1.0 / scale))  # ln Pr(noise >= gap) = -gap / scale - both, from gap 1 on
    small = -np.maximum(gaps, 0.5) / scale - both
    large = np.log1p(-np.exp((np.minimum(gaps, 0.5) - 1.0) / scale - both))
    return np.where(gaps > 0.5, small, large)


@dataclass
class TestedWatch:
    """One threshold noise, and the tests against it so far.

    Attributes:
        scale: Of the threshold noise, in lattice units.
        margins: Of the tests, without the threshold noise.
        scales: Of the noise of the tests.
        answers: What they said.
    """

    __test__ = False

    scale: float
    margins: list[int] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    answers: list[bool] = field(default_factory=list)

    def add(self, margin: int, scale: float, answer: bool) -> None:
        self.margins.append(margin)
        self.scales.append(scale)
        self.answers.append(answer)

    def log_likelihood(self) -> float:
        """ln Pr(answers)."""
        return watch_log_law(self.scale, self.margins, self.scales, self.answers)


def watch_log_law(scale: float, margins: ArrayLike, scales: ArrayLike, answers: ArrayLike) -> float:
    """ln Pr(answers) of tests against one threshold; all numbers in lattice units."""
    tests = _Tests.of(margins, scales, answers)
    if tests is None:
        return 0.0

    def log_summand(places: Floats) -> Floats:
        prior = math.log(math.tanh(0.5 / scale)) - np.abs(places) / scale
        return np.asarray(prior + tests.log_law(places))

    reach = (math.log(len(tests.margins)) + 2.0 * _NEGLIGIBLE) * (scale + tests.scales.max())
    mode = _mode(log_summand, min(0.0, tests.margins.min()) - reach, max(0.0, tests.margins.max()) + reach)
    low, high = _edge(log_summand, mode, -1), _edge(log_summand, mode, 1)
    return _log_sum(log_summand, *_blocks(low, high, np.append(tests.margins, 0.0), min(scale, tests.scales.min())))


@dataclass
class _Tests:
    """Different tests, how often each was made with the same answer, and the different scales."""

    margins: Floats
    scales: Floats
    answers: NDArray[np.bool_]
    times: Floats
    different: list[float]

    @classmethod
    def of(cls, margins: ArrayLike, scales: ArrayLike, answers: ArrayLike) -> _Tests | None:
        columns = [np.atleast_1d(np.asarray(column, dtype=np.float64)) for column in (margins, scales, answers)]
        if not columns[0].size:
            return None
        (unlike, times) = np.unique(np.stack(columns), axis=1, return_counts=True)
        return cls(*unlike[:2], unlike[2] > 0, times.astype(np.float64), sorted(set(unlike[1].tolist())))

    def log_law(self, places: Floats) -> Floats:
        """ln of the product over all tests, for each value of the threshold noise."""
        flat, at_once = places.reshape(-1), max(1, _AT_ONCE // len(self.margins))
        parts = [self._log_law(flat[at : at + at_once]) for at in range(0, len(flat), at_once)]
        return np.concatenate(parts).reshape(places.shape)

    def _log_law(self, places: Floats) -> Floats:
        total = np.zeros(len(places))
        for scale in self.different:
            some = self.scales == scale
            margins = self.margins[some] - places[:, None]
            total += exceeds_log_law(margins, scale, self.answers[some]) @ self.times[some]
        return total


def _mode(log_summand: LogSummand, low: float, high: float) -> float:
    """Where a concave function of integers is largest."""
    low, high = math.floor(low), math.ceil(high)
    while True:
        grid = np.unique(np.rint(np.linspace(low, high, 65)))
        best = int(np.argmax(log_summand(grid)))
        low, high = grid[max(0, best - 1)], grid[min(len(grid) - 1, best + 1)]
        if len(grid) < 65:
            return float(grid[best])


def _edge(log_summand: LogSummand, mode: float, direction: int) -> float:
    """An integer beyond which the summand is negligible, at most twice as far as it must be."""
    places = mode + direction * 2.0 ** np.arange(62)
    logs = log_summand(np.append(mode, places))
    return float(places[int(np.argmax(logs[1:] < logs[0] - _NEGLIGIBLE))])


def _blocks(low: float, high: float, breaks: Floats, scale: float) -> tuple[Floats, Floats]:
    """First and last integers of blocks that end at every break, and are not longer than the scale."""
    cuts = np.unique(np.concatenate([breaks, np.arange(low, high, max(1.0, math.floor(scale)))]))
    cuts = cuts[(cuts >= low) & (cuts < high)]
    return np.concatenate([[low], cuts + 1.0]), np.append(cuts, high)


def _log_sum(log_summand: LogSummand, firsts: Floats, lasts: Floats) -> float:
    """ln of the sum over all integers of the blocks; those that count are halved until that changes nothing."""
    sums = _block_sums(log_summand, firsts, lasts)
    total, done = float(logsumexp(sums)), []
    while len(firsts):
        long = (lasts - firsts >= _NODES) & (sums > total - _NEGLIGIBLE)
        done.append(sums[~long])
        firsts, lasts, sums = firsts[long], lasts[long], sums[long]
        middles = np.floor(0.5 * (firsts + lasts))
        left, right = _block_sums(log_summand, firsts, middles), _block_sums(log_summand, middles + 1.0, lasts)
        halved = np.logaddexp(left, right)
        rough = np.abs(np.exp(halved - total) - np.exp(sums - total)) > _CLOSE
        done.append(halved[~rough])
        firsts, lasts = (
            np.concatenate([firsts[rough], middles[rough] + 1.0]),
            np.concatenate([middles[rough], lasts[rough]]),
        )
        sums = np.concatenate([left[rough], right[rough]])
    return float(logsumexp(np.concatenate(done)))


def _block_sums(log_summand: LogSummand, firsts: Floats, lasts: Floats) -> Floats:
    """ln of the sum over the integers of each block."""
    sizes, which = np.unique(lasts - firsts + 1.0, return_inverse=True)
    if not sizes.size:
        return firsts
    nodes, weights = lattice_quadrature(sizes)
    with np.errstate(divide="ignore"):
        logs = log_summand(firsts[:, None] + nodes[which]) + np.log(weights[which])
    return np.asarray(logsumexp(logs, axis=1))


def lattice_quadrature(sizes: Floats) -> tuple[Floats, Floats]:
    """Gauss quadrature of the sum over 0, 1, ..., size - 1: exact for polynomials of degree below twice the nodes.

    The recurrence of the discrete Chebyshev polynomials is ``b_k = k^2 (size^2 - k^2) / (4 (4 k^2 - 1))``; nodes and
    weights are the eigensystem of its Jacobi matrix (Golub and Welsch).

    Args:
        sizes: How many integers, shape ``(blocks,)``.

    Returns:
        Nodes and weights, each of shape ``(blocks, 16)``. Up to 16 integers are listed as they are.
    """
    order, largest = np.arange(1.0, _NODES), np.maximum(sizes, _NODES)[:, None]
    off = np.sqrt(order**2 * (largest**2 - order**2) / (4.0 * (4.0 * order**2 - 1.0)))
    jacobi = np.zeros((len(sizes), _NODES, _NODES))
    jacobi[:, np.arange(_NODES - 1), np.arange(1, _NODES)] = jacobi[:, np.arange(1, _NODES), np.arange(_NODES - 1)] = (
        off
    )
    offsets, vectors = np.linalg.eigh(jacobi)
    nodes, weights = 0.5 * (largest - 1.0) + offsets, largest * vectors[:, 0, :] ** 2
    listed = np.arange(_NODES, dtype=np.float64)
    few = sizes[:, None] <= _NODES
    return np.where(few, listed, nodes), np.where(few, (listed < sizes[:, None]).astype(np.float64), weights)
