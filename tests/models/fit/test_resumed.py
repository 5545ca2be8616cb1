"""Fits that go on from the last one: the optimum that they reach, in every form and in any order."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import minimize

from hedgerow.arrays import Floats
from hedgerow.domain import Domain, IntegerRange
from hedgerow.errors import ConfigError
from hedgerow.models import Histogram, Markov, Proximal, ValueClasses, refit, resume
from hedgerow.models.fit.rules import CLOSE, FARTHEST, SHORTEST, can_resume
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind, answered

DOMAIN = Domain((IntegerRange("a", 0, 3), IntegerRange("b", 0, 4), IntegerRange("c", 0, 2)))
TOTAL, SIGMA = 1000.0, 5.0
Form = type[Histogram] | type[Markov] | type[ValueClasses]
FORMS: tuple[Form, ...] = (Histogram, Markov, ValueClasses)


def noisy(conditions: Sequence[dict[str, Sequence[int]]], values: Sequence[float]) -> list[Measurement]:
    return [
        Measurement(Conjunction.where(DOMAIN, each), np.array([value]), NoiseKind.GAUSSIAN, SIGMA)
        for each, value in zip(conditions, values, strict=True)
    ]


MEASURED = noisy(
    [{"a": [0, 1]}, {"a": [1], "b": [2, 3]}, {"b": [0, 2]}, {"b": [3], "c": [1]}, {"a": [2], "c": [0, 2]}, {"c": [2]}],
    [720.0, 130.0, 240.0, 4.0, 60.0, -8.0],
)


def corrected(
    form: type[Histogram | Markov | ValueClasses], measurements: Sequence[Measurement], again: int = 0
) -> Floats:
    """The answers after a correction for each measurement in turn, and some more with nothing new."""
    model = form(DOMAIN, TOTAL)
    for known in range(1, len(measurements) + 1):
        assert resume(model, measurements[:known])
    for _ in range(again):
        resume(model, measurements)
    return model.marginals([DOMAIN.names])[0]


def optimum(measurements: Sequence[Measurement]) -> Floats:
    """The same by a solver of its own: the dual, a convex function of the steps of all counts."""
    values = np.clip([each.values[0] / TOTAL for each in measurements], 0.0, 1.0)
    sigma = SIGMA / TOTAL
    cells = np.array([np.broadcast_to(_held(each), DOMAIN.shape).reshape(-1) for each in measurements])

    def dual(steps: Floats) -> float:
        size = np.abs(steps)
        short = size <= SHORTEST * FARTHEST
        pulled = np.where(short, size**2 / (2 * SHORTEST), FARTHEST * size - SHORTEST * FARTHEST**2 / 2)
        return float(np.log(np.exp(steps @ cells).mean()) - steps @ values + sigma * pulled.sum())

    found = minimize(dual, np.zeros(len(values)), method="BFGS", options={"gtol": 1e-9})
    p = np.exp(found.x @ cells)
    return np.asarray(TOTAL * (p / p.sum()).reshape(DOMAIN.shape), dtype=np.float64)


def _held(measured: Measurement) -> Floats:
    target = measured.target
    assert isinstance(target, Conjunction)
    shape = [size if name in target.scope else 1 for name, size in zip(DOMAIN.names, DOMAIN.shape, strict=True)]
    return target.values().reshape(shape)


@pytest.mark.parametrize("form", FORMS)
def test_the_fit_is_the_distribution_of_largest_entropy_with_bounded_residuals(
    form: Form,
) -> None:
    counts, best = [each.target for each in MEASURED], Histogram(DOMAIN, TOTAL, optimum(MEASURED))
    wanted = np.concatenate(answered(counts, best))
    found = Histogram(DOMAIN, TOTAL, corrected(form, MEASURED, again=20))
    assert np.abs(np.concatenate(answered(counts, found)) - wanted).max() <= 2 * CLOSE * SIGMA


def test_one_correction_each_comes_near_it_in_any_order() -> None:
    counts, best = [each.target for each in MEASURED], Histogram(DOMAIN, TOTAL, optimum(MEASURED))
    wanted = np.concatenate(answered(counts, best))
    for measurements in (MEASURED, MEASURED[::-1]):
        found = Histogram(DOMAIN, TOTAL, corrected(Markov, measurements))
        assert np.abs(np.concatenate(answered(counts, found)) - wanted).max() <= SIGMA


def test_all_forms_take_the_same_steps() -> None:
    histogram, trees, classes = (corrected(form, MEASURED) for form in FORMS)
    np.testing.assert_allclose(trees, histogram, atol=1e-6)
    np.testing.assert_allclose(classes, histogram, atol=1e-6)


def test_nothing_moves_where_every_answer_is_met() -> None:
    model = Markov(DOMAIN, TOTAL)
    for known in range(1, len(MEASURED) + 1):
        resume(model, MEASURED[:known])
    for _ in range(30):
        resume(model, MEASURED)
    before = model.potentials().steps
    resume(model, MEASURED)
    assert dict(model.potentials().steps) == dict(before)


def test_a_rare_group_is_not_held_back_by_a_hypothesis_that_gives_it_next_to_nothing() -> None:
    """A uniform start gives the one cell 1e-4 of the records; it has a third of them."""
    domain = Domain(IntegerRange(name, 0, 9) for name in "abcd")
    rare = Conjunction.where(domain, {name: [3] for name in "abcd"})
    model = Histogram(domain, TOTAL)
    measured = Measurement(rare, np.array([333.0]), NoiseKind.GAUSSIAN, 100.0)
    resume(model, [measured])
    assert model.conjunctions([rare])[0] == pytest.approx(333.0, abs=1.2 * 100.0)


@pytest.mark.parametrize(
    "other",
    [
        Measurement(Marginal(DOMAIN, ("a",)), np.full(4, 250.0), NoiseKind.GAUSSIAN, SIGMA),
        Measurement(Conjunction.where(DOMAIN, {"a": [0]}), np.array([250.0]), NoiseKind.GAUSSIAN, 0.0),
        MEASURED[0],
    ],
    ids=["a table", "no noise", "the same condition again"],
)
def test_what_is_no_list_of_different_counts_is_left_to_a_refit(other: Measurement) -> None:
    model = Markov(DOMAIN, TOTAL)
    assert not can_resume([*MEASURED, other])
    assert not resume(model, [*MEASURED, other])
    assert not model.potentials().steps
    refit(model, [*MEASURED, other], Proximal())
    assert model.potentials().steps


def test_answers_that_are_not_finite_are_refused() -> None:
    broken = Measurement(MEASURED[0].target, np.array([np.nan]), NoiseKind.GAUSSIAN, SIGMA)
    with pytest.raises(ConfigError, match="not finite"):
        resume(Markov(DOMAIN, TOTAL), [broken])
