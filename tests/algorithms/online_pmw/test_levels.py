"""Sessions over domains with levels, derived attributes and constraints, in every form of the hypothesis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import hedgerow
from hedgerow import OnlinePMW, OnlineSession
from hedgerow.algorithms import step_size, warm_factors
from hedgerow.algorithms.online_pmw import OnlineAnswer, start as starts
from hedgerow.arrays import Floats
from hedgerow.data import Table
from hedgerow.domain import Constraint, Domain, IntegerRange, codes_at, feasible_records
from hedgerow.models import Histogram, Markov, ValueClasses, choice
from hedgerow.models.choice import domain_of_sizes, trees_of
from hedgerow.privacy import GRID, ZCDP, SeededNoise
from hedgerow.queries import Workload, parse_predicate
from tests.algorithms.online_pmw.cases import REPLACE
from tests.algorithms.shared.whole_runs import without_histograms
from tests.domain.strategies import conditions, feasible, records, rich_domains
from tests.examples import examples
from tests.privacy.replay import ScriptedNoise

FORMS = {"histogram": Histogram, "trees": Markov, "classes": ValueClasses}
TOTAL = 20_000


@pytest.fixture(name="in_form")
def forms(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sessions that start from now on have hypotheses of one form, however small the domain."""

    def choose(form: str) -> None:
        monkeypatch.undo()
        if form != "histogram":
            without_histograms(monkeypatch)
        if form == "classes":
            monkeypatch.setattr(starts, "LARGE_ATTRIBUTE", 1)
            monkeypatch.setattr(choice, "LARGE_ATTRIBUTE", 1)

    return choose


def table_of(domain: Domain, seed: int, n: int = TOTAL) -> Table:
    """Records that break no constraint, some far more frequent than others."""
    rows, draw = records(domain)[feasible(domain)], np.random.default_rng(seed)
    shares = draw.dirichlet(np.full(len(rows), 0.3))
    drawn = rows[draw.choice(len(rows), size=n, p=shares)]
    return Table(domain, [np.ascontiguousarray(column) for column in drawn.T])


def truth_of(truth: Sequence[bool | None]) -> Floats:
    return np.array([each is True for each in truth], dtype=np.float64)


class Plain:
    """The slow twin of a session's hypothesis: a weight for each record that can exist, multiplied at corrections."""

    def __init__(self, domain: Domain) -> None:
        self.weights = feasible(domain).astype(np.float64)

    @property
    def cells(self) -> Floats:
        return np.asarray(TOTAL * self.weights / self.weights.sum())

    def correct(self, holds: Floats, answer: OnlineAnswer) -> None:
        before = round(float(self.cells @ holds) / GRID) * GRID
        residual = min(max(answer.value, 0.0), TOTAL) - before
        self.weights = self.weights * np.exp(step_size(residual / TOTAL, (0.0, 1.0), "sharp") * holds)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), domain=rich_domains(3), seed=st.integers(0, 2**16))
def test_every_form_answers_and_learns_as_weights_of_records_do(
    data: st.DataObject, domain: Domain, seed: int, in_form: Callable[[str], None], tmp_path: Path
) -> None:
    asked = [data.draw(conditions(domain)) for _ in range(4)]
    source = table_of(domain, seed)
    for form, kind in FORMS.items():
        in_form(form)
        noise = ScriptedNoise([True, False, True, False], SeededNoise(seed))
        session = OnlinePMW(updates=9, threshold=0.02, step="residual").start(source, ZCDP(20.0, REPLACE), noise=noise)
        twin = Plain(domain)
        for text, truth in asked:
            holds = truth_of(truth)
            answer = session.ask(text)
            if answer.source == "hypothesis":
                assert answer.value == pytest.approx(float(twin.cells @ holds), abs=GRID)
            if answer.source == "data":
                twin.correct(holds, answer)
            session.save(tmp_path / "s.session")
            session = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
        assert isinstance(session.model, kind)
        found = session.model.marginals([domain.names])[0].reshape(-1)
        assert np.abs(found - twin.cells).max() <= 1e-6
        assert not found[~feasible(domain)].any()


