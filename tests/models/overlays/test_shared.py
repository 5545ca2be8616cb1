"""What all pairs have in common: found where there is something, and not made of noise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.models import ResidualBasis
from hedgerow.models.overlays.shared import common
from tests.models.strategies import domain_of

PARTS = ResidualBasis(domain_of(*[2] * 60), list(combinations(domain_of(*[2] * 60).names, 2)))
PAIRS = np.array([len(each) == 2 for each in PARTS.sets])


def of_rank(rank: int, seed: int) -> tuple[Floats, Floats]:
    """ResidualBasis of pairs that few directions say, and the matrix that they are entries of."""
    directions = np.random.default_rng(seed).normal(0.0, 0.3, (60, rank))
    matrix = directions @ directions.T
    found = np.zeros(PARTS.size)
    found[PAIRS] = matrix[np.triu_indices(60, 1)]
    return found, matrix


@pytest.mark.parametrize("rank", [1, 3])
def test_few_directions_are_found_in_noise(rank: int) -> None:
    exact, _ = of_rank(rank, 1)
    noise = 0.08 * np.random.default_rng(2).normal(0.0, 1.0, PARTS.size)
    found, left = common(PARTS, exact + noise, np.full(PARTS.size, 0.08**2))
    assert np.square(found - exact)[PAIRS].mean() < 0.4 * 0.08**2
    assert not found[~PAIRS].any()
    assert (left[~PAIRS] == 1.0).all()
    rest = np.square(exact + noise - found)[PAIRS].sum() / (0.08**2 * left[PAIRS].sum())
    assert 0.85 < rest < 1.3  # what is left of the noise, and a little of the signal


def test_noise_alone_has_nothing_in_common() -> None:
    for seed in range(5):
        noise = np.random.default_rng(seed).normal(0.0, 1.0, PARTS.size)
        found, left = common(PARTS, noise, np.ones(PARTS.size))
        assert np.square(found[PAIRS]).mean() < 0.02
        assert left.min() > 0.5


def test_the_matrix_has_a_block_for_each_pair() -> None:
    domain = domain_of(3, 2, 4)
    parts = ResidualBasis(domain, [("x0", "x1"), ("x0", "x2")])
    rng = np.random.default_rng(0)
    one, other = rng.normal(0.0, 9.0, 2), rng.normal(0.0, 9.0, 3)
    differences = np.zeros(parts.size)
    start = parts.start(("x0", "x2"))
    differences[start : start + 6] = np.outer(one, other).reshape(-1)
    found, left = common(parts, differences, np.full(parts.size, 1e-9))
    assert not found.any()  # six rows hold no direction
    assert left.min() == 1.0


def test_what_is_not_told_is_not_looked_at() -> None:
    exact, _ = of_rank(1, 3)
    variances = np.where(PAIRS, 1e-6, np.inf)
    variances[-1] = np.inf
    exact[-1] = np.nan
    found, left = common(PARTS, exact, variances)
    assert np.isfinite(found).all()
    assert (found[-1], left[-1]) == (0.0, 1.0)
