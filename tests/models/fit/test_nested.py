"""Tables over levels of one attribute: the optimum, in every form of hypothesis, and when it applies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from hedgerow.arrays import Floats
from hedgerow.domain import Derived, Domain, IntegerRange, impossible, width_level
from hedgerow.errors import ConfigError
from hedgerow.models import (
    Histogram,
    Markov,
    Model,
    Nested,
    Proximal,
    Stretched,
    Sweeps,
    ValueClasses,
    consistent,
    nested,
    refit,
)
from hedgerow.queries import Conjunction, Marginal, Measurable, Measurement, NoiseKind
from tests.reference.feasible_model import FeasibleModel
from tests.reference.nested_fit import optimum

TOTAL = 400.0
AGE = IntegerRange("age", 0, 37)
SEX = IntegerRange("sex", 0, 1)
LEVELS = [width_level(AGE, 5), width_level(AGE, 20)]
PLAIN = Domain([AGE], LEVELS)
WIDE = Domain([SEX, AGE], [*LEVELS, Derived(IntegerRange("age.odd", 0, 1), ("age",), np.arange(38) % 2)])
RULED = Domain(WIDE.attributes, WIDE.derived, [impossible(WIDE, "age < 7"), impossible(WIDE, "age > 30 and sex = 1")])


def tables(domain: Domain, scales: Sequence[float], seed: int = 1) -> list[Measurement]:
    """Noisy tables over three levels of ages most of which nobody has; the last one is measured again."""
    rng = np.random.default_rng(seed)
    truth = FeasibleModel(domain, TOTAL)
    truth.logs = truth.logs - 0.3 * np.abs(truth.column("age") - 12.0)
    found = []
    for name, scale in zip(("age.20", "age.5", "age", "age"), scales, strict=True):
        exact = truth.marginal((name,)).reshape(-1)
        found.append(
            Measurement(
                Marginal(domain, (name,)), exact + rng.laplace(0.0, scale, exact.size), NoiseKind.LAPLACE, scale
            )
        )
    return found


def expected(domain: Domain, known: Sequence[Measurement], c: float, steps: int) -> Floats:
    """The marginal of ages after some optima of listed cells, one from the other."""
    start = FeasibleModel(domain, TOTAL).marginal(("age",)).reshape(-1) / TOTAL
    cells = start > 0.0
    ages, levels = np.arange(38)[cells], (20, 5, 1)
    answers = consistent(known, TOTAL)[:3]
    rows, targets, lengths = [], [], []
    for width, answer in zip(levels, answers, strict=True):
        blocks = np.unique(ages // width)
        rows.append((ages // width == blocks[:, None]).astype(np.float64))
        targets.append(answer[blocks])
        noises = [each.std / TOTAL for each in known if each.values.size == answer.size]
        lengths.append(math.sqrt(len(ages) / len(blocks)) * sum(c / steps / noise for noise in noises))
    p = start[cells]
    for _ in range(steps):
        p = optimum(p, rows, targets, lengths)
    found = np.zeros(38)
    found[cells] = TOTAL * p
    return found


@pytest.mark.parametrize("scales", [(1.0, 1.0, 1.0, 1.0), (0.3, 4.0, 10.0, 3.0), (9.0, 2.0, 30.0, 90.0)], ids=str)
@pytest.mark.parametrize("domain", [PLAIN, WIDE, RULED], ids=["plain", "wide", "ruled"])
@pytest.mark.parametrize("steps", [1, 3])
def test_steps_end_at_the_optimum_over_listed_cells(domain: Domain, scales: tuple[float, ...], steps: int) -> None:
    known = tables(domain, scales)
    model = Histogram(domain, TOTAL)
    Nested(c=0.7, steps=steps).fit(model, known)
    (found,) = model.marginals([("age",)])
    np.testing.assert_allclose(found / TOTAL, expected(domain, known, 0.7, steps) / TOTAL, rtol=0.0, atol=1e-10)
    assert np.array_equal(found == 0.0, FeasibleModel(domain, TOTAL).marginal(("age",)).reshape(-1) == 0.0)


FORMS: dict[str, Callable[[Domain], Model]] = {
    "histogram": lambda domain: Histogram(domain, TOTAL),
    "trees": lambda domain: Markov(domain, TOTAL),
    "classes": lambda domain: ValueClasses(domain, TOTAL),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("domain", [PLAIN, WIDE, RULED], ids=["plain", "wide", "ruled"])
def test_refits_of_every_form_are_this_one(form: str, domain: Domain) -> None:
    """Also from a model that learnt something before, and where the fit is to be adapted."""
    known = tables(domain, (2.0, 2.0, 2.0, 2.0))
    for rule in (Proximal(), Proximal(adapted=True)):
        model = FORMS[form](domain)
        model.reweigh(("age",), np.linspace(0.0, 2.0, 38))
        refit(model, known, rule)
        (found,) = model.marginals([("age",)])
        wanted = expected(domain, known, 1.3 * 0.6, Nested().steps)
        np.testing.assert_allclose(found / TOTAL, wanted / TOTAL, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("ruled", [False, True])
def test_grids_end_at_the_optimum_over_listed_cells(ruled: bool) -> None:
    """Tables over two attributes, in every form, and by the rule of a refit."""
    ages, hours = IntegerRange("age", 0, 11), IntegerRange("hours", 0, 5)
    domain = Domain([ages, hours], [width_level(ages, 4), width_level(hours, 3)])
    domain = Domain(domain.attributes, domain.derived, [impossible(domain, "age < 4 and hours > 2")] if ruled else [])
    rng, cells = np.random.default_rng(8), np.arange(72).reshape(12, 6)
    possible = FeasibleModel(domain, TOTAL).marginal(("age", "hours")).reshape(-1) > 0.0
    places = [cells, (cells // 6) * 2 + (cells % 6) // 3, (cells // 24) * 2 + (cells % 6) // 3]
    scopes = [("age", "hours"), ("age", "hours.3"), ("age.4", "hours.3")]
    truth, known, rows = rng.dirichlet(np.full(72, 0.4)) * possible * TOTAL, list[Measurement](), list[Floats]()
    for scope, place, scale in zip(scopes, places, (1.0, 3.0, 2.0), strict=True):
        exact = np.bincount(place.reshape(-1), truth, math.prod(domain.shape_of(scope)))
        noisy = exact + rng.laplace(0.0, scale, exact.size)
        known.append(Measurement(Marginal(domain, scope), noisy, NoiseKind.LAPLACE, scale))
        rows.append((place.reshape(-1)[possible] == np.arange(exact.size)[:, None]).astype(np.float64))
    start = possible / possible.sum()
    sizes = [np.count_nonzero(each.any(axis=1)) for each in rows]
    c, steps = 1.3 * 0.6, Nested().steps
    lengths = [
        c / steps * TOTAL / each.std * math.sqrt(sizes[0] / size) for each, size in zip(known, sizes, strict=True)
    ]
    p = start[possible]
    for _ in range(steps):
        p = optimum(p, rows, consistent(known, TOTAL), lengths)
    for model in (Histogram(domain, TOTAL), Markov(domain, TOTAL)):
        refit(model, known, Proximal())
        (found,) = model.marginals([("age", "hours")])
        np.testing.assert_allclose(found.reshape(-1)[possible] / TOTAL, p, rtol=0.0, atol=1e-10)
        assert (found.reshape(-1)[~possible] == 0.0).all()


def test_a_part_beside_others_is_fitted_alone() -> None:
    """Whether it is worth while to cut a histogram into parts, and whether trees connected them before, or not."""
    for sizes in ([2], [3, 4]):
        domain = Domain([AGE, *(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate(sizes))], LEVELS)
        known = tables(domain, (2.0, 2.0, 2.0, 2.0))
        values = np.linspace(1.0, 3.0, sizes[0]) * TOTAL / (2.0 * sizes[0])
        beside = Measurement(Marginal(domain, ("x0",)), values, NoiseKind.LAPLACE, 1.0)
        connected = Markov(domain, TOTAL, [("age", "x0")])
        tables_of = []
        for model in (Histogram(domain, TOTAL), Markov(domain, TOTAL), connected):
            refit(model, [beside, *known], Proximal())
            ages, found = model.marginals([("age",), ("x0",)])
            wanted = expected(PLAIN, known, 1.3 * 0.6, Nested().steps)
            np.testing.assert_allclose(ages / TOTAL, wanted / TOTAL, rtol=0.0, atol=1e-10)
            tables_of.append(found)
        np.testing.assert_allclose(tables_of[0], values, atol=3.0)
        np.testing.assert_allclose(tables_of[1:], [tables_of[0]] * 2, atol=1e-9)


def test_a_start_that_connects_attributes_leaves_nothing_apart() -> None:
    """Then steps towards one attribute move the other: all are fitted together."""
    base = np.random.default_rng(5).uniform(0.5, 2.0, WIDE.shape)
    known = tables(WIDE, (2.0, 2.0, 2.0, 2.0))
    sexes = Measurement(Marginal(WIDE, ("sex",)), np.array([300.0, 100.0]), NoiseKind.LAPLACE, 0.01)
    model = Histogram(WIDE, TOTAL, base)
    refit(model, [*known, sexes], Proximal())
    assert ("age.5",) in model.potentials().tables
    np.testing.assert_allclose(model.marginals([("sex",)])[0], sexes.values, atol=0.5)


def test_answers_without_noise_are_met() -> None:
    exact = np.random.default_rng(3).dirichlet(np.full(38, 0.3)) * TOTAL + 0.01
    exact *= TOTAL / exact.sum()
    sums = [np.bincount(np.arange(38) // width, exact) for width in (20, 5, 1)]
    known = [
        Measurement(Marginal(PLAIN, (name,)), values, NoiseKind.GAUSSIAN, 0.0)
        for name, values in zip(("age.20", "age.5", "age"), sums, strict=True)
    ]
    model = Histogram(PLAIN, TOTAL)
    refit(model, known, Proximal())
    np.testing.assert_allclose(model.marginals([("age",)])[0], exact, atol=1e-5)


def measured(*targets: Measurable) -> list[Measurement]:
    return [Measurement(target, np.ones(target.size), NoiseKind.LAPLACE, 1.0) for target in targets]


def table(*names: str) -> Marginal:
    return Marginal(WIDE, names)


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([table("age"), table("age.5")], True),
        ([table("age.20"), table("age.5")], True),
        ([table("age"), table("age.20"), table("age.5"), table("age")], True),
        ([table("age"), table("age")], False),
        ([table("age.5"), table("age.odd")], False),
        ([table("age"), table("age.5"), table("age.odd")], False),
        ([table("age"), table("sex")], False),
        ([table("sex", "age"), table("age.5")], False),
        ([table("sex", "age"), table("sex", "age.5")], True),
        ([table("sex", "age"), table("sex", "age.20"), table("sex", "age.5")], True),
        ([table("sex", "age.5"), table("sex", "age.odd")], False),
        ([table("sex", "age"), table("sex", "age.5"), table("age.20")], False),
        ([table("age"), table("age.5"), Conjunction.where(WIDE, {"age": [3]})], False),
        ([Marginal(WIDE, ("age",), Conjunction.where(WIDE, {"age": [3, 4]})), table("age.5")], False),
        ([], False),
    ],
)
def test_what_is_nested(known: list[Measurable], expected: bool) -> None:
    assert nested(measured(*known)) is expected


def test_other_tables_are_refused() -> None:
    with pytest.raises(ConfigError, match="next finer one"):
        Nested().fit(Histogram(WIDE, TOTAL), measured(table("age"), table("sex")))


@pytest.mark.parametrize("wrong", [{"c": 0.0}, {"c": math.inf}, {"steps": 0}, {"iterations": 0}, {"tolerance": 0.0}])
def test_wrong_numbers_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="cannot be run"):
        Nested(**wrong)  # type: ignore[arg-type]


def test_sweeps_keep_their_steps() -> None:
    known, model = tables(PLAIN, (2.0, 2.0, 2.0, 2.0)), Histogram(PLAIN, TOTAL)
    refit(model, known, Sweeps(1))
    assert set(model.potentials().tables) == {("age",), ("age.5",), ("age.20",)}


def test_stretches_leave_nested_tables_alone() -> None:
    known = tables(PLAIN, (2.0, 2.0, 2.0, 2.0))
    stretched = Stretched(Proximal(), {id(each): 5.0 for each in known})
    assert stretched.longest(known, TOTAL) == 5.0 * Proximal().longest(known, TOTAL)
    usual, longer = Histogram(PLAIN, TOTAL), Histogram(PLAIN, TOTAL)
    refit(usual, known, Proximal())
    refit(longer, known, Proximal(adapted=True))
    assert np.array_equal(usual.marginals([("age",)])[0], longer.marginals([("age",)])[0])


def test_tables_that_a_start_connects_to_others_are_fitted_with_them() -> None:
    """A start says how sex depends on age: ages measured at two levels move with what is known of sex."""
    age, sex = IntegerRange("age", 0, 19), IntegerRange("sex", 0, 1)
    domain = Domain((age, sex))
    start = {("age", "sex"): np.where(np.arange(20)[:, None] < 10, [[3.0, -3.0]], [[-3.0, 3.0]])}
    ages = np.where(np.arange(20) < 10, 7.0, 3.0)
    known = [
        Measurement(Marginal(domain, ("age",)), ages, NoiseKind.GAUSSIAN, 1.0),
        Measurement(Marginal(domain, ("age.5",)), ages.reshape(4, 5).sum(axis=1), NoiseKind.GAUSSIAN, 1.0),
        Measurement(Marginal(domain, ("sex",)), np.array([70.0, 30.0]), NoiseKind.GAUSSIAN, 1.0),
    ]
    model = Markov(domain, 100.0, start=start)
    refit(model, known, Proximal())
    np.testing.assert_allclose(model.marginals([("age.5",)])[0], [35.0, 35.0, 15.0, 15.0], atol=3.0)
    np.testing.assert_allclose(model.marginals([("sex",)])[0], [70.0, 30.0], atol=3.0)


@pytest.mark.parametrize("adapted", [False, True])
def test_answers_that_say_nothing_change_nothing(adapted: bool) -> None:
    known = tables(PLAIN, (1e308, 5.0, 5.0, 5.0))
    model = Histogram(PLAIN, TOTAL)
    refit(model, [replace(known[0], values=np.full(2, 0.5 * TOTAL)), *known[1:]], Proximal(adapted=adapted))
    without = Histogram(PLAIN, TOTAL)
    refit(without, known[1:], Proximal(adapted=adapted))
    np.testing.assert_allclose(*(each.marginals([("age",)])[0] for each in (model, without)), atol=1e-3 * TOTAL)
