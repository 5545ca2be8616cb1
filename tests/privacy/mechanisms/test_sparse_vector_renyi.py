"""The bound on a sparse vector's rho that follows from its tests (theory.md section 4.1): its proof, and exact laws."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf

from hedgerow.errors import BudgetError, ConfigError
from hedgerow.privacy import (
    GRID,
    ZCDP,
    Curator,
    Event,
    Ledger,
    PureDP,
    Regime,
    SeededNoise,
    SparseVector,
    ThresholdTests,
    WatchState,
)
from hedgerow.queries import Conjunction
from tests.privacy.mechanisms.sparse_vector_law import ORDERS, Law, first_fire, flat, tree
from tests.privacy.mechanisms.sparse_vector_mutants import renyi_charge_covers_exact_laws
from tests.privacy.tables import DenseCounts, binary

RNG = np.random.default_rng(41)
ONE = binary(1)
ONES = Conjunction.where(ONE, {"a": [1]})


# ---- the proof, number by number -------------------------------------------------------------------------------------


def sides(a: Any, e: Any, c: int) -> tuple[Any, Any]:
    """ln M_W + c ln V at the shift of the proof, and c a (a - 1) e^2, with 100 digits."""
    m = (a - mpf(1) / 2) * e
    u = mp.log(mp.cosh(m)) / m
    assert 0 < u < 1
    eta = u * e * mp.sqrt(mpf(4 * c) / 3)
    threshold = mp.log(mp.cosh((a - mpf(1) / 2) * eta) / mp.cosh(eta / 2))
    loss = [mp.expm1(-a * y) * mp.expm1(-(a - 1) * y) for y in ((1 + u) * e, -(1 - u) * e)]
    assert 0 <= min(loss) <= max(loss) < 1
    return threshold - c * mp.log1p(-max(loss)), c * a * (a - 1) * e * e


@pytest.mark.parametrize("c", [1, 2, 7, 100, 10_000])
def test_the_inequality_of_the_proof_holds_at_all_orders_and_scales(c: int) -> None:
    nearest = mpf(0)
    with mp.workdps(100):
        for _ in range(300):
            e, order = 10 ** RNG.uniform(-6, 1), 1 + 10 ** RNG.uniform(-5, 7)
            if order * e > 60:  # more digits than these; there it holds by far
                continue
            found, allowed = sides(mpf(order), mpf(e), c)
            assert found <= allowed, (order, e)
            nearest = max(nearest, found / allowed)
    assert nearest > 0.999  # 3/4 is the smallest constant that these shifts allow


def test_a_smaller_constant_than_three_quarters_fails_in_the_proof() -> None:
    with mp.workdps(100):
        e, order, c = mpf(1) / 10_000, mpf(3000), 1
        m = (order - mpf(1) / 2) * e
        u = mp.log(mp.cosh(m)) / m
        eta = u * e * mp.sqrt(c / mpf("0.7"))
        threshold = mp.log(mp.cosh((order - mpf(1) / 2) * eta) / mp.cosh(eta / 2))
        loss = mp.expm1(-order * (1 + u) * e) * mp.expm1(-(order - 1) * (1 + u) * e)
        assert threshold - c * mp.log1p(-loss) > c * order * (order - 1) * e * e


def test_the_price_of_a_fire_bounds_every_pair_of_coins_in_the_quadrangle() -> None:
    """phi + V psi <= V: corners of the quadrangle suffice."""
    for _ in range(20_000):
        y_up, y_down = RNG.uniform(0.0, 1.5, 2)
        a = 1.0 + 10 ** RNG.uniform(-2, 1)
        up = -math.expm1(-a * y_up) * -math.expm1(-(a - 1) * y_up)
        down = math.expm1(a * y_down) * math.expm1((a - 1) * y_down)
        if max(up, down) >= 0.999:
            continue
        price = 1.0 / (1.0 - max(up, down))
        p = RNG.uniform()
        low = max(p * math.exp(-y_down), 1.0 - math.exp(y_down) * (1.0 - p))
        high = min(p * math.exp(y_up), 1.0 - math.exp(-y_up) * (1.0 - p))
        q = low + (high - low) * RNG.choice([0.0, 1.0, RNG.uniform()])
        if not 0.0 < q < 1.0:
            continue
        phi, psi = (1 - p) ** a * (1 - q) ** (1 - a), p**a * q ** (1 - a)
        assert phi + price * psi <= price * (1 + 1e-9)


# ---- exact laws of the noise that is drawn ---------------------------------------------------------------------------


def charged(law: Law, steps: int) -> float:
    """What the library charges for such a run, whose values move by so many lattice steps."""
    scales = law.threshold_scale * GRID, law.test_scale * GRID
    return SparseVector(*scales, steps * GRID, law.fires, "renyi").charge(Regime.ZCDP)


STEPS = 6
MOVES = [(margin, move) for margin in (-9, 0, 5) for move in (-STEPS, STEPS)]
LAWS = [Law(10.0, 12.0, 1), Law(6.0, 12.0, 2), Law(30.0, 9.0, 1), Law(5.0, 14.0, 3), Law(4.0, 20.0, 2)]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_every_short_stream_loses_at_most_its_charge(law: Law) -> None:
    """All streams of three tests that look at no answer, from six kinds of tests."""
    rho, worst = charged(law, STEPS), 0.0
    for asks in itertools.product(MOVES, repeat=3):
        found = law.divergences(flat(asks), 3) / ORDERS
        worst = max(worst, float(found.max()))
    assert 0.0 < worst <= rho


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("law", LAWS[1:4], ids=str)
def test_every_adaptive_stream_of_two_levels_loses_at_most_its_charge(law: Law) -> None:
    """All trees: the second test may be another one after a yes than after a no."""
    rho = charged(law, STEPS)
    for asks in itertools.product(MOVES, repeat=3):
        assert (law.divergences(tree(asks), 2) / ORDERS).max() <= rho


def test_random_streams_lose_at_most_their_charge_and_bad_ones_more_than_half_of_it() -> None:
    """A search from below: random starts, and steps towards more loss."""
    worst = 0.0
    for scale, ratio, tests in ((40.0, math.sqrt(0.75), 100), (40.0, 1.0, 30), (20.0, 0.5, 30)):
        law, steps = Law(ratio * scale, scale, 1), 4
        rho = charged(law, steps) * (steps / (steps + 1)) ** 2  # what it would be on the line: tighter

        def loss(asks: list[tuple[int, int]], law: Law = law) -> float:
            return float((first_fire(law, asks, (1.001, 2.0, 5.0, 12.0, 30.0)) / (1.001, 2.0, 5.0, 12.0, 30.0)).max())

        asks = [(-round(scale), steps * (-1) ** i) for i in range(tests)]
        best = loss(asks)
        for _ in range(15):
            tried = list(asks)
            for place in RNG.integers(0, tests, 5):
                tried[place] = (round(scale * RNG.uniform(-3, 1)), int(RNG.choice([-steps, steps])))
            if (found := loss(tried)) > best:
                asks, best = tried, found
        assert best <= rho
        worst = max(worst, best / rho)
    assert worst > 0.5


def test_long_streams_and_many_fires_lose_at_most_their_charge() -> None:
    renyi_charge_covers_exact_laws()


# ---- ledgers, states and files ---------------------------------------------------------------------------------------


def event_of(mechanism: SparseVector, charge: float, unit: str = "rho", **rest: Any) -> Event:
    return Event(
        "watch",
        mechanism.name,
        ThresholdTests(),
        mechanism.sensitivity,
        mechanism.scale,
        charge,
        unit,
        "replace",
        mechanism.fires,
        mechanism.threshold_scale,
        **rest,
    )


def test_an_event_names_its_bound_and_others_keep_their_charge() -> None:
    mechanism = SparseVector(20.0, 40.0, fires=4, bound="renyi")
    old = SparseVector(20.0, 40.0, fires=4).charge(Regime.ZCDP)
    new = mechanism.charge(Regime.ZCDP)
    assert new < old / 5
    told = event_of(mechanism, new, bound="renyi")
    assert told.to_dict()["bound"] == "renyi"
    assert Event.from_dict(json.loads(json.dumps(told.to_dict()))) == told
    earlier = event_of(mechanism, old)
    assert "bound" not in earlier.to_dict()  # its hash is that of the file it stands in
    assert Event.from_dict(earlier.to_dict()) == earlier
    ledger = Ledger(1.0, "rho", [earlier, told])
    assert Ledger.from_dict(json.loads(json.dumps(ledger.to_dict()))).spent == ledger.spent
    for wrong in (
        lambda: event_of(mechanism, new),
        lambda: event_of(mechanism, new / 1.01, bound="renyi"),
        lambda: event_of(mechanism, 9.0, "epsilon", bound="renyi"),
        lambda: event_of(mechanism, 9.0, bound="other"),
        lambda: Event.from_dict(earlier.to_dict() | {"bound": None}),
        lambda: Event.from_dict(earlier.to_dict() | {"bound": "renyi", "mechanism": "discrete Laplace"}),
    ):
        with pytest.raises(BudgetError):
            wrong()
    with pytest.raises(ConfigError, match="no bound"):
        SparseVector(1.0, 1.0, bound="other")  # type: ignore[arg-type]


def test_watches_of_both_bounds_are_charged_and_resumed() -> None:
    source = DenseCounts(ONE, [5, 5])
    for bound in ("renyi", None):
        made = Curator(source, ZCDP(1.0), noise=SeededNoise(0))
        mechanism = SparseVector(20.0, 40.0, fires=2, bound=bound)
        watch = made.watch(mechanism)
        assert made.ledger.spent == mechanism.charge(Regime.ZCDP)
        assert made.ledger.events[0].bound == bound
        state = WatchState.from_dict(json.loads(json.dumps(watch.state().to_dict())))
        assert state.mechanism == mechanism
        again = Curator(source, ZCDP(1.0), noise=SeededNoise(0), events=made.ledger.events)
        assert again.resume_watch(state).fires_left == 2
    pure = Curator(source, PureDP(1.0), noise=SeededNoise(0))
    pure.watch(SparseVector(20.0, 40.0, bound="renyi"))
    assert (pure.ledger.spent, pure.ledger.events[0].bound) == (SparseVector(20.0, 40.0).epsilon, None)


def test_states_of_earlier_versions_have_the_bound_that_they_were_charged_by() -> None:
    state = WatchState(SparseVector(4.0, 8.0), -300, 1).to_dict()
    del state["bound"]
    assert WatchState.from_dict(state).mechanism == SparseVector(4.0, 8.0)


def test_a_budget_buys_the_same_threshold_noise_for_any_number_of_fires() -> None:
    for fires in (1, 9, 400):
        made = SparseVector.for_charge(Regime.ZCDP, 0.01, fires=fires)
        assert made.threshold_scale == pytest.approx((1 + GRID) * math.sqrt(75), rel=1e-9)
        assert made.test_scale == pytest.approx((1 + GRID) * 10 * math.sqrt(fires), rel=1e-9)
        before = SparseVector.for_charge(Regime.GDP, 0.01, fires=fires)  # the same epsilon, but for its own price
        assert made.test_scale < before.test_scale / 2
