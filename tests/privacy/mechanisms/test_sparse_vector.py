"""The sparse vector through the curator: exact losses of every short transcript, order of events, states, refusals."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import BudgetError, BudgetExceededError, ConfigError, HedgerowError, QueryError, WatchClosedError
from hedgerow.privacy import (
    GRID,
    ZCDP,
    Budget,
    Curator,
    Ledger,
    NoiseSource,
    OpenDPNoise,
    PureDP,
    Regime,
    SeededNoise,
    SparseVector,
    Watch,
    WatchState,
)
from hedgerow.privacy.watch import Side
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Neighbours, Parity, Workload
from tests.privacy.mechanisms import exact_costs
from tests.privacy.mechanisms.watch_law import exceeds_log_law
from tests.privacy.replay import ExplodingNoise, Output, Run, ScriptedNoise, log_likelihood, record, record_answers
from tests.privacy.tables import DenseCounts, binary, neighbours_of

PAIR = binary(2)
ADD_REMOVE = Neighbours.ADD_REMOVE
THREE = Domain([IntegerRange("a", 0, 2)])
ONE = binary(1)
ZEROS, ONES = (Conjunction.where(ONE, {"a": [code]}) for code in (0, 1))


# ---- every transcript of a short stream ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Test:
    """One question: the hypothesis' answer moves by ``step`` for every yes so far."""

    __test__ = False

    query: LinearQuery
    answer: float
    threshold: float
    side: Side
    step: float = 0.0


@dataclass(frozen=True)
class Stream:
    """Tests of a session: with the last fire of a watch the next one starts, as long as epochs are left."""

    tests: tuple[Test, ...]
    histogram: tuple[int, ...]

    def run(self, mechanism: SparseVector, epochs: int, budget: Budget) -> Callable[[Any, NoiseSource], Curator]:
        def run(source: DenseCounts, noise: NoiseSource) -> Curator:
            made = Curator(source, budget, noise=noise)
            watches = iter(made.watch(mechanism) for _ in range(epochs))
            watch: Watch | None = next(watches)
            fires = 0
            for test in self.tests:
                if watch is None:
                    break
                fires += watch.test(test.query, test.answer + fires * test.step, test.threshold, test.side)
                watch = watch if watch.fires_left else next(watches, None)
            return made

        return run

    def sensitivity(self, relation: Neighbours) -> float:
        return max(math.ceil(test.query.sensitivity(relation).l1 / GRID) * GRID for test in self.tests)


FRACTIONAL = Explicit.of(THREE, ["a"], [0.3, -0.71, 1 / 3])
NARROW = Explicit.of(THREE, ["a"], [0.0001, 0.0, 0.75])
STREAMS = {
    "cells": Stream(
        (
            Test(ONES, 1.0, 1.5, "absolute", 1.0),
            Test(ZEROS, 0.5, 0.25, "above", -0.5),
            Test(ONES, 3.0, 0.7, "below"),
            Test(ZEROS, 2.0, 0.0, "absolute", 2.0),
        ),
        (2, 1),
    ),
    "parities": Stream(
        (
            Test(Parity(PAIR, ("a",)), 0.3, 1.1, "absolute", 1.0),
            Test(Parity(PAIR, ("a", "b")), 1.0, -0.5, "above"),
            Test(Parity(PAIR, ("b",)), -2.0, 0.5, "below", 0.25),
            Test(Parity(PAIR, ("a", "b")), 0.0, 2.5, "absolute"),
        ),
        (1, 1, 0, 1),
    ),
    "fractions": Stream(
        (
            Test(FRACTIONAL, 0.2, 0.3, "absolute", 0.1),
            Test(NARROW, 0.4, 0.1, "above"),
            Test(FRACTIONAL, -0.25, 0.001, "below", 0.3),
            Test(NARROW, 0.0, 0.5, "absolute"),
        ),
        (1, 2, 1),
    ),
}
FAMILIES: dict[str, Callable[[float], tuple[SparseVector, int]]] = {
    "Dwork and Roth": lambda sensitivity: (SparseVector(1.5 * sensitivity, 3.0 * sensitivity, sensitivity), 2),
    "Lyu, Su and Li": lambda sensitivity: (SparseVector(1.5 * sensitivity, 6.0 * sensitivity, sensitivity, 2), 1),
}


