"""What is special about the experiments with online multiplicative weights: tables, streams, the loop that is wrong."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from experiments.datasets import find_data
from experiments.online_pmw.adult import COLUMNS, RECORDS, adult, random_condition
from experiments.online_pmw.analyst import LARGE, Analyst
from experiments.online_pmw.source_loop import Numbers, source_loop
from experiments.online_pmw.stream_findings import PURE, THEOREM, VARIANTS, budget_of, independent
from experiments.online_pmw.threshold import CORRECTED, RULES, SETTINGS, SMALLEST, SOURCE, numbers_of

from hedgerow import OnlinePMW
from hedgerow.algorithms import Stream, two_sided_rules
from hedgerow.data import Table
from hedgerow.domain import Domain, IntegerRange
from hedgerow.privacy import PureDP, SeededNoise, exact_answers
from hedgerow.queries import Conjunction, Neighbours, Workload
from hedgerow.system import generator
from tests.algorithms.online_pmw.cases import with_rules

DATA = find_data()
DOMAIN = DATA.domain("adult", COLUMNS)


def test_replicated_adult_answers_in_the_same_fractions() -> None:
    once, often = DATA.table("adult", COLUMNS), adult(DATA, 20 * RECORDS, seed=0)
    workload = Workload.marginals(DOMAIN, 2)
    assert DOMAIN.size == 100_800
    assert often.total() == 20 * once.total()
    assert np.array_equal(exact_answers(often, workload), 20 * exact_answers(once, workload))


def test_a_part_of_adult_has_no_record_twice() -> None:
    part, whole = adult(DATA, 10_000, seed=3), DATA.table("adult", COLUMNS)
    cells = Workload.marginals(DOMAIN, len(COLUMNS))
    assert part.total() == 10_000
    assert np.all(exact_answers(part, cells) <= exact_answers(whole, cells))
    assert not np.array_equal(exact_answers(part, cells), exact_answers(adult(DATA, 10_000, seed=4), cells))


def test_a_size_that_adult_cannot_have_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple"):
        adult(DATA, RECORDS + 1, seed=0)


@pytest.mark.slow
def test_the_stream_depends_on_the_answers_and_repeats_nothing() -> None:
    """The same analyst asks other questions where answers differ; up to the first answer they are the same."""

    def stream(seed: int) -> list[Conjunction]:
        table = adult(DATA, 10_000, seed=0)
        session = OnlinePMW(queries=300).start(table, PureDP(1.0, Neighbours.REPLACE), noise=SeededNoise(seed))
        return [heard.question for heard in Analyst(DOMAIN, seed=1).stream(session, 300, 10_000.0)]

    one, other = stream(0), stream(1)
    assert one[0] == other[0]
    assert one != other
    assert one == stream(0)
    assert len({(question.scope, question.codes) for question in one}) == 300


def test_the_analyst_drills_down_where_it_stands() -> None:
    analyst = Analyst(DOMAIN, seed=0)
    stand = Conjunction.where(DOMAIN, {"race": [0, 1]})
    analyst.hear(stand, worth_a_look=True)
    analyst.hear(Conjunction.where(DOMAIN, {"sex": [0]}), worth_a_look=False)
    assert analyst.stand == stand
    asked = [analyst.question() for _ in range(100)]
    refined = [
        each
        for each in asked
        if len(each.scope) == 2 and ("race", stand.codes[0]) in zip(each.scope, each.codes, strict=True)
    ]
    assert 30 <= len(refined) <= 70
    assert 0.0 < LARGE < 1.0


def test_budgets_are_pure_for_4c_and_noise_costs_what_they_allow() -> None:
    """k answers with the noise of the yardstick cost epsilon, or rho."""
    assert {name for name in VARIANTS if isinstance(budget_of(name, 1.0), PureDP)} == set(PURE)
    assert independent(PURE[0], 100, 1000.0, 0.5) == pytest.approx(100 / 0.5 / 1000)
    rho = budget_of(THEOREM[1], 0.5).limit
    sigma = independent(THEOREM[1], 100, 1000.0, 0.5) * 1000 / math.sqrt(2 / math.pi)
    assert 100 / (2 * sigma**2) == pytest.approx(rho)


# ---- the threshold of the source ------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("records", [10 * RECORDS, 10_000 * RECORDS])
def test_the_three_rules_are_what_they_say(setting: str, records: int) -> None:
    columns, alpha = SETTINGS[setting]
    domain = DOMAIN.project(columns)
    cell = {"setting": setting, "records": records, "questions": 20_000}
    source, corrected, smallest = (numbers_of({**cell, "rule": rule}, domain) for rule in (SOURCE, CORRECTED, SMALLEST))
    assert source[1] == corrected[1]
    assert source[0].threshold == 2.0 * source[1]
    assert corrected[0].threshold == pytest.approx(2.0 * max(alpha, corrected[1]), rel=1e-9)
    assert replace(source[0], threshold=0.0) == replace(corrected[0], threshold=0.0)
    assert source[0].updates == math.floor(4.0 * math.log(domain.size) / alpha**2)
    assert 2.0 * smallest[0].step == pytest.approx(smallest[1], rel=1e-2)
    assert len(RULES) == 3


def test_the_loop_is_the_mechanism_of_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """T is a hundred times the noise, which decides nothing: both fire at the same questions and answer the same."""
    domain = Domain(IntegerRange(name, 0, 3) for name in "abc")
    records, draw = 1 << 30, generator(0)
    questions = list(dict.fromkeys(random_condition(domain, draw) for _ in range(60)))
    weights = records // 256 * np.array([8, 4, 3, 1] * 4).repeat(4)
    table = Table(domain, np.unravel_index(np.arange(64), (4, 4, 4)), weights)
    exact = exact_answers(table, Workload.conjunctions(domain, questions)) / records
    make = with_rules(lambda stream, budget, amount: two_sided_rules(stream, budget, amount, alpha=0.05))
    monkeypatch.setattr(OnlinePMW, "rules", make)
    session = OnlinePMW(variant="4a", queries=100).start(table, PureDP(1.0, Neighbours.REPLACE), noise=SeededNoise(0))
    rules = session.rules
    course = source_loop(domain, questions, exact, Numbers.of(rules, records, rules.threshold / records), seed=1)
    heard = [session.ask(question) for question in questions]
    assert [each.source == "data" for each in heard] == course.fired.tolist()
    assert 3 <= course.fired.sum() <= 50
    assert np.array([each.value for each in heard]) / records == pytest.approx(course.answers, abs=1e-3)


def test_after_c_fires_the_loop_answers_from_its_hypothesis_alone() -> None:
    domain = Domain((IntegerRange("a", 0, 3),))
    questions = [Conjunction.where(domain, {"a": [code]}) for code in (0, 1, 2, 3)] * 3
    exact = np.array([0.7, 0.1, 0.15, 0.05] * 3)
    rules = two_sided_rules(Stream(1e9, math.log(4), 12), PureDP(1.0), 1.0, alpha=1.0)
    by = replace(Numbers.of(rules, 1e9, 1e-4), updates=2)
    course = source_loop(domain, questions, exact, by, seed=0)
    assert course.fired.sum() > 2
    assert course.answers[:2] == pytest.approx(exact[:2], abs=1e-3)
    later = course.answers[4:].reshape(2, 4)
    assert np.array_equal(later[0], later[1])
    assert later[0].sum() == pytest.approx(1.0)
    assert np.abs(later[0] - exact[:4]).max() > 0.01
