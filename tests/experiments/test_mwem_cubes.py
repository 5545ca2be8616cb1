"""Data cubes: what all cuboids are, errors of them, the two baselines, and the choice that looks at exact errors."""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest
from experiments.datasets import DataSets, find_data
from experiments.experiment import Measured
from experiments.mwem import cubes_findings as findings
from experiments.mwem.advance import chosen_in_advance, expected_sum
from experiments.mwem.cubes import (
    EPSILONS,
    EVERY,
    LARGEST_PART,
    OF_FOUR,
    PAIRS,
    TS,
    Cubes,
    as_in_paper,
    cuboids_of,
    laplace_errors,
)
from experiments.mwem.cuboids import Cuboids
from experiments.results import Results

from hedgerow.comparison import Yardstick
from hedgerow.privacy import PureDP, SeededNoise
from hedgerow.queries import Workload


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


@pytest.fixture(scope="module")
def four(data: DataSets) -> Cuboids:
    return cuboids_of(OF_FOUR, data)


@pytest.mark.slow
def test_the_cube_is_that_of_the_paper_with_one_record_more(data: DataSets) -> None:
    cube = cuboids_of(EVERY, data)
    assert (len(cube.cliques), cube.sizes.sum()) == (255, 86_365_439)
    assert (cube.table.total(), cube.sizes[-1]) == (30_163, 27_000_960)
    (whole,) = cube.table.marginals([cube.table.domain.names])
    assert np.count_nonzero(whole) == 7_722


def test_errors_are_those_of_plain_sums(four: Cuboids) -> None:
    """Axes are summed out one by one; the answers are those of another table, of as many records."""
    names, shape = four.table.domain.names, four.table.domain.shape
    (exact,) = four.table.marginals([names])
    other = np.random.default_rng(1).permutation(exact.ravel()).reshape(shape)

    class Other:
        domain, cheap_cells = four.table.domain, 1 << 20

        def marginals(self, cliques: list[tuple[str, ...]]) -> list[np.ndarray]:
            return [other.sum(tuple(i for i, name in enumerate(names) if name not in each)) for each in cliques]

    def naive(clique: tuple[str, ...]) -> float:
        rest = tuple(i for i, name in enumerate(names) if name not in clique)
        return float(np.abs(other.sum(rest) - exact.sum(rest)).sum())

    assert four.errors(Other()) == pytest.approx([naive(clique) for clique in four.cliques])  # type: ignore[arg-type]


def test_the_uniform_answer_is_that_of_the_yardstick(data: DataSets) -> None:
    cell = {"cuboids": PAIRS, "mechanism": findings.UNIFORM, "epsilon": 0.0, "rounds": 0, "repetition": 1}
    told = {each.quantity: each.value for each in Cubes().measure(cell, data)}
    table = cuboids_of(PAIRS, data).table
    expected = Yardstick(table, Workload.marginals(table.domain, 2)).uniform()
    assert told[findings.AVERAGE_TV] == pytest.approx(expected["mean"])
    assert told[findings.MAXIMUM_TV] == pytest.approx(expected["largest"])


def test_no_cuboid_that_is_left_out_could_have_a_positive_score(data: DataSets) -> None:
    """At the largest epsilon and the smallest T its noise is as large as any error, but for the rounding of noise."""
    cube = cuboids_of(EVERY, data)
    scale = 2.0 / (0.5 * max(EPSILONS) / min(TS))
    left_out = cube.sizes[cube.sizes > LARGEST_PART * cube.table.total()]
    assert left_out.size == len(cube.cliques) - cube.first(LARGEST_PART * cube.table.total()).n_candidates
    assert left_out.min() * scale >= 2 * cube.table.total()


def test_independent_noise_has_the_same_size_in_every_cell(data: DataSets) -> None:
    """A cuboid of 1,000 cells and more has a mean within 15% of the expectation: 4.7 of its standard deviations."""
    cube, epsilon = cuboids_of(EVERY, data), 0.5
    cells = laplace_errors(cube, epsilon, SeededNoise(3)) / cube.sizes
    expected = 2 * len(cube.cliques) / epsilon
    assert cells[cube.sizes > 1000] == pytest.approx(expected, rel=0.15)
    assert cells[-1] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("number", [1, 2, 3, 40])
def test_expected_sums_of_noise(number: int) -> None:
    """Within 2% of the mean of 100,000 sums, whose standard deviation is at most 0.32% of it."""
    sums = np.random.default_rng(number).laplace(size=(100_000, number)).sum(axis=1)
    assert expected_sum(number) == pytest.approx(np.abs(sums).mean(), rel=0.02)


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 4), (9, 2, 5), (3, 30, 2)])
def test_cuboids_chosen_in_advance_against_all_choices(shape: tuple[int, ...]) -> None:
    """The worst variance is at most twice the smallest that there is; a greedy cover is not always the best."""
    axes = range(len(shape))
    cuboids = [frozenset(each) for each in chain.from_iterable(combinations(axes, k + 1) for k in axes)]

    def summands(measured: tuple[frozenset[int], ...]) -> list[float]:
        def of(cuboid: frozenset[int]) -> float:
            above = [math.prod(shape[axis] for axis in each - cuboid) for each in measured if cuboid <= each]
            return min(above, default=math.inf)

        return [of(cuboid) for cuboid in cuboids]

    def worst(measured: tuple[frozenset[int], ...]) -> float:
        return len(measured) ** 2 * max(summands(measured))

    every = chain.from_iterable(combinations(cuboids, number + 1) for number in range(len(cuboids)))
    found = chosen_in_advance(shape)
    assert found.summands.tolist() == summands(found.measured)
    assert worst(found.measured) <= 2.0 * min(map(worst, every))


def test_one_charge_a_round_is_all_that_is_spent(four: Cuboids) -> None:
    release = as_in_paper(3).run(four.table, four.first(100), PureDP(0.6, "replace"), noise=SeededNoise(1))
    assert len(release.measurements) == 3
    total, *rounds = (event.charge for event in release.events)
    assert (total, rounds) == (0.0, pytest.approx([0.1] * 6))


def test_the_oracle_looks_at_the_average_error() -> None:
    def runs(rounds: int, average: float, maximum: float) -> list[tuple[dict[str, str | int | float], Measured]]:
        cell = {"cuboids": "2-way", "mechanism": findings.FIXED, "epsilon": 1.0, "rounds": rounds, "repetition": 1}
        return [(cell, Measured(findings.AVERAGE, average)), (cell, Measured(findings.MAXIMUM, maximum))]

    found = Results.of([*runs(2, 3.0, 4.0), *runs(4, 2.0, 9.0), *runs(8, 2.5, 3.0)])
    best, point = findings.oracle(found, findings.MAXIMUM, "2-way", 1.0)
    assert (best, point.mean) == (4, 9.0)