def every_transcript(run: Run, source: DenseCounts, tests: int) -> dict[tuple[bool, ...], tuple[Output, ...]]:
    """All courses that a run can take, by the answers of its tests."""
    transcripts = {}
    for answers in itertools.product([False, True], repeat=tests):
        transcript = record_answers(run, source, answers)
        transcripts[tuple(bool(output.value) for output in transcript if output.draw == "exceeds")] = transcript
    return transcripts


def laws(run: Run, source: DenseCounts, relation: Neighbours, tests: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """ln Pr of all transcripts, here and on each neighbour."""
    transcripts = every_transcript(run, source, tests).values()
    here = np.array([log_likelihood(run, source, transcript) for transcript in transcripts])
    assert float(logsumexp(here)) == pytest.approx(0.0, abs=1e-11)
    for neighbour in neighbours_of(source, relation):
        yield here, np.array([log_likelihood(run, neighbour, transcript) for transcript in transcripts])


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", STREAMS)
def test_no_transcript_loses_more_than_its_charge(name: str, family: str, relation: Neighbours) -> None:
    stream = STREAMS[name]
    mechanism, epochs = FAMILIES[family](stream.sensitivity(relation))
    source = DenseCounts(stream.tests[0].query.domain, stream.histogram)
    run, losses = stream.run(mechanism, epochs, PureDP(99.0, relation)), []
    for here, there in laws(run, source, relation, len(stream.tests)):
        losses.append(float(np.abs(here - there).max()))
    assert max(losses) <= mechanism.epsilon * (1 if family == "Lyu, Su and Li" else epochs) + 1e-9
    assert max(losses) > 0.2


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("bound", ["renyi", None])
def test_renyi_divergence_of_a_watch_is_at_most_order_times_rho(
    bound: Literal["renyi"] | None, family: str, relation: Neighbours
) -> None:
    stream = STREAMS["cells"]
    mechanism, epochs = FAMILIES[family](stream.sensitivity(relation))
    mechanism = replace(mechanism, bound=bound)
    run = stream.run(mechanism, epochs, ZCDP(99.0, relation))
    rho = epochs * mechanism.charge(Regime.ZCDP)
    for here, there in laws(run, DenseCounts(ONE, stream.histogram), relation, len(stream.tests)):
        for order in (1.001, 1.5, 2.0, 8.0, 64.0):
            divergence = float(logsumexp(order * here - (order - 1) * there)) / (order - 1)
            assert divergence <= order * rho + 1e-9


def worst_case(fires: int, quiet: int = 30, distance: float = 60.0) -> tuple[Stream, list[bool]]:
    """Values far above the threshold that are told not to pass, then values far below it that are told to.

    A record moves from 0 to 1: what was quiet rises, what passed falls, so every shift of the proof is needed.
    """
    loud = Test(ZEROS, 9.0 * distance, 0.0, "above")
    tests = [Test(ONES, -distance, 0.0, "above")] * quiet + [loud] * fires
    return Stream(tuple(tests), (5, 5)), [False] * quiet + [True] * fires


@pytest.mark.parametrize("side", ["above", "below", "absolute"])
@pytest.mark.parametrize("fires", [1, 3])
def test_worst_cases_reach_epsilon(fires: int, side: Side) -> None:
    """Replacing a record with all shifts needed; so the bound of the tests above is not vacuous, and is tight."""
    mechanism = SparseVector(2.0, 4.0 * fires, fires=fires)
    stream, answers = worst_case(fires)
    if side == "below":  # the same values, with both queries turned around
        turned = {ZEROS: ONES, ONES: ZEROS}
        tests = [Test(turned[test.query], -test.answer + 10.0, test.threshold, "below") for test in stream.tests]
        stream = Stream(tuple(tests), stream.histogram)
    if side == "absolute":  # quiet tests far on the upper side, loud ones near the answer and under a high threshold
        far = [Test(ONES, -60.0, 0.0, side)] * 30 + [Test(ZEROS, 0.0, 540.0, side)] * fires
        stream = Stream(tuple(far), stream.histogram)
    run = stream.run(mechanism, 1, PureDP(9.0, Neighbours.REPLACE))
    transcript = record_answers(run, DenseCounts(ONE, [5, 5]), answers)
    losses = [
        log_likelihood(run, DenseCounts(ONE, [5, 5]), transcript) - log_likelihood(run, there, transcript)
        for there in neighbours_of(DenseCounts(ONE, [5, 5]), Neighbours.REPLACE)
    ]
    assert max(map(abs, losses)) == pytest.approx(mechanism.epsilon, rel=1e-6)
    assert max(map(abs, losses)) <= mechanism.epsilon + 1e-9


def test_worst_cases_under_add_remove() -> None:
    """Counts move one way: half of the shifts is needed. A query of both signs needs all, with a record more."""
    mechanism, source = SparseVector(2.0, 4.0), DenseCounts(ONE, [5, 5])
    signed = Explicit.of(ONE, ["a"], [-1.0, 1.0])
    both = (*[Test(signed, -60.0, 0.0, "above")] * 30, Test(signed, -540.0, 0.0, "below"))
    counts, answers = worst_case(1)
    for tests, least in ((counts.tests, 0.499), (both, 0.999)):
        run = Stream(tests, (5, 5)).run(mechanism, 1, PureDP(9.0))
        transcript = record_answers(run, source, answers)
        here = log_likelihood(run, source, transcript)
        losses = [abs(here - log_likelihood(run, there, transcript)) for there in neighbours_of(source, ADD_REMOVE)]
        assert least < max(losses) <= mechanism.epsilon + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_everything_in_turns_loses_at_most_what_the_ledger_holds(relation: Neighbours) -> None:
    """Two watches at once, a measurement, a selection and draws between their tests, and one watch resumed."""
    cells = Workload.marginals(ONE, 1, whole=False)

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        made = Curator(source, PureDP(9.0, relation), noise=noise)
        one, two = made.watch(SparseVector(4.0, 8.0)), made.watch(SparseVector(4.0, 16.0, fires=2))
        answers = np.array([2.0, 2.0])
        for _ in range(3):
            if two.fires_left and two.test(ZEROS, answers[0], 1.5, "below"):
                answers[0] += made.measure(ZEROS, 0.1).values[0] / 4
            if one.fires_left and one.test(ONES, answers[1], 1.0):
                answers[made.select(cells, answers, 0.1)] += 1.0
            answers[made.draw(cells, answers, 40.0, 2) % 2] -= 0.25
        again = Curator(source, made.budget, noise=noise, events=made.ledger.events).resume_watch(two.state())
        if again.fires_left:
            again.test(ONES, answers[1], 2.0, "above")
        return made.ledger.spent

    source, worst = DenseCounts(ONE, [3, 2]), 0.0
    for seed in range(25):
        transcript = record(run, source, seed)
        here = log_likelihood(run, source, transcript)
        for there in neighbours_of(source, relation):
            worst = max(worst, abs(here - log_likelihood(run, there, transcript)))
    assert 0.15 < worst <= run(source, SeededNoise(0))


@pytest.mark.parametrize("fires", [1, 3])
@pytest.mark.parametrize("bound", ["renyi", None])
def test_renyi_divergence_of_a_long_watch_near_its_threshold(bound: Literal["renyi"] | None, fires: int) -> None:
    """Values that rise and values that fall by one record, all near the threshold: every transcript, both ways."""
    mechanism = SparseVector(1.0, 2.0 * fires, fires=fires, bound=bound)
    tests = [Test(ONES, 5.0, 0.5, "above"), Test(ZEROS, 5.0, 0.5, "above")] * 4
    run = Stream(tuple(tests), (5, 5)).run(mechanism, 1, ZCDP(99.0, Neighbours.REPLACE))
    worst, rho = 0.0, mechanism.charge(Regime.ZCDP)
    for here, there in laws(run, DenseCounts(ONE, (5, 5)), Neighbours.REPLACE, len(tests)):
        for order in (1.001, 1.5, 2.0, 8.0, 64.0):
            for first, second in ((here, there), (there, here)):
                divergence = float(logsumexp(order * first - (order - 1) * second)) / (order - 1)
                assert divergence <= order * rho + 1e-9
                worst = max(worst, divergence / (order * rho))
    assert worst > (0.1 if fires == 1 else 0.03)


class MarginNoise(SeededNoise):
    """No noise at all; keeps the margins."""

    def __init__(self) -> None:
        super().__init__(0)
        self.margins: list[int] = []

    def secret(self, scale: float) -> int:
        return 0

    def exceeds(self, margin: int, scale: float) -> bool:
        self.margins.append(margin)
        return False


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_one_record_moves_a_margin_by_at_most_the_sensitivity_in_whole_steps(relation: Neighbours) -> None:
    """Random fractional queries and answers: rounding down to 2^-10 counts never adds a step."""
    generator = np.random.default_rng(7)
    reached = False
    for _ in range(60):
        values = generator.normal(size=3) * 10.0 ** generator.uniform(-6, 2)
        query = Explicit.of(THREE, ["a"], values)
        if query.bounds == (0.0, 0.0):
            continue
        sensitivity = max(1, math.ceil(query.sensitivity(relation).l1 / GRID)) * GRID
        source = DenseCounts(THREE, generator.integers(0, 4, size=3) + 1)
        answer, threshold = generator.normal(size=2)

        def margins(table: DenseCounts, query: Any = query, sensitivity: float = sensitivity, a: float = answer) -> Any:
            noise = MarginNoise()
            watch = Curator(table, PureDP(1e9, relation), noise=noise).watch(SparseVector(1.0, 1.0, sensitivity))
            for side in ("absolute", "above", "below"):
                watch.test(query, a, threshold, side)  # noqa: B023
            return np.array(noise.margins)

        here = margins(source)
        furthest = max(float(np.abs(here - margins(there)).max()) for there in neighbours_of(source, relation))
        assert furthest <= sensitivity / GRID
        reached |= furthest == sensitivity / GRID > 2
    assert reached


# ---- charges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("regime", Regime)
@pytest.mark.parametrize("fires", [1, 2, 7, 300])
@pytest.mark.parametrize("share", [None, 0.5, 0.03])
def test_charges_have_their_closed_form(regime: Regime, fires: int, share: float | None) -> None:
    for sensitivity in (1.0, 2.0, 17 * GRID):
        made = SparseVector.for_charge(regime, 0.3, sensitivity, fires, share)
        epsilon = sensitivity / made.threshold_scale + 2 * fires * sensitivity / made.test_scale
        assert made.epsilon == pytest.approx(epsilon, rel=1e-14)
        assert 0.3 * (1 - 1e-12) <= made.charge(regime) <= 0.3
        expected = 1.0 / (1.0 + (2 * fires) ** (2 / 3)) if share is None else share
        if regime is Regime.ZCDP:
            moved = sensitivity + GRID
            rho = max(3 / (2 * made.threshold_scale) ** 2, fires / made.test_scale**2) * moved**2
            assert made.charge(regime) == pytest.approx(rho, 1e-13)
            ratio = math.sqrt(0.75 / fires) if share is None else (1 - share) / (2 * fires * share)
            assert made.threshold_scale / made.test_scale == pytest.approx(ratio, rel=1e-12)
            made = replace(made, bound=None)
        else:
            assert sensitivity / made.threshold_scale == pytest.approx(expected * epsilon, rel=1e-12)
        assert made.charge(regime) == pytest.approx(
            float(exact_costs.of_pure(Fraction(epsilon), regime.unit).high), 1e-13
        )


def test_charges_are_rounded_up() -> None:
    """Against the scales as the sampler receives them, in exact fractions."""
    generator = np.random.default_rng(3)
    for _ in range(300):
        scales = 10.0 ** generator.uniform(-3, 6, size=2)
        made = SparseVector(*scales.tolist(), sensitivity=float(generator.integers(1, 5000)) * GRID, fires=3)
        exact = Fraction(made.sensitivity) / Fraction(made.threshold_scale)
        exact += 6 * Fraction(made.sensitivity) / Fraction(made.test_scale)
        assert Fraction(made.epsilon) >= exact
        with mpmath.workdps(60):
            epsilon = mpmath.mpf(exact.numerator) / exact.denominator
            assert mpmath.mpf(made.charge(Regime.ZCDP)) >= epsilon * mpmath.tanh(epsilon / 2)


def test_the_default_share_has_the_least_variance() -> None:
    for fires in (1, 5, 60):
        variances = {}
        for share in (None, *np.linspace(0.01, 0.99, 99).tolist()):
            made = SparseVector.for_charge(Regime.PURE, 1.0, fires=fires, threshold_share=share)
            variances[share] = made.threshold_scale**2 + made.test_scale**2
        assert variances[None] <= min(variances.values()) * (1 + 1e-12)


def test_quantiles_hold_as_often_as_they_say() -> None:
    """Exact tails: all of 50 values within the bound with probability 0.9, and not within one step less."""
    made = SparseVector(3.0, 5.0)
    for quantile, scale in ((made.threshold_quantile, 3.0), (made.test_quantile, 5.0)):
        units = quantile(0.9, 50) / GRID
        inside = [
            math.exp(50 * math.log1p(-2 * math.exp(float(exceeds_log_law(-k - 1, scale / GRID, True)))))
            for k in (units, units - 1)
        ]
        assert inside[0] >= 0.9 > inside[1]


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.3, Neighbours.REPLACE)])
def test_every_epoch_is_charged_when_it_starts_and_its_tests_are_free(budget: Budget) -> None:
    made = Curator(DenseCounts(ONE, [5, 5]), budget, noise=SeededNoise(0))
    epoch = SparseVector.for_charge(budget.regime, budget.limit / 4, threshold_share=0.5)
    for count in range(1, 5):
        watch = made.watch(epoch, label=f"epoch {count}")
        assert made.ledger.spent == pytest.approx(count * budget.limit / 4, rel=1e-12)
        for _ in range(20):
            if watch.fires_left:
                watch.test(ONES, 0.0, 3.0)
    assert [event.label for event in made.ledger.events] == [f"epoch {count}" for count in range(1, 5)]
    assert {(event.charge, event.scale, event.sensitivity) for event in made.ledger.events} == {
        (epoch.charge(budget.regime), epoch.test_scale, 1.0)
    }
    assert made.ledger.spent <= budget.limit
    with pytest.raises(BudgetExceededError):
        made.watch(epoch)


