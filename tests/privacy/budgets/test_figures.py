"""Figures of a promise are rounded up: what a sentence says is never stronger than what the numbers keep."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hedgerow.audit import sentences
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Regime, Subsampled, membership_guess
from hedgerow.privacy.budgets import conversion, limits
from hedgerow.quantities import at_least, at_most
from tests.privacy.mutants import Mutant, killed

NUMBER = r"(\d[\d.]*(?:e[+-]\d+)?)"
EPSILONS = st.one_of(st.floats(1e-9, 60.0), st.floats(1e-4, 3.0), st.sampled_from([1.0000004, 1e-4, 0.7, 1.0, 19.99]))
DELTAS = st.one_of(st.floats(1e-12, 0.1), st.sampled_from([1.0049e-6, 1e-6, 1e-9]))
CLOSELY = Context(prec=80)


def budgets() -> st.SearchStrategy[Budget]:
    approximate = st.builds(
        lambda epsilon, delta, regime, kept: ApproxDP(
            epsilon, delta, regime=regime, thresholds=kept * delta if regime is not Regime.GDP else 0.0
        ),
        st.floats(1e-3, 30.0),
        DELTAS,
        st.sampled_from(Regime),
        st.sampled_from([0.0, 0.5, 0.123456789]),
    )
    whole = st.one_of(
        EPSILONS.map(PureDP), st.floats(1e-6, 50.0).map(ZCDP), st.floats(1e-3, 20.0).map(GDP), approximate
    )
    sampled = st.builds(
        lambda epsilon, delta, m: Subsampled(ApproxDP(epsilon, delta, "replace"), m, 1_000),
        st.floats(1e-3, 10.0),
        DELTAS,
        st.integers(1, 1_000),
    )
    return st.one_of(whole, sampled)


def figures(pattern: str, text: str) -> list[Fraction]:
    """Numbers of a sentence, as they are read: the floating-point number next to the digits, exactly."""
    return [Fraction(float(each.rstrip("."))) for each in re.findall(pattern.replace("#", NUMBER), text)]


def factor_is_at_least(text: str, epsilon: float) -> None:
    told = re.search(rf"factor of at most (e\^)?{NUMBER}", text)
    assert told is not None, text
    if told[1]:
        assert float(told[2]) >= epsilon, text
    else:
        read = Decimal(told[2])
        assert read > max(1, CLOSELY.exp(Decimal(epsilon)).next_minus(CLOSELY)), text


def says_no_more_than(budget: Budget, text: str) -> None:
    """Every figure of a sentence is at least what it stands for, and nearly that."""
    pairs: list[tuple[Fraction, float]] = []
    if isinstance(budget, PureDP | ApproxDP | Subsampled):
        epsilon, delta = budget.approximate()
        factor_is_at_least(text, epsilon)
        pairs += [(figures("privacy with epsilon = #", text)[0], epsilon)]
        if delta:
            pairs += [(each, delta) for each in figures("(?:delta = |probability of at most )#", text)]
            assert len(figures("(?:delta = |probability of at most )#", text)) == 2
    if isinstance(budget, ZCDP):
        pairs += [(each, budget.rho) for each in figures("(?:rho = |is at most )#", text)]
    if isinstance(budget, GDP):
        pairs += [(each, budget.mu) for each in figures("(?:mu = |mean is )#", text)]
    if isinstance(budget, ApproxDP):
        (accounted,) = figures("accounted as [^=]* = #", text)
        if budget.regime is Regime.GDP:
            assert accounted**2 >= 2 * Fraction(budget.limit), text
        else:
            pairs.append((accounted, budget.limit))
        if budget.thresholds:
            pairs += [(figures("# of delta kept", text)[0], budget.thresholds)]
    assert pairs
    for read, value in pairs:
        assert read >= Fraction(value), (text, value)
        assert read <= Fraction(value) * Fraction(1011, 1000), (text, value)


@given(budgets())
def test_no_sentence_is_stronger_than_its_numbers(budget: Budget) -> None:
    says_no_more_than(budget, budget.statement())


@given(budgets())
def test_the_auditor_writes_the_same_word_for_word(budget: Budget) -> None:
    assert sentences.sentence_of(budget.to_dict(), budget.limit) == budget.statement()


@given(st.floats(1e-300, 1e300), st.integers(1, 9))
def test_a_figure_has_its_digits_and_is_on_its_side(value: float, digits: int) -> None:
    up, down = at_most(value, digits), at_least(value, digits)
    assert float(down) <= value <= float(up)
    for each in (up, down):
        assert each == f"{float(each):.{digits}g}"
        assert abs(float(each) - value) <= value * 10.0 ** (1 - digits)


@pytest.mark.parametrize("typed", ["1e-06", "0.5", "0.1", "0.3", "1", "2.5", "1e-09", "0.07", "12345", "1e+20", "0"])
def test_numbers_that_were_typed_read_as_they_were(typed: str) -> None:
    assert at_most(float(typed)) == at_least(float(typed)) == typed


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [(1e-4, "1.00011"), (0.05, "1.052"), (0.1, "1.106"), (1.0, "2.719"), (10.0, "2.203e+04"), (20.0, "e^20"),
     (1e-12, "e^1e-12"), (1.0000004, "2.719"), (20.0000001, "e^20.0001")],
)  # fmt: skip
def test_factors(epsilon: float, told: str) -> None:
    assert conversion.in_words(epsilon) == told
    assert f"at most {told} (" in PureDP(epsilon).statement()


def test_the_sentences_of_the_report_that_were_too_strong() -> None:
    text = ApproxDP(1.0000004, 1.0049e-6).statement()
    assert "epsilon = 1.00001 and delta = 1.01e-06" in text
    assert "factor of at most 2.719, apart from a probability of at most 1.01e-06" in text
    assert "at most 1.00011 " in PureDP(1e-4).statement()
    assert "delta = 1e-06" in ApproxDP(0.5, 1e-6).statement()


@pytest.mark.parametrize("m", [100, 1_000])
def test_a_sample_of_all_records_promises_what_its_budget_does(m: int) -> None:
    budget = Subsampled(ApproxDP(1.0, 1e-6, "replace"), m, 1_000)
    text = budget.statement()
    assert ("epsilon = 1 and delta = 1e-06" in text) == (m == 1_000)
    assert ("delta = 1e-07" in text) == (m == 100)


@given(budgets())
def test_odds_of_guessing_are_not_below_the_bound(budget: Budget) -> None:
    if isinstance(budget, PureDP) and budget.epsilon < 30.0:
        power = CLOSELY.exp(Decimal(budget.epsilon))
        assert Fraction(membership_guess(budget)) >= Fraction(CLOSELY.divide(power, 1 + power)) * (
            1 - Fraction(1, 10**70)
        )
    assert 0.5 <= membership_guess(budget) <= 1.0


# Planted bugs


def sentences_are_not_too_strong() -> None:
    for budget in (PureDP(1.0000004), ZCDP(0.10000004), GDP(0.4000004), ApproxDP(0.7, 1.0049e-6), PureDP(1e-4)):
        says_no_more_than(budget, budget.statement())


def the_auditor_s_sentences_are_not_too_strong() -> None:
    for budget in (PureDP(1.0000004), ZCDP(0.10000004), ApproxDP(0.7, 1.0049e-6)):
        says_no_more_than(budget, sentences.sentence_of(budget.to_dict(), budget.limit))


def nearest(value: Any, digits: int = 6) -> str:
    return f"{float(value):.{digits}g}"


MUTANTS = [
    Mutant(
        "figures of a promise are rounded to the nearest",
        lambda patch: patch.setattr(limits, "at_most", nearest),
        sentences_are_not_too_strong,
    ),
    Mutant(
        "the factor of a promise is rounded to the nearest",
        lambda patch: patch.setattr(limits, "in_words", lambda epsilon: f"{2.718281828459045**epsilon:.4g}"),
        sentences_are_not_too_strong,
    ),
    Mutant(
        "the auditor rounds figures to the nearest",
        lambda patch: patch.setattr(sentences, "_up", nearest),
        the_auditor_s_sentences_are_not_too_strong,
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_planted_bug_of_figures_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
