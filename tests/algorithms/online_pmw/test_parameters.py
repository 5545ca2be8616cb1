"""The numbers of online private multiplicative weights against theory.md section 4."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import pytest

from hedgerow import MWEM, OnlinePMW
from hedgerow.algorithms import (
    Rules,
    Stream,
    Variant,
    best_rules,
    required_records,
    rules_from_dict,
    sparse_error,
    theorem_rules,
    two_sided_rules,
)
from hedgerow.algorithms.online_pmw import parameters
from hedgerow.algorithms.online_pmw.rules import practical_rules
from hedgerow.errors import ConfigError
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Regime, additive_noise, pure_rho
from hedgerow.queries import Neighbours, NoiseKind, Parity, Workload
from tests.algorithms.online_pmw.cases import DOMAIN, skewed

PURE, APPROXIMATE = PureDP(1.0), ApproxDP(1.0, 1e-6)
STREAM = Stream(records=1e6, log_cells=math.log(1024), queries=1000)


@pytest.mark.parametrize(
    ("variant", "budget", "printed"),
    [("4a", PURE, 1.5e8), ("4a", APPROXIMATE, 9.4e6)],
)
def test_records_that_the_theorem_as_taught_needs(variant: Variant, budget: Budget, printed: float) -> None:
    needed = required_records(STREAM, budget, budget.limit, variant, target=0.1)
    assert needed == pytest.approx(printed, rel=0.01)


def test_records_that_the_recommended_variants_need() -> None:
    """The figures of theory.md, and its formulas written out: the best number of updates needs no more."""
    for variant, printed in (("4b", 1.99e5), ("4c", 1.07e5)):
        needed = required_records(STREAM, APPROXIMATE, APPROXIMATE.limit, cast("Variant", variant), target=0.1)
        assert needed == pytest.approx(printed, rel=0.01)
        once = variant == "4c"
        written = min(_error_with_a_gaussian_share(needed, updates, 0.02, once) for updates in range(500, 2500, 20))
        assert written == pytest.approx(0.1, rel=0.01)


def _error_with_a_gaussian_share(n: float, updates: int, share: float, once: bool) -> float:
    """Variants 4b and 4c in zCDP, written out from theory.md."""
    beta, k_max, draws = 0.05, 1000, 1 if once else updates
    a = math.sqrt(math.log(1024) / (2 * updates))
    sigma = math.sqrt(updates / (2 * share * APPROXIMATE.limit)) / n
    if sigma * math.sqrt(2 * math.log(6 * updates / beta)) > a:
        return math.inf
    threshold = math.sqrt(3 * draws / (4 * (1 - share) * APPROXIMATE.limit)) / n
    test = math.sqrt(updates / ((1 - share) * APPROXIMATE.limit)) / n
    return a + 2 * (threshold * math.log(3 * draws / beta) + test * math.log(3 * k_max / beta))


@pytest.mark.parametrize("updates", [1, 10, 1000])
def test_scales_of_the_two_sided_variant(updates: int) -> None:
    epsilon, delta = 0.7, 1e-7
    sigma, answer = parameters.two_sided_scales(STREAM, PureDP(epsilon), updates, epsilon)
    assert (sigma, answer) == pytest.approx((9 * updates / (4 * epsilon), 9 * updates / epsilon))
    root = math.sqrt(512)
    sigma, answer = parameters.two_sided_scales(STREAM, ApproxDP(epsilon, delta), updates, epsilon)
    each = math.sqrt(32 * updates * math.log(2 / delta))
    assert sigma == pytest.approx(each / (root * epsilon / (root + 1)))
    assert answer == pytest.approx(each / (2 * epsilon / (root + 1)))


def test_error_of_numeric_sparse_is_the_printed_one() -> None:
    logs = math.log(2 * 1000) + math.log(4 * 77 / 0.05)
    assert sparse_error(STREAM, PureDP(0.5), 77) == pytest.approx(9 * 77 * logs / (0.5 * 1e6))
    approximate = (math.sqrt(512) + 1) * math.sqrt(77 * math.log(2 / 1e-8)) * logs / (0.5 * 1e6)
    assert sparse_error(STREAM, ApproxDP(0.5, 1e-8), 77) == pytest.approx(approximate)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
def test_threshold_is_twice_the_larger_of_alpha_and_alpha_s(alpha: float, budget: Budget) -> None:
    """Erratum: twice alpha_s alone voids the bound on the updates wherever alpha_s < alpha."""
    rules = two_sided_rules(STREAM, budget, budget.limit, alpha)
    assert rules.updates == parameters.two_sided_updates(STREAM, alpha) == math.floor(4 * math.log(1024) / alpha**2)
    alpha_s = sparse_error(STREAM, budget, rules.updates)
    assert rules.threshold / 1e6 == pytest.approx(2 * max(alpha, alpha_s))
    assert rules.step == alpha / 2
    assert rules.watch.test_scale == pytest.approx(2 * rules.watch.threshold_scale)


@pytest.mark.many(quick=8)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("updates", [1, 30, 1000, 100_000])
def test_the_sources_composition_costs_less_in_the_ledger(epsilon: float, delta: float, updates: int) -> None:
    budget = ApproxDP(epsilon, delta)
    sigma, answer = parameters.two_sided_scales(STREAM, budget, updates, epsilon)
    spent = updates * (pure_rho(2.0 / sigma) + pure_rho(1.0 / answer))
    assert spent <= budget.limit


@pytest.mark.parametrize("updates", [1, 2, 50, 1234])
def test_the_distinguishing_error_gives_that_many_updates(updates: int) -> None:
    a = parameters.distinguishing_error(STREAM, updates)
    assert math.floor(STREAM.log_cells / (2 * a * a)) == updates


def all_rules() -> list[tuple[Rules, Budget]]:
    cases: list[tuple[Variant, Budget]] = [
        ("4a", PURE),
        ("4a", ApproxDP(0.5, 1e-6)),
        ("4b", APPROXIMATE),
        ("4b", ZCDP(0.3)),
        ("4c", PURE),
        ("4c", ZCDP(0.3)),
        ("pay-as-you-go", PURE),
        ("pay-as-you-go", APPROXIMATE),
    ]
    return [
        (best_rules(replace(STREAM, records=1e7), budget, budget.limit, variant), budget) for variant, budget in cases
    ]


@pytest.mark.parametrize(("rules", "budget"), all_rules())
def test_all_epochs_and_answers_fit_into_the_budget(rules: Rules, budget: Budget) -> None:
    """What the mechanisms charge, not what they were made for."""
    noise = additive_noise(budget.regime, rules.answer_charge, l1=1.0, l2=1.0, step=1.0, kind=rules.answer_kind)
    charges = [rules.watch.charge(budget.regime)] * rules.draws + [noise.charge(budget.regime)] * rules.updates
    assert math.fsum([*charges, -budget.limit]) <= 0.0
    assert math.fsum(charges) > (0.03 if rules.variant == "4a" else 0.999) * budget.limit


@pytest.mark.parametrize(("rules", "budget"), all_rules())
def test_rules_come_back_from_a_file(rules: Rules, budget: Budget) -> None:
    assert rules_from_dict(rules.to_dict()) == rules


@pytest.mark.parametrize(("rules", "budget"), [case for case in all_rules() if case[0].variant != "4a"])
def test_the_bound_adds_up(rules: Rules, budget: Budget) -> None:
    """a + 2 alpha_t with all noises below their bounds except with probability beta."""
    a = parameters.distinguishing_error(STREAM, rules.updates) * 1e7
    margin = parameters.noise_margin(STREAM, rules.watch, rules.draws, _last(rules))
    assert rules.error == pytest.approx(a + 2 * margin)
    last = 1 if rules.queries is not None else STREAM.queries
    assert rules.threshold_at(last) == pytest.approx(a + margin, abs=1.0)
    assert rules.step == pytest.approx(4 * a / 1e7)
    noise = additive_noise(budget.regime, rules.answer_charge, l1=1.0, l2=1.0, step=1.0, kind=rules.answer_kind)
    assert noise.quantile(1 - STREAM.beta / (3 * rules.updates)) <= a * (1 + 1e-6) + (noise.kind is NoiseKind.GAUSSIAN)
    assert rules.watch.threshold_quantile(1 - STREAM.beta / (3 * rules.draws)) + rules.watch.test_quantile(
        1 - STREAM.beta / (3 * _last(rules))
    ) <= margin * (1 + 1e-6)


def _last(rules: Rules) -> float:
    return STREAM.queries if rules.queries is not None else (math.pi * STREAM.queries) ** 2 / 6


def test_risks_of_an_endless_stream_add_up() -> None:
    """The threshold of query j allows the probability 6 beta / (3 pi^2 j^2); these sum to beta / 3."""
    rules = best_rules(replace(STREAM, records=1e7), PURE, 1.0, "pay-as-you-go")
    a = parameters.distinguishing_error(STREAM, rules.updates) * 1e7
    secret = rules.watch.threshold_scale * math.log(3 * rules.updates / STREAM.beta)
    risks = [math.exp(-(rules.threshold_at(j) - 1 - a - secret) / rules.watch.test_scale) for j in range(1, 20_000)]
    assert 0.9 * STREAM.beta / 3 < sum(risks) <= STREAM.beta / 3 * 1.001
    assert rules.queries is None


def test_the_gaussian_share_is_small() -> None:
    rules = best_rules(replace(STREAM, records=4.6e5), APPROXIMATE, APPROXIMATE.limit, "4b")
    assert rules.updates * rules.answer_charge < 0.05 * APPROXIMATE.limit


@pytest.mark.parametrize("variant", ["4b", "4c", "pay-as-you-go"])
def test_no_number_of_updates_does_better_than_the_chosen_one(variant: Variant) -> None:
    budget: Budget = APPROXIMATE if variant == "4b" else PURE
    best = best_rules(STREAM, budget, budget.limit, variant)
    assert best.error is not None
    tried = [theorem_rules(STREAM, budget, budget.limit, variant, c) for c in [*range(1, 400), *range(400, 4000, 7)]]
    errors = [rules.error for rules in tried if rules is not None and rules.error is not None]
    assert best.error <= min(errors) * (1 + 1e-4)


def test_errors_scale_with_records_sensitivity_and_width() -> None:
    """A query of width 2 whose sensitivity is 2 is a query of width 1 counted twice."""
    one = best_rules(STREAM, PURE, 1.0, "4c")
    two = best_rules(replace(STREAM, sensitivity=2.0, width=2.0), PURE, 1.0, "4c")
    assert one.error is not None
    assert two.error == pytest.approx(2 * one.error)
    assert two.updates == one.updates


def test_an_uncertain_number_of_records_is_added_to_thresholds_and_errors() -> None:
    exact, uncertain = (theorem_rules(replace(STREAM, slack=slack), PURE, 1.0, "4c", 30) for slack in (0.0, 500.0))
    assert exact is not None
    assert uncertain is not None
    assert exact.error is not None
    assert uncertain.threshold == exact.threshold + 500.0
    assert uncertain.error == exact.error + 500.0


@pytest.mark.parametrize("variant", ["4b", "4c", "pay-as-you-go"])
def test_a_target_is_met_with_as_little_as_possible(variant: Variant) -> None:
    budget: Budget = APPROXIMATE if variant == "4b" else PURE
    stream = replace(STREAM, records=1e7)
    found = parameters.cheapest_rules(stream, budget, budget.limit, variant, target=0.1)
    assert found.error is not None
    assert 0.0999e7 < found.error <= 0.1e7
    assert found.spending(budget.regime) < 0.5 * budget.limit
    slightly_less = best_rules(stream, budget, 0.99 * found.spending(budget.regime), variant)
    assert slightly_less.error is not None
    assert slightly_less.error > found.error


def test_a_target_out_of_reach_names_the_records_that_it_needs() -> None:
    with pytest.raises(ConfigError, match="48,842 records") as caught:
        parameters.cheapest_rules(replace(STREAM, records=48_842.0), PURE, 1.0, "4c", target=0.1)
    assert "1.2e+06 records" in caught.value.remedy


def test_variants_refuse_budgets_that_cannot_pay_for_them() -> None:
    for variant, budget, word in (("4a", ZCDP(0.1), "epsilon"), ("4b", PURE, "Gaussian")):
        with pytest.raises(ConfigError, match=word):
            OnlinePMW(variant=variant).variant_for(budget)
    assert OnlinePMW().variant_for(PURE) == "4c"
    assert OnlinePMW().variant_for(APPROXIMATE) == OnlinePMW().variant_for(ZCDP(1.0)) == "4c"
    assert OnlinePMW().variant_for(GDP(1.0)) == "4b"


def test_the_theorem_is_taken_only_where_it_is_asked_for() -> None:
    for records in (48_842.0, 1e7):
        stream = replace(STREAM, records=records)
        assert OnlinePMW().rules(stream, PURE, 1.0).error is None
        assert OnlinePMW(step="residual").rules(stream, PURE, 1.0).error is None
        assert OnlinePMW(step="theorem").rules(stream, PURE, 1.0) == best_rules(stream, PURE, 1.0, "4c")
    assert OnlinePMW(alpha=0.1).rules(stream, PURE, 1.0).error is not None


@pytest.mark.parametrize("records", [5_000.0, 48_842.0, 1e6])
def test_more_budget_or_records_mean_a_lower_threshold(records: float) -> None:
    stream = replace(STREAM, records=records)
    shares = [OnlinePMW().rules(stream, PURE, amount).threshold / records for amount in (0.1, 1.0, 10.0, 100.0)]
    assert shares == sorted(shares, reverse=True)
    more = replace(STREAM, records=4.0 * records)
    assert OnlinePMW().rules(more, PURE, 1.0).threshold / more.records < shares[1]


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
@pytest.mark.parametrize("updates", [None, 7])
def test_practical_rules_spend_the_budget_and_no_more(budget: Budget, updates: int | None) -> None:
    variant: Variant = "4c" if budget.regime is Regime.PURE else "4b"
    rules = practical_rules(
        replace(STREAM, records=48_842.0),
        budget,
        budget.limit,
        variant,
        updates=updates,
        threshold=None,
        answer_share=0.3,
    )
    assert 0.999 * budget.limit < rules.spending(budget.regime) <= budget.limit * (1 + 1e-12)
    assert rules.updates == (updates or rules.updates)
    assert rules.error is None
    assert rules.answer_kind is (NoiseKind.LAPLACE if budget.regime is Regime.PURE else NoiseKind.GAUSSIAN)


@pytest.mark.parametrize(
    "wrong",
    [
        {"variant": "4d"},
        {"queries": 0},
        {"updates": 0},
        {"updates": True},
        {"beta": 1.0},
        {"threshold": 0.0},
        {"alpha": 1.5},
        {"bounds": (1.0, 1.0)},
        {"bounds": (0.0, math.inf)},
        {"step": "sharp"},
        {"alpha": 0.1, "updates": 3},
        {"variant": "4a", "updates": 3},
        {"step": "theorem", "threshold": 0.1},
        {"total_share": 0.0},
        {"answer_share": 1.0},
    ],
)
def test_configurations_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        OnlinePMW(**wrong)  # type: ignore[arg-type]


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("warm", [False, True])
def test_a_plan_names_the_rules_that_a_session_will_have(relation: str, warm: bool) -> None:
    """With the number of records that the session learns, cold and warm."""
    budget = PureDP(2.0, Neighbours.of(relation))
    config = OnlinePMW(queries=500, bounds=(-1, 1))
    release = MWEM(rounds=1).run(skewed(100_000), Workload.marginals(DOMAIN, 1), PureDP(0.5, Neighbours.of(relation)))
    session = config.start(skewed(100_000), budget, warm=release if warm else None)
    left = PureDP(budget.epsilon - (release.spent if warm else 0.0), Neighbours.of(relation))
    plan = config.plan(DOMAIN, left, session.summary()["total"], warm=warm)
    for name, value in session.rules.to_dict().items():
        is_text = value is None or isinstance(value, str)
        assert plan.facts[name] == (value if is_text else pytest.approx(value, rel=1e-3)), name
    assert plan.fits
    told = dict(plan.lines(100_000))
    assert f"at most {session.rules.updates}," in told["updates"]
    assert all(len(word) <= 8 for word in told)
    answer = session.ask(Parity(DOMAIN, ("a", "b")))
    assert answer.low is not None
    assert answer.high is not None
    half = max(answer.high - answer.value, answer.value - answer.low)
    widest = plan.facts["half_interval_tested" if answer.source == "hypothesis" else "half_interval_answered"]
    assert half <= 1.001 * widest + 2.0


def test_a_plan_says_what_the_theorem_promises() -> None:
    promised = OnlinePMW(queries=100, alpha=0.1).plan(DOMAIN, PureDP(1.0), total=50_000_000)
    assert "by the theorem" in dict(promised.lines(5e7))["bound"]
    assert promised.facts["error"] <= 0.1 * 5e7
    endless = OnlinePMW(variant="pay-as-you-go").plan(DOMAIN, PureDP(1.0), total=1_000)
    assert "any number" in dict(endless.lines(1e3))["queries"]
    assert "none" in dict(endless.lines(1e3))["bound"]


def test_the_source_has_no_scales_for_a_part_of_an_approximate_budget() -> None:
    budget = ApproxDP(1.0, 1e-6)
    with pytest.raises(ConfigError, match=r"only 0\.0001 rho is left"):
        best_rules(STREAM, budget, 1e-4, "4a")
    part = best_rules(STREAM, PureDP(1.0), 0.25, "4a")
    whole = best_rules(STREAM, PureDP(0.25), 0.25, "4a")
    assert part == whole
    for amount in (0.25, 1.0):  # pure accounting has no composition in (epsilon, delta) to lean on
        counted = ApproxDP(1.0, 1e-6, regime=Regime.PURE)
        assert best_rules(STREAM, counted, amount, "4a") == best_rules(STREAM, PureDP(1.0), amount, "4a")


def test_the_source_s_variant_meets_a_target_with_the_whole_epsilon() -> None:
    stream = replace(STREAM, records=1e10)
    assert parameters.cheapest_rules(stream, PURE, 1.0, "4a", target=0.2) == best_rules(stream, PURE, 1.0, "4a")


def test_no_number_of_records_is_needed_below_one() -> None:
    assert required_records(STREAM, PureDP(1e3), 1e3, "4c", target=1.0) < 1e5
    with pytest.raises(ConfigError, match="its theorem"):
        practical_rules(STREAM, PURE, 1.0, "4a", updates=3, threshold=None, answer_share=0.5)


def test_a_target_that_no_number_of_records_reaches_is_refused_without_one() -> None:
    budget = PureDP(1.0)
    assert required_records(STREAM, budget, 1.0, "4c", target=1e-30) == math.inf
    with pytest.raises(ConfigError) as caught:
        parameters.cheapest_rules(STREAM, budget, 1.0, "4c", target=1e-30)
    assert caught.value.remedy == "aim higher than 1e-30; without a target the session does what it can"


def test_no_target_makes_the_search_walk_through_all_numbers_of_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 10^17 records more updates are better without end; the search looks at no more than 2^24."""
    asked: list[int] = []
    rules = parameters.theorem_rules

    def counted(stream: Stream, budget: Budget, amount: float, variant: Variant, updates: int) -> Rules | None:
        asked.append(updates)
        return rules(stream, budget, amount, variant, updates)

    monkeypatch.setattr(parameters, "theorem_rules", counted)
    for target in (1e-30, 1e-300):
        assert required_records(STREAM, ZCDP(0.1), 0.1, "4b", target=target) == math.inf
    assert max(asked) == 2**24
    assert len(asked) < 30_000
