"""Bounds on sums of noises against the exact discrete law, and against being wasteful."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.queries import NoiseKind
from hedgerow.release import Noises, laplace_sum_quantile, laplace_sum_tail


def exact_tail(kind: NoiseKind, scale: float, count: int, threshold: float) -> float:
    """P(|sum of discrete noises| > threshold), by repeated convolution of the exact law."""
    reach = int(45 * scale + 12)
    places = np.arange(-reach, reach + 1)
    law = np.exp(-np.abs(places) / scale) if kind is NoiseKind.LAPLACE else np.exp(-(places**2) / (2 * scale**2))
    law /= law.sum()
    length = 1 << (count * (2 * reach + 1)).bit_length()
    total = np.fft.irfft(np.fft.rfft(law, length) ** count, length)
    sums = np.arange(length) - count * reach
    return float(total[np.abs(sums) > threshold].sum())


@pytest.mark.many(quick=24)
@pytest.mark.parametrize("kind", list(NoiseKind))
@pytest.mark.parametrize("scale", [0.1, 0.4, 1.0, 2.7, 9.0])
@pytest.mark.parametrize("count", [1, 2, 5, 30])
@pytest.mark.parametrize("risk", [0.3, 0.05, 1e-3, 1e-6])
def test_holds_for_the_discrete_law_and_is_at_most_one_step_wider(
    kind: NoiseKind, scale: float, count: int, risk: float
) -> None:
    bound = Noises.of(kind, scale, np.ones(count)).bound(risk)
    assert exact_tail(kind, scale, count, bound) <= risk + 1e-12
    if scale >= 1.0:  # below it the discrete law has less variance than the continuous one that bounds it
        spread = scale * np.sqrt(count * (2 if kind is NoiseKind.LAPLACE else 1))
        assert exact_tail(kind, scale, count, bound - 1.0 - 0.1 * spread) > risk


def test_unequal_weights_hold_for_laplace_by_simulation() -> None:
    """A tail of 5% seen in 20,000 draws stays below 5.9% but for a chance of 1e-8"""
    weights = np.array([3.0, 1.0, -2.0, 0.0])
    draws = np.random.default_rng(1).laplace(scale=4.0, size=(20_000, 4)) @ weights
    bound = Noises.of(NoiseKind.LAPLACE, 4.0, weights).bound(0.05)
    assert np.mean(np.abs(draws) > bound) < 0.059


def test_copies_are_repeated_weights() -> None:
    for kind in NoiseKind:
        repeated = Noises.of(kind, 3.0, np.ones(12)).bound(0.01)
        assert Noises.of(kind, 3.0, np.ones(4), copies=3).bound(0.01) == pytest.approx(repeated)


@pytest.mark.parametrize("risk", [0.05, 1e-9])
def test_bounds_do_not_depend_on_the_unit(risk: float) -> None:
    """Sums of money have noise of 10^6 and more."""
    laplace = Noises.of(NoiseKind.LAPLACE, 2.0, np.array([1.0, 3.0, 3.0]))
    for noises in (laplace, laplace.with_all([Noises(9.0)])):
        assert noises.times(1e7).bound(risk) == pytest.approx(1e7 * noises.bound(risk), rel=1e-5)


def test_nothing_summed_is_known_exactly() -> None:
    assert Noises.of(NoiseKind.LAPLACE, 3.0, np.zeros(5), copies=2).bound(0.01) == 0.0


@pytest.mark.parametrize("count", [1, 3, 40, 100_000, 100_001])
def test_quantile_inverts_the_tail(count: int) -> None:
    for risk in (0.5, 0.05, 1e-6):
        assert laplace_sum_tail(count, laplace_sum_quantile(count, risk)) == pytest.approx(risk, rel=1e-4)


def test_many_laplace_noises_are_nearly_normal() -> None:
    exact, normal = laplace_sum_quantile(100_000, 0.05), laplace_sum_quantile(100_001, 0.05)
    assert exact == pytest.approx(normal, rel=2e-5)


def law(kind: NoiseKind, scale: float, weight: int) -> tuple[np.ndarray, int]:
    """Probabilities of a weighted discrete noise, and the place of 0."""
    reach = int(40 * scale + 10)
    places = np.arange(-reach, reach + 1)
    chances = np.exp(-np.abs(places) / scale) if kind is NoiseKind.LAPLACE else np.exp(-(places**2) / (2 * scale**2))
    found = np.zeros(2 * reach * weight + 1)
    found[::weight] = chances / chances.sum()
    return found, reach * weight


SUMS = [
    [(NoiseKind.LAPLACE, 3.0, [1, 2, 5])],
    [(NoiseKind.LAPLACE, 2.0, [1, 1, 1, 9])],
    [(NoiseKind.LAPLACE, 4.0, [2, 3]), (NoiseKind.LAPLACE, 1.5, [1, 1, 4])],
    [(NoiseKind.GAUSSIAN, 5.0, [1, 3]), (NoiseKind.LAPLACE, 2.0, [2, 2, 7])],
    [(NoiseKind.GAUSSIAN, 9.0, [4]), (NoiseKind.LAPLACE, 1.0, [1])],
    [(NoiseKind.GAUSSIAN, 2.0, [1, 2]), (NoiseKind.GAUSSIAN, 6.0, [1, 1, 1])],
]


@pytest.mark.parametrize("parts", SUMS)
@pytest.mark.parametrize("risk", [0.3, 0.05, 1e-3, 1e-6])
def test_unequal_and_mixed_sums_hold_for_the_discrete_law_and_waste_little(
    parts: list[tuple[NoiseKind, float, list[int]]], risk: float
) -> None:
    """The exact law by convolution. One Laplace noise far larger than the rest has Chernoff's bound at small risks."""
    total, middle = np.ones(1), 0
    for kind, scale, weights in parts:
        for weight in weights:
            chances, place = law(kind, scale, weight)
            total, middle = np.convolve(total, chances), middle + place
    sums = np.abs(np.arange(total.size) - middle)
    noises = Noises().with_all(Noises.of(kind, scale, np.array(weights, float)) for kind, scale, weights in parts)
    bound = noises.bound(risk)
    assert float(total[sums > bound].sum()) <= risk * (1 + 1e-9) + 1e-12
    assert noises.std == pytest.approx(float(np.sqrt(total @ sums**2)), rel=0.03)
    most = max(weight for _, _, weights in parts for weight in weights)
    exact = float(sums[np.argsort(sums)][np.searchsorted(np.cumsum(total[np.argsort(sums)]), 1.0 - risk)])
    assert bound <= 1.12 * exact + most + 1.0


