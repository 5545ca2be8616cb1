"""Samplers against their laws: chi-square at 1e-6, and noise of 0.9 and 1.1 times the scale is told apart.

Seeded tests are deterministic. Tests of the secure source cannot be seeded: each fails by chance with probability 1e-6.
"""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2

from hedgerow.audit import trace_checks
from hedgerow.privacy import SECURE_SOURCE, NoiseSource, OpenDPNoise, SeededNoise, name_of_source
from hedgerow.privacy.randomness import source as sources
from tests.privacy.randomness.laws import (
    exponential_log_law,
    gaussian_log_pmf,
    laplace_log_pmf,
    permute_and_flip_log_law,
)

LEVEL = 1e-6
SCORES = np.array([0.0, 1.5, 3.25, 3.5, -2.0, 6.0])

Law = Callable[[np.ndarray, float], np.ndarray]


def fits(draws: np.ndarray, support: np.ndarray, mass: np.ndarray) -> bool:
    """Chi-square test at 1e-6; values of small expectation, and everything off the support, are lumped together."""
    observed = np.array([(draws == value).sum() for value in support], dtype=float)
    expected = mass * len(draws)
    common = expected >= 25
    observed = np.append(observed[common], len(draws) - observed[common].sum())
    expected = np.append(expected[common], max(1e-9, len(draws) - expected[common].sum()))
    if expected[-1] < 1e-3:  # nothing is lumped: a single draw out there is as unlikely as that
        if observed[-1] > 0:
            return False
        observed, expected = observed[:-1], expected[:-1]
    return bool(((observed - expected) ** 2 / expected).sum() <= chi2.isf(LEVEL, len(observed) - 1))


def noise_fits(draws: np.ndarray, log_pmf: Law, scale: float) -> bool:
    support = np.arange(-math.ceil(30 * scale), math.ceil(30 * scale) + 1)
    return fits(draws, support, np.exp(log_pmf(support, scale)))


def choices(source: NoiseSource, law: str, scale: float, count: int) -> np.ndarray:
    draw = source.choose if law == "choose" else source.permute_and_flip
    return np.array([draw(SCORES, scale) for _ in range(count)])


NOISES: list[tuple[str, Law]] = [("laplace", laplace_log_pmf), ("gaussian", gaussian_log_pmf)]
CHOICES: list[tuple[str, Law]] = [("choose", exponential_log_law), ("permute_and_flip", permute_and_flip_log_law)]


@pytest.mark.parametrize(("name", "log_pmf"), NOISES)
@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7, 25.0])
def test_seeded_noise_has_its_law(name: str, log_pmf: Law, scale: float) -> None:
    draws = getattr(SeededNoise(1), name)(np.zeros(40_000, dtype=np.int64), scale)
    assert noise_fits(draws, log_pmf, scale)


@pytest.mark.parametrize(("name", "log_pmf"), NOISES)
@pytest.mark.parametrize("factor", [0.9, 1.1])
@pytest.mark.parametrize("scale", [1.0, 3.7, 25.0])
def test_noise_of_another_scale_is_told_apart(name: str, log_pmf: Law, scale: float, factor: float) -> None:
    draws = getattr(SeededNoise(2), name)(np.zeros(40_000, dtype=np.int64), scale * factor)
    assert not noise_fits(draws, log_pmf, scale)


@pytest.mark.parametrize(("name", "log_law"), CHOICES)
def test_seeded_choices_have_their_law(name: str, log_law: Law) -> None:
    draws = choices(SeededNoise(3), name, 2.0, 20_000)
    assert fits(draws, np.arange(len(SCORES)), np.exp(log_law(SCORES, 2.0)))


@pytest.mark.parametrize(("name", "log_law"), CHOICES)
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_choices_of_another_scale_are_told_apart(name: str, log_law: Law, factor: float) -> None:
    draws = choices(SeededNoise(4), name, 2.0 * factor, 20_000)
    assert not fits(draws, np.arange(len(SCORES)), np.exp(log_law(SCORES, 2.0)))


def test_the_two_laws_of_selection_are_told_apart() -> None:
    draws = choices(SeededNoise(5), "permute_and_flip", 2.0, 20_000)
    assert not fits(draws, np.arange(len(SCORES)), np.exp(exponential_log_law(SCORES, 2.0)))


