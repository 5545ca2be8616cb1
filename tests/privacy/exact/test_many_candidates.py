"""One choice among very many candidates: drawn from rounded weights, and charged with what the rounding may add.

The way is chosen by the number of eligible candidates, so the tests lower that number instead of making large
workloads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logsumexp

import hedgerow.privacy.curator as curator_module
import hedgerow.privacy.mechanisms.selection as selection_module
import hedgerow.privacy.randomness.draws as draws_module
from hedgerow import MWEM
from hedgerow.arrays import Floats, Ints
from hedgerow.errors import ConfigError
from hedgerow.models import Sweeps
from hedgerow.privacy import (
    SLACK,
    ZCDP,
    Budget,
    Curator,
    Event,
    ExponentialMechanism,
    IndependentDraws,
    NoiseSource,
    OpenDPNoise,
    PureDP,
    Regime,
    SeededNoise,
    selection_by,
    softmax_draws,
)
from hedgerow.privacy.mechanisms.selection import MANY
from hedgerow.queries import Neighbours, Workload
from tests.algorithms.shared.whole_runs import losses_stay_below_the_charge
from tests.privacy.mechanisms import exact_costs
from tests.privacy.mutants import Mutant, drawing, killed
from tests.privacy.randomness.laws import exponential_log_law
from tests.privacy.randomness.test_laws import MIXED, PARITIES, hypotheses, pairs
from tests.privacy.randomness.test_source import fits
from tests.privacy.replay import Output, RecordingNoise, privacy_loss, record
from tests.privacy.tables import DenseCounts, binary

DOMAIN = binary(2)
SOURCE = DenseCounts(DOMAIN, [3, 0, 1, 2])
REPLACE = Neighbours.REPLACE


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than two candidates count as many."""
    monkeypatch.setattr(selection_module, "MANY", 2)


