"""Simulated records are as uneven inside blocks as the release shows that records are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hedgerow import MWEM, ApproxDP, Domain, IntegerRange, SeededNoise, Table, Workload, simulate_errors
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import width_level
from hedgerow.privacy import exact_answers
from hedgerow.queries import Blocks, Conjunction, Marginal, Measurement, NoiseKind
from hedgerow.release import Release
from hedgerow.simulation import errors
from hedgerow.simulation.uneven import Uneven

AGE = IntegerRange("age", 0, 39)
DOMAIN = Domain((IntegerRange("other", 0, 2), AGE), [width_level(AGE, 10)])
PLACES = np.array([0] * 6 + [1] * 4 + list(range(2, 12)) + [12, 13, 13, 13, 14, 14, 14, 14, 15, 15] + [16] * 10)


def noisy(target: Marginal | Blocks, values: Floats, scale: float = 0.5) -> Measurement:
    return Measurement(target, values, NoiseKind.GAUSSIAN, scale)


def heaped(n: int = 20_000) -> Table:
    """Two numbers with sums that are told in tens, as neither of them alone shows."""
    a, b = numbers(n)
    return Table(Domain(IntegerRange(name, 0, 99) for name in "ab"), [a, b - (a + b) % 10])


def numbers(n: int) -> list[Ints]:
    rng = np.random.default_rng(3)
    found = [rng.gamma(3.0, 9.0, n).clip(0, 94), rng.normal(45.0, 12.0, n).clip(9, 94)]
    return [each.astype(np.int64) for each in found]


def release_of(table: Table) -> Release:
    workload = Workload.marginals(table.domain, 2)
    return MWEM().run(table, workload, ApproxDP(1.0, 1e-9), noise=SeededNoise(0))


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("deviation", [0.5, 2.0])
def test_records_stay_in_their_blocks_and_have_the_deviation_inside(deviation: float) -> None:
    """Against the moments of shares of a gamma law, record by record for the blocks."""
    n, cells = 400_000, 10
    uneven = Uneven(DOMAIN, ("age",), np.arange(40) // cells, np.ones(40), np.full(4, deviation))
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(3, size=n), rng.integers(40, size=n)], axis=1)
    variances = []
    for seed in range(60):
        found = uneven.scattered(codes, seed)
        assert np.array_equal(found[:, 0], codes[:, 0])
        assert np.array_equal(found[:, 1] // cells, codes[:, 1] // cells)
        shares = np.bincount(found[:, 1], minlength=40).reshape(-1, cells) * 4.0 / n
        variances.append(np.var(shares, axis=1).mean() * cells**2)
    total = cells * deviation**-2.0
    expected = cells**2 * (1.0 / cells) * (1.0 - 1.0 / cells) / (total + 1.0)  # of a Dirichlet law
    assert np.mean(variances) == pytest.approx(expected, rel=0.1)


def test_cells_of_their_own_keep_their_records() -> None:
    codes = np.stack([np.zeros(40, dtype=np.int64), np.arange(40)], axis=1)
    found = Uneven(DOMAIN, ("age",), PLACES, np.ones(40), np.full(17, 3.0)).scattered(codes, 1)
    alone = np.bincount(PLACES)[PLACES] == 1
    assert np.array_equal(found[alone], codes[alone])
    assert np.array_equal(PLACES[found[:, 1]], PLACES[codes[:, 1]])


def test_the_deviation_is_that_of_blocks_along_each_attribute() -> None:
    """Against sums over lines of blocks, one by one: a plane whose halves are cut into 3 x 2 and 2 x 5 blocks."""
    rng = np.random.default_rng(2)
    one, other = (IntegerRange(name, 0, size - 1) for name, size in (("a", 12), ("b", 10)))
    domain = Domain((one, other), [width_level(one, 6)])
    cuts = {0: (np.array([0, 0, 1, 1, 2, 2]), np.repeat([0, 1], 5)), 1: (np.repeat([0, 1], 3), np.repeat(range(5), 2))}
    places = np.zeros((12, 10), dtype=np.int64)
    for half, (rows, columns) in cuts.items():
        places[6 * half : 6 * half + 6] = 6 * half + rows[:, None] * (columns.max() + 1) + columns
    halves, blocks = Marginal(domain, ("a.6",)), Blocks(domain, ("a", "b"), places)
    cells = np.bincount(places.reshape(-1))
    coarse = noisy(halves, np.array([600.0, 300.0]))
    expected = cells * np.where(np.arange(16) < 6, 10.0, 5.0)
    fine = noisy(blocks, expected * rng.uniform(0.2, 1.8, 16), 0.75)
    found = Uneven.of(domain, [coarse, fine], 900.0)
    assert found is not None
    variances = []
    for along in (0, 1):
        upper = lower = 0.0
        for half, (rows, columns) in cuts.items():
            grid = np.unique(6 * half + rows[:, None] * (columns.max() + 1) + columns).reshape(rows.max() + 1, -1)
            for line in grid.T if along == 0 else grid:
                size, density = cells[line[0]], fine.values[line] / cells[line]
                noise = (0.75 / size) ** 2 + (10.0, 5.0)[half] / size
                upper += size**2 * float(np.sum((density - density.mean()) ** 2) - (len(line) - 1) * noise)
                lower += size**2 * (len(line) - 1) * float(density.mean() ** 2 - noise / len(line))
        variances.append(upper / lower)
    assert min(variances) > 0.0
    assert found.deviations == pytest.approx(np.full(16, math.sqrt(sum(variances))), rel=1e-10)


def test_blocks_are_even_along_an_attribute_whose_codes_they_tell_apart() -> None:
    codes = np.stack(np.unravel_index(np.arange(120), (3, 40)), axis=1)
    blocks = Blocks(DOMAIN, ("other", "age"), (codes[:, 0] * 4 + codes[:, 1] // 10).reshape(3, 40))
    tables = Marginal(DOMAIN, ("other",))
    level = np.array([1000.0, 4000.0, 700.0])
    fine = noisy(blocks, np.outer(level, [0.4, 0.1, 0.3, 0.2]).reshape(-1))
    found = Uneven.of(DOMAIN, [noisy(tables, level), fine], 5700.0)
    assert found is not None
    shares = np.array([0.4, 0.1, 0.3, 0.2])  # the levels of the others do not count
    assert found.deviations == pytest.approx(np.full(12, 4.0 * shares.std(ddof=1)), rel=0.02)


def test_even_counts_and_whole_tables_change_nothing() -> None:
    tens, blocks = Marginal(DOMAIN, ("age.10",)), Blocks(DOMAIN, ("age",), PLACES)
    coarse, sizes = noisy(tens, np.full(4, 250.0)), np.bincount(PLACES)
    assert Uneven.of(DOMAIN, [coarse, noisy(blocks, 25.0 * sizes)], 1000.0) is None
    assert Uneven.of(DOMAIN, [noisy(blocks, 25.0 * sizes)], 1000.0) is None
    assert Uneven.of(DOMAIN, [coarse, noisy(Marginal(DOMAIN, ("age",)), np.arange(40.0))], 1000.0) is None


@pytest.mark.parametrize("codes", [[0], [0, 1], list(range(6)), list(range(10)), [10], [21, 22, 23], [20, 22], [0, 39]])
def test_a_query_cuts_a_block_if_it_takes_a_part_of_it(codes: list[int]) -> None:
    uneven, query = (
        Uneven(DOMAIN, ("age",), PLACES, np.ones(40), np.ones(17)),
        Conjunction.where(DOMAIN, {"age": codes}),
    )
    mine: Ints = np.isin(np.arange(40), codes)
    expected = any(0 < mine[block == PLACES].sum() < (block == PLACES).sum() for block in range(17))
    assert uneven.cuts(query) == expected
    assert uneven.cuts(Conjunction.where(DOMAIN, {"other": [0]}))


def test_heaps_of_one_attribute_are_known_inside_blocks() -> None:
    """Tables of single attributes are measured too, so that cells of these are not far off."""
    columns = [5 * (each // 5) for each in numbers(20_000)]
    table = Table(Domain(IntegerRange(name, 0, 99) for name in "ab"), columns)
    release = release_of(table)
    assert any(isinstance(each.target, Blocks) for each in release.measurements)
    found = release.model.marginals([("a", "b")])[0]
    assert found[::5, ::5].sum() > 0.9 * found.sum()
    assert Uneven.of(release.domain, release.measurements, release.total) is None


def test_heaped_values_are_covered_and_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    table = heaped()
    release = release_of(table)
    values, truth = release.workload.answers(release.model), exact_answers(table, release.workload)
    large = values >= 5.0

    def covered() -> float:
        found = simulate_errors(release, 10, seed=0)
        return float(np.mean((np.abs(values - truth) <= found.widths() + 0.5)[large]))

    assert covered() > 0.9
    found = simulate_errors(release, 2, seed=0).answers(["a = 35 and b = 45", "a < 30", "a = 99 and b = 98"])
    assert [found[place].says.endswith("nobody counted") for place in (1, 2)] == [False, True]
    monkeypatch.setattr(errors.Uneven, "of", lambda *_: None)
    assert covered() < 0.85


def test_a_guess_that_is_too_uneven_is_taken_back_by_the_error_that_was_bought() -> None:
    """Heaps along one axis alone, elsewhere for each twenty of the other: blocks along that are even."""
    a, b = numbers(20_000)
    table = Table(Domain(IntegerRange(name, 0, 99) for name in "ab"), [5 * (a // 5) + b // 20, b])
    release = release_of(table)
    values, truth = release.workload.answers(release.model), exact_answers(table, release.workload)
    large = values >= 5.0
    found = simulate_errors(release, 10, seed=0)
    assert 0.5 < found.factor < 0.95
    assert found.errors.sum() == pytest.approx(np.abs(values - truth).sum(), rel=0.05)
    missed = np.abs(values - truth)[large]
    assert np.mean(missed <= found.widths()[large] + 0.5) > 0.9
    assert found.widths()[large].mean() < 3.5 * missed.mean()
    assert errors.unseen_factor(release, seed=0) > 1.0
