"""The product over junction trees: the contract, and the same answers as the histogram on every small instance."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hedgerow.arrays import Floats
from hedgerow.domain import Clique, Domain, IntegerRange
from hedgerow.errors import ConfigError, MarginalTooLargeError, ModelTooLargeError, QueryError
from hedgerow.models import (
    Beliefs,
    Histogram,
    JunctionTree,
    Markov,
    Model,
    Potentials,
    Proximal,
    Sweeps,
    markov_bytes,
    refit,
)
from hedgerow.models.core import memory
from hedgerow.models.trees import answers as tree_answers, markov
from hedgerow.queries import Conjunction, Marginal, Measurement, NoiseKind, Parity
from hedgerow.release import model_to_dict
from tests.examples import examples
from tests.models.contract import ModelContract
from tests.models.strategies import conjunctions, domain_of, domains, queries
from tests.reference.dense_model import DenseModel


class TestContract(ModelContract):
    def make(self, domain: Domain, total: float) -> Markov:
        return Markov(domain, total)

    def reload(self, model: Model) -> Model:
        assert isinstance(model, Markov)
        return Markov.from_potentials(model.domain, model.total, model.potentials())


def relative_gap(found: Floats, expected: Floats) -> float:
    return float(np.max(np.abs(found - expected) / expected.sum()))


def wide(count: int, size: int = 2) -> Domain:
    return domain_of(*[size] * count)


def random_pairs(domain: Domain, count: int, seed: int) -> list[Clique]:
    rng = np.random.default_rng(seed)
    return [domain.clique(rng.choice(domain.names, 2, replace=False)) for _ in range(count)]


# The same as the histogram


@settings(max_examples=examples(60))
@given(st.data(), st.lists(st.integers(2, 4), min_size=3, max_size=8).map(lambda sizes: domain_of(*sizes)))
def test_equals_the_histogram_after_every_update(data: st.DataObject, domain: Domain) -> None:
    """Chains, circles, stars and disjoint parts of small scopes; questions of up to four attributes between updates."""
    model, dense = Markov(domain, 20.0), Histogram(domain, 20.0)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for _ in range(data.draw(st.integers(1, 8))):
        scope = domain.clique(rng.choice(domain.names, rng.integers(1, 3), replace=False))
        factors = rng.normal(0.0, 2.0, domain.shape_of(scope))
        model.reweigh(scope, factors)
        dense.reweigh(scope, factors)
        asked = domain.clique(rng.choice(domain.names, rng.integers(0, 5).clip(max=len(domain)), replace=False))
        found, expected = model.marginals([asked, domain.names]), dense.marginals([asked, domain.names])
        for table, right in zip(found, expected, strict=True):
            np.testing.assert_allclose(table, right, rtol=1e-10, atol=1e-10)


@given(st.data(), domains)
def test_evidence_is_absorbed_as_read_off_tables(data: st.DataObject, domain: Domain) -> None:
    model = Markov(domain, 9.0)
    for _ in range(4):
        model.update(data.draw(queries(domain)), data.draw(st.floats(-3, 3)))
    asked = data.draw(st.lists(conjunctions(domain), min_size=1, max_size=4))
    expected = model.conjunctions(asked)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_answers, "CHEAP_CELLS", 0)
        np.testing.assert_allclose(model.conjunctions(asked), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.many(quick=1)
@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_adversarial_updates(seed: int) -> None:
    """Cells are driven down by e**-2000 and brought back, so that messages cross hundreds of powers of ten."""
    domain = domain_of(3, 2, 4, 2)
    rng = np.random.default_rng(seed)
    model, reference = Markov(domain, 1000.0), DenseModel(domain, 1000.0)
    pairs = [("x0", "x1"), ("x1", "x2"), ("x2", "x3"), ("x0", "x3")]
    asked = [
        Conjunction.where(domain, {a: [i], b: [j]})
        for a, b in pairs
        for i, j in itertools.product(range(domain[a].size), range(domain[b].size))
    ]
    stack: list[tuple[Conjunction, float]] = []
    for i in range(2000):
        query, step = asked[rng.integers(len(asked))], float(rng.normal(0, 5))
        if rng.integers(4) == 0:
            step = float(rng.choice([-2000.0, -700.0, -120.0, 35.0]))
            stack.append((query, step))
        elif rng.integers(3) == 0 and stack:
            query, step = stack.pop(rng.integers(len(stack)))
            step = -step
        model.update(query, step)
        reference.update(query, step)
        if i % 20 == 0:
            for clique in (pairs[rng.integers(4)], ("x1", "x3"), domain.names):
                assert relative_gap(model.marginals([clique])[0], reference.marginal(clique)) < 1e-9
    for query, step in stack:
        model.update(query, -step)
        reference.update(query, -step)
    assert relative_gap(model.marginals([domain.names])[0], reference.cells) < 1e-9


@pytest.mark.slow
def test_answers_after_thousands_of_updates_are_those_of_the_factors() -> None:
    """Nothing is lost or added up along 5,000 updates: the sum of all factors, made dense at once, says the same."""
    domain, rng = domain_of(2, 2, 2, 3, 2, 2, 2, 2), np.random.default_rng(8)
    scopes = [("x0", "x1"), ("x1", "x2"), ("x1", "x3"), ("x3", "x4", "x5"), ("x5", "x6"), ("x7",)]
    triples = list(itertools.combinations(domain.names, 3))
    binary = np.array([[a, b, c] for a, b, c in itertools.combinations([0, 1, 2, 4, 5, 6, 7], 3)])
    model = Markov(domain, 1.0, scopes)
    for i in range(1, 5001):
        scope = scopes[rng.integers(len(scopes))]
        model.reweigh(scope, rng.normal(0.0, 0.3, domain.shape_of(scope)))
        if i % 7 == 0:  # messages are passed in between
            model.marginals([triples[rng.integers(len(triples))]])
        if i % 1000 == 0:
            dense = Histogram.from_potentials(domain, 1.0, model.potentials())
            for found, expected in zip(model.marginals(triples), dense.marginals(triples), strict=True):
                assert relative_gap(found, expected) < 1e-9
            names = [tuple(domain.names[place] for place in row) for row in binary]
            for found, table, scope in zip(model.parities(binary), dense.marginals(names), names, strict=True):
                assert abs(found - Parity(domain, scope).of_table(table)[0]) < 1e-9


def test_a_message_that_vanished_revives_exactly() -> None:
    """Between two cliques the evidence differs by e**3000, more than floating point holds."""
    domain = domain_of(2, 2, 2)
    model = Markov(domain, 6.0)
    model.reweigh(("x0", "x1"), np.array([[0.0, -3000.0], [0.3, -3000.0]]))
    assert model.marginals([("x1", "x2")])[0].tolist() == [[3.0, 3.0], [0.0, 0.0]]
    model.reweigh(("x1", "x2"), np.array([[-3000.0, -3000.0], [0.7, 0.0]]))
    reference = DenseModel(domain, 6.0)
    reference.reweigh(("x0", "x1"), np.array([[0.0, -3000.0], [0.3, -3000.0]]))
    reference.reweigh(("x1", "x2"), np.array([[-3000.0, -3000.0], [0.7, 0.0]]))
    for clique in (("x0", "x1"), ("x0", "x2"), domain.names):
        np.testing.assert_allclose(model.marginals([clique])[0], reference.marginal(clique), rtol=1e-10, atol=1e-10)


def test_a_part_is_built_anew_before_rounding_errors_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trees grow at first, then one is built whenever five changes were made."""
    built: list[JunctionTree] = []
    rebuild = Markov._rebuild

    def counted(model: Markov, tree: JunctionTree) -> None:
        built.append(tree)
        rebuild(model, tree)

    monkeypatch.setattr(Markov, "_rebuild", counted)
    monkeypatch.setattr(markov, "_CHANGES", 5)
    domain, rng = domain_of(2, 3, 2), np.random.default_rng(1)
    model, reference = Markov(domain, 6.0), DenseModel(domain, 6.0)
    for i in range(23):
        clique = [("x0", "x1"), ("x1", "x2")][i % 2]
        table = rng.normal(size=domain.shape_of(clique))
        model.reweigh(clique, table)
        reference.reweigh(clique, table)
    assert len(built) == 2 + (23 - 2) // 5
    np.testing.assert_allclose(model.marginals([domain.names])[0], reference.cells, rtol=1e-12)


