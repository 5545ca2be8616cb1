"""Every algorithm on a domain with a level, a derived column and two constraints, from plan to audit."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hedgerow
from hedgerow import FourierMeasurement, IndependentNoise, OfflinePMW, SmallDB
from hedgerow.algorithms import ENTRIES, Entry, Game
from hedgerow.audit import Severity, audit_files
from hedgerow.data import Table
from hedgerow.domain import Categorical, Derived, Domain, IntegerRange, impossible, possible_records
from hedgerow.errors import ConfigError
from hedgerow.models import Proximal, Refit, Step, Sweeps
from hedgerow.privacy import GDP, ZCDP, ApproxDP, Budget, PureDP, Regime, SeededNoise
from hedgerow.queries import Neighbours, Workload
from hedgerow.release import Release
from hedgerow.report import render_report
from tests.privacy.replay import ExplodingNoise

YES_NO = ("no", "yes")
FREE = Domain((
    IntegerRange("age", 0, 5), Categorical("married", YES_NO), Categorical("works", YES_NO), IntegerRange("hours", 0, 2)
))  # fmt: skip
GROUP = Derived(Categorical("age.group", ("child", "adult", "old")), ("age",), [0, 0, 1, 1, 1, 2])
TAXED = Derived(Categorical("taxed", YES_NO), ("married", "works"), [[0, 1], [0, 0]], column=True)
DOMAIN = Domain(
    FREE.attributes,
    (GROUP, TAXED),
    [
        impossible(FREE, "age < 2 and (married = 'yes' or works = 'yes')"),
        impossible(FREE, "works = 'no' and hours > 0"),
    ],
)
RECORDS = [
    (age, married, works, hours)
    for age, married, works, hours in product(range(6), range(2), range(2), range(3))
    if not (age < 2 and (married or works)) and not (not works and hours)
]
LEVELED = Workload.parse("marginals:age.group*works,married*hours,taxed*age.group; prefixes:age", DOMAIN)
BINARY = Workload.parse("marginals:married*works; parities:married", DOMAIN)
WORKLOADS = {"fourier": BINARY}
BUDGETS: dict[Regime, list[Budget]] = {
    Regime.PURE: [ApproxDP(2.0, 1e-6, regime=Regime.PURE), PureDP(2.0, Neighbours.REPLACE)],
    Regime.ZCDP: [ApproxDP(2.0, 1e-6), ZCDP(0.2, Neighbours.REPLACE)],
    Regime.GDP: [ApproxDP(2.0, 1e-6, regime=Regime.GDP), GDP(0.6, Neighbours.REPLACE)],
}
RUNS = [
    pytest.param(each, budget, id=f"{each.name}-{budget.regime}-{budget.neighbours}")
    for each in ENTRIES
    for regime in each.regimes
    for budget in BUDGETS[regime]
]


LARGEST_ERROR = {"pmw": 0.35, "small-db": 0.25, "dual-query": 0.06}
"""Of a single query, as a fraction of the records, with a budget that buys much; what its few records allow."""


def workload_of(each: Entry) -> Workload:
    return WORKLOADS.get(each.name, LEVELED)


def table(n: int = 2000) -> Table:
    """Records that can exist, in random shares."""
    rng = np.random.default_rng(5)
    codes = np.array(RECORDS)[rng.choice(len(RECORDS), n, p=rng.dirichlet(np.full(len(RECORDS), 0.3)))]
    columns = {
        "age": codes[:, 0].tolist(),
        "married": [YES_NO[code] for code in codes[:, 1]],
        "works": [YES_NO[code] for code in codes[:, 2]],
        "hours": codes[:, 3].tolist(),
        "taxed": [YES_NO[TAXED.codes[married, works]] for married, works in codes[:, 1:3]],
    }
    return hedgerow.read_table(pa.table(columns), DOMAIN)


def check_rows(rows: list[dict[str, str]]) -> None:
    """Obviously: no child is married or works, nobody works hours without work, and the column is its function."""
    for row in rows:
        age, hours = int(row["age"]), int(row["hours"])
        assert age >= 2 or (row["married"], row["works"]) == ("no", "no")
        assert hours == 0 or row["works"] == "yes"
        assert row["taxed"] == ("yes" if (row["married"], row["works"]) == ("no", "yes") else "no")


def test_the_domain_has_as_many_records_as_are_listed() -> None:
    assert possible_records(DOMAIN) == len(RECORDS) == 34


@pytest.mark.parametrize(("each", "budget"), RUNS)
def test_plans_speak_of_records_that_can_exist(each: Entry, budget: Budget) -> None:
    plan = each.make().plan(workload_of(each), budget, 2000.0)
    assert plan.fits
    assert all(sentence for _, sentence in plan.lines(2000.0))
    assert plan.to_dict()


@pytest.mark.many(quick=1)
@pytest.mark.parametrize(("each", "budget"), RUNS)
def test_runs_release_records_that_can_exist(each: Entry, budget: Budget, tmp_path: Path) -> None:
    workload = workload_of(each)
    release = each.make().run(table(), workload, budget, noise=SeededNoise(0))
    assert sum(event.charge for event in release.events) == pytest.approx(release.spent, rel=1e-9)
    assert 0.0 < release.spent <= release.budget.limit * (1 + 1e-12)
    assert release.budget.approximate(1e-6) == budget.approximate(1e-6)

    cells = release.model.marginals([DOMAIN.names])[0]
    allowed = np.zeros(DOMAIN.shape, dtype=bool)
    allowed[tuple(np.array(RECORDS).T)] = True
    assert cells.sum() == pytest.approx(release.model.total)
    assert (cells[~allowed] == 0.0).all()

    release.save(tmp_path / "made.release")
    loaded = Release.load(tmp_path / "made.release")
    np.testing.assert_allclose(workload.answers(loaded.model), workload.answers(release.model))
    rows = loaded.sample(500, seed=1).to_arrow()
    assert rows.column_names == [column.name for column in DOMAIN.columns]
    check_rows([{name: str(value) for name, value in row.items()} for row in rows.to_pylist()])
    assert loaded.answer("age < 2 and married = 'yes'").value == 0.0
    assert loaded.answer("\"age.group\" = 'adult'").value >= 0.0
    assert render_report(loaded)

    audits = audit_files([tmp_path / "made.release"])
    failed = [each for each in audits.files[0].findings if each.severity.rank() >= Severity.UNKNOWN.rank()]
    assert [each.check for each in failed] == ["noise"]  # which is seeded


@pytest.mark.parametrize("each", ENTRIES, ids=lambda each: each.name)
def test_answers_are_right_where_the_budget_buys_much(each: Entry) -> None:
    source, workload = table(), workload_of(each)
    budget = PureDP(200.0) if Regime.PURE in each.regimes else ZCDP(50.0)
    release = each.make().run(source, workload, budget, noise=SeededNoise(0))
    queries = workload.by_query()
    lows, highs = queries.limits
    gaps = np.abs(queries.answers(release.model) - queries.answers(source)) / (highs - lows)
    assert gaps.max() / source.total() < LARGEST_ERROR.get(each.name, 0.01)


@pytest.mark.parametrize("fit", [Proximal(), Sweeps()], ids=lambda fit: type(fit).__name__)
@pytest.mark.parametrize("text", ["parities:married,works,married*works", "marginals:taxed*hours,age.group*works"])
def test_each_fit_stays_among_records_that_can_exist(fit: Refit, text: str) -> None:
    """Parities alone are fitted by Newton's method."""
    source, workload = table(), Workload.parse(text, DOMAIN)
    release = IndependentNoise(fit=fit).run(source, workload, PureDP(200.0), noise=SeededNoise(0))
    gaps = np.abs(workload.answers(release.model) - workload.answers(source))
    assert gaps.max() / source.total() < 0.01
    cells = release.model.marginals([DOMAIN.names])[0].copy()
    cells[tuple(np.array(RECORDS).T)] = 0.0
    assert (cells == 0.0).all()