SURVEY = Domain(
    (IntegerRange("age", 0, 19), IntegerRange("work", 0, 3), IntegerRange("sex", 0, 1)),
    [
        hedgerow.Derived(IntegerRange("age.stage", 0, 2), ("age",), [0] * 6 + [1] * 8 + [2] * 6),
        hedgerow.Derived(IntegerRange("risk", 0, 1), ("age", "work"), np.add.outer(range(20), range(4)) % 2),
    ],
    [Constraint("children do not work", ("age", "work"), [[0] * 6 + [1] * 14, [0, 1, 1, 1]], [[1, 0], [1, 1]])],
)
QUESTIONS = (
    "\"age.stage\" = '0'",
    "risk = 1 and sex = 0",
    "\"age.stage\" in ('1', '2') and work = 3",
    "age < 9 and sex = 1",
    "\"age.stage\" = '0' and work > 0",
)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("warm", [False, True])
def test_a_restored_session_goes_on_bit_by_bit(
    form: str, warm: bool, in_form: Callable[[str], None], tmp_path: Path
) -> None:
    source = table_of(SURVEY, 1)
    if warm and form == "classes":
        pytest.skip("a start from a release is a histogram or trees")
    in_form(form)
    release = None
    if warm:
        workload = Workload.parse("marginals:age.stage*work,age*sex,risk", SURVEY)
        release = hedgerow.MWEM(rounds=3).run(source, workload, ZCDP(0.5, REPLACE), noise=SeededNoise(0))
    found = []
    for cuts in ((), (0, 2, 4)):
        noise = ScriptedNoise([True, True, True, False, False], SeededNoise(3))
        config = OnlinePMW(updates=9, threshold=0.02)
        session = config.start(source, ZCDP(20.0, REPLACE), noise=noise, warm=release)
        answers = []
        for number, text in enumerate(QUESTIONS):
            if number in cuts:
                session.save(tmp_path / "s.session")
                session = OnlineSession.restore(tmp_path / "s.session", source, noise=noise)
            answers.append(session.ask(text))
        found.append((answers, session.model.marginals([SURVEY.names])[0]))
        assert isinstance(session.model, FORMS[form])
    assert found[0][0] == found[1][0]
    assert np.array_equal(found[0][1], found[1][1])
    assert [each.source for each in found[0][0]].count("data") == 3
    assert found[0][0][-1].value == 0.0  # no record can meet it
    drawn = session.release().sample(500, seed=0).to_arrow().to_pydict()
    assert all(not (age < 6 and work > 0) for age, work in zip(*(drawn[name] for name in ("age", "work")), strict=True))


# ---- starts from a release -------------------------------------------------------------------------------------------


@settings(max_examples=examples(40), deadline=None)
@given(domain=rich_domains(4), seed=st.integers(0, 2**16))
def test_the_uniform_hypothesis_is_mixed_into_every_conditional(domain: Domain, seed: int) -> None:
    draw, gamma = np.random.default_rng(seed), 0.1
    model = Markov(domain, 50.0)
    for _ in range(3):
        names = draw.choice(domain.all_names, size=min(2, len(domain.all_names)), replace=False)
        clique = domain.reduced(names.tolist())
        model.reweigh(clique, draw.normal(size=domain.shape_of(clique)) * 3.0)
    rows, kept = records(domain), feasible(domain)
    columns = dict(zip(domain.names, rows.T, strict=True))
    factors = warm_factors(model, gamma)
    product = kept.astype(np.float64)
    for clique, table in factors.items():
        product = product * np.exp(table)[tuple(codes_at(domain, name, columns) for name in clique)]
    begun = Markov(domain, 1.0, start=factors).marginals([domain.names])[0].reshape(-1)
    assert np.allclose(begun, product / product.sum(), rtol=1e-9, atol=0.0)
    (before,) = model.marginals([domain.names])
    cliques = sum(len(tree.cliques) for tree in model.trees)
    # of the mixture of all products one is the release, another the uniform hypothesis
    assert (begun >= (1.0 - gamma) ** cliques * before.reshape(-1) / 50.0 * (1.0 - 1e-9)).all()
    assert begun[kept].min() >= gamma**cliques / kept.sum() * (1.0 - 1e-9)


def test_a_start_over_all_cells_is_uniform_on_records_that_can_exist() -> None:
    source = table_of(SURVEY, 2)
    workload = Workload.parse("marginals:age.stage*sex", SURVEY)
    release = hedgerow.MWEM(rounds=1).run(source, workload, ZCDP(0.5, REPLACE), noise=SeededNoise(0))
    base = starts.warm_base(release, 0.01).reshape(-1)
    kept = feasible(SURVEY)
    assert base.sum() == pytest.approx(1.0, abs=1e-12)
    assert not base[~kept].any()
    assert base[kept].min() >= 0.01 / kept.sum() * (1.0 - 1e-12)


def test_cliques_of_levels_are_counted() -> None:
    noiseless: Any = None
    few, many = (OnlinePMW().stream(ZCDP(1.0), SURVEY, 1e6, noiseless, warm=True, cliques=n) for n in (0, 9))
    assert few.log_cells == many.log_cells  # a histogram has one factor, whatever the release had
    wide = Domain(IntegerRange(f"x{i}", 0, 99) for i in range(20))
    few, many = (OnlinePMW().stream(ZCDP(1.0), wide, 1e6, noiseless, warm=True, cliques=n) for n in (0, 25))
    assert many.log_cells - few.log_cells == pytest.approx(5 * math.log(1000.0))


