"""The least rho of a bounded range, and of Laplace noise on tables in which one record moves two cells."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import hedgerow.privacy.budgets.regime as regime_module
import hedgerow.privacy.ledger.events as events_module
from hedgerow import MWEM, ZCDP, ApproxDP, Domain, IntegerRange, SeededNoise, Table, Workload
from hedgerow.errors import BudgetError
from hedgerow.privacy import Curator, Event, LaplaceNoise, Regime, bounded_range_rho
from hedgerow.queries import Blocks, Marginal, NoiseKind, Parity
from tests.privacy.mutants import Mutant, killed

ORDERS = (1.0 + 1e-6, 1.1, 1.5, 2.0, 4.0, 20.0, 300.0)
RANGES = (0.05, 0.5, 1.0, 2.0, 3.0, 6.0, 12.0)


def divergence(log_p: np.ndarray, log_q: np.ndarray, order: float) -> float:
    """Renyi's, of two laws on the same points."""
    each = order * log_p + (1.0 - order) * log_q
    largest = each.max()
    return float((math.log(np.exp(each - largest).sum()) + largest) / (order - 1.0))


def laws_of_a_range(spanned: float, draw: np.random.Generator, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Two random laws whose log-ratios lie within an interval of this length."""
    losses = np.append(draw.uniform(0.0, spanned, points - 2), [0.0, spanned])
    log_q = np.log(draw.dirichlet(np.full(points, 0.4)) + 1e-12)
    log_q -= math.log(np.exp(log_q).sum())
    log_p = losses + log_q
    return log_p - math.log(np.exp(log_p).sum()), log_q


def no_pair_passes_the_bound() -> None:
    """Random laws on 2 to 6 points, either way round; and the worst ones on two points come close to it."""
    draw = np.random.default_rng(43)
    for spanned in RANGES:
        most = Regime.ZCDP.of_bounded_range(spanned)
        for number in range(40):
            pair = laws_of_a_range(spanned, draw, 2 + number % 5)
            for order, (p, q) in product(ORDERS, (pair, pair[::-1])):
                assert divergence(p, q, order) <= order * most * (1.0 + 1e-8) + 1e-9
        v = spanned / -math.expm1(-spanned)
        high = (v - 1.0) / math.expm1(spanned)
        log_q = np.log([1.0 - high, high])
        log_p = log_q + np.array([0.0, spanned]) - math.log(v)
        assert most * (1.0 - 1e-4) <= float(np.exp(log_p) @ (log_p - log_q)) <= most * (1.0 + 1e-12)


def no_two_cells_pass_the_bound() -> None:
    """All ways in which one record can move between, or into, or out of two of three cells; their exact laws."""
    for scale in (0.4, 1.0, 3.0):
        noise = LaplaceNoise(scale, 2.0, bound="halves")
        reach = math.ceil(60.0 * scale)
        steps = np.arange(-reach, reach + 1.0)
        log_q = -np.abs(steps) / scale
        norm = math.log(np.exp(log_q).sum())
        moves = [change for change in product((-1, 0, 1), repeat=3) if sum(map(abs, change)) <= 2]
        for change, order in product(moves, ORDERS):
            if order > 30.0:
                continue
            found = sum(
                divergence(-np.abs(steps - each) / scale - norm, log_q - norm, order) for each in change if each
            )
            assert found <= order * noise.charge(Regime.ZCDP) * (1.0 + 1e-8) + 1e-8
        worst = 2.0 * divergence(-np.abs(steps - 1.0) / scale - norm, log_q - norm, 1.0 + 1e-6)
        assert worst >= noise.charge(Regime.ZCDP) * (1.0 - 1e-4)


def test_a_bounded_range() -> None:
    no_pair_passes_the_bound()
    assert [round(1.0 - bounded_range_rho(x) / (x * x / 8.0), 3) for x in (1.0, 2.0, 3.0)] == [0.014, 0.051, 0.104]


def test_two_cells() -> None:
    no_two_cells_pass_the_bound()


# ---- what names the bounds -------------------------------------------------------------------------------------------

DOMAIN = Domain(IntegerRange(name, 0, 1) for name in "abc")
TABLE = Table(DOMAIN, [np.random.default_rng(k).integers(0, 2, 500).astype(np.uint8) for k in range(3)])
LAPLACE = NoiseKind.LAPLACE


def measured(relation: str, regime: str = "zcdp") -> list[Event]:
    """A table, blocks of one and a parity with Laplace noise."""
    budget = ZCDP(0.3, relation) if regime == "zcdp" else ApproxDP(1.0, 1e-6, relation, regime="gdp")
    curator = Curator(TABLE, budget, noise=SeededNoise(0))
    blocks = Blocks(DOMAIN, ("a", "b"), np.array([[0, 1], [1, 0]]))
    for target in (Marginal(DOMAIN, ("a", "b")), blocks, Parity(DOMAIN, ("a", "b"))):
        curator.measure(target, 0.005, kind=LAPLACE)
    return list(curator.ledger.events)


def is_refused(event: Event, changes: dict[str, Any]) -> bool:
    try:
        replace(event, **changes)
    except BudgetError:
        return True
    return False


def only_tables_of_replaced_records_are_charged_so() -> None:
    assert [event.bound for event in measured("replace")] == ["halves", "halves", None]
    assert [event.bound for event in measured("add-remove")] == [None, None, None]
    assert [event.bound for event in measured("replace", "gdp")] == [None, None, None]
    table, _, parity = measured("replace")
    assert table.scale == pytest.approx(parity.scale / 2.0**0.5, rel=2e-3)
    for changes in (
        {"bound": None},  # the same charge by the bound of any mechanism of its epsilon
        {"neighbours": "add-remove"},
        {"neighbours": "replace of persons (id), at most 2 records"},
        {"question": parity.question},
        {"unit": "mu^2/2"},
        {"charge": table.charge * (1.0 - 1e-12)},
        {"bound": "exact"},
        {"bound": "quarters"},
    ):
        assert is_refused(table, changes), changes


def test_only_tables_of_replaced_records_are_charged_so() -> None:
    only_tables_of_replaced_records_are_charged_so()


def test_events_of_before_keep_their_charges() -> None:
    curator = Curator(TABLE, ZCDP(2.0), noise=SeededNoise(0))
    pairs = Workload.marginals(DOMAIN, 2)
    curator.select(pairs, np.zeros(pairs.n_queries), 0.5)
    (event,) = curator.ledger.events
    assert event.bound == "exact"
    epsilon = 2.0 * event.sensitivity / event.scale
    assert event.charge == pytest.approx(0.5) == pytest.approx(bounded_range_rho(epsilon))
    old = replace(event, bound=None, charge=epsilon**2 / 8.0 * (1.0 + 1e-14))
    assert Event.from_dict(old.to_dict()) == old
    assert "bound" not in old.to_dict()
    with pytest.raises(BudgetError, match="costs"):
        replace(event, bound=None)


def test_rounds_with_laplace_noise_are_two_steps_each() -> None:
    config, pairs = MWEM(rounds=6, noise=LAPLACE), Workload.marginals(DOMAIN, 2)
    for relation, steps in (("replace", 12), ("add-remove", 6)):
        made = replace(config, repeats=True).run(TABLE, pairs, ApproxDP(1.0, 1e-9, relation), noise=SeededNoise(1))
        assert made.budget.fixed is not None
        assert made.budget.fixed.pure == steps
        assert made.spent == pytest.approx(made.budget.limit, rel=1e-9)
        assert made.budget.limit > 1.1 * ApproxDP(1.0, 1e-9, relation).limit


# ---- planted bugs ----------------------------------------------------------------------------------------------------


def a_thousandth_too_small(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regime_module, "bounded_range_rho", lambda epsilon: 0.999 * bounded_range_rho(epsilon))


def the_mean_of_both_directions(patch: pytest.MonkeyPatch) -> None:
    """The relative entropy at equal probabilities of both ends."""
    patch.setattr(regime_module, "bounded_range_rho", lambda epsilon: 0.25 * epsilon * math.tanh(epsilon / 4.0) * 2.0)


def one_cell_moves(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LaplaceNoise, "charge", lambda self, regime: regime.of_pure(self.epsilon / 2.0))


def everybody_moves_two(patch: pytest.MonkeyPatch) -> None:
    """Also parities, and one record that is added."""
    patch.setattr(events_module, "HALVES", "")


MUTANTS = [
    Mutant("a bounded range a thousandth too small", a_thousandth_too_small, no_pair_passes_the_bound),
    Mutant("a bounded range with both ends alike", the_mean_of_both_directions, no_pair_passes_the_bound),
    Mutant("one cell moves in a table", one_cell_moves, no_two_cells_pass_the_bound),
    Mutant("the bound of two cells for all", everybody_moves_two, only_tables_of_replaced_records_are_charged_so),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