@pytest.mark.parametrize("rule", [Sweeps(3), Proximal()])
def test_refits_equal_those_of_the_histogram(rule: Sweeps | Proximal) -> None:
    domain, rng = domain_of(3, 2, 4, 2, 3), np.random.default_rng(5)
    scopes = [("x0", "x1"), ("x1", "x2"), ("x0", "x2"), ("x3", "x4")]
    noisy = [
        Measurement(Marginal(domain, scope), rng.uniform(0, 40, size), NoiseKind.GAUSSIAN, 2.0)
        for scope in scopes
        for size in [math.prod(domain.shape_of(scope))]
    ]
    model, dense = Markov(domain, 100.0), Histogram(domain, 100.0)
    refit(model, noisy, rule)
    refit(dense, noisy, rule)
    np.testing.assert_allclose(model.marginals([domain.names])[0], dense.marginals([domain.names])[0], rtol=1e-8)


def test_release_files_hold_it_as_they_hold_a_histogram() -> None:
    domain, rng = domain_of(3, 2, 4), np.random.default_rng(6)
    model, dense = Markov(domain, 10.0), Histogram(domain, 10.0)
    for each in (model, dense):
        each.update(Conjunction.where(domain, {"x0": [0, 2]}), 0.7)
    table = rng.normal(size=(2, 4))
    for each in (model, dense):
        each.reweigh(("x1", "x2"), table)
    (entry, arrays), (right, expected) = model_to_dict(model), model_to_dict(dense)
    assert entry == right
    assert {name: array.tolist() for name, array in arrays.items()} == {
        name: array.tolist() for name, array in expected.items()
    }