@pytest.mark.parametrize(
    "options",
    [
        {"threshold_scale": 0.0},
        {"threshold_scale": math.inf},
        {"test_scale": -1.0},
        {"test_scale": math.nan},
        {"test_scale": 2.0**51},
        {"sensitivity": 0.0},
        {"sensitivity": math.nan},
        {"fires": 0},
        {"fires": 1.5},
        {"fires": True},
    ],
)
def test_senseless_mechanisms_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        SparseVector(**{"threshold_scale": 1.0, "test_scale": 1.0, **options})


@pytest.mark.parametrize("options", [{"amount": 0.0}, {"threshold_share": 0.0}, {"threshold_share": 1.0}])
def test_senseless_charges_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        SparseVector.for_charge(Regime.PURE, **{"amount": 1.0, **options})


# ---- order: check, charge, read, draw --------------------------------------------------------------------------------

EPOCH = SparseVector(2.0, 4.0)


def test_a_refused_watch_draws_and_reads_nothing() -> None:
    source = DenseCounts(ONE, [5, 5])
    made = Curator(source, PureDP(0.999), noise=ExplodingNoise())
    with pytest.raises(BudgetExceededError):
        made.watch(EPOCH)
    assert (source.reads, made.ledger.events) == (0, ())


def test_a_watch_is_charged_before_its_secret_is_drawn_and_not_refunded() -> None:
    made = Curator(DenseCounts(ONE, [5, 5]), PureDP(1.5), noise=ExplodingNoise())
    with pytest.raises(RuntimeError, match="drawn"):
        made.watch(EPOCH)
    assert made.ledger.spent == EPOCH.charge(Regime.PURE)


