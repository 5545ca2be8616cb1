"""What a measurement, or the noisy error of the workload, tells of a question."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

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
from hedgerow.release import Evidence, Noises, Runs, from_workload_error, measured

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
    (piece,) = measured(whole, Runs([[noisy]]))
    assert piece.centre == 60.0
    assert piece.radius(0.05) == Noises.of(NoiseKind.LAPLACE, 2.0, np.array([0.0, 1.0, 1.0])).bound(0.05)
    assert not list(measured(part, Runs([[noisy]])))
    assert not list(measured(Conjunction.where(domain, {"sex": [0]}), Runs([[noisy]])))


def test_a_corrected_guess_errs_less_than_noise_allows_whatever_the_guess_is() -> None:
    """Mean squares in variances of the noise, by quadrature: a third for a right guess, never more than 1.5."""
    noises, found = np.linspace(-8.0, 8.0, 801), {}
    density = np.exp(-np.square(noises) / 2.0) / np.exp(-np.square(noises) / 2.0).sum()
    for off in np.arange(0.0, 8.5, 0.5).tolist():
        told = [Evidence.of_noises(7.0 + 3.0 * noise, Noises(9.0), "measurement of a") for noise in noises.tolist()]
        errors = np.array([(each.corrected(7.0 + 3.0 * off) - 7.0) / 3.0 for each in told])
        found[off] = float(density @ np.square(errors))
    assert found[0.0] == pytest.approx(0.333, abs=0.002)
    assert max(found.values()) < 1.5
    assert found[8.0] < 1.06


@given(st.floats(-1e4, 1e4), st.floats(0.0, 1e4))
def test_a_corrected_guess_lies_between_guess_and_measurement(guess: float, variance: float) -> None:
    found = Evidence.of_noises(5.0, Noises(variance), "measurement of a").corrected(guess)
    assert min(guess, 5.0) <= found <= max(guess, 5.0)
    assert found == guess or abs(found - 5.0) <= variance**0.5
