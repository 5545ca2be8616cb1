"""What the auditor finds that mechanisms cost is what the library charges, or less by its rounding upwards alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import example, given, settings, strategies as st

from hedgerow.audit.costs import Entry, cost
from hedgerow.audit.exact import entropy_of_range, exp_of_minus, tanh_of_half
from hedgerow.audit.gaussian import amplified, epsilon_of_rho
from hedgerow.audit.sentences import of_a_sample
from hedgerow.errors import BudgetError
from hedgerow.privacy import (
    ExponentialMechanism,
    GaussianNoise,
    IndependentDraws,
    LaplaceNoise,
    PermuteAndFlip,
    Regime,
    SparseVector,
    amplified as amplified_by_library,
    cost_of,
    epsilon_of,
    rho_of,
)
from tests.audit.mutants import QUESTIONS, event, marginal_of
from tests.examples import examples

SCALES = st.floats(1e-3, 1e8)
SENSITIVITIES = st.floats(1e-3, 100.0)
MECHANISMS: Any = st.one_of(
    st.builds(LaplaceNoise, SCALES, SENSITIVITIES, bound=st.sampled_from(["halves", None])),
    st.builds(GaussianNoise, SCALES, SENSITIVITIES),
    st.builds(ExponentialMechanism, SCALES, SENSITIVITIES, st.sampled_from(["exact", None])),
    st.builds(PermuteAndFlip, SCALES, SENSITIVITIES),
    st.builds(IndependentDraws, SCALES, SENSITIVITIES, st.integers(1, 10_000), st.sampled_from(["exact", None])),
    st.builds(SparseVector, SCALES, SCALES, SENSITIVITIES, st.integers(1, 1000), st.sampled_from(["renyi", None])),
)


def entry_of(mechanism: Any, regime: Regime, charge: float) -> Entry:
    return Entry.of(
        1,
        {
            "label": "test",
            "mechanism": mechanism.name,
            "question": QUESTIONS.get(mechanism.name, marginal_of("sex")),
            "earlier": False,
            "sensitivity": mechanism.sensitivity,
            "scale": mechanism.scale,
            "charge": charge,
            "unit": regime.unit,
            "neighbours": "replace",
            "values": getattr(mechanism, "draws", getattr(mechanism, "fires", 1)),
            "threshold_scale": getattr(mechanism, "threshold_scale", 0.0),
        }
        | ({"bound": bound} if (bound := getattr(mechanism, "bound", None)) and regime is Regime.ZCDP else {}),
    )


@settings(max_examples=examples(400))
@given(MECHANISMS, st.sampled_from(Regime))
def test_the_library_charges_what_the_auditor_finds_and_hardly_more(mechanism: Any, regime: Regime) -> None:
    try:
        charge = cost_of(mechanism, regime.unit)
    except BudgetError:
        with pytest.raises(ValueError, match="has no cost in"):
            cost(entry_of(mechanism, regime, 1.0))
        return
    entry = entry_of(mechanism, regime, charge)
    found = cost(entry)
    assert found.low <= found.high <= entry.charge <= found.low * (1 + Fraction(1, 2**40))


@settings(max_examples=examples(200))
@given(st.fractions(Fraction(1, 10**12), 3000))
@example(Fraction(815))
def test_bounds_on_functions_hold_the_function(x: Fraction) -> None:
    """Against mpmath, at so many digits that even 1 - exp(-3000) is not rounded to 1."""
    with mpmath.workdps(1400):
        point = mpmath.mpf(x.numerator) / x.denominator
        u = point / mpmath.expm1(point)
        for bounds, value in (
            (exp_of_minus(x), mpmath.exp(-point)),
            (tanh_of_half(x), mpmath.tanh(point / 2)),
            (entropy_of_range(x), u - 1 - mpmath.log(u)),
        ):
            low, high = (mpmath.mpf(each.numerator) / each.denominator for each in (bounds.low, bounds.high))
            assert low <= value <= high
            assert high - low <= mpmath.mpf(10) ** -60


@settings(max_examples=examples(60))
@given(st.floats(-7, 2), st.floats(-300, -0.1))
def test_the_conversion_is_the_librarys_up_to_its_rounding(log_rho: float, log_delta: float) -> None:
    rho, delta = 10.0**log_rho, 10.0**log_delta
    found = float(epsilon_of_rho(Fraction(rho), Fraction(delta)))
    assert found <= epsilon_of(rho, delta)
    assert math.isclose(found, epsilon_of(rho, delta), rel_tol=1e-9, abs_tol=1e-9)


@settings(max_examples=examples(40))
@given(st.floats(-3, 2), st.floats(-300, -0.5))
def test_the_librarys_rho_keeps_what_is_promised(log_epsilon: float, log_delta: float) -> None:
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
    rho = Fraction(rho_of(epsilon, delta))
    assert epsilon_of_rho(rho, Fraction(delta)) <= Fraction(epsilon)
    assert epsilon_of_rho(rho * (1 + Fraction(1, 10**9)), Fraction(delta)) > Fraction(epsilon)


@given(st.floats(1e-9, 60.0), st.floats(1e-6, 1.0))
def test_amplification_is_the_librarys_up_to_its_rounding(epsilon: float, share: float) -> None:
    found = float(amplified(Fraction(epsilon), Fraction(share)))
    assert math.isclose(found, amplified_by_library(epsilon, share), rel_tol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": 0.0}, "is 0"),
        ({"sensitivity": 0.0}, "is 0"),
        ({"unit": "delta"}, "nothing is counted"),
        ({"mechanism": "telling"}, "does not answer"),
        ({"threshold_scale": 1.0}, "has no threshold"),
        ({"mechanism": "discrete Gaussian"}, "has no cost in epsilon"),
        ({"mechanism": "public"}, "what is public"),
        ({"mechanism": "public", "sensitivity": 0.0, "scale": 0.0}, "what is public"),
        ({"mechanism": "sparse vector"}, "is 0"),
    ],
)
def test_what_has_no_cost_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cost(Entry.of(1, event(**changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"charge": -0.5},
        {"charge": float("inf")},
        {"charge": float("nan")},
        {"charge": "0.5"},
        {"charge": True},
        {"scale": None},
        {"values": 0},
        {"values": 1.0},
        {"values": True},
        {"label": 3},
        {"extra": 1},
        {"threshold_scale": -1.0},
        {"mechanism": "earlier release"},
        {"mechanism": "interrupted"},
        {"question": {"kind": "tests"}},
    ],
)
def test_events_of_another_shape_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Entry.of(1, event(**changes))


def test_only_approximate_budgets_of_samples_say_how_they_are_counted() -> None:
    inner = {"kind": "zcdp", "rho": 0.5, "neighbours": "replace"}
    told = [
        of_a_sample({"kind": "subsampled", "inner": each, "sampled": 100, "population": 200, "delta": 1e-6}, 0.5)
        for each in (inner, {**inner, "regime": "gdp"})
    ]
    assert told[0] == told[1]