def test_starting_a_watch_reads_nothing_and_each_test_reads_once() -> None:
    source = DenseCounts(ONE, [5, 5])
    watch = Curator(source, PureDP(9.0), noise=MarginNoise()).watch(EPOCH)
    assert source.reads == 0
    for count in range(1, 4):
        watch.test(Parity(ONE, ("a",)), 5.0, 3.0)
        assert source.reads == count


@pytest.mark.parametrize("fires", [1, 3])
def test_a_closed_watch_reads_and_draws_nothing(fires: int) -> None:
    source = DenseCounts(ONE, [5, 5])
    noise = ScriptedNoise([True] * fires, ExplodingNoise())
    watch = Curator(source, PureDP(9.0), noise=noise).watch(SparseVector(2.0, 4.0 * fires, fires=fires))
    for left in range(fires, 0, -1):
        assert watch.fires_left == left
        assert watch.test(ONES, 5.0, 3.0)
    reads = source.reads
    for _ in range(3):
        with pytest.raises(WatchClosedError, match="used all its fires"):
            watch.test(ONES, 5.0, -(2.0**40))
    assert (source.reads, watch.fires_left, noise.answers) == (reads, 0, [])


REFUSED: dict[str, tuple[LinearQuery, float, float, Any]] = {
    "another domain": (Conjunction.where(PAIR, {"a": [1]}), 0.0, 0.0, "absolute"),
    "too sensitive": (Explicit.of(ONE, ["a"], [0.0, 1.0009765625]), 0.0, 0.0, "absolute"),
    "off the lattice": (Explicit(ONE, ("a",), "off", np.array([0.0, 1 / 3]), (0.0, 1.0)), 0.0, 0.0, "above"),
    "outside its bounds": (Explicit(ONE, ("a",), "off", np.array([0.0, 3.0]), (0.0, 1.0)), 0.0, 0.0, "above"),
    "answer not a number": (ONES, math.nan, 0.0, "absolute"),
    "threshold infinite": (ONES, 0.0, math.inf, "absolute"),
    "huge answer": (ONES, 2.0**51, 0.0, "absolute"),
    "no such side": (ONES, 0.0, 0.0, "both"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_test_reads_and_draws_nothing(case: str) -> None:
    source = DenseCounts(ONE, [5, 5])
    watch = Curator(source, PureDP(9.0), noise=ScriptedNoise([], ExplodingNoise())).watch(EPOCH)
    with pytest.raises(QueryError):
        watch.test(*REFUSED[case])
    assert (source.reads, watch.fires_left) == (0, 1)


@pytest.mark.parametrize("noise", [OpenDPNoise(), SeededNoise(0)], ids=["secure", "seeded"])
def test_the_furthest_margins_are_cut_and_not_wrapped_around(noise: NoiseSource) -> None:
    """Public answers and thresholds at their limits, and a secret beyond them: the answer is then certain."""
    for secret, passes in ((2**62, False), (-(2**62), True)):
        made = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=ScriptedNoise([], noise))
        event = made.watch(EPOCH) and made.ledger.events[0]
        again = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=noise, events=[event])
        watch = again.resume_watch(WatchState(EPOCH, secret, 1))
        edge = -(2.0**50) if passes else 2.0**50
        assert watch.test(ONES, -edge, edge, "above") == passes