def test_a_session_counts_the_records_that_can_exist() -> None:
    stream = OnlinePMW().stream(ZCDP(1.0), SURVEY, 1e6, None, warm=False)
    assert stream.log_cells == pytest.approx(math.log(feasible_records(SURVEY) or 0)) == pytest.approx(math.log(124))


def a_population(columns: int) -> tuple[Domain, Table]:
    """Children have one combination of values of some columns, adults any: few records that can exist are children."""
    ages = IntegerRange("age", 0, 99)
    plain = Domain((ages, *(IntegerRange(f"x{i}", 0, 9) for i in range(columns))))
    rules = [hedgerow.if_then(plain, "age < 15", f"x{i} = 0") for i in range(columns)]
    draw = np.random.default_rng(7)
    age = draw.integers(0, 100, TOTAL)
    others = [np.where(age < 15, 0, draw.integers(0, 10, TOTAL)) for _ in range(columns)]
    domain = Domain(plain.attributes, (), rules)
    return domain, Table(domain, [age, *others])


@pytest.mark.parametrize(("form", "columns"), [("trees", 3), ("trees", 8), ("classes", 8)])
def test_a_group_of_few_possible_records_is_learnt(in_form: Callable[[str], None], form: str, columns: int) -> None:
    """To within two standard deviations of its noise, and beside others; at the start it has less than a record."""
    in_form(form)
    domain, source = a_population(columns)
    noise = ScriptedNoise([True, True, True], SeededNoise(3))
    session = OnlinePMW(updates=3, threshold=0.02).start(source, ZCDP(0.05, REPLACE), noise=noise)
    questions = ["age < 15", "age >= 60", "age < 5 or x1 = 0"]
    assert session.model.conjunctions([parse_predicate(questions[0], domain)])[0] < TOTAL / 1000
    for asked in range(1, 4):
        answer = session.ask(questions[asked - 1])
        assert answer.source == "data"
        for each in session._history.measurements[:asked]:
            assert abs(float(each.target.on(session.model)[0]) - float(each.values[0])) < 2.0 * each.std
    assert isinstance(session.model, FORMS[form])


# ---- room ------------------------------------------------------------------------------------------------------------


def test_a_domain_of_fewer_codes_keeps_what_constraints_tell_apart() -> None:
    fewer = domain_of_sizes(SURVEY, {"age": 1, "work": 3})
    assert fewer.shape == (2, 3, 2)
    assert fewer["age.stage"].size == 2
    assert domain_of_sizes(SURVEY, {"sex": 1}).shape == (20, 4, 2)
    assert feasible_records(fewer) == 2 * (2 * 3 - 1)  # one code of each class of work, and one of the first again


def test_a_question_on_a_level_needs_less_room_than_one_on_its_attribute() -> None:
    wide = Domain(
        (IntegerRange("a", 0, 4095), IntegerRange("b", 0, 4095), *(IntegerRange(f"x{i}", 0, 9) for i in "12"))
    )
    source = Table(wide, [np.zeros(1000, dtype=np.int64)] * 4)
    config = OnlinePMW(updates=3, threshold=0.1, largest_tree=20_000)
    session = config.start(source, ZCDP(1.0, REPLACE), noise=ScriptedNoise([True], SeededNoise(0)))
    assert session.ask("a = 3 and b = 4").source == "hypothesis only"
    assert session.ask("\"a.256\" = '[0, 256)' and \"b.256\" = '[0, 256)'").source == "data"
    assert session.model.cells <= trees_of(wide, [("a.256", "b.256")]).cells <= 20_000


def test_conditions_on_levels_cut_attributes_of_very_many_values() -> None:
    logs = Domain((IntegerRange("port", 0, 2**17 - 1), IntegerRange("host", 0, 2**32 - 1), IntegerRange("hour", 0, 23)))
    level = next(each.name for each in logs.derived if each.sources == ("port",))
    source = Table(logs, [np.arange(1000, dtype=np.int64)] * 2 + [np.arange(1000, dtype=np.int64) % 24])
    noise = ScriptedNoise([True, True, False], SeededNoise(0))
    session = OnlinePMW(updates=3, threshold=0.1).start(source, ZCDP(1.0, REPLACE), noise=noise)
    text = f"\"{level}\" = '{logs[level].label(0)}' and hour < 12"
    assert session.ask(text).source == "data"
    assert session.ask("host < 500").source == "data"
    assert isinstance(session.model, ValueClasses)
    assert session.model.cells <= 8
    assert parse_predicate(text, logs).scope == ("hour", level)
