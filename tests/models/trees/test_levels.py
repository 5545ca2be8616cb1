"""Trees over levels, functions of several attributes and constraints, against a list of all records that can exist."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from hedgerow.domain import Clique, Constraint, Derived, Domain, IntegerRange, width_level
from hedgerow.errors import DomainError
from hedgerow.models import JunctionTree, Markov, Model
from hedgerow.models.core import memory
from hedgerow.models.trees import answers as tree_answers, elimination, placing, present
from hedgerow.models.trees.ties import Ties
from hedgerow.queries import Conjunction, Parity
from tests.examples import examples
from tests.models.contract import LeveledContract
from tests.models.strategies import leveled_cliques, leveled_conjunctions, leveled_domains, leveled_queries
from tests.reference.feasible_model import FeasibleModel

thorough = settings(max_examples=examples(60), suppress_health_check=[HealthCheck.differing_executors])


class TestLevels(LeveledContract):
    def make(self, domain: Domain, total: float) -> Markov:
        return Markov(domain, total)

    def reload(self, model: Model) -> Model:
        assert isinstance(model, Markov)
        return Markov.from_potentials(model.domain, model.total, model.potentials())


class TestLevelsByElimination(TestLevels):
    """No conditionals are shared, conditions are evidence, and levels meet through their attribute."""

    @pytest.fixture(autouse=True)
    def _small_limits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(placing, "HELD_CELLS", 0)
        monkeypatch.setattr(tree_answers, "CHEAP_CELLS", 0)
        monkeypatch.setattr(present, "_OVERLAPS", 0)


def fitted(data: st.DataObject, domain: Domain) -> tuple[Markov, FeasibleModel]:
    """Both after the same updates; room for some scopes is made before, some trees are built again in between."""
    scopes = data.draw(st.lists(leveled_cliques(domain), max_size=3))
    model, reference = Markov(domain, 20.0, scopes), FeasibleModel(domain, 20.0)
    for _ in range(data.draw(st.integers(1, 8))):
        query, step = data.draw(leveled_queries(domain)), data.draw(st.floats(-3, 3))
        model.update(query, step)
        reference.update(query, step)
        if data.draw(st.booleans()):
            model.cover([data.draw(leveled_cliques(domain))])
    return model, reference


@thorough
@given(st.data(), leveled_domains())
def test_all_pairs_and_triples_of_variables(data: st.DataObject, domain: Domain) -> None:
    """All in one call, so that conditionals are shared."""
    model, reference = fitted(data, domain)
    names = [
        *domain.names,
        *(each.name for each in (*domain.derived, *domain.grains, *(meet for meet, _ in domain.meets))),
    ]
    asked = dict.fromkeys(domain.reduced(pair) for pair in itertools.combinations(names, 2))
    triples = list(itertools.combinations(names, 3))
    chosen = np.random.default_rng(data.draw(st.integers(0, 99))).permutation(len(triples))[:30]
    asked |= dict.fromkeys(domain.reduced(triples[place]) for place in chosen)
    for table, clique in zip(model.marginals(list(asked)), asked, strict=True):
        np.testing.assert_allclose(table, reference.marginal(clique), rtol=1e-10, atol=1e-10)


@thorough
@given(st.data(), leveled_domains(), st.booleans())
def test_many_conditions_on_tables_and_as_evidence(data: st.DataObject, domain: Domain, tabled: bool) -> None:
    model, reference = fitted(data, domain)
    asked = data.draw(st.lists(leveled_conjunctions(domain), min_size=3, max_size=12))
    every = {name: data.draw(st.sets(st.integers(0, domain[name].size - 1), min_size=1)) for name in domain.names}
    asked.append(Conjunction.where(domain, every))
    expected = [reference.answer(query) for query in asked]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_answers, "CHEAP_CELLS", 1 << 20 if tabled else 0)
        np.testing.assert_allclose(model.conjunctions(asked), expected, rtol=1e-10, atol=1e-10)


@thorough
@given(st.data(), leveled_domains())
def test_parts_that_are_restarted_forget_their_updates_alone(data: st.DataObject, domain: Domain) -> None:
    model, _ = fitted(data, domain)
    if not model.forest:
        return
    part = model.forest[data.draw(st.integers(0, len(model.forest) - 1))]
    names = {name for clique in part.tree.cliques for name in clique}
    model.restart([part])
    reference = FeasibleModel(domain, 20.0)
    state = model.potentials()
    for clique, table in state.tables.items():
        assert not names.issuperset(clique) or not clique
        reference.reweigh(clique, table)
    for query, step in state.steps.items():
        reference.update(query, step)
    asked = data.draw(leveled_cliques(domain))
    np.testing.assert_allclose(model.marginals([asked])[0], reference.marginal(asked), rtol=1e-10, atol=1e-10)


@thorough
@given(st.data(), leveled_domains())
def test_cliques_are_closed_and_cells_are_those_that_are_stored(data: st.DataObject, domain: Domain) -> None:
    scopes = [scope for scope in data.draw(st.lists(leveled_cliques(domain), min_size=1, max_size=6)) if scope]
    tree, ties = JunctionTree.of(domain, scopes), Ties.of(domain, scopes)
    JunctionTree(domain, tree.cliques, tree.edges)  # checks that variables are connected
    members = [set(clique) for clique in tree.cliques]
    assert not any(a <= b for a, b in itertools.permutations(members, 2))
    assert all(any(members[i].issuperset(scope) for i in tree.homes(scope[0])) for scope in scopes)
    for clique, stored, cells in zip(tree.cliques, tree.stored, tree.sizes, strict=True):
        present_here = {name for each in tree.cliques for name in each if domain.determines(stored, name)}
        assert set(clique) == present_here
        assert stored == domain.reduced(clique)
        assert cells == math.prod(domain.shape_of(stored))
        assert cells <= math.prod(ties.sizes[name] for name in clique) * (1 + 1e-12)
    for i, j in tree.edges:
        assert tree.stored_separator(i, j) == tree.stored_separator(j, i) == domain.reduced(tree.separator(i, j))
    for name in ties.coarser:
        alike = {each for each in ties.coarser if domain.base((each,)) == domain.base((name,))}
        assert len(domain.base((name,))) > 1 or any(alike.issubset(ties.coarser[each]) for each in alike)


def test_a_level_beside_its_attribute_costs_nothing_and_in_other_cliques_its_own_codes() -> None:
    domain = Domain([*(IntegerRange(f"x{i}", 0, 7) for i in range(3)), IntegerRange("code", 0, 4095)])
    tree = JunctionTree.of(domain, [("x0", "code.256"), ("x1", "code.16"), ("x2", "code.256"), ("code",)])
    assert tree.cells == 4096 + 8 * 16 + 8 * 256 + 8 * 16
    assert sorted(map(len, tree.stored)) == [1, 2, 2, 2]


def test_a_level_and_the_classes_of_a_rule_cost_the_combinations_that_exist() -> None:
    """Ten age groups, one of which the rule cuts in two: 11 codes beside another attribute, not 10 times 2."""
    age, married, sex = IntegerRange("age", 0, 99), IntegerRange("married", 0, 1), IntegerRange("sex", 0, 1)
    rule = Constraint("children", ("age", "married"), [[0] * 13 + [1] * 87, [0, 1]], [[1, 0], [1, 1]])
    domain = Domain((age, married, sex), [width_level(age, 10)], [rule])
    assert domain.hidden_names == ("age/classes", "age.10/classes")
    scopes = [("sex", "age.10"), ("married", "sex"), ("married", "age/classes")]
    tree = JunctionTree.of(domain, scopes)
    assert set(tree.stored) == {("age",), ("married", "sex", "age/classes"), ("sex", "age.10/classes")}
    assert tree.cells == 100 + 2 * 2 * 2 + 2 * 11
    sizes = Ties.of(domain, scopes).sizes
    assert all(
        math.prod(sizes[name] for name in clique) == pytest.approx(cells, rel=1e-2)
        for clique, cells in zip(tree.cliques, tree.sizes, strict=True)
    )


def test_levels_that_are_not_nested_stay_apart_from_classes() -> None:
    age, sex = IntegerRange("age", 0, 99), IntegerRange("sex", 0, 1)
    rule = Constraint("children", ("age", "sex"), [[0] * 13 + [1] * 87, [0, 1]], [[1, 0], [1, 1]])
    domain = Domain((age, sex), [width_level(age, 10), width_level(age, 7)], [rule])
    assert domain.hidden_names == ("age/classes",)


def test_a_message_that_vanished_revives_beside_cells_that_cannot_be() -> None:
    """Structural zeros and cells driven down by e**-3000 are told apart on every path."""
    age, group = IntegerRange("age", 0, 5), Derived(IntegerRange("group", 0, 2), ("age",), [0, 0, 1, 1, 2, 2])
    rule = Constraint("child", ("age", "work"), [[0, 0, 0, 1, 1, 1], [0, 1]], [[True, False], [True, True]])
    domain = Domain([age, IntegerRange("work", 0, 1), IntegerRange("home", 0, 2)], [group], [rule])
    model, reference = Markov(domain, 6.0), FeasibleModel(domain, 6.0)
    steps = [({"group": [1], "home": [0, 1]}, -3000.0), ({"work": [1]}, -2000.0), ({"age": [2], "home": [0]}, 3000.0)]
    steps += [({"work": [1]}, 2000.0), ({"group": [1], "home": [0, 1]}, 3000.0), ({"age": [2], "home": [0]}, -3000.0)]
    for codes, step in steps:
        query = Conjunction.where(domain, codes)
        model.update(query, step)
        reference.update(query, step)
        for clique in (("age", "work", "home"), ("work", "group"), ("age",), ("home",)):
            found = model.marginals([clique])[0]
            np.testing.assert_allclose(found, reference.marginal(clique), rtol=1e-9, atol=1e-9)
            assert np.isfinite(found).all()
    (table,) = model.marginals([("age", "work", "home")])
    assert (table[:3, 1] == 0.0).all()
    assert (table[3:] > 0.0).all()


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("seed", range(4))
def test_thousands_of_adversarial_updates_over_levels_and_constraints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    attributes = [IntegerRange("age", 0, 8), *(IntegerRange(name, 0, 2) for name in "abc")]
    levels = [Derived(IntegerRange(f"age.{k}", 0, 8 // k), ("age",), np.arange(9) // k) for k in (2, 3)]
    rule = Constraint("r", ("age", "a"), [[0, 0, 0, 1, 1, 1, 1, 1, 2], [0, 1, 1]], [[1, 0], [1, 1], [0, 1]])
    domain = Domain(attributes, levels, [rule])
    model, reference = Markov(domain, 1000.0), FeasibleModel(domain, 1000.0)
    scopes: list[Clique] = [("a", "age.2"), ("b", "age.3"), ("age", "c"), ("b", "c"), ("a", "b")]
    stack: list[tuple[Conjunction, float]] = []
    for i in range(600):
        scope = scopes[rng.integers(len(scopes))]
        query = Conjunction.where(domain, {name: [int(rng.integers(domain[name].size))] for name in scope})
        step = float(rng.normal(0, 5))
        if rng.integers(4) == 0:
            step = float(rng.choice([-2000.0, -700.0, -120.0, 35.0]))
            stack.append((query, step))
        elif rng.integers(3) == 0 and stack:
            query, step = stack.pop(rng.integers(len(stack)))
            step = -step
        model.update(query, step)
        reference.update(query, step)
        if i % 10 == 0:
            for clique in (scopes[rng.integers(len(scopes))], ("a", "c", "age.3"), domain.names):
                found, expected = model.marginals([clique])[0], reference.marginal(clique)
                assert np.abs(found - expected).max() < 1e-9 * 1000


def test_constraints_that_leave_no_record_make_no_hypothesis() -> None:
    """Each pair of the three leaves something, in different cliques."""
    pairs = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")]
    rules = [Constraint("equal", pair, [[0, 1], [0, 1]], np.eye(2)) for pair in pairs[:3]]
    rules.append(Constraint("other", pairs[3], [[0, 1], [0, 1]], 1 - np.eye(2)))
    attributes = [IntegerRange(name, 0, 1) for name in "abcd"]
    assert Markov(Domain(attributes, (), rules[:3]), 1.0).marginals([("a", "d")])[0].tolist() == [[0.5, 0], [0, 0.5]]
    with pytest.raises(DomainError, match="no record"):
        Markov(Domain(attributes, (), rules), 1.0)


@thorough
@given(st.data(), leveled_domains(largest=3))
def test_parities_beside_levels_and_constraints(data: st.DataObject, domain: Domain) -> None:
    model, reference = fitted(data, domain)
    binary = [name for name, size in zip(domain.names, domain.shape, strict=True) if size == 2]
    sets = [each for k in range(4) for each in itertools.combinations(binary, k)]
    expected = [reference.answer(Parity(domain, each)) if each else 20.0 for each in sets]
    np.testing.assert_allclose(model.parities(sets), expected, rtol=1e-10, atol=1e-10)


def test_no_table_has_a_level_beside_its_own_attribute() -> None:
    """500 classes of 10,000 codes: neither conditionals of codes given classes nor answers cross the two."""
    codes = IntegerRange("code", 0, 9999)
    domain = Domain([codes, IntegerRange("a", 0, 3), IntegerRange("b", 0, 3)], [width_level(codes, 20)])
    model = Markov(domain, 1.0)
    rng = np.random.default_rng(0)
    for scope in (("code",), ("a", "code.20"), ("a", "b")):
        model.reweigh(scope, rng.normal(size=domain.shape_of(scope)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_ALWAYS_FITS", 0)
        patch.setattr(memory, "usable_bytes", lambda: 24 * 4 * 10_000)
        code, pair = model.marginals([("code",), ("code", "b")])
    np.testing.assert_allclose(pair.sum(axis=1), code, rtol=1e-12)
    kept = [table.size for part in model.forest for edge in part._behind.values() for table in edge.values()]
    assert max(kept, default=0) <= 10_000 * 4


def test_attributes_far_apart_meet_as_their_levels() -> None:
    """Two attributes of 500 codes behind levels of 5, with a clique of 2,500 cells between: not 500 x 500 x 100."""
    first, second = IntegerRange("first", 0, 499), IntegerRange("second", 0, 499)
    between = [IntegerRange(name, 0, 9) for name in "ab"]
    domain = Domain([first, second, *between], [width_level(first, 100), width_level(second, 100)])
    model = Markov(domain, 1.0)
    rng = np.random.default_rng(0)
    tables = {
        scope: rng.normal(size=domain.shape_of(scope))
        for scope in (("first",), ("second",), ("a", "b", "first.100"), ("a", "b", "second.100"))
    }
    for scope, table in tables.items():
        model.reweigh(scope, table)
    tracemalloc.start()
    (found,) = model.marginals([("first", "second")])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    ends = [tables[scope].reshape(100, 5) for scope in (("a", "b", "first.100"), ("a", "b", "second.100"))]
    levels = np.exp(ends[0]).T @ np.exp(ends[1])
    inside = [np.exp(tables[name,]).reshape(5, 100) for name in ("first", "second")]
    expected = np.einsum("st,sx,ty->sxty", levels, *inside).reshape(500, 500)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-9)
    assert peak < 8 * 8 * found.size


@pytest.mark.parametrize("fine", [("x",), ("x", "y")])
def test_products_meet_at_finer_codes_without_spreading_tables_out(fine: Clique) -> None:
    x, y = IntegerRange("x", 0, 5), IntegerRange("y", 0, 3)
    others = [IntegerRange(name, 0, 2) for name in "abc"]
    domain = Domain([x, y, *others], [width_level(x, 2), width_level(y, 2)])
    coarse = tuple(f"{name}.2" for name in fine)
    rng = np.random.default_rng(1)
    one = (("a", "b", *fine), rng.random((3, 3, *domain.shape_of(fine))))
    two = (("b", "c", *coarse), rng.random((3, 3, *domain.shape_of(coarse))))
    spread = two[1][(..., *np.ix_(*(np.arange(size) // 2 for size in domain.shape_of(fine))))]
    expected = np.einsum("ab...,bc...->ac...", one[1], spread)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "spread_over", None)
        names, values = elimination.product(one, two, {"a", "c", *fine}, domain)
    order = ("a", "c", *fine)
    np.testing.assert_allclose(values.transpose([names.index(name) for name in order]), expected, rtol=1e-12)