class LawNoise(SeededNoise):
    """Writes down what was drawn, from which law."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[tuple[str, Floats, float]] = []

    def choose(self, scores: Floats, scale: float) -> int:
        self.asked.append(("choose", scores.copy(), scale))
        return super().choose(scores, scale)

    def draw(self, scores: Floats, scale: float, size: int) -> Ints:
        self.asked.append(("draw", scores.copy(), scale))
        assert size == 1
        return super().draw(scores, scale, size)


def selected(
    source: DenseCounts, workload: Workload, answers: Floats, budget: Budget, **options: Any
) -> tuple[str, Floats, float, Event]:
    """Which sampler was asked, the scores and the scale that it received, and the event."""
    noise = LawNoise()
    curator = Curator(source, budget, noise=noise)
    chosen = curator.select(workload, answers, budget.limit, **options)
    assert 0 <= chosen < workload.n_candidates
    (draw, scores, scale), (event,) = *noise.asked, curator.ledger.events
    return draw, scores, scale, event


# ---- the rule, and the two ways side by side -------------------------------------------------------------------------


def test_the_number_of_eligible_candidates_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, eligible, draw in (
        (3, None, "choose"),
        (2, None, "draw"),
        (2, [0, 1, 1], "choose"),
        (1, [0, 1, 1], "draw"),
    ):
        monkeypatch.setattr(selection_module, "MANY", most)
        mask = None if eligible is None else np.array(eligible, dtype=bool)
        found, scores, _, event = selected(SOURCE, PARITIES, np.zeros(3), PureDP(1.0), eligible=mask)
        assert found == draw
        assert len(scores) == (3 if eligible is None else 2)
        assert event.mechanism == ("exponential mechanism" if draw == "choose" else "exponential mechanism, one draw")
    assert MANY == 2**14


@pytest.mark.parametrize("budget", [PureDP(0.7), PureDP(0.7, REPLACE), ZCDP(0.2), ZCDP(0.2, REPLACE)], ids=repr)
def test_both_ways_have_the_same_law_at_the_same_charge(budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
    mask, offsets = np.ones(MIXED.n_candidates, dtype=bool), np.linspace(-1.0, 3.0, MIXED.n_candidates)
    mask[1] = False
    for answers in hypotheses(MIXED):
        laws, events = [], []
        for most in (1000, 2):
            monkeypatch.setattr(selection_module, "MANY", most)
            _, scores, scale, event = selected(SOURCE, MIXED, answers, budget, eligible=mask, offsets=offsets)
            laws.append(exponential_log_law(scores, scale))
            events.append(event)
        assert np.allclose(*laws, atol=1e-8)
        assert [event.target for event in events] == [events[0].target] * 2
        assert events[0].sensitivity == events[1].sensitivity
        for event in events:
            assert budget.limit * (1.0 - 1e-12) <= event.charge <= budget.limit


def test_permute_and_flip_is_never_replaced(few_are_many: None) -> None:
    curator = Curator(SOURCE, PureDP(1.0), noise=SeededNoise(0))
    curator.select(PARITIES, np.zeros(3), 0.5, law="permute-and-flip")
    assert curator.ledger.events[0].mechanism == "permute-and-flip"


def test_databases_are_selected_by_the_same_rule(few_are_many: None) -> None:
    queries = PARITIES.by_query()
    for number, draw in ((2, "choose"), (3, "draw")):
        noise = RecordingNoise(SeededNoise(0))
        curator = Curator(SOURCE, PureDP(1.0), noise=noise)
        curator.select_database(queries, np.zeros((number, 3)), 0.5)
        assert [output.draw for output in noise.transcript] == [draw]
        assert 0.5 * (1.0 - 1e-12) <= curator.ledger.spent <= 0.5


# ---- what it costs ---------------------------------------------------------------------------------------------------

amounts = st.one_of(st.floats(1e-9, 100.0), st.sampled_from([2.0**-36, 1.01 * SLACK, 1e-11, 1.0]))


@given(amounts, st.floats(1e-3, 1e3), st.sampled_from(Regime))
def test_a_draw_never_costs_more_than_the_amount_and_covers_its_slack(
    amount: float, sensitivity: float, regime: Regime
) -> None:
    """In exact arithmetic: what 2 sensitivity / scale + slack costs is at most the charge."""
    made = IndependentDraws.for_charge(regime, amount, sensitivity)
    cost = made.charge(regime)
    assert amount * (1 - 1e-12) <= cost <= amount * (1 - 2.0**-46)
    exact = exact_costs.cost(made.name, regime.unit, sensitivity=sensitivity, scale=made.scale, bound=made.bound)
    assert exact.covered_by(cost)
    assert (made.draws, made.sensitivity) == (1, sensitivity)


def test_parts_of_a_budget_fit_into_it_without_tolerance() -> None:
    for limit in (0.7, 1.0, 3.3e-3):
        for regime in Regime:
            charges = [IndependentDraws.for_charge(regime, limit / rounds).charge(regime) for rounds in (1000,)] * 1000
            assert math.fsum(charges) < limit
            assert math.fsum(charges) == pytest.approx(limit, rel=1e-12)


@pytest.mark.parametrize(
    ("regime", "amount"),
    [(Regime.PURE, SLACK), (Regime.PURE, SLACK / 2), (Regime.ZCDP, SLACK**2 / 8), (Regime.ZCDP, 1e-30)],
)
def test_a_charge_that_the_slack_uses_up_is_refused(regime: Regime, amount: float) -> None:
    with pytest.raises(ConfigError, match="rounding of weights"):
        IndependentDraws.for_charge(regime, amount)
    ExponentialMechanism.for_charge(regime, amount)


def test_senseless_amounts_are_refused() -> None:
    for amount in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ConfigError, match="positive finite"):
            selection_by("exponential", Regime.PURE, amount, 1.0, candidates=MANY + 1)


# ---- the law that is really drawn ------------------------------------------------------------------------------------


def rounded_law(scores: Floats, scale: float) -> list[Any]:
    """ln Pr of every index, of the floating-point weights that the sampler draws from, to 40 digits."""
    logs = np.maximum((scores - scores.max()) / scale, -700.0)
    weights = [mpmath.mpf(float(weight)) for weight in np.exp(logs)]
    total = mpmath.fsum(weights)
    return [mpmath.log(weight / total) for weight in weights]


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
@pytest.mark.parametrize("name", ["parities", "mixed"])
def test_the_law_of_rounded_weights_loses_no_more_than_is_charged(
    name: str, relation: Neighbours, few_are_many: None
) -> None:
    """Without any tolerance, over all neighbours: the loss, and the range of losses that rho rests on."""
    workload, widest = (PARITIES if name == "parities" else MIXED), 0.0
    with mpmath.workdps(40):
        for answers in hypotheses(workload):
            for source, neighbour in pairs(relation, 2):
                draw, scores, scale, event = selected(source, workload, answers, PureDP(0.9, relation))
                _, others, same_scale, same_event = selected(neighbour, workload, answers, PureDP(0.9, relation))
                assert (draw, scale, event) == ("draw", same_scale, same_event)
                here, there = rounded_law(scores, scale), rounded_law(others, scale)
                losses = [one - other for one, other in zip(here, there, strict=True)]
                assert max(map(abs, losses)) <= event.charge
                assert max(losses) - min(losses) <= event.charge
                widest = max(widest, float(max(losses) - min(losses)))
    assert widest > (0.89 if name == "parities" else 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_renyi_divergence_is_at_most_order_times_rho(relation: Neighbours, few_are_many: None) -> None:
    worst = 0.0
    for answers in hypotheses(PARITIES):
        for source, neighbour in pairs(relation):
            _, scores, scale, event = selected(source, PARITIES, answers, ZCDP(0.3, relation))
            _, others, _, _ = selected(neighbour, PARITIES, answers, ZCDP(0.3, relation))
            first, second = exponential_log_law(scores, scale), exponential_log_law(others, scale)
            for order in (1.001, 1.5, 2.0, 8.0, 64.0):
                divergence = float(logsumexp(order * first - (order - 1) * second)) / (order - 1)
                assert divergence <= order * event.charge + 1e-9
                worst = max(worst, divergence / (order * event.charge))
    assert worst > 0.5


@pytest.mark.parametrize("size", [1, 3, 4, 60])
def test_members_are_the_same_whether_they_are_sorted_or_looked_for(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    for scale in (0.3, 2.0, 300.0):
        scores = np.round(generator.normal(size=500) * 1024) / 1024
        found = []
        for few in (0, 100):
            monkeypatch.setattr(draws_module, "_FEW", few)
            found.append(softmax_draws(scores, scale, size, SeededNoise(7).random_bytes).tolist())
        assert found[0] == found[1]


@pytest.mark.slow
def test_choices_through_the_curator_have_their_law(few_are_many: None) -> None:
    """Chi-square at 1e-6; a tenth more or less scale is told apart (missed with probability below 1e-7)."""
    answers = np.array([1.5, -2.0, 4.25])
    curator = Curator(SOURCE, PureDP(1e6), noise=SeededNoise(5))
    choices = np.array([curator.select(PARITIES, answers, 1.0) for _ in range(20_000)])
    scores = np.abs(PARITIES.answers(SOURCE) - answers)
    for factor, right in ((1.0, True), (0.9, False), (1.1, False)):
        assert fits(choices, np.arange(3), np.exp(exponential_log_law(scores, 2.0 * factor))) == right


def test_half_a_million_candidates() -> None:
    """One stands out by 60 scales: any other is chosen with probability 5e-21."""
    scores = np.zeros(500_500)
    scores[123_456] = 60.0
    for noise in (SeededNoise(1), OpenDPNoise()):
        assert noise.draw(scores, 1.0, 1).tolist() == [123_456]


# ---- whole runs, and bugs that must be noticed -----------------------------------------------------------------------


def run_mwem(relation: Neighbours) -> Callable[[DenseCounts, NoiseSource], object]:
    config = MWEM(rounds=2, refit=Sweeps(3))
    return lambda source, noise: config.run(source, PARITIES, PureDP(1.5, relation), noise=noise)


@pytest.mark.parametrize("relation", Neighbours.OF_RECORDS)
def test_whole_runs_on_both_sides_of_the_threshold_lose_no_more_than_is_charged(
    relation: Neighbours, few_are_many: None
) -> None:
    """The first round chooses among three candidates, the second among two."""
    drawn = [output.draw for output in record(run_mwem(relation), SOURCE)]
    assert drawn.index("draw") < drawn.index("choose")
    for histogram in ([5, 0, 0, 0], [0, 1, 2, 0]):
        losses_stay_below_the_charge(run_mwem(relation), DenseCounts(DOMAIN, histogram), relation, seeds=4)


def transcripts(budget: Budget) -> Iterator[tuple[Output, Event]]:
    for source in (SOURCE, DenseCounts(DOMAIN, [0, 0, 0, 1])):
        noise = RecordingNoise(SeededNoise(0))
        curator = Curator(source, budget, noise=noise)
        for answers in hypotheses(PARITIES):
            curator.select(PARITIES, answers, budget.limit / 4)
        yield from zip(noise.transcript, curator.ledger.events, strict=True)


def draws_are_charged_with_their_slack() -> None:
    """Whatever the sampler of rounded weights was asked for, at the scale that it received; in rational arithmetic."""
    for budget in (PureDP(0.5, REPLACE), ZCDP(0.02)):
        drawn = [(output, event) for output, event in transcripts(budget) if output.draw == "draw"]
        assert drawn
        for output, event in drawn:
            epsilon = 2 * Fraction(event.sensitivity) / Fraction(output.scale) + Fraction(SLACK)
            least = epsilon if budget.regime is Regime.PURE else epsilon**2 / 8 - epsilon**4 / 576
            assert least <= Fraction(event.charge)


def the_way_is_public() -> None:
    """The ledger, and every question to the source of noise, is the same on all neighbours; losses stay below it."""

    def run(source: DenseCounts, noise: NoiseSource) -> float:
        curator = Curator(source, PureDP(0.5), noise=noise)
        curator.select(PARITIES, np.zeros(3), 0.5)
        return curator.ledger.spent

    for source, neighbour in pairs(Neighbours.ADD_REMOVE):
        transcript = record(run, source)
        assert abs(privacy_loss(run, source, neighbour, transcript)) <= run(source, SeededNoise(0)) + 1e-9


def slack_not_charged(patch: pytest.MonkeyPatch) -> None:
    """Epsilon of ideal weights, at a scale for ideal weights."""
    patch.setattr(IndependentDraws, "epsilon", property(lambda self: 2.0 * self.sensitivity / self.scale))
    patch.setattr(selection_module, "SLACK", 0.0)


def slack_charged_and_not_taken_off(patch: pytest.MonkeyPatch) -> None:
    """The name and the charge of one draw of OpenDP's law, drawn from rounded weights."""
    charge = IndependentDraws.charge

    def ideal(self: IndependentDraws, regime: Regime) -> float:
        made = ExponentialMechanism(self.scale, self.sensitivity)
        return min(made.charge(regime), charge(self, regime))

    patch.setattr(IndependentDraws, "charge", ideal)


