"""Cuts of disjoint runs at quantiles: their exact law between all neighbours, against the charge in the ledger."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logsumexp

import hedgerow.privacy.curator as curator_module
from hedgerow.algorithms import learn_domain
from hedgerow.arrays import Floats, Ints
from hedgerow.domain import Categorical, Domain, IntegerRange, OpenDomain
from hedgerow.errors import BudgetExceededError, QueryError, UnpaidNoiseError
from hedgerow.privacy import (
    GDP,
    ZCDP,
    Curator,
    Event,
    Ledger,
    NoiseSource,
    PaidNoise,
    PureDP,
    QuantileCuts,
    Run,
    SeededNoise,
    quantile_scores,
    quantile_sensitivity,
)
from hedgerow.queries import Marginal, Neighbours, Persons, Sensitivity
from tests.privacy.mutants import LawNoise, Mutant, killed
from tests.privacy.replay import log_likelihood, record
from tests.privacy.tables import DenseCounts, histograms, neighbours_of

DOMAIN = Domain((IntegerRange("x", 0, 4),))
LEVELS = {
    "one run": [Run(0, 5, 2)],
    "an odd number of bins": [Run(0, 5, 3)],
    "two runs": [Run(0, 2, 2), Run(2, 5, 3)],
    "runs with a gap": [Run(0, 2, 2), Run(3, 5, 2)],
}
CHARGE = 0.5
FAR = [[0, 60, 0, 1, 1], [20, 0, 40, 0, 3], [1, 0, 0, 0, 50]]
"""Tables with all their records on one side: a choice of the other side is unlikely, and tells most."""


def tables(persons: Persons | None = None) -> Iterator[DenseCounts]:
    yield from (DenseCounts(DOMAIN, each, persons) for records in range(3) for each in histograms(DOMAIN.size, records))
    yield from (DenseCounts(DOMAIN, each, persons) for each in FAR)


def law_of(source: DenseCounts, runs: Sequence[Run], curator: Curator, noise: LawNoise) -> Floats:
    """Log-probabilities of all outcomes of a level."""
    noise.laws.clear()
    curator.cut("x", runs, CHARGE)
    joint = np.zeros(())
    for law in noise.laws:
        joint = joint[..., None] + law
    return joint


def losses(runs: Sequence[Run], relation: Neighbours) -> Iterator[tuple[Floats, float]]:
    """Log-ratios of all outcomes, for each pair of neighbours; and the charge."""
    known: dict[bytes, Floats] = {}

    def law(source: DenseCounts) -> Floats:
        key = source.histogram.tobytes()
        if key not in known:
            noise = LawNoise()
            curator = Curator(source, PureDP(1.0, relation), noise=noise)
            known[key] = law_of(source, runs, curator, noise)
            assert curator.ledger.spent <= CHARGE
        return known[key]

    for source in tables(relation.persons):
        for neighbour in neighbours_of(source, relation):
            yield law(source) - law(neighbour), CHARGE


def cuts_lose_at_most_their_charge(runs: Sequence[Run], relation: Neighbours) -> None:
    for ratios, charge in losses(runs, relation):
        assert float(np.ptp(ratios)) <= charge + 1e-9  # the bounded range, which zCDP and GDP charge for
        assert float(np.abs(ratios).max()) <= charge + 1e-9


TWO_RECORDS = Persons("id", 2)


@pytest.mark.parametrize(
    "relation",
    [
        Neighbours.ADD_REMOVE,
        Neighbours.REPLACE,
        Neighbours.ADD_REMOVE.between(TWO_RECORDS),
        Neighbours.REPLACE.between(TWO_RECORDS),
    ],
    ids=str,
)
@pytest.mark.parametrize("runs", LEVELS.values(), ids=LEVELS)
def test_cuts_lose_at_most_their_charge(runs: list[Run], relation: Neighbours) -> None:
    cuts_lose_at_most_their_charge(runs, relation)


def test_the_charge_is_not_too_large() -> None:
    largest = max(float(np.abs(ratios).max()) for ratios, _ in losses(LEVELS["one run"], Neighbours.ADD_REMOVE))
    assert largest > 0.9 * CHARGE


@pytest.mark.parametrize("order", [1.01, 2.0, 8.0, 64.0])
def test_cuts_keep_their_rho(order: float) -> None:
    """Renyi divergences between neighbours, against the order times what the ledger holds."""
    runs = LEVELS["two runs"]
    known = {}
    for source in tables():
        noise = LawNoise()
        curator = Curator(source, ZCDP(1.0), noise=noise)
        known[source.histogram.tobytes()] = law_of(source, runs, curator, noise), curator.ledger.spent
    for source in tables():
        one, spent = known[source.histogram.tobytes()]
        for neighbour in neighbours_of(source, Neighbours.ADD_REMOVE):
            if neighbour.histogram.tobytes() in known:
                two, _ = known[neighbour.histogram.tobytes()]
                divergence = float(logsumexp(order * one - (order - 1.0) * two)) / (order - 1.0)
                assert divergence <= order * spent + 1e-9


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12), st.integers(2, 40), st.data())
def test_scores_are_those_of_counting_one_by_one(counts: list[int], bins: int, data: st.DataObject) -> None:
    low = data.draw(st.integers(0, len(counts) - 2))
    high = data.draw(st.integers(low + 2, len(counts)))
    run = Run(low, high, bins)
    unit = quantile_sensitivity([run], len(counts))
    share = run.left / run.bins
    found = quantile_scores(np.array(counts), run, unit)
    for cut, score in zip(range(low + 1, high), found, strict=True):
        left, right = sum(counts[low:cut]), sum(counts[cut:high])
        assert score / unit == pytest.approx(-abs((1 - share) * left - share * right) / (1 - share), abs=1e-10)


@given(st.lists(st.integers(0, 2**20), min_size=6, max_size=6), st.integers(0, 5), st.integers(2, 64))
def test_one_record_moves_no_score_by_more_than_the_sensitivity(counts: list[int], place: int, bins: int) -> None:
    runs = [Run(0, 4, bins), Run(4, 6, bins + 1)]
    unit = quantile_sensitivity(runs, 6)
    more = np.array(counts)
    more[place] += 1
    changes = [quantile_scores(more, run, unit) - quantile_scores(np.array(counts), run, unit) for run in runs]
    assert sum(bool(change.any()) for change in changes) <= 1  # one record is in one run
    assert max(float(np.abs(change).max()) for change in changes) <= unit


@pytest.mark.parametrize(
    "runs", [[Run(0, 3, 2), Run(2, 5, 2)], [Run(3, 5, 2), Run(0, 3, 2)], [Run(0, 1, 2)], [Run(0, 9, 2)], []]
)
def test_runs_that_share_records_or_leave_nothing_are_refused(runs: list[Run]) -> None:
    overlapping_runs_are_refused(runs)


def overlapping_runs_are_refused(runs: Sequence[Run] = (Run(0, 3, 2), Run(2, 5, 2))) -> None:
    source = DenseCounts(DOMAIN, FAR[0])
    curator = Curator(source, PureDP(1.0), noise=SeededNoise(0))
    try:
        curator.cut("x", runs, CHARGE)
    except QueryError:
        assert source.reads == 0
        assert not curator.ledger.events
        return
    raise AssertionError


def test_nothing_is_read_that_is_not_paid_for() -> None:
    source = DenseCounts(DOMAIN, FAR[0])
    curator = Curator(source, PureDP(0.4), noise=SeededNoise(0))
    with pytest.raises(BudgetExceededError):
        curator.cut("x", LEVELS["one run"], CHARGE)
    assert source.reads == 0


def test_listed_values_have_no_quantiles() -> None:
    domain = Domain((Categorical("x", ("a", "b", "c")),))
    with pytest.raises(QueryError, match="no order"):
        Curator(DenseCounts(domain, [1, 2, 3]), PureDP(1.0)).cut("x", [Run(0, 3, 2)], CHARGE)


def test_an_event_pays_for_as_many_parts_as_it_says() -> None:
    noise = PaidNoise(SeededNoise(0), Ledger(1.0, "epsilon"))
    event = Event("learn", "exponential mechanism", QuantileCuts("x"), 1.0, 4.0, 0.6, "epsilon", "add-remove", 2)
    noise.pay(event)
    with pytest.raises(UnpaidNoiseError, match="2 disjoint parts"):
        noise.choices([np.zeros(2)] * 3, event)
    with pytest.raises(UnpaidNoiseError):
        noise.choices([np.zeros(2)] * 2, event)


def test_records_apart_are_not_looked_at() -> None:
    """Of 50 records in the last cell nothing is seen, and the cut is at the median of the others."""
    source = DenseCounts(DOMAIN, [500, 0, 500, 0, 50_000])
    curator = Curator(source, PureDP(1.0), noise=SeededNoise(0))
    assert curator.cut("x", [Run(0, 5, 2)], CHARGE, apart=[4])[0] in (1, 2)


# ---- whole runs ------------------------------------------------------------------------------------------------------

WANTED = OpenDomain({"x": {"min": 0, "max": 5, "whole": True, "points": [0], "bins": {"learn": 3}}, "y": 2})


def learning(relation: Neighbours) -> object:
    def run(source: DenseCounts, noise: NoiseSource) -> tuple[str, ...]:
        curator = Curator(source, PureDP(1.0, relation.unfiltered), noise=noise)
        domain = learn_domain(curator, WANTED, share=0.9)
        assert curator.ledger.spent <= 0.9
        return domain["x"].labels

    return run


def learning_loses_at_most_its_share(relation: Neighbours) -> None:
    run = learning(relation)
    for seed, histogram in enumerate(([9, 0] * 3 + [0, 2] * 3, [0, 0] * 5 + [30, 1], [1, 1] * 6)):
        source = DenseCounts(WANTED.fine, histogram)
        source.filtered = relation is Neighbours.REPLACE_FILTERED
        transcript = record(run, source, seed)  # type: ignore[arg-type]
        mine = log_likelihood(run, source, transcript)  # type: ignore[arg-type]
        for neighbour in neighbours_of(source, relation):
            neighbour.filtered = source.filtered
            assert abs(mine - log_likelihood(run, neighbour, transcript)) <= 0.9 + 1e-9  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_learning_loses_at_most_its_share(relation: Neighbours) -> None:
    learning_loses_at_most_its_share(relation)


def test_each_regime_has_its_own_charge() -> None:
    spent = []
    for budget in (PureDP(1.0), ZCDP(1.0), GDP(math.sqrt(2.0))):
        curator = Curator(DenseCounts(WANTED.fine, [1, 1] * 6), budget, noise=SeededNoise(0))
        learn_domain(curator, WANTED, share=0.25)
        spent.append(curator.ledger.spent)
        assert curator.ledger.events[0].values == 1
    assert spent == pytest.approx([0.25] * 3)


# ---- the bugs --------------------------------------------------------------------------------------------------------


def _half_the_sensitivity(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(
        curator_module, "quantile_sensitivity", lambda runs, cells: max(1, quantile_sensitivity(runs, cells) // 2)
    )
    known = quantile_scores
    patched.setattr(curator_module, "quantile_scores", lambda counts, run, unit: 2.0 * known(counts, run, run.weight))


def _one_record_of_two(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Marginal, "sensitivity", lambda self, neighbours: Sensitivity(1.0, 1.0))


def _weights_of_the_other_side(patched: pytest.MonkeyPatch) -> None:
    def scores(counts: Ints, run: Run, unit: int) -> Floats:
        reached = np.cumsum(counts[run.low : run.high])
        left, right = reached[:-1], reached[-1] - reached[:-1]
        whole: Floats = -(unit // run.left) * np.abs(run.weight * left - run.left * right).astype(np.float64)
        return whole

    patched.setattr(curator_module, "quantile_scores", scores)


def _runs_are_not_looked_at(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(curator_module, "quantile_sensitivity", lambda runs, cells: math.lcm(*(run.weight for run in runs)))


def _noise_that_is_too_small(patched: pytest.MonkeyPatch) -> None:
    known = LawNoise.choose
    patched.setattr(LawNoise, "choose", lambda self, scores, scale: known(self, scores, scale / 2.0))


MUTANTS = (
    Mutant(
        "cuts: half the sensitivity",
        _half_the_sensitivity,
        lambda: cuts_lose_at_most_their_charge(LEVELS["one run"], Neighbours.ADD_REMOVE),
    ),
    Mutant(
        "cuts: a replaced record as one that is there or not",
        _one_record_of_two,
        lambda: cuts_lose_at_most_their_charge(LEVELS["one run"], Neighbours.REPLACE),
    ),
    Mutant(
        "cuts: scaled by the weight of the smaller side",
        _weights_of_the_other_side,
        lambda: cuts_lose_at_most_their_charge(LEVELS["an odd number of bins"], Neighbours.ADD_REMOVE),
    ),
    Mutant("cuts: overlapping runs at the price of one", _runs_are_not_looked_at, overlapping_runs_are_refused),
    Mutant(
        "cuts: drawn at half the scale",
        _noise_that_is_too_small,
        lambda: cuts_lose_at_most_their_charge(LEVELS["one run"], Neighbours.ADD_REMOVE),
    ),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


def test_overlapping_runs_would_lose_more() -> None:
    """Why they are refused: a record in both moves both choices."""
    runs, scale = [Run(0, 4, 2), Run(1, 5, 2)], 2.0 / CHARGE
    loss = 0.0
    for run in runs:
        one, two = (quantile_scores(np.array(each), run, 1) / scale for each in ([0, 60, 0, 1, 1], [0, 60, 0, 2, 1]))
        loss += float(np.ptp((one - logsumexp(one)) - (two - logsumexp(two))))
    assert loss > CHARGE