def test_fourier_coefficients_of_derived_attributes_are_refused_before_anything_is_spent() -> None:
    workload = Workload.parse("marginals:taxed*works", DOMAIN)
    with pytest.raises(ConfigError, match="'taxed' is derived") as caught:
        FourierMeasurement().run(table(), workload, PureDP(1.0), noise=ExplodingNoise())
    assert caught.value.remedy


def test_small_databases_are_listed_among_records_that_can_exist() -> None:
    workload = Workload.parse("marginals:age.group*taxed", DOMAIN)
    plan = SmallDB(size=3).plan(workload, PureDP(1.0, Neighbours.REPLACE), 1000.0)
    assert plan.facts["databases"] == math.comb(34 + 2, 3)
    choice = 2.0 / plan.facts["charge"] * (3 * math.log(34) + math.log(1.0 / 0.05))
    assert plan.facts["bound_parts"]["choice"] == pytest.approx(choice)


@pytest.mark.parametrize("step", ["source", "sharp"])
def test_bounds_read_the_number_of_records_that_can_exist(step: Step) -> None:
    workload = Workload.parse("cells:age.group*works", DOMAIN)
    pmw = OfflinePMW(alpha=0.2, step=step).plan(workload, PureDP(1.0), 1000.0)
    assert pmw.facts["rounds"] == math.floor((4.0 if step == "source" else 0.5) * math.log(34) / 0.2**2)
    game = Game.of(workload, PureDP(1.0), 1000.0, 0.05)
    assert game.log_cells == pytest.approx(math.log(34))


@pytest.mark.parametrize("each", ENTRIES, ids=lambda each: each.name)
def test_a_single_record_that_can_exist_is_no_trouble(each: Entry) -> None:
    free = Domain((Categorical("a", YES_NO), Categorical("b", YES_NO)))
    domain = Domain(free.attributes, (), [impossible(free, "a = 'yes' or b = 'no'")])
    source = hedgerow.read_table(pa.table({"a": ["no"] * 50, "b": ["yes"] * 50}), domain)
    budget = PureDP(1.0) if Regime.PURE in each.regimes else ZCDP(0.5)
    release = each.make().run(source, Workload.marginals(domain, 2), budget, noise=SeededNoise(0))
    assert set(map(tuple, release.model.sample(20, seed=0).tolist())) == {(0, 1)}
    for options in ({}, {"rounds": 1 if each.name == "mwem" else 5}) if "rounds" in each.options else ({},):
        assert each.make(options).plan(Workload.marginals(domain, 2), budget, 50.0).fits