def test_the_written_law_of_permute_and_flip_is_that_of_the_enumerated_procedure() -> None:
    coins = np.exp((SCORES - SCORES.max()) / 2.0)
    law = np.zeros(len(SCORES))
    orders = list(itertools.permutations(range(len(SCORES))))
    for order in orders:
        nobody = 1.0
        for index in order:
            law[index] += nobody * coins[index] / len(orders)
            nobody *= 1.0 - coins[index]
    assert np.allclose(law, np.exp(permute_and_flip_log_law(SCORES, 2.0)), atol=1e-13)


@pytest.mark.parametrize(("name", "log_pmf"), NOISES)
@pytest.mark.parametrize("scale", [0.4, 3.7])
def test_secure_noise_has_its_law(name: str, log_pmf: Law, scale: float) -> None:
    draws = getattr(OpenDPNoise(), name)(np.zeros(10_000, dtype=np.int64), scale)
    assert noise_fits(draws, log_pmf, scale)


@pytest.mark.parametrize(("name", "log_pmf"), NOISES)
def test_secure_noise_of_many_values_is_divided_among_threads(
    name: str, log_pmf: Law, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "usable_cores", lambda: 3)
    monkeypatch.setattr(sources, "_VALUES_PER_THREAD", 1_000)
    used = set[int]()
    real = sources.in_slices

    def in_slices(part: Callable[[int, int], np.ndarray], length: int, threads: int) -> list[np.ndarray]:
        def told(start: int, stop: int) -> np.ndarray:
            used.add(start)
            return part(start, stop)

        return real(told, length, threads)

    monkeypatch.setattr(sources, "in_slices", in_slices)
    draw, places = getattr(OpenDPNoise(), name), np.arange(9_000)
    assert np.array_equal(draw(1000 * places, 1e-3), 1000 * places)
    assert used == {0, 3_000, 6_000}
    noise = draw(np.zeros(9_000, dtype=np.int64), 3.7)
    assert noise_fits(noise, log_pmf, 3.7)
    assert not np.array_equal(noise[:3_000], noise[3_000:6_000])  # equal with probability below 1e-1000
    used.clear()
    draw(np.zeros(999, dtype=np.int64), 3.7)
    assert not used


@pytest.mark.slow
@pytest.mark.parametrize(("name", "log_law"), CHOICES)
def test_secure_choices_have_their_law(name: str, log_law: Law) -> None:
    draws = choices(OpenDPNoise(), name, 2.0, 3_000)
    assert fits(draws, np.arange(len(SCORES)), np.exp(log_law(SCORES, 2.0)))


@pytest.mark.audit
@pytest.mark.parametrize(("name", "log_pmf"), NOISES)
@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7, 25.0])
def test_secure_noise_has_its_law_and_power(name: str, log_pmf: Law, scale: float) -> None:
    """Accepts the scale, and tells 0.9 and 1.1 times it apart (missed with probability below 1e-9)."""
    zeros, draw = np.zeros(300_000, dtype=np.int64), getattr(OpenDPNoise(), name)
    assert noise_fits(draw(zeros, scale), log_pmf, scale)
    assert not noise_fits(draw(zeros, 0.9 * scale), log_pmf, scale)
    assert not noise_fits(draw(zeros, 1.1 * scale), log_pmf, scale)


@pytest.mark.audit
@pytest.mark.parametrize(("name", "log_law"), CHOICES)
def test_secure_choices_have_their_law_and_power(name: str, log_law: Law) -> None:
    support, mass = np.arange(len(SCORES)), np.exp(log_law(SCORES, 2.0))
    assert fits(choices(OpenDPNoise(), name, 2.0, 60_000), support, mass)
    assert not fits(choices(OpenDPNoise(), name, 1.8, 60_000), support, mass)
    assert not fits(choices(OpenDPNoise(), name, 2.2, 60_000), support, mass)


@pytest.mark.audit
def test_secure_choices_among_many_close_scores() -> None:
    """Scores on the fine grid that the curator uses, most of them far below the best."""
    scores = np.concatenate([np.arange(20) / 1024.0, np.full(500, -30.0)])
    draws = np.array([OpenDPNoise().choose(scores, 0.01) for _ in range(30_000)])
    assert fits(draws, np.arange(len(scores)), np.exp(exponential_log_law(scores, 0.01)))


