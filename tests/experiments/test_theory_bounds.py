"""What the studies of bounds compare: the theory's own formulas, on tables that theorems speak of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from experiments.datasets import DataSets, find_data
from experiments.experiment import Measured, Size
from experiments.results import Results
from experiments.theory.bound_claims import kept, near
from experiments.theory.bounds import SHEETS, STUDIES, Bounds
from experiments.theory.mw_studies import GENERAL, PRINTED
from experiments.theory.pmw_studies import PURE, enough
from experiments.theory.populations import alike, cells_of, repeated
from experiments.theory.release_studies import BUDGET, TAIL, paying, some_cells
from experiments.theory.sheets import MOST_FAILURE, PASSED, bound_on, held
from experiments.theory.study import ERROR, UPDATES, Ceiling, Reading

from hedgerow import OfflinePMW
from hedgerow.algorithms import Game, cost, theorem
from hedgerow.models import Histogram


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


def readings(data: DataSets, topic: str, run: str, place: float, seed: int = 3) -> list[Reading]:
    return list(STUDIES[topic, run].read(place, seed, data))


def ceilings(reading: Reading) -> dict[str, Ceiling]:
    return {each.name: each for each in reading.ceilings}


@pytest.mark.parametrize(
    ("run", "bound"),
    [
        ("mw (source step)", 2.0 * math.sqrt(8 * math.log(2.0) / 16)),
        ("mw (sharp step)", math.sqrt(8 * math.log(2.0) / 32)),
        ("mw (sharp step), records alike", math.sqrt(8 * math.log(2.0) / 32)),
    ],
)
def test_claim_1(data: DataSets, run: str, bound: float) -> None:
    (found,) = readings(data, "claim 1", run, 16)
    assert found.what == ERROR
    assert found.ceilings[0].value == pytest.approx(bound)
    assert found.ceilings[0].failure == 0.0
    assert 0.05 * bound < found.value <= bound


def test_updates_of_a_fixed_length_reach_alpha(data: DataSets) -> None:
    # On a uniform table nothing is to be done; where all records are alike every alpha below 7/8 takes steps.
    (few,), (many,) = (readings(data, "updates", "mw (sharp step), records alike", alpha) for alpha in (0.9, 0.3))
    assert few.value == 0
    assert 1 <= many.value <= many.ceilings[0].value == math.floor(8 * math.log(2.0) / (2 * 0.09))


def test_theorem_2_3_as_printed_and_at_any_probability(data: DataSets) -> None:
    (found,) = readings(data, "theorem 2.3", "mwem (source step)", 16)
    n, log_cells = 215_740, 8 * math.log(2.0)
    first = 2.0 * math.sqrt(log_cells / 16)
    bounds = ceilings(found)
    assert bounds[PRINTED].value == pytest.approx(first + 10 * 16 * math.log(448) / n)
    assert bounds[PRINTED].failure == pytest.approx(2 * 16 / 448)
    lattice = math.log(2 / (1 + math.exp(-1 / 32)))
    general = 64 * math.log(32 * 448 / 0.05) + 32 * (math.log(32 / 0.05) + lattice)
    assert bounds[GENERAL].value == pytest.approx(first + general / n)
    assert found.value <= bounds[PRINTED].value


def test_offline_runs_have_the_records_that_the_promise_asks_for(data: DataSets) -> None:
    config = OfflinePMW(alpha=0.05, error_share=0.0)
    for same in (False, True):
        for share, promised in ((1.0, True), (0.9, False)):
            table = enough(data, config, share, same=same)
            assert config.plan(cells_of(table), PURE, table.total()).facts["promised"] == promised


def test_a_session_is_brought_near_its_bound(data: DataSets) -> None:
    error, updates = readings(data, "online 4b, 4c", "online 4c (pure)", 0.1841)
    assert 0.5 * error.ceilings[0].value < error.value <= error.ceilings[0].value
    assert (updates.what, updates.ceilings[0].value) == (UPDATES, 185)
    assert 0 < updates.value <= 185


def test_dual_query_has_just_the_records_that_its_budget_pays_for(data: DataSets) -> None:
    table, once = paying(data, "optimised", 0.5), data.table("czech").total()
    for records, affordable in ((table.total(), True), (table.total() - once, False)):
        game = Game.of(cells_of(table), BUDGET, records, 0.05)
        assert (cost(theorem("optimised", 0.5, game), game, BUDGET.regime) <= BUDGET.limit) == affordable


def test_the_tail_of_independent_noise(data: DataSets) -> None:
    (found,) = readings(data, "noise", "laplace", 64)
    assert ceilings(found)[TAIL].value == pytest.approx(64 / 21_574 * math.log(64 / 0.05))
    assert some_cells(data.table("nltcs"), 64, 1).n_queries == 64


def test_every_study_is_drawn() -> None:
    drawn = {sheet.topic for sheets in SHEETS.values() for sheet in sheets}
    assert drawn == {topic for topic, _ in STUDIES}
    assert all(len(sheets) <= 6 for sheets in SHEETS.values())
    assert {size: len(Bounds().cells(size)) for size in (Size.TINY, Size.QUICK)}[Size.TINY] == len(STUDIES)


def test_tables_that_theorems_speak_of(data: DataSets) -> None:
    table = data.table("czech")
    many, one = repeated(table, 50), alike(table.domain, 70)
    names = [table.domain.names]
    assert np.array_equal(many.marginals(names)[0], 50 * table.marginals(names)[0])
    cells = one.marginals(names)[0]
    assert cells.max() == one.total() == 70
    gap = cells_of(one).answers(one) - cells_of(one).answers(Histogram(table.domain, 70.0))
    assert np.abs(gap).max() == pytest.approx(70 * 7 / 8)


def found_of(values: list[float], *, bound: float, failure: float) -> Results:
    """Runs with one bound."""
    cells = [{"topic": "t", "run": "r", "at": 1, "repetition": number + 1} for number in range(len(values))]
    where = {"bound": "b"}
    return Results.of(
        (cell, each)
        for cell, value in zip(cells, values, strict=True)
        for each in (
            Measured(ERROR, value),
            Measured(bound_on(ERROR), bound, where),
            Measured(MOST_FAILURE, failure, where),
            Measured(PASSED, float(value > bound), where),
        )
    )


@pytest.mark.parametrize(("failure", "holds"), [(0.5, True), (0.02, True), (0.0002, False), (0.0, False)])
def test_a_bound_that_is_passed_too_often_is_told(failure: float, holds: bool) -> None:
    found = found_of([0.1, 0.1, 0.3, 0.1], bound=0.2, failure=failure)
    claim = kept(found)
    assert claim.holds == holds
    assert claim.figures == "1 of 4 comparisons of a run with a bound; 1 of 4 b"


def test_bounds_are_compared_where_they_say_something() -> None:
    found = found_of([0.02] * 3, bound=0.1, failure=0.05)
    (each,) = held(found)
    assert (each.ratio, each.says_something) == (pytest.approx(5.0), True)
    assert not replace(each, bound=1.0).says_something
    assert not replace(each, failure=1.0).says_something
    assert near(found, "", [ERROR], ["t"]).figures == "b: 5.0 times"
    assert not near(found_of([0.005] * 3, bound=0.1, failure=0.05), "", [ERROR], ["t"]).holds
    assert "nothing" in near(found_of([0.02] * 3, bound=1.5, failure=0.05), "", [ERROR], ["t"]).figures