# Structure follows what was measured


def test_memory_follows_the_scopes() -> None:
    domain = wide(60, 10)
    model = Markov(domain, 1.0)
    assert (model.cells, model.trees) == (0, [])
    assert model.cheap_cells < domain.size
    model.reweigh(("x1", "x7"), np.zeros((10, 10)))
    model.update(Conjunction.where(domain, {"x30": [1]}), 0.3)
    assert [tree.cliques for tree in model.trees] == [(("x1", "x7"),), (("x30",),)]
    model.update(Conjunction.where(domain, {"x7": [0], "x30": [1]}), 0.3)
    assert [tree.cliques for tree in model.trees] == [(("x1", "x7"), ("x7", "x30"))]
    assert model.cells == 200


def test_room_made_beforehand_changes_nothing_else() -> None:
    domain = wide(8, 3)
    scopes = random_pairs(domain, 9, seed=4)
    rng = np.random.default_rng(3)
    at_once, grown = Markov(domain, 5.0, scopes), Markov(domain, 5.0)
    trees = at_once.trees
    for scope in scopes:
        table = rng.normal(size=(3, 3))
        at_once.reweigh(scope, table)
        grown.reweigh(scope, table)
    assert at_once.trees == trees
    for scope in itertools.combinations(domain.names, 2):
        np.testing.assert_allclose(at_once.marginals([scope])[0], grown.marginals([scope])[0], rtol=1e-11)
    at_once.reset()
    assert at_once.trees == trees
    assert at_once.marginals([("x0", "x1")])[0] == pytest.approx(5.0 / 9)


def test_what_no_tree_could_hold_is_refused_before_anything_changes() -> None:
    domain = wide(400)
    model = Markov(domain, 8.0)
    model.update(Conjunction.where(domain, {"x0": [0]}), math.log(3))
    with pytest.raises(ModelTooLargeError) as caught:
        model.update(Conjunction.where(domain, {name: [0] for name in domain.names}), 1.0)
    assert caught.value.cells == 2**400
    assert "measured" in str(caught.value)
    with pytest.raises(ModelTooLargeError):
        Markov(wide(60), 1.0, itertools.combinations(wide(60).names, 2))
    assert model.cells == 2
    assert model.marginals([("x0",)])[0].tolist() == pytest.approx([6.0, 2.0])


