"""A budget in two parts."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Regime, Subsampled, split_budget, together
from hedgerow.queries import Neighbours, Persons

PERSONS = Neighbours.REPLACE.between(Persons("id", 4))
amounts = st.floats(1e-6, 50.0)


def exact(budget: Budget) -> Fraction:
    """The amount as it is counted, without rounding."""
    return Fraction(budget.mu) ** 2 / 2 if isinstance(budget, GDP) else Fraction(budget.limit)


@given(st.sampled_from([PureDP, ZCDP, GDP]), amounts, st.floats(0.001, 0.999))
def test_the_parts_are_never_more_than_the_whole_and_nearly_all_of_it(kind: type, amount: float, share: float) -> None:
    whole = kind(amount, PERSONS)
    parts = split_budget(whole, share)
    assert sum(map(exact, parts)) <= exact(whole)
    assert sum(map(exact, parts)) >= exact(whole) * (1 - Fraction(1, 10**12))
    assert float(exact(parts[0]) / exact(whole)) == pytest.approx(share, rel=1e-9)
    assert all(type(part) is kind and part.neighbours == PERSONS for part in parts)


@given(st.sampled_from([PureDP, ZCDP, GDP]), amounts, amounts)
def test_both_together_promise_no_more_than_their_sum(kind: type, one: float, two: float) -> None:
    first, second = kind(one, Neighbours.REPLACE.between(Persons("id", 1))), kind(two, PERSONS.filtered)
    whole = together(first, second)
    assert exact(first) + exact(second) <= exact(whole) <= (exact(first) + exact(second)) * (1 + Fraction(1, 10**12))
    assert whole.neighbours == PERSONS.filtered


@pytest.mark.parametrize("regime", list(Regime))
def test_an_approximate_budget_is_divided_as_it_is_counted(regime: Regime) -> None:
    whole = ApproxDP(1.0, 1e-6, regime=regime)
    first, second = split_budget(whole, 0.5)
    assert first.regime is second.regime is regime
    assert first.limit + second.limit <= whole.limit


def test_what_cannot_be_divided_or_added_is_refused() -> None:
    for share in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ConfigError, match="a share of"):
            split_budget(PureDP(1.0), share)
    sample = Subsampled(PureDP(1.0, Neighbours.REPLACE), 10, 100)
    with pytest.raises(ConfigError, match="for a sample"):
        split_budget(sample, 0.5)
    with pytest.raises(ConfigError, match="different units"):
        together(PureDP(1.0), ZCDP(1.0))
    for other in (
        PureDP(1.0),
        PureDP(1.0, PERSONS.between(Persons("zzz", 4))),
        PureDP(1.0, "add-remove of persons (id)"),
    ):
        with pytest.raises(ConfigError, match="do not add up"):
            together(other, PureDP(1.0, PERSONS))
