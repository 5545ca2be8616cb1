"""Criteria are tested with noise that is paid for, by a part of the budget that no mechanism can spend."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import GDP, MWEM, ZCDP, ApproxDP, PureDP, Release, SeededNoise, Table, Workload, synthesize
from hedgerow.algorithms import CRITERION
from hedgerow.audit import audit_files
from hedgerow.domain import Categorical, Domain, IntegerRange
from hedgerow.errors import BudgetExceededError, ConfigError, DamagedReleaseError, HedgerowError, ReleaseError
from hedgerow.privacy import TRY, Budget, Curator, Ledger
from hedgerow.queries import Neighbours, Persons
from hedgerow.release import Criteria, Criterion, Verdict, slack_of
from hedgerow.runs import RunSpec
from hedgerow.simulation import simulate_errors
from tests.privacy.mutants import Mutant, killed
from tests.privacy.tables import DenseCounts

RNG = np.random.default_rng(5)
TABLE = pa.table(
    {"sex": RNG.choice(["F", "M"], 8000), "age": RNG.integers(0, 60, 8000), "job": RNG.choice(list("abcd"), 8000)}
)
DOMAIN = Domain([Categorical("sex", ("F", "M")), IntegerRange("age", 0, 59), Categorical("job", tuple("abcd"))])
CRITERIA = [
    {"table": "sex * job", "within": 0.1},
    {"share": "sex = 'F' and age < 30", "within": 0.1},
    {"share": "sex = 'F' or age < 30", "within": 0.00001},
    {"mean": "age", "within": 3},
]
SMALL = Domain([IntegerRange("a", 0, 9), Categorical("b", ("x", "y"))])
BUDGETS = [PureDP(2.0), ZCDP(0.2), GDP(0.8), ApproxDP(2.0, 1e-9), PureDP(2.0, Neighbours.REPLACE)]


class Silence(SeededNoise):
    """No noise at all, so that exact values show."""

    def laplace(self, values: Any, scale: float) -> Any:
        return values

    def gaussian(self, values: Any, sigma: float) -> Any:
        return values


def made(budget: Budget = BUDGETS[0], seed: int = 0, **options: Any) -> Release:
    asked = {"workload": "marginals:1", "require": CRITERIA, **options}
    return synthesize(TABLE, budget=budget, domain=DOMAIN, records=1, seed=seed, **asked).release


def what_is_set_aside_pays_for_verdicts() -> None:
    for budget in BUDGETS:
        try:
            release = made(budget)
        except BudgetExceededError as error:
            raise AssertionError from error
        paying = [event for event in release.events if event.label == CRITERION]
        assert len(release.verdicts) == len(paying) == 4
        share = sum(event.charge for event in paying) / release.budget.limit
        assert 0.0999 < share <= 0.1
        assert release.spent <= release.budget.limit
        assert [verdict.error.noise.scale for verdict in release.verdicts] == [event.scale for event in paying]
        foreseen = Criteria.of(CRITERIA).noise(release.budget, release.budget.limit)
        assert foreseen.scale == pytest.approx(paying[0].scale, rel=1e-6)
        assert [verdict.outcome for verdict in release.verdicts][:2] == ["held", "held"]
        assert release.verdicts[2].outcome != "held"


def exact_values(histogram: Any, criterion: Criterion, relation: Neighbours) -> tuple[float, float]:
    """The figure that noise is added to, against fixed answers, and the sensitivity that it is charged for."""
    curator = Curator(DenseCounts(SMALL, histogram, relation.persons), PureDP(1.0, relation), noise=Silence(0))
    workload = criterion.query(SMALL, 4.3)
    answers = np.linspace(0.1, 2.3, workload.n_queries)
    found = curator.error_of(workload, answers, 0.5)
    (event,) = curator.ledger.events
    assert event.charge * event.scale >= event.sensitivity * (1.0 - 1e-9)
    return found.value, event.sensitivity


def no_record_moves_a_verdict_further_than_is_charged() -> None:
    """All neighbours of small tables, of each kind of criterion."""
    asked = (Criterion("table", "a * b", 0.1), Criterion("share", "a < 3 or b = 'x'", 0.1), Criterion("mean", "a", 1.0))
    start = np.zeros((10, 2))
    start[2, 0], start[7, 1] = 2, 1
    for criterion, relation in itertools.product(asked, (Neighbours.ADD_REMOVE, Neighbours.REPLACE)):
        tables = [start] if relation is Neighbours.ADD_REMOVE else []
        for cell in range(20):
            more = start.copy()
            more.flat[cell] += 1.0
            tables.append(more)
        figures, charged = zip(*(exact_values(table, criterion, relation) for table in tables), strict=True)
        added = [(0, place) for place in range(1, 21)]
        pairs = added if relation is Neighbours.ADD_REMOVE else itertools.combinations(range(20), 2)
        moved = max(abs(figures[first] - figures[second]) for first, second in pairs)
        assert moved <= charged[0] + 1e-9, (criterion, relation, moved, charged[0])


def verdicts_are_drawn_again_each_time() -> None:
    def values(seed: int) -> tuple[float, ...]:
        curator = Curator(Table(SMALL, [[3, 4], [0, 1]]), PureDP(1.0), noise=SeededNoise(seed))
        workload = Criterion("table", "a", 0.1).query(SMALL)
        return tuple(curator.error_of(workload, np.zeros(10), 0.01).value for _ in range(2))

    drawn = {value for seed in range(8) for value in values(seed)}
    assert len(drawn) > 12


def rounding_is_within_the_slack() -> None:
    for criterion in (Criterion("table", "a * b", 0.1), Criterion("share", "a < 3", 0.1), Criterion("mean", "a", 1.0)):
        records = [np.arange(1000) % 10, np.arange(1000) % 2]
        curator = Curator(Table(SMALL, records), PureDP(1.0), noise=Silence(0))
        workload = criterion.query(SMALL, 4.3)
        answers = workload.answers(Table(SMALL, records)) + np.linspace(0.00048, 0.3337, workload.n_queries)
        found = curator.error_of(workload, answers, 0.5)
        true = np.abs(workload.answers(Table(SMALL, records)) - answers).sum() / found.unit
        assert abs(found.value - true) <= slack_of(workload, 1000.0, found.unit)
        assert slack_of(workload, 1000.0, found.unit) < 0.05


def test_criteria_are_paid_for_and_hold_what_they_say(tmp_path: Path) -> None:
    what_is_set_aside_pays_for_verdicts()
    no_record_moves_a_verdict_further_than_is_charged()
    verdicts_are_drawn_again_each_time()
    rounding_is_within_the_slack()
    release = made()
    release.save(tmp_path / "a.release")
    assert Release.load(tmp_path / "a.release").verdicts == release.verdicts
    (audit,) = audit_files([tmp_path / "a.release"]).files
    assert {each.check: each.severity.value for each in audit.findings}["criteria"] == "holds"
    assert simulate_errors(release, 2, seed=1).runs == 2


def forged_criteria_are_found(folder: Path) -> None:
    release = made()
    first, *others = release.verdicts
    cheap = replace(first, error=replace(first.error, noise=replace(first.error.noise, scale=1.0)))
    coarse = replace(first, error=replace(first.error, noise=replace(first.error.noise, step=1.0)))
    for number, verdicts in enumerate(((cheap, *others), (coarse, *others), tuple(others), (first, first, *others))):
        path = folder / f"{number}.release"
        path.unlink(missing_ok=True)
        replace(release, verdicts=verdicts).save(path)
        (audit,) = audit_files([path]).files
        assert {each.check: each.severity.value for each in audit.findings}["criteria"] == "fails", number


def test_verdicts_that_nobody_paid_for_are_found(tmp_path: Path) -> None:
    forged_criteria_are_found(tmp_path)
    with pytest.raises(DamagedReleaseError):
        Release.load(tmp_path / "0.release")


CONFIGURATIONS = [{"mechanism": "laplace"}, {"mechanism": "mwem", "workload": "marginals:2"}]


def a_release_that_was_chosen_allows_for_the_choice() -> None:
    """A verdict's risk is that of ten runs, and the ledger holds what the choice costs."""
    require = [{"table": "sex * job", "within": 0.1}, {"mean": "age", "within": 3}]
    release = made(require=require, configurations=CONFIGURATIONS)
    (chosen,) = (event for event in release.events if event.label == TRY)
    assert release.spent <= 2.0
    assert chosen.sensitivity + chosen.charge == pytest.approx(2.0)
    tested = sum(event.charge for event in release.events if event.label == CRITERION)
    assert 0.0999 < tested / chosen.sensitivity <= 0.1
    for verdict in release.verdicts:
        one = replace(verdict, tries=1, limit=verdict.error.value + 6.0 * verdict.error.noise.scale)
        ten = replace(one, tries=verdict.tries)
        assert 1.0 - ten.held == pytest.approx(10.0 * (1.0 - one.held), rel=1e-3)
        assert verdict.outcome == "held"