def half_the_scale(patch: pytest.MonkeyPatch) -> None:
    """Charged at one scale, drawn at another."""
    select = Curator.select

    def louder(self: Any, *args: Any, **rest: Any) -> int:
        source = self._Curator__noise._PaidNoise__source
        with drawing(self, draw=lambda scores, scale, size: source.draw(scores, scale / 2.0, size)):
            return select(self, *args, **rest)

    patch.setattr(Curator, "select", louder)


def threshold_by_the_data(patch: pytest.MonkeyPatch) -> None:
    """Count only the candidates whose exact error is not 0."""
    select, by = Curator.select, selection_by

    def counting(self: Any, workload: Workload, answers: Floats, charge: float, **rest: Any) -> int:
        wrong = int((self._exact_answers(workload) != answers).sum())
        patch.setattr(
            curator_module, "selection_by", lambda law, regime, amount, l1, _: by(law, regime, amount, l1, wrong)
        )
        return select(self, workload, answers, charge, **rest)

    patch.setattr(Curator, "select", counting)


MUTANTS = (
    Mutant("one draw: slack not charged", slack_not_charged, draws_are_charged_with_their_slack),
    Mutant("one draw: charged as ideal weights", slack_charged_and_not_taken_off, draws_are_charged_with_their_slack),
    Mutant("one draw: at half the scale", half_the_scale, draws_are_charged_with_their_slack),
    Mutant("one draw: a threshold on candidates with an error", threshold_by_the_data, the_way_is_public),
)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_bugs_are_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, few_are_many: None) -> None:
    killed(mutant, monkeypatch)
