"""Blocks that follow from noisy counts: their number, their shape, and what they are a function of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM, Domain, IntegerRange, PureDP, SeededNoise, Table, Workload
from hedgerow.algorithms import MWEMRun, cut_where_counts_are
from hedgerow.algorithms.mwem.settings import least_of_parts
from hedgerow.algorithms.strategies import cutting
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import impossible, width_level
from hedgerow.privacy import Curator
from hedgerow.queries import Blocks, Marginal, Measurable, Measurement, Neighbours, NoiseKind
from tests.privacy.mutants import Mutant, killed

A, B = IntegerRange("a", 0, 13), IntegerRange("b", 0, 9)
PLANE = Domain((A, B), (width_level(A, 5), width_level(B, 4)))


def measured(target: Measurable, seed: int, scale: float = 2.0) -> Measurement:
    values = np.random.default_rng(seed).exponential(30.0, target.size)
    return Measurement(target, values, NoiseKind.LAPLACE, scale)


def slow(nodes: Ints, counts: Floats, least: float) -> Ints:
    """Each node cut by itself, one attribute after the other, shortest first."""
    found, number = np.full(nodes.shape, -1), 0
    for node, count in enumerate(counts):
        inside = np.argwhere(nodes == node)
        lows = inside.min(axis=0)
        sizes = inside.max(axis=0) - lows + 1
        parts, left = [1] * nodes.ndim, max(1.0, count / least)
        for place, axis in enumerate(sorted(range(nodes.ndim), key=sizes.__getitem__)):
            parts[axis] = min(int(sizes[axis]), math.ceil(left ** (1.0 / (nodes.ndim - place)) - 1e-9))
            left = max(1.0, left / parts[axis])
        for cell in product(*map(range, parts)):
            ends = [
                [low + i for i in range(size) if ((i + 1) * many - 1) // size == each]
                for low, size, many, each in zip(lows, sizes, parts, cell, strict=True)
            ]
            found[np.ix_(*ends)] = number
            number += 1
    return found


@pytest.mark.parametrize("least", [0.5, 3.0, 10.0, 100.0, 1e6])
def test_blocks_are_those_of_each_node_cut_alone(least: float) -> None:
    coarse, fine = Marginal(PLANE, ("a.5", "b.4")), Marginal(PLANE, ("a", "b"))
    noisy = measured(coarse, 3)
    total = float(noisy.values.sum())
    nodes = (np.arange(14) // 5)[:, None] * 3 + np.arange(10) // 4
    expected = slow(nodes, noisy.values, least)
    found = cut_where_counts_are(fine, [noisy], total, least)
    if isinstance(found, Marginal):
        assert int(expected.max()) + 1 == fine.size
        return
    np.testing.assert_array_equal(found.places, expected)
    finer = cut_where_counts_are(fine, [noisy, measured(found, 4)], total, least / 4.0)
    if isinstance(finer, Blocks):
        pairs = np.unique(np.stack([finer.places.reshape(-1), found.places.reshape(-1)]), axis=1)
        assert len(pairs.T) == finer.size  # no block of the second is in two of the first


def test_levels_are_cut_at_their_values() -> None:
    age = IntegerRange("age", 0, 99)
    domain = Domain((age,), (width_level(age, 5), width_level(age, 25)))
    noisy = Measurement(Marginal(domain, ("age.25",)), np.array([90.0, 30.0, 9.0, 0.0]), NoiseKind.LAPLACE, 1.0)
    found = cut_where_counts_are(Marginal(domain, ("age.5",)), [noisy], 129.0, 10.0)
    assert isinstance(found, Blocks)
    assert found.scope == ("age.5",)
    assert found.places.tolist() == [0, 1, 2, 3, 4, 5, 6, 6, 7, 7, *[8] * 5, *[9] * 5]


def test_nothing_measured_and_no_noise_leave_the_table() -> None:
    table = Marginal(PLANE, ("a", "b"))
    assert cut_where_counts_are(table, [], 10.0, 1.0) is table
    assert cut_where_counts_are(table, [measured(Marginal(PLANE, ("a.5", "b.4")), 1)], 300.0, 0.0) is table


def test_cells_are_joined_by_noisy_values_alone() -> None:
    """Runs on different records whose noisy answers are made equal measure the same blocks."""
    domain = Domain((IntegerRange("a", 0, 63), IntegerRange("b", 0, 63)))
    workload = Workload.ranges(domain, ["a", "b"], 50, seed=1)
    told, measure = [], Curator.measure
    for seed in (1, 2):
        rng, targets = np.random.default_rng(seed), list[Measurable]()
        table = Table(domain, list(rng.integers(0, 64 // seed**2, (2, 3000))))
        curator = Curator(table, PureDP(0.05, Neighbours.REPLACE), noise=SeededNoise(seed))
        with pytest.MonkeyPatch.context() as patched:

            def told_alike(
                self: Curator,
                target: Measurable,
                charge: float,
                kind: NoiseKind | None = None,
                targets: list[Measurable] = targets,
            ) -> Measurement:
                targets.append(target)
                return measured(target, len(targets), measure(self, target, charge, kind=kind).scale)

            patched.setattr(Curator, "measure", told_alike)
            MWEM().run_with(curator, workload)
        told.append([each.places.tolist() for each in targets if isinstance(each, Blocks)])
    assert told[0] == told[1]
    assert told[0]


@pytest.mark.parametrize("joined", [True, False])
def test_rules_and_other_fits_keep_whole_tables(joined: bool) -> None:
    ruled = Domain(PLANE.attributes, PLANE.declared, [impossible(PLANE, "a < 3 and b > 5")])
    workload = Workload.ranges(PLANE if joined else ruled, ["a", "b"], 9, seed=1)
    assert (least_of_parts(MWEM(), workload) > 0.0) is joined
    assert least_of_parts(MWEM(refit=None), workload) == 0.0


def test_towns_are_told_better_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed seeds; a fourth less error than from whole tables is far beyond chance."""
    rng = np.random.default_rng(7)
    places = rng.uniform(8.0, 56.0, (3, 2))[rng.integers(3, size=20_000)] + rng.normal(0.0, 4.0, (20_000, 2))
    domain = Domain((IntegerRange("a", 0, 63), IntegerRange("b", 0, 63)))
    table = Table(domain, list(np.clip(places, 0, 63).astype(np.int64).T))
    workload = Workload.ranges(domain, ["a", "b"], 400, seed=9)

    def error() -> float:
        exact, found = workload.answers(table), list[float]()
        for seed in range(4):
            release = MWEM().run(table, workload, PureDP(0.1), noise=SeededNoise(seed))
            found.append(np.abs(workload.answers(release.model) / release.total - exact / 20_000.0).mean())
        return float(np.mean(found))

    ours = error()
    monkeypatch.setattr("hedgerow.algorithms.mwem.settings._HELD", 0.0)
    assert ours < 0.75 * error()


