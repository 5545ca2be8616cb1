"""The replay harness itself: exact probabilities of sparse vectors, and that wrong noise does not go unnoticed."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

from hedgerow.arrays import Floats, Ints
from hedgerow.privacy import Curator, NoiseSource, PureDP, SeededNoise, SparseVector, WatchState
from hedgerow.queries import Conjunction, Neighbours, Workload
from tests.privacy.mechanisms.watch_law import exceeds_log_law, lattice_quadrature, watch_log_law
from tests.privacy.randomness.laws import laplace_log_pmf
from tests.privacy.replay import (
    Output,
    RecordingNoise,
    ReplayNoise,
    ScriptedNoise,
    log_likelihood,
    privacy_loss,
    record_answers,
)
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(1)
ONES = Conjunction.where(DOMAIN, {"a": [1]})


def listed_log_law(scale: float, margins: Sequence[int], tests: float, answers: Sequence[bool]) -> float:
    """ln Pr(answers), summed over every threshold noise that double precision can see."""
    reach = math.ceil(60 * (scale + tests)) + max(map(abs, margins)) + 3
    places = np.arange(-reach, reach + 1)
    logs = laplace_log_pmf(places, scale)
    for margin, answer in zip(margins, answers, strict=True):
        logs = logs + tail_log_law(places - margin if answer else margin - places + 1, tests)
    return float(logsumexp(logs))


def tail_log_law(gaps: Floats, scale: float) -> Floats:
    """ln Pr(discrete Laplace noise >= gap) for integers, by its closed form."""
    ratio = math.exp(-1.0 / scale)
    with np.errstate(under="ignore"):
        below = np.log1p(-(ratio ** np.maximum(1.0 - gaps, 1.0)) / (1.0 + ratio))
    return np.where(gaps >= 1, -gaps / scale - math.log1p(ratio), below)


# ---- one test --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.05, 0.4, 3.0, 700.0])
def test_the_law_of_one_test_is_a_tail_of_the_noise(scale: float) -> None:
    support = np.arange(-math.ceil(50 * scale) - 60, math.ceil(50 * scale) + 61)
    logs = laplace_log_pmf(support, scale)
    for margin in (-40, -2, -1, 0, 1, 2, 40):
        yes, no = float(logsumexp(logs[support + margin >= 0])), float(logsumexp(logs[support + margin < 0]))
        assert exceeds_log_law(margin, scale, True) == pytest.approx(yes, rel=1e-12, abs=1e-12)
        assert exceeds_log_law(margin, scale, False) == pytest.approx(no, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("answer", [True, False])
def test_the_continued_law_of_one_test_agrees_on_both_sides_of_its_seam(answer: bool) -> None:
    """Blocks end at the margin; no formula may be used on the wrong side of it by more than one integer."""
    for scale in (0.3, 50.0):
        around = exceeds_log_law(np.arange(-3, 4), scale, answer)
        gaps = -np.arange(-3, 4) if answer else np.arange(-3, 4) + 1
        assert np.allclose(around, tail_log_law(gaps, scale), rtol=1e-13, atol=0)


# ---- quadrature ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 16, 17, 40, 1000, 123_457])
def test_lattice_quadrature_sums_polynomials_exactly(size: int) -> None:
    nodes, weights = (array[0] for array in lattice_quadrature(np.array([float(size)])))
    places = np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(1)
    scaled = 2.0 * nodes / max(1, size - 1) - 1.0
    for degree in (0, 1, 2, 7, 20, 31):
        series = np.polynomial.chebyshev.Chebyshev.basis(degree)
        summed = math.fsum(series(places)) if size > 1 else float(series(-1.0))
        assert float(weights @ series(scaled if size > 1 else np.full(16, -1.0))) == pytest.approx(
            summed, abs=1e-12 * size
        )


@pytest.mark.slow
def test_the_law_of_a_watch_is_the_sum_over_its_threshold_noise() -> None:
    generator = np.random.default_rng(1)
    for _ in range(150):
        scale, tests = 10.0 ** generator.uniform(-2, 3, size=2)
        size, reach = int(generator.integers(1, 9)), 4 * math.ceil(scale + tests)
        margins = generator.integers(-reach, reach + 1, size=size).tolist()
        answers = (generator.random(size) < 0.4).tolist()
        expected = listed_log_law(scale, margins, tests, answers)
        assert watch_log_law(scale, margins, [tests] * size, answers) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("spread", [0, 500])
def test_a_thousand_tests_are_summed_exactly(spread: int) -> None:
    generator = np.random.default_rng(2)
    margins = (-300 - generator.integers(0, spread + 1, size=1_000)).tolist()
    answers = (np.arange(1_000) % 300 == 299).tolist()
    expected = listed_log_law(100.0, margins, 200.0, answers)
    assert watch_log_law(100.0, margins, [200.0] * 1_000, answers) == pytest.approx(expected, abs=1e-10)


def test_wide_noise_is_narrow_noise_in_other_units() -> None:
    """On a finer lattice the law is nearly the same, and ten times nearer where it is ten times finer.

    A summation error would not fall like that: so this reaches scales whose noises are too many to list.
    """
    margins, answers = np.array([-5, 2, -9, 0, -2]), [False, False, False, True, False]

    def at(fineness: int) -> float:  # margins in the middle of the cell that rounding down would send there
        return watch_log_law(4.0 * fineness, margins * fineness - 1, [7.0 * fineness] * 5, answers)

    steps = [abs(at(10**power) - at(10**7)) for power in (3, 4, 5)]
    assert steps[0] < 1e-3
    assert steps[1] == pytest.approx(steps[0] / 10, rel=0.1)
    assert steps[2] == pytest.approx(steps[1] / 10, rel=0.1)


def test_all_answers_together_have_probability_1() -> None:
    for scale, tests in ((0.3, 2.0), (40.0, 9.0), (3e5, 7e5)):
        margins = [round(share * (scale + tests)) for share in (-1.0, 0.2, 1.5, -0.4)]
        patterns = itertools.product([False, True], repeat=4)
        logs = [watch_log_law(scale, margins, [tests] * 4, pattern) for pattern in patterns]
        assert float(logsumexp(logs)) == pytest.approx(0.0, abs=1e-12)


# ---- transcripts -----------------------------------------------------------------------------------------------------

EPOCH = SparseVector(threshold_scale=2.0, test_scale=4.0)
THREE = SparseVector(threshold_scale=2.0, test_scale=12.0, fires=3)
COUNTS = [3, 5]


def watched(
    source: DenseCounts, noise: NoiseSource, mechanism: SparseVector = EPOCH, answers: Sequence[float] = (5, 1, 9)
) -> tuple[bool, ...]:
    """Tests until the watch closes."""
    watch = Curator(source, PureDP(9.0, Neighbours.REPLACE), noise=noise).watch(mechanism)
    return tuple(watch.test(ONES, answer, 6.0) for answer in answers if watch.fires_left)


@pytest.mark.slow
def test_a_replay_returns_what_was_told_and_its_probability() -> None:
    source = DenseCounts(DOMAIN, COUNTS)
    for seed in range(20):
        recorded = RecordingNoise(SeededNoise(seed))
        told = watched(source, recorded)
        replayed = ReplayNoise(recorded.transcript)
        assert watched(source, replayed) == told
        assert replayed.finished
        margins = [(abs(5 - answer) - 6) * 1024 for answer in (5, 1, 9)][: len(told)]
        expected = listed_log_law(2.0 * 1024, margins, 4.0 * 1024, told)
        assert replayed.log_probability == pytest.approx(expected, abs=1e-10)


def test_a_transcript_does_not_hold_the_noise_of_a_threshold() -> None:
    noise = RecordingNoise(SeededNoise(3))
    state = Curator(DenseCounts(DOMAIN, COUNTS), PureDP(9.0), noise=noise).watch(EPOCH).state()
    assert state.noise != 0
    assert noise.transcript == [Output("secret", 2048.0, None)]


@pytest.mark.parametrize("mechanism", [EPOCH, THREE], ids=["one fire", "three fires"])
def test_the_probabilities_of_all_adaptive_transcripts_sum_to_1(mechanism: SparseVector) -> None:
    """Tests end with the last fire, and later answers of the hypothesis depend on earlier tests."""

    def run(source: DenseCounts, noise: NoiseSource) -> tuple[bool, ...]:
        watch = Curator(source, PureDP(9.0, Neighbours.REPLACE), noise=noise).watch(mechanism)
        told: list[bool] = []
        while watch.fires_left and len(told) < 5:
            told.append(watch.test(ONES, 1.0 + 3.0 * sum(told), 5.0))
        return tuple(told)

    source, transcripts = DenseCounts(DOMAIN, COUNTS), {}
    for answers in itertools.product([False, True], repeat=5):
        transcript = record_answers(run, source, answers)
        told = tuple(bool(output.value) for output in transcript[1:])
        transcripts[told] = log_likelihood(run, source, transcript)
    assert len(transcripts) == (6 if mechanism is EPOCH else 26)
    assert float(logsumexp(list(transcripts.values()))) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_recorded_runs_are_as_frequent_as_their_replay_says_and_wrong_noise_is_noticed() -> None:
    """Chi-square at 1e-6 over 6,000 seeded runs; noise of 0.9 and 1.1 times the scale is told apart."""
    source, runs = DenseCounts(DOMAIN, COUNTS), 6_000
    answers = (5.0,) * 8

    def frequencies(factor: float) -> dict[tuple[bool, ...], int]:
        noise = Rescaled(SeededNoise(4), factor)
        return Counter(watched(source, noise, EPOCH, answers) for _ in range(runs))

    def run(source: DenseCounts, noise: NoiseSource) -> None:
        watched(source, noise, EPOCH, answers)

    patterns = list(frequencies(1.0))
    logs = [log_likelihood(run, source, record_answers(run, source, pattern)) for pattern in patterns]
    for factor, fits in ((1.0, True), (0.9, False), (1.1, False)):
        found = frequencies(factor)
        expected, observed = runs * np.exp(logs), np.array([found[pattern] for pattern in patterns])
        statistic = float(((observed - expected) ** 2 / expected).sum())
        assert (statistic <= chi2.isf(1e-6, len(patterns))) == fits


class Rescaled:
    """Noise of a factor times the scale that is asked for, handed to another source at that scale."""

    secure = False

    def __init__(self, inner: NoiseSource, factor: float) -> None:
        self._inner, self._factor = inner, factor

    def secret(self, scale: float) -> int:
        return self._inner.secret(scale * self._factor)

    def exceeds(self, margin: int, scale: float) -> bool:
        return self._inner.exceeds(margin, scale * self._factor)

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        return self._inner.draw(scores, scale * self._factor, size)


def test_noise_of_nine_tenths_loses_more_than_its_charge() -> None:
    """A yes far below the threshold after many a no far above it: the loss is within 1e-6 of what the noise allows."""
    zeros, source = Conjunction.where(DOMAIN, {"a": [0]}), DenseCounts(DOMAIN, COUNTS)
    neighbour = DenseCounts(DOMAIN, [2, 6])
    for factor in (1.0, 0.9, 1.1):

        def run(source: DenseCounts, noise: NoiseSource, factor: float = factor) -> float:
            made = Curator(source, PureDP(9.0, Neighbours.REPLACE), noise=Rescaled(noise, factor))
            watch = made.watch(EPOCH)
            for _ in range(6):
                watch.test(ONES, -90.0, 0.0, "above")
            watch.test(zeros, 90.0, 0.0, "above")
            return made.ledger.spent

        answers = [*[False] * 6, True]
        loss = privacy_loss(run, source, neighbour, record_answers(run, source, answers))
        assert loss == pytest.approx(1.0 / factor, rel=1e-6)
        assert (loss <= run(source, ScriptedNoise(answers, SeededNoise(0)))) == (factor >= 1.0)


def test_draws_at_nine_tenths_of_the_scale_lose_more_than_their_charge() -> None:
    workload = Workload.conjunctions(DOMAIN, ["a = 0", "a = 1"]).by_query()
    source, neighbour = DenseCounts(DOMAIN, [60, 0]), DenseCounts(DOMAIN, [59, 1])
    for factor in (1.0, 0.9):

        def run(source: DenseCounts, noise: NoiseSource, factor: float = factor) -> float:
            made = Curator(source, PureDP(9.0, Neighbours.REPLACE), noise=Rescaled(noise, factor))
            made.draw(workload, np.array([30.0, 30.0]), 8.0, 4)
            return made.ledger.spent

        transcript = (Output("draw", 8.0 * factor, np.array([2, 1, 2, 1])),)
        loss, charge = privacy_loss(run, source, neighbour, transcript), run(source, SeededNoise(0))
        assert abs(loss) > 0.9 * charge
        assert (abs(loss) <= charge) == (factor == 1.0)


# ---- which test belongs to which threshold ---------------------------------------------------------------------------


def test_watches_next_to_each_other_factorise() -> None:
    """Two at a time, tested in turns, between a measurement and a draw, the newest one saved and resumed."""
    source = DenseCounts(DOMAIN, COUNTS)
    first, second = SparseVector(2.0, 4.0), SparseVector(3.0, 5.0, fires=2)

    def run(source: DenseCounts, noise: NoiseSource) -> None:
        made = Curator(source, PureDP(99.0, Neighbours.REPLACE), noise=noise)
        one, two = made.watch(first), made.watch(second)
        two.test(ONES, 1.0, 3.0)
        one.test(ONES, 2.0, 5.0)
        made.measure(ONES, 0.5)
        state = WatchState.from_dict(two.state().to_dict())
        again = Curator(source, made.budget, noise=noise, events=made.ledger.events).resume_watch(state)
        again.test(ONES, 9.0, 3.0)
        one.test(ONES, 3.0, 5.0)

    transcript = record_answers(run, source, [True, False, False, True])
    replayed = ReplayNoise(transcript)
    run(source, replayed)
    assert [watch.answers for watch in replayed.watches] == [[False, True], [True, False]]
    grid = 1024
    expected = [
        listed_log_law(2.0 * grid, [-2 * grid, -3 * grid], 4.0 * grid, [False, True]),
        listed_log_law(3.0 * grid, [1 * grid, 1 * grid], 5.0 * grid, [True, False]),
        float(laplace_log_pmf(transcript[4].value - np.array([5]), transcript[4].scale)[0]),
    ]
    assert replayed.log_probability == pytest.approx(sum(expected), abs=1e-10)


def test_a_threshold_noise_that_is_drawn_and_not_used_counts_for_nothing() -> None:
    """So a sparse vector without noise on its threshold is not mistaken for a right one."""

    def run(source: DenseCounts, noise: NoiseSource) -> None:
        noise.secret(2048.0)
        noise.exceeds(300, 100.0)

    replayed = ReplayNoise([Output("secret", 2048.0, None), Output("exceeds", 100.0, True)])
    run(DenseCounts(DOMAIN, COUNTS), replayed)
    assert replayed.log_probability == float(exceeds_log_law(300, 100.0, True))


def test_a_noise_of_the_wrong_sign_or_of_another_process_is_refused() -> None:
    for times in (-1, 2):
        replayed = ReplayNoise([Output("secret", 2048.0, None), Output("exceeds", 100.0, True)])
        tag = replayed.secret(2048.0)
        with pytest.raises(AssertionError, match="belongs to no threshold"):
            replayed.exceeds(300 - times * tag, 100.0)


def test_a_secret_that_leaks_into_what_a_run_returns_shows() -> None:
    source, noise = DenseCounts(DOMAIN, COUNTS), RecordingNoise(SeededNoise(3))

    def leaking(source: DenseCounts, noise: NoiseSource) -> float:
        watch = Curator(source, PureDP(9.0), noise=noise).watch(EPOCH)
        return watch.test(ONES, 5.0, 6.0) + 1e-9 * watch.state().noise

    told = leaking(source, noise)
    assert leaking(source, ReplayNoise(noise.transcript)) != told


def test_a_replay_notices_another_course() -> None:
    """Fewer or more tests, another scale, another watch: none of these can depend on the table."""
    source = DenseCounts(DOMAIN, COUNTS)
    transcript = record_answers(watched, source, [False, False, False])
    for mechanism, answers, words in (
        (EPOCH, (5, 1), "ended before"),
        (EPOCH, (5, 1, 9, 9), "after the recorded one had ended"),
        (THREE, (5, 1, 9), "recorded exceeds"),
        (SparseVector(3.0, 4.0), (5, 1, 9), "recorded secret"),
    ):

        def run(source: DenseCounts, noise: NoiseSource, m: SparseVector = mechanism, a: Any = answers) -> None:
            watched(source, noise, m, a)

        with pytest.raises(AssertionError, match=words):
            log_likelihood(run, source, transcript)