def test_memory_stays_below_the_estimate() -> None:
    """Tables, messages, exponentials and kept sums of 0.3 million cells, over updates, all pairs, and records."""
    domain = domain_of(85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42)
    pairs, rng = list(itertools.combinations(domain.names, 2)), np.random.default_rng(0)
    scopes = [pairs[i] for i in rng.choice(len(pairs), 20, replace=False)]
    tables = [rng.normal(size=domain.shape_of(scope)) for scope in scopes]
    tracemalloc.start()
    try:
        model = Markov(domain, 1.0, scopes)
        for scope, table in zip(scopes, tables, strict=True):
            model.reweigh(scope, table)
        for pair in pairs:
            model.marginals([pair])
        model.sample(1000, seed=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    held = sum(table.nbytes for table in tables)
    estimate = markov_bytes(model.trees)
    assert 0.5 * estimate < peak < estimate + held


def test_tables_that_cannot_be_held_are_refused() -> None:
    domain = wide(400)
    model = Markov(domain, 8.0, [(f"x{i}", f"x{i + 1}") for i in range(399)])
    with pytest.raises(MarginalTooLargeError) as caught:
        model.marginals([domain.names])
    assert caught.value.cells == 2**400
    everywhere = Conjunction.where(domain, {name: [1] for name in domain.names})
    assert model.conjunctions([everywhere]) == pytest.approx([8.0 * 0.5**400], rel=1e-10)


def test_products_on_the_way_to_a_small_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The result has 4 cells, but two attributes between the two have 2,500 together."""
    model = Markov(domain_of(2, 50, 50, 2), 1.0, [("x0", "x1"), ("x1", "x2"), ("x2", "x3")])
    monkeypatch.setattr(memory, "_ALWAYS_FITS", 0)
    monkeypatch.setattr(memory, "usable_bytes", lambda: 24 * 2499)
    with pytest.raises(MarginalTooLargeError) as caught:
        model.marginals([("x0", "x3")])
    assert caught.value.cells == 2500
    assert model.marginals([("x0", "x1")])[0].sum() == pytest.approx(1.0)


def test_factors_outside_every_clique_are_refused() -> None:
    beliefs = Beliefs(JunctionTree.of(domain_of(2, 2, 2), [("x0", "x1"), ("x1", "x2")]))
    with pytest.raises(QueryError, match=r"x0 \* x2"):
        beliefs.add(("x0", "x2"), np.zeros((2, 2)))


def test_a_base_is_refused() -> None:
    domain = domain_of(2)
    with pytest.raises(ConfigError, match="uniform"):
        Markov.from_potentials(domain, 1.0, Potentials(base=np.ones(2)))


@pytest.mark.parametrize("total", [0.0, -1.0, math.inf, math.nan])
def test_totals_are_positive(total: float) -> None:
    with pytest.raises(ConfigError):
        Markov(domain_of(2), total)


def test_messages_are_passed_only_where_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of 50 cliques: a question next to the update costs one message, one at the far end 48 more."""
    domain = wide(51, 3)
    model = Markov(domain, 1.0, [(f"x{i}", f"x{i + 1}") for i in range(50)])
    sent: list[tuple[int, int]] = []
    send = Beliefs._send

    def counted(beliefs: Beliefs, i: int, j: int) -> None:
        sent.append((i, j))
        send(beliefs, i, j)

    monkeypatch.setattr(Beliefs, "_send", counted)
    model.reweigh(("x0", "x1"), np.random.default_rng(0).normal(size=(3, 3)))
    model.marginals([("x0", "x1")])
    assert not sent
    model.marginals([("x1", "x2")])
    assert len(sent) == 1
    model.marginals([("x49", "x50")])
    assert len(sent) == 49
    model.marginals([("x3", "x4"), ("x0", "x50")])
    assert len(sent) == 49


# Domains that nothing else holds


def test_fourteen_attributes_of_ten_to_the_seventeen_cells() -> None:
    """Neighbouring scopes agree on what they share, and with long sums over joined tables."""
    domain = domain_of(85, 9, 100, 16, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42)
    assert domain.size > 10**17
    pairs, rng = list(itertools.combinations(domain.names, 2)), np.random.default_rng(2)
    scopes = [pairs[i] for i in rng.choice(len(pairs), 20, replace=False)]
    model = Markov(domain, 48842.0, scopes)
    for scope in scopes:
        model.reweigh(scope, rng.normal(size=domain.shape_of(scope)))
    tables = dict(zip(pairs, model.marginals(pairs), strict=True))
    singles = model.marginals([(name,) for name in domain.names])
    for (first, second), table in tables.items():
        np.testing.assert_allclose(table.sum(axis=1), singles[domain.index(first)], rtol=1e-9)
        np.testing.assert_allclose(table.sum(axis=0), singles[domain.index(second)], rtol=1e-9)
    (three,) = model.marginals([("x0", "x3", "x9")])
    np.testing.assert_allclose(three.sum(axis=2), tables["x0", "x3"], rtol=1e-9)
    np.testing.assert_allclose(three.sum(axis=0), tables["x3", "x9"], rtol=1e-9)


def test_a_thousand_binary_attributes_and_five_hundred_pairs() -> None:
    domain = wide(1000)
    scopes, rng = random_pairs(domain, 500, seed=0), np.random.default_rng(1)
    model = Markov(domain, 1.0)
    for scope in scopes:
        model.reweigh(scope, rng.normal(size=(2, 2)))
        model.marginals([scope])
    codes = model.sample(2000, seed=0)
    assert codes.shape == (2000, 1000)
    for scope, table in zip(scopes, model.marginals(scopes), strict=True):
        columns = codes[:, domain.axes(scope)]
        # Shares of 2000 records in 500 tables of 4 cells: 0.06 is more than five standard deviations of any.
        assert (
            np.abs(np.bincount(2 * columns[:, 0] + columns[:, 1], minlength=4) / 2000 - table.reshape(-1)).max() < 0.06
        )


@pytest.mark.parametrize("clique", [("x0", "x0.5"), ("x1", "x0"), ()], ids=str)
def test_a_start_over_variables_that_say_the_same_is_refused(clique: Clique) -> None:
    """It was dropped once: no clique of a tree holds a variable and one that it determines."""
    domain = Domain([IntegerRange("x0", 0, 19), IntegerRange("x1", 0, 1)])
    assert "x0.5" in [each.name for each in domain.derived]
    table = np.linspace(0.0, 1.0, math.prod(domain.shape_of(clique))).reshape(domain.shape_of(clique))
    with pytest.raises(QueryError, match="says as much"):
        Markov(domain, 10.0, start={clique: table})


def test_a_start_of_another_shape_is_refused() -> None:
    domain = Domain([IntegerRange("x0", 0, 19), IntegerRange("x1", 0, 1)])
    with pytest.raises(QueryError, match="does not fit"):
        Markov(domain, 10.0, start={("x0",): np.zeros(19)})
    with pytest.raises(ConfigError, match="finite"):
        Markov(domain, 10.0, start={("x1",): np.array([0.0, -np.inf])})


def test_a_start_over_a_level_is_the_same_as_over_its_attribute() -> None:
    domain = Domain([IntegerRange("x0", 0, 19), IntegerRange("x1", 0, 1)])
    coarse = np.random.default_rng(0).normal(size=domain.shape_of(("x1", "x0.5")))
    fine = coarse[:, domain.codes_in("x0.5", ("x0",))].T
    models = Markov(domain, 10.0, start={("x1", "x0.5"): coarse}), Markov(domain, 10.0, start={("x0", "x1"): fine})
    np.testing.assert_allclose(*(model.marginals([domain.names])[0] for model in models), atol=1e-12)


def test_tables_made_side_by_side_are_those_made_alone_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets in one part, across two and three, with attributes of none; in blocks of every size."""
    domain = Domain(IntegerRange(f"x{i}", 0, size - 1) for i, size in enumerate((2, 3, 2, 4, 2, 3, 5, 2)))
    draw = np.random.default_rng(3)
    model = Markov(domain, 1000.0)
    for scope in (("x0", "x1"), ("x1", "x4"), ("x2", "x3"), ("x5",)):
        model.reweigh(scope, draw.normal(size=domain.shape_of(scope)))
    cliques = [each for order in (1, 2, 3, 4) for each in itertools.combinations(domain.names, order)]
    alone = [model.marginals([clique])[0] for clique in cliques]
    for most in (1, 30, 1 << 14):
        monkeypatch.setattr(tree_answers, "_BESIDE", most)
        found = model.marginals([*cliques, *cliques])
        tables, repeated = found[: len(cliques)], found[len(cliques) :]
        for clique, table, again, one in zip(cliques, tables, repeated, alone, strict=True):
            if len(clique) < 4:  # an elimination of its own has another order where other sets are asked for too
                np.testing.assert_array_equal(table, one)
            np.testing.assert_allclose(table, one, rtol=1e-12)
            assert table.shape == domain.shape_of(clique)
            table[:] = -1.0  # each is the caller's, and none holds cells of another
            np.testing.assert_allclose(again, one, rtol=1e-12)
