"""Automatic rounds: a fixed strategy or adaptive rounds, from public and noisy numbers alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import holds, predicted
from hedgerow.algorithms.mwem import strategy_choice
from hedgerow.algorithms.mwem.settings import OptimizeFor
from hedgerow.algorithms.mwem.strategy_choice import (
    StrategyChoice,
    accounted,
    choose_strategy,
    is_over_tree,
    may_be_fixed,
    sampling_error,
)
from hedgerow.algorithms.strategies import singly, strategies
from hedgerow.arrays import Ints
from hedgerow.audit import audit_files
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import LARGEST_TREE, Empirical, Sweeps
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Regime, Register, SeededNoise
from hedgerow.queries import Neighbours, NoiseKind, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import losses
from tests.privacy.mutants import Mutant, killed
from tests.privacy.tables import binary

DOMAIN = Domain(IntegerRange(name, 0, size) for name, size in zip("abcd", (1, 2, 3, 4), strict=True))
PAIRS = Workload.marginals(DOMAIN, 2)
WIDE = Workload.marginals(Domain(IntegerRange(name, 0, 3) for name in "abcdefghij"), 2)
MIXED = Workload.parse("marginals:2; where: a = 1 and b < 2, c = 0; prefixes:d", DOMAIN)
APPROXIMATE = ApproxDP(1.0, 1e-9)


def table(records: int = 3000, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    first = rng.integers(2, size=records)
    others = [np.minimum(rng.integers(size, size=records) + first, size - 1) for size in (3, 4, 5)]
    return Table(DOMAIN, [first, *others])


def run(workload: Workload = PAIRS, budget: Budget = APPROXIMATE, config: MWEM | None = None) -> Release:
    return (config or MWEM()).run(table(), workload, budget, noise=SeededNoise(1))


@pytest.mark.parametrize("workload", [PAIRS, MIXED, Workload.marginals(DOMAIN, 1), Workload.parse("cells:2", DOMAIN)])
@pytest.mark.parametrize("budget", [APPROXIMATE, PureDP(0.5), ZCDP(0.05, "replace"), GDP(0.3)], ids=repr)
def test_a_fixed_strategy_is_measured_as_it_was_divided(workload: Workload, budget: Budget) -> None:
    release = run(workload, budget)
    decided = release.provenance.parameters["decided"]
    assert decided["taken"] == "fixed"
    assert not [event for event in release.events if event.label == "select"]
    charge = MWEM().charges(release.budget.limit, release.budget.neighbours, release.domain).rounds
    found = strategies(workload, release.budget, charge, total=decided["total"])
    taken = next(each for each in found if each.name == decided["fixed"])
    steps = list(taken.steps_without_total)
    assert math.fsum(step for _, step in steps) == pytest.approx(charge)
    measured = [event for event in release.events if event.label == "measure"]
    assert [event.target for event in measured] == [target.text for target, _ in steps]
    assert [event.charge for event in measured] == pytest.approx([each for _, each in steps])
    assert math.fsum(event.charge for event in release.events) <= release.budget.limit
    assert decided["fixed_error"] == pytest.approx(taken.mean_error / decided["total"])


def test_of_levels_the_tables_that_are_measured_are_told() -> None:
    """No errors are compared, so none of a strategy that is not taken is told."""
    ages, columns = IntegerRange("age", 0, 999), [np.arange(5000) % 1000, np.arange(5000) % 2]
    domain = Domain((ages, IntegerRange("sex", 0, 1)))
    workload = Workload.marginals(domain, cliques=[("age", "sex"), ("sex", "age.100"), ("sex",)])
    release = MWEM().run(Table(domain, columns), workload, PureDP(1.0), noise=SeededNoise(1))
    decided = release.provenance.parameters["decided"]
    assert set(decided) == {"taken", "measured", "total"}
    assert decided["taken"] == "levels"
    assert decided["measured"] == [each.target.text for each in release.measurements]
    assert decided["measured"] == ["sex", "sex * age.100", "age", "age * sex"]


def test_the_decision_rests_on_the_noisy_number_of_records_that_was_paid_for() -> None:
    """Tables of the same noisy number are treated alike, and nothing is decided before it is in the ledger."""
    release = run()
    first = release.events[0]
    assert first.label == "total"
    assert first.charge > 0.0
    decided = release.provenance.parameters["decided"]
    assert decided["total"] != 3000.0
    other = MWEM().run(table(seed=5), PAIRS, APPROXIMATE, noise=SeededNoise(1))
    assert other.provenance.parameters["decided"] == decided
    assert json.loads(json.dumps(decided)) == decided


def test_a_plan_with_the_same_number_decides_the_same() -> None:
    for workload in (PAIRS, MIXED):
        decided = run(workload).provenance.parameters["decided"]
        plan = MWEM().plan(workload, APPROXIMATE, decided["total"])
        assert plan.to_dict()["decision"] == decided
        assert "fixed measurements" in dict(plan.lines(decided["total"]))["decision"]
        assert json.dumps(plan.to_dict())


def test_predicted_errors_are_those_of_runs() -> None:
    """On a table that no constant was fitted to."""
    for epsilon in (0.3, 1.0, 3.0):
        budget = ApproxDP(epsilon, 1e-9)
        errors, predicted = [], []
        for seed in range(4):
            release = MWEM().run(table(), PAIRS, budget, noise=SeededNoise(seed))
            off = PAIRS.answers(release.model) / release.total - PAIRS.answers(table()) / 3000
            errors.append(PAIRS.candidate_errors(off).mean() / 2.0)  # half the sum of a table is its distance
            predicted.append(release.provenance.parameters["decided"]["fixed_error"])
        assert 0.75 < np.mean(errors) / np.mean(predicted) < 1.33


def test_no_choice_is_left_by_a_configuration_that_says_what_is_wanted() -> None:
    chosen = [
        MWEM(rounds=3),
        MWEM(rounds="annealed"),
        MWEM(rounds="adaptive"),
        MWEM(rounds="bound"),
        MWEM(refit=None),
        MWEM(refit=Sweeps(2)),
        MWEM(output="average"),
        MWEM(initial="one-way"),
        MWEM(noise=NoiseKind.LAPLACE),
        MWEM(repeats=True),
    ]
    assert not any(may_be_fixed(config, PAIRS) for config in chosen)
    assert all(choose_strategy(config, PAIRS, APPROXIMATE, 0.01, 1000.0) is None for config in chosen)
    assert not may_be_fixed(MWEM(), Workload.prefixes(DOMAIN, "d"))
    release = run(config=MWEM(rounds=3))
    assert "decided" not in release.provenance.parameters


def test_what_nothing_can_hold_is_not_taken() -> None:
    wide = Domain(IntegerRange(f"x{place}", 0, 9) for place in range(30))
    single, pairs = (Workload.marginals(wide, order) for order in (1, 2))
    assert holds(MWEM(), strategies(single, PureDP(1.0))[0])
    fixed = strategies(pairs, ZCDP(0.1))[0]
    assert holds(MWEM(), fixed)
    assert is_over_tree(MWEM(), fixed)
    assert holds(MWEM(largest_tree=10**40), fixed)
    assert not is_over_tree(MWEM(largest_tree=10**40), fixed)
    levels = Workload.parse("marginals:2 @levels", Domain(IntegerRange(f"x{place}", 0, 99) for place in range(30)))
    assert not any(holds(MWEM(), each) for each in strategies(levels, ZCDP(0.1)))
    assert choose_strategy(MWEM(), levels, ZCDP(0.1), 0.1, 1e5) is None


@pytest.mark.slow
def test_no_error_of_a_file_is_predicted_where_records_are_moved_towards_few_tables() -> None:
    """Records have all pairs of 60 columns, and not all triples: there errors of answers are compared."""
    wide = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(60))
    pairs, triples = (Workload.marginals(wide, order) for order in (2, 3))
    for total in (1e4, 1e5, 1e7):
        moved, drawn = (choose_strategy(MWEM(), each, ZCDP(0.1), 0.1, total) for each in (pairs, triples))
        assert moved is not None
        assert drawn is not None
        assert moved.fixed_drawing == pytest.approx(0.2 * sampling_error(pairs, total))
        assert drawn.fixed_records_error is None
        assert drawn.to_dict()["fixed_records_error"] is None
        assert drawn.compared == (drawn.fixed_error, drawn.adaptive_error)
        assert "records not predicted if fixed" in dict(drawn.lines())[""]


def chosen_for(optimize_for: OptimizeFor, workload: Workload = PAIRS, total: float = 1e4) -> StrategyChoice:
    found = choose_strategy(MWEM(optimize_for=optimize_for), workload, ZCDP(0.01), 0.01, total)
    assert found is not None
    return found


def test_what_is_compared_is_what_was_asked_for() -> None:
    answers, records = chosen_for("answers"), chosen_for("records")
    assert answers.compared == (answers.fixed_error, answers.adaptive_error)
    assert records.compared == (records.fixed_records_error, records.adaptive_records_error)
    for workload, total in ((PAIRS, 1e4), (WIDE, 1e4), (WIDE, 1e7)):
        found = chosen_for("records", workload, total)
        drawing = 0.6 * sampling_error(workload, total) * math.sqrt(min(1.0, workload.domain.size / (2.0 * total)))
        assert found.fixed_records_error == pytest.approx(math.hypot(found.fixed_error, drawing))
        assert found.adaptive_records_error == pytest.approx(math.hypot(found.adaptive_error, drawing))
    for each in (answers, records):
        assert each.to_dict()["optimize_for"] == each.optimize_for
        assert f"by the predicted error of {each.optimize_for}" in dict(each.lines())["decision"]


def test_the_sampling_error_of_even_cells_is_that_of_independent_records() -> None:
    """As draws show, for tables and single queries; uneven cells have less."""
    domain, rng = Domain((IntegerRange("a", 0, 3), IntegerRange("b", 0, 4))), np.random.default_rng(0)

    def error(workload: Workload, counts: Ints) -> float:
        cells, whole = np.repeat(np.arange(20), counts), np.array([each.whole for each in workload.families])
        truth, errors = workload.answers(Table(domain, [cells // 5, cells % 5])), list[float]()
        for _ in range(200):
            drawn = rng.choice(cells, size=cells.size)
            off = workload.answers(Table(domain, [drawn // 5, drawn % 5])) - truth
            halves = np.repeat(np.where(whole, 0.5, 1.0), [each.n_candidates for each in workload.families])
            errors.append(float(np.mean(halves * workload.candidate_errors(off))) / cells.size)
        return float(np.mean(errors))

    for text, even in (("marginals:2", 1.0), ("marginals:1; where: a <= 1", 1.0), ("cells:1", 0.8)):
        workload = Workload.parse(text, domain)
        expected = sampling_error(workload, 2000.0)
        assert error(workload, np.full(20, 100)) == pytest.approx(even * expected, rel=0.08)
        assert error(workload, np.array([1900] + [0] * 18 + [100])) < 0.6 * expected


@pytest.mark.slow
def test_the_error_of_a_file_is_predicted() -> None:
    """On tables that no constant was fitted to: a hidden class, records of a tree and moved ones."""
    rng = np.random.default_rng(11)
    for records, columns, largest, epsilon in ((20_000, 6, LARGEST_TREE, 1.0), (100_000, 18, 3000, 1.0)):
        domain = Domain(IntegerRange(f"x{place}", 0, 3) for place in range(columns))
        hidden = rng.integers(4, size=records)
        codes = [np.where(rng.random(records) < 0.5, hidden, rng.integers(4, size=records)) for _ in range(columns)]
        data, workload = Table(domain, codes), Workload.marginals(domain, 2)
        release = MWEM(largest_tree=largest).run(data, workload, ApproxDP(epsilon, 1e-9), noise=SeededNoise(3))
        decided = release.provenance.parameters["decided"]
        assert decided["taken"] == "fixed"
        drawn = Empirical(domain, release.total, release.sample(seed=0).codes)
        off = workload.answers(drawn) / release.total - workload.answers(data) / records
        assert 0.6 < workload.candidate_errors(off).mean() / 2.0 / decided["fixed_records_error"] < 1.6


@pytest.mark.parametrize("order", [2, 3])
def test_rounds_adapt_where_many_attributes_leave_much_to_guess(order: int) -> None:
    """Whatever is held together: so are up to twelve attributes measured beforehand, and eighteen not."""
    for count, fixed in ((4, True), (12, True), (18, False)):
        sizes = [2 + place % 2 for place in range(count)]
        domain = Domain(IntegerRange(f"x{place}", 1, size) for place, size in enumerate(sizes))
        workload = Workload.marginals(domain, order)
        for records in (1e4, 1e6):
            found = choose_strategy(MWEM(), workload, ZCDP(0.01), 0.01, records)
            assert found is not None
            assert found.takes_fixed is fixed
            best = strategies(workload, ZCDP(0.01), 0.01, total=records)[0]
            errors = {each.name: each.mean_error for each in strategies(workload, ZCDP(0.01), 0.01)}
            expected = 4.0 / math.sqrt(count) * best.mean_error * errors["marginals"] / errors[best.name] / records
            assert found.adaptive_error == pytest.approx(expected)


def test_tables_of_higher_orders_join_as_far_as_their_predicted_error_is_small() -> None:
    bits = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(10))
    pairs, config = Workload.marginals(bits, 2), MWEM(higher_orders=True)
    assert MWEM().asked(pairs, ZCDP(0.02), 1e6) is pairs
    for records, orders in ((1e2, (2,)), (3_000.0, (2,)), (15_000.0, (2, 3, 4)), (1e5, (2, 3, 4))):
        asked = config.asked(pairs, ZCDP(0.02), records)
        assert asked.spec == "; ".join(f"marginals:{order}" for order in orders)
        assert config.asked(asked, ZCDP(0.02), records).spec == asked.spec
        for order in (3, 4):
            error = MWEM().expected_error(Workload.marginals(bits, order), ZCDP(0.02), records)
            assert error is not None
            assert (error <= 0.01) is (order in orders)
    survey = Domain(IntegerRange(f"x{place}", 0, 4) for place in range(24))
    assert config.asked(Workload.marginals(survey, 2), ZCDP(0.02), 27_000.0).spec == "marginals:2"
    for columns, joined in ((22, "marginals:2; marginals:3"), (23, "marginals:2")):  # 1,540 triples, and 7,315 fours
        wide = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(columns))
        assert config.asked(Workload.marginals(wide, 2), ZCDP(1e6), 1e9).spec == joined


def test_one_table_of_everything_must_be_better_by_more_the_fewer_records_a_cell_has() -> None:
    """Of 1,024 cells, under pure epsilon: as good as predicted with 100 records each, and not with 5 or with a half."""
    workload = Workload.marginals(Domain(IntegerRange(f"x{place}", 0, 1) for place in range(10)), 3)
    for each, factor in ((100.0, 1.25), (5.0, 1.8), (0.5, 4.0)):
        records = each * workload.domain.size
        found = {one.name: one.mean_error for one in strategies(workload, PureDP(1.0), 1.0, total=records)}
        chosen = choose_strategy(MWEM(optimize_for="answers"), workload, PureDP(1.0), 1.0, records)
        assert chosen is not None
        others = min(error for name, error in found.items() if name != "cells")
        assert (chosen.fixed.name == "cells") is (factor * found["cells"] < others)
        if chosen.fixed.name == "cells":
            assert chosen.handicapped() == pytest.approx(factor * found["cells"] / records)


def test_a_run_answers_the_tables_that_join() -> None:
    """The parity of three columns, which no pair shows, is learnt without being asked for."""
    rng = np.random.default_rng(5)
    codes = [rng.integers(0, 2, 15_000) for _ in range(9)]
    codes.append((codes[0] + codes[1] + codes[2]) % 2)
    data = Table(Domain(IntegerRange(f"x{place}", 0, 1) for place in range(10)), codes)
    pairs = Workload.marginals(data.domain, 2)
    for higher, orders in ((True, (2, 3, 4)), (False, (2,))):
        release = MWEM(higher_orders=higher).run(data, pairs, ApproxDP(1.0, 1e-9), noise=SeededNoise(3))
        assert release.workload.spec == "; ".join(f"marginals:{order}" for order in orders)
        table = release.model.marginals([("x0", "x1", "x2", "x9")])[0].reshape(2, 2, 2, 2)
        odd = sum(float(table[place]) for place in np.ndindex(2, 2, 2, 2) if sum(place) % 2)
        assert (odd < 0.05 * release.total) is higher


def test_tables_are_measured_whole_as_long_as_fits_of_them_are_stopped() -> None:
    for values, measured in ((32, True), (33, False)):
        domain = Domain(
            IntegerRange(name, 0, size - 1) for name, size in zip("abcd", (64, 64, 32, values), strict=True)
        )
        found = predicted(Workload.marginals(domain, 2), PureDP(10.0), total=1e6)
        assert ("cells" in [each.name for each in found]) is (domain.size <= 2**22) is measured


def test_single_attributes_are_always_measured_all() -> None:
    for records in (10.0, 1e3, 1e7):
        found = choose_strategy(MWEM(), Workload.marginals(DOMAIN, 1), ZCDP(0.1), 0.1, records)
        assert found is not None
        assert found.takes_fixed
        assert found.adaptive_error == math.inf


def test_more_records_never_make_predictions_worse() -> None:
    found = [choose_strategy(MWEM(), PAIRS, ZCDP(0.1), 0.1, 10.0**power) for power in range(1, 8)]
    for errors in zip(*((each.fixed_error, each.adaptive_error) for each in found if each is not None), strict=True):
        assert list(errors) == sorted(errors, reverse=True)


def test_a_tiny_budget_or_a_negative_count_is_no_error() -> None:
    for records in (-50.0, 0.0, 0.5):
        assert choose_strategy(MWEM(), PAIRS, ZCDP(1e-6), 1e-6, records) is not None
    assert run(budget=PureDP(1e-4)).spent <= 1e-4


# ---- the regime of an (epsilon, delta) budget ------------------------------------------------------------------------


def test_few_measurements_are_counted_as_pure_and_many_in_gaussian_privacy() -> None:
    wide = Domain(IntegerRange(f"x{place}", 0, 1) for place in range(16))
    few, many = Workload.marginals(DOMAIN, 1), Workload.marginals(wide, 3)
    assert accounted(MWEM(), few, APPROXIMATE).regime is Regime.PURE
    assert accounted(MWEM(), many, APPROXIMATE).regime is Regime.GDP
    assert accounted(MWEM(), many, replace(APPROXIMATE, regime=Regime.PURE)).regime is Regime.GDP
    for kept in (PureDP(1.0), ZCDP(0.1), GDP(0.3)):
        assert accounted(MWEM(), few, kept) is kept
    assert accounted(MWEM(noise=NoiseKind.GAUSSIAN), few, APPROXIMATE) is APPROXIMATE
    assert accounted(MWEM(rounds=2), few, APPROXIMATE).regime is Regime.PURE
    assert accounted(MWEM(rounds=6), many, APPROXIMATE).fixed is not None


def test_a_release_counted_as_pure_keeps_the_promise_in_every_book(tmp_path: Path) -> None:
    release = MWEM().run(table(), Workload.marginals(DOMAIN, 1), APPROXIMATE)
    assert (release.budget.regime, release.budget.unit) == (Regime.PURE, "epsilon")
    assert release.budget.approximate() == (1.0, 1e-9)
    assert release.spent <= 1.0
    assert {event.unit for event in release.events} == {"epsilon"}
    assert {measured.noise for measured in release.measurements} == {NoiseKind.LAPLACE}
    release.save(tmp_path / "people.release")
    back = Release.load(tmp_path / "people.release")
    assert back.budget == release.budget
    assert "accounted as pure differential privacy with epsilon = 1" in back.budget.statement()
    assert audit_files([tmp_path / "people.release"]).verdict.value == "holds"


def test_a_register_keeps_the_regime_that_was_given(tmp_path: Path) -> None:
    register = Register(tmp_path / "people.register", limit=ApproxDP(3.0, 1e-9))
    few = Workload.marginals(DOMAIN, 1)
    release = MWEM().run(table(), few, APPROXIMATE, register=register)
    assert release.budget.regime is Regime.ZCDP


# ---- privacy ---------------------------------------------------------------------------------------------------------


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", [Neighbours.ADD_REMOVE, Neighbours.REPLACE])
@pytest.mark.parametrize("workload", [Workload.marginals(binary(2), 1), Workload.parse("cells:2", binary(2))])
def test_no_transcript_of_a_fixed_strategy_loses_more_than_epsilon(workload: Workload, relation: Neighbours) -> None:
    """The noisy number of records, which the decision rests on, and all that is measured."""
    assert may_be_fixed(MWEM(), workload)
    for budget in (PureDP(0.5, relation), ApproxDP(0.5, 1e-9, relation, Regime.PURE)):
        worst = max(abs(loss) for loss in losses(MWEM(), workload, budget, range(6)))
        assert 0.2 * 0.5 < worst <= 0.5 + 1e-9


def patched(where: Any, name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(where, name, value)


def answers_compared(choice: StrategyChoice) -> tuple[float, float]:
    return choice.fixed_error, choice.adaptive_error


SPARSE = test_one_table_of_everything_must_be_better_by_more_the_fewer_records_a_cell_has
JOINED = test_tables_of_higher_orders_join_as_far_as_their_predicted_error_is_small
ADAPTS = partial(test_rounds_adapt_where_many_attributes_leave_much_to_guess, 2)
MUTANTS = (
    Mutant("rounds that adapt however few attributes there are", patched(strategy_choice, "_FEW_TOLD", 0.1), ADAPTS),
    Mutant("rounds that adapt only beyond twenty attributes", patched(strategy_choice, "_FEW_TOLD", 4.5), ADAPTS),
    Mutant("records without the error of drawing them", patched(strategy_choice, "_OF_TREE", 0.0),
           test_what_is_compared_is_what_was_asked_for),
    Mutant("records for the price of answers", patched(StrategyChoice, "compared", property(answers_compared)),
           test_what_is_compared_is_what_was_asked_for),
    Mutant("tables measured whole beyond what fits are stopped for", patched(singly, "LARGEST_STOPPED", 2**24),
           test_tables_are_measured_whole_as_long_as_fits_of_them_are_stopped),
    Mutant("one table with few records a cell as good as predicted",
           patched(strategy_choice, "_ONE_TABLE", ((math.inf, 1.25),)), SPARSE),
    Mutant("one table with many records a cell as bad as a sparse one",
           patched(strategy_choice, "_ONE_TABLE", ((math.inf, 4.0),)), SPARSE),
    Mutant("higher orders that join with five times the error", patched(strategy_choice, "_SMALL_ERROR", 0.05), JOINED),
    Mutant("higher orders that join with a fifth of the error only", patched(strategy_choice, "_SMALL_ERROR", 0.002),
           JOINED),
    Mutant("no fours join", patched(strategy_choice, "_HIGHEST_ORDER", 3), JOINED),
    Mutant("fives join", patched(strategy_choice, "_HIGHEST_ORDER", 5), JOINED),
    Mutant("thousands of tables join", patched(strategy_choice, "_MOST_RAISED", 10_000), JOINED),
    Mutant("tables of domains join that no histogram holds", patched(strategy_choice, "_LARGEST_RAISED", 2**70),
           JOINED),
)  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


NOISE = Workload.marginals(binary(6), 2)


def uniform_run(records: int, config: MWEM, budget: Budget) -> Release:
    rng = np.random.default_rng(0)
    columns = [rng.integers(2, size=records) for _ in range(6)]
    return config.run(Table(NOISE.domain, columns), NOISE, budget, noise=SeededNoise(1))


def test_the_hypothesis_stays_uniform_where_all_is_noise_and_answers_keep_their_intervals() -> None:
    release = uniform_run(20, MWEM(), PureDP(0.1, "replace"))
    parameters = release.provenance.parameters
    assert parameters["decided"]["taken"] == "uniform"
    assert parameters["unfitted"] == [0, len(release.measurements)]
    assert release.measurements
    assert release.spent == pytest.approx(0.1)
    np.testing.assert_allclose(NOISE.answers(release.model), 5.0)
    assert release.answer("a = 1").low is not None
    assert uniform_run(20_000, MWEM(), PureDP(0.1, "replace")).provenance.parameters["decided"]["taken"] == "fixed"


def test_noise_is_fitted_to_where_rounds_are_set_by_hand() -> None:
    release = uniform_run(20, MWEM(rounds=3), PureDP(0.1, "replace"))
    assert "unfitted" not in release.provenance.parameters
    assert np.abs(NOISE.answers(release.model) - 5.0).max() > 1e-3


def test_a_better_count_of_the_records_decides_again() -> None:
    config, budget = MWEM(), PureDP(0.1, "replace")
    few, many = (choose_strategy(config, NOISE, budget, 0.097, total) for total in (20.0, 20_000.0))
    assert few is not None
    assert many is not None
    assert (few.taken, many.taken) == ("uniform", "fixed")
    assert few.counted(config, 1e6).taken == "fixed"
    assert many.counted(config, 1.0).taken == "uniform"
    assert "stay uniform" in few.lines()[0][1]
    adaptive = replace(many, adaptive_error=0.0, adaptive_drawing=0.0)
    assert adaptive.counted(config, 1.0).taken == "adaptive"


RANGES = {
    text: Workload.parse(text, Domain(IntegerRange(name, 0, size - 1) for name, size in zip("ab", sizes, strict=False)))
    for text, sizes in (("ranges:a:40:0", (200,)), ("ranges:a,b:40:0", (20, 20)))
}


@pytest.mark.parametrize(("text", "told"), [("ranges:a:40:0", "a < 45"), ("ranges:a,b:40:0", "a < 10")])
def test_ranges_of_few_records_are_those_of_the_uniform_table_and_keep_their_intervals(text: str, told: str) -> None:
    workload, domain = RANGES[text], RANGES[text].domain

    def run(records: int, **settings: Any) -> Release:
        rng = np.random.default_rng(0)
        columns = [rng.integers(0, each.size, (2, records)).min(axis=0) for each in domain]
        config = MWEM(error_share=0.0, **settings)
        return config.run(Table(domain, columns), workload, PureDP(0.1, "replace"), noise=SeededNoise(1))

    few, many = run(70), run(20_000)
    assert few.provenance.parameters["unfitted"] == [0, len(few.measurements)]
    assert few.measurements
    np.testing.assert_allclose(few.model.marginals([domain.names])[0], 70 / domain.size)
    assert few.answer(told).low is not None
    assert "unfitted" not in many.provenance.parameters
    assert "unfitted" not in run(70, rounds=3).provenance.parameters
    plans = [MWEM().plan(workload, PureDP(0.1, "replace"), total) for total in (70.0, 20_000.0)]
    assert [plan.uniform for plan in plans] == [True, False]
    decided = [[text for word, text in plan.lines(70.0) if word == "decision"] for plan in plans]
    assert decided[0][0].startswith("records stay uniform")
    assert decided[1] == []
