"""The correction for what was never measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from hedgerow import Domain, IntegerRange, Workload
from hedgerow.domain import width_level
from hedgerow.privacy import WorkloadError
from hedgerow.privacy.mechanisms import LaplaceNoise
from hedgerow.queries import Marginal, Measurement, NoiseKind
from hedgerow.simulation.unseen import _LARGEST, _SPREAD, _USUAL, Seen, excess, widened

SIMULATED, SEEN = np.array([4.0, 10.0, 6.0]), np.array([1.0, 0.0, 0.5])


def bought(mean: float, scale: float) -> WorkloadError:
    noise = LaplaceNoise(scale)
    return WorkloadError(mean, mean, noise, noise, n_candidates=3, unit=1.0)


@pytest.mark.parametrize("mean", [7.0, 10.0, 14.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 20.0])
def test_the_factor_is_a_posterior_mean(mean: float, scale: float) -> None:
    """By numerical integration over the factor, with noise of the same variance."""
    error = bought(mean, scale)
    known, unknown = float(np.mean(SEEN * SIMULATED)), float(np.mean((1 - SEEN) * SIMULATED))
    deviation = error.mean_noise.std

    def density(factor: float) -> float:
        prior = -0.5 * ((factor - _USUAL) / _SPREAD) ** 2
        return float(np.exp(prior - 0.5 * ((mean - known - factor * unknown) / deviation) ** 2 + 200.0))

    grid = np.linspace(-10.0, 12.0, 200_001)
    weights = np.array([density(factor) for factor in grid])
    expected = integrate.trapezoid(grid * weights, grid) / integrate.trapezoid(weights, grid)
    assert excess(SIMULATED, SEEN, error) == pytest.approx(np.clip(expected, 1.0, _LARGEST), rel=1e-4)


def test_nothing_bought_or_nothing_unmeasured_leaves_the_prior() -> None:
    assert excess(SIMULATED, SEEN, None) == _USUAL
    assert excess(SIMULATED, np.ones(3), bought(9.0, 1.0)) == _USUAL


def test_the_factor_never_narrows_and_has_a_limit() -> None:
    assert excess(SIMULATED, SEEN, bought(-50.0, 0.1)) == 1.0
    assert excess(SIMULATED, SEEN, bought(500.0, 0.1)) == _LARGEST


def test_what_was_measured_stays_as_it_was_simulated() -> None:
    assert widened(SIMULATED, SEEN, 3.0).tolist() == [4.0, 30.0, 12.0]


def test_shares_are_those_of_pairs_that_some_measurement_determines() -> None:
    domain = Domain(IntegerRange(name, 0, 9) for name in "abc")
    tens = width_level(domain["a"], 5)
    domain = Domain(domain.attributes, [tens])
    fine = Measurement(Marginal(domain, ("a", "b")), np.ones(100), NoiseKind.GAUSSIAN, 1.0)
    coarse = Measurement(Marginal(domain, domain.clique((tens.name, "c"))), np.ones(20), NoiseKind.GAUSSIAN, 1.0)
    part = Workload.parse("where: c = 1", domain).candidate(0)
    single = Measurement(part, np.ones(1), NoiseKind.GAUSSIAN, 1.0)
    seen = Seen(domain, [fine, coarse, single])
    scopes = [("a",), ("a", "b"), ("a", "c"), (tens.name, "c"), (tens.name, "b"), ("a", "b", "c"), ("b", "c")]
    found = {scope: seen.share(domain.clique(scope)) for scope in scopes}
    assert found == {
        ("a",): 1.0,
        ("a", "b"): 1.0,
        ("a", "c"): 0.0,
        (tens.name, "c"): 1.0,
        (tens.name, "b"): 1.0,
        ("a", "b", "c"): pytest.approx(1 / 3),
        ("b", "c"): 0.0,
    }
    assert Seen(domain, [single]).share(("c",)) == 0.0
