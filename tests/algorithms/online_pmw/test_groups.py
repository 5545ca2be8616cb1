"""Counts of groups at one look: exact losses, what is charged, what is kept, and what intervals cover."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hedgerow import OnlinePMW, OnlineSession, SessionFile
from hedgerow.algorithms import START, Known, Transcript, step_since
from hedgerow.algorithms.online_pmw.session import MOST_GROUPS
from hedgerow.audit import Severity, audit_files
from hedgerow.data import Table
from hedgerow.domain import Binned, Domain, IntegerRange
from hedgerow.errors import QueryError
from hedgerow.privacy import ApproxDP, NoiseSource, PureDP, SeededNoise
from hedgerow.queries import Blocks, Conjunction, Groups, Marginal, Neighbours, Persons, parse_predicate
from hedgerow.release import Release
from tests.algorithms.online_pmw.cases import BUDGETS, DOMAIN, REPLACE, config_of, skewed, start
from tests.privacy.replay import record_answers, worst_loss
from tests.privacy.tables import DenseCounts, neighbours_of

A, AB = Marginal(DOMAIN, ("a",)), Marginal(DOMAIN, ("a", "b"))
WHERE = Groups(DOMAIN, ("a", "c"), parse_predicate("b = 1 or c = 0", DOMAIN)).target
BLOCKS = Groups(DOMAIN, ("b",), parse_predicate("a = 1", DOMAIN)).target
ADD_REMOVE = Neighbours.ADD_REMOVE
LARGE = {"updates": 6, "threshold": 0.01}


def of_groups(source: DenseCounts, noise: NoiseSource, relation: Neighbours) -> OnlineSession:
    session = OnlinePMW("4c", updates=3, threshold=0.2).start(source, PureDP(2.0, relation), noise=noise)
    for group in (A, BLOCKS, AB, WHERE):
        session.ask_groups(group)
    return session


@pytest.mark.many(quick=2)
@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE, Neighbours.REPLACE_FILTERED])
@pytest.mark.parametrize("fires", [(), (0, 1), (1, 3), (0, 2, 3)])
def test_the_loss_of_a_session_of_groups_is_at_most_epsilon(relation: Neighbours, fires: tuple[int, ...]) -> None:
    def run(source: DenseCounts, noise: NoiseSource) -> object:
        return of_groups(source, noise, relation)

    worst = 0.0
    for histogram in ([3, 0, 0, 1, 0, 0, 2, 0], [0, 0, 0, 0, 0, 0, 0, 6]):
        source = DenseCounts(DOMAIN, histogram)
        transcript = record_answers(run, source, [place in fires for place in range(4)])
        worst = max(worst, worst_loss(run, source, neighbours_of(source, relation), transcript))
    assert 0.0 < worst <= 2.0 + 1e-9


@pytest.mark.parametrize(("variant", "budget"), [(name, each) for name, each in BUDGETS if name != "4a"])
def test_a_group_costs_what_a_question_costs(variant: str, budget: object) -> None:
    fired, quiet = (start(variant, budget, skewed(1_000), [answer]) for answer in (True, False))  # type: ignore[arg-type]
    for session in (fired, quiet):
        session.prepare()
    before = fired.spent, fired.updates_left
    found = fired.ask_groups(AB)
    assert (found.source, len(found.values), found.updates_left) == ("data", 4, before[1] - 1)
    assert found.charged == pytest.approx(fired.rules.answer_charge) == pytest.approx(fired.spent - before[0])
    found = quiet.ask_groups(AB)
    assert (found.source, found.charged, quiet.tested) == ("hypothesis", 0.0, 1)
    assert found.low is not None
    assert "all of the true counts at once" in found.covers
    for session in (fired, quiet):
        assert session.ask_groups(Marginal(DOMAIN, ("b", "a"))).source == "cache"
        assert session.tested == 1


@pytest.mark.parametrize("budget", [PureDP(1e5, REPLACE), ApproxDP(1e5, 1e-6, ADD_REMOVE)])
def test_groups_under_a_condition_are_its_counts(budget: PureDP | ApproxDP) -> None:
    histogram = np.arange(8) * 100
    source = DenseCounts(DOMAIN, histogram)
    truth = np.asarray(histogram).reshape(2, 2, 2)
    session = OnlinePMW(**LARGE).start(source, budget, noise=SeededNoise(3))
    assert session.ask_groups(AB).values == pytest.approx(truth.sum(axis=2).reshape(-1), abs=1.0)
    counts = truth[:, 1, :].copy()
    counts[:, 0] += truth[:, 0, 0]
    found = session.ask_groups(WHERE).values
    assert found[:4] == pytest.approx(counts.reshape(-1), abs=40.0)
    assert found.sum() == pytest.approx(truth.sum(), abs=80.0)
    assert session.ask_groups(BLOCKS).values[:2] == pytest.approx(truth[1].sum(axis=1), abs=40.0)


@pytest.mark.parametrize("fires", [True, False])
@pytest.mark.parametrize("group", [AB, WHERE])
def test_a_session_with_groups_is_restored_to_the_same_bits(
    group: Marginal | Blocks, fires: bool, tmp_path: Path
) -> None:
    source = skewed(2_000)
    session = start("4b", BUDGETS[2][1], source, [fires, True, True], SeededNoise(5))
    told = session.ask_groups(group)
    session.ask("a = 1")
    session.save(tmp_path / "s.session")
    transcript = Transcript(DOMAIN)
    transcript.add(step_since(session, START, first=True))
    restored = (
        OnlineSession.restore(tmp_path / "s.session", source, noise=SeededNoise(6)),
        transcript.session(source, noise=SeededNoise(6)),
    )
    for each in restored:
        again = each.ask_groups(group)
        assert again.source == "cache"
        assert (again.values.tolist(), again.covers) == (told.values.tolist(), told.covers)
        assert np.array_equal(again.low, told.low)  # type: ignore[arg-type]
        assert each.summary() == {**session.summary(), "answers": each.summary()["answers"]}
        here, there = (model.marginals([DOMAIN.names])[0] for model in (each.model, session.model))
        assert np.array_equal(here, there)
    assert restored[0].ask("b = 0").value == restored[1].ask("b = 0").value


@pytest.mark.slow
def test_intervals_of_groups_cover_as_often_as_they_say() -> None:
    source = skewed(3_000)
    truth = {group: group.on(source) for group in (A, AB, WHERE)}
    at_once = {"data": [], "hypothesis": []}  # type: dict[str, list[float]]
    for seed in range(150):
        session = OnlinePMW(updates=6, threshold=0.15).start(source, PureDP(1.5, ADD_REMOVE), noise=SeededNoise(seed))
        for group in (AB, WHERE, A):
            found = session.ask_groups(group, 0.8)
            if found.low is None or found.high is None or found.source not in at_once:
                continue
            inside = (found.low <= truth[group]) & (truth[group] <= found.high)
            at_once[found.source] += [float(inside.all())] if found.source == "hypothesis" else inside.tolist()
    assert min(map(len, at_once.values())) > 40
    assert all(np.mean(covered) > 0.8 - 0.06 for covered in at_once.values())


def test_a_closed_session_gives_the_hypothesis_without_intervals() -> None:
    session = start("4c", BUDGETS[3][1], skewed(1_000), [True] * 4)
    for group in (A, AB, WHERE, BLOCKS):
        session.ask_groups(group)
    found = session.ask_groups(Marginal(DOMAIN, ("b", "c")))
    assert (found.source, found.low, found.charged, found.covers) == (
        "hypothesis only",
        None,
        0.0,
        "nothing: the corrections are used up",
    )


def test_groups_are_refused_where_a_session_does_not_learn_from_them() -> None:
    wide = Domain((IntegerRange("x", 0, MOST_GROUPS),))
    session = OnlinePMW(**LARGE).start(Table(wide, [np.zeros(100, np.uint16)]), PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(QueryError, match="at most 10,000 are answered together"):
        session.ask_groups(Marginal(wide, ("x",)))
    theorem = config_of("4b", step="residual").start(skewed(1_000), BUDGETS[2][1], noise=SeededNoise(0))
    with pytest.raises(QueryError, match="learns from one query at a time"):
        theorem.ask_groups(A)
    for wrong in (Marginal(wide, ("x",)), Conjunction.where(DOMAIN, {"a": [1]})):
        with pytest.raises(QueryError, match="is not a group of counts over the domain"):
            theorem.ask_groups(wrong)  # type: ignore[arg-type]
    assert (session.tested, theorem.tested) == (0, 0)


def test_a_statement_whose_groups_are_refused_asks_nothing_before(tmp_path: Path) -> None:
    """Its first question may be another one: what is held for that would be lost with the refusal."""
    domain = Domain((IntegerRange("a", 0, 1), Binned("y", (0, 1, 2), missing="?")))
    source = DenseCounts(domain, [100, 200, 300, 400, 500, 600])
    with SessionFile(tmp_path / "s.session") as kept:
        kept.start(config_of("4b", step="residual"), source, BUDGETS[2][1], noise=SeededNoise(0))
        before = kept.summary()
        with pytest.raises(QueryError, match="learns from one query at a time"):
            kept.select("SELECT a, SUM(y), COUNT(*) FROM t GROUP BY a")
        assert kept.summary() == before
        assert kept.forfeited == ()


def test_groups_that_take_long_to_learn_from_are_refused() -> None:
    domain = Domain(IntegerRange(name, 0, 31) for name in "abc")
    source = Table(domain, [np.zeros(100, np.uint16)] * 3)
    session = OnlinePMW(**LARGE).start(source, PureDP(1.0), noise=SeededNoise(0))
    with pytest.raises(QueryError, match="1,025 counts over 32,768 cells of a, b, c take too long"):
        session.select("SELECT a, b, COUNT(*) FROM t WHERE c < 3 GROUP BY a, b")
    assert (session.tested, session.remembered) == (0, 0)
    session.select("SELECT a, COUNT(*) FROM t WHERE c < 3 GROUP BY a")
    assert session.remembered == 32**2 + 4 * 33


def test_the_ledger_tells_the_condition_of_a_group(tmp_path: Path) -> None:
    session = OnlinePMW(**LARGE).start(skewed(2_000), PureDP(20.0, ADD_REMOVE), noise=SeededNoise(1))
    session.select("SELECT c, COUNT(*) FROM t WHERE a = 1 OR b = 0 GROUP BY c")
    session.release().save(tmp_path / "r.release")
    release = Release.load(tmp_path / "r.release")
    told = "c where a = 1 or b = 0, in 3 blocks"
    assert [event.target for event in release.events if event.label == "answer"] == [told]
    assert [each.target.text for each in release.measurements] == [told]
    (audited,) = audit_files([tmp_path / "r.release"]).files
    assert {each.check for each in audited.findings if each.severity is Severity.FAILS} == {"noise"}  # it is seeded


def test_one_person_with_several_records_moves_a_group_by_all_of_them() -> None:
    """The same noise as for single counts: m of the watch; and m of the marginal, in its event."""
    persons = Persons("id", 3)
    budget = PureDP(50.0, ADD_REMOVE.between(persons))
    session = OnlinePMW(**LARGE).start(DenseCounts(DOMAIN, [5] * 8, persons), budget, noise=SeededNoise(0))
    assert session.rules.watch.sensitivity == 3.0
    session.ask_groups(AB)
    release = session.release()
    answers = [event for event in release.events if event.label == "answer"]
    assert [event.sensitivity for event in answers] == [3.0] * len(answers)


def test_the_file_of_a_session_holds_what_a_statement_cost(tmp_path: Path) -> None:
    source, path = skewed(2_000), tmp_path / "s.session"
    statement = "SELECT a, COUNT(*), AVG(b) FROM t WHERE c = 0 GROUP BY a"
    steps: list[str] = []
    with SessionFile(path, reached=steps.append) as kept:
        kept.start(OnlinePMW(**LARGE), source, PureDP(20.0, REPLACE), noise=SeededNoise(1))
        steps.clear()
        first = kept.select(statement)
        spent = kept.summary()["spent"]
    assert (steps[:3], steps[-1]) == (["prepared", "held", "fired"], "settled")
    assert first.charged == pytest.approx(spent)
    with SessionFile(path) as kept:
        kept.restore(source, noise=SeededNoise(2))
        again = kept.select(statement)
        assert (again.charged, set(again.sources)) == (0.0, {"cache"})
        assert [[cell.low for cell in row] for row in again.cells] == [
            [cell.low for cell in row] for row in first.cells
        ]


def test_a_peek_costs_nothing_and_tells_what_is_known() -> None:
    session = start("4c", BUDGETS[3][1], skewed(1_000), [True])
    known = session.ask_groups(AB)
    spent, tested = session.spent, session.tested
    assert session.peek_groups(AB).values.tolist() == known.values.tolist()
    new = session.peek_groups(BLOCKS, because="your share is used up")
    assert (new.source, new.low, new.covers) == ("hypothesis only", None, "nothing: your share is used up")
    model = session.model.marginals([("a",)])[0]
    assert session.guess(Conjunction.where(DOMAIN, {"a": [1]})) == pytest.approx(model[1], abs=0.01)
    assert (session.spent, session.tested) == (spent, tested)


def test_groups_with_fewer_than_no_records_have_intervals_as_wide_as_their_noise() -> None:
    session = start("4c", PureDP(1.0), skewed(1_000), [True])
    session.ask_groups(A)
    known = Known(A, (-40.0, 300.0), None)
    radius = session._basis.radius(known)(0.05)
    _, low, high, _ = session._basis.answer(known, 0.95)
    assert low[0] == 0.0
    assert high[0] >= math.floor(0.9 * radius)
