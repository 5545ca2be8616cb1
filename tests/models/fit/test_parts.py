"""Fits to parts of marginals: what they say of their cells is learnt, in every form of hypothesis."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hedgerow.domain import Domain, IntegerRange
from hedgerow.models import Histogram, Markov, Model, Proximal, Refit, Sweeps, ValueClasses, refit
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind

DOMAIN = Domain((IntegerRange("age", 0, 11), IntegerRange("sex", 0, 1)))
PART = Marginal(DOMAIN, ("age",), Conjunction.where(DOMAIN, {"age": [3, 4, 5, 9]}))
FORMS: dict[str, Callable[[], Model]] = {
    "histogram": lambda: Histogram(DOMAIN, 1000.0),
    "trees": lambda: Markov(DOMAIN, 1000.0),
    "classes": lambda: ValueClasses(DOMAIN, 1000.0),
}


@pytest.mark.parametrize("rule", [Proximal(), Sweeps(sweeps=300, step="sharp")], ids=["proximal", "sweeps"])
@pytest.mark.parametrize("form", FORMS)
def test_cells_of_a_part_are_fitted_and_the_rest_stays_even(form: str, rule: Refit) -> None:
    model = FORMS[form]()
    noisy = Measurement(PART, np.array([10.0, 250.0, 40.0, 300.0]), NoiseKind.GAUSSIAN, 0.1)
    refit(model, [noisy], rule)
    (table,) = model.marginals([("age",)])
    np.testing.assert_allclose(PART.of_table(table), noisy.values, atol=1.0)
    rest = np.delete(table, [3, 4, 5, 9])
    np.testing.assert_allclose(rest, 400.0 / 8, rtol=0.01)


def test_a_part_of_everything_is_the_cells_one_by_one() -> None:
    values = np.random.default_rng(0).dirichlet(np.ones(24)) * 1000.0
    whole = Measurement(Marginal(DOMAIN, ("age", "sex")), values, NoiseKind.LAPLACE, 0.01)
    within = Conjunction.where(DOMAIN, {"age": range(12)})
    part = Measurement(Marginal(DOMAIN, ("age", "sex"), within), values, NoiseKind.LAPLACE, 0.01)
    tables = []
    for noisy in (whole, part):
        model = Histogram(DOMAIN, 1000.0)
        refit(model, [noisy], Proximal())
        tables.append(model.marginals([("age", "sex")])[0])
    np.testing.assert_allclose(tables[0], tables[1], atol=0.5)
