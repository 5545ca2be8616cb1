"""The range queries of the MWEM paper: what is drawn, what noise costs, and where the bound stands."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from experiments.datasets import DataSets, find_data
from experiments.experiment import Cell, Measured, Size
from experiments.mwem.oracle import oracle, oracle_curve
from experiments.mwem.published import as_proven, as_published
from experiments.mwem.ranges import EPSILONS, MOST_ROUNDS, TABLES, RangeQueries, setting_of
from experiments.mwem.ranges_findings import (
    AUTOMATIC,
    AVERAGED,
    BOUND,
    ERROR,
    LAPLACE,
    LISTING,
    OWN,
    PAPER_BOUND,
    PROVEN,
    TIGHT_BOUND,
    UNIFORM,
    claims,
    drawings,
)
from experiments.results import Average, Results

from hedgerow import svd_bound
from hedgerow.privacy import ApproxDP
from hedgerow.queries import Neighbours

RECORDS = {"capital-loss": 48_842, "age x hours": 48_842, "recency x frequency": 748, "monetary": 748}
CELLS = {"capital-loss": 4357, "age x hours": 74 * 99, "recency x frequency": 75 * 50, "monetary": 12_251}


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


def cell(mechanism: str, *, table: str = "monetary", queries: int = 40, repetition: int = 1) -> Cell:
    return {"data": table, "queries": queries, "mechanism": mechanism, "repetition": repetition}


def by_epsilon(values: Iterable[Measured], quantity: str) -> dict[float, float]:
    return {float(each.within["epsilon"]): each.value for each in values if each.quantity == quantity}


@pytest.mark.parametrize("table", TABLES)
def test_the_tables_are_those_of_the_readme(table: str, data: DataSets) -> None:
    setting = setting_of(cell(UNIFORM, table=table), data)
    assert (setting.table.total(), setting.workload.domain.size) == (RECORDS[table], CELLS[table])


def test_a_repetition_has_queries_of_its_own_that_all_mechanisms_share(data: DataSets) -> None:
    first, second = (setting_of(cell(each), data).workload for each in (LISTING, PAPER_BOUND))
    assert first.spec == second.spec
    assert first.spec != setting_of(cell(LISTING, repetition=2), data).workload.spec
    assert first.spec != setting_of(cell(LISTING, table="capital-loss"), data).workload.spec


def test_runs_of_one_cell_do_not_share_noise(data: DataSets) -> None:
    setting = setting_of(cell(LISTING), data)
    assert len({setting.seed(epsilon, rounds) for epsilon in EPSILONS for rounds in (1, 2, 4)}) == 12


@pytest.mark.slow
def test_independent_noise_has_the_error_that_it_must_have(data: DataSets) -> None:
    """Mean of 400 squared Laplace noises: its deviation is the root of 5 / 400, 11%; 5 of these are allowed."""
    errors = by_epsilon(RangeQueries().measure(cell(LAPLACE, queries=400), data), ERROR)
    for epsilon, error in errors.items():
        assert error == pytest.approx(2.0 * (400 / epsilon) ** 2, rel=0.56)


@pytest.mark.slow
def test_bounds_at_all_epsilons_are_those_of_the_library(data: DataSets) -> None:
    workload = setting_of(cell(PAPER_BOUND), data).workload
    paper = by_epsilon(RangeQueries().measure(cell(PAPER_BOUND), data), BOUND)
    tight = by_epsilon(RangeQueries().measure(cell(TIGHT_BOUND), data), BOUND)
    for epsilon in EPSILONS:
        loose = svd_bound(workload, ApproxDP(epsilon, 1 / 748), calibration="paper")
        assert loose.variance == pytest.approx(2.0 * math.log(2 * 748) / epsilon**2)
        assert paper[epsilon] == pytest.approx(loose.per_query_mse)
        best = svd_bound(workload, ApproxDP(epsilon, 1 / 748, Neighbours.REPLACE))
        assert tight[epsilon] == pytest.approx(best.per_query_mse)


def test_one_round_of_the_theorem_is_the_uniform_distribution(data: DataSets) -> None:
    """The average of the hypotheses before each round, of which there is one."""
    uniform = by_epsilon(RangeQueries().measure(cell(UNIFORM), data), ERROR)
    proven = [each for each in RangeQueries().measure(cell(PROVEN), data) if each.within["rounds"] == 1]
    assert by_epsilon(proven, ERROR) == pytest.approx(uniform)


def test_there_are_at_most_as_many_rounds_as_queries(data: DataSets) -> None:
    for mechanism in (PROVEN, LISTING, AVERAGED, OWN):
        rounds = {each.within["rounds"] for each in RangeQueries().measure(cell(mechanism, queries=5), data)}
        assert rounds == {1, 2, 4}
        assert MOST_ROUNDS[mechanism] <= 256


def test_the_two_published_forms_differ_as_the_paper_says() -> None:
    proven, listing = as_proven(3), as_published(3)
    assert (proven.output, proven.refit, proven.repeats) == ("average", None, True)
    assert (listing.output, listing.repeats) == ("last", False)
    for each in (proven, listing):
        assert (each.selecting(), each.step, each.offsets, each.spent_initially, each.error_share) == (
            0.5,
            "source",
            False,
            0.0,
            0.0,
        )


def found_of(errors: dict[str, float], bound: float) -> Results:
    """Errors by mechanism that fall as epsilon grows, on one table, at 10 and at 160 queries."""
    averages = []
    for queries in (10, 160):
        for epsilon in (0.0125, 0.1):
            at = {"data": "t", "queries": queries, "epsilon": epsilon}
            for name, error in errors.items():
                for rounds in (1, 2):
                    mean = error * rounds
                    averages.append(Average({**at, "mechanism": name, "rounds": rounds}, ERROR, 1, mean, mean, mean))
            averages.append(Average({**at, "mechanism": AUTOMATIC}, "rounds chosen", 1, 2.0, 2.0, 2.0))
            names = (PAPER_BOUND, TIGHT_BOUND) if queries == 160 else (PAPER_BOUND,)
            at_bound = bound / epsilon**2
            averages += [Average({**at, "mechanism": each}, BOUND, 1, *[at_bound] * 3) for each in names]
    return Results(averages)


ERRORS = {LISTING: 10.0, AUTOMATIC: 40.0, OWN: 20.0, PROVEN: 50.0, AVERAGED: 30.0, LAPLACE: 1e6, UNIFORM: 90.0}


@pytest.mark.parametrize(
    ("bound", "held"),
    [
        (1.0, [True, True, True, True, True, True, True, True]),
        (0.005, [True, False, True, True, False, True, True, True]),
        (0.0001, [False, False, True, False, False, True, True, True]),
    ],
)
def test_claims_follow_the_figures(bound: float, held: list[bool]) -> None:
    """Errors of 10 for the best number of rounds; the bound is 6,400 times ``bound`` at the smallest epsilon."""
    assert [each.holds for each in claims(found_of(ERRORS, bound))] == held


def test_the_choice_of_rounds_is_told_beside_the_best_one() -> None:
    found = claims(found_of(ERRORS, 0.005))
    automatic = next(each for each in found if "automatic" in each.text)
    assert automatic.figures == "bound / error = 0.8 on t (T = 2; with T = 1 2 times less error)"


def test_what_no_data_would_have_answered_as_well_is_told() -> None:
    found = claims(found_of({**ERRORS, AVERAGED: 3.0, UNIFORM: 5.0}, 1.0))
    uniform = next(each for each in found if "uniform" in each.text)
    averaged = next(each for each in found if "the average of all" in each.text)
    assert not uniform.holds
    assert uniform.figures.startswith("in 0 of 2 cases, in 2 of which")
    assert (averaged.holds, averaged.figures) == (False, "in 0 of 2 cases; average / last = 0.3, 0.3")


def test_drawings_hold_one_panel_for_each_table_and_end() -> None:
    errors = {name: 10.0 for name in (LISTING, AUTOMATIC, OWN, PROVEN, AVERAGED, LAPLACE, UNIFORM)}
    found = drawings(found_of(errors, 1.0))
    assert [len(drawing.panels) for drawing in found.values()] == [1, 2]
    panel = found[""].panels[0]
    assert LAPLACE not in panel.curves
    assert list(panel.bounds) == [PAPER_BOUND, TIGHT_BOUND]
    assert [point.mean for point in panel.curves[LISTING]] == [10.0, 10.0]
    assert [point.at for point in found["queries"].panels[0].bounds[PAPER_BOUND]] == [10.0, 160.0]


def test_the_oracle_takes_one_number_of_rounds_for_all_repetitions() -> None:
    runs: list[tuple[Cell, Measured]] = [
        ({"repetition": 1}, Measured("e", 0.0, {"rounds": 1, "epsilon": 0.1})),
        ({"repetition": 2}, Measured("e", 8.0, {"rounds": 1, "epsilon": 0.1})),
        ({"repetition": 1}, Measured("e", 3.0, {"rounds": 2, "epsilon": 0.1})),
        ({"repetition": 2}, Measured("e", 3.0, {"rounds": 2, "epsilon": 0.1})),
    ]
    found = Results.of(runs)
    assert (oracle(found, "e").mean, oracle(found, "e").where["rounds"]) == (3.0, 2)
    assert [point.mean for point in oracle_curve(found, "epsilon", "e")] == [3.0]
    with pytest.raises(KeyError, match="no average of other"):
        oracle(found, "other")


def test_the_full_grid_is_that_of_the_issue() -> None:
    cells = RangeQueries().cells(Size.FULL)
    assert EPSILONS == (0.0125, 0.025, 0.05, 0.1)
    assert {each["repetition"] for each in cells} == {1, 2, 3, 4, 5}
    at_main = {each["mechanism"] for each in cells if each["queries"] == 2000}
    assert at_main == {UNIFORM, LAPLACE, AUTOMATIC, PROVEN, LISTING, AVERAGED, OWN, PAPER_BOUND, TIGHT_BOUND}
