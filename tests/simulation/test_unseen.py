"""The correction for what was never measured."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate

from hedgerow import Domain, IntegerRange, Workload
from hedgerow.domain import width_level
from hedgerow.privacy import LaplaceNoise, WorkloadError
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Marginal, Measurement, NoiseKind, Parity
from hedgerow.simulation.unseen import _LARGEST, _SMALLEST, _SPREAD, _USUAL, Seen, excess, widened

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


def test_what_was_guessed_may_be_too_large() -> None:
    told = excess(SIMULATED, SEEN, bought((4.0 + 3.0 + 0.7 * 13.0) / 3.0, 1e-3), guessed=True)
    assert told == pytest.approx(0.7, rel=1e-5)
    assert excess(SIMULATED, SEEN, bought(-50.0, 0.1), guessed=True) == _SMALLEST


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


def alone(*queries: LinearQuery) -> list[Measurement]:
    return [Measurement(each, np.ones(1), NoiseKind.GAUSSIAN, 1.0) for each in queries]


def test_all_parities_of_a_table_are_the_table() -> None:
    domain = Domain(IntegerRange(name, 0, 1) for name in "abcd")
    every = {scope: Parity(domain, scope) for scope in ("a", "b", "c", "ab", "ac", "bc", "abc", "cd")}

    def share(scope: str, *left_out: str) -> float:
        kept = (target for name, target in every.items() if name not in left_out)
        return Seen(domain, [Measurement(each, np.ones(1), NoiseKind.GAUSSIAN, 1.0) for each in kept]).share(
            tuple(scope)
        )

    assert [share(scope) for scope in ("", "a", "ab", "abc")] == [1.0, 1.0, 1.0, 1.0]
    assert [share(scope) for scope in ("d", "cd", "acd")] == [0.0, 0.0, pytest.approx(1 / 3)]
    assert share("abc", "abc") == 1.0  # all pairs are, and only the last parity is missing
    assert share("abc", "ab") == pytest.approx(2 / 3)
    assert share("ab", "b") == 0.0


def test_parities_complete_what_marginals_tell() -> None:
    domain = Domain(IntegerRange(name, 0, 1) for name in "abc")
    pairs = [Marginal(domain, domain.clique(pair)) for pair in ("ab", "ac", "bc")]
    told = [Measurement(each, np.ones(4), NoiseKind.GAUSSIAN, 1.0) for each in pairs]
    last = alone(Parity(domain, ("a", "b", "c")))
    assert Seen(domain, [*told[:2], *last]).share(("a", "b", "c")) == pytest.approx(2 / 3)
    assert Seen(domain, [*told, *last]).share(("a", "b", "c")) == 1.0


def test_single_queries_are_seen_themselves() -> None:
    domain = Domain(IntegerRange(name, 0, 3) for name in "abc")
    workload = Workload.parse("marginals:a*b; where: a = 1 and b > 1; where: a > 1 and c = 2", domain)
    one, other = (workload.candidate(place) for place in (1, 2))
    assert isinstance(one, LinearQuery)
    assert isinstance(other, LinearQuery)
    seen = Seen(domain, alone(Explicit.of(domain, one.scope, one.values())))
    assert [seen.query(each) for each in (one, other)] == [1.0, 0.0]
    assert seen.candidates(workload).tolist() == [0.0, 1.0, 0.0]


def test_all_cells_of_a_table_are_the_table() -> None:
    domain = Domain(IntegerRange(name, 0, 2) for name in "abc")
    cells = [Conjunction.where(domain, {"a": [one], "b": [other]}) for one in range(3) for other in range(3)]
    range_ = Conjunction.where(domain, {"a": [0, 1], "b": [2]})
    assert Seen(domain, alone(*cells)).share(("a", "b")) == 1.0
    assert Seen(domain, alone(*cells[1:], cells[1], range_)).share(("a", "b")) == 0.0
