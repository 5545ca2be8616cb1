"""Noisy Fourier coefficients: which are measured, what they give, ledger, exact privacy loss, and the bound."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from hedgerow import FourierMeasurement, IndependentNoise
from hedgerow.algorithms import BETA
from hedgerow.algorithms.independent.fourier import LARGEST_CLOSURE, as_marginals, coefficients, noisy_answers
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Sweeps
from hedgerow.privacy import ZCDP, Budget, PureDP, SeededNoise
from hedgerow.queries import Measurement, Neighbours, NoiseKind, Workload
from hedgerow.release import Release
from tests.algorithms.shared.whole_runs import losses, run_of
from tests.privacy.mutants import Mutant, delta_1_for_parities_under_replace, killed, laplace_scale_off_by_two
from tests.privacy.replay import ReplayNoise, record
from tests.privacy.tables import DenseCounts, binary, neighbours_of
from tests.reference.dense_tables import DenseTables

RELATIONS = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)
ADD_REMOVE, REPLACE = RELATIONS
TRIPLE, FIVE = binary(3), binary(5)
MARGINALS = Workload.marginals(TRIPLE, 2)
MIXED = Workload.parse("marginals:a*b @ 0.5; cells:b; parities:b*c; where: a = 0 and c = 1; prefixes:a", TRIPLE)


# Which coefficients


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("marginals:2", "parities:2"),
        ("cells:3", "parities:3"),
        ("marginals:a*b", "parities:a,b,a*b"),
        ("parities:a*b*c", "parities:a*b*c"),
        ("where: b = 1 and c = 0", "parities:b,c,b*c"),
        ("prefixes:c; marginals:a", "parities:1-2"),
    ],
)
def test_the_coefficients_are_the_downward_closure(text: str, spec: str) -> None:
    expected = (
        Workload.parities(TRIPLE, cliques=[("a",), ("c",)]) if spec == "parities:1-2" else Workload.parse(spec, TRIPLE)
    )
    assert coefficients(Workload.parse(text, TRIPLE)) == expected


def test_unused_attributes_need_not_be_binary() -> None:
    domain = Domain((IntegerRange("a", 0, 1), IntegerRange("age", 0, 99), IntegerRange("b", 0, 1)))
    workload = Workload.marginals(domain, cliques=[("a", "b")])
    data = DenseTables.random(domain, 500, 0)
    release = FourierMeasurement().run(data, workload, PureDP(1e5), noise=SeededNoise(0))
    assert workload.answers(release.model) == pytest.approx(workload.answers(data), abs=0.5)


def test_the_answers_are_a_function_of_the_coefficients() -> None:
    # Two tables with the same coefficients and the same number of records have the same answers, and conversely.
    dense = {name: np.stack([w.answers(DenseCounts(TRIPLE, cell)) for cell in np.eye(8)], axis=1)
             for name, w in (("answers", MIXED), ("parities", coefficients(MIXED)))}  # fmt: skip
    spectrum = np.concatenate([dense["parities"], np.ones((1, 8))])
    projected = dense["answers"] @ np.linalg.pinv(spectrum) @ spectrum
    assert projected == pytest.approx(dense["answers"], abs=1e-12)


# What comes out


@pytest.mark.parametrize("workload", [MARGINALS, MIXED], ids=["marginals", "mixed"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_noisy_answers_are_those_of_a_signed_table_with_the_noisy_coefficients(
    workload: Workload, relation: Neighbours
) -> None:
    data = DenseTables.random(TRIPLE, 90, 1)
    release = FourierMeasurement().run(data, workload, PureDP(1.0, relation), noise=SeededNoise(2))
    measured = {m.target.scope: m.values[0] for m in release.measurements} | {(): release.total}
    signed = np.zeros(8)
    for scope, value in measured.items():
        character = np.ones(())
        for name in "abc":
            character = np.multiply.outer(character, [1.0, -1.0] if name in scope else [1.0, 1.0])
        signed += value * character.reshape(-1) / 8.0
    assert noisy_answers(release) == pytest.approx(workload.answers(DenseTables(TRIPLE, signed.reshape(2, 2, 2))))


def test_noisy_marginals_agree_with_each_other_where_independent_ones_do_not() -> None:
    data = DenseTables.random(TRIPLE, 90, 1)
    raw = noisy_answers(FourierMeasurement().run(data, MARGINALS, PureDP(0.2), noise=SeededNoise(2)))
    ab, ac, bc = raw.reshape(3, 2, 2)
    assert ab.sum(axis=1) == pytest.approx(ac.sum(axis=1))
    assert ab.sum(axis=0) == pytest.approx(bc.sum(axis=1))
    assert raw.min() < 0.0


def test_the_fitted_hypothesis_is_positive_and_nearer() -> None:
    data = DenseCounts(TRIPLE, [60, 0, 0, 0, 0, 0, 0, 20])
    true, errors = MARGINALS.answers(data), np.zeros(2)
    for seed in range(6):
        release = FourierMeasurement().run(data, MARGINALS, PureDP(1.0, REPLACE), noise=SeededNoise(seed))
        fitted = MARGINALS.answers(release.model)
        assert fitted.min() >= 0.0
        errors += [np.abs(answers - true).sum() for answers in (fitted, noisy_answers(release))]
    assert errors[0] < errors[1]


@pytest.mark.parametrize(
    "workload", [MARGINALS, MIXED, Workload.parities(TRIPLE, 3)], ids=["marginals", "mixed", "parities"]
)
def test_large_budgets_find_the_table(workload: Workload) -> None:
    data = DenseCounts(TRIPLE, [40, 3, 9, 22, 9, 1, 5, 20])
    release = FourierMeasurement().run(data, workload, PureDP(1e5), noise=SeededNoise(0))
    assert noisy_answers(release) == pytest.approx(workload.answers(data), abs=1e-6)
    assert workload.answers(release.model) == pytest.approx(workload.answers(data), abs=0.5)


def test_fits_see_the_largest_marginals_whose_coefficients_are_known() -> None:
    workload = Workload.parse("marginals:a*b,b*c,c; parities:a*c,a*b*c", TRIPLE)
    data = DenseTables.random(TRIPLE, 90, 1)
    release = FourierMeasurement().run(data, workload, PureDP(1.0, REPLACE), noise=SeededNoise(2))
    told = as_marginals(TRIPLE, release.measurements, release.total)
    # All seven parities are measured, so that they determine the whole table; without the last one, three marginals.
    assert [each.target.text for each in told] == ["a * b * c"]
    assert told[0].values.sum() == pytest.approx(90.0)
    fewer = as_marginals(TRIPLE, release.measurements[:-1], release.total)
    assert [each.target.text for each in fewer] == ["a * b", "a * c", "b * c"]
    alone = as_marginals(TRIPLE, [m for m in release.measurements if m.target.scope != ("b",)], release.total)
    assert [each.target.text for each in alone] == ["parity(a, b, c)", "parity(a, b)", "a * c", "parity(b, c)"]


def test_a_parity_of_many_attributes_stays_a_parity() -> None:
    domain = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(20))
    workload = Workload.parities(domain, cliques=[domain.names, domain.names[:1]])
    told = as_marginals(domain, [_noiseless(workload, index) for index in range(2)], 10.0)
    assert [each.target.size for each in told] == [1, 2]


def _noiseless(workload: Workload, index: int) -> Measurement:
    return Measurement(workload.candidate(index), np.array([3.0]), NoiseKind.GAUSSIAN, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NoiseKind)
def test_the_noise_of_cells_made_of_coefficients_is_told_as_it_is(kind: NoiseKind) -> None:
    # Variance of 400 runs of 4 uncorrelated cells, within 15%: 4 standard deviations for the heavier Laplace tails.
    workload, data = Workload.marginals(binary(2), 2), DenseCounts(binary(2), [40, 30, 20, 10])
    config, squares = FourierMeasurement(noise=kind, fit=None), []
    for seed in range(400):
        release = config.run(data, workload, ZCDP(0.05), noise=SeededNoise(seed))
        (told,) = as_marginals(workload.domain, release.measurements, release.total)
        squares.append((told.values - [40, 30, 20, 10]) ** 2)
    assert np.mean(squares) == pytest.approx(told.std**2, rel=0.15)


def test_fitted_answers_are_nearer_than_raw_ones_on_many_marginals() -> None:
    domain = binary(8)
    workload, data = Workload.marginals(domain, 3), DenseTables.random(domain, 3000, 0)
    release = FourierMeasurement().run(data, workload, ZCDP(0.005), noise=SeededNoise(0))
    true = workload.answers(data)
    fitted, raw = (float(((x - true) ** 2).mean()) for x in (workload.answers(release.model), noisy_answers(release)))
    assert fitted < raw


def test_without_a_fit_the_budget_goes_to_the_coefficients() -> None:
    data = DenseCounts(TRIPLE, [4] * 8)
    release = FourierMeasurement(fit=None).run(data, MARGINALS, PureDP(1.0, REPLACE), noise=SeededNoise(0))
    assert release.error is None
    assert math.fsum(event.charge for event in release.events if event.label == "measure") == pytest.approx(1.0)


def test_a_release_is_saved_with_its_coefficients(tmp_path: Any) -> None:
    release = FourierMeasurement().run(DenseCounts(TRIPLE, [4] * 8), MIXED, PureDP(1.0), noise=SeededNoise(0))
    release.save(tmp_path / "r.hedgerow")
    assert np.array_equal(noisy_answers(Release.load(tmp_path / "r.hedgerow")), noisy_answers(release))


def test_progress_is_told_after_every_coefficient() -> None:
    told: list[Any] = []
    FourierMeasurement().run(
        DenseCounts(TRIPLE, [4] * 8), MARGINALS, PureDP(1.0), noise=SeededNoise(0), progress=told.append
    )
    assert [report.chosen for report in told][:4] == ["parity(a)", "parity(b)", "parity(c)", "parity(a, b)"]
    assert len(told) == 6


# Privacy

VARIANTS = {
    "marginals": (FourierMeasurement(), MARGINALS),
    "mixed": (FourierMeasurement(fit=Sweeps(2)), MIXED),
    "not fitted": (FourierMeasurement(fit=None), MARGINALS),
    "one attribute": (FourierMeasurement(error_share=0.0), Workload.marginals(binary(1), 1)),
}


def no_transcript_loses_more(name: str, relation: Neighbours, seeds: range, *, least: float = 0.0) -> None:
    config, workload = VARIANTS[name]
    for epsilon in (0.5, 4.0):
        worst = max(abs(loss) for loss in losses(config, workload, PureDP(epsilon, relation), seeds))
        assert least * epsilon < worst <= epsilon + 1e-9


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon(name: str, relation: Neighbours) -> None:
    no_transcript_loses_more(name, relation, range(1))


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_worst_case_comes_near_epsilon(relation: Neighbours) -> None:
    no_transcript_loses_more("one attribute", relation, range(10), least=0.5)


@pytest.mark.audit
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", VARIANTS)
def test_no_transcript_loses_more_than_epsilon_at_length(name: str, relation: Neighbours) -> None:
    no_transcript_loses_more(name, relation, range(20))


def test_the_release_is_a_function_of_the_noisy_values() -> None:
    config, workload = VARIANTS["marginals"]
    source = DenseCounts(TRIPLE, [3, 0, 1, 0, 0, 1, 2, 0])
    transcript = record(run_of(config, workload, PureDP(1.0)), source)
    shown = []
    for table in (source, *neighbours_of(source, ADD_REMOVE)):
        release = config.run(table, workload, PureDP(1.0), noise=ReplayNoise(transcript))
        shown.append((noisy_answers(release).tolist(), release.model.marginals([TRIPLE.names])[0].tolist()))
    assert all(each == shown[0] for each in shown)


def one_attribute_under_replace() -> None:
    no_transcript_loses_more("one attribute", REPLACE, range(6))


MUTANTS = (
    Mutant("Delta 1 for parities under replace", delta_1_for_parities_under_replace, one_attribute_under_replace),
    Mutant("half the Laplace noise", laplace_scale_off_by_two, one_attribute_under_replace),
)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_is_killed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)


# Ledger


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", [PureDP, ZCDP])
def test_all_coefficients_cost_the_same(budget: Any, relation: Neighbours) -> None:
    release = FourierMeasurement().run(
        DenseCounts(TRIPLE, [4] * 8), MARGINALS, budget(0.7, relation), noise=SeededNoise(0)
    )
    paid = [event for event in release.events if event.label in ("measure", "total") and event.charge > 0.0]
    if relation is REPLACE:  # the number of records is public, and four of the six parities move together, by 2 each
        (event,) = paid
        charge, scale = 0.97 * 0.7, 8.0 / (0.97 * 0.7) if budget is PureDP else 4.0 / math.sqrt(2.0 * 0.97 * 0.7)
        assert (event.values, event.charge) == (6, pytest.approx(charge, rel=1e-12))
    else:  # it is a coefficient too
        each = 0.97 * 0.7 / 7
        scale = 1.0 / each if budget is PureDP else 1.0 / math.sqrt(2.0 * each)
        assert [event.charge for event in paid] == pytest.approx([each] * 7, rel=1e-12)
    assert [event.scale for event in paid] == pytest.approx([scale] * len(paid), rel=1e-9)
    assert release.spent == pytest.approx(0.7, rel=1e-12)
    assert release.spent <= 0.7


# Accuracy

BUDGETS: tuple[Budget, ...] = (PureDP(1.0, REPLACE), ZCDP(0.05, ADD_REMOVE), ZCDP(0.05, REPLACE))


def failures(config: FourierMeasurement, budget: Budget, runs: int, *, factor: float = 1.0) -> tuple[int, int]:
    """In how many of the runs a cell, and a coefficient, passes ``factor`` times the bound."""
    workload, count, loud = Workload.marginals(FIVE, 3), 0, 0
    bound = factor * config.plan(workload, budget, total=500).facts["bound"]
    parities = coefficients(workload)
    for seed in range(runs):
        data = DenseTables.random(FIVE, 500, seed)
        release = config.run(data, workload, budget, noise=SeededNoise(seed))
        count += np.abs(noisy_answers(release) - workload.answers(data)).max() > bound
        values = np.concatenate([measured.values for measured in release.measurements])
        loud += np.abs(values - parities.answers(data)).max() > bound
    return count, loud


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "add-remove", "zcdp"])
def test_the_bound_holds(budget: Budget) -> None:
    cells, values = failures(FourierMeasurement(fit=Sweeps(1)), budget, 20)
    assert max(cells, values) <= int(binom.isf(1e-6, 20, BETA))


@pytest.mark.audit
@pytest.mark.parametrize("kind", [None, NoiseKind.LAPLACE])
@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "add-remove", "zcdp"])
def test_the_bound_holds_at_length(budget: Budget, kind: NoiseKind | None) -> None:
    config, allowed = FourierMeasurement(noise=kind, fit=Sweeps(1)), int(binom.isf(1e-6, 200, BETA))
    assert max(failures(config, budget, 200)) <= allowed
    assert failures(config, budget, 200, factor=0.6)[1] > allowed  # for the coefficients it is nearly attained


def test_many_overlapping_marginals_are_cheaper_by_coefficients() -> None:
    # 56 three-way marginals share 92 coefficients and the number of records. A cell is the mean of 8 of these, so its
    # variance is 93 / 8 units of 1 / (2 rho); independent noise on whole marginals has 56 units, on single cells 448.
    workload, budget = Workload.marginals(binary(8), 3), ZCDP(0.1)
    fourier = FourierMeasurement(error_share=0.0).plan(workload, budget, 1.0).facts
    single, whole = (
        IndependentNoise(by=by, error_share=0.0, total_share=1e-9).plan(workload, budget, 1.0).facts
        for by in ("query", "candidate")
    )
    assert (fourier["measured"], single["measured"], whole["measured"]) == (92, 448, 56)
    unit = 1.0 / (2.0 * 0.1)
    variances = [facts["scale"] ** 2 / unit for facts in (fourier, single, whole)]
    assert variances == pytest.approx([93.0, 448.0, 56.0], rel=1e-6)


def test_a_plan_says_where_noise_drowns_the_records() -> None:
    bounds = [
        dict(FourierMeasurement().plan(Workload.marginals(binary(6), 2), PureDP(1.0), n).lines(n))["bound"]
        for n in (10, 1_000_000)
    ]
    assert ["says nothing" in bound for bound in bounds] == [True, False]


# Refusals


def test_attributes_with_more_values_are_refused_by_name() -> None:
    domain = Domain((IntegerRange("a", 0, 1), IntegerRange("age", 0, 9)))
    with pytest.raises(ConfigError, match=r"'age' has 10\n.*two bins.*mwem"):
        FourierMeasurement().check(Workload.marginals(domain, 2), PureDP(1.0).regime)
    with pytest.raises(ConfigError, match="'age' has 10"):
        FourierMeasurement().plan(Workload.marginals(domain, 1), PureDP(1.0), 1.0)


def test_too_many_coefficients_are_refused() -> None:
    wide = Domain(IntegerRange(f"x{i}", 0, 1) for i in range(25))
    with pytest.raises(ConfigError, match=r"2\^20 Fourier coefficients"):
        coefficients(Workload.marginals(wide, cliques=[wide.names[:20]]))
    many = [wide.names[i : i + 17] for i in range(9)]
    assert LARGEST_CLOSURE > 2**17
    with pytest.raises(ConfigError, match=f"more than {LARGEST_CLOSURE:,}"):
        coefficients(Workload.marginals(wide, cliques=many))


def test_a_workload_without_attributes_is_refused() -> None:
    with pytest.raises(ConfigError, match="number of records alone"):
        coefficients(
            Workload.conjunctions(TRIPLE, [Workload.conjunctions(TRIPLE, ["a = 0"]).candidate(0).where(TRIPLE, {})])
        )  # type: ignore[attr-defined]


def test_gaussian_noise_under_a_pure_budget_is_refused() -> None:
    config = FourierMeasurement(noise=NoiseKind.GAUSSIAN)
    with pytest.raises(ConfigError, match="not purely private"):
        config.check(MARGINALS, PureDP(1.0).regime)
    with pytest.raises(ConfigError, match="not purely private"):
        config.plan(MARGINALS, PureDP(1.0), 1.0)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_senseless_shares_are_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="Remedy"):
        FourierMeasurement(error_share=share)


def test_other_releases_have_no_coefficients() -> None:
    release = IndependentNoise().run(DenseCounts(TRIPLE, [1] * 8), MARGINALS, PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(ConfigError, match="IndependentNoise does not hold a noisy answer"):
        noisy_answers(release)


def test_every_subset_of_a_scope_is_measured() -> None:
    found = set(coefficients(Workload.marginals(FIVE, 3)).scopes)
    assert found == {clique for size in (1, 2, 3) for clique in combinations("abcde", size)}
