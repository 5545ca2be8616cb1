"""Answers: the intervals cover the truth as often as they say, are not wasteful, and say what they rest on."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.errors import ConfigError, QueryError
from hedgerow.privacy import ZCDP, Budget, PureDP
from hedgerow.queries import Conjunction, Explicit, Marginal, Measurement, NoiseKind
from hedgerow.release import FIRST_SHARE, TOTAL_SHARE, Answer, Noises, Release, Runs, measured, within_possible
from hedgerow.release.answer import shares
from tests.release.made import BUDGETS, DOMAIN, TABLE, make_release, truth

RUNS = 200
FALSE_FAILURE = 1e-6


def most_misses(confidence: float) -> int:
    """More misses than this in RUNS runs happen with a chance below FALSE_FAILURE if the confidence is kept."""
    return int(stats.binom.isf(FALSE_FAILURE, RUNS, 1 - confidence))


def misses(answer: Callable[[int], Answer], exact: float) -> int:
    found = [answer(seed) for seed in range(RUNS)]
    assert all(each.low is not None and each.high is not None for each in found)
    return sum(not (each.low or 0.0) <= exact <= (each.high or 0.0) for each in found)


QUERIES = ("sex = 'Male'", "age between 1 and 2 and sex = 'Female'", "job is null", "sex = 'Male' or age = 4")


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("text", QUERIES)
def test_intervals_from_measurements_cover_the_truth(budget: Budget, text: str) -> None:
    cliques = [("sex", "age"), ("sex", "job"), ("sex",)]
    few = misses(lambda seed: make_release(budget, seed, cliques, error=False).answer(text, 0.8), truth(text))
    assert few <= most_misses(0.8)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("workload", ["marginals:2", "cells:2", "prefixes:age", "where: sex = 'Male', age <= 2"])
def test_intervals_from_the_workload_error_cover_the_truth(budget: Budget, workload: str) -> None:
    text = "age <= 2"
    few = misses(lambda seed: make_release(budget, seed, workload=workload).answer(text, 0.8), truth(text))
    assert few <= most_misses(0.8)


@given(st.floats(-50, 150), st.floats(0.1, 80), st.floats(0, 100))
def test_what_is_impossible_makes_no_interval_narrower(centre: float, half: float, truth: float) -> None:
    query = Conjunction.where(DOMAIN, {"sex": [0]})
    low, high = within_possible(query, centre - half, centre + half, 100.0)
    assert 0.0 <= low <= high <= 100.0
    assert high - low >= min(half, 100.0) - 1e-9
    if abs(truth - centre) <= half:
        assert low <= truth <= high


@pytest.mark.parametrize("budget", BUDGETS[::2], ids=str)
def test_the_number_of_records_is_covered(budget: Budget) -> None:
    assert misses(lambda seed: make_release(budget, seed).answer("", 0.8), truth("")) <= most_misses(0.8)


def test_choosing_what_to_measure_next_by_earlier_noise_does_not_void_the_confidence() -> None:
    """The worst chooser: it sees the truth, and measures more tables until one of them is far off."""
    exact = truth("sex = 'Male'")

    def chooser(seen: Sequence[Measurement]) -> Clique | None:
        others = ("age", "job", "income")
        off = [abs(each.values.reshape(2, -1)[1].sum() - exact) / each.std for each in seen]
        return ("sex", others[len(seen)]) if len(seen) < 3 and max(off, default=0.0) < 3.0 else None

    def answer(seed: int) -> Answer:
        return make_release(PureDP(1.0), seed, following=chooser, error=False).answer("sex = 'Male'", 0.8)

    assert misses(answer, exact) <= most_misses(0.8)


def widths(release: Release, text: str, confidence: float = 0.95) -> float:
    found = release.answer(text, confidence)
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_intervals_are_not_wasteful(budget: Budget) -> None:
    """One measured cell: at most 15% wider than its own noise needs, and a record for rounding."""
    release = make_release(budget, 0, [("sex",)], error=False)
    measured = release.measurements[0]
    needed = stats.norm.isf(0.025) if "gaussian" in measured.noise else np.log(20.0)
    assert widths(release, "sex = 'Male'") <= 2 * 1.15 * needed * measured.scale + 1


def test_more_evidence_narrows_where_it_is_better() -> None:
    wide = make_release(PureDP(1.0), 1, [("sex", "age", "job", "income")], error=False)
    narrow = make_release(PureDP(1.0), 1, [("sex", "age", "job", "income"), ("sex",)], error=False)
    assert widths(narrow, "sex = 'Male'") < 0.8 * widths(wide, "sex = 'Male'")


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_intervals_of_half_the_width_would_be_caught(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    """The power of the tests above: half as wide, an interval of 80% confidence misses about 40 times in 100."""

    bound = Noises.bound
    monkeypatch.setattr(Noises, "bound", lambda noises, risk: 0.5 * bound(noises, risk))
    text = "sex = 'Male'"
    many = misses(lambda seed: make_release(budget, seed, [("sex",)], error=False).answer(text, 0.8), truth(text))
    assert many > most_misses(0.8)


def test_a_public_number_of_records_is_exact() -> None:
    found = make_release(PureDP(1.0, "replace"), 0).answer("")
    assert (found.value, found.low, found.high) == (3000.0, 3000.0, 3000.0)


def test_what_nothing_covers_has_no_interval() -> None:
    found = make_release(PureDP(1.0), 0, [("sex", "age")], error=False).answer("job = 'nurse'")
    assert (found.low, found.high, found.has_interval) == (None, None, False)
    assert "nothing" in found.covers
    wide = make_release(PureDP(1.0), 0).answer("sex = 'Male' and age = 1 and job = 'nurse'")
    assert wide.low is None


def test_sources_are_named() -> None:
    measured = make_release(PureDP(1.0), 0, [("sex", "age")], error=False).answer("age = 1", 0.9)
    assert "90% confidence" in measured.covers
    assert "measurement of sex * age" in measured.covers
    evaluated = make_release(PureDP(1.0), 0).answer("age = 1")
    assert "maximum error of the workload" in evaluated.covers
    assert "1 more" in make_release(PureDP(1.0), 0, [("sex", "age")]).answer("age = 1").covers


def test_values_and_ends_are_ordered_possible_and_whole() -> None:
    for seed in range(20):
        for text in (*QUERIES, "job = 'clerk' and sex = 'Male' and age = 3", ""):
            found = make_release(ZCDP(0.001), seed, [("sex", "age", "job")]).answer(text)
            assert found.low is not None
            assert found.high is not None
            assert 0 <= found.low <= found.value <= found.high
            assert found.low == round(found.low)


def test_a_value_inside_the_interval_is_the_models() -> None:
    release = make_release(PureDP(1.0), 0)
    expected = release.model.marginals([("age",)])[0][1]
    assert release.answer("age = 1").value == pytest.approx(expected)


@pytest.mark.slow
def test_explicit_queries_are_covered_through_a_marginal() -> None:
    query = Explicit.of(DOMAIN, ["age"], [-1.0, -0.5, 0.0, 0.5, 1.0])
    exact = float(query.of_table(TABLE.marginals([("age",)])[0])[0])
    for cliques in ([("age", "sex")], []):
        few = misses(lambda seed, made=cliques: make_release(PureDP(1.0), seed, made).answer(query, 0.8), exact)
        assert few <= most_misses(0.8)


@pytest.mark.parametrize("risk", [0.3, 0.2, 0.1, 0.06, 0.03, 0.01])
def test_whole_valued_explicit_measurements_have_whole_noise(risk: float) -> None:
    """Their noise is a whole number, so the jumps of its tail count as they do for a marginal; exact."""
    query = Explicit.of(DOMAIN, ["sex"], [0.0, 1.0])
    for scale in (0.5, 1.0, 2.0, 4.0):
        measurement = Measurement(query, np.array([7.0]), NoiseKind.LAPLACE, scale)
        (piece,) = measured(query, Runs([[measurement]]))
        beyond = np.floor(piece.radius(risk)) + 1.0
        assert 2 * np.exp(-beyond / scale) / (1 + np.exp(-1 / scale)) <= risk


def test_of_several_noisy_numbers_of_records_the_loudest_counts() -> None:
    """Whichever the model's total is: a curator can be asked before a run, or while a session is open."""
    release = make_release(PureDP(1.0), 0)
    first, *others = release.events
    quiet = dataclasses.replace(first, scale=1e-3, charge=1001.0)
    for events in ((quiet, first, *others), (first, *others, quiet)):
        assert dataclasses.replace(release, events=events).answer("true") == release.answer("true")


