"""Whole epochs with the secure noise source, on neighbouring tables, as often as it takes (theory.md section 9)."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import beta, binom, chi2

from hedgerow.privacy import Curator, NoiseSource, OpenDPNoise, PureDP, SeededNoise, SparseVector
from hedgerow.queries import Conjunction, Neighbours
from tests.privacy.replay import log_likelihood, record_answers
from tests.privacy.tables import DenseCounts, binary

ONE = binary(1)
ZEROS, ONES = (Conjunction.where(ONE, {"a": [code]}) for code in (0, 1))
HERE, THERE = (5, 5), (4, 6)
ALARM = 5e-7
"""Probability of a false alarm of each of the two bounds."""

Story = tuple[int, float, float]
"""How many quiet tests, how far their value is above the threshold, and that of the loud test at the end."""


def epoch(source: DenseCounts, noise: NoiseSource, mechanism: SparseVector, story: Story) -> tuple[bool, ...]:
    watch = Curator(source, PureDP(9.0, Neighbours.REPLACE), noise=noise).watch(mechanism)
    quiet, above, last = story
    asked = [*[(ONES, 5.0 - above)] * quiet, (ZEROS, 5.0 - last)]
    return tuple(watch.test(query, answer, 0.0, "above") for query, answer in asked if watch.fires_left)


def frequencies(
    histogram: tuple[int, int], noise: NoiseSource, mechanism: SparseVector, story: Story, runs: int
) -> Counter[tuple[bool, ...]]:
    source = DenseCounts(ONE, histogram)
    return Counter(epoch(source, noise, mechanism, story) for _ in range(runs))


def epsilon_shown(first: int, second: int, runs: int) -> float:
    """A lower bound on ln(p / p') that holds but with probability 1e-6 (Clopper and Pearson)."""
    low = float(beta.isf(1.0 - ALARM, first, runs - first + 1)) if first else 0.0
    high = float(beta.isf(ALARM, second + 1, runs - second)) if second < runs else 1.0
    return math.log(low / high) if low else -math.inf


@pytest.mark.parametrize("count", [0, 1, 40, 999, 1000])
def test_the_bounds_are_those_of_clopper_and_pearson(count: int) -> None:
    """Of 1000 runs against a count that is certain: tails of the binomial distribution at each bound are ALARM."""
    assert epsilon_shown(1000, 1000, 1000) == pytest.approx(math.log(ALARM) / 1000, rel=1e-6)
    if 0 < count < 1000:
        low = math.exp(epsilon_shown(count, 1000, 1000))
        assert binom.sf(count - 1, 1000, low) == pytest.approx(ALARM, rel=1e-3)
        high = math.exp(math.log(ALARM) / 1000 - epsilon_shown(1000, count, 1000))
        assert binom.cdf(count, 1000, high) == pytest.approx(ALARM, rel=1e-3)


def caught(noise: NoiseSource, mechanism: SparseVector, story: Story, runs: int) -> float:
    """The epsilon that runs on both tables show, by the event that all quiet tests are and the last one fires."""
    event = (*[False] * story[0], True)
    counts = [frequencies(histogram, noise, mechanism, story, runs)[event] for histogram in (HERE, THERE)]
    return epsilon_shown(*counts, runs)


@pytest.mark.slow
def test_the_audit_tells_private_from_wrong_epochs() -> None:
    """Seeded: an epoch of epsilon 1 shows no more, and Lap(1/epsilon) on queries and threshold shows more."""
    assert caught(SeededNoise(1), SparseVector(2.0, 4.0), (5, 0.0, 1.0), 3_000) <= 1.0
    assert caught(SeededNoise(2), SparseVector(1.0, 1.0), (8, -1.0, 1.0), 3_000) > 1.2


@pytest.mark.audit
def test_epochs_with_secure_noise_have_the_law_of_the_replay_and_lose_no_more_than_epsilon() -> None:
    """Frequencies of all transcripts at 1e-6 on both tables, and the epsilon that they show (false alarm 1e-6)."""
    mechanism, story, runs = SparseVector(2.0, 4.0), (5, 0.0, 1.0), 20_000
    counts = []
    for histogram in (HERE, THERE):
        found = frequencies(histogram, OpenDPNoise(), mechanism, story, runs)
        patterns = [(*[False] * quiet, True) for quiet in range(6)] + [(False,) * 6]
        assert set(found) <= set(patterns)

        def run(source: DenseCounts, noise: NoiseSource) -> None:
            epoch(source, noise, mechanism, story)

        source = DenseCounts(ONE, histogram)
        logs = [log_likelihood(run, source, record_answers(run, source, pattern)) for pattern in patterns]
        expected, observed = runs * np.exp(logs), np.array([found[pattern] for pattern in patterns])
        assert float(((observed - expected) ** 2 / expected).sum()) <= chi2.isf(1e-6, len(patterns) - 1)
        counts.append(found)
    event = (*[False] * 5, True)
    assert epsilon_shown(counts[0][event], counts[1][event], runs) <= mechanism.epsilon


@pytest.mark.audit
def test_a_wrong_epoch_with_secure_noise_is_caught() -> None:
    """Epsilon 3 sold as 1: missed with probability below 1e-9."""
    assert caught(OpenDPNoise(), SparseVector(1.0, 1.0), (8, -1.0, 1.0), 6_000) > 1.0


@pytest.mark.audit
@pytest.mark.parametrize("side", [True, False], ids=["secret", "exceeds"])
def test_one_draw_at_a_time_has_the_law_of_many(side: bool) -> None:
    """Chi-square at 1e-6 of 15,000 secrets in bins, and of 15,000 tests, at a scale of the lattice."""
    noise, scale, runs = OpenDPNoise(), 2048.0, 15_000
    edges = np.array([-8000, -4000, -2000, -1000, -300, 0, 300, 1000, 2000, 4000, 8000])
    if side:
        draws = np.array([noise.secret(scale) for _ in range(runs)])
        below = np.array([(draws < edge).sum() for edge in edges])
    else:
        below = np.array([sum(not noise.exceeds(-int(edge), scale) for _ in range(runs // 10)) for edge in edges])
    tail = np.array([_below(int(edge), scale) for edge in edges])
    total = runs if side else runs // 10
    if side:
        observed, mass = np.diff([0, *below, total]), np.diff([0.0, *tail, 1.0])
        assert float(((observed - total * mass) ** 2 / (total * mass)).sum()) <= chi2.isf(1e-6, len(mass) - 1)
    else:
        spread = total * tail * (1.0 - tail)
        assert float(((below - total * tail) ** 2 / spread).sum()) <= chi2.isf(1e-6, len(edges))


def _below(edge: int, scale: float) -> float:
    """Pr(noise < edge)."""
    ratio = math.exp(-1.0 / scale)
    return ratio ** (1 - edge) / (1 + ratio) if edge <= 0 else 1.0 - ratio**edge / (1 + ratio)
