"""Histograms over levels on the records that can exist: long histories, sweeps, parts, bases and slices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Constraint, Derived, Domain, IntegerRange, spread_over, width_level
from hedgerow.errors import ConfigError
from hedgerow.models import KINDS, Histogram, Kind, Potentials, RowLayout
from hedgerow.models.dense.cells import Weights
from hedgerow.queries import Conjunction
from hedgerow.release import StoredModel, model_to_dict
from tests.examples import examples
from tests.models.strategies import (
    leveled_cliques,
    leveled_conjunctions,
    leveled_domains,
    leveled_queries,
)
from tests.reference.feasible_model import FeasibleModel


def cells_of(model: Histogram) -> Floats:
    return model.marginals([model.domain.names])[0]


def close(model: Histogram, reference: FeasibleModel, tolerance: float = 1e-10) -> None:
    """All cells agree, and those that constraints rule out are exactly 0."""
    cells = cells_of(model)
    assert (cells[~reference.feasible] == 0.0).all()
    expected = reference.marginal(model.domain.names)
    np.testing.assert_allclose(cells, expected, rtol=tolerance, atol=tolerance * model.total)


def ruled() -> Domain:
    """Children have no income and are not married; two ages in one group of three years."""
    age, income, married = IntegerRange("age", 0, 17), IntegerRange("income", 0, 4), IntegerRange("married", 0, 1)
    is_child = [1] * 9 + [0] * 9
    return Domain(
        (age, income, married, IntegerRange("other", 0, 3)),
        [width_level(age, 3), Derived(IntegerRange("status", 0, 2), ("income", "married"), [[0, 0], *[[1, 2]] * 4])],
        [
            Constraint("child and income > 0", ("age", "income"), [is_child, [0, 1, 1, 1, 1]], [[1, 1], [1, 0]]),
            Constraint("child and married", ("age", "married"), [is_child, [0, 1]], [[1, 1], [1, 0]]),
        ],
    )


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("seed", range(3))
def test_cells_that_can_have_records_revive_and_others_never_do(seed: int) -> None:
    """Cells are driven down by e**-2000 and brought back, by conditions and tables over levels, in random order."""
    domain = ruled()
    rng = np.random.default_rng(seed)
    model, reference = Histogram(domain, 1000.0), FeasibleModel(domain, 1000.0)
    asked = [Conjunction.where(domain, {"age.3": [i], "other": [j]}) for i in range(6) for j in range(4)]
    asked += [Conjunction.where(domain, {"status": [i]}) for i in range(3)]
    scopes = [("other", "age.3"), ("age.3", "status"), ("age", "income"), ("other", "status")]
    stack: list[tuple[Conjunction, float]] = []
    for i in range(600):
        draw = rng.integers(6)
        query, step = asked[rng.integers(len(asked))], float(rng.normal(0, 5))
        if draw == 0:
            step = float(rng.choice([-2000.0, -700.0, -120.0, 35.0]))
            stack.append((query, step))
        elif draw == 1 and stack:
            query, step = stack.pop(rng.integers(len(stack)))
            step = -step
        if draw == 2:
            scope = scopes[rng.integers(len(scopes))]
            table = rng.normal(0, 30, domain.shape_of(scope))
            model.reweigh(scope, table)
            reference.reweigh(scope, table)
        else:
            model.update(query, step)
            reference.update(query, step)
        if i % 10 == 0:
            scope = scopes[rng.integers(len(scopes))]
            np.testing.assert_allclose(model.marginals([scope])[0], reference.marginal(scope), rtol=0, atol=1e-6)
    for query, step in stack:
        model.update(query, -step)
        reference.update(query, -step)
    close(model, reference, 1e-9)


@settings(max_examples=examples(40))
@given(st.data(), leveled_domains(), st.integers(1, 3))
def test_a_sweep_over_conditions_on_levels_equals_steps_one_by_one(
    data: st.DataObject, domain: Domain, sweeps: int
) -> None:
    asked = data.draw(st.lists(leveled_conjunctions(domain), min_size=1, max_size=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    targets, rates = rng.uniform(-0.2, 1.2, len(asked)), rng.uniform(0.1, 5.0, len(asked))
    model, reference = Histogram(domain, 10.0), FeasibleModel(domain, 1.0)
    model.sweep(asked, targets, rates, sweeps, "explicit")
    for q in list(range(len(asked))) * sweeps:
        reference.update(asked[q], rates[q] * (targets[q] - reference.answer(asked[q])))
    reference.total = 10.0
    close(model, reference)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_conditions_that_no_record_meets_take_no_steps(kind: Kind) -> None:
    """Else their log-factors would grow with every sweep, and the weights be built again and again."""
    domain = ruled()
    children = Conjunction.where(domain, {"age.3": [0, 1], "income": [2]})
    asked = [children, Conjunction.where(domain, {"income": [2]})]
    model, alone = Histogram(domain, 10.0), Histogram(domain, 10.0)
    steps = model.sweep(asked, np.array([0.5, 0.3]), np.array([900.0, 3.0]), 5, kind)
    expected = alone.sweep(asked[1:], np.array([0.3]), np.array([3.0]), 5, kind)
    assert steps.tolist() == [0.0, *expected.tolist()]
    model.update(children, 1e6)
    assert list(model.potentials().steps) == asked[1:]
    assert np.array_equal(cells_of(model), cells_of(alone))
    vanished = Conjunction.where(domain, {"income": [2], "other": [1]})
    model.update(vanished, -1500.0)
    model.update(vanished, 1500.0)  # nothing is left of it, but records could be there
    np.testing.assert_allclose(cells_of(model), cells_of(alone), rtol=1e-10)


def test_what_constraints_rule_out_is_not_taken_for_lost_after_a_fit() -> None:
    """The cells of the fit are taken over; they are made from log-factors again only where some have vanished."""
    domain = ruled()
    rebuild, rebuilt = Weights.rebuild, list[Weights]()
    for lowest, times in ((-20.0, 0), (-600.0, 1), (-2000.0, 1)):
        model, reference = Histogram(domain, 10.0), FeasibleModel(domain, 10.0)
        factors = np.linspace(0.0, 1.0, domain["income"].size)
        factors[2] = lowest
        reference.reweigh(("income",), factors)
        cells = model.marginals([domain.names])[0] > 0.0
        rebuilt.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Weights, "rebuild", lambda cells, *given: (rebuilt.append(cells), rebuild(cells, *given)))
            model.settle([cells * np.exp(spread_over(domain, factors, ("income",), domain.names))], {})
            model.credit(Potentials({("income",): factors}))
        assert len(rebuilt) == times
        model.update(Conjunction.where(domain, {"income": [2]}), 2.0 - lowest)
        reference.update(Conjunction.where(domain, {"income": [2]}), 2.0 - lowest)
        close(model, reference)


@settings(max_examples=examples(40))
@given(st.data(), leveled_domains())
def test_many_factors_at_once_are_those_one_by_one(data: st.DataObject, domain: Domain) -> None:
    model, reference = Histogram(domain, 20.0), FeasibleModel(domain, 20.0)
    scopes = data.draw(st.lists(leveled_cliques(domain).filter(bool), max_size=3, unique=True))
    rng = np.random.default_rng(len(scopes))
    tables = {scope: rng.normal(0, 1, domain.shape_of(scope)) for scope in scopes}
    query = data.draw(leveled_conjunctions(domain))
    model.reweigh_all(Potentials(tables, {query: 0.4}))
    reference.update(query, 0.4)
    for scope, table in tables.items():
        reference.reweigh(scope, table)
    close(model, reference)


@settings(max_examples=examples(30))
@given(st.data(), leveled_domains())
def test_a_base_has_no_mass_where_there_are_no_records(data: st.DataObject, domain: Domain) -> None:
    rng = np.random.default_rng(5)
    base = np.exp(rng.normal(0, 50, domain.shape))
    model, reference = Histogram(domain, 9.0, base), FeasibleModel(domain, 9.0, base)
    query = data.draw(leveled_queries(domain))
    model.update(query, 1.5)
    reference.update(query, 1.5)
    close(model, reference, 1e-9)
    saved = StoredModel(domain, 9.0, *model_to_dict(model)).build()
    assert isinstance(saved, Histogram)
    close(saved, reference, 1e-9)
    again = np.exp(rng.normal(0, 50, domain.shape))
    model = Histogram(domain, 9.0, again)
    close(model, FeasibleModel(domain, 9.0, again), 1e-9)
    model.update(query, 1.5)
    model.reset()
    close(model, FeasibleModel(domain, 9.0, again), 1e-9)
    table = np.ones(domain.shape)
    model.add_to(table)
    assert (table[~reference.feasible] == 1.0).all()


def test_starts_without_a_record_are_refused() -> None:
    domain = ruled()
    children = np.zeros(domain.shape)
    children[0, 3] = 1.0
    with pytest.raises(ConfigError, match="not all 0"):
        Histogram(domain, 1.0, children)
    everyone = Constraint("married", ("married",), [[0, 1]], [True, False])
    no_one = Constraint("not married", ("married",), [[0, 1]], [False, True])
    with pytest.raises(ConfigError, match="no record"):
        Histogram(Domain(domain.attributes, (), (everyone, no_one)), 1.0)


@given(st.data(), leveled_domains())
def test_slices_hold_the_cells_of_conditions_on_levels(data: st.DataObject, domain: Domain) -> None:
    layout = RowLayout(domain)
    query = data.draw(leveled_conjunctions(domain))
    place = layout.slice_of(query)
    inner = place.gather if place.gather.size else np.arange(place.count) * place.stride
    found = np.zeros(domain.size)
    np.add.at(found, (place.outer[:, None] + inner).reshape(-1), 1.0)
    every = FeasibleModel(Domain(domain.attributes, domain.declared), 1.0)
    expected = query.values().reshape(-1)[every.cells_of(query.scope)]
    assert np.array_equal(layout.in_domain_order(found).reshape(-1), expected)