def test_a_release_can_be_chosen_among_configurations(tmp_path: Path) -> None:
    a_release_that_was_chosen_allows_for_the_choice()
    require = [{"table": "sex * job", "within": 0.1}]
    release = made(require=require, configurations={"configurations": CONFIGURATIONS, "tries": 20}, seed=1)
    release.save(tmp_path / "a.release")
    assert Release.load(tmp_path / "a.release").verdicts == release.verdicts
    (audit,) = audit_files([tmp_path / "a.release"]).files
    found = {each.check: each.severity.value for each in audit.findings}
    assert (found["runs"], found["criteria"], found["charges"], found["sum"]) == ("holds",) * 4
    assert simulate_errors(release, 2, seed=1).runs == 2
    replace(release, verdicts=tuple(replace(each, tries=1) for each in release.verdicts)).save(tmp_path / "b.release")
    (audit,) = audit_files([tmp_path / "b.release"]).files
    assert {each.check: each.severity.value for each in audit.findings}["criteria"] == "fails"


def test_nothing_is_released_where_no_run_holds() -> None:
    with pytest.raises(ReleaseError, match="no run held all criteria"):
        made(require=[{"share": "age < 30", "within": 1e-7}], configurations={**_LISTED, "tries": 2})


_LISTED = {"configurations": CONFIGURATIONS}