@pytest.mark.parametrize("source", [SeededNoise(6), OpenDPNoise()], ids=["seeded", "secure"])
def test_noise_is_added_to_the_values_and_saturates(source: NoiseSource) -> None:
    values = np.array([0, 7, -(2**53), 2**62], dtype=np.int64)
    for draw in (source.laplace, source.gaussian):
        assert (draw(values, 1e-3) == values).all()
        assert draw(np.array([], dtype=np.int64), 1.0).shape == (0,)
        huge = draw(np.array([2**62, -(2**62)] * 20, dtype=np.int64), 2.0**60)
        assert huge.dtype == np.int64
        assert (huge[::2] > 0).mean() > 0.5 > (huge[1::2] > 0).mean()  # no sum wraps around in most draws


@pytest.mark.parametrize("source", [SeededNoise(6), OpenDPNoise()], ids=["seeded", "secure"])
def test_choices_survive_extreme_scores(source: NoiseSource) -> None:
    for draw in (source.choose, source.permute_and_flip):
        assert draw(np.array([-(2.0**40), 0.0, 2.0**40]), 1e-3) == 2
        assert draw(np.array([5.0]), 1.0) == 0


def test_a_seed_repeats() -> None:
    zeros = np.zeros(50, dtype=np.int64)
    assert (SeededNoise(8).gaussian(zeros, 5.0) == SeededNoise(8).gaussian(zeros, 5.0)).all()
    assert (SeededNoise(8).gaussian(zeros, 5.0) != SeededNoise(9).gaussian(zeros, 5.0)).any()


@pytest.mark.parametrize("scale", [1 / 0.3, 0.1, 7.77])
def test_opendp_receives_the_scale_that_is_charged(scale: float) -> None:
    """Its own privacy maps, from the scale it samples with, never pass our charges."""
    import opendp.prelude as dp

    from hedgerow.privacy import ExponentialMechanism, GaussianNoise, LaplaceNoise, Regime

    dp.enable_features("contrib")
    integers = dp.vector_domain(dp.atom_domain(T="i64"))
    laplace = dp.m.make_laplace(integers, dp.l1_distance(T="i64"), scale=scale)
    gaussian = dp.m.make_gaussian(integers, dp.l2_distance(T="f64"), scale=scale)
    scores = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.linf_distance(T="f64")
    choice = dp.m.make_noisy_max(*scores, dp.zero_concentrated_divergence(), scale=scale)
    ours = LaplaceNoise(scale).charge(Regime.PURE), GaussianNoise(scale).charge(Regime.ZCDP)
    assert laplace.map(1) <= ours[0] <= laplace.map(1) * (1 + 1e-12)
    assert gaussian.map(1.0) <= ours[1] <= gaussian.map(1.0) * (1 + 1e-12)
    selection = ExponentialMechanism(scale).charge(Regime.ZCDP)
    assert choice.map(1.0) <= selection * (1 + 1e-12)
    assert selection <= choice.map(1.0) * (1 + 1e-12)


def test_files_know_the_sources_by_names_that_stay() -> None:
    """Releases, sessions and the auditor compare these texts, so they do not follow the classes to other modules."""
    assert (
        name_of_source(OpenDPNoise())
        == SECURE_SOURCE
        == trace_checks.SECURE_SOURCE
        == "hedgerow.privacy.noise.OpenDPNoise"
    )
    assert name_of_source(SeededNoise(0)) == "hedgerow.privacy.noise.SeededNoise"


def test_noise_loads_no_data_frames() -> None:
    code = (
        "import sys, numpy as np\n"
        "from hedgerow.privacy import OpenDPNoise\n"
        "noise = OpenDPNoise()\n"
        "noise.laplace(np.array([5]), 1.0), noise.gaussian(np.array([5]), 1.0)\n"
        "noise.choose(np.array([1.0, 2.0]), 1.0), noise.permute_and_flip(np.array([1.0, 2.0]), 1.0)\n"
        "print(sorted({'polars', 'pandas', 'sklearn'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
