"""Single queries that a fit left too far from their answers: how much longer it must be, and where that ends."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Constraint, Domain, IntegerRange
from hedgerow.models import Histogram, Markov, Model, Proximal, ValueClasses, refit
from hedgerow.models.fit.stopping import held_back
from hedgerow.queries import Conjunction, Explicit, LinearQuery, Marginal, Measurement, NoiseKind

TOTAL = 20_000.0
ADAPTED = Proximal(adapted=True)


def people(columns: int, size: int = 10) -> Domain:
    """Children have one combination of values of some columns, adults all: so few of the records are children."""
    ages = IntegerRange("age", 0, 99)
    plain = tuple(IntegerRange(f"x{i}", 0, size - 1) for i in range(columns))
    groups, some = [0] * 15 + [1] * 85, [0] + [1] * (size - 1)
    rules = [
        Constraint(f"children have no {each.name}", ("age", each.name), [groups, some], [[1, 0], [1, 1]])
        for each in plain
    ]
    return Domain((ages, *plain), (), rules)


def asked(query: LinearQuery, count: float, sigma: float = 50.0) -> Measurement:
    return Measurement(query, np.array([count]), NoiseKind.GAUSSIAN, sigma)


def below(domain: Domain, age: int) -> Conjunction:
    return Conjunction.where(domain, {"age": range(age)})


def value(model: Model, query: LinearQuery) -> float:
    return float(query.on(model)[0])


@pytest.mark.parametrize(("make", "columns"), [(Histogram, 4), (Markov, 4), (Markov, 12), (ValueClasses, 12)])
def test_a_group_that_hardly_exists_at_first_is_learnt(make: Callable[[Domain, float], Model], columns: int) -> None:
    domain = people(columns)
    children, infants = below(domain, 15), below(domain, 5)
    model = make(domain, TOTAL)
    assert value(model, children) < 0.5
    refit(model, [asked(children, 2_900.0)], ADAPTED)
    assert abs(value(model, children) - 2_900.0) < 100.0
    refit(model, [asked(children, 2_900.0), asked(infants, 900.0)], ADAPTED)
    assert abs(value(model, children) - 2_900.0) < 100.0
    assert abs(value(model, infants) - 900.0) < 100.0
    if columns == 12:
        refit(model, [asked(children, 2_900.0)], Proximal())
        assert value(model, children) < 2_000.0


def step_by_bisection(tilted: Callable[[float], float], aim: float) -> float:
    low, high = -200.0, 200.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if tilted(middle) < aim else (low, middle)
    return low


@pytest.mark.parametrize("answer", [900.0, 100.0])
def test_the_length_that_is_added_ends_one_standard_deviation_from_the_answer(answer: float) -> None:
    """Slowly: the cells tilted by a step, and the step found by bisection."""
    domain, rng, sigma = Domain((IntegerRange("a", 0, 19),)), np.random.default_rng(1), 2.0
    weights = rng.random(20)
    query = Explicit.of(domain, ["a"], weights, "weights")
    model = Histogram(domain, 1000.0)
    lengths = np.array([3.0])
    cells, values = np.full(20, 0.05), query.values()

    def tilted(step: float) -> float:
        after = cells * np.exp(step * values)
        return float(values @ after / after.sum())

    y = float(np.clip(answer / 1000.0, values.min(), values.max()))
    aim = y - sigma / 1000.0 if answer > 500.0 else y + sigma / 1000.0
    step = step_by_bisection(tilted, aim)
    factor = held_back(model, [asked(query, answer, sigma)], lengths)[0]
    assert factor == pytest.approx(1.0 + abs(step) / (sigma / 1000.0) / 3.0, rel=1e-8)


def test_only_what_noise_does_not_explain_is_held_back() -> None:
    domain = Domain((IntegerRange("a", 0, 1), IntegerRange("b", 0, 9)))
    model = Histogram(domain, 1000.0)
    half, tenth = Conjunction.where(domain, {"a": [0]}), Conjunction.where(domain, {"b": [0]})
    table = Marginal(domain, ("a",))
    far: Floats = np.array([900.0, 100.0])
    told = [
        asked(half, 519.0, 10.0),
        asked(half, 521.0, 10.0),
        asked(half, 479.0, 10.0),
        asked(half, 900.0, 0.0),
        asked(tenth, -900.0, 60.0),
        asked(tenth, -900.0, 40.0),
        Measurement(table, far, NoiseKind.GAUSSIAN, 10.0),
    ]
    found = held_back(model, told, np.full(len(told), 100.0))
    assert (found > 1.0).tolist() == [False, True, True, False, False, True, False]
    assert found.min() == 1.0
    assert found[1] == 4.0


def test_answers_that_contradict_each_other_are_met_somewhere_between() -> None:
    domain = people(6)
    model = Markov(domain, TOTAL)
    children, adults = below(domain, 15), Conjunction.where(domain, {"age": range(15, 100)})
    old = Conjunction.where(domain, {"age": range(80, 100)})
    refit(model, [asked(children, 4_000.0), asked(adults, 18_000.0), asked(old, 1_500.0)], ADAPTED)
    assert 1_900.0 < value(model, children) < 4_100.0
    assert abs(value(model, old) - 1_500.0) < 100.0


def test_a_fit_that_is_long_enough_is_left_alone() -> None:
    domain = Domain((IntegerRange("a", 0, 3), IntegerRange("b", 0, 3)))
    told = [
        asked(Conjunction.where(domain, {"a": [0]}), 6_000.0),
        asked(Conjunction.where(domain, {"b": [1]}), 4_000.0),
    ]
    plain, adapted = Histogram(domain, TOTAL), Histogram(domain, TOTAL)
    refit(plain, told, Proximal())
    refit(adapted, told, ADAPTED)
    np.testing.assert_array_equal(*(each.marginals([domain.names])[0] for each in (plain, adapted)))
