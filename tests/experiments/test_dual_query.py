"""DualQuery's experiments: what parameters cost by each theorem, what is drawn, and what the figures would say."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.datasets import DataSets, find_data
from experiments.dual_query.conjunctions import ATTRIBUTES, all_cells, drawn, whole_marginals
from experiments.dual_query.error_findings import (
    ALL,
    AVERAGE,
    LAPLACE,
    LARGEST,
    MIDDLE,
    MWEM_CELLS,
    NEW,
    ORIGINAL,
    UNIFORM,
    WHOLE_GAUSSIAN,
    WHOLE_LAPLACE,
    ZERO,
    claims_of,
)
from experiments.dual_query.errors import DualQueryErrors
from experiments.dual_query.plays import play_of
from experiments.experiment import Claim, Measured, Size
from experiments.results import Results

from hedgerow import ApproxDP, Domain, DualQuery, IntegerRange, SeededNoise
from hedgerow.algorithms import ANY_ZCDP, HETEROGENEOUS, PAPER, TIGHT_ZCDP, Game, Parameters
from hedgerow.data import Table
from hedgerow.privacy import exact_answers

GAME = Game(queries=3_000, log_cells=14.0, total=50_000)


@pytest.fixture(scope="module")
def data() -> DataSets:
    return find_data()


def small_table(records: int = 3_000) -> Table:
    domain = Domain(IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (2, 3, 4, 5), strict=True))
    rng = np.random.default_rng(0)
    return Table(domain, [rng.integers(attribute.size, size=records) ** 2 % attribute.size for attribute in domain])


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("statement", [PAPER, HETEROGENEOUS, ANY_ZCDP])
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_a_theorem_is_paid_exactly_epsilon_and_the_tightest_less(statement: str, epsilon: float) -> None:
    play = play_of(statement, epsilon, 1e-6, GAME)
    costs = play.accounting(GAME, 1e-6).epsilons
    assert costs[statement] == pytest.approx(epsilon, rel=1e-9)
    assert costs[statement] <= epsilon
    assert costs[TIGHT_ZCDP] < 0.7 * epsilon


def test_tighter_theorems_pay_for_more_rounds_and_samples() -> None:
    plays = [play_of(statement, 1.0, 1e-6, GAME) for statement in (PAPER, ANY_ZCDP, TIGHT_ZCDP)]
    assert [play.rounds for play in plays] == sorted({play.rounds for play in plays})
    assert [play.samples for play in plays] == sorted({play.samples for play in plays})


def chosen_in_a_run(play: Parameters | None, budget: ApproxDP) -> dict[str, dict[str, float]]:
    table = small_table()
    given = {} if play is None else {"rounds": play.rounds, "step": play.step, "samples": play.samples}
    config = DualQuery(**given, error_share=0.0, seed=0)  # type: ignore[arg-type]
    release = config.run(table, all_cells(table.domain), budget, noise=SeededNoise(0))
    return dict(release.provenance.parameters)


def test_the_run_itself_says_what_its_parameters_cost() -> None:
    budget = ApproxDP(1.0, 1e-6, "replace")  # type: ignore[arg-type]
    workload = all_cells(small_table().domain)
    game = Game.of(workload, budget, 3_000.0, DualQuery().beta)
    found = chosen_in_a_run(play_of(PAPER, 1.0, 1e-6, game), budget)
    assert found["accounting"][PAPER] == pytest.approx(1.0, rel=1e-9)
    automatic, ours = chosen_in_a_run(None, budget)["chosen"], play_of(TIGHT_ZCDP, 1.0, 1e-6, game)
    assert (automatic["rounds"], automatic["samples"]) == (ours.rounds, ours.samples)
    assert automatic["step"] == pytest.approx(ours.step, rel=1e-9)


def test_cells_stand_in_the_order_of_the_whole_marginals() -> None:
    table = small_table()
    single, whole = (exact_answers(table, of(table.domain)) for of in (all_cells, whole_marginals))
    assert single.tolist() == whole.tolist()
    assert len(set(single.tolist())) > 20


def test_drawn_conjunctions_are_distinct_and_of_three_attributes() -> None:
    domain = small_table().domain
    queries = [drawn(domain, 100, 1).candidate(i) for i in range(100)]
    assert len(set(map(str, queries))) == 100
    assert {len(query.scope) for query in queries} == {3}
    assert len({query.scope for query in queries}) == 4
    assert (
        str(drawn(domain, 100, 2).candidate(0)) != str(queries[0])
        or drawn(domain, 9, 2).spec != drawn(domain, 9, 1).spec
    )


def test_all_conjunctions_of_adult_have_that_number_and_small_answers(data: DataSets) -> None:
    assert all_cells(data.domain("adult", ATTRIBUTES)).n_queries == ALL
    cell = {"queries": ALL, "mechanism": ZERO, "epsilon": 1.0, "repetition": 1}
    errors = {each.quantity: each.value for each in DualQueryErrors().measure(cell, data)}
    assert errors[AVERAGE] == pytest.approx(56 / ALL)  # the cells of each marginal hold every record once
    assert 0.5 < errors[LARGEST] < 0.6


def test_mechanisms_of_a_repetition_get_the_same_conjunctions(data: DataSets) -> None:
    def worst(mechanism: str, repetition: int) -> list[float]:
        cell = {"queries": 50, "mechanism": mechanism, "epsilon": 1e9, "repetition": repetition}
        return [each.value for each in DualQueryErrors().measure(cell, data)]

    assert worst(ZERO, 1) != worst(ZERO, 2)
    assert max(worst(LAPLACE, 1)) < 1e-6  # compared with the exact answers to the queries that were asked


def made_up(dearer: float) -> Results:
    """Errors that fall as the root of epsilon, the original bound's as if it paid for so much less."""
    worth = {NEW: 1.0, MIDDLE: dearer**-0.5, ORIGINAL: 1.0 / dearer, MWEM_CELLS: 100.0}
    runs = []
    for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0):
        errors = {name: 0.05 * (each * epsilon) ** -0.5 for name, each in worth.items()}
        errors |= {WHOLE_LAPLACE: 0.05 / epsilon, WHOLE_GAUSSIAN: 0.01 / epsilon, UNIFORM: 0.9, ZERO: 0.05}
        for name, error in errors.items():
            if name not in (UNIFORM, ZERO) or epsilon == 0.1:
                cell = {"queries": ALL, "mechanism": name, "epsilon": epsilon, "repetition": 1}
                runs += [(cell, Measured(kind, error)) for kind in (AVERAGE, LARGEST)]
    for queries in (100, 10_000):
        for name, error in {NEW: 0.05, LAPLACE: queries * 1e-4}.items():
            cell = {"queries": queries, "mechanism": name, "epsilon": 1.0, "repetition": 1}
            runs.append((cell, Measured(LARGEST, error)))
    return Results.of(runs)


