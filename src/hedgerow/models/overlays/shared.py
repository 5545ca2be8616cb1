"""The few directions in which the parts of all pairs stand out of the noise together.

Records of a few kinds of people, or that a few hidden traits explain, have pairs that no tree says: every attribute has
to do with every other. The parts of all pairs are the blocks of one symmetric matrix, of little rank beside its
diagonal then, and noise alone has no eigenvalue beyond twice the norm of its largest row of deviations. What passes
that edge is kept, as much of it as loses least in squares: ``sqrt(size^2 - edge^2)`` of an eigenvalue (M. Gavish and D.
Donoho, "Optimal Shrinkage of Singular Values", IEEE Transactions on Information Theory 2017). The diagonal blocks are
not asked for, and taken from what was kept.
"""

from __future__ import annotations

import math

import numpy as np

from hedgerow.arrays import Floats, Ints
from hedgerow.models.fit.residual_basis import ResidualBasis

_LARGEST = 1500
"""Rows of the largest matrix."""
_ROUNDS = 5
"""Times that the diagonal blocks are taken from what was kept; fewer for large matrices, which take seconds each."""
_QUICK = 400
_DIRECTIONS = 8
"""Rows for each direction that is kept, at least."""
_LEAST = 0.05
"""Share of the noise that is left in any difference, at least."""


def common(parts: ResidualBasis, differences: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """The part of noisy differences that few directions say, for the parts of pairs; 0 for all others.

    Args:
        parts: ResidualBasis of the measured tables.
        differences: Noisy parts less those that are expected, shape ``(size,)``.
        variances: Variances of their noise; differences of infinite variance are not looked at.

    Returns:
        The common part, and the share of the noise that is left in what differs from it, each of shape ``(size,)``:
        ``(1 - p) (1 - q)`` where the directions hold p and q of the two functions (the rest of a projection).

    Example:
        >>> from itertools import combinations
        >>> from hedgerow.domain import Domain, IntegerRange
        >>> domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(20))
        >>> parts = ResidualBasis(domain, combinations(domain.names, 2))
        >>> of_pairs = np.array([0.3 * (len(each) == 2) for each in parts.sets])
        >>> [float(common(parts, of_pairs, np.full(parts.size, v))[0][-1].round(2)) for v in (0.001, 1.0)]
        [0.3, 0.0]
    """
    found, left = np.zeros(parts.size), np.ones(parts.size)
    places = _Places(parts)
    known = np.isfinite(variances[places.coefficients])
    if not 0 < places.size <= _LARGEST or not known.any():
        return found, left
    matrix = places.matrix(np.where(known, differences[places.coefficients], 0.0))
    rows = places.matrix(np.where(known, variances[places.coefficients], 0.0)).sum(axis=1)
    edge = 2.0 * math.sqrt(float(rows.max()))
    kept, taken = np.zeros_like(matrix), np.zeros(places.size)
    for _ in range(_ROUNDS if places.size <= _QUICK else 2):
        kept, taken = _standing_out(np.where(places.diagonal, kept, matrix), edge)
    found[places.coefficients] = np.where(known, kept[places.rows, places.columns], 0.0)
    left[places.coefficients] = np.where(
        known, np.maximum((1.0 - taken[places.rows]) * (1.0 - taken[places.columns]), _LEAST), 1.0
    )
    return found, left


def _standing_out(matrix: Floats, edge: float) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(matrix)
    largest = np.argsort(-np.abs(values))[: len(values) // _DIRECTIONS]
    largest = largest[np.abs(values[largest]) > edge]
    shrunk = np.sign(values[largest]) * np.sqrt(values[largest] ** 2 - edge**2)
    vectors = vectors[:, largest]
    return np.asarray((vectors * shrunk) @ vectors.T), np.asarray((vectors**2).sum(axis=1))


class _Places:
    """The coefficients of pairs as entries of a matrix with a row for each function of one attribute."""

    def __init__(self, parts: ResidualBasis) -> None:
        pairs = [each for each in parts.sets if len(each) == 2]
        names = parts.domain.clique({name for pair in pairs for name in pair})
        lengths = [parts.domain[name].size - 1 for name in names]
        starts = dict(zip(names, np.cumsum([0, *lengths]).tolist(), strict=False))
        self.size = sum(lengths)
        owner = np.repeat(np.arange(len(names)), lengths)
        self.diagonal = owner[:, None] == owner
        rows: list[Ints] = []
        columns: list[Ints] = []
        for one, other in pairs:
            inside = np.indices((parts.domain[one].size - 1, parts.domain[other].size - 1)).reshape(2, -1)
            rows.append(starts[one] + inside[0])
            columns.append(starts[other] + inside[1])
        empty = [np.zeros(0, dtype=np.int64)]
        self.rows, self.columns = np.concatenate(rows or empty), np.concatenate(columns or empty)
        firsts = [
            np.arange(parts.start(pair), parts.start(pair) + len(row)) for pair, row in zip(pairs, rows, strict=True)
        ]
        self.coefficients = np.concatenate(firsts or empty)

    def matrix(self, values: Floats) -> Floats:
        """The symmetric matrix of values of all coefficients, with zeros in the blocks of single attributes."""
        found = np.zeros((self.size, self.size))
        found[self.rows, self.columns] = found[self.columns, self.rows] = values
        return found