class Meeting(SeededNoise):
    """Every test passes, after waiting whether another one comes."""

    def __init__(self) -> None:
        super().__init__(0)
        self.barrier = threading.Barrier(2)

    def exceeds(self, margin: int, scale: float) -> bool:
        with suppress(threading.BrokenBarrierError):
            self.barrier.wait(timeout=1.0)
        return True


def test_two_threads_cannot_both_use_the_last_fire() -> None:
    watch = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=Meeting()).watch(EPOCH)
    outcomes: list[object] = []

    def ask() -> None:
        try:
            outcomes.append(watch.test(ONES, 0.0, 0.0))
        except WatchClosedError:
            outcomes.append("closed")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, outcomes)) == ["True", "closed"]


# ---- to be continued -------------------------------------------------------------------------------------------------

LONG = SparseVector(2.0, 12.0, fires=3)


def asked(watch: Watch, answers: Sequence[float]) -> list[bool]:
    return [watch.test(ONES, answer, 6.0) for answer in answers if watch.fires_left]


@pytest.mark.parametrize("seed", range(6))
def test_a_watch_resumed_from_a_file_goes_on_as_if_nothing_had_happened(seed: int) -> None:
    source, answers = DenseCounts(ONE, [5, 5]), [5.0, 1.0, 9.0, 0.0, 4.0, 12.0, 3.0, -1.0]
    whole = asked(Curator(source, PureDP(9.0), noise=SeededNoise(seed)).watch(LONG), answers)
    for cut in range(len(whole) + 1):
        noise = SeededNoise(seed)
        made = Curator(source, PureDP(9.0), noise=noise)
        watch = made.watch(LONG, label="mine")
        first = asked(watch, answers[:cut])
        saved = json.dumps({"watch": watch.state().to_dict(), "ledger": made.ledger.to_dict()})
        content = json.loads(saved)
        events = Ledger.from_dict(content["ledger"]).events
        again = Curator(source, PureDP(9.0), noise=noise, events=events)
        resumed = again.resume_watch(WatchState.from_dict(content["watch"]), label="mine")
        assert (resumed.fires_left, resumed.mechanism) == (watch.fires_left, LONG)
        assert first + asked(resumed, answers[cut:]) == whole
        assert again.ledger.spent == made.ledger.spent
        assert again.ledger.events == made.ledger.events