def claim(claims: list[Claim], text: str) -> Claim:
    found = [each for each in claims if text in each.text]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("dearer", [3.0, 4.5])
def test_the_price_of_an_accounting_is_read_from_errors(dearer: float) -> None:
    found = claim(claims_of(made_up(dearer)), "times the epsilon")
    assert float(found.figures.split()[0]) == pytest.approx(dearer, rel=0.02)
    assert found.holds == (dearer > 3.46)


def test_claims_say_where_a_rival_is_better() -> None:
    claims = claims_of(made_up(4.0))
    noise = claim(claims, "largest error is below that of noise on whole marginals")
    assert not noise.holds
    assert "0.1, 0.2, 0.5; Gaussian" in noise.figures
    assert noise.figures.endswith("none")
    zero = claim(claims, "answering 0")
    assert not zero.holds
    assert zero.figures.endswith("2, 5")
    assert claim(claims, "uniform").holds
    assert claim(claims, "MWEM").holds
    numbers = claim(claims, "conjunctions to many")
    assert numbers.holds
    assert numbers.figures.endswith("better at 10,000")


def test_guesses_are_made_once_and_repetitions_are_outermost() -> None:
    cells = DualQueryErrors().cells(Size.FULL)
    assert [cell["repetition"] for cell in cells] == sorted(int(cell["repetition"]) for cell in cells)
    guesses = [c for c in cells if c["queries"] == ALL and c["mechanism"] == UNIFORM and c["repetition"] == 1]
    assert len(guesses) == 1