def exact_counts(patch: pytest.MonkeyPatch) -> None:
    """Cells are joined where there are truly few records."""
    cut = MWEMRun._cut

    def cutting_by_records(self: Any, target: Measurable, charge: float, held: float) -> Measurable:
        measurements, source = self.learner.measurements, self.curator._Curator__source
        exact = [
            replace(each, values=each.target.of_table(source.marginals([each.target.scope])[0]))
            for each in measurements
        ]
        measurements[:], noisy = exact, list(measurements)
        found = cut(self, target, charge, held)
        measurements[:] = noisy
        return found

    patch.setattr(MWEMRun, "_cut", cutting_by_records)


def changed_parts(change: Callable[[Ints, Floats], tuple[Ints, Floats]]) -> Callable[[pytest.MonkeyPatch], None]:
    """Other parts than those of boxes of some sizes, as many as wanted."""
    right = cutting._blocks_along
    return lambda patch: patch.setattr(cutting, "_blocks_along", lambda sizes, wanted: right(*change(sizes, wanted)))


def one_attribute_alone(patch: pytest.MonkeyPatch) -> None:
    """Boxes are cut along their first attribute only."""
    right = cutting._blocks_along
    patch.setattr(cutting, "_blocks_along", lambda sizes, wanted: np.where([True, False], right(sizes, wanted), 1))


ALONE = partial(test_blocks_are_those_of_each_node_cut_alone, 3.0)
MUTANTS = (
    Mutant("cells joined by the exact counts", exact_counts, test_cells_are_joined_by_noisy_values_alone),
    Mutant("parts twice as many as records allow", changed_parts(lambda sizes, wanted: (sizes, 2.0 * wanted)), ALONE),
    Mutant("parts however few the records are", changed_parts(lambda sizes, wanted: (sizes, 1e9 * wanted)), ALONE),
    Mutant("parts along one attribute alone", one_attribute_alone, ALONE),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