def test_a_watch_is_resumed_only_where_the_ledger_holds_it() -> None:
    source, budget = DenseCounts(ONE, [5, 5]), PureDP(9.0)
    made = Curator(source, budget, noise=SeededNoise(0))
    made.measure(ONES, 0.5)
    state = made.watch(EPOCH).state()
    events = made.ledger.events
    wider = replace(state, mechanism=SparseVector(2.0, 4.0 * (1 + 2**-30)))
    for given, label, history in (
        (state, "watch", ()),
        (state, "watch", events[:1]),
        (state, "another", events),
        (wider, "watch", events),
        (replace(state, mechanism=SparseVector(4.0, 8.0 / 3.0)), "watch", events),
    ):
        noise = ExplodingNoise()
        with pytest.raises(BudgetError, match="does not hold this watch"):
            Curator(source, budget, noise=noise, events=history).resume_watch(given, label=label)
    other = Curator(source, budget, noise=SeededNoise(0), events=events)
    other.watch(LONG)
    with pytest.raises(BudgetError):
        other.resume_watch(state)


def test_a_watch_is_resumed_once_and_not_beside_itself() -> None:
    """Otherwise one threshold noise would serve more fires than were paid for."""
    made = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=SeededNoise(0))
    state = made.watch(EPOCH).state()
    with pytest.raises(BudgetError, match="is running already"):
        made.resume_watch(state)
    again = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=SeededNoise(0), events=made.ledger.events)
    again.resume_watch(state)
    with pytest.raises(BudgetError, match="is running already"):
        again.resume_watch(state)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"fires_left": 4}, ConfigError),
        ({"fires_left": -1}, ConfigError),
        ({"test_scale": -1.0}, ConfigError),
        ({"fires": 0}, ConfigError),
        ({"noise": "x"}, ValueError),
        ({"sensitivity": None}, TypeError),
    ],
)
def test_states_that_cannot_be_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    content = WatchState(LONG, 17, 3).to_dict()
    assert WatchState.from_dict(content) == WatchState(LONG, 17, 3)
    with pytest.raises(error):
        WatchState.from_dict({**content, **change})
    with pytest.raises(KeyError):
        WatchState.from_dict({key: content[key] for key in content if key not in change})


