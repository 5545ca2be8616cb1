"""Runs whose steps are fixed beforehand: exact small cases, random adversaries, other libraries, and planted bugs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom

import hedgerow.privacy.budgets.composition as composition_module
import hedgerow.privacy.ledger.ledger as ledger_module
import hedgerow.privacy.ledger.steps as steps_module
from hedgerow import (
    GDP,
    MWEM,
    ZCDP,
    ApproxDP,
    Domain,
    DualQuery,
    IntegerRange,
    OfflinePMW,
    OnlinePMW,
    SeededNoise,
    Table,
    Workload,
)
from hedgerow.errors import BudgetError, BudgetExceededError, ConfigError
from hedgerow.privacy import (
    Composition,
    Curator,
    Event,
    ExponentialMechanism,
    GaussianNoise,
    IndependentDraws,
    LaplaceNoise,
    Ledger,
    MeasuredQuery,
    QueryDraws,
    Regime,
    Register,
    Subsampled,
    WorstCandidate,
    budget_from_dict,
    for_any_steps,
    largest_composition,
    rho_of,
    split_budget,
)
from hedgerow.privacy.budgets.gaussian import delta_of_mu
from hedgerow.privacy.register.entries import checked_limit
from tests.examples import examples
from tests.privacy.mutants import Mutant, killed

Law = list[tuple[float, float]]
"""Privacy losses with their probabilities on the first table; e^-loss has the mean 1."""


def fixed(gaussian: float = 0.0, selections: int = 0, epsilon: float = 0.0, pure: int = 0, each: float = 0.0) -> Any:
    """A composition whose limit is what its steps cost."""
    rho = gaussian + selections * epsilon**2 / 8.0 + pure * each * math.tanh(each / 2.0)
    return Composition(rho, gaussian, selections, epsilon, pure, each)


def two_points(up: float, spanned: float) -> Law:
    """The law of the losses ``up`` and ``up - spanned``."""
    chance = math.exp(up) * math.expm1(spanned - up) / math.expm1(spanned)
    return [(up, chance), (up - spanned, 1.0 - chance)]


def hinge(epsilon: float) -> Callable[[float], float]:
    return lambda loss: max(0.0, -math.expm1(epsilon - loss))


def worst(spanned: float, value: Callable[[float], float], loss: float, steps: int) -> float:
    """The largest mean of a value after one selection, over so many two-point laws."""
    laws = [two_points(spanned * step / steps, spanned) for step in range(steps + 1)]
    return max(math.fsum(p * value(loss + x) for x, p in law) for law in laws)


@pytest.mark.parametrize(("spanned", "epsilon"), [(1.0, 0.3), (0.5, 0.1), (2.0, 1.5), (0.05, 0.04), (3.0, 0.01)])
def test_one_selection_is_exact(spanned: float, epsilon: float) -> None:
    best = worst(spanned, hinge(epsilon), 0.0, 20_000)
    assert best * (1.0 - 1e-12) <= fixed(selections=1, epsilon=spanned).delta(epsilon) <= best * 1.03


@pytest.mark.parametrize(("spanned", "epsilon"), [(1.0, 1.2), (0.5, 0.6), (0.1, 0.15)])
def test_two_selections_by_hand(spanned: float, epsilon: float) -> None:
    best = worst(spanned, lambda loss: worst(spanned, hinge(epsilon), loss, 400), 0.0, 400)
    assert best * (1.0 - 1e-12) <= fixed(selections=2, epsilon=spanned).delta(epsilon) <= best * 1.02


@settings(max_examples=examples(40))
@given(st.floats(-2.0, 0.7), st.floats(-1.5, 1.0))
def test_gaussian_noise_has_its_own_curve(log_mu: float, log_epsilon: float) -> None:
    mu, epsilon = 10.0**log_mu, 10.0**log_epsilon
    exact, found = float(delta_of_mu(mu, epsilon)), fixed(mu * mu / 2.0).delta(epsilon)
    assert found >= exact * (1.0 - 1e-12)
    if exact > 1e-200:
        assert found == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(("count", "each", "epsilon"), [(1, 1.0, 0.5), (7, 0.3, 1.0), (100, 0.05, 1.0)])
def test_pure_steps_are_randomised_responses(count: int, each: float, epsilon: float) -> None:
    yes = np.arange(count + 1)
    p = binom.pmf(yes, count, 1.0 / (1.0 + math.exp(-each)))
    exact = float(np.maximum(0.0, p - math.exp(epsilon) * p[::-1]).sum())
    assert fixed(pure=count, each=each).delta(epsilon) == pytest.approx(exact, rel=1e-9)


def test_dp_accounting_agrees_where_it_has_the_mechanisms() -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    mu, each, count = 0.4, 0.1, 12
    response = pld.from_randomized_response(2.0 / (1.0 + math.exp(each)), 2, value_discretization_interval=1e-4)
    noise = pld.from_gaussian_mechanism(1.0 / mu, value_discretization_interval=1e-4)
    theirs = noise.compose(response.self_compose(count))
    for epsilon in (0.5, 1.0, 2.0):
        found, other = fixed(mu * mu / 2.0, pure=count, each=each).delta(epsilon), theirs.get_delta_for_epsilon(epsilon)
        assert found <= other * (1.0 + 1e-9)
        assert found == pytest.approx(other, rel=1e-2)


def adversary(draw: np.random.Generator, plan: Composition, epsilon: float) -> float:
    """The exact delta of a random adaptive run: at each place any step that is left, by a law that it may have."""

    def law(kind: str) -> Law:
        if kind == "selection":
            spanned = plan.selection_epsilon * draw.uniform(0.7, 1.0)
            return two_points(spanned * draw.uniform(0.1, 0.9), spanned)
        x = plan.pure_epsilon * draw.uniform(0.7, 1.0)
        return two_points(x, 2.0 * x)

    def value(loss: float, selections: int, pure: int, mu: float) -> float:
        kinds = ["selection"] * bool(selections) + ["pure"] * bool(pure)
        if not kinds:
            # Gaussian noise at the end, exactly: the trade-off of N(0, 1) and N(mu, 1) from odds e^loss
            left = epsilon - loss
            if mu == 0.0:
                return max(0.0, -math.expm1(left))
            far = left / mu
            tail = [0.5 * math.erfc((far + s * mu / 2.0) / math.sqrt(2.0)) for s in (-1.0, 1.0)]
            return tail[0] - math.exp(left) * tail[1]
        kind = kinds[int(draw.integers(len(kinds)))]
        rest = (selections - 1, pure) if kind == "selection" else (selections, pure - 1)
        return math.fsum(p * value(loss + x, *rest, mu) for x, p in law(kind))

    return value(0.0, plan.selections, plan.pure, math.sqrt(2.0 * plan.gaussian))


PLANS = [
    fixed(0.02, selections=4, epsilon=0.3),
    fixed(0.0, selections=5, epsilon=0.4),
    fixed(0.01, selections=3, epsilon=0.2, pure=3, each=0.2),
    fixed(0.3, selections=2, epsilon=1.5, pure=2, each=1.0),
]


def no_adversary_passes_the_bound() -> None:
    draw = np.random.default_rng(5)
    for plan in PLANS:
        for epsilon in (0.05, 0.3, 1.0):
            bound = plan.delta(epsilon)
            reached = max(adversary(draw, plan, epsilon) for _ in range(25))
            assert reached <= bound
            if epsilon < 1.0:
                assert reached >= 0.5 * bound  # else the search would show little


def selections_are_at_least_their_worst_laws() -> None:
    for spanned, epsilon in ((1.0, 1.2), (0.3, 0.33)):
        best = worst(spanned, lambda loss: worst(spanned, hinge(epsilon), loss, 200), 0.0, 200)  # noqa: B023
        assert fixed(selections=2, epsilon=spanned).delta(epsilon) >= best * (1.0 - 1e-12)


def test_no_adversary_passes_the_bound() -> None:
    no_adversary_passes_the_bound()


def test_selections_first_are_cheaper() -> None:
    mu, spanned, epsilon = 0.3, 0.4, 1.0

    def later(loss: float) -> float:
        return adversary(np.random.default_rng(0), fixed(mu * mu / 2.0), epsilon - loss)

    assert worst(spanned, later, 0.0, 200) < fixed(mu * mu / 2.0, selections=1, epsilon=spanned).delta(epsilon)


def halves(rounds: int) -> Callable[[float], Composition]:
    return lambda rho: Composition(
        rho, 0.5 * rho * (1.0 + 1e-9), rounds, math.sqrt(8.0 * 0.5 * rho / rounds) * (1.0 + 1e-9)
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "rounds", "gain"),
    [
        (0.1, 1e-9, 10, 1.125),
        (1.0, 1e-9, 10, 1.119),
        (1.0, 1e-9, 40, 1.103),
        (1.0, 3.6e-6, 40, 1.155),
        (10, 1e-9, 10, 1.118),
    ],
)
def test_the_rho_that_is_gained(epsilon: float, delta: float, rounds: int, gain: float) -> None:
    found = largest_composition(epsilon, delta, rho_of(epsilon, delta), halves(rounds))
    assert found is not None
    assert found.limit / rho_of(epsilon, delta) == pytest.approx(gain, abs=2e-3)
    assert found.delta(epsilon) <= delta < halves(rounds)(found.limit * 1.001).delta(epsilon)


@pytest.mark.parametrize(
    "numbers",
    [
        {"selections": 2},
        {"selections": 1.0, "selection_epsilon": 0.1},
        {"selections": True, "selection_epsilon": 0.1},
        {"pure": 129, "pure_epsilon": 0.1},
        {"pure_epsilon": 0.1},
        {"gaussian": -1.0},
        {"gaussian": math.nan},
        {"selections": 1, "selection_epsilon": math.inf},
        {"limit": 0.03},
        {"limit": 0.0},
    ],
)
def test_wrong_numbers_are_refused(numbers: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Composition(**({"limit": 0.02, "gaussian": 0.02} | numbers))


# ---- budgets and ledgers ---------------------------------------------------------------------------------------------

PLAN = halves(2)(0.0165)
BUDGET = ApproxDP(1.0, 1e-9, composition=PLAN)


def event(mechanism: Any, *, values: int = 1, label: str = "measure") -> Event:
    """An event of a mechanism, charged in rho what it costs."""
    question: Any = MeasuredQuery("marginal", ("sex",))
    if isinstance(mechanism, IndependentDraws):
        question = QueryDraws(9)
    elif isinstance(mechanism, ExponentialMechanism):
        question = WorstCandidate(3)
    return Event(
        label, mechanism.name, question, mechanism.sensitivity, mechanism.scale, mechanism.charge(Regime.ZCDP), "rho",
        "add-remove", values,
    )  # fmt: skip


CHOICE = event(ExponentialMechanism(2.0 / (PLAN.selection_epsilon * (1.0 - 1e-12))), label="select")
SMALL = GaussianNoise(1.0)


def refused(events: Sequence[Event], kind: type[Exception] = BudgetExceededError) -> None:
    """The ledger refuses the last event, whose charge it would cover, and keeps the others."""
    ledger = Ledger.of(BUDGET)
    try:
        ledger.charge(*events[:-1])
    except BudgetError as error:
        raise AssertionError(str(error)) from error
    assert ledger.covers(events[-1].charge)
    before = ledger.spent
    try:
        ledger.charge(events[-1])
    except kind:
        assert (ledger.spent, len(ledger.events)) == (before, len(events) - 1)
        return
    raise AssertionError("it was not refused")


def a_third_selection_is_refused() -> None:
    small = event(ExponentialMechanism(20.0 / PLAN.selection_epsilon), label="select")
    refused([small, small, small])
    draws = event(IndependentDraws(20.0 / PLAN.selection_epsilon, draws=3), values=3, label="draw")
    refused([draws])


def a_larger_selection_is_refused() -> None:
    refused([event(ExponentialMechanism(1.9 / PLAN.selection_epsilon), label="select")], BudgetError)


def gaussian_noise_has_its_own_limit() -> None:
    wide = event(GaussianNoise(math.sqrt(1.0 / (2.0 * 0.51 * PLAN.limit))))
    refused([wide])
    # narrow noise costs more in GDP than its rho; on whole counts these differ by 5 percent at sigma = 1
    strong = Composition(0.5, 0.5)
    ledger = Ledger(0.5, "rho", composition=strong)
    with pytest.raises(BudgetExceededError):
        ledger.charge(event(GaussianNoise(1.001)))
    if ledger.events:
        raise AssertionError("it was charged")


def other_steps_are_refused() -> None:
    refused([event(LaplaceNoise(1e4))], BudgetError)


LEDGER_CHECKS = (
    a_third_selection_is_refused,
    a_larger_selection_is_refused,
    gaussian_noise_has_its_own_limit,
    other_steps_are_refused,
)


@pytest.mark.parametrize("check", LEDGER_CHECKS)
def test_ledgers_hold_no_other_steps(check: Callable[[], None]) -> None:
    check()


def test_a_budget_with_fixed_steps() -> None:
    assert BUDGET.limit == PLAN.limit < ApproxDP(1.0, 1e-9).limit * 1.15
    assert budget_from_dict(BUDGET.to_dict()) == BUDGET != for_any_steps(BUDGET) == ApproxDP(1.0, 1e-9)
    assert "steps fixed beforehand, zCDP with rho = " in BUDGET.statement()
    ledger = Ledger.of(BUDGET, [CHOICE, CHOICE])
    assert Ledger.from_dict(ledger.to_dict()).composition == PLAN
    with pytest.raises(BudgetError, match="head"):
        Ledger.from_dict({**ledger.to_dict(), "composition": {**PLAN.to_dict(), "selections": 3}})
    with pytest.raises(BudgetError, match="spends"):
        Ledger(0.5, "rho", composition=PLAN)


def test_a_composition_that_costs_too_much_is_refused() -> None:
    large = halves(10)(1.125 * rho_of(1.0, 1e-9))
    with pytest.raises(ConfigError, match="not \\(1, 1e-09\\)-private"):
        ApproxDP(1.0, 1e-9, composition=large)
    for other in ({"regime": Regime.GDP}, {"thresholds": 1e-10}):
        with pytest.raises(ConfigError, match="counted in rho"):
            replace(BUDGET, **other)
    with pytest.raises(ConfigError, match="no fixed composition"):
        ApproxDP(1.0, 1e-9, composition={"limit": 1.0})  # type: ignore[arg-type]


def test_what_adds_up_any_steps_takes_no_composition() -> None:
    with pytest.raises(ConfigError, match="not divided"):
        split_budget(BUDGET, 0.5)
    with pytest.raises(ConfigError, match="register"):
        checked_limit(BUDGET)
    with pytest.raises(ConfigError, match="sample"):
        Subsampled(replace(BUDGET, neighbours="replace"), 10, 100)


# ---- runs ------------------------------------------------------------------------------------------------------------

DOMAIN = Domain(IntegerRange(name, 0, 3) for name in "abcde")
TABLE = Table(DOMAIN, [np.random.default_rng(k).integers(0, 4, 3_000).astype(np.uint8) for k in range(5)])
PAIRS = Workload.marginals(DOMAIN, 2)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("config", [MWEM(rounds=6), MWEM(rounds=9, error_share=0.0, offsets=False)])
def test_mwem_spends_all_of_its_fixed_steps(config: MWEM, relation: str) -> None:
    budget = ApproxDP(1.0, 1e-9, relation)
    made = config.run(TABLE, PAIRS, budget, noise=SeededNoise(1))
    composed = made.budget
    assert isinstance(composed, ApproxDP)
    assert composed.composition is not None
    assert 1.1 < composed.limit / budget.limit < 1.2
    assert made.spent == pytest.approx(composed.limit, rel=1e-9)
    assert config.plan(PAIRS, budget, 3_000).limit == composed.limit


@pytest.mark.parametrize(
    "config", [MWEM(), MWEM(rounds="annealed"), MWEM(rounds="bound"), OfflinePMW(), DualQuery(rounds=4, samples=9)]
)
def test_steps_that_a_run_would_not_keep_to_are_refused_first(config: Any, tmp_path: Path) -> None:
    table = Table(DOMAIN, TABLE.columns)
    gaussian = ApproxDP(1.0, 1e-9, "replace", composition=Composition(0.015, gaussian=0.015))
    register = Register(tmp_path / "register", ZCDP(1.0, "replace"))
    for kept in (None, register):
        with pytest.raises(ConfigError, match="does not keep to the steps"):
            config.run(table, PAIRS, gaussian, noise=SeededNoise(1), register=kept)
    assert register.spent == 0.0
    with pytest.raises(ConfigError, match="does not keep to the steps"):
        MWEM(rounds=6).run(table, PAIRS, gaussian, register=register)
    curator = Curator(table, gaussian, noise=SeededNoise(1))
    if isinstance(config, MWEM):
        with pytest.raises(ConfigError, match="does not keep to the steps"):
            config.run_with(curator, PAIRS)
    with pytest.raises(ConfigError, match="a session does not keep"):
        OnlinePMW(updates=4).start(table, gaussian)
    assert curator.ledger.spent == 0.0


def test_few_rounds_are_pure() -> None:
    made = MWEM(rounds=2).run(TABLE, PAIRS, ApproxDP(1.0, 1e-9), noise=SeededNoise(1))
    assert (made.budget.regime, made.spent) == (Regime.PURE, pytest.approx(1.0))


@pytest.mark.parametrize(
    "budget", [ApproxDP(1.0, 1e-9, regime=Regime.GDP), ApproxDP(1.0, 1e-9, thresholds=1e-10), GDP(0.2)]
)
def test_other_budgets_stay(budget: Any) -> None:
    assert MWEM(rounds=6).accounted(PAIRS, budget) == budget


def test_laplace_noise_and_offline_pmw() -> None:
    for config in (MWEM(rounds=6, noise="laplace"), OfflinePMW(rounds=40, step="sharp")):
        made = config.run(TABLE, PAIRS, ApproxDP(1.0, 1e-9), noise=SeededNoise(1))
        assert made.budget.fixed is not None
        assert made.budget.limit > 1.1 * ApproxDP(1.0, 1e-9).limit
        assert made.spent <= made.budget.limit


# ---- planted bugs ----------------------------------------------------------------------------------------------------


def _weaker(name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(composition_module, name, value)


def _fair_coins(patch: pytest.MonkeyPatch) -> None:
    """Only two-point laws that are the same upwards and downwards."""

    def of(self: Any, values: np.ndarray) -> np.ndarray:
        half = self._parts // 2
        up = np.concatenate([values[half:], np.full(half, values[-1])])
        down = np.concatenate([np.full(half, values[0]), values[:-half]])
        return np.asarray(self._chances[half] * up + (1.0 - self._chances[half]) * down)

    patch.setattr(composition_module._WorstLaw, "of", of)


def _half_range(patch: pytest.MonkeyPatch) -> None:
    kept = composition_module._after_selections
    patch.setattr(
        composition_module, "_after_selections", lambda epsilon, n, e, spread: kept(epsilon, n, e / 2, spread / 2)
    )


def _rho_of_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps_module, "Regime", type("Same", (), {"GDP": Regime.ZCDP}))


def _forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ledger_module.Steps, "with_events", lambda self, events, _: self)


def _draws_are_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps_module, "IndependentDraws", ExponentialMechanism)
    patch.setattr(steps_module, "ExponentialMechanism", IndependentDraws)


def _everything() -> None:
    composition_module._delta.cache_clear()
    no_adversary_passes_the_bound()
    selections_are_at_least_their_worst_laws()
    for check in LEDGER_CHECKS:
        try:
            check()
        except (AttributeError, pytest.fail.Exception) as error:
            raise AssertionError(str(error)) from error


MUTANTS = [
    Mutant("selections are fair coins", _fair_coins, _everything),
    Mutant("selections of half of the range", _half_range, _everything),
    Mutant("pure steps for nothing", _weaker("_pure_losses", lambda *_: [(0.0, 1.0)]), _everything),
    Mutant("Gaussian noise in fixed steps at its rho", _rho_of_noise, _everything),
    Mutant("fixed steps that nobody counts", _forgotten, _everything),
    Mutant("independent draws counted as none that is fixed", _draws_are_one, _everything),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
    composition_module._delta.cache_clear()
