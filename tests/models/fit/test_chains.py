"""Averages of nested tables and blocks against dense least squares, and fits to blocks against the slow optimum."""

from __future__ import annotations

import math

import numpy as np

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange, width_level
from hedgerow.models import Histogram, Nested, Proximal, estimated, nested, refit
from hedgerow.models.fit.chains import Chain
from hedgerow.queries import Blocks, Marginal, Measurement, NoiseKind
from tests.reference.nested_fit import optimum

AGE = IntegerRange("age", 0, 11)
DOMAIN = Domain((AGE,), (width_level(AGE, 6),))
UNEVEN = np.array([0, 0, 0, 0, 1, 2, 3, 3, 4, 4, 4, 4])
TOTAL = 300.0


def known() -> list[Measurement]:
    """Two halves, uneven blocks of ages, and the halves again."""
    rng = np.random.default_rng(4)
    targets = [Marginal(DOMAIN, ("age.6",)), Blocks(DOMAIN, ("age",), UNEVEN), Marginal(DOMAIN, ("age.6",))]
    scales = (3.0, 5.0, 9.0)
    return [
        Measurement(each, TOTAL / each.size + rng.laplace(0.0, scale, each.size), NoiseKind.LAPLACE, scale)
        for each, scale in zip(targets, scales, strict=True)
    ]


def rows(measured: Measurement) -> Floats:
    places = UNEVEN if isinstance(measured.target, Blocks) else np.arange(12) // 6
    return (places == np.arange(measured.target.size)[:, None]).astype(np.float64)


def test_averages_are_least_squares() -> None:
    """Of block counts with a known sum, by the dense normal equations."""
    measured = known()
    assert nested(measured)
    weights = [rows(each) / each.std for each in measured]
    matrix, noisy = np.vstack(weights), np.concatenate([each.values / each.std for each in measured])
    system = np.zeros((13, 13))
    system[:12, :12], system[12, :12], system[:12, 12] = matrix.T @ matrix, 1.0, 1.0
    solved = np.linalg.lstsq(system, np.append(matrix.T @ noisy, TOTAL), rcond=None)[0][:12]
    target, counts = estimated(measured, TOTAL)
    assert isinstance(target, Blocks)
    np.testing.assert_allclose(counts, target.of_table(solved), rtol=0.0, atol=1e-9)


def test_blocks_that_are_in_two_nodes_are_not_nested() -> None:
    halves, ages = Marginal(DOMAIN, ("age.6",)), np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 3, 3])
    across = [
        Measurement(each, np.ones(each.size), NoiseKind.LAPLACE, 1.0)
        for each in (halves, Blocks(DOMAIN, ("age",), ages))
    ]
    assert not nested(across)


def test_steps_to_blocks_end_at_the_optimum_over_listed_cells() -> None:
    measured, shape = known(), np.linspace(0.0, 2.0, 12)
    start = np.exp(shape) / np.exp(shape).sum()
    answers = Chain.of(measured, TOTAL).averages
    halves, blocks = rows(measured[0]), rows(measured[1])
    sigmas = [each.std / TOTAL for each in measured]
    c, steps = 1.3 * 0.6, Nested().steps
    lengths = [c / steps / sigmas[1], c / steps * math.sqrt(5.0 / 2.0) * (1.0 / sigmas[0] + 1.0 / sigmas[2])]
    p = start
    for _ in range(steps):
        p = optimum(p, [blocks, halves], answers, lengths)
    model = Histogram(DOMAIN, TOTAL)
    model.reweigh(("age",), shape)
    Nested(c).fit(model, measured)
    np.testing.assert_allclose(model.marginals([("age",)])[0] / TOTAL, p, rtol=0.0, atol=1e-9)


def test_adapted_fits_take_blocks() -> None:
    model = Histogram(DOMAIN, TOTAL)
    refit(model, known(), Proximal(adapted=True))
    (found,) = model.marginals([("age",)])
    for block in range(5):
        inside = found[block == UNEVEN]
        np.testing.assert_allclose(inside, inside[0], rtol=1e-9)
