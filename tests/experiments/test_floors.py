"""The floors of most entropy, and what the curves of relative entropy say about each other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from experiments.datasets import DataSets, find_data
from experiments.experiment import Cell, Size
from experiments.mwem.contingency import (
    BY_HAND,
    DIVERGENCE,
    FLOORS,
    FOURIER,
    HISTOGRAM,
    HISTOGRAM_AUTOMATIC,
    MEASURED,
    MOST_SWEPT,
    WORST,
    Released,
    parities_of,
)
from experiments.mwem.divergences import crossing
from experiments.mwem.floors import AGREED, floor_of
from experiments.mwem.nltcs import Survey
from experiments.mwem.tables import ATTRIBUTES, LARGEST, ContingencyTables

from hedgerow import MWEM
from hedgerow.data import Table
from hedgerow.privacy import exact_answers, exact_total
from hedgerow.queries import Workload
from hedgerow.report import Point

TABLES = ("mildew", "rochdale", "czech")


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


def deviance(data: DataSets, name: str, order: int) -> float:
    table = data.table(name)
    return 2 * exact_total(table) * floor_of(table, order).relative_entropy


def test_the_deviance_of_all_pairs_of_rochdale_is_the_published_one(data: DataSets) -> None:
    assert deviance(data, "rochdale", 2) == pytest.approx(144.56, abs=0.005)


@pytest.mark.parametrize("name", TABLES)
def test_without_interactions_the_floor_is_the_distance_to_independence(data: DataSets, name: str) -> None:
    table = data.table(name)
    total = exact_total(table)

    def entropy(order: int) -> float:
        answers = exact_answers(table, Workload.marginals(table.domain, order)) / total
        return -float(np.sum(answers[answers > 0] * np.log(answers[answers > 0])))

    whole = entropy(len(table.domain))
    assert floor_of(table, 1).relative_entropy == pytest.approx(entropy(1) - whole, abs=1e-9)
    assert floor_of(table, 0).relative_entropy == pytest.approx(math.log(table.domain.size) - whole, abs=1e-9)


@pytest.mark.parametrize(("name", "order"), [(name, order) for name in TABLES for order in (1, 2)] + [("czech", 3)])
def test_proportional_fitting_from_the_uniform_distribution_ends_there_too(
    data: DataSets, name: str, order: int
) -> None:
    quick, slow = (floor_of(data.table(name), order, from_uniform=uniform) for uniform in (False, True))
    assert slow.relative_entropy == pytest.approx(quick.relative_entropy, abs=2e-6)
    assert quick.sweeps == 1
    assert slow.gap <= 1e-4  # 300 sweeps leave so much where a marginal has an empty cell


@pytest.mark.parametrize("name", TABLES)
def test_floors_fall_to_nothing_and_agree_with_the_marginals(data: DataSets, name: str) -> None:
    floors = [floor_of(data.table(name), order) for order in range(5)]
    values = [floor.relative_entropy for floor in floors]
    assert values == sorted(values, reverse=True)
    assert all(floor.gap <= AGREED for floor in floors)
    every = floor_of(data.table(name), len(data.domain(name)))
    assert every.relative_entropy == pytest.approx(0.0, abs=1e-6)


def cell(mechanism: str, epsilon: float, rounds: int = 0) -> Cell:
    return {"mechanism": mechanism, "epsilon": epsilon, "rounds": rounds, "repetition": 1}


def parities(table: Table, order: int = 3) -> Released:
    return Released(table, Workload.parities(table.domain, order))


def test_no_release_comes_below_the_floor_of_what_it_measured(data: DataSets) -> None:
    """With hardly any noise all parities of up to three attributes give the floor of k = 3, and nothing less."""
    table = data.table("rochdale")
    found = {each.quantity: each.value for each in parities(table).measured("test", cell(FOURIER, 1e7))}
    floor = floor_of(table, 3).relative_entropy
    assert floor - 1e-6 <= found[DIVERGENCE] <= floor + 2e-3
    assert found[MEASURED] == 92


def test_what_is_far_off_counts_as_the_worst(data: DataSets) -> None:
    found = parities(data.table("mildew")).measured("test", cell(HISTOGRAM, 0.01, rounds=8))
    assert next(iter(found)).value == WORST


def test_the_listing_stops_at_the_rounds_that_can_be_waited_for(data: DataSets) -> None:
    released = parities(data.table("czech"))
    few, many = (released.configured(cell(HISTOGRAM_AUTOMATIC, epsilon)) for epsilon in (0.1, 1e4))
    assert isinstance(few, MWEM)
    assert isinstance(few.rounds, int)
    assert 1 < few.rounds < MOST_SWEPT
    assert many == replace(few, rounds=MOST_SWEPT)


@pytest.mark.parametrize("size", list(Size))
def test_the_rounds_by_hand_end_with_all_parities(data: DataSets, size: Size) -> None:
    for name in {str(each["data"]) for each in ContingencyTables().cells(size)}:
        domain = data.domain(name)
        assert len(domain) == ATTRIBUTES[name]
        tried = [
            int(each["rounds"])
            for each in ContingencyTables().cells(size)
            if each["data"] == name and each["mechanism"] == BY_HAND
        ]
        assert max(tried) == Workload.parities(domain, LARGEST).n_candidates == parities_of(len(domain), LARGEST)


@pytest.mark.parametrize("size", list(Size))
def test_floors_are_computed_once(size: Size) -> None:
    tables, survey = ContingencyTables(), Survey()
    of_tables = [str(each["data"]) for each in tables.cells(size) if each["mechanism"] == FLOORS]
    assert sorted(of_tables) == sorted({str(each["data"]) for each in tables.cells(size)})
    assert sum(each["mechanism"] == FLOORS for each in survey.cells(size)) == 1


def curve(*means: float) -> list[Point]:
    return [Point(10.0**place, mean, mean, mean) for place, mean in enumerate(means)]


def test_a_crossing_is_where_the_second_curve_stays_below() -> None:
    assert crossing(curve(1, 1, 1, 1), curve(2, 0.5, 2, 0.5)) == pytest.approx(10**2.5)
    assert crossing(curve(1, 1, 1), curve(0.5, 0.5, 2)) == math.inf
    assert crossing(curve(1, 1, 1), curve(0.5, 0.5, 0.5)) is None
