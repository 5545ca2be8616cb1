"""Parities that share one event: sensitivities by enumeration, exact losses, what was drawn, files, planted bugs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import hedgerow.privacy.ledger.paid as paid_module
import hedgerow.privacy.shared_noise as shared_module
import hedgerow.queries.families.parity as parity_module
from hedgerow import ZCDP, ApproxDP, PureDP, SeededNoise
from hedgerow.domain import Clique
from hedgerow.errors import BudgetError
from hedgerow.privacy import (
    Budget,
    Curator,
    Event,
    MeasuredParities,
    NoiseSource,
    Regime,
    batches,
    check_answers_paid,
    noises_of,
)
from hedgerow.queries import Marginal, Measurement, Neighbours, NoiseKind, Parity, most_moved, numbered, of_parities
from tests.privacy.accountant import check_run
from tests.privacy.mutants import Mutant, killed
from tests.privacy.replay import log_likelihood, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of

DOMAIN = binary(3)
SINGLES, PAIRS = [("a",), ("b",), ("c",)], [("a", "b"), ("a", "c"), ("b", "c")]
SETS: list[list[Clique]] = [
    [*SINGLES, *PAIRS],
    [*SINGLES, *PAIRS, ("a", "b", "c")],
    [("a",), ("a", "b"), ("a", "b", "c")],
    PAIRS,
]
RATIOS = [(), (1.0, 1.25, 2.0, 1.5, 1.0, 3.0, 1.0)]
REPLACE = Neighbours.REPLACE
TABLE = [3, 0, 1, 0, 0, 1, 2, 0]
LAPLACE, GAUSSIAN = NoiseKind.LAPLACE, NoiseKind.GAUSSIAN
STEPS = [
    (Parity(DOMAIN, scope), charge) for scope, charge in zip(SETS[0], (0.3, 0.1, 0.2, 0.1, 0.1, 0.05), strict=True)
]
BUDGETS: dict[str, tuple[Callable[[Neighbours], Budget], NoiseKind | None]] = {
    "pure": (lambda relation: PureDP(2.0, relation), None),
    "zcdp": (lambda relation: ZCDP(2.0, relation), None),
    "zcdp, laplace": (lambda relation: ZCDP(2.0, relation), LAPLACE),
    "gdp": (lambda relation: ApproxDP(9.0, 1e-6, relation, regime="gdp"), None),
    "gdp, laplace": (lambda relation: ApproxDP(9.0, 1e-6, relation, regime="gdp"), LAPLACE),
}


def answers(scopes: Sequence[Clique], counts: DenseCounts) -> np.ndarray:
    return np.array([Parity(DOMAIN, scope).on(counts)[0] for scope in scopes])


def sensitivities_are_the_largest_distances() -> None:
    """Over all neighbours of a table that has every record, so that each can leave and each can enter."""
    here = DenseCounts(DOMAIN, [1] * 8)
    for scopes, ratios, relation in product(SETS, RATIOS, Neighbours.OF_RECORDS):
        units = np.array(ratios[: len(scopes)] or [1.0] * len(scopes))
        moves = [(answers(scopes, there) - answers(scopes, here)) / units for there in neighbours_of(here, relation)]
        found = of_parities(scopes, ratios[: len(scopes)], relation)
        assert found.l1 == pytest.approx(max(np.abs(move).sum() for move in moves), rel=1e-9)
        assert found.l2 == pytest.approx(max(np.sqrt((move**2).sum()) for move in moves), rel=1e-9)


def test_sensitivities_are_the_largest_distances() -> None:
    sensitivities_are_the_largest_distances()


@pytest.mark.parametrize("sets", [SETS[0], SETS[1], [*SETS[2], ("a",)]], ids=["pairs", "all", "one twice"])
def test_many_attributes_have_a_bound_that_is_exact_for_all_sets_of_a_size(
    sets: list[Clique], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(5)
    equal, uneven = np.ones(len(sets)), draw.uniform(0.5, 2.0, len(sets))
    exact = [most_moved(numbered(sets), prices) for prices in (equal, uneven)]
    monkeypatch.setattr(parity_module, "_TRANSFORMED", 0)
    bounds = [most_moved(numbered(sets), prices) for prices in (equal, uneven)]
    assert bounds[1] >= exact[1] * (1.0 - 1e-12)
    assert bounds[0] >= exact[0]
    assert bounds[0] == exact[0] or sets not in SETS


# ---- what is charged, drawn and lost ---------------------------------------------------------------------------------


def measure(counts: Any, noise: NoiseSource, budget: Budget, kind: NoiseKind | None) -> list[Measurement]:
    """Some parities and, between them, a table."""
    curator = Curator(counts, budget, noise=noise)
    return curator.measure_all([*STEPS[:3], (Marginal(DOMAIN, ("a",)), 0.1), *STEPS[3:]], kind=kind)


def all_that_is_drawn_is_paid(name: str, relation: Neighbours) -> None:
    budget, kind = BUDGETS[name]
    for seed, histogram in enumerate((TABLE, [1] * 8)):
        check_run(
            lambda counts, noise: measure(counts, noise, budget(relation), kind),
            DenseCounts(DOMAIN, histogram),
            relation,
            seed,
        )


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", BUDGETS)
def test_all_that_is_drawn_is_paid(name: str, relation: Neighbours) -> None:
    all_that_is_drawn_is_paid(name, relation)


def replays_lose_at_most_their_charge(least: float = 0.0) -> None:
    source, worst = DenseCounts(DOMAIN, [1] * 8), 0.0
    charges = math.fsum(charge for _, charge in STEPS)

    def run(counts: DenseCounts, noise: NoiseSource) -> None:
        Curator(counts, PureDP(2.0, REPLACE), noise=noise).measure_all(STEPS)

    for seed in range(12):
        transcript = record(run, source, seed)
        here = log_likelihood(run, source, transcript)
        losses = [abs(here - log_likelihood(run, there, transcript)) for there in neighbours_of(source, REPLACE)]
        worst = max(worst, *losses)
    assert least * charges < worst <= charges + 1e-9


def test_replays_lose_at_most_their_charge_and_come_near_it() -> None:
    replays_lose_at_most_their_charge(least=0.5)


def test_parities_under_replace_share_an_event_and_tables_do_not() -> None:
    for relation, many in ((Neighbours.ADD_REMOVE, 7), (REPLACE, 2), (Neighbours.REPLACE_FILTERED, 2)):
        budget = ZCDP(2.0, relation)
        found = measure(DenseCounts(DOMAIN, TABLE), SeededNoise(0), budget, None)
        assert len(batches([(each.target, 0.1) for each in found], budget, None)) == many
        assert [each.target for each in found] == [*(step[0] for step in STEPS[:3]), found[3].target,
                                                   *(step[0] for step in STEPS[3:])]  # fmt: skip


TOGETHER = [name for name in BUDGETS if name != "gdp, laplace"]
"""Laplace noise in GDP is charged as any mechanism of its epsilon, of which several small ones cost less than one."""


@pytest.mark.parametrize("name", TOGETHER)
def test_noise_is_less_than_alone_and_costs_the_same(name: str) -> None:
    budget, kind = BUDGETS[name][0](REPLACE), BUDGETS[name][1]
    together, alone = noises_of(STEPS, budget, kind), [noises_of([step], budget, kind)[0] for step in STEPS]
    less = np.array([one.scale / other.scale for one, other in zip(together, alone, strict=True)])
    if "laplace" not in name:
        prices = np.array([charge for _, charge in STEPS])
        share = most_moved(numbered(SETS[0]), prices) / prices.sum()
        assert less == pytest.approx(share if name == "pure" else math.sqrt(share), rel=1e-2)
    assert less.max() < 1.0
    (batch,) = batches(STEPS, budget, kind)
    assert batch.noise.charge(budget.regime) == pytest.approx(math.fsum(charge for _, charge in STEPS), rel=1e-9)


def test_sets_that_one_change_moves_all_gain_nothing() -> None:
    odd = [(Parity(DOMAIN, scope), 0.1) for scope in (*SINGLES, ("a", "b", "c"))]
    assert most_moved(numbered([target.scope for target, _ in odd]), np.ones(4)) == 4.0
    for charge in (0.1, 0.05):
        steps = [*odd[:3], (odd[3][0], charge)]
        one = noises_of(steps, ZCDP(1.0, REPLACE), None)
        assert [each.scale for each in one] == pytest.approx([math.sqrt(2.0 / price) for _, price in steps], rel=3e-3)


# ---- events and files ------------------------------------------------------------------------------------------------


def event_of(name: str = "zcdp, laplace", relation: Neighbours = REPLACE) -> tuple[Event, list[Measurement]]:
    curator = Curator(DenseCounts(DOMAIN, TABLE), BUDGETS[name][0](relation), noise=SeededNoise(1))
    measured = curator.measure_all(STEPS, kind=BUDGETS[name][1])
    (event,) = curator.ledger.events
    return event, measured


def test_an_event_is_written_and_read() -> None:
    for name in TOGETHER:
        event, _ = event_of(name)
        assert Event.from_dict(event.to_dict()) == event
        assert event.bound == ("parities" if name == "zcdp, laplace" else None)
        assert (event.values, event.target) == (6, "6 parities of a, b, c")


def is_refused(make: Callable[[], object]) -> bool:
    try:
        make()
    except BudgetError:
        return True
    return False


def wrong_events_are_refused() -> None:
    event, _ = event_of()
    asked = event.question
    assert isinstance(asked, MeasuredParities)
    few = replace(asked, scopes=asked.scopes[:5], ratios=asked.ratios[:5])
    for changes in (
        {"bound": None},
        {"bound": "halves"},
        {"question": few},
        {"values": 7},
        {"neighbours": "replace of persons (id), at most 2 records"},
        {"charge": event.charge * (1.0 - 1e-12)},
        {"unit": "mu^2/2", "charge": 9.0},
    ):
        assert is_refused(lambda changes=changes: replace(event, **changes)), changes
    for wrong in ({"ratios": (0.5,) * 6}, {"ratios": (1.0,) * 5}, {"scopes": ()}, {"scopes": ((),) * 6}):
        assert is_refused(lambda wrong=wrong: replace(asked, **wrong)), wrong


def test_wrong_events_are_refused() -> None:
    wrong_events_are_refused()


def files_hold_what_was_paid() -> None:
    for name in ("pure", "zcdp", "zcdp, laplace"):
        event, measured = event_of(name)
        check_answers_paid([event], measured, REPLACE)
        small = 0.99 * event.sensitivity
        regime = Regime.of_unit(event.unit)
        cheap = replace(event, sensitivity=small, charge=replace(event, sensitivity=small).of_mechanism.charge(regime))
        louder = [replace(measured[0], scale=0.5 * measured[0].scale), *measured[1:]]
        for events, found in (([cheap], measured), ([event], [*measured, measured[0]]), ([event], louder)):
            assert is_refused(lambda events=events, found=found: check_answers_paid(events, found, REPLACE))


def test_files_hold_what_was_paid() -> None:
    files_hold_what_was_paid()


# ---- planted bugs ----------------------------------------------------------------------------------------------------


def the_change_that_moves_half(patch: pytest.MonkeyPatch) -> None:
    """The mean over changes in place of the worst."""
    patch.setattr(parity_module, "most_moved", lambda scopes, prices: 0.5 * float(prices.sum()))


def roots_of_roots(patch: pytest.MonkeyPatch) -> None:
    """Prices of Gaussian noise by 1 / sigma."""
    true = parity_module.most_moved
    patch.setattr(parity_module, "most_moved", lambda scopes, prices: true(scopes, np.minimum(prices, prices**0.5 / 2)))


def one_scale_for_all(patch: pytest.MonkeyPatch) -> None:
    """The least noise on every value, whatever was stated of it."""
    patch.setattr(Event, "scales", property(lambda self: [(self.scale, slice(None))]))


def joined_under_add_remove(patch: pytest.MonkeyPatch) -> None:
    """One record more is taken for one that is replaced, with half the width."""
    true = parity_module.of_parities

    def of_parities_replaced(scopes: Any, ratios: Any, neighbours: Neighbours) -> Any:
        found = true(scopes, ratios, REPLACE)
        return replace(found, l1=found.l1 / 2.0, l2=found.l2 / 2.0)

    patch.setattr(shared_module, "of_parities", of_parities_replaced)


def unpaid_sensitivity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(paid_module, "of_parities", lambda *_: of_parities([("a",)], (), REPLACE))


def paid_under_replace() -> None:
    for name in ("pure", "zcdp"):
        all_that_is_drawn_is_paid(name, REPLACE)


def paid_after_a_filter() -> None:
    all_that_is_drawn_is_paid("zcdp", Neighbours.REPLACE_FILTERED)


def parities_of_two_moves(patch: pytest.MonkeyPatch) -> None:
    """The bound of parities for any event."""
    patch.setattr(Event, "_has_bound", lambda self, bound: True)


MUTANTS = [
    Mutant("half of the parities move", the_change_that_moves_half, sensitivities_are_the_largest_distances),
    Mutant("half of the parities move, drawn", the_change_that_moves_half, replays_lose_at_most_their_charge),
    Mutant("prices by other powers", roots_of_roots, sensitivities_are_the_largest_distances),
    Mutant("one scale for all parities", one_scale_for_all, paid_under_replace),
    Mutant("half of the width", joined_under_add_remove, paid_after_a_filter),
    Mutant("parities at any sensitivity in a file", unpaid_sensitivity, files_hold_what_was_paid),
    Mutant("the bound of parities for all", parities_of_two_moves, wrong_events_are_refused),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
