"""The laws of selection and measurement through the curator, over all neighbours of all tiny tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.special import logsumexp

from hedgerow.arrays import Floats, Ints
from hedgerow.privacy import ZCDP, Budget, Curator, Law, NoiseSource, PureDP
from hedgerow.queries import Explicit, Measurable, Neighbours, NoiseKind, Workload
from tests.privacy.randomness.laws import exponential_log_law, permute_and_flip_log_law
from tests.privacy.replay import privacy_loss, record
from tests.privacy.tables import DenseCounts, binary, histograms, neighbours_of

DOMAIN = binary(2)
PARITIES = Workload.parities(DOMAIN, 2)
MIXED = Workload(
    (
        *Workload.marginals(DOMAIN, 1).families,
        *PARITIES.families,
        *Workload.explicit(DOMAIN, ("a", "b"), [[0.1, -0.7, 1 / 3, 0.25]]).families,
        *Workload.prefixes(DOMAIN, "a").families,
    ),
    (1.0, 0.5, 2.0, 1 / 3),
)
WORKLOADS = {"parities": PARITIES, "mixed": MIXED, "marginals": Workload.marginals(DOMAIN, 2)}


class LawNoise:
    """Writes down the law of the choice instead of drawing from it."""

    secure = False
    log_law: Floats

    def choose(self, scores: Floats, scale: float) -> int:
        self.log_law = exponential_log_law(scores, scale)
        return 0

    def permute_and_flip(self, scores: Floats, scale: float) -> int:
        self.log_law = permute_and_flip_log_law(scores, scale)
        return 0

    def laplace(self, values: Ints, scale: float) -> Ints:
        pytest.fail("a selection draws no additive noise")

    gaussian = laplace


def select_law(
    source: DenseCounts,
    workload: Workload,
    answers: Floats,
    budget: Budget,
    law: Law = "exponential",
    **options: object,
) -> tuple[Floats, float]:
    """ln Pr of every eligible candidate, and what the ledger charged."""
    noise = LawNoise()
    curator = Curator(source, budget, noise=noise)
    curator.select(workload, answers, budget.limit, law=law, **options)  # type: ignore[arg-type]
    return noise.log_law, curator.ledger.spent


def pairs(relation: Neighbours, records: int = 3) -> Iterator[tuple[DenseCounts, DenseCounts]]:
    for count in range(records + 1):
        for histogram in histograms(4, count):
            source = DenseCounts(DOMAIN, histogram)
            yield from ((source, neighbour) for neighbour in neighbours_of(source, relation))


def hypotheses(workload: Workload) -> list[Floats]:
    """Far off on both sides, and close by."""
    return [np.full(workload.n_queries, value) for value in (-40.0, 0.3, 40.0)]


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
def test_selection_never_loses_more_than_it_is_charged(name: str, relation: Neighbours, law: Law) -> None:
    workload, worst = WORKLOADS[name], 0.0
    for answers in hypotheses(workload):
        for source, neighbour in pairs(relation):
            first, spent = select_law(source, workload, answers, PureDP(1.0, relation), law)
            second, _ = select_law(neighbour, workload, answers, PureDP(1.0, relation), law)
            loss = float(np.abs(first - second).max())
            assert loss <= spent + 1e-9
            worst = max(worst, loss)
    assert worst > 0.5 or name == "marginals"  # a single candidate has nothing to lose


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", ["parities", "mixed"])
def test_renyi_divergence_of_selection_is_at_most_order_times_rho(name: str, relation: Neighbours) -> None:
    workload, worst = WORKLOADS[name], 0.0
    for answers in hypotheses(workload):
        for source, neighbour in pairs(relation):
            first, spent = select_law(source, workload, answers, ZCDP(0.3, relation))
            second, _ = select_law(neighbour, workload, answers, ZCDP(0.3, relation))
            for order in (1.001, 1.5, 2.0, 8.0, 64.0):
                divergence = float(logsumexp(order * first - (order - 1) * second)) / (order - 1)
                assert divergence <= order * spent + 1e-9
                worst = max(worst, divergence / (order * spent))
    assert worst > (0.5 if name == "parities" else 0.1)


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_the_masked_law_is_the_renormalised_one(relation: Neighbours) -> None:
    """Same weights for all, so that masking does not change Delta."""
    workload, source = PARITIES, DenseCounts(DOMAIN, [3, 0, 1, 2])
    answers, budget = np.array([1.5, -2.0, 0.25]), PureDP(1.0, relation)
    everything, _ = select_law(source, workload, answers, budget)
    mask = np.array([True, False, True])
    masked, _ = select_law(source, workload, answers, budget, eligible=mask)
    assert np.allclose(masked, everything[mask] - logsumexp(everything[mask]), atol=1e-12)


def test_delta_is_the_largest_sensitivity_among_the_eligible() -> None:
    source, answers = DenseCounts(DOMAIN, [3, 0, 1, 2]), np.zeros(MIXED.n_queries)
    scales = []
    for mask in (np.ones(MIXED.n_candidates, dtype=bool), MIXED.candidate_weights <= 0.5):
        curator = Curator(source, PureDP(1.0), noise=LawNoise())
        curator.select(MIXED, answers, 1.0, eligible=mask)
        scales.append(curator.ledger.events[0].scale)
    assert scales == pytest.approx([4.0, 1.0], rel=1e-2)


def test_scores_are_errors_minus_offsets_in_equal_units() -> None:
    """Parities under "replace" have sensitivity 2: score (error - offset) / 2, scale 2 / epsilon."""
    source, offsets = DenseCounts(DOMAIN, [3, 0, 1, 2]), np.array([0.5, -1.0, 4.0])
    exact, answers = PARITIES.answers(source), np.array([1.0, 2.0, -3.0])
    law, _ = select_law(source, PARITIES, answers, PureDP(0.7, Neighbours.REPLACE), offsets=offsets)
    expected = 0.7 * (np.abs(exact - answers) - offsets) / 2 / 2
    assert np.allclose(law, expected - logsumexp(expected), atol=1e-12)


TARGETS: dict[str, Measurable] = {
    "marginal": Workload.marginals(DOMAIN, 2).candidate(0),
    "parity": PARITIES.candidate(2),
    "cell": Workload.prefixes(DOMAIN, "a").candidate(0),
    "explicit": Explicit.of(DOMAIN, ("a", "b"), [0.1, -0.7, 1 / 3, 0.25]),
}


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", TARGETS)
def test_measurements_lose_at_most_epsilon_and_reach_it(name: str, relation: Neighbours) -> None:
    target, losses = TARGETS[name], []

    def run(source: DenseCounts, noise: NoiseSource) -> None:
        Curator(source, PureDP(0.8, relation), noise=noise).measure(target, 0.8)

    for seed, (source, neighbour) in enumerate(pairs(relation)):
        losses.append(abs(privacy_loss(run, source, neighbour, record(run, source, seed))))
    assert max(losses) <= 0.8 + 1e-9
    assert max(losses) > 0.4


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", ["parities", "mixed"])
def test_transcripts_of_everything_lose_at_most_epsilon(name: str, relation: Neighbours) -> None:
    """Total, selections by both laws, measurements and the error, in one adaptive run."""
    workload = WORKLOADS[name]

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        curator = Curator(source, PureDP(1.2, relation), noise=noise)
        answers = np.full(workload.n_queries, curator.total(0.2) / 2)
        chosen = curator.select(workload, answers, 0.2)
        values = curator.measure(workload.candidate(chosen), 0.2).values
        mask = np.arange(workload.n_candidates) != chosen
        curator.select(workload, answers + values[0], 0.2, eligible=mask, law="permute-and-flip")
        error = curator.workload_error(workload, answers, 0.4)
        assert curator.ledger.remaining < 0.21
        return error.mean

    losses = [
        abs(privacy_loss(run, source, neighbour, record(run, source, seed)))
        for seed, (source, neighbour) in enumerate(pairs(relation))
    ]
    assert max(losses) <= 1.2 + 1e-9
    assert max(losses) > (0.5 if name == "parities" else 0.3)


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_gaussian_measurements_have_the_divergence_that_is_charged(relation: Neighbours) -> None:
    """Largest squared L2 distance between neighbouring answers, over all pairs, against the charge of the ledger."""
    for target in TARGETS.values():
        curator = Curator(DenseCounts(DOMAIN, [1, 1, 1, 1]), ZCDP(0.1, relation), noise=None)
        noise = curator.noise_for(target, 0.1)
        assert noise.kind is NoiseKind.GAUSSIAN
        furthest = max(
            float(
                (
                    (target.of_table(x.marginals([target.scope])[0]) - target.of_table(y.marginals([target.scope])[0]))
                    ** 2
                ).sum()
            )
            for x, y in pairs(relation)
        )
        assert furthest / (2 * noise.scale**2) <= noise.charge(curator.regime)
        assert furthest / (2 * noise.scale**2) >= 0.99 * noise.charge(curator.regime)
