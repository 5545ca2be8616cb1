"""Bounds on sums of noises against the exact discrete law, and against being wasteful."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import LaplaceNoise, WorkloadError
from hedgerow.queries import (
    Blocks,
    Conjunction,
    Explicit,
    LinearQuery,
    Measurement,
    Neighbours,
    NoiseKind,
    Parity,
    Workload,
)
from hedgerow.release import from_workload_error, measured, sum_bound
from hedgerow.release.evidence import laplace_sum_quantile, laplace_sum_tail


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
    bound = sum_bound(kind, scale, np.ones(count), copies=1, risk=risk)
    assert exact_tail(kind, scale, count, bound) <= risk + 1e-12
    if scale >= 1.0:  # below it the discrete law has less variance than the continuous one that bounds it
        spread = scale * np.sqrt(count * (2 if kind is NoiseKind.LAPLACE else 1))
        assert exact_tail(kind, scale, count, bound - 1.0 - 0.1 * spread) > risk


def test_unequal_weights_hold_for_laplace_by_simulation() -> None:
    """A tail of 5% seen in 20,000 draws stays below 5.9% but for a chance of 1e-8; Chernoff is well below that."""
    weights = np.array([3.0, 1.0, -2.0, 0.0])
    draws = np.random.default_rng(1).laplace(scale=4.0, size=(20_000, 4)) @ weights
    bound = sum_bound(NoiseKind.LAPLACE, 4.0, weights, copies=1, risk=0.05)
    assert np.mean(np.abs(draws) > bound) < 0.059


def test_copies_are_repeated_weights() -> None:
    for kind in NoiseKind:
        repeated = sum_bound(kind, 3.0, np.ones(12), copies=1, risk=0.01)
        assert sum_bound(kind, 3.0, np.ones(4), copies=3, risk=0.01) == pytest.approx(repeated)


def test_nothing_summed_is_known_exactly() -> None:
    assert sum_bound(NoiseKind.LAPLACE, 3.0, np.zeros(5), copies=2, risk=0.01) == 0.0


@pytest.mark.parametrize("count", [1, 3, 40, 100_000, 100_001])
def test_quantile_inverts_the_tail(count: int) -> None:
    for risk in (0.5, 0.05, 1e-6):
        assert laplace_sum_tail(count, laplace_sum_quantile(count, risk)) == pytest.approx(risk, rel=1e-4)


def test_many_laplace_noises_are_nearly_normal() -> None:
    exact, normal = laplace_sum_quantile(100_000, 0.05), laplace_sum_quantile(100_001, 0.05)
    assert exact == pytest.approx(normal, rel=2e-5)


NOISE = LaplaceNoise(2.0)


def covered(query: LinearQuery, workload: Workload) -> bool:
    error = WorkloadError(20.0, 20.0, NOISE, NOISE, n_candidates=workload.n_candidates, unit=1.0)
    options = {"workload": workload, "error": error, "neighbours": Neighbours.REPLACE, "total_slack": 0.0}
    return from_workload_error(query, 5.0, **options) is not None  # type: ignore[arg-type]


def test_one_of_very_many_parities_is_found_however_it_is_written() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(300))
    workload = Workload.parities(domain, 2)
    assert workload.n_candidates > 40_000
    assert covered(Parity(domain, ("x298", "x299")), workload)
    assert covered(Explicit.of(domain, ("x7", "x250"), np.array([1.0, -1.0, -1.0, 1.0])), workload)
    assert not covered(Parity(domain, ("x1", "x2", "x3")), workload)
    assert not covered(Conjunction.where(domain, {"x7": [0], "x250": [1]}), workload)


def test_conditions_are_compared_with_those_of_the_same_attributes() -> None:
    domain = Domain(IntegerRange(name, 0, 3) for name in "abc")
    workload = Workload.conjunctions(domain, ["a = 1", "b = 1 and c = 2", "b = 0 and c = 2"])
    assert covered(Conjunction.where(domain, {"b": [0], "c": [2]}), workload)
    assert not covered(Conjunction.where(domain, {"b": [3], "c": [2]}), workload)
    assert not covered(Conjunction.where(domain, {"b": [1]}), workload)


def test_blocks_tell_what_is_even_in_them() -> None:
    domain = Domain((IntegerRange("age", 0, 5), IntegerRange("sex", 0, 1)))
    blocks = Blocks(domain, ("age",), np.array([0, 0, 1, 1, 1, 2]))
    noisy = Measurement(blocks, np.array([10.0, 20.0, 40.0]), NoiseKind.LAPLACE, 2.0)
    whole, part = (Conjunction.where(domain, {"age": ages}) for ages in ([2, 3, 4, 5], [1, 2, 3, 4]))
    (piece,) = measured(whole, [noisy])
    assert piece.centre == 60.0
    assert piece.radius(0.05) == sum_bound(NoiseKind.LAPLACE, 2.0, np.array([0.0, 1.0, 1.0]), copies=1, risk=0.05)
    assert not list(measured(part, [noisy]))
    assert not list(measured(Conjunction.where(domain, {"sex": [0]}), [noisy]))