def test_a_restored_curator_goes_on_to_the_last_bit_of_its_budget() -> None:
    """Seven tenths and three tenths of a budget in two sessions are as in one, and nothing more fits."""
    source, tenth = DenseCounts(ONE, [5, 5]), SparseVector.for_charge(Regime.PURE, 0.1)
    first, whole = (Curator(source, PureDP(1.0), noise=SeededNoise(1)) for _ in range(2))
    for _ in range(7):
        first.watch(tenth)
    second = Curator(source, PureDP(1.0), noise=SeededNoise(2), events=first.ledger.events)
    assert (second.ledger.spent, second.ledger.remaining) == (first.ledger.spent, first.ledger.remaining)
    for _ in range(3):
        second.watch(tenth)
    for _ in range(10):
        whole.watch(tenth)
    assert second.ledger.events == whole.ledger.events
    assert second.ledger.to_dict() == whole.ledger.to_dict()
    with pytest.raises(BudgetExceededError):
        second.watch(tenth)
    assert len(first.ledger.events) == 7


@pytest.mark.parametrize("budget", [PureDP(0.999), ZCDP(9.0), PureDP(9.0, Neighbours.REPLACE)])
def test_events_of_another_budget_are_refused(budget: Budget) -> None:
    source = DenseCounts(ONE, [5, 5])
    made = Curator(source, PureDP(1.0), noise=SeededNoise(0))
    made.watch(EPOCH.for_charge(Regime.PURE, 1.0))
    with pytest.raises(BudgetError):
        Curator(source, budget, noise=ExplodingNoise(), events=made.ledger.events)


