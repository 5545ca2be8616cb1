"""Compiled fits of trees with levels and cells that no record can have: the same as steps over listed records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Constraint, Domain, IntegerRange, width_level
from hedgerow.models import (
    Beliefs,
    Histogram,
    JunctionTree,
    Markov,
    Proximal,
    Refit,
    Sweeps,
    TreeFit,
    WalkLayout,
    refit,
)
from hedgerow.models.tree_fit import layout as layout_module
from hedgerow.queries import LinearQuery, Marginal, Measurable, Measurement, NoiseKind
from tests.examples import examples
from tests.models.fit.test_refit import one_by_one
from tests.models.strategies import domain_of, leveled_cliques, leveled_domains, leveled_queries
from tests.models.tree_fit.test_tree_fit import with_hosts_everywhere, without_fallback
from tests.reference import feasible_fit
from tests.reference.feasible_model import FeasibleModel

TOTAL = 500.0


@st.composite
def noisy(draw: st.DrawFn, domain: Domain) -> list[Measurement]:
    """Measurements around a random truth; those of cells that no record can have are far off."""
    truth, rng = FeasibleModel(domain, TOTAL), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth.logs = rng.normal(0, 1.5, len(truth.records))
    found = []
    for _ in range(draw(st.integers(1, 6))):
        scope = draw(leveled_cliques(domain))
        target: Measurable = Marginal(domain, scope) if scope and draw(st.booleans()) else draw(leveled_queries(domain))
        if target.scope:
            exact = target.of_table(truth.marginal(target.scope))
            found.append(Measurement(target, exact + rng.normal(0, 8.0, target.size), NoiseKind.GAUSSIAN, 8.0))
    return found


def parts_of(tree: JunctionTree) -> list[Beliefs]:
    """A part for each component of a forest."""
    part = list(range(len(tree.cliques)))
    for i, j in tree.edges:
        part = [part[i] if each == part[j] else each for each in part]
    made = []
    for each in dict.fromkeys(part):
        inside = [i for i in range(len(part)) if part[i] == each]
        place = {i: new for new, i in enumerate(inside)}
        edges = tuple((place[i], place[j]) for i, j in tree.edges if i in place)
        made.append(Beliefs(JunctionTree(tree.domain, tuple(tree.cliques[i] for i in inside), edges)))
    return made


def order_of(parts: Sequence[Beliefs | Histogram], known: Sequence[Measurement], *, ordered: bool) -> list[int]:
    """The order in which the compiled sweeps take the steps."""
    scopes = [m.target.domain.axes(m.target.scope) for m in known]
    layout = WalkLayout.of([part.tree for part in parts], scopes, ordered=ordered)
    steps = [layout.members[first:last].tolist() for first, last in layout.visits[:, 5:].tolist()]
    return [m for some in steps for m in some]


def close(found: Floats, expected: Floats, tolerance: float) -> None:
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), rtol=0.0, atol=tolerance)
    assert np.array_equal(found == 0.0, expected == 0.0)


def check(domain: Domain, known: Sequence[Measurement], rule: Refit, tolerance: float) -> None:
    scopes = [*(scope for scope, _ in domain.zeros), *(m.target.scope for m in known)]
    parts = parts_of(JunctionTree.of(domain, scopes))
    phases = rule.phases(known, TOTAL)
    order = order_of(parts, known, ordered=not rule.anew)
    expected = FeasibleModel(domain, TOTAL)
    rng, start = np.random.default_rng(len(known)), []
    if not rule.anew:
        for m in known[::2]:
            start.append((m.target.scope, rng.normal(size=domain.shape_of(m.target.scope))))
    for scope, table in start:
        expected.reweigh(scope, table)
        next(part for part in parts if part.tree.find(scope) is not None).add(scope, table)
    feasible_fit.fit(expected, known, phases, order)
    fit = TreeFit(parts, known, ordered=not rule.anew)
    assert all(fit.run(phase) for phase in phases)
    assert fit.settle()
    for part in parts:
        for i, stored in enumerate(part.tree.stored):
            close(part.sums(i, stored), expected.marginal(stored), tolerance)
    again = FeasibleModel(domain, TOTAL)
    factors = fit.log_factors()
    for scope, table in [*start, *factors.tables.items()]:
        again.reweigh(scope, table)
    for query, moved in factors.steps.items():
        again.update(query, moved)
    close(again.masses, expected.masses, tolerance)
    asked = {m.target.scope for m in known if not isinstance(m.target, Marginal)}
    for scope in {m.target.scope for m in known} - asked:
        assert not factors.tables[scope][expected.marginal(scope) == 0.0].any()


RULES = [Sweeps(1), Sweeps(3, "sharp"), Proximal(growth=4.0, polish=3)]


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=examples(60))
@given(st.data(), st.sampled_from(["plain", "hosts", "rows"]))
def test_fits_equal_those_of_listed_records(rule: Refit, data: st.DataObject, layout: str) -> None:
    domain = data.draw(leveled_domains())
    known = data.draw(noisy(domain))
    assume(known)
    with pytest.MonkeyPatch.context() as patch:
        if layout == "hosts":
            with_hosts_everywhere(patch)
        if layout != "plain":
            patch.setattr(layout_module, "_ONE_ROW", 4)
            patch.setattr(layout_module.tree_hosts, "ROW", 2)
        check(domain, known, rule, 1e-10 if isinstance(rule, Sweeps) and rule.sweeps == 1 else 1e-8)


def says_nothing(model: FeasibleModel, target: Measurable) -> bool:
    """Whether all records have the same value; trees need no room for such queries."""
    return isinstance(target, LinearQuery) and np.ptp(target.values().reshape(-1)[model.cells_of(target.scope)]) == 0.0


@pytest.mark.parametrize("rule", RULES, ids=str)
@settings(max_examples=examples(60))
@given(st.data())
def test_products_over_trees_take_the_steps_of_listed_records(rule: Refit, data: st.DataObject) -> None:
    """From the model as it is where the rule says so, and without a step in logarithms."""
    domain = data.draw(leveled_domains())
    model, expected = Markov(domain, TOTAL), FeasibleModel(domain, TOTAL)
    known = [m for m in data.draw(noisy(domain)) if not says_nothing(expected, m.target)]
    assume(known)
    if not rule.anew:
        scope = known[0].target.scope
        table = np.random.default_rng(1).normal(size=domain.shape_of(scope))
        model.reweigh(scope, table)
        expected.reweigh(scope, table)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("nested", "measured_levels"):  # it takes no such steps
            patch.setattr(f"hedgerow.models.fit.refit.{name}", lambda known: False)
        without_fallback(patch)
        refit(model, known, rule)
    feasible_fit.fit(expected, known, rule.phases(known, TOTAL), order_of(model.forest, known, ordered=not rule.anew))
    close(model.marginals([domain.names])[0], expected.marginal(domain.names), 1e-8)
    again = Markov.from_potentials(domain, TOTAL, model.potentials())
    close(again.marginals([domain.names])[0], expected.marginal(domain.names), 1e-8)


@settings(max_examples=examples(30))
@given(st.data())
def test_measurements_that_come_later_find_their_place(data: st.DataObject) -> None:
    """The fit is that of a model that knew all of them from the start, whatever variables came first."""
    domain = data.draw(leveled_domains())
    known = data.draw(noisy(domain))
    assume(known)
    model, fresh = Markov(domain, TOTAL), Markov(domain, TOTAL)
    rule = Proximal(c=0.05, growth=1e6, polish=300)
    for count in range(1, len(known) + 1):
        refit(model, known[:count], Proximal(growth=4.0, polish=1) if count < len(known) else rule)
    refit(fresh, known, rule)
    close(model.marginals([domain.names])[0], fresh.marginals([domain.names])[0], 1e-8)


@settings(max_examples=examples(40))
@given(st.data())
def test_products_over_trees_and_histograms_are_fitted_alike(data: st.DataObject) -> None:
    """Long joint steps of all measurements converge, in whatever order they are taken."""
    domain = data.draw(leveled_domains(largest=3, longest=3))
    known = [m for m in data.draw(noisy(domain)) if isinstance(m.target, Marginal)]
    assume(known)
    rule = Proximal(c=0.05, growth=1e6, polish=300)
    models = Markov(domain, TOTAL), Histogram(domain, TOTAL)
    refit(models[0], known, rule)
    one_by_one(models[1], known, rule)
    found, expected = (model.marginals([domain.names])[0] for model in models)
    close(found, expected, 1e-8)


def test_what_underflows_is_not_taken_for_what_cannot_be() -> None:
    """A cell of ``exp(-900)`` beside cells that no record has sends the fit to logarithms."""
    rule = Constraint("not both", ("x0", "x1"), [[0, 1], [0, 1]], [[1, 1], [1, 0]])
    domain = Domain(domain_of(2, 2, 2).attributes, (), (rule,))
    model, expected = Markov(domain, TOTAL), FeasibleModel(domain, TOTAL)
    for each in (model, expected):
        each.reweigh(("x1", "x2"), np.array([[0.0, -900.0], [0.3, -900.0]]))
    known = [
        Measurement(Marginal(domain, scope), np.array([200.0, 100.0, 90.0, 110.0]), NoiseKind.GAUSSIAN, 8.0)
        for scope in (("x0", "x1"), ("x1", "x2"))
    ]
    part = model.part("x1")
    assert not all(TreeFit([part], known, ordered=True).run(phase) for phase in Sweeps(3).phases(known, TOTAL))
    refit(model, known, Sweeps(3))
    feasible_fit.fit(expected, known, Sweeps(3).phases(known, TOTAL), range(2))
    close(model.marginals([domain.names])[0], expected.marginal(domain.names), 1e-9)


def test_a_column_of_many_codes_costs_its_codes_once() -> None:
    """10,000 codes in three levels; pairs of the coarser ones with other columns."""
    code = IntegerRange("code", 0, 9_999)
    others = [IntegerRange(f"x{i}", 0, 7) for i in range(4)]
    domain = Domain([code, *others], [width_level(code, 10), width_level(code, 100), width_level(code, 1000)])
    rng = np.random.default_rng(3)
    scopes = [("code",), ("x0", "code.100"), ("x1", "code.1000"), ("x2", "code.1000"), ("x3", "code.10"), ("x0", "x1")]
    targets = [Marginal(domain, scope) for scope in scopes]
    known = [Measurement(target, rng.uniform(0, 50, target.size), NoiseKind.GAUSSIAN, 9.0) for target in targets]
    model = Markov(domain, 1e5)
    refit(model, known, Proximal(polish=2))
    assert model.cells < 60_000
    fine, coarse = model.marginals([("code",), ("code.100",)])
    np.testing.assert_allclose(fine.reshape(100, 100).sum(axis=1), coarse, rtol=1e-9)
    (pair,) = model.marginals([("x0", "code.100")])
    np.testing.assert_allclose(pair.sum(axis=0), coarse, rtol=1e-9)


def test_a_level_that_is_no_member_is_found_where_it_is_determined() -> None:
    domain = Domain([IntegerRange("sex", 0, 1), IntegerRange("age", 0, 99), IntegerRange("hours", 0, 98)])
    tree = JunctionTree.of(domain, [("sex", "age"), ("age", "hours")])
    assert tree.plain
    rng = np.random.default_rng(4)
    targets = [Marginal(domain, scope) for scope in (("sex", "age.10"), ("hours", "age.10"), ("hours.10",))]
    known = [Measurement(target, rng.uniform(0, 50, target.size), NoiseKind.GAUSSIAN, 9.0) for target in targets]
    part = Beliefs(tree)
    fit = TreeFit([part], known, ordered=True)
    phases = Sweeps(2).phases(known, TOTAL)
    assert all(fit.run(phase) for phase in phases)
    assert fit.settle()
    expected = FeasibleModel(domain, TOTAL)
    feasible_fit.fit(expected, known, phases, range(3))
    for i, stored in enumerate(tree.stored):
        close(part.sums(i, stored), expected.marginal(stored), 1e-10)
