"""Hypotheses that start from public factors: what they trust, and how far they move."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.algorithms import AnchoredLearner, Learner, Worth
from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Histogram, Markov, Proximal, hypothesis
from hedgerow.queries import Marginal, Measurement, NoiseKind
from tests.algorithms.shared.whole_runs import without_histograms

DOMAIN = Domain(IntegerRange(name, 0, 3) for name in "abc")
PAIRS = (("a", "b"), ("b", "c"), ("a", "c"))
SINGLES = (("a",), ("b",), ("c",))
TOTAL = 10_000.0


def truth(seed: int) -> dict[tuple[str, ...], Floats]:
    rng = np.random.default_rng(seed)
    return {scope: 0.7 * rng.normal(size=(4, 4)) for scope in PAIRS}


def measured(factors: dict[tuple[str, ...], Floats], scale: float, seed: int) -> list[Measurement]:
    rng, model = np.random.default_rng(seed), Markov(DOMAIN, TOTAL, start=factors)
    scopes = [*SINGLES, *PAIRS]
    return [
        Measurement(
            Marginal(DOMAIN, scope), table.reshape(-1) + rng.normal(0.0, scale, table.size), NoiseKind.GAUSSIAN, scale
        )
        for scope, table in zip(scopes, model.marginals(scopes), strict=True)
    ]


def run(learner: Learner | AnchoredLearner, measurements: list[Measurement]) -> Floats:
    """Learn from one after the other; returns the distribution."""
    for each in measurements:
        learner.measurements.append(each)
        learner.fit(Proximal().quick())
    learner.fit(Proximal())
    return np.asarray(learner.model.marginals([DOMAIN.names])[0])


def distance(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).sum()) / 2.0 / TOTAL


@pytest.mark.parametrize("dense", [True, False])
def test_a_perfect_prior_is_trusted_and_left_as_it_is(dense: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not dense:
        without_histograms(monkeypatch)
    factors = truth(0)
    (exact,) = Markov(DOMAIN, TOTAL, start=factors).marginals([DOMAIN.names])
    noisy = measured(factors, 200.0, 1)
    anchored = AnchoredLearner(DOMAIN, TOTAL, factors, least=2)
    found, plain = run(anchored, noisy), run(Learner(hypothesis(DOMAIN, TOTAL)), noisy)
    assert isinstance(anchored.model, Histogram) is dense
    assert anchored.trusts
    assert distance(found, exact) < 0.3 * distance(plain, exact)


def test_a_wrong_prior_is_left_and_then_nothing_is_different() -> None:
    noisy = measured(truth(0), 20.0, 1)
    anchored = AnchoredLearner(DOMAIN, TOTAL, {scope: -2.0 * table for scope, table in truth(0).items()}, least=2)
    found, plain = run(anchored, noisy), run(Learner(hypothesis(DOMAIN, TOTAL)), noisy)
    assert not anchored.trusts
    assert anchored.is_sure
    np.testing.assert_array_equal(found, plain)


def test_single_attributes_can_be_wrong_where_what_goes_together_is_right() -> None:
    factors = truth(0)
    shifted = {**factors, ("a",): np.array([0.0, 1.0, -1.0, 0.5])}
    (exact,) = Markov(DOMAIN, TOTAL, start=shifted).marginals([DOMAIN.names])
    noisy = measured(shifted, 100.0, 2)
    anchored = AnchoredLearner(DOMAIN, TOTAL, factors, least=2)
    found, plain = run(anchored, noisy), run(Learner(hypothesis(DOMAIN, TOTAL)), noisy)
    assert anchored.trusts
    assert anchored.worth(wide=False) < anchored.worth(wide=True)
    assert distance(found, exact) < 0.75 * distance(plain, exact)


def test_the_lead_is_that_of_squared_errors_in_units_of_the_noise() -> None:
    # By hand: both foretell from what they were fitted to, and the noisy table is the judge.
    factors, noisy = truth(3), measured(truth(0), 50.0, 4)
    anchored = AnchoredLearner(DOMAIN, TOTAL, factors, least=2)
    leads, chances = {1: 0.0, 2: 0.0}, {1: 0.0, 2: 0.0}
    for each in noisy:
        public, flat = (each.target.on(model.model) for model in (anchored._public, anchored._flat))
        if not anchored.is_sure:
            size = len(each.target.scope)
            leads[size] += float(np.sum((each.values - flat) ** 2) - np.sum((each.values - public) ** 2)) / 50.0**2
            chances[size] += 4.0 * float(np.sum((public - flat) ** 2)) / 50.0**2
        anchored.measurements.append(each)
        anchored.fit(Proximal().quick())
        for size, found in ((1, anchored._narrow), (2, anchored._wide)):
            assert found.value == pytest.approx(leads[size], rel=1e-10)
            assert found.noise == pytest.approx(4.0 * chances[size] ** 0.5, rel=1e-10)
        assert anchored.trusts is (leads[2] >= 0.0 and leads[1] >= -4.0 * chances[1] ** 0.5)


def test_a_prior_that_is_wrong_about_single_attributes_chooses_nothing() -> None:
    # Pairs are right, and yet it is given up before the first: nothing shows yet that they are.
    factors = truth(0)
    shifted = {**factors, **{(name,): np.array([4.0, 0.0, 0.0, -4.0]) for name in "abc"}}
    anchored = AnchoredLearner(DOMAIN, TOTAL, shifted, least=2)
    for each in measured(factors, 50.0, 1)[:3]:
        assert anchored.trusts
        anchored.measurements.append(each)
    anchored.fit(Proximal().quick())
    assert anchored.is_sure
    assert not anchored.trusts
    assert anchored.scopes == list(SINGLES)


@pytest.mark.parametrize("public", [0.0, 0.4, -0.7])
def test_the_worth_of_parities_is_that_of_samples_with_their_errors(public: float) -> None:
    # By the definition: the variance of a parity of n records is (1 - mean**2) / n. Cells would have p (1 - p).
    worth, n = Worth(), 400
    error = np.sqrt((1.0 - public**2) / n)
    worth.learn(np.array([public, public]), np.array([public + error, public - error]), 1e-9, (-1.0, 1.0))
    assert worth.records == pytest.approx(n, rel=1e-6)


def test_much_noise_does_not_drown_little() -> None:
    # As many precise tables as ten times noisier ones, which say a hundredth of what the former do.
    rng, alone, both = np.random.default_rng(6), Worth(), Worth()
    for _ in range(40):
        p = rng.dirichlet(np.full(20, 2.0))
        foretold = rng.multinomial(1_000, p) / 1_000
        precise, rough = (p + rng.normal(0.0, sigma, 20) for sigma in (0.002, 0.2))
        alone.learn(foretold, precise, 0.002)
        both.learn(foretold, precise, 0.002)
        both.learn(foretold, rough, 0.2)
    assert both.records > 0.8 * alone.records


def test_the_worth_of_a_sample_is_near_its_size() -> None:
    # The estimate is on the safe side; of a sample of n records, 40 tables of 20 cells give it within a factor of 2.
    rng = np.random.default_rng(5)
    for n in (100, 10_000):
        worth = Worth()
        for _ in range(40):
            p = rng.dirichlet(np.full(20, 2.0))
            sigma = 0.002
            worth.learn(rng.multinomial(n, p) / n, p + rng.normal(0.0, sigma, 20), sigma)
        assert 0.5 * n < worth.records < 1.5 * n


def test_noise_alone_is_no_evidence() -> None:
    worth = Worth()
    assert worth.records == 0.0
    p = np.full(4, 0.25)
    worth.learn(p, p, sigma=0.5)
    assert worth.records < 10.0