@pytest.mark.parametrize(
    "wrong",
    [
        {"require": None},
        {"budget": ApproxDP(2.0, 1e-9)},
        {"budget": ZCDP(0.2)},
        {"needs": ["age < 30"]},
        {"mechanism": "laplace"},
        {"configurations": []},
        {"configurations": {**_LISTED, "tries": 1}},
        {"configurations": {**_LISTED, "tries": True}},
        {"configurations": {**_LISTED, "runs": 3}},
        {"configurations": [{"mechanism": "none"}]},
        {"configurations": [{"mechanism": "mwem", "rounds": 3}]},
        {"configurations": [{"mechanism": "mwem", "workload": "marginals:nothing"}]},
        {"configurations": "none.yaml"},
    ],
)
def test_choices_that_cannot_be_made_are_refused_before_anything_is_spent(wrong: dict[str, Any]) -> None:
    with pytest.raises(HedgerowError):
        made(**{"configurations": CONFIGURATIONS, **wrong})


def test_a_wrong_configuration_is_named_by_its_number() -> None:
    with pytest.raises(ConfigError, match=r"configuration 3: .*nothing"):
        made(configurations=[*CONFIGURATIONS, {"mechanism": "nothing"}])


@pytest.mark.parametrize(
    "wrong",
    [
        {"require": [{"table": "sex * no", "within": 0.1}]},
        {"require": [{"mean": "sex", "within": 0.1}]},
        {"require": {"criteria": CRITERIA, "share": 0.99}, "means": ["age by sex"]},
    ],
)
def test_criteria_that_cannot_be_tested_are_refused_before_anything_is_spent(wrong: dict[str, Any]) -> None:
    with pytest.raises(HedgerowError):
        made(**wrong)


def test_a_run_with_criteria_keeps_to_its_budget_without_fixed_steps() -> None:
    spec = RunSpec(DOMAIN, MWEM(rounds=9), ApproxDP(1.0, 1e-9), "marginals:2", positions=0.0)
    assert spec.accounted().budget.fixed is not None
    assert replace(spec, criteria=Criteria.of(CRITERIA)).accounted().budget.fixed is None


def test_a_verdict_of_persons_allows_for_all_their_records() -> None:
    relation = Neighbours.ADD_REMOVE.between(Persons("id", 3))
    _, charged = exact_values(np.ones((10, 2)), Criterion("table", "a", 0.1), relation)
    assert charged >= 3.0


def test_what_is_set_aside_cannot_be_spent() -> None:
    curator = Curator(Table(SMALL, [[3, 4], [0, 1]]), PureDP(1.0), noise=SeededNoise(0))
    workload = Workload.marginals(SMALL, 1)
    with curator.setting_aside(0.25):
        assert curator.ledger.remaining == 0.75
        with pytest.raises(BudgetExceededError):
            curator.measure(workload.candidate(0), 0.8)
    curator.measure(workload.candidate(0), 0.8)
    with pytest.raises(BudgetExceededError), curator.setting_aside(0.25):
        pass
    assert curator.ledger.remaining == pytest.approx(0.2)


def _nothing_aside(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Curator, "setting_aside", lambda *_: nullcontext())


def _spent_by_the_ledger(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Ledger, "set_aside", lambda *_: None)


def _in_counts(patched: pytest.MonkeyPatch) -> None:
    patched.setattr("hedgerow.privacy.exact.scores._ten_bits", np.ones_like)


def _exact(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(Curator, "_perturb", lambda _, units, event, step: units.astype(np.float64) * step)


def _no_slack(patched: pytest.MonkeyPatch) -> None:
    patched.setitem(globals(), "slack_of", lambda *_: 0.0)


def _whole_charge_each(patched: pytest.MonkeyPatch) -> None:
    error_of = Curator.error_of
    patched.setattr(
        Curator, "error_of", lambda self, *given, label: error_of(self, given[0], given[1], given[2] / 4, label=label)
    )


def _as_of_one_run(patched: pytest.MonkeyPatch) -> None:
    shows = Verdict._shows
    patched.setattr(Verdict, "_shows", lambda self, held, sure: shows(replace(self, tries=1), held, sure))


MUTANTS = [
    Mutant("a chosen verdict as of one run", _as_of_one_run, a_release_that_was_chosen_allows_for_the_choice),
    Mutant("nothing is set aside for criteria", _nothing_aside, what_is_set_aside_pays_for_verdicts),
    Mutant("a ledger that spends what is set aside", _spent_by_the_ledger, what_is_set_aside_pays_for_verdicts),
    Mutant("criteria that use a quarter of their share", _whole_charge_each, what_is_set_aside_pays_for_verdicts),
    Mutant("errors of criteria in counts", _in_counts, no_record_moves_a_verdict_further_than_is_charged),
    Mutant("verdicts by the true error", _exact, verdicts_are_drawn_again_each_time),
    Mutant("no slack for rounding", _no_slack, rounding_is_within_the_slack),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_criterion_that_is_not_paid_for_is_noticed(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    killed(mutant, monkeypatch)