def test_copies_of_unequal_weights_are_further_noises() -> None:
    weights = np.array([1.0, 2.5])
    for kind in NoiseKind:
        repeated = Noises.of(kind, 2.0, np.tile(weights, 7))
        assert Noises.of(kind, 2.0, weights, copies=7).bound(0.01) == pytest.approx(repeated.bound(0.01), rel=1e-6)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.7, 9.0])
@pytest.mark.parametrize("step", [0.25, 1.0])
def test_continuous_noise_is_that_of_the_lattice_and_an_independent_rest(scale: float, step: float) -> None:
    """Theory section 13: characteristic functions of L = Z + D, with D the difference of two cut exponentials."""
    places = np.linspace(-9.0, 9.0, 181)
    p = np.exp(-step / scale)
    of_lattice = (1.0 - p) ** 2 / (1.0 - 2.0 * p * np.cos(step * places) + p * p)
    left = (1.0 - p * np.exp(1j * step * places)) / ((1.0 - p) * (1.0 - 1j * scale * places))
    assert of_lattice * np.abs(left) ** 2 == pytest.approx(1.0 / (1.0 + (scale * places) ** 2), rel=1e-12)


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.7])
@pytest.mark.parametrize("count", [2, 5, 30])
def test_tails_of_lattice_sums_are_within_what_is_proved(scale: float, count: int) -> None:
    """(13.1): at most twice the continuous risk with no step added, and 1.02 times with 2 sqrt(count)."""
    for multiple in (0.5, 1.0, 2.0, 3.0, 5.0):
        threshold = multiple * scale * float(np.sqrt(2.0 * count))
        risk = laplace_sum_tail(count, threshold / scale)
        for added, factor in ((0.0, 2.0), (2.0 * np.sqrt(count), 1.02)):
            assert exact_tail(NoiseKind.LAPLACE, scale, count, threshold + added) <= factor * risk + 1e-12
