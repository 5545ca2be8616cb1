"""MWEM: configuration, charges, invariants of theory.md section 2, and what happens when a run does not end well."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hedgerow import MWEM
from hedgerow.algorithms import (
    MWEMRun,
    RoundCharge,
    RoundReport,
    automatic_rounds,
    candidates_of,
    expected_noise,
    planned_rounds,
)
from hedgerow.algorithms.mwem.mwem import LARGEST_START
from hedgerow.algorithms.mwem.plan import caveats
from hedgerow.algorithms.mwem.settings import round_charge
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange, impossible
from hedgerow.errors import CandidatesTooLargeError, ConfigError, ModelTooLargeError
from hedgerow.models import LARGEST_TREE, Proximal, Sweeps
from hedgerow.privacy import ZCDP, ApproxDP, Budget, Curator, PureDP, SeededNoise, noise_of
from hedgerow.queries import Neighbours, NoiseKind, Workload
from tests.reference.dense_tables import DenseTables

DOMAIN = Domain((IntegerRange("a", 0, 2), IntegerRange("b", 0, 1), IntegerRange("c", 0, 3)))
DATA = DenseTables.random(DOMAIN, 2000, seed=1)
CELLS = Workload.marginals(DOMAIN, 2, whole=False)
WHOLE = Workload.marginals(DOMAIN, 2)
BINARY = Domain(IntegerRange(name, 0, 1) for name in "abcd")
PARITIES = Workload.parities(BINARY, 3)
PAPER = MWEM(rounds=4, refit=None, output="average", offsets=False, repeats=True, error_share=0.0)
REPLACE, ADD_REMOVE = Neighbours.REPLACE, Neighbours.ADD_REMOVE
BUDGETS: tuple[Budget, ...] = (
    PureDP(1.0, REPLACE),
    PureDP(1.0),
    ZCDP(0.1, REPLACE),
    ZCDP(0.1),
    ApproxDP(1.0, 1e-6),
)
CONFIGS = {
    "paper": PAPER,
    "default": MWEM(),
    "sweeps": MWEM(rounds=3, refit=Sweeps(5)),
    "sharp": MWEM(rounds=5, refit=None, step="sharp"),
    "histogram": MWEM(rounds=3, initial="histogram"),
    "one-way": MWEM(rounds=3, initial="one-way"),
    "bound": MWEM(rounds="bound", refit=None),
    "adaptive": MWEM(rounds="adaptive"),
    "every candidate": MWEM(rounds=CELLS.n_candidates),
    "Laplace": MWEM(rounds=3, noise=NoiseKind.LAPLACE),
    "averaged fits": MWEM(rounds=3, output="average"),
}


def curator(budget: Budget, seed: int = 0, data: DenseTables = DATA) -> Curator:
    return Curator(data, budget, noise=SeededNoise(seed))


# ---- charges ---------------------------------------------------------------------------------------------------------


@pytest.mark.many(quick=28)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: f"{type(budget).__name__} {budget.neighbours}")
@pytest.mark.parametrize("name", CONFIGS)
def test_the_whole_budget_is_spent_and_no_more(name: str, budget: Budget) -> None:
    release = CONFIGS[name].run(DATA, CELLS, budget, noise=SeededNoise(3))
    spent = math.fsum(event.charge for event in release.events)
    assert release.budget.approximate(1e-9) == budget.approximate(1e-9)
    assert spent <= release.budget.limit
    assert spent == pytest.approx(release.budget.limit, rel=1e-9)


def test_pure_parameters_are_those_of_the_paper() -> None:
    # replace, T = 4: eps_s = eps / 2T and Laplace scale 2 T Delta_1 / eps; parities have Delta_1 = 2
    data = DenseTables.random(BINARY, 300, seed=2)
    release = PAPER.run(data, PARITIES, PureDP(1.0, REPLACE), noise=SeededNoise(0))
    selections = [event for event in release.events if event.label == "select"]
    measurements = [event for event in release.events if event.label == "measure"]
    assert [event.charge for event in selections] == pytest.approx([1 / 8] * 4)
    assert [event.scale for event in measurements] == pytest.approx([2 * 4 * 2.0] * 4)


def test_zcdp_parameters_are_those_of_the_theory() -> None:
    # T (M(eps_s) + Delta_2**2 / (2 sigma**2)) = rho; M <= eps_s**2 / 8 would give eps_s = 2 sqrt(rho / T)
    release = PAPER.run(DATA, WHOLE, ZCDP(0.1, REPLACE), noise=SeededNoise(0))
    selections = [event for event in release.events if event.label == "select"]
    measurements = [event for event in release.events if event.label == "measure"]
    epsilon = [2 * event.sensitivity / event.scale for event in selections]
    y = epsilon[0] / 2
    assert y / math.tanh(y) - 1 + math.log(math.sinh(y) / y) == pytest.approx(0.1 / 8, rel=1e-9)
    assert epsilon == pytest.approx([2 * math.sqrt(0.1 / 4)] * 4, rel=1e-3)
    assert [event.scale for event in measurements] == pytest.approx([math.sqrt(2) * math.sqrt(4 / 0.1)] * 4)


def test_shares_go_where_they_are_meant_to() -> None:
    config = MWEM(
        rounds=2, initial="one-way", total_share=0.1, initial_share=0.2, error_share=0.3, selection_share=0.25
    )
    events = config.run(DATA, WHOLE, PureDP(1.0), noise=SeededNoise(0)).events
    by_label: dict[str, float] = {}
    for event in events:
        by_label[event.label] = by_label.get(event.label, 0.0) + event.charge
    assert by_label["total"] == pytest.approx(0.1)
    assert by_label["select"] == pytest.approx(0.25 * 0.4)
    assert by_label["measure"] == pytest.approx(0.2 + 0.75 * 0.4)
    assert 1.0 - sum(by_label[label] for label in ("total", "select", "measure")) == pytest.approx(0.3)


def test_replace_pays_nothing_for_the_number_of_records() -> None:
    release = PAPER.run(DATA, CELLS, PureDP(1.0, REPLACE), noise=SeededNoise(0))
    assert release.total == 2000
    assert release.events[0].charge == 0.0


def test_every_candidate_needs_no_selection() -> None:
    release = MWEM(rounds=WHOLE.n_candidates).run(DATA, WHOLE, PureDP(1.0), noise=SeededNoise(0))
    assert not [event for event in release.events if event.label == "select"]
    assert [measured.target.text for measured in release.measurements] == [
        WHOLE.candidate(k).text for k in range(WHOLE.n_candidates)
    ]


def test_the_noise_that_offsets_and_plans_expect_is_the_curators() -> None:
    workload = Workload.marginals(BINARY, 2).weighted(0.5) + PARITIES + Workload.prefixes(BINARY, "a")
    for budget in BUDGETS:
        for kind in (None, NoiseKind.LAPLACE):
            keeper = curator(budget, data=DenseTables.random(BINARY, 9, seed=0))
            expected = expected_noise(workload, budget, 0.01, kind)
            for k in range(workload.n_candidates):
                target = workload.candidate(k)
                assert noise_of(target, budget, 0.01, kind) == keeper.noise_for(target, 0.01, kind)
                assert expected[k] == pytest.approx(target.size * keeper.noise_for(target, 0.01, kind).expected_abs)


# ---- invariants of a run ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_the_hypothesis_keeps_its_mass(name: str) -> None:
    release = CONFIGS[name].run(DATA, CELLS, PureDP(1.0), noise=SeededNoise(4))
    cells = release.model.marginals([DOMAIN.names])[0]
    assert release.model.total == release.total
    assert cells.sum() == pytest.approx(release.total)
    assert cells.min() > 0


def test_a_plan_with_single_steps_is_cheaper_than_with_sweeps() -> None:
    steps, sweeps = (MWEM(rounds=3, refit=rule).plan(CELLS, PureDP(1.0), 2000) for rule in (None, Sweeps(100)))
    assert 0 < steps.seconds < sweeps.seconds


def test_a_candidate_is_measured_once() -> None:
    release = MWEM(rounds=WHOLE.n_candidates - 1).run(DATA, WHOLE, PureDP(0.1), noise=SeededNoise(5))
    texts = [measured.target.text for measured in release.measurements]
    assert len(set(texts)) == len(texts)


def divergence(data: DenseTables, session: MWEMRun) -> float:
    b = data.cells.reshape(-1) / data.total()
    p = session.model.marginals([data.domain.names])[0].reshape(-1) / session.total
    return float(np.sum(b[b > 0] * np.log(b[b > 0] / p[b > 0])))


@pytest.mark.parametrize("workload", [CELLS, WHOLE], ids=["cells", "marginals"])
@pytest.mark.parametrize(("step", "factor"), [("source", 0.25), ("sharp", 1.0)])
def test_the_potential_falls_by_error_minus_noise(workload: Workload, step: Any, factor: float) -> None:
    # (e**2 - nu**2) / 4 for the source step, and at least e**2 - nu**2 for the sharp one; after clipping
    factor = 2.0 if step == "sharp" and workload is CELLS else factor
    for seed in range(8):
        config = replace(PAPER, step=step, rounds=6, output="last")
        session = MWEMRun(config, curator(PureDP(2.0, REPLACE), seed), workload, None)
        session.start()
        for _ in range(6):
            before, start = workload.answers(session.model), divergence(DATA, session)
            charge = RoundCharge.split(0.3, 0.5)
            session._round(charge, session._eligible(charge))
            target, noisy = session.learner.measurements[-1].target, session.learner.measurements[-1].values
            exact = target.of_table(DATA.marginals([target.scope])[0])
            noise = (np.clip(noisy, 0, 2000) - exact) / 2000
            k = next(k for k in range(workload.n_candidates) if workload.candidate(k).text == target.text)
            entries = slice(workload.starts[k], workload.starts[k] + workload.lengths[k])
            error = (exact - before[entries]) / 2000
            fallen = start - divergence(DATA, session)
            assert fallen >= factor * float(error @ error - noise @ noise) - 1e-12


def test_equal_seeds_give_equal_releases() -> None:
    first, second = (MWEM(rounds=3).run(DATA, CELLS, PureDP(1.0), noise=SeededNoise(8)) for _ in range(2))
    names = [DOMAIN.names]
    assert np.array_equal(first.model.marginals(names)[0], second.model.marginals(names)[0])
    assert first.error == second.error


def test_a_generous_budget_gives_the_workload_back() -> None:
    for workload, most in ((WHOLE, 0.002), (CELLS, 0.01)):
        release = MWEM().run(DATA, workload, PureDP(1e4), noise=SeededNoise(6))
        errors = np.abs(workload.answers(release.model) - workload.answers(DATA)) / 2000
        assert errors.max() < most


def test_a_histogram_start_keeps_every_cell_alive() -> None:
    config = MWEM(rounds=1, initial="histogram", initial_share=0.5, refit=None, uniform_share=0.1, clip=False)
    release = config.run(DATA, CELLS, PureDP(1e3), noise=SeededNoise(2))
    cells = release.model.marginals([DOMAIN.names])[0]
    assert cells == pytest.approx(0.9 * DATA.cells + 0.1 * 2000 / 24, abs=30)
    assert cells.min() > 0.05 * 2000 / 24
    assert release.measurements[0].target.scope == DOMAIN.names


def test_an_adaptive_run_doubles_its_charges_and_spends_all() -> None:
    release = MWEM(rounds="adaptive").run(DATA, WHOLE, PureDP(5.0), noise=SeededNoise(1))
    charges = [event.charge for event in release.events if event.label == "measure"]
    ratios = [later / earlier for earlier, later in pairwise(charges)]
    assert all(math.log2(ratio) == pytest.approx(round(math.log2(ratio)), abs=1e-6) for ratio in ratios[:-1])
    assert max(charges) > 1.9 * min(charges)
    assert 0.99 < ratios[-1] < 4.01  # the last round takes what is left
    assert sum(event.charge for event in release.events) == pytest.approx(5.0)


def test_the_error_of_the_release_is_measured() -> None:
    release = MWEM(error_share=0.2).run(DATA, WHOLE, PureDP(50.0), noise=SeededNoise(0))
    exact = WHOLE.candidate_errors(WHOLE.answers(release.model) - WHOLE.answers(DATA))
    assert release.error is not None
    assert release.error.mean == pytest.approx(exact.mean(), abs=3)
    assert MWEM(error_share=0.0).run(DATA, WHOLE, PureDP(50.0), noise=SeededNoise(0)).error is None


def test_permute_and_flip_runs_in_pure_budgets() -> None:
    release = MWEM(rounds=2, law="permute-and-flip").run(DATA, CELLS, PureDP(1.0), noise=SeededNoise(0))
    assert any("flip" in event.mechanism for event in release.events)


# ---- rounds ----------------------------------------------------------------------------------------------------------


def test_rounds_follow_public_quantities() -> None:
    few, many = (automatic_rounds(MWEM(), CELLS, PureDP(epsilon), epsilon, 2000.0) for epsilon in (0.01, 10.0))
    assert 1 <= few < many <= CELLS.n_candidates
    assert automatic_rounds(MWEM(), WHOLE, PureDP(10.0), 10.0, 2000.0) == WHOLE.n_candidates
    assert planned_rounds(MWEM(rounds="adaptive"), WHOLE, PureDP(1.0), 1.0, 2000.0) is None


def test_rounds_by_bound_never_pass_the_number_of_candidates() -> None:
    assert planned_rounds(MWEM(rounds="bound"), WHOLE, PureDP(1e6), 1e6, 1e6) == WHOLE.n_candidates


def test_selection_costs_nothing_only_if_every_candidate_is_measured() -> None:
    assert round_charge(MWEM(), WHOLE, 1.0, WHOLE.n_candidates).selection == 0.0
    assert round_charge(MWEM(repeats=True), WHOLE, 1.0, WHOLE.n_candidates).selection > 0.0
    assert round_charge(MWEM(), WHOLE, 1.0, WHOLE.n_candidates - 1).selection > 0.0


# ---- refusals and interruptions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"rounds": True},
        {"rounds": "many"},
        {"step": "huge"},
        {"output": "best"},
        {"initial": "true"},
        {"law": "max"},
        {"selection_share": 1.0},
        {"selection_share": 0.0},
        {"total_share": 0.0},
        {"error_share": -0.1},
        {"uniform_share": 0.0},
        {"initial": "histogram", "initial_share": 0.97},
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        MWEM(**wrong)


LARGE = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(21))


@pytest.mark.parametrize(
    ("config", "workload", "budget", "message"),
    [
        (MWEM(rounds=4), WHOLE, PureDP(1.0), "4 rounds are too many"),
        (MWEM(law="permute-and-flip"), CELLS, ZCDP(0.1), "permute-and-flip"),
        (MWEM(noise=NoiseKind.GAUSSIAN), CELLS, PureDP(1.0), "not purely private"),
        (MWEM(initial="histogram"), Workload.marginals(LARGE, 1), PureDP(1.0), "noise alone"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_spent(
    config: MWEM, workload: Workload, budget: Budget, message: str
) -> None:
    data = DATA if workload.domain == DOMAIN else DenseTables(LARGE, np.zeros(1))
    keeper = Curator(data, budget, noise=SeededNoise(0))
    with pytest.raises(ConfigError, match=message):
        config.run_with(keeper, workload)
    assert keeper.ledger.events == ()


def test_a_workload_over_another_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match="another domain"):
        MWEM().run(DATA, PARITIES, PureDP(1.0))


def test_a_domain_too_large_for_memory_is_refused_before_anything_is_spent() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 59) for i in range(8))
    keeper = Curator(DenseTables(domain, np.zeros(1)), PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(ModelTooLargeError):
        MWEM(output="average").run_with(keeper, Workload.marginals(domain, 1))
    with pytest.raises(
        CandidatesTooLargeError, match="nothing of the workload can be measured: the least, x0 "
    ) as found:
        MWEM().run_with(keeper, Workload.marginals(domain, cliques=[domain.names[:4]]))
    assert keeper.ledger.events == ()
    assert (found.value.cells, found.value.largest_cells) == (60**4, LARGEST_TREE)
    assert domain.size > LARGEST_START


def test_an_interrupted_run_leaves_the_ledger_readable() -> None:
    keeper, seen = curator(PureDP(1.0)), []

    def interrupt(report: RoundReport) -> None:
        seen.append(report)
        if report.round == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MWEM(rounds=5).run_with(keeper, CELLS, interrupt)
    assert len(seen) == 2
    assert 0 < keeper.ledger.spent == seen[-1].spent < 1.0


def test_reports_tell_every_round() -> None:
    reports: list[RoundReport] = []
    release = MWEM(rounds=5).run(DATA, CELLS, PureDP(1.0), noise=SeededNoise(0), progress=reports.append)
    assert [report.round for report in reports] == [1, 2, 3, 4, 5]
    assert {report.rounds for report in reports} == {5}
    assert [report.chosen for report in reports] == [measured.target.text for measured in release.measurements]
    assert [report.spent for report in reports] == sorted(report.spent for report in reports)
    assert all(report.limit == 1.0 and report.unit == "epsilon" and report.residual >= 0 for report in reports)


def test_reports_show_the_hypothesis_of_the_round_and_the_last_one_that_of_the_release() -> None:
    shown: list[Floats] = []

    def look(report: RoundReport) -> None:
        assert report.hypothesis is not None
        shown.append(CELLS.answers(report.hypothesis))

    release = MWEM(rounds=5, refit=None).run(DATA, CELLS, PureDP(10.0), noise=SeededNoise(0), progress=look)
    assert len({tuple(answers) for answers in shown}) == 5
    np.testing.assert_allclose(shown[-1], CELLS.answers(release.model), rtol=1e-12)


# ---- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.many(quick=25)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: f"{type(budget).__name__} {budget.neighbours}")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_plan_says_what_a_run_then_does(name: str, budget: Budget) -> None:
    config = CONFIGS[name]
    release = config.run(DATA, CELLS, budget, noise=SeededNoise(3))
    plan = config.plan(CELLS, budget, total=release.total)
    rounds = [event for event in release.events if event.label == "measure"]
    started = len(DOMAIN) if config.initial == "one-way" else 0
    assert plan.adaptive == (config.rounds == "adaptive")
    assert plan.adaptive or len(rounds) - started == plan.rounds
    fixed = plan.decision is not None and plan.decision.takes_fixed
    first = math.fsum(each.charge for each in rounds) / len(rounds) if fixed else rounds[started].charge
    assert first == pytest.approx(plan.round.measurement)
    charges = plan.charges
    assert charges.total + charges.initial + charges.rounds + charges.error == pytest.approx(release.budget.limit)
    assert plan.fits
    assert plan.seconds > 0
    assert plan.bound.error > 0
    measured = {each.target.text: each.std for each in release.measurements}
    candidates = candidates_of(config, CELLS, None if plan.adaptive else plan.rounds)
    assert [text for text, _ in plan.noise] == [family.spec for family in candidates.families] or fixed
    assert not fixed or all(0.6 * measured[text] < noise < measured[text] for text, noise in plan.noise)


def test_caveats_name_what_the_theorem_does_not_cover() -> None:
    assert caveats(replace(PAPER, rounds=3), adaptive=False) == ()
    found = caveats(MWEM(initial="one-way", clip=False, law="permute-and-flip"), adaptive=True)
    assert len(found) == 8


def test_the_bound_of_a_plan_counts_the_noisy_number_of_records() -> None:
    noisy, public = (PAPER.plan(CELLS, PureDP(1.0, relation), 2000).bound for relation in (ADD_REMOVE, REPLACE))
    assert public.total == 0.0
    assert noisy.total == pytest.approx(2 * math.log(1 / 0.005) / 0.02, rel=0.02)
    assert noisy.failure == public.failure == 0.05


def test_the_parameters_of_a_release_are_plain() -> None:
    parameters = MWEM(noise=NoiseKind.LAPLACE, refit=Proximal()).parameters()
    assert parameters["noise"] == "laplace"
    assert parameters["refit"]["kind"] == "Proximal"
    assert MWEM(refit=None).refit_between is None
    assert MWEM(refit=Sweeps(3)).refit_between == Sweeps(3)
    assert MWEM(quick_fits=False).refit_between == MWEM().refit


# ---- small tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CONFIGS)
def test_an_empty_table_and_a_tiny_budget_are_no_trouble(name: str) -> None:
    empty = DenseTables(DOMAIN, np.zeros(DOMAIN.shape))
    for budget in (PureDP(1e-3), ZCDP(1e-6, REPLACE)):
        release = CONFIGS[name].run(empty, CELLS, budget, noise=SeededNoise(1))
        assert release.total >= 1.0
        assert np.isfinite(release.model.marginals([DOMAIN.names])[0]).all()


def test_a_workload_of_one_query_is_measured_with_the_whole_charge() -> None:
    workload = Workload.conjunctions(DOMAIN, ["a = 1"])
    release = MWEM().run(DATA, workload, PureDP(5.0), noise=SeededNoise(0))
    assert len(release.measurements) == 1
    assert release.measurements[0].scale == pytest.approx(1 / (0.95 * 5.0))
    assert workload.answers(release.model) == pytest.approx(workload.answers(DATA), abs=10)


def test_overlapping_families_are_all_candidates() -> None:
    workload = Workload.marginals(DOMAIN, 2).weighted(0.5) + Workload.prefixes(DOMAIN, "c") + CELLS
    release = MWEM(rounds=8).run(DATA, workload, PureDP(5.0), noise=SeededNoise(0))
    assert len({measured.target.text for measured in release.measurements}) == 8


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"source": {"age": [1]}}, "hedgerow.read_table"),
        ({"workload": "marginals:1"}, "hedgerow.Workload.parse"),
        ({"budget": 1.0}, "hedgerow.PureDP"),
    ],
)
def test_what_is_no_table_workload_or_budget_is_refused_with_what_to_pass(wrong: dict[str, Any], message: str) -> None:
    domain = Domain([IntegerRange("age", 0, 3)])
    source = DenseTables(domain, np.ones(4))
    right = {"source": source, "workload": Workload.marginals(domain, order=1), "budget": PureDP(1.0)}
    with pytest.raises(ConfigError, match=message):
        MWEM().run(**{**right, **wrong})


@pytest.mark.parametrize("seed", range(6))
def test_a_tiny_budget_gives_a_useless_release_but_no_failure(seed: int) -> None:
    domain = Domain([IntegerRange("age", 0, 3)])
    workload = Workload.marginals(domain, order=1)
    release = MWEM().run(DenseTables(domain, np.ones(4)), workload, PureDP(1e-12), noise=SeededNoise(seed))
    assert 1.0 <= release.total < 2**31
    assert release.sample(10).codes.shape == (10, 1)


def test_attributes_that_are_asked_about_at_a_level_are_measured_at_no_finer_one() -> None:
    domain = Domain((IntegerRange("code", 0, 2**20 - 1), *(IntegerRange(f"x{i}", 0, 9) for i in range(5))))
    codes = np.random.default_rng(0).integers(0, 10, (6, 300))
    workload = Workload.parse("marginals:x0*code.65536,x0*x1", domain)
    release = MWEM(rounds="annealed").run(Table(domain, codes), workload, PureDP(1.0), noise=SeededNoise(0))
    measured = {name for each in release.measurements for name in each.target.scope}
    assert measured == {"x0", "x1", "code.65536"}


def test_a_noisy_histogram_holds_no_noise_of_cells_that_no_record_has() -> None:
    free = Domain((IntegerRange("a", 0, 9), IntegerRange("b", 0, 9)))
    domain = Domain(free.attributes, (), [impossible(free, "a > 0 and b > 0")])
    table = Table(domain, np.zeros((2, 1000), dtype=np.int64))
    config = MWEM(rounds=1, initial="histogram", uniform_share=0.2, refit=None)
    run = MWEMRun(config, Curator(table, PureDP(50.0), noise=SeededNoise(0)), Workload.marginals(domain, 2), None)
    run.start()
    (cells,) = run.model.marginals([domain.names])
    there = [(a, b) for a in range(10) for b in range(10) if not (a and b)]
    assert sum(cells[cell] for cell in there) == pytest.approx(run.total)
    assert min(cells[cell] for cell in there) >= 0.2 / 19 * run.total * (1.0 - 1e-9)