# ---- secrets ---------------------------------------------------------------------------------------------------------


def test_no_text_shows_the_noise_of_a_threshold() -> None:
    class Telling(SeededNoise):
        def secret(self, scale: float) -> int:
            return 987_654

    made = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=Telling(0))
    watch = made.watch(EPOCH)
    state = watch.state()
    assert state.noise == 987_654
    texts = [repr(watch), str(watch), repr(state), str(state), f"{state}", repr(made), str(made.ledger), repr([state])]
    for case in REFUSED.values():
        with pytest.raises(HedgerowError) as caught:
            watch.test(*case)
        texts.append(repr(caught.value))
    with pytest.raises(BudgetError) as refused:
        made.resume_watch(state)
    texts.append(str(refused.value))
    with pytest.raises(ConfigError) as wrong:
        WatchState(EPOCH, 987_654, 2)
    texts.append(str(wrong.value))
    for text in texts:
        assert "987654" not in text.replace(",", "").replace("_", "")
    assert not hasattr(watch, "__dict__")
    public = {name for name in dir(watch) if not name.startswith("_")}
    assert public == {"mechanism", "fires_left", "test", "state"}


@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_watch_cannot_be_copied(attempt: Callable[[Any], object]) -> None:
    watch = Curator(DenseCounts(ONE, [5, 5]), PureDP(9.0), noise=SeededNoise(0)).watch(EPOCH)
    with pytest.raises(TypeError, match="cannot be copied"):
        attempt(watch)