def test_bad_questions_are_named() -> None:
    release = make_release(PureDP(1.0), 0)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        release.answer("age = 1", 1.0)
    with pytest.raises(QueryError, match="not one linear query"):
        release.answer(Marginal(DOMAIN, ("age",)))
    with pytest.raises(QueryError, match="a int is not one linear query"):
        release.answer(3)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="no attribute"):
        release.answer("agee = 1")
    other = Domain((IntegerRange("age", 0, 1),))
    with pytest.raises(QueryError, match="over the domain"):
        release.answer(Explicit.of(other, ["age"], [0, 1]))


def test_the_risk_is_dealt_out_and_no_more() -> None:
    first = [share for share, _ in zip(shares(0.2), range(60), strict=False)]
    assert first[0] == pytest.approx(0.2 * FIRST_SHARE)
    assert sum(first) <= 0.2 * (1 + 1e-12)
    assert 0 < TOTAL_SHARE < 1


def test_a_private_number_of_records_that_was_never_measured_bounds_nothing() -> None:
    release = make_release(PureDP(1.0), 0, [("sex", "age")])
    guessed = dataclasses.replace(release, events=release.events[1:])
    assert guessed.answer("").low is None
    assert guessed.answer("job = 'nurse'").low is None  # the error of a marginal says nothing without it
    found = guessed.answer("sex = 'Male'")
    assert found.low is not None
    assert found.low > 0
    centred = Explicit.of(DOMAIN, ["job"], [-1.0, -1.0, 1.0, 1.0])  # its middle is 0, so the number does not matter
    assert guessed.answer(centred).low is not None


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_a_column_in_a_hundred_measured_tables_has_an_interval(relation: str) -> None:
    # Each further table has half the risk of the one before; below 1e-16 a confidence is 1, which nothing covers.
    release = make_release(PureDP(1.0, relation), 0, [("sex", "age")])
    table = release.measurements[-1]
    often = dataclasses.replace(release, measurements=[*release.measurements, *[table] * 1200])
    found = often.answer("sex = 'Male'")
    assert found.low is not None
    assert found.high is not None
    assert found.low <= release.answer("sex = 'Male'").high
    assert f"and {len(list(shares(0.05))) - 1} more" in found.covers
