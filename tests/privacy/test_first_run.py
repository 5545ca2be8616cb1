"""Private selection among runs: the law of what is released, its price, and what its ledger keeps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hedgerow import GDP, ZCDP, ApproxDP, PureDP, SeededNoise
from hedgerow.arrays import Floats
from hedgerow.errors import BudgetError, BudgetExceededError, ConfigError
from hedgerow.privacy import (
    RUN_SELECTION,
    TRY,
    Curator,
    Event,
    Ledger,
    Regime,
    RunSelection,
    RunThatPasses,
    Subsampled,
    first_that_passes,
)
from hedgerow.queries import Marginal, Neighbours
from tests.privacy.mutants import Mutant, killed
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(1)
TABLE = DenseCounts(DOMAIN, [2.0, 1.0])


class Scripted(SeededNoise):
    """Noise whose uniform numbers are given one by one."""

    def __init__(self, numbers: list[int]) -> None:
        super().__init__(0)
        self.numbers = numbers

    def random_bytes(self, size: int) -> bytes:
        assert size == 8
        if not self.numbers:
            raise EndOfScriptError
        return np.array([self.numbers.pop(0) << 2], dtype=np.uint64).tobytes()


class EndOfScriptError(Exception):
    pass


def scripted(outcomes: Sequence[str | None], coins: Sequence[int]) -> tuple[bool, str | None]:
    """Whether all ends, and with what, if runs have these outcomes and chance shows these coins."""
    places, made = [2, 0, 1][: len(outcomes)], list[int]()

    def run(_: Curator, place: int) -> tuple[str | None, bool]:
        if len(made) == len(outcomes):
            raise EndOfScriptError
        made.append(place)
        return outcomes[len(made) - 1], outcomes[len(made) - 1] is not None

    noise = Scripted([number for pair in zip(places, coins, strict=True) for number in pair])
    try:
        value = first_that_passes(TABLE, PureDP(1.0), run, configurations=3, tries=2, noise=noise)
    except EndOfScriptError:
        return False, None
    assert made == places[: len(made)]
    return True, value


def released_law(passing: Floats, failing: float, tries: int) -> Floats:
    """The law of what is released, given that of one run; last, that nothing is."""
    stopping = 1.0 / tries
    ends = stopping + (1.0 - stopping) * passing.sum()
    return np.append(passing, stopping * failing) / ends


def the_law_of_what_is_released() -> None:
    """Every outcome of three runs, and all coins between them."""
    depth = 3
    for outcomes in itertools.product((None, "a", "b"), repeat=depth):
        found: dict[str | None, Fraction] = {}
        for coins in itertools.product(range(2), repeat=depth):
            ended, value = scripted(outcomes, coins)
            if ended:
                found[value] = found.get(value, Fraction(0)) + Fraction(1, 2**depth)
        first = next((place for place, outcome in enumerate(outcomes) if outcome is not None), depth)
        expected = {None: 1 - Fraction(1, 2**first)} if first else {}
        if first < depth:
            expected[outcomes[first]] = Fraction(1, 2**first)
        assert found == expected, (outcomes, found)


def extreme(epsilon: float) -> list[tuple[Floats, Floats]]:
    """Laws of one run on two neighbouring tables: two that pass, one that fails, at the ends of what is allowed."""
    grown = math.exp(epsilon)
    found = []
    for signs in itertools.product((grown, 1.0 / grown, 1.0), repeat=3):
        for weights in itertools.product((1e-6, 1e-3, 0.1, 1.0, 10.0), repeat=2):
            law = np.array([*weights, 1.0]) / (sum(weights) + 1.0)
            other = law * np.array(signs)
            if other[:2].sum() < 1.0:
                other[2] = 1.0 - other[:2].sum()
                if np.abs(np.log(other / law)).max() <= epsilon + 1e-12:
                    found.append((law, other))
    at = 1.0 / (1.0 + grown)
    found.append((np.array([1e-9, at - 1e-9, 1.0 - at]), np.array([grown * 1e-9, grown * (at - 1e-9), at])))
    found.append((np.array([1e-9, at - 1e-9, 1 - at]), np.array([1e-9 / grown, grown * at - 1e-9 / grown, at])))
    return found


def nothing_that_is_released_loses_more_than_is_charged() -> None:
    for epsilon, tries in itertools.product((0.1, 1.0, 3.0), (2, 3, 10, 1000)):
        price = epsilon + RunSelection(epsilon, tries).charge(Regime.PURE)
        losses = []
        for law, other in extreme(epsilon):
            there, here = (released_law(each[:2], each[2], tries) for each in (law, other))
            losses.append(float(np.abs(np.log(there / here)).max()))
        assert max(losses) <= price
        assert max(losses) > price - 1e-5  # the price is the least
        assert price < 2.0 * epsilon


def counted_runs(records: int, epsilon: float, tries: int, bound: int) -> Floats:
    """The law of what is released of so many records: a noisy count that passes at or below a bound, or if it is 9."""
    counts = np.arange(-200, 201)
    noise = np.exp(-epsilon * np.abs(counts - records))
    told = noise / noise.sum()
    passes = (counts <= bound) | (counts == 9)
    return released_law(told[passes], float(told[~passes].sum()), tries)


def counts_of_neighbours_are_within_the_price() -> None:
    """Brute force: tables of 0 to 6 records."""
    losses = []
    for epsilon, tries, bound in itertools.product((0.5, 1.0, 2.0), (2, 10), (-2, 1, 4)):
        price = epsilon + RunSelection(epsilon, tries).charge(Regime.PURE)
        laws = [counted_runs(records, epsilon, tries, bound) for records in range(7)]
        worst = max(float(np.abs(np.log(a / b)).max()) for a, b in itertools.pairwise(laws))
        assert worst <= price + 1e-9, (epsilon, tries, bound, worst, price)
        losses.append(worst / epsilon)
    assert max(losses) > 1.4  # far more than one run alone


def charges_of_runs(limit: float, tries: int, before: tuple[Event, ...]) -> list[tuple[Event, float]]:
    """Of some runs that spend all that they can: the event of the selection, and all charges together."""
    seen = list[tuple[Event, float]]()

    def run(curator: Curator, _: int) -> tuple[None, bool]:
        curator.measure(Marginal(DOMAIN, ("a",)), curator.ledger.remaining)
        (event,) = (each for each in curator.ledger.events if each.label == TRY)
        seen.append((event, curator.ledger.spent))
        return None, len(seen) > 3

    first_that_passes(TABLE, PureDP(limit), run, configurations=1, tries=tries, noise=SeededNoise(3), events=before)
    return seen


def runs_have_what_the_price_is_for() -> None:
    """What a run spends, with its price, is what was left of the budget."""
    for limit, tries in itertools.product((0.1, 1.0, 7.3), (2, 10, 1 << 20)):
        earlier = Curator(TABLE, PureDP(limit), noise=SeededNoise(0))
        earlier.measure(Marginal(DOMAIN, ("a",)), 0.25 * limit)
        for before in ((), earlier.ledger.events):
            left = limit * (0.75 if before else 1.0)
            seen = charges_of_runs(limit, tries, before)
            assert seen
            for event, spent in seen:
                assert spent <= limit
                assert event.charge >= RunSelection(event.sensitivity, tries).charge(Regime.PURE)
                assert event.sensitivity == pytest.approx(left - event.charge)
                assert spent - (limit - left) - event.charge <= event.sensitivity * (1.0 + 1e-12)


def leaves(limit: float, of_each: float) -> bool:
    """Whether a ledger takes a selection among runs that is charged for runs of so much each."""
    price = RunSelection(of_each, 10).charge(Regime.PURE) * (1.0 + 1e-9)
    event = Event(TRY, RUN_SELECTION, RunThatPasses(2), of_each, 10.0, price, "epsilon", "add-remove")
    try:
        Ledger(limit, "epsilon").charge(event)
    except BudgetError:
        return False
    return True


def a_selection_that_leaves_runs_more_is_refused() -> None:
    price = RunSelection(0.5, 10).charge(Regime.PURE)
    assert leaves(0.5 + price, 0.5 + 1e-12)
    assert not leaves(0.5 + price, 0.5 - 1e-6)
    assert not leaves(1.0, 0.5)


def test_what_is_selected_has_its_law_and_its_price() -> None:
    the_law_of_what_is_released()
    nothing_that_is_released_loses_more_than_is_charged()
    counts_of_neighbours_are_within_the_price()
    runs_have_what_the_price_is_for()
    a_selection_that_leaves_runs_more_is_refused()


def test_the_ledger_of_what_is_released_holds_one_run() -> None:
    made = list[int]()

    def run(curator: Curator, place: int) -> tuple[tuple[Event, ...], bool]:
        curator.measure(Marginal(DOMAIN, ("a",)), 0.1)
        made.append(place)
        return curator.ledger.events, len(made) == 5

    events = first_that_passes(TABLE, PureDP(1.0), run, configurations=3, tries=1000, noise=SeededNoise(2))
    assert events is not None
    assert [event.label for event in events] == [TRY, "measure"]
    assert len(made) == 5
    assert set(made) <= {0, 1, 2}


def test_a_run_cannot_spend_more_than_its_part() -> None:
    def run(curator: Curator, _: int) -> tuple[None, bool]:
        curator.measure(Marginal(DOMAIN, ("a",)), 0.6)
        return None, True

    with pytest.raises(BudgetExceededError):
        first_that_passes(TABLE, PureDP(1.0), run, configurations=1, tries=10, noise=SeededNoise(0))


@pytest.mark.parametrize(
    "budget",
    [ZCDP(0.1), GDP(0.5), ApproxDP(1.0, 1e-9), Subsampled(PureDP(1.0, Neighbours.REPLACE), 2, 3)],
    ids=lambda each: type(each).__name__,
)
def test_budgets_without_a_price_are_refused(budget: Any) -> None:
    with pytest.raises(ConfigError):
        first_that_passes(TABLE, budget, lambda *_: (None, True), configurations=1, tries=10, noise=SeededNoise(0))


@pytest.mark.parametrize(("limit", "tries"), [(0.0, 10), (1.0, 1), (1.0, 2.5), (1.0, 1 << 21), (math.inf, 10)])
def test_selections_that_are_none_are_refused(limit: float, tries: float) -> None:
    with pytest.raises(ConfigError):
        RunSelection(limit, tries)
    with pytest.raises(BudgetError):
        Event(TRY, RUN_SELECTION, RunThatPasses(1), limit, tries, 1.0, "epsilon", "add-remove")


def test_a_selection_among_runs_has_no_rho() -> None:
    with pytest.raises(BudgetError):
        Event(TRY, RUN_SELECTION, RunThatPasses(1), 1.0, 10.0, 1.0, "rho", "add-remove")


def _free(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(RunSelection, "charge", lambda *_: 1e-9)


def _one_side(patched: pytest.MonkeyPatch) -> None:
    charge = RunSelection.charge
    patched.setattr(RunSelection, "charge", lambda self, regime: charge(self, regime) / 2.0)


def _with(number: Callable[[int], int]) -> Any:
    def patch(patched: pytest.MonkeyPatch) -> None:
        drawn = "hedgerow.privacy.first_run._below"
        patched.setattr(drawn, lambda limit, noise: number(int.from_bytes(noise.random_bytes(8), "little") >> 2))

    return patch


def _failing_is_told(patched: pytest.MonkeyPatch) -> None:
    first = first_that_passes

    def told(source: Any, budget: Any, run: Any, **options: Any) -> Any:
        return first(source, budget, lambda *given: (run(*given)[0], True), **options)

    patched.setitem(globals(), "first_that_passes", told)


def _unchecked(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Ledger, "_check_runs", lambda *_: None)


def _half_a_rest(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Ledger, "_check_runs", lambda *_: None)
    of_rest = RunSelection.of_rest

    def wrong(rest: Fraction, tries: float) -> tuple[RunSelection, float]:
        return of_rest(rest / 2, tries)

    patched.setattr(RunSelection, "of_rest", staticmethod(wrong))


MUTANTS = [
    Mutant("a selection among runs for nothing", _free, counts_of_neighbours_are_within_the_price),
    Mutant("half the price of a selection among runs", _one_side, nothing_that_is_released_loses_more_than_is_charged),
    Mutant("runs that never end without a release", _with(lambda number: number or 3), the_law_of_what_is_released),
    Mutant("runs that end by the coin's other side", _with(lambda number: number ^ 1), the_law_of_what_is_released),
    Mutant("a run that failed is told", _failing_is_told, the_law_of_what_is_released),
    Mutant("a ledger that leaves runs what is left", _unchecked, a_selection_that_leaves_runs_more_is_refused),
    Mutant("a price for half of what runs spend", _half_a_rest, runs_have_what_the_price_is_for),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_selection_that_costs_more_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
